//! WGSL text compiled for a device, and its kernels.

use std::fmt;

use bytemuck::Pod;
use roci_hal::{CodeFormat, Executable, ExecutableSource, Submit};
use roci_wgsl::{Compiled, Source};

use crate::amdgcn;
use crate::array::Bindable;
use crate::error::Error;

/// File name of the caller's text in diagnostics.
const FILE: &str = "kernel.wgsl";

/// Compiled WGSL text with all its entry points. Cheap to clone.
#[derive(Clone)]
pub struct Module {
    device: roci_hal::Device,
    executable: Executable,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Module").field(&self.names()).finish()
    }
}

impl Module {
    pub(crate) fn compile(device: &roci_hal::Device, text: &str) -> Result<Self, Error> {
        let compiled = Source::parse(FILE, text, &[])?;
        let source = source(device, &compiled)?;
        Ok(Self { device: device.clone(), executable: device.load(&source)? })
    }

    /// Names of the entry points.
    pub fn names(&self) -> Vec<&str> {
        self.executable.entry_points().map(|entry| entry.name.as_str()).collect()
    }

    /// The kernel of an entry point.
    ///
    /// # Errors
    /// A name that the text does not have.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        Ok(Kernel { device: self.device.clone(), kernel: self.executable.kernel(name)? })
    }
}

/// The text compiled to the device's preferred format.
fn source(device: &roci_hal::Device, compiled: &Compiled) -> Result<ExecutableSource, Error> {
    let info = device.info();
    if let Some(source) = compiled.executable(compiled.entry_points(), info)? {
        return Ok(source);
    }
    if info.formats.contains(&CodeFormat::AmdGcn) {
        return amdgcn::compile(compiled, info);
    }
    let formats: Vec<_> = info.formats.iter().map(|format| format!("{format:?} code")).collect();
    Err(Error::NoWgsl { device: info.uri.to_string(), formats: formats.join(", ") })
}

/// One entry point, ready to run. Cheap to clone.
#[derive(Clone)]
pub struct Kernel {
    device: roci_hal::Device,
    kernel: roci_hal::Kernel,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kernel").field(self.kernel.entry_point()).finish()
    }
}

impl Kernel {
    /// Runs `grid` workgroups and waits for them. `bindings` are in the order of the text; `params`
    /// is the parameter struct as a slice of 32-bit numbers or one `Pod` struct, empty without one.
    ///
    /// # Errors
    /// Bindings or parameters that differ from the text, a grid beyond the device's limits, or a
    /// lost device.
    pub fn run<P: Pod>(&self, grid: [u32; 3], bindings: &[&dyn Bindable], params: &[P]) -> Result<(), Error> {
        let bindings: Vec<_> = bindings.iter().map(|array| array.binding()).collect();
        let mut recorder = self.device.record();
        recorder.dispatch(&self.kernel, grid, &bindings, bytemuck::cast_slice(params))?;
        let commands = recorder.finish()?;
        let done = self.device.semaphore(0);
        self.device.queue(0)?.submit(&commands, Submit::new().signal(&done, 1))?;
        Ok(done.wait(1, roci_hal::Deadline::default())?)
    }

    /// The HAL kernel, for recorded command buffers.
    pub fn hal(&self) -> &roci_hal::Kernel {
        &self.kernel
    }
}
