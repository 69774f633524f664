//! Buffers of the toy: a device block and, for host-visible memory, a separate host block that
//! only flush and invalidate synchronize.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use roci_hal::driver::{BoundRange, BufferBackend};
use roci_hal::host_memory::HostMemory;
use roci_hal::native::NativeBinding;
use roci_hal::{BufferDesc, Error};

use super::Flaw;

pub(super) struct ToyBuffer {
    device: HostMemory,
    host: Option<HostMemory>,
    /// Flaw: the second physical device has its own block.
    private: Option<HostMemory>,
    /// Flaw: the host block is invalidated only once.
    stale: bool,
    invalidated: AtomicBool,
}

impl ToyBuffer {
    pub(super) fn new(desc: &BufferDesc, flaw: Option<Flaw>) -> Option<Self> {
        let block = |expected: bool| if expected { HostMemory::new(desc.size).map(Some) } else { Some(None) };
        Some(Self {
            device: HostMemory::new(desc.size)?,
            host: block(desc.memory.host_visible())?,
            private: block(flaw == Some(Flaw::PrivateMemory))?,
            stale: flaw == Some(Flaw::StaleMemory),
            invalidated: AtomicBool::new(false),
        })
    }

    /// The block that a physical device accesses.
    fn of(&self, physical: usize) -> &HostMemory {
        self.private.as_ref().filter(|_| physical > 0).unwrap_or(&self.device)
    }

    /// The same offset in both blocks; `None` without a host block.
    fn both(&self, offset: u64) -> Option<(NonNull<u8>, NonNull<u8>)> {
        let (device, host) = (self.device.host_pointer()?, self.host.as_ref()?.host_pointer()?);
        // SAFETY: the HAL passes ranges inside the buffer, and both blocks have its size.
        let device = unsafe { device.add(offset as usize) };
        // SAFETY: as above.
        let host = unsafe { host.add(offset as usize) };
        Some((device, host))
    }
}

// SAFETY: the pointer is to `host`, which lives as long as this value and was zeroed when
// allocated.
unsafe impl BufferBackend for ToyBuffer {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        self.host.as_ref()?.host_pointer()
    }

    fn invalidate(&self, offset: u64, length: u64) -> Result<(), Error> {
        if self.invalidated.swap(true, Ordering::Relaxed) && self.stale {
            return Ok(());
        }
        if let Some((device, host)) = self.both(offset) {
            // SAFETY: `length` bytes are inside both blocks, which are two allocations.
            unsafe { host.copy_from_nonoverlapping(device, length as usize) };
        }
        Ok(())
    }

    fn flush(&self, offset: u64, length: u64) -> Result<(), Error> {
        if let Some((device, host)) = self.both(offset) {
            // SAFETY: `length` bytes are inside both blocks, which are two allocations.
            unsafe { device.copy_from_nonoverlapping(host, length as usize) };
        }
        Ok(())
    }
}

/// A range, and the physical device that accesses it.
pub(super) struct DeviceRange {
    pub(super) range: BoundRange,
    pub(super) physical: usize,
}

/// A range as the device sees it; `None` for another driver's memory, which the HAL rejects before.
pub(super) fn binding(DeviceRange { range, physical }: &DeviceRange) -> Option<NativeBinding> {
    let start = range.buffer.downcast::<ToyBuffer>()?.of(*physical).host_pointer()?;
    // SAFETY: the HAL has checked that the range lies inside the buffer.
    let first = unsafe { start.add(range.offset as usize) };
    Some(NativeBinding { pointer: first.as_ptr(), length: range.length as usize })
}

/// Writes bytes to the start of a range.
pub(super) fn write(target: &DeviceRange, data: &[u8]) {
    let Some(target) = binding(target) else { return };
    let length = data.len().min(target.length);
    // SAFETY: both are at least `length` bytes long, and `data` does not overlap device memory.
    unsafe { target.pointer.copy_from_nonoverlapping(data.as_ptr(), length) };
}

/// Copies between ranges of equal length.
pub(super) fn copy(source: &DeviceRange, target: &DeviceRange) {
    let (Some(source), Some(target)) = (binding(source), binding(target)) else { return };
    // SAFETY: both ranges are that long; `copy_from` allows overlap.
    unsafe { target.pointer.copy_from(source.pointer, source.length.min(target.length)) };
}
