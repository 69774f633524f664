//! Sleeping until someone writes a page.
//!
//! Doorbells are plain memory that clients and kernels write without a call. While a queue's thread sleeps, the page of its
//! doorbell is protected from writing; whoever writes it stops in a page fault, which wakes the thread, which takes the
//! protection away and so lets the writer go on. As long as the thread is awake, nothing is protected and nothing costs.

#![expect(unsafe_code, reason = "pages are protected by their addresses")]

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

/// The mode of the operation that protects; the bindings lack it.
const UFFDIO_WRITEPROTECT_MODE_WP: u64 = 1;

/// A page whose next write wakes whoever sleeps on it. When it is dropped, writers that wait go on.
pub(crate) struct Trap {
    faults: OwnedFd,
    page: uffdio_range,
}

impl Trap {
    /// Watches the page at an address. `None` if the kernel cannot do it or does not let us, as in many containers.
    ///
    /// A process without privileges gets to know of faults in its own code only: a system call that writes the page while it is
    /// protected fails with `EFAULT`. A child that is forked is not watched.
    ///
    /// # Safety
    /// It is a page of private memory that was written before and stays mapped as long as the trap lives.
    pub(crate) unsafe fn new(address: u64) -> Option<Self> {
        let mode = UserfaultfdFlags::from_bits_retain(UFFD_USER_MODE_ONLY);
        // SAFETY: faults of a page of our own are all that it will tell of.
        let faults = unsafe { userfaultfd(mode | UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK) }.ok()?;
        let trap = Self { faults, page: uffdio_range { start: address, len: PAGE as u64 } };
        let mut wanted =
            uffdio_api { api: UFFD_API.into(), features: UFFD_FEATURE_PAGEFAULT_FLAG_WP.into(), ioctls: 0 };
        // SAFETY: the structure of this operation.
        unsafe { trap.control::<{ UFFDIO_API as Opcode }, _>(&mut wanted) }.ok()?;
        let mut page = uffdio_register { range: trap.page, mode: UFFDIO_REGISTER_MODE_WP.into(), ioctls: 0 };
        // SAFETY: the structure of this operation; the page is the caller's.
        unsafe { trap.control::<{ UFFDIO_REGISTER as Opcode }, _>(&mut page) }.ok()?;
        (page.ioctls >> _UFFDIO_WRITEPROTECT & 1 == 1).then_some(trap)
    }

    /// Sleeps until the page is written. `look` tells whether there is a reason not to, after writing has become impossible
    /// unnoticed. An error means that the trap is of no use any more.
    pub(crate) fn sleep(&self, look: impl Fn() -> bool) -> Result<(), Errno> {
        self.protect(true)?;
        let slept = if look() { Ok(()) } else { self.fault() };
        self.protect(false)?;
        slept
    }

    /// Waits for a fault.
    fn fault(&self) -> Result<(), Errno> {
        loop {
            match poll(&mut [PollFd::new(&self.faults, PollFlags::IN)], None) {
                Err(Errno::INTR) => {}
                other => return other.map(|_| ()),
            }
        }
    }

    /// Protects the page, or lets those who wait write it.
    fn protect(&self, on: bool) -> Result<(), Errno> {
        let mode = if on { UFFDIO_WRITEPROTECT_MODE_WP } else { 0 };
        let mut wanted = uffdio_writeprotect { range: self.page, mode };
        loop {
            // SAFETY: the structure of this operation; the page is the one that was registered.
            match unsafe { self.control::<{ UFFDIO_WRITEPROTECT as Opcode }, _>(&mut wanted) } {
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => return other,
            }
        }
    }

    /// An operation on the file of faults.
    ///
    /// # Safety
    /// `T` is the structure of the operation, and what it asks for is sound.
    unsafe fn control<const OPERATION: Opcode, T>(&self, structure: &mut T) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        let operation = unsafe { Updater::<OPERATION, T>::new(structure) };
        // SAFETY: the same.
        unsafe { ioctl(&self.faults, operation) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Mapping;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A page with a trap; absence of the means is noted.
    fn trapped() -> Option<(Mapping, Trap)> {
        let mapping = Mapping::new(PAGE, PAGE).expect("a page");
        // SAFETY: a page of its own.
        unsafe { mapping.start().write(1) };
        // SAFETY: just written, and dropped after the trap.
        let trap = unsafe { Trap::new(mapping.range().start) };
        let trap = roci_testkit::require("userfaultfd", trap.ok_or("the system does not let us watch memory"))?;
        Some((mapping, trap))
    }

    fn word(mapping: &Mapping) -> &AtomicU64 {
        // SAFETY: aligned, and as long-lived as its mapping.
        unsafe { &*mapping.start().cast::<AtomicU64>() }
    }

    #[test]
    fn every_write_wakes() {
        let Some((mapping, trap)) = trapped() else { return };
        const WRITES: u64 = 500;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for value in 2..=WRITES {
                    word(&mapping).store(value, Ordering::Release);
                    std::thread::yield_now();
                }
            });
            let mut seen = 1;
            while seen < WRITES {
                // Without a write there is nothing to see: this would sleep for ever if one were missed.
                trap.sleep(|| word(&mapping).load(Ordering::Acquire) != seen).expect("the trap holds");
                seen = word(&mapping).load(Ordering::Acquire);
            }
        });
    }

    #[test]
    fn a_writer_goes_on_when_the_trap_is_gone() {
        let Some((mapping, trap)) = trapped() else { return };
        trap.protect(true).expect("the trap holds");
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| word(&mapping).store(7, Ordering::Release));
            trap.fault().expect("the trap holds");
            assert!(!writer.is_finished() && word(&mapping).load(Ordering::Acquire) == 1, "the writer waits");
            drop(trap);
        });
        assert_eq!(word(&mapping).load(Ordering::Acquire), 7);
    }
}
