//! OpenCL's objects as values that release themselves, and the calls that the driver makes on them.
//!
//! Objects keep what they were made from alive by themselves, so the order in which they go does not matter.

#![expect(unsafe_code, reason = "calls OpenCL's C interface")]

use std::ffi::{CString, c_void};

use cl3::{command_queue, context, event, kernel, memory, program};

use crate::error::{Failed, failed};

/// A device. The library keeps it for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceId(pub(crate) *mut c_void);

// SAFETY: an opaque name, which OpenCL takes on any thread.
unsafe impl Send for DeviceId {}
// SAFETY: as above.
unsafe impl Sync for DeviceId {}

/// Declares an owned object of OpenCL with the function that releases it.
macro_rules! object {
    ($(#[$note:meta])* $name:ident, $release:path) => {
        $(#[$note])*
        #[derive(Debug)]
        pub(crate) struct $name(*mut c_void);

        // SAFETY: OpenCL's calls may come from any thread; setting arguments of one kernel from two at once is the
        // exception, and its function asks for `&mut`.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: made by the matching call, owned by this value, and released once. A failing release leaves
                // nothing to be done.
                let _ = unsafe { $release(self.0) };
            }
        }
    };
}

object!(
    /// What devices share.
    Context,
    context::release_context
);
object!(
    /// Where commands go.
    Queue,
    command_queue::release_command_queue
);
object!(
    /// Memory, or part of other memory.
    Mem,
    memory::release_mem_object
);
object!(
    /// Source or binary code.
    Program,
    program::release_program
);
object!(
    /// An entry point with arguments.
    Kernel,
    kernel::release_kernel
);
object!(
    /// The state of a command.
    Event,
    event::release_event
);

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Waiting,
    Running,
    Complete,
}

/// A part of a buffer, as OpenCL wants it.
#[repr(C)]
struct Region {
    origin: usize,
    size: usize,
}

impl Context {
    pub(crate) fn new(devices: &[DeviceId]) -> Result<Self, Failed> {
        let raw: Vec<_> = devices.iter().map(|device| device.0).collect();
        context::create_context(&raw, std::ptr::null(), None, std::ptr::null_mut())
            .map(Self)
            .map_err(failed("clCreateContext"))
    }

    /// A queue that keeps the order of commands, or leaves it to the events they wait for; and that notes when they ran, or
    /// not.
    pub(crate) fn queue(&self, device: DeviceId, out_of_order: bool, profiles: bool) -> Result<Queue, Failed> {
        let order = if out_of_order { command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE } else { 0 };
        let flags = order | if profiles { command_queue::CL_QUEUE_PROFILING_ENABLE } else { 0 };
        // SAFETY: the context is of this device.
        let raw = unsafe { command_queue::create_command_queue(self.0, device.0, flags) };
        raw.map(Queue).map_err(failed("clCreateCommandQueue"))
    }

    /// An event of no command, which is submitted and never runs.
    #[cfg(test)]
    pub(crate) fn waiting_event(&self) -> Result<Event, Failed> {
        event::create_user_event(self.0).map(Event).map_err(failed("clCreateUserEvent"))
    }

    /// An event of no command that has ended: well by zero, else by that error.
    #[cfg(test)]
    pub(crate) fn ended_event(&self, status: i32) -> Result<Event, Failed> {
        let event = self.waiting_event()?;
        event::set_user_event_status(event.0, status).map_err(failed("clSetUserEventStatus"))?;
        Ok(event)
    }

    /// Memory of the device.
    pub(crate) fn buffer(&self, bytes: usize) -> Result<Mem, Failed> {
        self.create(0, bytes)
    }

    /// Memory of the host that is always there, so that devices copy from and to it themselves; to be mapped.
    pub(crate) fn pinned(&self, bytes: usize) -> Result<Mem, Failed> {
        self.create(memory::CL_MEM_ALLOC_HOST_PTR, bytes)
    }

    /// Memory that is read and written, with flags that speak of no host pointer.
    fn create(&self, flags: u64, bytes: usize) -> Result<Mem, Failed> {
        let flags = memory::CL_MEM_READ_WRITE | flags;
        // SAFETY: without a flag that speaks of it the host pointer must be null, as here.
        let raw = unsafe { memory::create_buffer(self.0, flags, bytes, std::ptr::null_mut()) };
        raw.map(Mem).map_err(failed("clCreateBuffer"))
    }

    /// Memory that host and device see alike at any time, at one address.
    pub(crate) fn shared(&self, bytes: usize) -> Result<*mut u8, Failed> {
        let flags = memory::CL_MEM_READ_WRITE | memory::CL_MEM_SVM_FINE_GRAIN_BUFFER;
        // SAFETY: the flags are valid for a device that offers such memory; the call fails on others.
        let raw = unsafe { memory::svm_alloc(self.0, flags, bytes, 0) };
        raw.map(|pointer| pointer.cast()).map_err(failed("clSVMAlloc"))
    }

    /// A buffer that is memory of [`Context::shared`].
    ///
    /// # Safety
    /// The memory has that many bytes and outlives the buffer.
    pub(crate) unsafe fn buffer_of_shared(&self, pointer: *mut u8, bytes: usize) -> Result<Mem, Failed> {
        let flags = memory::CL_MEM_READ_WRITE | memory::CL_MEM_USE_HOST_PTR;
        // SAFETY: the caller's promise.
        let raw = unsafe { memory::create_buffer(self.0, flags, bytes, pointer.cast()) };
        raw.map(Mem).map_err(failed("clCreateBuffer"))
    }

    /// Gives back memory of [`Context::shared`].
    ///
    /// # Safety
    /// Nothing uses it any more.
    pub(crate) unsafe fn free_shared(&self, pointer: *mut u8) {
        // SAFETY: the caller's promise. It cannot fail but for a library without the function, which then gave no memory.
        let _ = unsafe { memory::svm_free(self.0, pointer.cast()) };
    }

    pub(crate) fn program(&self, source: &str) -> Result<Program, Failed> {
        program::create_program_with_source(self.0, &[source]).map(Program).map_err(failed("clCreateProgramWithSource"))
    }

    /// A program that a driver made before, for devices of the context that are all like the one it was made for.
    pub(crate) fn program_of_binary(&self, devices: &[DeviceId], binary: &[u8]) -> Result<Program, Failed> {
        let wrong = failed("clCreateProgramWithBinary");
        let library = cl3::load_library().as_ref().map_err(|_| wrong(cl3::error_codes::DLOPEN_RUNTIME_LOAD_FAILED))?;
        let ids: Vec<_> = devices.iter().map(|device| device.0).collect();
        let (lengths, mut states) = (vec![binary.len(); ids.len()], vec![0; ids.len()]);
        let binaries = vec![binary.as_ptr(); ids.len()];
        let mut code = cl3::error_codes::CL_INVALID_VALUE;
        // The bindings' own function passes slices on where C wants pointers, so it is right for a single device only.
        // Their table of C's functions claims that this is safe. What makes it so: the lists are as long as is said and
        // outlive the call, as the bytes do, and the devices are the context's. Whether the bytes are a program is the
        // driver's check, and ours before.
        let raw = library.clCreateProgramWithBinary(
            self.0,
            ids.len() as u32,
            ids.as_ptr(),
            lengths.as_ptr(),
            binaries.as_ptr(),
            states.as_mut_ptr(),
            &raw mut code,
        );
        match raw {
            Some(raw) if code == cl3::error_codes::CL_SUCCESS => Ok(Program(raw)),
            Some(_) => Err(wrong(code)),
            None => Err(wrong(cl3::error_codes::DLOPEN_FUNCTION_NOT_AVAILABLE)),
        }
    }
}

impl Mem {
    /// Part of it, at an offset of the device's alignment.
    pub(crate) fn part(&self, offset: u64, length: u64) -> Result<Mem, Failed> {
        let region = Region { origin: offset as usize, size: length as usize };
        let place = (&raw const region).cast();
        // SAFETY: the region outlives the call, which checks it against the buffer.
        let raw = unsafe {
            memory::create_sub_buffer(self.0, memory::CL_MEM_READ_WRITE, memory::CL_BUFFER_CREATE_TYPE_REGION, place)
        };
        raw.map(Mem).map_err(failed("clCreateSubBuffer"))
    }
}

/// How a command stands to others of its queue.
#[derive(Clone, Copy, Default)]
pub(crate) struct Order<'a> {
    /// What it waits for, beside what the queue itself makes it wait for.
    pub(crate) after: Option<&'a Event>,
    /// Whether it gets an event. Drivers pay for each: NVIDIA's tens of microseconds.
    pub(crate) noted: bool,
}

impl Order<'_> {
    /// Behind nothing, with an event.
    pub(crate) const NOTED: Self = Self { after: None, noted: true };

    /// The list of what is waited for, as C wants it.
    fn list(&self) -> (u32, *const *mut c_void) {
        // The handle lies in the event, which outlives the call.
        self.after.map_or((0, std::ptr::null()), |event| (1, &raw const event.0))
    }
}

/// Calls a function that enqueues a command; the bindings' own ones ask for an event each time.
fn enqueue(
    call: &'static str,
    noted: bool,
    start: impl FnOnce(&cl3::OpenClRuntime, *mut *mut c_void) -> Option<i32>,
) -> Result<Option<Event>, Failed> {
    let wrong = failed(call);
    let library = cl3::load_library().as_ref().map_err(|_| wrong(cl3::error_codes::DLOPEN_RUNTIME_LOAD_FAILED))?;
    let mut raw = std::ptr::null_mut();
    let place = if noted { &raw mut raw } else { std::ptr::null_mut() };
    match start(library, place) {
        Some(cl3::error_codes::CL_SUCCESS) => Ok(noted.then_some(Event(raw))),
        Some(code) => Err(wrong(code)),
        None => Err(wrong(cl3::error_codes::DLOPEN_FUNCTION_NOT_AVAILABLE)),
    }
}

// The bindings' table of C's functions claims that they are safe to call. What makes these calls so stands beside each.
impl Queue {
    /// Repeats a pattern over bytes of a buffer that it was checked against.
    pub(crate) fn fill(
        &self,
        (mem, offset, length): (&Mem, u64, u64),
        word: u32,
        order: Order<'_>,
    ) -> Result<Option<Event>, Failed> {
        let (offset, length, (count, waits)) = (offset as usize, length as usize, order.list());
        let pattern = (&raw const word).cast();
        // The call copies the pattern of four bytes; the buffer and the event live.
        enqueue("clEnqueueFillBuffer", order.noted, |library, event| {
            library.clEnqueueFillBuffer(self.0, mem.0, pattern, 4, offset, length, count, waits, event)
        })
    }

    /// Copies bytes between buffers that they were checked against.
    pub(crate) fn copy(
        &self,
        (source, from): (&Mem, u64),
        (target, to): (&Mem, u64),
        bytes: u64,
        order: Order<'_>,
    ) -> Result<Option<Event>, Failed> {
        let (from, to, bytes, (count, waits)) = (from as usize, to as usize, bytes as usize, order.list());
        // Both buffers and the event live across the call, and the driver keeps the buffers beyond it.
        enqueue("clEnqueueCopyBuffer", order.noted, |library, event| {
            library.clEnqueueCopyBuffer(self.0, source.0, target.0, from, to, bytes, count, waits, event)
        })
    }

    /// Writes bytes of the host.
    ///
    /// # Safety
    /// There are that many, and they live until the command has ended.
    pub(crate) unsafe fn write(
        &self,
        data: *const u8,
        (mem, offset, length): (&Mem, u64, u64),
        order: Order<'_>,
    ) -> Result<Option<Event>, Failed> {
        let (offset, length, (count, waits)) = (offset as usize, length as usize, order.list());
        // The caller's promise.
        enqueue("clEnqueueWriteBuffer", order.noted, |library, event| {
            library.clEnqueueWriteBuffer(self.0, mem.0, 0, offset, length, data.cast(), count, waits, event)
        })
    }

    /// Reads bytes to the host.
    ///
    /// # Safety
    /// There is room for that many, which nothing else touches until the event is complete.
    pub(crate) unsafe fn read(&self, (mem, offset, length): (&Mem, u64, u64), to: *mut u8) -> Result<Event, Failed> {
        let (offset, length) = (offset as usize, length as usize);
        // SAFETY: the caller's promise.
        let raw = unsafe {
            command_queue::enqueue_read_buffer(self.0, mem.0, 0, offset, length, to.cast(), 0, std::ptr::null())
        };
        raw.map(Event).map_err(failed("clEnqueueReadBuffer"))
    }

    /// The place of memory in the host's, which may be used from the event on until [`Queue::unmap`].
    pub(crate) fn map(&self, mem: &Mem, bytes: usize) -> Result<(*mut u8, Event), Failed> {
        let flags = memory::CL_MAP_READ | memory::CL_MAP_WRITE;
        let mut place = std::ptr::null_mut();
        // SAFETY: nothing is waited for, and the call checks the range.
        let raw = unsafe {
            command_queue::enqueue_map_buffer(self.0, mem.0, 0, flags, 0, bytes, &mut place, 0, std::ptr::null())
        };
        raw.map(|event| (place.cast(), Event(event))).map_err(failed("clEnqueueMapBuffer"))
    }

    /// Takes back what [`Queue::map`] gave.
    ///
    /// # Safety
    /// The place is that of this memory, and nothing uses it any more.
    pub(crate) unsafe fn unmap(&self, mem: &Mem, place: *mut u8) -> Result<Event, Failed> {
        // SAFETY: the caller's promise.
        let raw = unsafe { command_queue::enqueue_unmap_mem_object(self.0, mem.0, place.cast(), 0, std::ptr::null()) };
        raw.map(Event).map_err(failed("clEnqueueUnmapMemObject"))
    }

    /// Runs a kernel whose arguments are set.
    pub(crate) fn run(
        &self,
        kernel: &Kernel,
        global: [usize; 3],
        local: [usize; 3],
        order: Order<'_>,
    ) -> Result<Option<Event>, Failed> {
        let (global, local, offset, (count, waits)) = (global.as_ptr(), local.as_ptr(), std::ptr::null(), order.list());
        // The sizes are three each; the driver reports an argument that is missing.
        enqueue("clEnqueueNDRangeKernel", order.noted, |library, event| {
            library.clEnqueueNDRangeKernel(self.0, kernel.0, 3, offset, global, local, count, waits, event)
        })
    }

    /// An event that is complete when all of these are; without any, when all is that was enqueued before.
    pub(crate) fn join(&self, waits: &[&Event]) -> Result<Event, Failed> {
        let waits: Vec<_> = waits.iter().map(|event| event.0).collect();
        let list = if waits.is_empty() { std::ptr::null() } else { waits.as_ptr() };
        // SAFETY: the events live.
        let raw = unsafe { command_queue::enqueue_marker_with_wait_list(self.0, waits.len() as u32, list) };
        raw.map(Event).map_err(failed("clEnqueueMarkerWithWaitList"))
    }

    /// Hands what was enqueued to the device.
    pub(crate) fn flush(&self) -> Result<(), Failed> {
        command_queue::flush(self.0).map_err(failed("clFlush"))
    }
}

impl Event {
    /// How far the command is, or how it failed.
    pub(crate) fn stage(&self) -> Result<Stage, Failed> {
        let query = failed("clGetEventInfo");
        let data = event::get_event_data(self.0, event::CL_EVENT_COMMAND_EXECUTION_STATUS).map_err(&query)?;
        let bytes = data.first_chunk().ok_or_else(|| query(cl3::error_codes::CL_INVALID_VALUE))?;
        match i32::from_ne_bytes(*bytes) {
            code if code < 0 => Err(Failed { call: "the command", code }),
            event::CL_COMPLETE => Ok(Stage::Complete),
            event::CL_RUNNING => Ok(Stage::Running),
            _ => Ok(Stage::Waiting),
        }
    }

    /// When the command was enqueued, began and ended, by the device's clock in nanoseconds. Of a queue that notes it.
    pub(crate) fn times(&self) -> Result<[u64; 3], Failed> {
        let query = failed("clGetEventProfilingInfo");
        let time = |what| {
            let data = event::get_event_profiling_data(self.0, what).map_err(&query)?;
            let bytes = data.first_chunk().ok_or_else(|| query(cl3::error_codes::CL_INVALID_VALUE))?;
            Ok(u64::from_ne_bytes(*bytes))
        };
        Ok([
            time(event::CL_PROFILING_COMMAND_QUEUED)?,
            time(event::CL_PROFILING_COMMAND_START)?,
            time(event::CL_PROFILING_COMMAND_END)?,
        ])
    }

    /// Calls once, on a thread of the driver's, when the command is complete or has failed. `call` must be quick.
    pub(crate) fn on_completion(&self, call: Box<dyn FnOnce() + Send>) -> Result<(), Failed> {
        extern "C" fn notify(_: *mut c_void, _: i32, data: *mut c_void) {
            // SAFETY: the pointer that was given away below; OpenCL calls once.
            let call = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
            // A panic must not run into C. There is nobody here to tell.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
        }
        let data = Box::into_raw(Box::new(call));
        event::set_event_callback(self.0, event::CL_COMPLETE, notify, data.cast()).map_err(|code| {
            // SAFETY: a refused callback is never called, so the box is still ours.
            drop(unsafe { Box::from_raw(data) });
            failed("clSetEventCallback")(code)
        })
    }
}

impl Program {
    /// Builds it; a refusal comes with what the compiler said.
    pub(crate) fn build(&self, devices: &[DeviceId], options: &str) -> Result<(), (Failed, String)> {
        let wrong = |code| (failed("clBuildProgram")(code), String::new());
        let options = CString::new(options).map_err(|_| wrong(cl3::error_codes::CL_INVALID_BUILD_OPTIONS))?;
        let raw: Vec<_> = devices.iter().map(|device| device.0).collect();
        program::build_program(self.0, &raw, &options, None, std::ptr::null_mut()).map_err(|code| {
            let log = |device: &*mut c_void| {
                let data = program::get_program_build_data(self.0, *device, program::CL_PROGRAM_BUILD_LOG).ok()?;
                let text = String::from_utf8_lossy(&data).trim_matches(['\0', '\n', ' ']).to_owned();
                (!text.is_empty()).then_some(text)
            };
            (failed("clBuildProgram")(code), raw.iter().find_map(log).unwrap_or_default())
        })
    }

    /// The code that the driver made for the first device.
    pub(crate) fn binary(&self) -> Result<Vec<u8>, Failed> {
        let info = program::get_program_info(self.0, program::CL_PROGRAM_BINARIES);
        let binaries: Vec<Vec<u8>> = info.map_err(failed("clGetProgramInfo"))?.into();
        Ok(binaries.into_iter().next().unwrap_or_default())
    }

    /// One of its entry points.
    pub(crate) fn kernel(&self, name: &str) -> Result<Kernel, Failed> {
        let wrong = failed("clCreateKernel");
        let name = CString::new(name).map_err(|_| wrong(cl3::error_codes::CL_INVALID_KERNEL_NAME))?;
        kernel::create_kernel(self.0, &name).map(Kernel).map_err(wrong)
    }
}

impl Kernel {
    /// Memory as an argument.
    pub(crate) fn set_memory(&mut self, index: u32, mem: &Mem) -> Result<(), Failed> {
        let value = (&raw const mem.0).cast();
        // SAFETY: the argument is the handle itself, which the call copies.
        unsafe { kernel::set_kernel_arg(self.0, index, size_of::<*mut c_void>(), value) }
            .map_err(failed("clSetKernelArg"))
    }

    /// Bytes as an argument.
    pub(crate) fn set_bytes(&mut self, index: u32, bytes: &[u8]) -> Result<(), Failed> {
        // SAFETY: the call copies the bytes.
        unsafe { kernel::set_kernel_arg(self.0, index, bytes.len(), bytes.as_ptr().cast()) }
            .map_err(failed("clSetKernelArg"))
    }

    /// How many arguments it has.
    pub(crate) fn arguments(&self) -> Result<usize, Failed> {
        let query = failed("clGetKernelInfo");
        let data = kernel::get_kernel_data(self.0, kernel::CL_KERNEL_NUM_ARGS).map_err(&query)?;
        let bytes = data.first_chunk().ok_or_else(|| query(cl3::error_codes::CL_INVALID_VALUE))?;
        Ok(u32::from_ne_bytes(*bytes) as usize)
    }
}
