//! The matrices of experts for CPU-only kernels: in place in the file, or packed.

use std::sync::{Mutex, PoisonError};

use roci_gguf::Type;
use roci_hal::BufferRange;
use roci_kernels::native::lm_cpu;
use roci_kernels::params::LmExpertsPacked;
use roci_lm::architecture::blocks::Matrix;

use crate::Error;
use crate::weights::{WeightLoader, unsupported_scale};

/// Unit of file offsets in bytes.
const UNIT: usize = LmExpertsPacked::UNIT as usize;

/// Matrices of the same size and type with the same input, one or two per expert.
#[derive(Clone)]
pub(crate) struct NativeExperts {
    pub(crate) weights: BufferRange,
    pub(crate) kind: Type,
    /// Rows of a matrix.
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Matrices per expert, whose results are adjacent.
    pub(crate) matrices: usize,
    /// Number of experts.
    pub(crate) count: usize,
    pub(crate) in_place: bool,
    /// Whether pages of the file are requested before they are read, because it exceeds the memory.
    pub(crate) read_ahead: bool,
    /// Offsets of the first expert's matrices, and the distances to the next expert's, in the units
    /// of [`LmExpertsPacked`].
    pub(crate) starts: [u32; 2],
    pub(crate) steps: [u32; 2],
    /// A factor per matrix.
    pub(crate) scales: Option<BufferRange>,
    /// Biases of all rows, expert by expert.
    pub(crate) bias: Option<BufferRange>,
    /// Column of the first result.
    pub(crate) offset: usize,
}

impl WeightLoader<'_> {
    /// Loads projections with a common input and adjacent results. Each projection has a matrix per
    /// expert.
    pub(crate) fn native_experts(&self, projections: &[Vec<Matrix>]) -> Result<Vec<NativeExperts>, Error> {
        if let Some(all) = self.experts_in_place(projections)? {
            return Ok(vec![all]);
        }
        let mut products = Vec::new();
        let mut offset = 0;
        for matrices in projections {
            let product = match self.experts_in_place(std::slice::from_ref(matrices))? {
                Some(product) => product,
                None => self.packed_experts(matrices)?,
            };
            offset += product.rows;
            products.push(NativeExperts { offset: offset - product.rows, ..product });
        }
        Ok(products)
    }

    /// Maps the matrices in the file, if the CPU kernels support their type and the expert matrices
    /// are evenly spaced. Types that each product would have to decode are mapped only if memory is
    /// short.
    fn experts_in_place(&self, projections: &[Vec<Matrix>]) -> Result<Option<NativeExperts>, Error> {
        let Some(first) = projections.first().and_then(|matrices| matrices.first()) else { return Ok(None) };
        let (kind, rows, columns) = (self.kind(first)?, first.outputs(), first.columns);
        let row_in_place = if self.from_file { lm_cpu::row_decoded_in_place } else { lm_cpu::row_in_place };
        let Some(row_bytes) = row_in_place(kind, columns).filter(|_| rows.is_multiple_of(lm_cpu::ROWS)) else {
            return Ok(None);
        };
        if projections.len() > 2 {
            return Ok(None);
        }
        let count = projections[0].len();
        let (mut starts, mut steps) = ([0; 2], [0; 2]);
        let mut file_index = None;
        for (index, matrices) in projections.iter().enumerate() {
            let mut units = Vec::new();
            for matrix in matrices {
                let Some(location) = self.file.location(&matrix.tensor) else { return Ok(None) };
                let start = location.offset + matrix.rows.start * row_bytes;
                let same = (matrix.outputs(), matrix.columns, self.kind(matrix)?) == (rows, columns, kind);
                let one_file = file_index.is_none_or(|file| file == location.index);
                if !same || !one_file || matrix.blocks.is_some() || !start.is_multiple_of(UNIT) {
                    return Ok(None);
                }
                file_index = Some(location.index);
                let Ok(start) = u32::try_from(start / UNIT) else { return Ok(None) };
                units.push(start);
            }
            let Some(step) = even_step(&units).filter(|_| units.len() == count) else { return Ok(None) };
            (starts[index], steps[index]) = (units[0], step);
        }
        let Some(buffer) = self.file_buffer(&first.tensor)? else { return Ok(None) };
        let bytes = (rows * row_bytes) as u64;
        for (start, step) in starts.into_iter().zip(steps).take(projections.len()) {
            for expert in 0..count as u64 {
                let start = (u64::from(start) + expert * u64::from(step)) * UNIT as u64;
                self.fault_in(&buffer.range(start, bytes)?)?;
                self.progress.add(bytes);
            }
        }
        let by_expert = (0..count).flat_map(|expert| projections.iter().map(move |matrices| &matrices[expert]));
        Ok(Some(NativeExperts {
            weights: buffer.whole(),
            kind,
            rows,
            columns,
            matrices: projections.len(),
            count,
            in_place: true,
            read_ahead: self.from_file,
            starts,
            steps,
            scales: self.expert_scales(&by_expert.collect::<Vec<_>>())?,
            bias: None,
            offset: 0,
        }))
    }

    /// Packs the matrices, one per expert and projection.
    fn packed_experts(&self, matrices: &[Matrix]) -> Result<NativeExperts, Error> {
        let wrong = |error: lm_cpu::PackError| Error::file(error.to_string());
        let Some(first) = matrices.first() else { return Err(Error::file("a mixture of experts has no experts")) };
        let (kind, rows, columns) = (self.kind(first)?, first.outputs(), first.columns);
        let row_bytes = kind.bytes(columns as u64).unwrap_or(0) as usize;
        let mut sources = Vec::new();
        for matrix in matrices {
            if (matrix.outputs(), matrix.columns, self.kind(matrix)?) != (rows, columns, kind)
                || matrix.blocks.is_some()
            {
                return Err(Error::file(format!("the experts of `{}` have different types or sizes", matrix.tensor)));
            }
            let bytes = self.file.expect_tensor(&matrix.tensor)?.bytes();
            let source = bytes.get(matrix.rows.start * row_bytes..matrix.rows.end * row_bytes);
            sources.push(source.ok_or_else(|| Error::file(format!("`{}` is too short", matrix.tensor)))?);
        }
        let matrix_bytes = lm_cpu::packed_bytes(kind, rows, columns).map_err(wrong)?;
        let panel_bytes = lm_cpu::panel_bytes(kind, columns).map_err(wrong)?;
        let weights = self.allocate((matrix_bytes * matrices.len()) as u64)?;
        let mut mapping = weights.buffer().map()?;
        let panels = rows.div_ceil(lm_cpu::ROWS);
        let result = Mutex::new(Ok(()));
        // Threads take panels from a shared iterator for load balance.
        let next = Mutex::new(mapping[..matrix_bytes * matrices.len()].chunks_mut(panel_bytes).enumerate());
        std::thread::scope(|threads| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                let (result, next, sources) = (&result, &next, &sources);
                threads.spawn(move || {
                    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    while let Some((index, target)) = take() {
                        let (expert, panel) = (index / panels, index % panels);
                        let packed = lm_cpu::pack_rows(kind, sources[expert], columns, panel..panel + 1, target);
                        self.progress.add((lm_cpu::ROWS.min(rows - panel * lm_cpu::ROWS) * row_bytes) as u64);
                        if let Err(error) = packed {
                            *result.lock().unwrap_or_else(PoisonError::into_inner) = Err(wrong(error));
                        }
                    }
                });
            }
        });
        drop(mapping);
        result.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        let step =
            u32::try_from(matrix_bytes / UNIT).map_err(|_| Error::file("the experts of a layer are too large"))?;
        Ok(NativeExperts {
            weights,
            kind,
            rows,
            columns,
            matrices: 1,
            count: matrices.len(),
            in_place: false,
            read_ahead: false,
            starts: [0; 2],
            steps: [step; 2],
            scales: self.expert_scales(&matrices.iter().collect::<Vec<_>>())?,
            bias: None,
            offset: 0,
        })
    }

    /// Factors of the matrices; `None` if all are 1.
    fn expert_scales(&self, matrices: &[&Matrix]) -> Result<Option<BufferRange>, Error> {
        let scales = self.scales(matrices)?;
        if scales.iter().all(|scale| *scale == 1.0) {
            return Ok(None);
        }
        for matrix in matrices {
            let kind = self.kind(matrix)?;
            if !kind.has_code_groups() {
                return Err(unsupported_scale(matrix, kind));
            }
        }
        self.floats(&scales).map(Some)
    }
}

/// The distance between evenly spaced numbers; 0 for a single number.
fn even_step(units: &[u32]) -> Option<u32> {
    let step = match units {
        [] => return None,
        [_] => 0,
        [first, second, ..] => second.checked_sub(*first)?,
    };
    units.windows(2).all(|two| two[1].checked_sub(two[0]) == Some(step)).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::even_step;

    #[test]
    fn only_evenly_spaced_matrices_have_a_step() {
        assert_eq!(even_step(&[]), None);
        assert_eq!(even_step(&[7]), Some(0));
        assert_eq!(even_step(&[7, 10, 13]), Some(3));
        assert_eq!(even_step(&[7, 10, 14]), None);
        assert_eq!(even_step(&[7, 5, 3]), None);
    }
}
