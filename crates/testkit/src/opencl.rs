//! Runs OpenCL C through the ICD loader, so that tests can compare generated source with known
//! results.
//!
//! The loader (`libOpenCL.so.1`) is opened at run time. On a machine without it or without PoCL,
//! opening fails with [`Error::Absent`], which tests report as skipped or as a failure.

#![expect(unsafe_code, reason = "calls OpenCL's C interface")]

use std::ffi::{CString, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use cl3::error_codes::error_text;
use cl3::{command_queue, context, device, event, kernel, memory, platform, program};

use crate::env;

/// Why an OpenCL operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No loader, no platform or no device of the requested kind.
    #[error("no OpenCL device: {0}")]
    Absent(String),
    /// An OpenCL call failed.
    #[error("{call} failed: {} ({code})", error_text(*code))]
    Call {
        /// Name of the OpenCL function.
        call: &'static str,
        /// OpenCL error code.
        code: i32,
    },
    /// The source does not compile.
    #[error("the OpenCL compiler refused the source:\n{log}")]
    Build {
        /// Complete output of the compiler.
        log: String,
    },
    /// A name or option string contains a zero byte.
    #[error("`{0}` contains a zero byte")]
    ZeroByte(String),
}

/// Converts an error code of the named call to [`Error::Call`].
fn failed(call: &'static str) -> impl Fn(i32) -> Error {
    move |code| Error::Call { call, code }
}

/// An OpenCL object that is released when dropped.
#[derive(Debug)]
struct Handle {
    raw: *mut c_void,
    release: unsafe fn(*mut c_void) -> Result<(), i32>,
}

// SAFETY: OpenCL 1.2, appendix A.2: all calls are thread-safe except clSetKernelArg on the same
// kernel object; kernel objects never leave `Program::run`.
unsafe impl Send for Handle {}
// SAFETY: the same argument as for `Send`.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: `raw` was returned by the create call that matches `release` and is released only
        // here.
        // A failing release cannot be handled.
        let _ = unsafe { (self.release)(self.raw) };
    }
}

/// An OpenCL device with its context and an in-order queue.
#[derive(Debug, Clone)]
pub struct Runner {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    // Fields drop in declaration order: the queue before its context.
    queue: Handle,
    context: Handle,
    device: usize,
    name: String,
    extensions: String,
}

/// A kernel argument.
#[derive(Debug)]
pub enum Arg<'a> {
    /// A buffer, uploaded before the run and read back after it.
    Buffer(&'a mut [u8]),
    /// Bytes passed by value.
    Bytes(&'a [u8]),
}

impl Runner {
    /// Opens PoCL's CPU device, or the first device of the platform in `ROCI_OPENCL_PLATFORM`.
    pub fn open() -> Result<Runner, Error> {
        let named = env::read(env::OPENCL_PLATFORM);
        Self::on_platform(named.as_deref().unwrap_or("Portable Computing Language"))
    }

    /// Opens the first device of the platform whose name contains `platform_name`.
    pub fn on_platform(platform_name: &str) -> Result<Runner, Error> {
        // Neither the ICD loader nor PoCL 3.1 survives concurrent initialization by two threads.
        static OPENING: Mutex<()> = Mutex::new(());
        let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let platforms = platform::get_platform_ids()
            .map_err(|code| Error::Absent(format!("clGetPlatformIDs: {} ({code})", error_text(code))))?;
        let mut platform_names = Vec::new();
        for id in platforms {
            let name: String = platform::get_platform_info(id, platform::CL_PLATFORM_NAME)
                .map_err(failed("clGetPlatformInfo"))?
                .into();
            if name.contains(platform_name) {
                let devices =
                    device::get_device_ids(id, device::CL_DEVICE_TYPE_ALL).map_err(failed("clGetDeviceIDs"))?;
                if let Some(&device) = devices.first() {
                    return Self::on_device(device);
                }
            }
            platform_names.push(name);
        }
        Err(Error::Absent(format!("no platform named `{platform_name}` among {platform_names:?}")))
    }

    fn on_device(device: *mut c_void) -> Result<Runner, Error> {
        let text = |what| device::get_device_info(device, what).map(String::from).map_err(failed("clGetDeviceInfo"));
        let name = text(device::CL_DEVICE_NAME)?;
        let extensions = text(device::CL_DEVICE_EXTENSIONS)?;
        let context = context::create_context(&[device], std::ptr::null(), None, std::ptr::null_mut())
            .map_err(failed("clCreateContext"))?;
        let context = Handle { raw: context, release: context::release_context };
        // SAFETY: the context was just made for this device.
        let queue = unsafe { command_queue::create_command_queue(context.raw, device, 0) }
            .map_err(failed("clCreateCommandQueue"))?;
        let queue = Handle { raw: queue, release: command_queue::release_command_queue };
        let shared = Shared { queue, context, device: device as usize, name, extensions };
        Ok(Runner { shared: Arc::new(shared) })
    }

    /// Device name as OpenCL reports it.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// OpenCL extensions of the device, separated by spaces.
    pub fn extensions(&self) -> &str {
        &self.shared.extensions
    }

    /// Whether the device has the extension with exactly this name.
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions().split_whitespace().any(|extension| extension == name)
    }

    /// Compiles `source` with these compiler options.
    pub fn compile(&self, source: &str, options: &str) -> Result<Program, Error> {
        let options = c_string(options)?;
        let device = self.shared.device as *mut c_void;
        let raw = program::create_program_with_source(self.shared.context.raw, &[source])
            .map_err(failed("clCreateProgramWithSource"))?;
        let handle = Handle { raw, release: program::release_program };
        let built = program::build_program(handle.raw, &[device], &options, None, std::ptr::null_mut());
        let log = program::get_program_build_info(handle.raw, device, program::CL_PROGRAM_BUILD_LOG)
            .map(String::from)
            .unwrap_or_default();
        match built {
            Ok(()) => Ok(Program { handle, runner: self.clone(), log }),
            Err(code) if log.trim().is_empty() => Err(Error::Call { call: "clBuildProgram", code }),
            Err(_) => Err(Error::Build { log }),
        }
    }
}

/// A compiled program.
#[derive(Debug)]
pub struct Program {
    handle: Handle,
    runner: Runner,
    log: String,
}

impl Program {
    /// Output of the compiler, including warnings.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Runs the kernel `entry` with `groups` work-groups of `workgroup` work-items and waits for
    /// it.
    ///
    /// A grid with a zero dimension runs nothing.
    pub fn run(&self, entry: &str, groups: [u32; 3], workgroup: [u32; 3], args: &mut [Arg<'_>]) -> Result<(), Error> {
        if groups.contains(&0) {
            return Ok(());
        }
        let raw = kernel::create_kernel(self.handle.raw, &c_string(entry)?).map_err(failed("clCreateKernel"))?;
        let kernel = Handle { raw, release: kernel::release_kernel };
        let mut buffers = Vec::with_capacity(args.len());
        for (index, argument) in (0u32..).zip(args.iter_mut()) {
            let buffer = match argument {
                Arg::Buffer(bytes) => Some(self.upload(bytes)?),
                Arg::Bytes(_) => None,
            };
            let raw_buffer = buffer.as_ref().map(|buffer| buffer.raw);
            let (size, value) = match (&raw_buffer, argument) {
                (Some(raw), _) => (size_of::<*mut c_void>(), std::ptr::from_ref(raw).cast::<c_void>()),
                (None, Arg::Bytes(bytes)) => (bytes.len(), bytes.as_ptr().cast()),
                (None, Arg::Buffer(bytes)) => (bytes.len(), bytes.as_ptr().cast()),
            };
            // SAFETY: `value` points to `size` bytes that live across the call, which copies them.
            unsafe { kernel::set_kernel_arg(kernel.raw, index, size, value) }.map_err(failed("clSetKernelArg"))?;
            buffers.push(buffer);
        }
        self.launch(&kernel, groups, workgroup)?;
        for (argument, buffer) in args.iter_mut().zip(&buffers) {
            if let (Arg::Buffer(bytes), Some(buffer)) = (argument, buffer) {
                self.download(buffer, bytes)?;
            }
        }
        Ok(())
    }

    fn launch(&self, kernel: &Handle, groups: [u32; 3], workgroup: [u32; 3]) -> Result<(), Error> {
        let local = workgroup.map(|size| size as usize);
        let global: [usize; 3] = std::array::from_fn(|axis| groups[axis] as usize * local[axis]);
        let queue = self.runner.shared.queue.raw;
        // SAFETY: all arguments are set (the driver reports one that is not); the size arrays have
        // three entries.
        let event = unsafe {
            command_queue::enqueue_nd_range_kernel(
                queue,
                kernel.raw,
                3,
                std::ptr::null(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                std::ptr::null(),
            )
        }
        .map_err(failed("clEnqueueNDRangeKernel"))?;
        let event = Handle { raw: event, release: event::release_event };
        event::wait_for_events(&[event.raw]).map_err(failed("clWaitForEvents"))
    }

    fn upload(&self, bytes: &mut [u8]) -> Result<Handle, Error> {
        let context = self.runner.shared.context.raw;
        let flags = memory::CL_MEM_READ_WRITE;
        // OpenCL has no zero-size buffers, but an empty storage binding is legal.
        let size = bytes.len().max(16);
        // SAFETY: without CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR the host pointer must be
        // null, as here.
        let raw = unsafe { memory::create_buffer(context, flags, size, std::ptr::null_mut()) }
            .map_err(failed("clCreateBuffer"))?;
        let buffer = Handle { raw, release: memory::release_mem_object };
        if !bytes.is_empty() {
            let queue = self.runner.shared.queue.raw;
            let source = bytes.as_ptr().cast();
            // SAFETY: the blocking write reads `bytes.len()` bytes before it returns; the buffer is
            // at least as large.
            let event = unsafe {
                command_queue::enqueue_write_buffer(queue, raw, 1, 0, bytes.len(), source, 0, std::ptr::null())
            }
            .map_err(failed("clEnqueueWriteBuffer"))?;
            drop(Handle { raw: event, release: event::release_event });
        }
        Ok(buffer)
    }

    fn download(&self, buffer: &Handle, bytes: &mut [u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let queue = self.runner.shared.queue.raw;
        let target = bytes.as_mut_ptr().cast();
        // SAFETY: the blocking read has written `bytes.len()` bytes when it returns; the buffer is
        // at least as large.
        let event = unsafe {
            command_queue::enqueue_read_buffer(queue, buffer.raw, 1, 0, bytes.len(), target, 0, std::ptr::null())
        }
        .map_err(failed("clEnqueueReadBuffer"))?;
        drop(Handle { raw: event, release: event::release_event });
        Ok(())
    }
}

fn c_string(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::ZeroByte(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Arg, Error, Runner};
    use crate::require;

    /// Only a missing device may be skipped. A device that exists but fails to open is a failure.
    fn pocl() -> Option<Runner> {
        match Runner::open() {
            Err(error @ Error::Absent(_)) => require("pocl", Err(error)),
            other => Some(other.expect("PoCL should open")),
        }
    }

    #[test]
    fn a_buffer_goes_in_and_comes_back() {
        let Some(runner) = pocl() else { return };
        let source = "kernel void twice(global uint *data, uint add) { uint i = get_global_id(0); \
                      data[i] = data[i] * 2u + add; }";
        let program = runner.compile(source, "").expect("the source should compile");
        let mut bytes: Vec<u8> = (0u32..8).flat_map(u32::to_le_bytes).collect();
        let add = 5u32.to_le_bytes();
        let mut args = [Arg::Buffer(&mut bytes), Arg::Bytes(&add)];
        program.run("twice", [2, 1, 1], [4, 1, 1], &mut args).expect("the kernel should run");
        let expected: Vec<u8> = (0u32..8).map(|i| i * 2 + 5).flat_map(u32::to_le_bytes).collect();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_refused_source_gives_the_log() {
        let Some(runner) = pocl() else { return };
        match runner.compile("kernel void broken(global uint *data) { data[0] = nothing; }", "") {
            Err(Error::Build { log }) => assert!(log.contains("nothing"), "{log}"),
            other => panic!("should be refused, got {other:?}"),
        }
    }
}
