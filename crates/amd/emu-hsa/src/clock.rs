//! Clocks of the system and of the GPUs.
//!
//! Both count from boot, as AMD's driver and runtime do. `roci-emu-preload` has its own copy of
//! these rates for programs that query the kernel driver; both must agree.

use rustix::time::{ClockId, clock_gettime};

/// Ticks per second of the system clock: nanoseconds.
pub(crate) const TICKS_PER_SECOND: u64 = 1_000_000_000;
/// Ticks per second of a GPU clock: 100 MHz, as on the real chips. Signals hold times in these
/// ticks.
pub(crate) const GPU_TICKS_PER_SECOND: u64 = 100_000_000;
/// System clock ticks per GPU clock tick.
pub(crate) const SYSTEM_TICKS: u64 = TICKS_PER_SECOND / GPU_TICKS_PER_SECOND;

/// Current system clock tick.
pub(crate) fn system() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec.cast_unsigned() * TICKS_PER_SECOND + now.tv_nsec.cast_unsigned()
}

/// Current tick of the clock that all GPUs share.
pub(crate) fn gpu() -> u64 {
    system() / SYSTEM_TICKS
}
