//! What time it is, for the host and for the GPUs.
//!
//! Both count from the start of the machine, as AMD's driver and library do it: `roci-emu-preload`, which shares nothing with
//! this crate, tells the same time to programs that ask the driver.

use rustix::time::{ClockId, clock_gettime};

/// Ticks of the system clock a second: nanoseconds.
pub(crate) const TICKS_PER_SECOND: u64 = 1_000_000_000;
/// Ticks of a GPU's clock a second, as on the real chips: 100 MHz. Signals have times in these.
pub(crate) const GPU_TICKS_PER_SECOND: u64 = 100_000_000;
/// Ticks of the system clock in one of a GPU's.
pub(crate) const SYSTEM_TICKS: u64 = TICKS_PER_SECOND / GPU_TICKS_PER_SECOND;

/// The system clock.
pub(crate) fn system() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec.cast_unsigned() * TICKS_PER_SECOND + now.tv_nsec.cast_unsigned()
}

/// The clock of all GPUs.
pub(crate) fn gpu() -> u64 {
    system() / SYSTEM_TICKS
}
