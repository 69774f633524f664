//! Our implementations: kernels on the CPU driver, recorded once and replayed, as applications run
//! them.

use roci_cpu::CpuDriver;
use roci_hal::{Binding, BufferDesc, Deadline, Device, Error, Registry, Submit};

use crate::measure::Implementation;
use crate::pool::THREADS;

/// The CPU driver, with as many workers as the other implementations have threads.
pub(crate) fn open() -> Result<Device, Error> {
    Registry::new().with(CpuDriver::new()).open(&format!("cpu?threads={THREADS}").parse()?, None)
}

/// A device buffer with a stable host address, so that baseline libraries can use it too.
pub(crate) struct Buffer {
    buffer: roci_hal::Buffer,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the address points into memory that `buffer` keeps alive, and implementations run one
// after the other, so there is no data race.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer initialized with `values`.
    pub(crate) fn from_slice<T: bytemuck::Pod>(device: &Device, values: &[T]) -> Buffer {
        let values: &[u8] = bytemuck::cast_slice(values);
        let buffer = device.allocate(BufferDesc::shared(values.len() as u64)).expect("the machine has enough memory");
        let mut mapping = buffer.map().expect("shared memory can be mapped");
        mapping.copy_from_slice(values);
        let start = mapping.as_mut_ptr();
        drop(mapping);
        Buffer { buffer, start, bytes: values.len() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The address of the first byte.
    pub(crate) fn pointer<T>(&self) -> *mut T {
        self.start.cast()
    }
}

/// Wraps one of our kernels as an implementation.
pub(crate) fn ours<'a, P: bytemuck::Pod>(
    device: &Device,
    name: &str,
    buffers: &[&Buffer],
    constants: P,
    work: f64,
) -> Implementation<'a> {
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
        let next = done.query().expect("the device is not lost") + 1;
        queue.submit(&commands, Submit::new().signal(&done, next)).expect("the device is not lost");
        done.wait(next, Deadline::default()).expect("the kernel completes");
    });
    Implementation { name: "ours", run, work }
}
