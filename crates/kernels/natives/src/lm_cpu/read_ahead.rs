//! Read-ahead of mapped files, and `lm_read_ahead`, which requests pages on another thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, LazyLock};

use roci_families::LmReadAhead;
use roci_hal::Access;
use roci_hal::native::{NativeKernel, NativeLaunch};
use rustix::mm::{Advice, madvise};

use super::super::check::{self, AccessRange, Extent};
use crate::KernelFactory;

/// The kernels of this file, with the sizes of their constants blocks.
pub(crate) const NATIVE_ONLY_KERNELS: &[(&str, usize, KernelFactory)] =
    &[("lm_read_ahead", size_of::<LmReadAhead>(), |_| Arc::new(ReadAhead))];

/// Alignment of requested ranges: the largest default page size of any system.
const PAGE: usize = 64 << 10;
/// Bytes per request. For each, Linux reads at most the read-ahead window of the disk, which is
/// this large by default.
const STEP: usize = 128 << 10;
/// Maximum number of queued ranges. If the disk is slower than the products, further ranges are
/// read on first access.
const MAX_WAITING: usize = 64;

/// Bytes requested so far.
static REQUESTED: AtomicU64 = AtomicU64::new(0);

/// Queue of ranges (address and length) for the thread that requests them, because a request may
/// wait for the disk.
static WAITING: LazyLock<Option<SyncSender<(usize, usize)>>> = LazyLock::new(|| {
    let (sender, receiver) = sync_channel(MAX_WAITING);
    let serve = move || receiver.into_iter().for_each(|(start, length)| read_ahead(start, length));
    let started = std::thread::Builder::new().name("roci-read-ahead".to_owned()).spawn(serve);
    started.ok().map(|_| sender)
});

/// Bytes of mapped files that kernels of this process have requested.
pub fn requested_bytes() -> u64 {
    REQUESTED.load(Ordering::Relaxed)
}

/// Asks the operating system to read the pages of a range of addresses that are not in memory,
/// without waiting for them. Ranges outside mapped files are ignored.
pub(super) fn read_ahead(start: usize, length: usize) {
    let end = start.saturating_add(length);
    for at in (start - start % PAGE..end).step_by(STEP) {
        let pages = std::ptr::without_provenance_mut(at);
        // SAFETY: the advice changes no content. The system rejects addresses that are not mapped.
        let advised = unsafe { madvise(pages, STEP.min(end - at), Advice::WillNeed) };
        // It is an optimization: without it pages are read on first access.
        let _ = advised;
    }
    REQUESTED.fetch_add(length as u64, Ordering::Relaxed);
}

pub(in super::super) struct ReadAhead;

// SAFETY: it accesses no memory.
unsafe impl NativeKernel for ReadAhead {
    fn accesses(&self) -> &[Access] {
        &[Access::Read]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: LmReadAhead = check::constants(launch)?;
        let [w] = check::bindings(launch)?;
        AccessRange::read::<u8>("w", w, Extent::count(p.bytes.into()))?;
        // Workers are pinned, and a thread inherits that from its creator, so `run` must not start it.
        LazyLock::force(&WAITING);
        Ok(usize::from(p.bytes > 0))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, _: usize, _: usize) {
        let Ok(p) = check::constants::<LmReadAhead>(launch) else { return };
        if let Some(waiting) = &*WAITING {
            // A full queue drops the request.
            let _ = waiting.try_send((launch.bindings[0].pointer.addr(), p.bytes as usize));
        }
    }
}
