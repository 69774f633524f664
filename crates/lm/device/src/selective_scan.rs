//! Selective scans (Mamba 1) with their weights and recurrent states on a device.

use roci_hal::BufferRange;
use roci_kernels::params::{LmGatedRmsNorm, LmShortConv, LmSsmScan};
use roci_lm::architecture::blocks::SelectiveScan;

use crate::Error;
use crate::layer::{DeviceLinear, LayerBuilder};
use crate::norms::DeviceNorm;
use crate::recurrent::DeviceConvolution;

/// A selective scan.
///
/// The columns of its projections are the channels of the convolution, then the gates, then the input
/// vector, then the output vector. After the convolution, the steps replace the channels.
#[derive(Clone)]
pub(crate) struct DeviceSelectiveScan {
    pub(crate) norm: DeviceNorm,
    /// Projections of the residual stream.
    pub(crate) projections: Vec<DeviceLinear>,
    pub(crate) convolution: DeviceConvolution,
    /// Projection of the convolution's results to few values, from which `step` computes the steps.
    pub(crate) step_down: DeviceLinear,
    /// Projections of the convolution's results to the input and output vectors.
    pub(crate) vectors: Vec<DeviceLinear>,
    /// Norms of these few values, and of both vectors.
    pub(crate) norms: Option<[DeviceNorm; 3]>,
    pub(crate) step: DeviceLinear,
    /// Number of the few values.
    pub(crate) rank: usize,
    /// Constants of the scan, without those of a step.
    pub(crate) scan: LmSsmScan,
    /// Bias of the step of each row, then the factors of its decays, then its skip.
    pub(crate) rows: BufferRange,
    /// Constants of the gate, without those of a step.
    pub(crate) gate: LmGatedRmsNorm,
    pub(crate) output: DeviceLinear,
    /// Recurrent states of all slots.
    pub(crate) states: BufferRange,
}

/// Columns of the projections of a selective scan.
pub(crate) fn projected_columns(block: &SelectiveScan) -> usize {
    2 * (block.values() + block.state)
}

/// Refuses sizes that the kernels do not support.
pub(crate) fn check(block: &SelectiveScan) -> Result<(), Error> {
    let longest = LmSsmScan::LONGEST as usize;
    if block.state.is_multiple_of(4) && block.state <= longest && block.values().is_multiple_of(4) {
        return Ok(());
    }
    Err(Error::file(format!(
        "selective scans of {} values with vectors of {} elements are not supported, only multiples of 4, and vectors up to {longest}",
        block.values(),
        block.state
    )))
}

impl LayerBuilder<'_> {
    pub(crate) fn selective_scan(
        &self,
        block: &SelectiveScan,
        [windows, states]: [BufferRange; 2],
    ) -> Result<DeviceSelectiveScan, Error> {
        let (values, rank) = (block.values(), block.step_down.matrix.outputs());
        let count = |value: usize| value as u32;
        let mut vectors = self.exact_concatenated(&[&block.input, &block.readout])?;
        vectors.iter_mut().for_each(|linear| linear.offset += 2 * values);
        // The scan adds the bias.
        let mut step = block.step.clone();
        let bias = step.bias.take();
        let norms = match &block.norms {
            Some([few, input, readout]) => {
                Some([self.norm(few, rank)?, self.norm(input, block.state)?, self.norm(readout, block.state)?])
            }
            None => None,
        };
        Ok(DeviceSelectiveScan {
            norm: self.norm(&block.norm, block.output.matrix.outputs())?,
            projections: self.exact_concatenated(&[&block.channels, &block.gate])?,
            convolution: self.short_convolution(&block.convolution, windows, LmShortConv::SILU)?,
            step_down: self.exact_linear(&block.step_down, 0)?,
            vectors,
            norms,
            step: self.exact_linear(&step, 0)?,
            rank,
            scan: LmSsmScan {
                heads: 1,
                groups: 1,
                length: count(values),
                state: count(block.state),
                lanes: LmSsmScan::lanes(count(block.state)),
                vectors_offset: count(2 * values),
                ..LmSsmScan::default()
            },
            rows: self.loader.vectors(&[
                (bias.as_ref(), values),
                (Some(&block.decay), values * block.state),
                (Some(&block.skip), values),
            ])?,
            gate: LmGatedRmsNorm {
                heads: 1,
                length: count(values),
                gates_offset: count(values),
                flags: LmGatedRmsNorm::UNNORMED,
                ..LmGatedRmsNorm::default()
            },
            output: self.linear(&block.output, 0)?,
            states,
        })
    }
}
