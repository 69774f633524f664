//! Features of images that are added to the residual stream after the first layers (deepstack).

use roci_hal::Buffer;
use roci_kernels::params::{LmMoeCombine, Params as _};

use super::StepRecorder;
use crate::Error;
use crate::kernel_id::KernelId;

impl StepRecorder<'_> {
    /// Adds the rows of a layer in staging memory to the residual stream. Those of text are zero.
    pub(super) fn add_deepstack_rows(&mut self, layer: usize, staging: &Buffer) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        self.flush_partial_sums()?;
        // The layer has read its normalized input.
        self.barrier();
        let rows = &scratch.normed;
        let (start, bytes) = scratch.staged_deepstack_rows(layer, tokens);
        self.commands.copy(staging.range(start, bytes)?, rows.range.range(0, bytes)?)?;
        self.barrier();
        let constants = LmMoeCombine {
            tokens: tokens as u32,
            columns: scratch.embedding as u32,
            used: 1,
            x_stride: rows.stride as u32,
            y_stride: scratch.residual.stride as u32,
            add: 1,
            sharing: 1,
        };
        let bindings = [&rows.range, &scratch.ones, &scratch.residual.range];
        self.dispatch(KernelId::MOE_COMBINE, constants.grid(), &bindings, &constants)?;
        self.barrier();
        self.state.input_changed();
        Ok(())
    }
}
