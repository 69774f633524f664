//! Sleeping until a page is written, by userfaultfd.
//!
//! Clients and kernels write doorbells in memory without a call. While the thread of a queue
//! sleeps, the page of its doorbell is write-protected. A write stops in a page fault, which wakes
//! the thread; the thread removes the protection, and the writer continues. While the thread is
//! awake the page is not protected, so writes cost nothing.

#![expect(unsafe_code, reason = "pages are protected by address")]

use std::os::fd::OwnedFd;

use linux_raw_sys::general::{
    _UFFDIO_WRITEPROTECT, UFFD_API, UFFD_FEATURE_PAGEFAULT_FLAG_WP, UFFD_USER_MODE_ONLY, UFFDIO_REGISTER_MODE_WP,
    uffdio_api, uffdio_range, uffdio_register, uffdio_writeprotect,
};
use linux_raw_sys::ioctl::{UFFDIO_API, UFFDIO_REGISTER, UFFDIO_WRITEPROTECT};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl};
use rustix::mm::{UserfaultfdFlags, userfaultfd};

use crate::mapping::PAGE;

/// Missing in `linux-raw-sys`.
const UFFDIO_WRITEPROTECT_MODE_WP: u64 = 1;

/// A page whose next write wakes the thread that sleeps on it. Dropping the trap lets blocked
/// writers continue.
pub(crate) struct WriteTrap {
    userfaultfd: OwnedFd,
    page: uffdio_range,
}

impl WriteTrap {
    /// Registers the page at an address. `None` if the kernel lacks userfaultfd or forbids it, as
    /// in many containers.
    ///
    /// An unprivileged process only gets user-mode faults: a system call that writes the
    /// protected page fails with `EFAULT`. The registration does not extend to forked children.
    ///
    /// # Safety
    /// The address is that of a page of private memory that was written before and stays mapped as
    /// long as the trap lives.
    pub(crate) unsafe fn new(address: u64) -> Option<Self> {
        let mode = UserfaultfdFlags::from_bits_retain(UFFD_USER_MODE_ONLY);
        // SAFETY: only the page that is registered below will fault.
        let userfaultfd = unsafe { userfaultfd(mode | UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK) }.ok()?;
        let trap = Self { userfaultfd, page: uffdio_range { start: address, len: PAGE as u64 } };
        let mut api = uffdio_api { api: UFFD_API.into(), features: UFFD_FEATURE_PAGEFAULT_FLAG_WP.into(), ioctls: 0 };
        // SAFETY: `UFFDIO_API` takes a `uffdio_api`.
        unsafe { trap.control::<{ UFFDIO_API as Opcode }, _>(&mut api) }.ok()?;
        let mut page = uffdio_register { range: trap.page, mode: UFFDIO_REGISTER_MODE_WP.into(), ioctls: 0 };
        // SAFETY: `UFFDIO_REGISTER` takes a `uffdio_register`; the caller guarantees the page.
        unsafe { trap.control::<{ UFFDIO_REGISTER as Opcode }, _>(&mut page) }.ok()?;
        (page.ioctls >> _UFFDIO_WRITEPROTECT & 1 == 1).then_some(trap)
    }

    /// Sleeps until the page is written, unless `ready` holds once the page is protected. After an
    /// error the trap is unusable.
    pub(crate) fn sleep(&self, ready: impl Fn() -> bool) -> Result<(), Errno> {
        self.protect(true)?;
        let slept = if ready() { Ok(()) } else { self.wait_for_fault() };
        self.protect(false)?;
        slept
    }

    fn wait_for_fault(&self) -> Result<(), Errno> {
        loop {
            match poll(&mut [PollFd::new(&self.userfaultfd, PollFlags::IN)], None) {
                Err(Errno::INTR) => {}
                other => return other.map(|_| ()),
            }
        }
    }

    /// Sets or removes the write protection; removal lets blocked writers continue.
    fn protect(&self, on: bool) -> Result<(), Errno> {
        let mode = if on { UFFDIO_WRITEPROTECT_MODE_WP } else { 0 };
        let mut request = uffdio_writeprotect { range: self.page, mode };
        loop {
            // SAFETY: `UFFDIO_WRITEPROTECT` takes a `uffdio_writeprotect`; `new` registered the
            // page.
            match unsafe { self.control::<{ UFFDIO_WRITEPROTECT as Opcode }, _>(&mut request) } {
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => return other,
            }
        }
    }

    /// Runs an ioctl on the userfaultfd.
    ///
    /// # Safety
    /// `T` is the structure that the operation takes, and the operation is sound.
    unsafe fn control<const OPERATION: Opcode, T>(&self, structure: &mut T) -> Result<(), Errno> {
        // SAFETY: the caller guarantees that `T` belongs to the operation.
        let operation = unsafe { Updater::<OPERATION, T>::new(structure) };
        // SAFETY: the caller guarantees that the operation is sound.
        unsafe { ioctl(&self.userfaultfd, operation) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Mapping;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A page with a trap; `None` where the system forbids userfaultfd.
    fn trapped() -> Option<(Mapping, WriteTrap)> {
        let mapping = Mapping::new(PAGE, PAGE).expect("a page");
        // SAFETY: the first byte of a new page.
        unsafe { mapping.start().write(1) };
        // SAFETY: written just now; callers drop the mapping after the trap.
        let trap = unsafe { WriteTrap::new(mapping.range().start) };
        let trap = roci_testkit::require("userfaultfd", trap.ok_or("the system forbids userfaultfd"))?;
        Some((mapping, trap))
    }

    fn word(mapping: &Mapping) -> &AtomicU64 {
        // SAFETY: page aligned, and borrowed from its mapping.
        unsafe { &*mapping.start().cast::<AtomicU64>() }
    }

    #[test]
    fn every_write_wakes_the_sleeper() {
        let Some((mapping, trap)) = trapped() else { return };
        const WRITES: u64 = 500;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for value in 2..=WRITES {
                    word(&mapping).store(value, Ordering::Release);
                    std::thread::yield_now();
                }
            });
            let mut last_value = 1;
            while last_value < WRITES {
                // A missed write would make this sleep forever.
                trap.sleep(|| word(&mapping).load(Ordering::Acquire) != last_value).expect("the trap works");
                last_value = word(&mapping).load(Ordering::Acquire);
            }
        });
    }

    #[test]
    fn a_blocked_writer_continues_when_the_trap_is_dropped() {
        let Some((mapping, trap)) = trapped() else { return };
        trap.protect(true).expect("the trap works");
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| word(&mapping).store(7, Ordering::Release));
            trap.wait_for_fault().expect("the trap works");
            assert!(!writer.is_finished() && word(&mapping).load(Ordering::Acquire) == 1, "the writer is blocked");
            drop(trap);
        });
        assert_eq!(word(&mapping).load(Ordering::Acquire), 7);
    }
}
