//! Packs matrices for CPU-only kernels and reads those that stay in the file. The work for all
//! matrices of a model is done at once, by all threads of the host.

use std::sync::{Mutex, PoisonError};

use roci_gguf::Type;
use roci_hal::BufferRange;
use roci_hal::mapping::Mapping;
use roci_kernels::native::lm_cpu;

use crate::Error;
use crate::weights::Progress;

/// Bytes that a thread packs per task.
const PACK_BYTES: usize = 256 << 10;
/// Bytes that a thread reads from a mapped file per task.
const READ_BYTES: u64 = 16 << 20;

/// Rows of a file that are packed into their own panels.
pub(crate) struct PackSource<'f> {
    /// Number of rows.
    pub(crate) rows: usize,
    /// The rows in order, in slices of whole rows that are contiguous in the file.
    pub(crate) slices: Vec<&'f [u8]>,
}

/// A buffer of packed matrices.
pub(crate) struct Packing<'f> {
    pub(crate) target: Mapping,
    pub(crate) kind: Type,
    pub(crate) columns: usize,
    /// Bytes of a row in the file.
    pub(crate) row_bytes: usize,
    pub(crate) sources: Vec<PackSource<'f>>,
}

/// Work that waits for [`Pending::run`].
#[derive(Default)]
pub(crate) struct Pending<'f> {
    packings: Vec<Packing<'f>>,
    reads: Vec<BufferRange>,
}

/// A part of the work, for one thread.
enum Task<'p> {
    /// Packs some panels, from one row on.
    Pack {
        kind: Type,
        columns: usize,
        row_bytes: usize,
        source: &'p PackSource<'p>,
        first: usize,
        target: &'p mut [u8],
    },
    Read(BufferRange),
}

impl<'f> Pending<'f> {
    pub(crate) fn pack(&mut self, packing: Packing<'f>) {
        self.packings.push(packing);
    }

    pub(crate) fn read(&mut self, range: BufferRange) {
        self.reads.push(range);
    }

    /// Does all the work. Adds the bytes of the file to `progress`.
    pub(crate) fn run(mut self, progress: &Progress<'_>) -> Result<(), Error> {
        let mut tasks = Vec::new();
        for range in &self.reads {
            for start in (0..range.length()).step_by(READ_BYTES as usize) {
                tasks.push(Task::Read(range.range(start, READ_BYTES.min(range.length() - start))?));
            }
        }
        for Packing { target, kind, columns, row_bytes, sources } in &mut self.packings {
            let (kind, columns, row_bytes) = (*kind, *columns, *row_bytes);
            let panel = lm_cpu::panel_bytes(kind, columns).map_err(wrong)?;
            let panels = (PACK_BYTES / panel.max(1)).max(1);
            let mut rest = &mut target[..];
            for source in sources {
                let bytes = source.rows.div_ceil(lm_cpu::ROWS) * panel;
                let (own, others) = rest.split_at_mut(bytes.min(rest.len()));
                rest = others;
                for (at, target) in own.chunks_mut((panel * panels).max(1)).enumerate() {
                    let first = at * panels * lm_cpu::ROWS;
                    tasks.push(Task::Pack { kind, columns, row_bytes, source, first, target });
                }
            }
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(tasks.len());
        let tasks = Mutex::new(tasks.into_iter());
        let result = Mutex::new(Ok(()));
        let work = || {
            let take = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(task) = take() {
                if let Err(error) = task.run(progress) {
                    *result.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                }
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        result.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task<'_> {
    fn run(self, progress: &Progress<'_>) -> Result<(), Error> {
        match self {
            Task::Read(range) => {
                range.prefetch()?;
                progress.add(range.length());
            }
            Task::Pack { kind, columns, row_bytes, source, first, target } => {
                let panel = lm_cpu::panel_bytes(kind, columns).map_err(wrong)?;
                for (at, target) in target.chunks_exact_mut(panel).enumerate() {
                    let first = first + at * lm_cpu::ROWS;
                    let here = lm_cpu::ROWS.min(source.rows - first);
                    let packed = source
                        .with_rows(first, here, row_bytes, |rows| lm_cpu::pack_rows(kind, rows, columns, 0..1, target));
                    packed.map_err(wrong)?;
                    progress.add((here * row_bytes) as u64);
                }
            }
        }
        Ok(())
    }
}

impl PackSource<'_> {
    /// Calls a closure with the bytes of some rows: those of the file if they are contiguous there,
    /// otherwise a copy.
    fn with_rows<T>(&self, first: usize, count: usize, row_bytes: usize, call: impl FnOnce(&[u8]) -> T) -> T {
        let (mut start, end) = (first * row_bytes, (first + count) * row_bytes);
        let mut copy = Vec::new();
        let mut before = 0;
        for slice in &self.slices {
            let after = before + slice.len();
            if start < after {
                let part = &slice[start - before..end.min(after) - before];
                if part.len() == count * row_bytes {
                    return call(part);
                }
                copy.extend_from_slice(part);
                start += part.len();
            }
            if after >= end {
                break;
            }
            before = after;
        }
        call(&copy)
    }
}

fn wrong(error: lm_cpu::PackError) -> Error {
    Error::file(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_from_one_slice_or_from_several() {
        let source = PackSource { rows: 6, slices: vec![&[0, 1, 2, 3][..], &[4, 5], &[6, 7, 8, 9, 10, 11]] };
        let rows = |first, count| source.with_rows(first, count, 2, <[u8]>::to_vec);
        assert_eq!(rows(0, 2), [0, 1, 2, 3]);
        assert_eq!(rows(1, 3), [2, 3, 4, 5, 6, 7]);
        assert_eq!(rows(3, 3), [6, 7, 8, 9, 10, 11]);
        assert_eq!(rows(0, 6), (0..12).collect::<Vec<u8>>());
    }
}
