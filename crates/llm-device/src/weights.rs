//! Matrices and vectors of a file on a device.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use roci_gguf::{Gguf, Type};
use roci_hal::{Buffer, BufferDesc, BufferRange, Device};
use roci_kernels::native::lm;
use roci_kernels::params::{LmProduct, WeightFormat};
use roci_llm::architecture::blocks::{Gated, Linear, Matrix, Vector};

use crate::Error;
use crate::bindings::rows_of_part;
use crate::pack::{GROUP, format_of, pack_row};
use crate::upload::Upload;

/// Bytes that are packed before they are sent on.
const PIECE: usize = 16 << 20;

/// Rows of a file that make one matrix: several matrices one below the other, each perhaps in turn with a second one, row by row.
#[derive(Clone)]
pub(crate) struct Rows<'a> {
    parts: Vec<&'a Matrix>,
    /// 2 if parts come in pairs whose rows take turns.
    turns: usize,
}

impl<'a> Rows<'a> {
    /// One below the other.
    pub(crate) fn below(parts: Vec<&'a Matrix>) -> Self {
        Self { parts, turns: 1 }
    }

    /// The gate and its partner row by row, one pair below the other.
    pub(crate) fn pairs(gated: &[&'a Gated]) -> Self {
        let parts = gated.iter().flat_map(|gated| [&gated.gate.matrix, &gated.up.matrix]).collect();
        Self { parts, turns: 2 }
    }

    fn count(&self) -> usize {
        self.parts.iter().map(|part| part.outputs()).sum()
    }

    /// The bytes of a row.
    fn row<'f>(&self, tensors: &[(&'f [u8], usize)], row: usize) -> &'f [u8] {
        let mut row = row;
        let mut part = 0;
        while row >= self.turns * self.parts[part].outputs() {
            row -= self.turns * self.parts[part].outputs();
            part += self.turns;
        }
        let (part, row) = (part + row % self.turns, row / self.turns);
        let (bytes, pitch) = tensors[part];
        &bytes[(self.parts[part].rows.start + row) * pitch..][..pitch]
    }
}

/// Some rows of a matrix, as many as one binding reaches.
#[derive(Clone)]
pub(crate) struct Part {
    /// The first row.
    pub(crate) first: usize,
    /// How many.
    pub(crate) rows: usize,
    /// What holds them.
    pub(crate) held: Held,
}

/// How they lie in memory.
#[derive(Clone)]
pub(crate) enum Held {
    /// Codes and scales, for the kernels that every device has.
    Apart { codes: BufferRange, scales: BufferRange, format: WeightFormat },
    /// As the CPU's own kernels like it.
    Packed { bytes: BufferRange, kind: Type },
    /// Where it is in a file, all of which is bound. Only the CPU's own kernels can do that, with some types.
    InPlace { file: BufferRange, kind: Type, places: Places },
}

/// Where the matrices lie that make one, as [`LmProduct`] tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) starts: [u32; 3],
    pub(crate) ends: [u32; 3],
}

/// A matrix on a device.
#[derive(Clone)]
pub(crate) struct Weights {
    pub(crate) rows: usize,
    /// Padded to whole groups.
    pub(crate) columns: usize,
    /// Those that the model has.
    pub(crate) model_columns: usize,
    pub(crate) parts: Vec<Part>,
}

/// Tells how many bytes of the file have been brought over.
pub(crate) struct Progress<'a> {
    done: AtomicU64,
    total: u64,
    tell: &'a (dyn Fn(u64, u64) + Sync),
}

impl<'a> Progress<'a> {
    pub(crate) fn new(total: u64, tell: &'a (dyn Fn(u64, u64) + Sync)) -> Self {
        Self { done: AtomicU64::new(0), total, tell }
    }

    fn add(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        (self.tell)(done, self.total);
    }
}

/// Brings tensors of a file to a device.
pub(crate) struct Loader<'a> {
    pub(crate) file: &'a Gguf,
    pub(crate) device: &'a Device,
    /// Whether the device runs the CPU's own kernels.
    pub(crate) host: bool,
    pub(crate) progress: &'a Progress<'a>,
    /// The model's files as buffers of the device, where it can have that, by their numbers.
    pub(crate) files: Mutex<BTreeMap<usize, Option<Buffer>>>,
    /// The way to the device, once something has gone it.
    pub(crate) upload: Mutex<Option<Upload>>,
}

/// Bytes that a matrix takes on a device, and the alignment of its parts left out.
pub(crate) fn bytes_of(kind: Type, rows: usize, columns: usize, host: bool) -> Option<u64> {
    if host {
        return lm::packed_bytes(kind, rows, columns).ok().map(|bytes| bytes as u64);
    }
    let format = format_of(kind)?;
    let groups = columns.div_ceil(GROUP);
    (rows as u64).checked_mul((groups * format.code_bytes() + format.scale_bytes(groups)) as u64)
}

impl Loader<'_> {
    fn kind(&self, matrix: &Matrix) -> Result<Type, Error> {
        Ok(self.file.expect_tensor(&matrix.tensor)?.info().kind())
    }

    /// Whether all matrices are of one type, so that they can become one.
    pub(crate) fn alike(&self, matrices: &[&Matrix]) -> Result<bool, Error> {
        let kinds = matrices.iter().map(|matrix| self.kind(matrix)).collect::<Result<Vec<_>, _>>()?;
        Ok(kinds.windows(2).all(|two| two[0] == two[1]))
    }

    /// A matrix of rows of one type.
    pub(crate) fn matrix(&self, rows: &Rows<'_>) -> Result<Weights, Error> {
        let Some(first) = rows.parts.first() else { return Err(Error::file("a matrix without rows")) };
        let kind = self.kind(first)?;
        let columns = first.columns;
        let pitch = kind.bytes(columns as u64).ok_or_else(|| {
            Error::file(format!("`{}` has rows of {columns} values, no whole blocks of {kind}", first.tensor))
        })? as usize;
        let tensors = rows
            .parts
            .iter()
            .map(|part| Ok((self.file.expect_tensor(&part.tensor)?.bytes(), pitch)))
            .collect::<Result<Vec<_>, Error>>()?;
        let count = rows.count();
        let padded = columns.next_multiple_of(GROUP);
        let parts = if self.host {
            let held = match self.in_place(rows, kind, columns)? {
                Some(held) => held,
                None => self.packed(rows, &tensors, kind, columns)?,
            };
            vec![Part { first: 0, rows: count, held }]
        } else {
            self.apart(rows, &tensors, kind, padded)?
        };
        Ok(Weights { rows: count, columns: padded, model_columns: columns, parts })
    }

    fn apart(
        &self,
        rows: &Rows<'_>,
        tensors: &[(&[u8], usize)],
        kind: Type,
        columns: usize,
    ) -> Result<Vec<Part>, Error> {
        let format =
            format_of(kind).ok_or_else(|| Error::file(format!("weights of type {kind} are not computed with")))?;
        let groups = columns / GROUP;
        let (code_row, scale_row) = (groups * format.code_bytes(), format.scale_bytes(groups));
        let most = rows_of_part(self.device.info(), code_row).max(2);
        let mut parts = Vec::new();
        for first in (0..rows.count()).step_by(most) {
            let count = most.min(rows.count() - first);
            let codes = self.allocate((count * code_row) as u64)?;
            let scales = if scale_row == 0 { None } else { Some(self.allocate((count * scale_row) as u64)?) };
            let step = (PIECE / (code_row + scale_row)).max(2) & !1;
            for start in (first..first + count).step_by(step) {
                let here = step.min(first + count - start);
                // Copies are of whole words.
                let (code_bytes, scale_bytes) = (here * code_row, (here * scale_row).next_multiple_of(4));
                let place = |range: &BufferRange, row: usize, bytes: usize| {
                    range.buffer().range(range.offset() + ((start - first) * row) as u64, bytes as u64)
                };
                let mut places = vec![(0, place(&codes, code_row, code_bytes)?)];
                if let Some(scales) = &scales {
                    places.push((code_bytes as u64, place(scales, scale_row, scale_bytes)?));
                }
                let fill = |piece: &mut [u8]| {
                    let (codes, scales) = piece.split_at_mut(code_bytes);
                    scales[here * scale_row..].fill(0);
                    in_threads(here, |range, threads| {
                        let codes = split(codes, &range, code_row);
                        let scales = split(scales, &range, scale_row);
                        for ((rows_here, codes), scales) in range.into_iter().zip(codes).zip(scales) {
                            threads.spawn(move || {
                                for (at, row) in rows_here.enumerate() {
                                    let codes = &mut codes[at * code_row..][..code_row];
                                    let scales = &mut scales[at * scale_row..][..scale_row];
                                    // Behind the model's columns there are zeros.
                                    codes.fill(0);
                                    scales.fill(0);
                                    pack_row(kind, rows.row(tensors, start + row), codes, scales);
                                }
                            });
                        }
                    });
                };
                self.upload(|upload| upload.send((code_bytes + scale_bytes) as u64, fill, &places))?;
                self.progress.add((here * tensors[0].1) as u64);
            }
            let held = Held::Apart { scales: scales.unwrap_or_else(|| codes.clone()), codes, format };
            parts.push(Part { first, rows: count, held });
        }
        Ok(parts)
    }

    /// Rows where they lie in a file, if the kernels of the CPU take them so. They are brought to memory here, so that the first token is
    /// as fast as the next.
    fn in_place(&self, rows: &Rows<'_>, kind: Type, columns: usize) -> Result<Option<Held>, Error> {
        let Some(pitch) = lm::row_in_place(kind, columns).filter(|_| rows.turns == 1) else { return Ok(None) };
        let mut places = Places::default();
        if rows.parts.len() > places.starts.len() {
            return Ok(None);
        }
        let (mut found, mut end) = (None, 0);
        for (at, part) in rows.parts.iter().enumerate() {
            let Some(place) = self.file.place(&part.tensor) else { return Ok(None) };
            let start = place.offset + part.rows.start * pitch;
            let unit = LmProduct::UNIT as usize;
            end += part.outputs();
            let narrow = (u32::try_from(start / unit), u32::try_from(end));
            let (Ok(start_units), Ok(end_narrow)) = narrow else { return Ok(None) };
            let one_file = found.is_none_or(|index| index == place.index);
            if !one_file || !start.is_multiple_of(unit) || !part.outputs().is_multiple_of(lm::ROWS) {
                return Ok(None);
            }
            found = Some(place.index);
            (places.starts[at], places.ends[at]) = (start_units, end_narrow);
        }
        // Those that are not there have no rows.
        places.ends[rows.parts.len()..].fill(end as u32);
        let Some(buffer) = rows.parts.first().map(|part| self.file_buffer(&part.tensor)).transpose()?.flatten() else {
            return Ok(None);
        };
        for (part, start) in rows.parts.iter().zip(places.starts) {
            let bytes = (part.outputs() * pitch) as u64;
            buffer.range(u64::from(start) * u64::from(LmProduct::UNIT), bytes)?.fetch()?;
            self.progress.add(bytes);
        }
        Ok(Some(Held::InPlace { file: buffer.whole(), kind, places }))
    }

    /// The file that holds a tensor as a buffer; `None` where the device cannot have that.
    fn file_buffer(&self, tensor: &str) -> Result<Option<Buffer>, Error> {
        let Some(place) = self.file.place(tensor) else { return Ok(None) };
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = files.get(&place.index) {
            return Ok(known.clone());
        }
        let mapped = self.device.map_file(place.file, "weights")?;
        Ok(files.entry(place.index).or_insert(mapped).clone())
    }

    fn packed(&self, rows: &Rows<'_>, tensors: &[(&[u8], usize)], kind: Type, columns: usize) -> Result<Held, Error> {
        let wrong = |error: lm::PackError| Error::file(error.to_string());
        let count = rows.count();
        let buffer = self.allocate(lm::packed_bytes(kind, count, columns).map_err(wrong)? as u64)?;
        let group = lm::group_bytes(kind, columns).map_err(wrong)?;
        let groups = count.div_ceil(lm::ROWS);
        let pitch = tensors[0].1;
        let result = Mutex::new(Ok(()));
        let mut mapping = buffer.buffer().map()?;
        // A thread that others hold up takes fewer.
        let next = Mutex::new(mapping[..groups * group].chunks_mut(group).enumerate());
        std::thread::scope(|threads| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from).min(groups.max(1)) {
                let (result, next) = (&result, &next);
                threads.spawn(move || {
                    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    while let Some((index, target)) = take() {
                        let first = index * lm::ROWS;
                        let here = lm::ROWS.min(count - first);
                        // Rows that follow each other in the file are packed from there, others from a copy.
                        let together = if rows.turns > 1 { None } else { contiguous(rows, tensors, first, here) };
                        let outcome = match together {
                            Some(source) => lm::pack_rows(kind, source, columns, 0..1, target),
                            None => {
                                let copy: Vec<u8> =
                                    (first..first + here).flat_map(|row| rows.row(tensors, row)).copied().collect();
                                lm::pack_rows(kind, &copy, columns, 0..1, target)
                            }
                        };
                        self.progress.add((here * pitch) as u64);
                        if let Err(error) = outcome
                            && let Ok(mut result) = result.lock()
                        {
                            *result = Err(Error::file(error.to_string()));
                        }
                    }
                });
            }
        });
        drop(mapping);
        result.into_inner().unwrap_or_else(|_| Err(Error::file("packing was interrupted")))?;
        Ok(Held::Packed { bytes: buffer, kind })
    }

    /// Has something to do with the way to the device.
    fn upload(&self, run: impl FnOnce(&mut Upload) -> Result<(), Error>) -> Result<(), Error> {
        let mut upload = self.upload.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *upload {
            Some(upload) => run(upload),
            none => run(none.insert(Upload::new(self.device)?)),
        }
    }

    /// Waits until all matrices have arrived.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        self.upload.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(Ok(()), Upload::finish)
    }

    fn allocate(&self, bytes: u64) -> Result<BufferRange, Error> {
        let size = bytes.max(16).next_multiple_of(16);
        let memory = if self.host { BufferDesc::host(size) } else { BufferDesc::device(size) };
        Ok(self.device.allocate(memory.label("weights"))?.whole())
    }

    /// Numbers of one-row tensors, one behind the other; `None` counts as so many zeros.
    pub(crate) fn vectors(&self, vectors: &[(Option<&Vector>, usize)]) -> Result<BufferRange, Error> {
        let mut numbers: Vec<f32> = Vec::new();
        for (vector, length) in vectors {
            match vector {
                None => numbers.resize(numbers.len() + length, 0.0),
                Some(vector) => {
                    let tensor = self.file.expect_tensor(&vector.tensor)?;
                    let values = tensor.to_f32()?;
                    let values = values.get(vector.values.clone());
                    numbers.extend(values.ok_or_else(|| Error::file(format!("`{}` is too short", vector.tensor)))?);
                    self.progress.add(tensor.bytes().len() as u64);
                }
            }
        }
        // Kernels read whole groups.
        numbers.resize(numbers.len().next_multiple_of(GROUP), 0.0);
        self.numbers(&numbers)
    }

    /// These numbers on the device.
    pub(crate) fn numbers(&self, numbers: &[f32]) -> Result<BufferRange, Error> {
        let range = self.allocate(4 * numbers.len() as u64)?;
        self.device.write(range.range(0, 4 * numbers.len() as u64)?, bytemuck::cast_slice(numbers))?;
        Ok(range)
    }

    /// The biases of products that become one matrix; `None` if none has one.
    pub(crate) fn biases(&self, linears: &[&Linear]) -> Result<Option<BufferRange>, Error> {
        if linears.iter().all(|linear| linear.bias.is_none()) {
            return Ok(None);
        }
        let vectors: Vec<_> = linears.iter().map(|linear| (linear.bias.as_ref(), linear.matrix.outputs())).collect();
        self.vectors(&vectors).map(Some)
    }
}

/// The bytes of rows that follow each other in one tensor.
fn contiguous<'f>(rows: &Rows<'_>, tensors: &[(&'f [u8], usize)], first: usize, count: usize) -> Option<&'f [u8]> {
    let mut before = 0;
    for (part, (bytes, pitch)) in rows.parts.iter().zip(tensors) {
        if first < before + part.outputs() {
            let start = part.rows.start + first - before;
            let all_here = first + count <= before + part.outputs();
            return all_here.then(|| &bytes[start * pitch..(start + count) * pitch]);
        }
        before += part.outputs();
    }
    None
}

/// Cuts `count` items into a range for each thread, and runs them.
fn in_threads<'e>(count: usize, run: impl for<'s> FnOnce(Vec<std::ops::Range<usize>>, &'s std::thread::Scope<'s, 'e>)) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count.max(1));
    let edge = |index: usize| count * index / threads;
    let ranges = (0..threads).map(|index| edge(index)..edge(index + 1)).collect();
    std::thread::scope(|scope| run(ranges, scope));
}

/// The bytes of each range of items.
fn split<'b>(mut bytes: &'b mut [u8], ranges: &[std::ops::Range<usize>], each: usize) -> Vec<&'b mut [u8]> {
    let mut parts = Vec::new();
    for range in ranges {
        let (part, rest) = bytes.split_at_mut((range.len() * each).min(bytes.len()));
        parts.push(part);
        bytes = rest;
    }
    parts
}
