//! Emulated ioctls of `/dev/kfd`, for programs that query the kernel driver without the HSA
//! runtime.

use std::ffi::{c_int, c_long, c_ulong, c_void};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::fs::MetadataExt;

use crate::real::fail;

/// `AMDKFD_IOC_GET_VERSION` and `AMDKFD_IOC_GET_CLOCK_COUNTERS`; the request codes include the
/// struct sizes.
const GET_VERSION: c_ulong = 0x8008_4b01;
const GET_CLOCK_COUNTERS: c_ulong = 0xc028_4b05;
/// An interface version that includes both ioctls.
const VERSION: [u32; 2] = [1, 14];
const EFAULT: c_int = 14;
/// Device number of `/dev/null`, to which `/dev/kfd` is redirected.
const DEV_NULL: u64 = 1 << 8 | 3;
/// CPU and system clock of the kernel driver: `CLOCK_MONOTONIC_RAW` and `CLOCK_BOOTTIME`.
const CPU_CLOCK: c_int = 4;
const SYSTEM_CLOCK: c_int = 7;
/// Nanoseconds per GPU clock tick. The GPU clock starts with the system clock; must agree with
/// `clock` in emu-hsa.
const GPU_TICK: u64 = 10;
/// System clock ticks per second.
const SYSTEM_FREQUENCY: u64 = 1_000_000_000;

#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

unsafe extern "C" {
    safe fn clock_gettime(clock: c_int, time: &mut Timespec) -> c_int;
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

/// Emulates a request; `None` if the request is not emulated or the file is not the redirected
/// `/dev/kfd`.
///
/// # Safety
/// `argument` is null or points to the struct of the request.
pub(crate) unsafe fn ioctl(file: c_int, request: c_ulong, argument: *mut c_void) -> Option<c_int> {
    if request != GET_VERSION && request != GET_CLOCK_COUNTERS || !crate::path::is_active() || !is_dev_null(file) {
        return None;
    }
    if argument.is_null() {
        return Some(fail(EFAULT));
    }
    if request == GET_VERSION {
        // SAFETY: not null, so the caller guarantees the struct of this request.
        unsafe { argument.cast::<[u32; 2]>().write_unaligned(VERSION) };
        return Some(0);
    }
    let argument = argument.cast::<ClockCounters>();
    // SAFETY: not null, so the caller guarantees an initialized struct of this request.
    let requested = unsafe { argument.read_unaligned() };
    let system = now(SYSTEM_CLOCK);
    // All GPUs share one clock, so the GPU id is ignored.
    let counters = ClockCounters {
        gpu: system / GPU_TICK,
        cpu: now(CPU_CLOCK),
        system,
        system_frequency: SYSTEM_FREQUENCY,
        ..requested
    };
    // SAFETY: as above.
    unsafe { argument.write_unaligned(counters) };
    Some(0)
}

/// Current time of a clock in nanoseconds.
fn now(clock: c_int) -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    clock_gettime(clock, &mut time);
    time.seconds.cast_unsigned() * 1_000_000_000 + time.nanoseconds.cast_unsigned()
}

/// Whether a file descriptor refers to `/dev/null`.
fn is_dev_null(file: c_int) -> bool {
    if file < 0 {
        return false;
    }
    // SAFETY: only its metadata are read, which fails for an invalid descriptor; `ManuallyDrop`
    // keeps it open.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(file) });
    file.metadata().is_ok_and(|metadata| metadata.rdev() == DEV_NULL)
}
