//! OpenCL objects that release themselves when dropped, and the calls that the driver makes on
//! them.
//!
//! OpenCL objects are reference-counted and keep what they were created from alive, so drop order
//! does not matter.

#![expect(unsafe_code, reason = "calls OpenCL's C interface")]

use std::ffi::{CString, c_void};

use cl3::{command_queue, context, event, kernel, memory, program};

use crate::error::{ClError, cl_error};

/// A device handle. The library keeps devices for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceId(pub(crate) *mut c_void);

// SAFETY: an opaque handle, which OpenCL accepts on any thread.
unsafe impl Send for DeviceId {}
// SAFETY: as above.
unsafe impl Sync for DeviceId {}

/// Declares an owned OpenCL object and the function that releases it.
macro_rules! object {
    ($(#[$note:meta])* $name:ident, $release:path) => {
        $(#[$note])*
        #[derive(Debug)]
        pub(crate) struct $name(*mut c_void);

        // SAFETY: OpenCL calls are thread-safe, except setting arguments of one kernel from two
        // threads; that function takes `&mut`.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: created by the matching call, owned by this value, and released once. A
                // failed release cannot be handled.
                let _ = unsafe { $release(self.0) };
            }
        }
    };
}

object!(
    /// State shared by the devices of a logical device.
    Context,
    context::release_context
);
object!(
    /// A queue that commands are enqueued to.
    CommandQueue,
    command_queue::release_command_queue
);
object!(
    /// A buffer or sub-buffer.
    Mem,
    memory::release_mem_object
);
object!(
    /// Compiled source or a loaded binary.
    Program,
    program::release_program
);
object!(
    /// An entry point with its arguments.
    Kernel,
    kernel::release_kernel
);
object!(
    /// The completion state of a command.
    Event,
    event::release_event
);

/// Execution status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandStatus {
    Pending,
    Running,
    Complete,
}

/// A range of a buffer, laid out as `cl_buffer_region`.
#[repr(C)]
struct SubBufferRegion {
    origin: usize,
    size: usize,
}

impl Context {
    pub(crate) fn new(devices: &[DeviceId]) -> Result<Self, ClError> {
        let raw: Vec<_> = devices.iter().map(|device| device.0).collect();
        context::create_context(&raw, std::ptr::null(), None, std::ptr::null_mut())
            .map(Self)
            .map_err(cl_error("clCreateContext"))
    }

    /// Creates a queue: in order, or out of order with dependencies given by events; with or
    /// without profiling.
    pub(crate) fn queue(&self, device: DeviceId, out_of_order: bool, profiles: bool) -> Result<CommandQueue, ClError> {
        let order = if out_of_order { command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE } else { 0 };
        let flags = order | if profiles { command_queue::CL_QUEUE_PROFILING_ENABLE } else { 0 };
        // SAFETY: the context is of this device.
        let raw = unsafe { command_queue::create_command_queue(self.0, device.0, flags) };
        raw.map(CommandQueue).map_err(cl_error("clCreateCommandQueue"))
    }

    /// A user event that stays submitted and never completes.
    #[cfg(test)]
    pub(crate) fn waiting_event(&self) -> Result<Event, ClError> {
        event::create_user_event(self.0).map(Event).map_err(cl_error("clCreateUserEvent"))
    }

    /// A user event that has ended: complete if `status` is zero, otherwise failed with that error.
    #[cfg(test)]
    pub(crate) fn ended_event(&self, status: i32) -> Result<Event, ClError> {
        let event = self.waiting_event()?;
        event::set_user_event_status(event.0, status).map_err(cl_error("clSetUserEventStatus"))?;
        Ok(event)
    }

    /// Allocates device memory.
    pub(crate) fn buffer(&self, bytes: usize) -> Result<Mem, ClError> {
        self.create(0, bytes)
    }

    /// Allocates pinned host memory that the device can read and write directly. It must be mapped.
    pub(crate) fn pinned(&self, bytes: usize) -> Result<Mem, ClError> {
        self.create(memory::CL_MEM_ALLOC_HOST_PTR, bytes)
    }

    /// Allocates read-write memory. `flags` must not require a host pointer.
    fn create(&self, flags: u64, bytes: usize) -> Result<Mem, ClError> {
        let flags = memory::CL_MEM_READ_WRITE | flags;
        // SAFETY: no flag requires a host pointer, so it must be null, which it is.
        let raw = unsafe { memory::create_buffer(self.0, flags, bytes, std::ptr::null_mut()) };
        raw.map(Mem).map_err(cl_error("clCreateBuffer"))
    }

    /// Allocates fine-grained shared virtual memory.
    pub(crate) fn shared(&self, bytes: usize) -> Result<*mut u8, ClError> {
        let flags = memory::CL_MEM_READ_WRITE | memory::CL_MEM_SVM_FINE_GRAIN_BUFFER;
        // SAFETY: the flags are valid for a device with fine-grained SVM; the call fails on others.
        let raw = unsafe { memory::svm_alloc(self.0, flags, bytes, 0) };
        raw.map(|pointer| pointer.cast()).map_err(cl_error("clSVMAlloc"))
    }

    /// A buffer that aliases memory of [`Context::shared`].
    ///
    /// # Safety
    /// The memory has at least `bytes` bytes and outlives the buffer.
    pub(crate) unsafe fn buffer_of_shared(&self, pointer: *mut u8, bytes: usize) -> Result<Mem, ClError> {
        let flags = memory::CL_MEM_READ_WRITE | memory::CL_MEM_USE_HOST_PTR;
        // SAFETY: guaranteed by the caller.
        let raw = unsafe { memory::create_buffer(self.0, flags, bytes, pointer.cast()) };
        raw.map(Mem).map_err(cl_error("clCreateBuffer"))
    }

    /// Frees memory of [`Context::shared`].
    ///
    /// # Safety
    /// Neither host nor device uses the memory any more.
    pub(crate) unsafe fn free_shared(&self, pointer: *mut u8) {
        // SAFETY: guaranteed by the caller. The call fails only if the library lacks the function,
        // in which case it allocated nothing.
        let _ = unsafe { memory::svm_free(self.0, pointer.cast()) };
    }

    pub(crate) fn program(&self, source: &str) -> Result<Program, ClError> {
        program::create_program_with_source(self.0, &[source])
            .map(Program)
            .map_err(cl_error("clCreateProgramWithSource"))
    }

    /// A program from a binary that a driver produced earlier. All devices of the context must be
    /// like the device it was compiled for.
    pub(crate) fn program_of_binary(&self, devices: &[DeviceId], binary: &[u8]) -> Result<Program, ClError> {
        let wrong = cl_error("clCreateProgramWithBinary");
        let library = cl3::load_library().as_ref().map_err(|_| wrong(cl3::error_codes::DLOPEN_RUNTIME_LOAD_FAILED))?;
        let ids: Vec<_> = devices.iter().map(|device| device.0).collect();
        let (lengths, mut states) = (vec![binary.len(); ids.len()], vec![0; ids.len()]);
        let binaries = vec![binary.as_ptr(); ids.len()];
        let mut code = cl3::error_codes::CL_INVALID_VALUE;
        // The bindings' wrapper passes slices where C expects pointers, so it is correct for a
        // single device only. Their table of C functions is declared safe. The call is sound
        // because the lists have the given lengths and outlive the call, as the bytes do, and the
        // devices belong to the context. The driver validates the bytes, and the cache checked them
        // before.
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
    /// A sub-buffer of a range. `offset` must have the device's alignment.
    pub(crate) fn sub_buffer(&self, offset: u64, length: u64) -> Result<Mem, ClError> {
        let region = SubBufferRegion { origin: offset as usize, size: length as usize };
        let info = (&raw const region).cast();
        // SAFETY: the region outlives the call, which validates it against the buffer.
        let raw = unsafe {
            memory::create_sub_buffer(self.0, memory::CL_MEM_READ_WRITE, memory::CL_BUFFER_CREATE_TYPE_REGION, info)
        };
        raw.map(Mem).map_err(cl_error("clCreateSubBuffer"))
    }
}

/// Ordering of a command relative to others, and whether it gets an event.
#[derive(Clone, Copy, Default)]
pub(crate) struct EnqueueOptions<'a> {
    /// An explicit dependency, in addition to the queue's own ordering.
    pub(crate) after: Option<&'a Event>,
    /// Whether it gets an event. Events have a cost: tens of microseconds each on NVIDIA.
    pub(crate) has_event: bool,
}

impl EnqueueOptions<'_> {
    /// No dependency, with an event.
    pub(crate) const WITH_EVENT: Self = Self { after: None, has_event: true };

    /// The wait list as count and pointer.
    fn list(&self) -> (u32, *const *mut c_void) {
        // The handle is stored in the event, which outlives the call.
        self.after.map_or((0, std::ptr::null()), |event| (1, &raw const event.0))
    }
}

/// Calls a function that enqueues a command. The bindings' wrappers always request an event.
fn enqueue(
    call: &'static str,
    has_event: bool,
    start: impl FnOnce(&cl3::OpenClRuntime, *mut *mut c_void) -> Option<i32>,
) -> Result<Option<Event>, ClError> {
    let wrong = cl_error(call);
    let library = cl3::load_library().as_ref().map_err(|_| wrong(cl3::error_codes::DLOPEN_RUNTIME_LOAD_FAILED))?;
    let mut raw = std::ptr::null_mut();
    let event = if has_event { &raw mut raw } else { std::ptr::null_mut() };
    match start(library, event) {
        Some(cl3::error_codes::CL_SUCCESS) => Ok(has_event.then_some(Event(raw))),
        Some(code) => Err(wrong(code)),
        None => Err(wrong(cl3::error_codes::DLOPEN_FUNCTION_NOT_AVAILABLE)),
    }
}

// The bindings' table of C functions is declared safe. A comment at each call says why it is sound.
impl CommandQueue {
    /// Fills a checked range of a buffer with a repeated 4-byte pattern.
    pub(crate) fn fill(
        &self,
        (mem, offset, length): (&Mem, u64, u64),
        word: u32,
        order: EnqueueOptions<'_>,
    ) -> Result<Option<Event>, ClError> {
        let (offset, length, (count, waits)) = (offset as usize, length as usize, order.list());
        let pattern = (&raw const word).cast();
        // The call copies the pattern of four bytes; the buffer and the event are alive.
        enqueue("clEnqueueFillBuffer", order.has_event, |library, event| {
            library.clEnqueueFillBuffer(self.0, mem.0, pattern, 4, offset, length, count, waits, event)
        })
    }

    /// Copies bytes between buffers. The caller has checked both ranges.
    pub(crate) fn copy(
        &self,
        (source, from): (&Mem, u64),
        (target, to): (&Mem, u64),
        bytes: u64,
        order: EnqueueOptions<'_>,
    ) -> Result<Option<Event>, ClError> {
        let (from, to, bytes, (count, waits)) = (from as usize, to as usize, bytes as usize, order.list());
        // Both buffers and the event are alive during the call, and the driver keeps the buffers
        // after it.
        enqueue("clEnqueueCopyBuffer", order.has_event, |library, event| {
            library.clEnqueueCopyBuffer(self.0, source.0, target.0, from, to, bytes, count, waits, event)
        })
    }

    /// Writes host bytes to a buffer.
    ///
    /// # Safety
    /// `data` points to `length` bytes that stay valid until the command has ended.
    pub(crate) unsafe fn write(
        &self,
        data: *const u8,
        (mem, offset, length): (&Mem, u64, u64),
        order: EnqueueOptions<'_>,
    ) -> Result<Option<Event>, ClError> {
        let (offset, length, (count, waits)) = (offset as usize, length as usize, order.list());
        // Guaranteed by the caller.
        enqueue("clEnqueueWriteBuffer", order.has_event, |library, event| {
            library.clEnqueueWriteBuffer(self.0, mem.0, 0, offset, length, data.cast(), count, waits, event)
        })
    }

    /// Reads bytes of a buffer to the host.
    ///
    /// # Safety
    /// `to` has room for `length` bytes, which nothing else accesses until the event is complete.
    pub(crate) unsafe fn read(&self, (mem, offset, length): (&Mem, u64, u64), to: *mut u8) -> Result<Event, ClError> {
        let (offset, length) = (offset as usize, length as usize);
        // SAFETY: guaranteed by the caller.
        let raw = unsafe {
            command_queue::enqueue_read_buffer(self.0, mem.0, 0, offset, length, to.cast(), 0, std::ptr::null())
        };
        raw.map(Event).map_err(cl_error("clEnqueueReadBuffer"))
    }

    /// Maps memory. The address is valid from the completion of the event until
    /// [`CommandQueue::unmap`].
    pub(crate) fn map(&self, mem: &Mem, bytes: usize) -> Result<(*mut u8, Event), ClError> {
        let flags = memory::CL_MAP_READ | memory::CL_MAP_WRITE;
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the wait list is empty, and the call validates the range.
        let raw = unsafe {
            command_queue::enqueue_map_buffer(self.0, mem.0, 0, flags, 0, bytes, &mut pointer, 0, std::ptr::null())
        };
        raw.map(|event| (pointer.cast(), Event(event))).map_err(cl_error("clEnqueueMapBuffer"))
    }

    /// Unmaps memory mapped by [`CommandQueue::map`].
    ///
    /// # Safety
    /// `pointer` is the mapped address of this memory, and nothing uses it any more.
    pub(crate) unsafe fn unmap(&self, mem: &Mem, pointer: *mut u8) -> Result<Event, ClError> {
        // SAFETY: guaranteed by the caller.
        let raw =
            unsafe { command_queue::enqueue_unmap_mem_object(self.0, mem.0, pointer.cast(), 0, std::ptr::null()) };
        raw.map(Event).map_err(cl_error("clEnqueueUnmapMemObject"))
    }

    /// Enqueues a kernel whose arguments are set (`clEnqueueNDRangeKernel`).
    pub(crate) fn dispatch(
        &self,
        kernel: &Kernel,
        global: [usize; 3],
        local: [usize; 3],
        order: EnqueueOptions<'_>,
    ) -> Result<Option<Event>, ClError> {
        let (global, local, offset, (count, waits)) = (global.as_ptr(), local.as_ptr(), std::ptr::null(), order.list());
        // All three sizes have three dimensions; the driver reports a missing argument.
        enqueue("clEnqueueNDRangeKernel", order.has_event, |library, event| {
            library.clEnqueueNDRangeKernel(self.0, kernel.0, 3, offset, global, local, count, waits, event)
        })
    }

    /// An event that completes when all of `waits` have, or, if empty, when everything enqueued
    /// before has.
    pub(crate) fn join(&self, waits: &[&Event]) -> Result<Event, ClError> {
        let waits: Vec<_> = waits.iter().map(|event| event.0).collect();
        let list = if waits.is_empty() { std::ptr::null() } else { waits.as_ptr() };
        // SAFETY: the events are alive.
        let raw = unsafe { command_queue::enqueue_marker_with_wait_list(self.0, waits.len() as u32, list) };
        raw.map(Event).map_err(cl_error("clEnqueueMarkerWithWaitList"))
    }

    /// Submits everything enqueued to the device.
    pub(crate) fn flush(&self) -> Result<(), ClError> {
        command_queue::flush(self.0).map_err(cl_error("clFlush"))
    }
}

impl Event {
    /// The execution status of the command, or the error it failed with.
    pub(crate) fn status(&self) -> Result<CommandStatus, ClError> {
        let query = cl_error("clGetEventInfo");
        let data = event::get_event_data(self.0, event::CL_EVENT_COMMAND_EXECUTION_STATUS).map_err(&query)?;
        let bytes = data.first_chunk().ok_or_else(|| query(cl3::error_codes::CL_INVALID_VALUE))?;
        match i32::from_ne_bytes(*bytes) {
            code if code < 0 => Err(ClError { call: "the command", code }),
            event::CL_COMPLETE => Ok(CommandStatus::Complete),
            event::CL_RUNNING => Ok(CommandStatus::Running),
            _ => Ok(CommandStatus::Pending),
        }
    }

    /// Device times in nanoseconds at which the command was queued, started and ended. The queue
    /// must have profiling enabled.
    pub(crate) fn times(&self) -> Result<[u64; 3], ClError> {
        let query = cl_error("clGetEventProfilingInfo");
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

    /// Calls `call` once, on a driver thread, when the command completes or fails. `call` must
    /// return quickly.
    pub(crate) fn on_completion(&self, call: Box<dyn FnOnce() + Send>) -> Result<(), ClError> {
        extern "C" fn notify(_: *mut c_void, _: i32, data: *mut c_void) {
            // SAFETY: the pointer leaked below; OpenCL calls the callback once.
            let call = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
            // A panic must not unwind into C, and there is no caller to report it to.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
        }
        let data = Box::into_raw(Box::new(call));
        event::set_event_callback(self.0, event::CL_COMPLETE, notify, data.cast()).map_err(|code| {
            // SAFETY: a callback whose registration failed is never called, so the box is still
            // owned here.
            drop(unsafe { Box::from_raw(data) });
            cl_error("clSetEventCallback")(code)
        })
    }
}

impl Program {
    /// Builds the program. A failure comes with the compiler's log.
    pub(crate) fn build(&self, devices: &[DeviceId], options: &str) -> Result<(), (ClError, String)> {
        let wrong = |code| (cl_error("clBuildProgram")(code), String::new());
        let options = CString::new(options).map_err(|_| wrong(cl3::error_codes::CL_INVALID_BUILD_OPTIONS))?;
        let raw: Vec<_> = devices.iter().map(|device| device.0).collect();
        program::build_program(self.0, &raw, &options, None, std::ptr::null_mut()).map_err(|code| {
            let log = |device: &*mut c_void| {
                let data = program::get_program_build_data(self.0, *device, program::CL_PROGRAM_BUILD_LOG).ok()?;
                let text = String::from_utf8_lossy(&data).trim_matches(['\0', '\n', ' ']).to_owned();
                (!text.is_empty()).then_some(text)
            };
            (cl_error("clBuildProgram")(code), raw.iter().find_map(log).unwrap_or_default())
        })
    }

    /// The driver's binary for the first device.
    pub(crate) fn binary(&self) -> Result<Vec<u8>, ClError> {
        let info = program::get_program_info(self.0, program::CL_PROGRAM_BINARIES);
        let binaries: Vec<Vec<u8>> = info.map_err(cl_error("clGetProgramInfo"))?.into();
        Ok(binaries.into_iter().next().unwrap_or_default())
    }

    /// Creates a kernel object for an entry point.
    pub(crate) fn kernel(&self, name: &str) -> Result<Kernel, ClError> {
        let wrong = cl_error("clCreateKernel");
        let name = CString::new(name).map_err(|_| wrong(cl3::error_codes::CL_INVALID_KERNEL_NAME))?;
        kernel::create_kernel(self.0, &name).map(Kernel).map_err(wrong)
    }
}

impl Kernel {
    /// Sets a buffer argument.
    pub(crate) fn set_memory(&mut self, index: u32, mem: &Mem) -> Result<(), ClError> {
        let value = (&raw const mem.0).cast();
        // SAFETY: the argument is the handle, which the call copies.
        unsafe { kernel::set_kernel_arg(self.0, index, size_of::<*mut c_void>(), value) }
            .map_err(cl_error("clSetKernelArg"))
    }

    /// Sets a by-value argument.
    pub(crate) fn set_bytes(&mut self, index: u32, bytes: &[u8]) -> Result<(), ClError> {
        // SAFETY: the call copies the bytes.
        unsafe { kernel::set_kernel_arg(self.0, index, bytes.len(), bytes.as_ptr().cast()) }
            .map_err(cl_error("clSetKernelArg"))
    }

    /// Number of arguments.
    pub(crate) fn arguments(&self) -> Result<usize, ClError> {
        let query = cl_error("clGetKernelInfo");
        let data = kernel::get_kernel_data(self.0, kernel::CL_KERNEL_NUM_ARGS).map_err(&query)?;
        let bytes = data.first_chunk().ok_or_else(|| query(cl3::error_codes::CL_INVALID_VALUE))?;
        Ok(u32::from_ne_bytes(*bytes) as usize)
    }
}
