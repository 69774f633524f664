//! Quantizes on several threads and writes in order.
//!
//! A job is a range of rows of one tensor. Workers take jobs in the order of the file and run at
//! most a few jobs ahead of the writer, which limits memory. The caller's thread writes.

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use roci_gguf::{Error, Type, Writer};

use super::QuantizeError;
use super::plan::{Plan, PlannedTensor};

/// Values of a job, at least a row: 2 MiB in f32.
const JOB_VALUES: u64 = 1 << 19;
/// Finished jobs per thread that may wait for the writer.
const JOBS_AHEAD: usize = 3;
/// Bytes per write of a tensor that is only copied, for progress reports.
const COPY_BYTES: usize = 4 << 20;

/// Rows of a tensor to quantize.
struct Job {
    tensor: usize,
    rows: Range<u64>,
}

/// State that workers and the writer share.
#[derive(Default)]
struct State {
    /// The next job to take.
    next: usize,
    /// Jobs that the writer has taken.
    written: usize,
    finished: BTreeMap<usize, Result<Vec<u8>, QuantizeError>>,
    /// Set when no more results are needed.
    is_stopped: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // If a worker panics, the scope ends, and its state is not used again.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the other threads when it is dropped.
struct Stop<'a> {
    shared: &'a Shared,
    /// Whether the guard only acts if the thread panics.
    on_panic: bool,
}

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        if !self.on_panic || std::thread::panicking() {
            self.shared.lock().is_stopped = true;
            self.shared.changed.notify_all();
        }
    }
}

impl Plan<'_> {
    /// Quantizes and writes the file. `proceed` gets the bytes of the source that are done and
    /// their total; if it returns false, the quantization stops.
    ///
    /// # Errors
    /// If a value does not fit its type, if writing fails, or if `proceed` stops it. The output is
    /// incomplete then.
    pub fn write<W: Write>(
        &self,
        out: W,
        threads: NonZeroUsize,
        mut proceed: impl FnMut(u64, u64) -> bool,
    ) -> Result<W, QuantizeError> {
        let jobs: Vec<Job> = self.tensors.iter().enumerate().flat_map(|(at, tensor)| jobs(at, tensor)).collect();
        let ahead = threads.get() * JOBS_AHEAD;
        let shared = Shared::default();
        std::thread::scope(|scope| {
            let _stop = Stop { shared: &shared, on_panic: false };
            for _ in 0..threads.get().min(jobs.len()) {
                scope.spawn(|| self.work(&jobs, &shared, ahead));
            }
            self.write_in_order(out, &jobs, &shared, &mut proceed)
        })
    }

    fn work(&self, jobs: &[Job], shared: &Shared, ahead: usize) {
        let _stop = Stop { shared, on_panic: true };
        let mut values = Vec::new();
        loop {
            let mut state = shared.lock();
            while !state.is_stopped && state.next >= state.written + ahead {
                state = shared.wait(state);
            }
            let number = state.next;
            let Some(job) = jobs.get(number).filter(|_| !state.is_stopped) else { return };
            state.next += 1;
            drop(state);
            let result = self.quantize(job, &mut values);
            shared.lock().finished.insert(number, result);
            shared.changed.notify_all();
        }
    }

    /// The blocks of a job. `values` is a reusable buffer for the job's values.
    fn quantize(&self, job: &Job, values: &mut Vec<f32>) -> Result<Vec<u8>, QuantizeError> {
        let tensor = &self.tensors[job.tensor];
        let (source, kind) = (tensor.source, tensor.target.kind());
        let (row, rows) = (source.shape()[0], job.rows.end - job.rows.start);
        let row_bytes = source.byte_len() / row_count(tensor);
        let data = self.file.expect_tensor(source.name())?.bytes();
        let data = &data[(job.rows.start * row_bytes) as usize..][..(rows * row_bytes) as usize];
        values.resize((row * rows) as usize, 0.0);
        source.kind().dequantize(data, values)?;
        let limit = limit(kind);
        if let Some(index) = values.iter().position(|value| value.is_nan() || value.abs() >= limit) {
            let value = values[index];
            let index = job.rows.start * row + index as u64;
            return Err(QuantizeError::Value { tensor: source.name().to_owned(), index, value, to: kind });
        }
        let mut out = Vec::with_capacity((tensor.target.byte_len() / row_count(tensor) * rows) as usize);
        let fail = |error, first: u64| match error {
            Error::Range { index, value, .. } => {
                let index = first * row + index as u64;
                QuantizeError::Value { tensor: source.name().to_owned(), index, value, to: kind }
            }
            other => other.into(),
        };
        let Some(importance) = tensor.importance else {
            kind.quantize(values, &mut out).map_err(|error| fail(error, job.rows.start))?;
            return Ok(out);
        };
        let size = |at: usize| source.shape().get(at).copied().unwrap_or(1);
        for (number, values) in job.rows.clone().zip(values.chunks(row as usize)) {
            // Each expert has its own importance row.
            let matrix = number / size(1) % size(2);
            let importance = &importance[(matrix * row) as usize..][..row as usize];
            kind.quantize_row(values, importance, &mut out).map_err(|error| fail(error, number))?;
        }
        Ok(out)
    }

    fn write_in_order<W: Write>(
        &self,
        out: W,
        jobs: &[Job],
        shared: &Shared,
        proceed: &mut impl FnMut(u64, u64) -> bool,
    ) -> Result<W, QuantizeError> {
        let total = self.tensors.iter().map(|tensor| tensor.source.byte_len()).sum();
        let mut writer = Writer::start(out, &self.metadata, &self.targets())?;
        let mut done = 0;
        let mut advance = |bytes: u64| {
            done += bytes;
            if proceed(done, total) { Ok(()) } else { Err(QuantizeError::Stopped) }
        };
        let mut next = 0;
        for (at, tensor) in self.tensors.iter().enumerate() {
            let name = tensor.source.name();
            if !tensor.is_converted() {
                for piece in self.file.expect_tensor(name)?.bytes().chunks(COPY_BYTES) {
                    writer.write(name, piece)?;
                    advance(piece.len() as u64)?;
                }
                continue;
            }
            let row_bytes = tensor.source.byte_len() / row_count(tensor);
            while let Some(job) = jobs.get(next).filter(|job| job.tensor == at) {
                writer.write(name, &shared.take(next)?)?;
                advance((job.rows.end - job.rows.start) * row_bytes)?;
                next += 1;
            }
        }
        Ok(writer.finish()?)
    }
}

impl Shared {
    /// Waits for the result of a job.
    fn take(&self, number: usize) -> Result<Vec<u8>, QuantizeError> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.finished.remove(&number) {
                state.written = number + 1;
                self.changed.notify_all();
                return result;
            }
            if state.is_stopped {
                // A worker panicked; the scope passes the panic on.
                return Err(QuantizeError::Stopped);
            }
            state = self.wait(state);
        }
    }
}

/// The jobs of a tensor; none if it is only copied. A converted tensor is not empty.
fn jobs(at: usize, tensor: &PlannedTensor<'_>) -> impl Iterator<Item = Job> + use<> {
    let rows = if tensor.is_converted() { row_count(tensor) } else { 0 };
    let step = (JOB_VALUES / tensor.source.shape()[0].max(1)).max(1);
    (0..rows.div_ceil(step)).map(move |number| Job { tensor: at, rows: number * step..rows.min((number + 1) * step) })
}

fn row_count(tensor: &PlannedTensor<'_>) -> u64 {
    tensor.source.shape()[1..].iter().product()
}

/// The smallest magnitude that becomes infinite in a float type.
fn limit(kind: Type) -> f32 {
    match kind {
        // Halfway between the largest f16, 65,504, and 65,536; halfway between the largest bf16 and
        // 2^128. Both round up.
        Type::F16 => 65_520.0,
        Type::BF16 => f32::from_bits(0x7f7f_8000),
        _ => f32::INFINITY,
    }
}
