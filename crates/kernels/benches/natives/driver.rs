//! Our side of the contest: kernels on the CPU driver, recorded once and replayed, as programs run them.

use roci_cpu::CpuDriver;
use roci_hal::{Binding, BufferDesc, Deadline, Device, Error, Registry, Submit};

use crate::measure::Contestant;
use crate::pool::THREADS;

/// The CPU driver with as many workers as every contestant has threads.
pub(crate) fn open() -> Result<Device, Error> {
    Registry::new().with(CpuDriver::new()).open(&format!("cpu?threads={THREADS}").parse()?, None)
}

/// A buffer of the device that peers reach by its address.
pub(crate) struct Buffer {
    buffer: roci_hal::Buffer,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the address is of memory that `buffer` keeps alive; contestants take turns, so nobody races for it.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer that holds `values`.
    pub(crate) fn from_slice<T: bytemuck::Pod>(device: &Device, values: &[T]) -> Buffer {
        let values: &[u8] = bytemuck::cast_slice(values);
        let buffer = device.allocate(BufferDesc::shared(values.len() as u64)).expect("the machine has the memory");
        let mut mapping = buffer.map().expect("shared memory can be mapped");
        mapping.copy_from_slice(values);
        let start = mapping.as_mut_ptr();
        drop(mapping);
        Buffer { buffer, start, bytes: values.len() }
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its start.
    pub(crate) fn pointer<T>(&self) -> *mut T {
        self.start.cast()
    }
}

/// One of our kernels as a contestant.
pub(crate) fn ours<'a, P: bytemuck::Pod>(
    device: &Device,
    name: &str,
    buffers: &[&Buffer],
    constants: P,
    work: f64,
) -> Contestant<'a> {
    let replay = || -> Result<_, Error> {
        let spec = roci_kernels::find(name).expect("the table has the kernel");
        let source = spec.executable(device.info()).expect("every kernel has a native twin");
        let kernel = device.load(&source)?.kernel(name)?;
        let bindings: Vec<Binding> = buffers.iter().map(|buffer| (&buffer.buffer).into()).collect();
        let mut recorder = device.record();
        recorder.dispatch(&kernel, [1; 3], &bindings, bytemuck::bytes_of(&constants))?;
        Ok((recorder.finish()?, device.queue(0)?, device.semaphore(0)))
    };
    let (commands, queue, done) = replay().expect("the case fits its buffers");
    let run = Box::new(move || {
        let next = done.query().expect("the device is there") + 1;
        queue.submit(&commands, Submit::new().signal(&done, next)).expect("the device is there");
        done.wait(next, Deadline::default()).expect("the kernel ends");
    });
    Contestant { name: "ours", run, work }
}
