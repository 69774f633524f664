//! Two threads that share the parts of a launch, as the CPU driver's workers do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};

/// Threads that every contestant gets.
pub(crate) const THREADS: usize = 2;

/// The calling thread and one helper.
pub(crate) struct Pool {
    work: Sender<Job>,
    done: Receiver<()>,
}

/// A reference to the caller's closure, which waits for the answer before it returns.
struct Job(&'static (dyn Fn() + Sync));

impl Pool {
    /// Starts the helper.
    pub(crate) fn new() -> Pool {
        let (work, jobs) = channel::<Job>();
        let (finished, done) = channel();
        thread::spawn(move || {
            for job in jobs {
                (job.0)();
                if finished.send(()).is_err() {
                    break;
                }
            }
        });
        Pool { work, done }
    }

    /// Runs `task` on both threads at once and returns when both are done.
    pub(crate) fn both(&self, task: &(dyn Fn() + Sync)) {
        // SAFETY: the helper is done with the reference before this function returns: it answers after its last use,
        // and the answer is awaited below.
        let job = Job(unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(task) });
        self.work.send(job).expect("the helper lives as long as the pool");
        task();
        self.done.recv().expect("the helper answers every job");
    }

    /// Runs `piece` for every index below `pieces`, each once.
    pub(crate) fn share(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let all = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= pieces {
                    break;
                }
                piece(index);
            }
        };
        if pieces == 1 { all() } else { self.both(&all) }
    }

    /// Runs a native kernel.
    pub(crate) fn launch(&self, kernel: &dyn NativeKernel, bindings: &[NativeBinding], constants: &[u8]) {
        let launch = NativeLaunch { grid: [1; 3], bindings, constants, workers: THREADS };
        let parts = kernel.prepare(&launch).expect("the case fits its buffers");
        self.share(parts, &|part| {
            // SAFETY: the bindings are whole buffers that nothing else uses meanwhile, `prepare` accepted the launch,
            // and `share` runs each part once.
            unsafe { kernel.run(&launch, part, parts) };
        });
    }
}

/// A buffer, aligned as a device's allocations are, bound whole.
pub(crate) struct Buffer {
    lines: Vec<Line>,
    bytes: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Buffer {
    /// `bytes` zeros.
    pub(crate) fn new(bytes: usize) -> Buffer {
        Buffer { lines: vec![Line([0; 64]); bytes.div_ceil(64)], bytes }
    }

    /// A buffer that holds `values`.
    pub(crate) fn from_slice<T: bytemuck::Pod>(values: &[T]) -> Buffer {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let mut buffer = Buffer::new(bytes.len());
        let flat: &mut [[u8; 64]] = bytemuck::cast_slice_mut(buffer.as_mut_bytes());
        for (line, chunk) in flat.iter_mut().zip(bytes.chunks(64)) {
            line[..chunk.len()].copy_from_slice(chunk);
        }
        buffer
    }

    fn as_mut_bytes(&mut self) -> &mut [u8] {
        let bytes = self.lines.len() * 64;
        // SAFETY: the vector's memory is that many initialised bytes.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), bytes) }
    }

    /// The binding of the whole buffer.
    pub(crate) fn binding(&self) -> NativeBinding {
        NativeBinding { pointer: self.lines.as_ptr().cast_mut().cast(), length: self.bytes }
    }

    /// Its start.
    pub(crate) fn pointer<T>(&self) -> *mut T {
        self.binding().pointer.cast()
    }
}
