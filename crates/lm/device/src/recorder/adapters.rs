//! What LoRA adapters add to products.

use roci_kernels::params::{LmLinear, LmMoeCombine, Params as _};

use super::StepRecorder;
use super::linear::LinearInput;
use super::state::Reduction;
use crate::Error;
use crate::adapters::DeviceAdapters;
use crate::kernel_id::KernelId;
use crate::layer::DeviceLinear;
use crate::scratch::RowBuffer;

impl StepRecorder<'_> {
    /// Adds to the results of a product what the adapters of its matrix add. Other products of the
    /// same step may write other columns of `y` meanwhile.
    pub(super) fn adapters(
        &mut self,
        linear: &DeviceLinear,
        input: &LinearInput<'_>,
        rows: usize,
        y: &RowBuffer,
    ) -> Result<(), Error> {
        let Some(adapters) = linear.adapters.as_ref().filter(|_| self.shape.adapters > 0) else { return Ok(()) };
        let DeviceAdapters { a, b, rank, count } = adapters.as_ref();
        let scratch = self.scratch;
        let [narrow, scaled] =
            scratch.adapters.each_ref().map(|range| RowBuffer { range: range.clone(), stride: rank * count });
        // Partial sums may still be in use.
        self.linear_with(a, input, rows, &narrow, 0, Reduction::Unsplit)?;
        self.barrier();
        let start = 4 * self.shape.adapters_offset(self.at_outputs) as u64;
        let scales = scratch.inputs.range(start, 4 * (rows * count) as u64)?;
        let constants = LmMoeCombine {
            tokens: (rows * count) as u32,
            columns: *rank as u32,
            used: 1,
            x_stride: *rank as u32,
            y_stride: *rank as u32,
            add: 0,
            sharing: 1,
        };
        let bindings = [&narrow.range, &scales, &scaled.range];
        self.dispatch(KernelId::MOE_COMBINE, constants.grid(), &bindings, &constants)?;
        self.barrier();
        self.linear(b, &LinearInput::f32(&scaled), rows, y, LmLinear::ADD)
    }
}
