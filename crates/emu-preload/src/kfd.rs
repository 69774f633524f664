//! What the driver's device answers to those who ask it without the runtime.

use std::ffi::{c_int, c_long, c_ulong, c_void};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::fs::MetadataExt;

use crate::real::fail;

/// `AMDKFD_IOC_GET_VERSION` and `AMDKFD_IOC_GET_CLOCK_COUNTERS`, with the sizes of their structures.
const GET_VERSION: c_ulong = 0x8008_4b01;
const GET_CLOCK_COUNTERS: c_ulong = 0xc028_4b05;
/// The version of an interface that has all that is answered here.
const VERSION: [u32; 2] = [1, 14];
/// The error number of a pointer that leads nowhere.
const EFAULT: c_int = 14;
/// The device `/dev/null`, which is what the paths of the driver's lead to.
const NULL: u64 = 1 << 8 | 3;
/// `CLOCK_MONOTONIC_RAW` and `CLOCK_BOOTTIME`, which the driver takes for the CPU's clock and the system's.
const CPU_CLOCK: c_int = 4;
const SYSTEM_CLOCK: c_int = 7;
/// Nanoseconds in a tick of the emulated GPUs' clock, which begins with the system's: `clock` in emu-hsa has the same.
const GPU_TICK: u64 = 10;
/// Ticks of the system clock a second.
const SYSTEM_FREQUENCY: u64 = 1_000_000_000;

#[repr(C)]
struct Time {
    seconds: c_long,
    nanoseconds: c_long,
}

unsafe extern "C" {
    safe fn clock_gettime(clock: c_int, time: &mut Time) -> c_int;
}

/// `kfd_ioctl_get_clock_counters_args`.
#[repr(C)]
struct ClockCounters {
    gpu: u64,
    cpu: u64,
    system: u64,
    system_frequency: u64,
    gpu_id: u32,
    padding: u32,
}

/// Answers a request to a file; `None` if it is none that the driver's device would get, or not for its stand-in.
///
/// # Safety
/// The argument is what the request wants.
pub(crate) unsafe fn answer(file: c_int, request: c_ulong, argument: *mut c_void) -> Option<c_int> {
    if request != GET_VERSION && request != GET_CLOCK_COUNTERS || !crate::path::is_active() || !is_null(file) {
        return None;
    }
    if argument.is_null() {
        return Some(fail(EFAULT));
    }
    if request == GET_VERSION {
        // SAFETY: the caller's promise.
        unsafe { argument.cast::<[u32; 2]>().write_unaligned(VERSION) };
        return Some(0);
    }
    let argument = argument.cast::<ClockCounters>();
    // SAFETY: the caller's promise: it has filled the structure in.
    let asked = unsafe { argument.read_unaligned() };
    let system = now(SYSTEM_CLOCK);
    // One clock for all GPUs, whichever is meant.
    let counters = ClockCounters {
        gpu: system / GPU_TICK,
        cpu: now(CPU_CLOCK),
        system,
        system_frequency: SYSTEM_FREQUENCY,
        ..asked
    };
    // SAFETY: the caller's promise.
    unsafe { argument.write_unaligned(counters) };
    Some(0)
}

/// Nanoseconds of a clock.
fn now(clock: c_int) -> u64 {
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    clock_gettime(clock, &mut time);
    time.seconds.cast_unsigned() * 1_000_000_000 + time.nanoseconds.cast_unsigned()
}

/// Whether a file is the device that does nothing.
fn is_null(file: c_int) -> bool {
    if file < 0 {
        return false;
    }
    // SAFETY: it is only asked what it is, and not closed; should it be none, that is an error.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(file) });
    file.metadata().is_ok_and(|found| found.rdev() == NULL)
}
