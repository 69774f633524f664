//! Device memory that a session uses, and whether it fits.

use roci_hal::Device;

use crate::Error;

/// Device memory that a session uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUsage {
    /// Bytes of constants and inputs: weights, tables that kernels read, and the graph's inputs.
    pub constants: u64,
    /// Bytes of the arenas that all intermediate tensors share.
    pub arena: u64,
}

impl MemoryUsage {
    /// Bytes in total, which the device must have.
    pub fn total(&self) -> u64 {
        self.constants.saturating_add(self.arena)
    }
}

/// Fails if the device has less than `needed` bytes of usable memory. A device that reports 0 bytes
/// is not limited.
pub(crate) fn check_fits(device: &Device, needed: u64) -> Result<(), Error> {
    let available = device.info().physical[0].usable_memory();
    if available > 0 && needed > available {
        return Err(Error::Memory { needed, device: device.info().uri.to_string(), available });
    }
    Ok(())
}
