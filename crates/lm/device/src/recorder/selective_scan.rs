//! A selective scan of a layer.

use roci_kernels::params::{LmGatedRmsNorm, LmSsmScan, Params as _};

use super::StepRecorder;
use super::linear::LinearInput;
use crate::Error;
use crate::kernel_id::KernelId;
use crate::selective_scan::DeviceSelectiveScan;

impl StepRecorder<'_> {
    pub(super) fn selective_scan(&mut self, block: &DeviceSelectiveScan) -> Result<(), Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        self.project(&block.norm, &block.projections)?;
        self.convolve(&block.convolution)?;

        let (projected, convolved) = (&scratch.qkv, &scratch.convolved);
        self.state.input_changed();
        let input = LinearInput::f32(convolved);
        self.linear(&block.step_down, &input, shape.tokens, &scratch.low_rank, 0)?;
        for linear in &block.vectors {
            self.linear(linear, &input, shape.tokens, projected, 0)?;
        }
        self.barrier();
        let (vectors, length) = (block.scan.vectors_offset, block.scan.state);
        if let Some([few, input, readout]) = &block.norms {
            self.norm_in_place(few, &scratch.low_rank, 0, block.rank as u32)?;
            self.norm_in_place(input, projected, vectors, length)?;
            self.norm_in_place(readout, projected, vectors + length, length)?;
            self.barrier();
        }
        self.state.input_changed();
        self.linear(&block.step, &LinearInput::f32(&scratch.low_rank), shape.tokens, projected, 0)?;
        self.barrier();

        let scan = LmSsmScan {
            sequences: shape.sequences as u32,
            first: shape.sequences_offset() as u32,
            x_stride: convolved.stride as u32,
            steps_stride: projected.stride as u32,
            y_stride: scratch.attended.stride as u32,
            ..block.scan
        };
        let values = &scratch.attended.range;
        let bindings = [&scratch.inputs, &convolved.range, &projected.range, &block.rows, &block.states, values];
        self.dispatch(KernelId::SSM_SCAN_ROWS, scan.grid(), &bindings, &scan)?;
        self.barrier();

        let gate = LmGatedRmsNorm {
            tokens: shape.tokens as u32,
            x_stride: scratch.attended.stride as u32,
            gates_stride: projected.stride as u32,
            y_stride: scratch.gated.stride as u32,
            ..block.gate
        };
        let bindings = [values, &projected.range, &scratch.unused, &scratch.gated.range];
        self.dispatch(KernelId::GATED_RMS_NORM, gate.grid(), &bindings, &gate)?;
        self.barrier();
        self.state.input_changed();
        self.add_to_residual(&block.output, &LinearInput::f32(&scratch.gated), None)
    }
}
