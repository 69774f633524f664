//! Models that exceed the memory: weights in the file are requested while others are multiplied.

use roci_hal::BufferRange;
use roci_kernels::params::{LmReadAhead, Params as _};

use super::StepRecorder;
use crate::Error;
use crate::kernel_id::KernelId;
use crate::layer::{DeviceHead, DeviceLayer};

impl StepRecorder<'_> {
    /// Requests the weights that follow those of a layer, or those of the output if `layer` is the
    /// number of layers. The first layer of the next step follows the output. Nothing waits for it.
    pub(super) fn read_ahead(
        &mut self,
        layers: &[DeviceLayer],
        layer: usize,
        head: Option<&DeviceHead>,
    ) -> Result<(), Error> {
        let output = head.filter(|_| layer + 1 == layers.len()).map(|head| &head.in_file[..]);
        let next = if layer < layers.len() { layers.get(layer + 1) } else { layers.first() };
        for range in output.or_else(|| next.map(|layer| &layer.in_file[..])).unwrap_or_default() {
            self.request(range)?;
        }
        Ok(())
    }

    fn request(&mut self, range: &BufferRange) -> Result<(), Error> {
        let constants = LmReadAhead { bytes: u32::try_from(range.length()).unwrap_or(u32::MAX) };
        self.dispatch(KernelId::READ_AHEAD, constants.grid(), &[range], &constants)
    }
}
