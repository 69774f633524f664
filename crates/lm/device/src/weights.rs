//! Upload of matrices and vectors from a GGUF file to a device.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use roci_gguf::{Gguf, Type};
use roci_hal::{Buffer, BufferDesc, BufferRange, Device};
use roci_kernels::native::lm_cpu;
use roci_kernels::params::{LmMatmulPacked, WeightFormat};
use roci_lm::architecture::blocks::{GatedFeedForward, Matrix};
use roci_lm::architecture::matrix_scale;

use crate::Error;
use crate::bindings::rows_per_shard;
use crate::half_floats::{self, HalfFloats};
use crate::pack::{GROUP, format_of, pack_row};
use crate::pack_compact;
use crate::pack_panels::{PackSource, Packing, Pending};
use crate::upload::UploadQueue;

/// Bytes per upload.
const CHUNK_BYTES: usize = 16 << 20;

/// Matrices of a file whose rows make up one matrix on the device: stacked, or interleaved in
/// pairs.
#[derive(Clone)]
pub(crate) struct MatrixRows<'a> {
    matrices: Vec<&'a Matrix>,
    /// 2 if the rows of pairs of matrices are interleaved, else 1.
    interleave: usize,
}

impl<'a> MatrixRows<'a> {
    /// All rows of each matrix, one matrix after the other.
    pub(crate) fn stacked(matrices: Vec<&'a Matrix>) -> Self {
        Self { matrices, interleave: 1 }
    }

    /// Gate and up projections, with the rows of each pair interleaved, one pair after the other.
    /// All networks have a gate.
    pub(crate) fn interleaved(gated: &[&'a GatedFeedForward]) -> Self {
        let matrices = gated.iter().copied().flat_map(GatedFeedForward::gate_up).map(|linear| &linear.matrix).collect();
        Self { matrices, interleave: 2 }
    }

    /// Matrices whose rows are interleaved in groups of `interleave` matrices, 1 or 2.
    pub(crate) fn interleaved_by(interleave: usize, matrices: Vec<&'a Matrix>) -> Self {
        Self { matrices, interleave: interleave.max(1) }
    }

    fn count(&self) -> usize {
        self.matrices.iter().map(|matrix| matrix.outputs()).sum()
    }

    /// The matrix of a row, and the row in it.
    fn locate(&self, row: usize) -> (usize, usize) {
        let mut row = row;
        let mut matrix = 0;
        while row >= self.interleave * self.matrices[matrix].outputs() {
            row -= self.interleave * self.matrices[matrix].outputs();
            matrix += self.interleave;
        }
        (matrix + row % self.interleave, row / self.interleave)
    }

    /// The bytes of a row.
    fn row<'f>(&self, tensors: &[(&'f [u8], usize)], row: usize) -> &'f [u8] {
        let (matrix, row) = self.locate(row);
        let (bytes, row_bytes) = tensors[matrix];
        &bytes[self.matrices[matrix].row(row) * row_bytes..][..row_bytes]
    }
}

/// Consecutive rows of a matrix, as many as fit one binding.
#[derive(Clone)]
pub(crate) struct Shard {
    pub(crate) first_row: usize,
    pub(crate) rows: usize,
    pub(crate) storage: Storage,
}

/// Layout of weights in memory.
#[derive(Clone)]
pub(crate) enum Storage {
    /// Codes and scales in separate buffers, for the WGSL kernels.
    Planar { codes: BufferRange, scales: BufferRange, format: WeightFormat },
    /// Packed for CPU-only kernels, with a factor of all weights.
    Packed { bytes: BufferRange, kind: Type, scale: f32 },
    /// In the memory-mapped file, which is bound as a whole. Only for CPU-only kernels and the
    /// types that they support in place.
    InPlace { file: BufferRange, kind: Type, segments: FileSegments, scale: f32 },
}

/// Up to three matrices in a file that form one, as [`LmMatmulPacked`] expects them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileSegments {
    /// Offset of each in units of [`LmMatmulPacked::UNIT`] bytes.
    pub(crate) starts: [u32; Self::MAX],
    /// End row of each (exclusive).
    pub(crate) ends: [u32; Self::MAX],
}

impl FileSegments {
    /// Maximum number of matrices.
    pub(crate) const MAX: usize = 3;
}

/// A matrix on a device.
#[derive(Clone)]
pub(crate) struct DeviceMatrix {
    pub(crate) rows: usize,
    /// Columns, padded to a multiple of [`GROUP`].
    pub(crate) columns: usize,
    /// Columns of the model.
    pub(crate) model_columns: usize,
    pub(crate) shards: Vec<Shard>,
}

/// Reports the bytes of the file that have been uploaded.
pub(crate) struct Progress<'a> {
    done: AtomicU64,
    total: u64,
    report: &'a (dyn Fn(u64, u64) + Sync),
}

impl<'a> Progress<'a> {
    pub(crate) fn new(total: u64, report: &'a (dyn Fn(u64, u64) + Sync)) -> Self {
        Self { done: AtomicU64::new(0), total, report }
    }

    pub(crate) fn add(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // Matrices of adapters are not counted.
        (self.report)(done.min(self.total), self.total);
    }
}

/// Uploads tensors of a file to a device.
pub(crate) struct WeightLoader<'a> {
    pub(crate) file: &'a Gguf,
    pub(crate) device: &'a Device,
    /// Whether the device runs native kernels.
    pub(crate) native_kernels: bool,
    /// Whether as many weights as possible stay in the file, because they exceed the memory.
    pub(crate) from_file: bool,
    /// Which types of floats are stored as f16.
    pub(crate) half_floats: HalfFloats,
    pub(crate) progress: &'a Progress<'a>,
    /// The model's files by index, mapped as buffers of the device where it supports that.
    files: Mutex<BTreeMap<usize, Option<Buffer>>>,
    /// Matrices in the file that every token reads, if they are not in memory already.
    in_file: Mutex<Vec<BufferRange>>,
    /// Tensors whose factors the caller applies instead.
    unscaled: Mutex<BTreeSet<String>>,
    /// Upload queue, created on first use.
    upload: Mutex<Option<UploadQueue>>,
    pending: Mutex<Pending<'a>>,
}

/// The error for a factor of all weights of a matrix whose type has no factor.
pub(crate) fn unsupported_scale(matrix: &Matrix, kind: Type) -> Error {
    Error::File {
        message: format!("`{}` is {kind} with a scale of the whole matrix, which is not supported", matrix.tensor),
        hint: Some("use a file of this model in NVFP4, or convert it again without such scales".to_owned()),
    }
}

/// Bytes of a matrix on a device, without the alignment of its shards. F32 takes half of them where
/// it becomes 16-bit floats.
pub(crate) fn bytes_of(kind: Type, rows: usize, columns: usize, native_kernels: bool) -> Option<u64> {
    if native_kernels {
        return lm_cpu::packed_bytes(kind, rows, columns).ok().map(|bytes| bytes as u64);
    }
    let format = format_of(kind)?;
    let groups = columns.div_ceil(GROUP);
    (rows as u64).checked_mul((groups * format.code_bytes() + format.scale_bytes(groups)) as u64)
}

impl<'a> WeightLoader<'a> {
    pub(crate) fn new(file: &'a Gguf, device: &'a Device, native_kernels: bool, progress: &'a Progress<'a>) -> Self {
        Self {
            file,
            device,
            native_kernels,
            from_file: false,
            half_floats: HalfFloats::None,
            progress,
            files: Mutex::default(),
            in_file: Mutex::default(),
            unscaled: Mutex::default(),
            upload: Mutex::default(),
            pending: Mutex::default(),
        }
    }

    /// Leaves as many weights as possible in the file.
    pub(crate) fn keep_in_file(self, from_file: bool) -> Self {
        Self { from_file, ..self }
    }

    /// Sets which float types become 16-bit floats.
    pub(crate) fn with_half_floats(self, half_floats: HalfFloats) -> Self {
        Self { half_floats, ..self }
    }

    pub(crate) fn kind(&self, matrix: &Matrix) -> Result<Type, Error> {
        Ok(self.file.expect_tensor(&matrix.tensor)?.info().kind())
    }

    /// Whether an F32 matrix is rounded to F16. Matrices whose values F16 cannot represent keep their
    /// type.
    pub(crate) fn rounds(&self, matrix: &Matrix) -> Result<bool, Error> {
        let kind = self.kind(matrix)?;
        Ok(kind == Type::F32 && self.half_floats.includes(kind))
    }

    /// The factors of matrices.
    pub(crate) fn scales(&self, matrices: &[&Matrix]) -> Result<Vec<f32>, Error> {
        let unscaled = self.unscaled.lock().unwrap_or_else(PoisonError::into_inner);
        let scale = |matrix: &&Matrix| match unscaled.contains(&matrix.tensor) {
            true => Ok(1.0),
            false => matrix_scale(self.file, matrix),
        };
        Ok(matrices.iter().map(scale).collect::<Result<_, _>>()?)
    }

    /// Leaves the factors of a tensor's matrices to the caller.
    pub(crate) fn ignore_scales(&self, tensor: &str) {
        self.unscaled.lock().unwrap_or_else(PoisonError::into_inner).insert(tensor.to_owned());
    }

    /// Whether all matrices have the same type, so that they can become one. CPU-only kernels
    /// have one factor per matrix, so theirs must be the same too.
    pub(crate) fn have_same_type(&self, matrices: &[&Matrix]) -> Result<bool, Error> {
        let kinds = matrices.iter().map(|matrix| self.kind(matrix)).collect::<Result<Vec<_>, _>>()?;
        let scales = self.scales(matrices)?;
        let same_scales = !self.native_kernels || scales.windows(2).all(|two| two[0] == two[1]);
        Ok(same_scales && kinds.windows(2).all(|two| two[0] == two[1]))
    }

    /// Uploads rows of one type as a matrix.
    pub(crate) fn matrix(&self, rows: &MatrixRows<'_>) -> Result<DeviceMatrix, Error> {
        self.matrix_with(rows, self.half_floats)
    }

    /// Uploads a matrix whose F32 weights are not rounded.
    pub(crate) fn exact_matrix(&self, rows: &MatrixRows<'_>) -> Result<DeviceMatrix, Error> {
        self.matrix_with(rows, self.half_floats.exact())
    }

    fn matrix_with(&self, rows: &MatrixRows<'_>, half_floats: HalfFloats) -> Result<DeviceMatrix, Error> {
        let Some(first) = rows.matrices.first() else { return Err(Error::file("a matrix has no rows")) };
        let kind = self.kind(first)?;
        let columns = first.columns;
        let row_bytes = kind.bytes(columns as u64).ok_or_else(|| {
            Error::file(format!(
                "`{}` has rows of {columns} values, which is not a multiple of the block size of {kind}",
                first.tensor
            ))
        })? as usize;
        let tensors = rows
            .matrices
            .iter()
            .map(|matrix| Ok((self.file.expect_tensor(&matrix.tensor)?.bytes(), row_bytes)))
            .collect::<Result<Vec<_>, Error>>()?;
        let scales = self.scales(&rows.matrices)?;
        if !kind.has_code_groups() && scales.iter().any(|scale| *scale != 1.0) {
            return Err(unsupported_scale(first, kind));
        }
        let count = rows.count();
        let padded = columns.next_multiple_of(GROUP);
        let shards = if self.native_kernels {
            let scale = scales.first().copied().unwrap_or(1.0);
            let storage = match self.in_place(rows, kind, columns, scale)? {
                Some(storage) => storage,
                None => {
                    let (storage, packing) = self.packed(rows, &tensors, kind, columns, scale)?;
                    self.pending().pack(packing);
                    storage
                }
            };
            vec![Shard { first_row: 0, rows: count, storage }]
        } else {
            let is_half = half_floats.includes(kind) && range(rows, &tensors, kind).fits();
            let stored = if is_half { Type::F16 } else { kind };
            self.planar(rows, &tensors, &scales, (kind, stored), padded)?
        };
        Ok(DeviceMatrix { rows: count, columns: padded, model_columns: columns, shards })
    }

    /// Uploads a matrix that is in no file.
    pub(crate) fn own_matrix(&self, values: &[f32], columns: usize, kind: Type) -> Result<DeviceMatrix, Error> {
        let count = values.len() / columns.max(1);
        let mut bytes = Vec::new();
        kind.quantize(values, &mut bytes)?;
        let matrix = Matrix::whole("", count, columns);
        let rows = MatrixRows::stacked(vec![&matrix]);
        let tensors = [(bytes.as_slice(), bytes.len() / count.max(1))];
        let padded = columns.next_multiple_of(GROUP);
        let shards = if self.native_kernels {
            let (storage, packing) = self.packed(&rows, &tensors, kind, columns, 1.0)?;
            let mut pending = Pending::default();
            pending.pack(packing);
            pending.run(self.progress)?;
            vec![Shard { first_row: 0, rows: count, storage }]
        } else {
            self.planar(&rows, &tensors, &[1.0], (kind, kind), padded)?
        };
        Ok(DeviceMatrix { rows: count, columns: padded, model_columns: columns, shards })
    }

    /// Uploads rows as shards of codes and scales. `stored` is their type, or F16.
    fn planar(
        &self,
        rows: &MatrixRows<'_>,
        tensors: &[(&[u8], usize)],
        factors: &[f32],
        (kind, stored): (Type, Type),
        columns: usize,
    ) -> Result<Vec<Shard>, Error> {
        let format =
            format_of(stored).ok_or_else(|| Error::file(format!("weights of type {kind} are not supported")))?;
        let grid = pack_compact::grid(kind);
        let groups = columns / GROUP;
        let (code_row, scale_row) = (groups * format.code_bytes(), format.scale_bytes(groups));
        let max_rows = rows_per_shard(self.device.info(), code_row).max(2);
        let mut shards = Vec::new();
        for first in (0..rows.count()).step_by(max_rows) {
            let count = max_rows.min(rows.count() - first);
            let codes = self.allocate((count * code_row) as u64)?;
            let all_scales = match scale_row {
                0 => None,
                _ => Some(self.allocate((grid.len() + count * scale_row) as u64)?),
            };
            let mut scales = all_scales.clone();
            if let Some(all) = all_scales.as_ref().filter(|_| !grid.is_empty()) {
                let size = grid.len() as u64;
                let target = [(0, all.range(0, size)?)];
                self.upload(|upload| upload.send(size, |staged| staged.copy_from_slice(grid), &target))?;
                scales = Some(all.range(size, all.length() - size)?);
            }
            // Scales of a row may be a single byte.
            let step = (CHUNK_BYTES / (code_row + scale_row)).max(4) & !3;
            for start in (first..first + count).step_by(step) {
                let here = step.min(first + count - start);
                // Copies need whole words.
                let (code_bytes, scale_bytes) = (here * code_row, (here * scale_row).next_multiple_of(4));
                let target = |range: &BufferRange, row: usize, bytes: usize| {
                    range.buffer().range(range.offset() + ((start - first) * row) as u64, bytes as u64)
                };
                let mut targets = vec![(0, target(&codes, code_row, code_bytes)?)];
                if let Some(scales) = &scales {
                    targets.push((code_bytes as u64, target(scales, scale_row, scale_bytes)?));
                }
                let fill = |staged: &mut [u8]| {
                    let (codes, scales) = staged.split_at_mut(code_bytes);
                    scales[here * scale_row..].fill(0);
                    in_threads(here, |range, threads| {
                        let codes = split(codes, &range, code_row);
                        let scales = split(scales, &range, scale_row);
                        for ((rows_here, codes), scales) in range.into_iter().zip(codes).zip(scales) {
                            threads.spawn(move || {
                                for (at, row) in rows_here.enumerate() {
                                    let codes = &mut codes[at * code_row..][..code_row];
                                    let scales = &mut scales[at * scale_row..][..scale_row];
                                    // Padding columns are zero.
                                    codes.fill(0);
                                    scales.fill(0);
                                    let factor = factors[rows.locate(start + row).0];
                                    let source = rows.row(tensors, start + row);
                                    if stored == kind {
                                        pack_row(kind, factor, source, codes, scales);
                                    } else {
                                        half_floats::convert_row(kind, source, codes);
                                    }
                                }
                            });
                        }
                    });
                };
                self.upload(|upload| upload.send((code_bytes + scale_bytes) as u64, fill, &targets))?;
                self.progress.add((here * tensors[0].1) as u64);
            }
            let storage = Storage::Planar { scales: all_scales.unwrap_or_else(|| codes.clone()), codes, format };
            shards.push(Shard { first_row: first, rows: count, storage });
        }
        Ok(shards)
    }

    /// Maps rows in the file, if the CPU's kernels support their type.
    fn in_place(
        &self,
        rows: &MatrixRows<'_>,
        kind: Type,
        columns: usize,
        scale: f32,
    ) -> Result<Option<Storage>, Error> {
        let Some(row_bytes) = lm_cpu::row_in_place(kind, columns).filter(|_| rows.interleave == 1) else {
            return Ok(None);
        };
        if rows.matrices.len() > FileSegments::MAX || rows.matrices.iter().any(|part| part.blocks.is_some()) {
            return Ok(None);
        }
        let mut segments = FileSegments::default();
        let (mut file_index, mut end) = (None, 0);
        for (index, part) in rows.matrices.iter().enumerate() {
            let Some(location) = self.file.location(&part.tensor) else { return Ok(None) };
            let start = location.offset + part.rows.start * row_bytes;
            let unit = LmMatmulPacked::UNIT as usize;
            end += part.outputs();
            let narrow = (u32::try_from(start / unit), u32::try_from(end));
            let (Ok(start_units), Ok(end_narrow)) = narrow else { return Ok(None) };
            let one_file = file_index.is_none_or(|file| file == location.index);
            if !one_file || !start.is_multiple_of(unit) || !part.outputs().is_multiple_of(lm_cpu::ROWS) {
                return Ok(None);
            }
            file_index = Some(location.index);
            (segments.starts[index], segments.ends[index]) = (start_units, end_narrow);
        }
        // Unused segments have no rows.
        segments.ends[rows.matrices.len()..].fill(end as u32);
        let Some(buffer) = rows.matrices.first().map(|part| self.file_buffer(&part.tensor)).transpose()?.flatten()
        else {
            return Ok(None);
        };
        for (part, start) in rows.matrices.iter().zip(segments.starts) {
            let bytes = (part.outputs() * row_bytes) as u64;
            let range = buffer.range(u64::from(start) * u64::from(LmMatmulPacked::UNIT), bytes)?;
            if self.from_file {
                self.in_file.lock().unwrap_or_else(PoisonError::into_inner).push(range.clone());
            }
            self.fault_in(range);
        }
        Ok(Some(Storage::InPlace { file: buffer.whole(), kind, segments, scale }))
    }

    /// Schedules a mapped range to be read by [`finish`](Self::finish), so that the first token is
    /// as fast as later ones. Does nothing if that would evict other pages.
    pub(crate) fn fault_in(&self, range: BufferRange) {
        if self.from_file {
            self.progress.add(range.length());
        } else {
            self.pending().read(range);
        }
    }

    /// The work left for [`finish`](Self::finish).
    pub(crate) fn pending(&self) -> MutexGuard<'_, Pending<'a>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The matrices in the file since the last call that are not in memory already.
    pub(crate) fn take_in_file(&self) -> Vec<BufferRange> {
        std::mem::take(&mut *self.in_file.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The file of a tensor, mapped as a buffer; `None` if the device does not support that.
    pub(crate) fn file_buffer(&self, tensor: &str) -> Result<Option<Buffer>, Error> {
        let Some(location) = self.file.location(tensor) else { return Ok(None) };
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mapped) = files.get(&location.index) {
            return Ok(mapped.clone());
        }
        let mapped = self.device.map_file(location.file, "weights")?;
        Ok(files.entry(location.index).or_insert(mapped).clone())
    }

    /// Allocates a buffer for rows in the layout of CPU-only kernels, and describes how to pack
    /// them.
    fn packed<'f>(
        &self,
        rows: &MatrixRows<'_>,
        tensors: &[(&'f [u8], usize)],
        kind: Type,
        columns: usize,
        scale: f32,
    ) -> Result<(Storage, Packing<'f>), Error> {
        let wrong = |error: lm_cpu::PackError| Error::file(error.to_string());
        let count = rows.count();
        let buffer = self.allocate(lm_cpu::packed_bytes(kind, count, columns).map_err(wrong)? as u64)?;
        let sources = vec![PackSource { rows: count, slices: row_slices(rows, tensors) }];
        let target = buffer.buffer().map()?;
        Ok((
            Storage::Packed { bytes: buffer, kind, scale },
            Packing { target, kind, columns, row_bytes: tensors[0].1, sources },
        ))
    }

    /// Runs a closure on the upload queue.
    fn upload(&self, run: impl FnOnce(&mut UploadQueue) -> Result<(), Error>) -> Result<(), Error> {
        let mut upload = self.upload.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *upload {
            Some(upload) => run(upload),
            empty => run(empty.insert(UploadQueue::new(self.device)?)),
        }
    }

    /// Completes all pending packing and reading, and waits for all uploads.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        std::mem::take(&mut *self.pending()).run(self.progress)?;
        self.upload.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(Ok(()), UploadQueue::finish)
    }

    pub(crate) fn allocate(&self, bytes: u64) -> Result<BufferRange, Error> {
        let size = bytes.max(16).next_multiple_of(16);
        let memory = if self.native_kernels { BufferDesc::host(size) } else { BufferDesc::device(size) };
        Ok(self.device.allocate(memory.label("weights"))?.whole())
    }
}

/// The rows in order, in slices of whole rows that are contiguous in a tensor.
fn row_slices<'f>(rows: &MatrixRows<'_>, tensors: &[(&'f [u8], usize)]) -> Vec<&'f [u8]> {
    if rows.interleave > 1 || rows.matrices.iter().any(|part| part.blocks.is_some()) {
        return (0..rows.count()).map(|row| rows.row(tensors, row)).collect();
    }
    let slice = |(part, (bytes, row)): (&&Matrix, &(&'f [u8], usize))| {
        &bytes[part.rows.start * row..(part.rows.start + part.outputs()) * row]
    };
    rows.matrices.iter().zip(tensors).map(slice).collect()
}

/// The magnitudes of all weights of a float type.
fn range(rows: &MatrixRows<'_>, tensors: &[(&[u8], usize)], kind: Type) -> half_floats::Magnitudes {
    let all = Mutex::new(half_floats::Magnitudes::default());
    in_threads(rows.count(), |ranges, threads| {
        for range in ranges {
            let all = &all;
            threads.spawn(move || {
                let of = |row| half_floats::Magnitudes::of_row(kind, rows.row(tensors, row));
                let part = range.map(of).fold(half_floats::Magnitudes::default(), half_floats::Magnitudes::and);
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                *all = all.and(part);
            });
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Splits `count` items into one range per thread, and runs the closure with them in a thread
/// scope.
fn in_threads<'e>(count: usize, run: impl for<'s> FnOnce(Vec<std::ops::Range<usize>>, &'s std::thread::Scope<'s, 'e>)) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count.max(1));
    let edge = |index: usize| count * index / threads;
    let ranges = (0..threads).map(|index| edge(index)..edge(index + 1)).collect();
    std::thread::scope(|scope| run(ranges, scope));
}

/// Splits bytes by ranges of items of `each` bytes.
fn split<'b>(mut bytes: &'b mut [u8], ranges: &[std::ops::Range<usize>], each: usize) -> Vec<&'b mut [u8]> {
    let mut parts = Vec::new();
    for range in ranges {
        let (part, rest) = bytes.split_at_mut((range.len() * each).min(bytes.len()));
        parts.push(part);
        bytes = rest;
    }
    parts
}
