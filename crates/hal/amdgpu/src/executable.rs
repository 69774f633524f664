//! Code objects loaded on the GPUs.

use roci_hal::driver::ExecutableBackend;
use roci_hal::{Code, Error, ExecutableSource};
use roci_hsa::runtime::{Agent, Executable as HsaExecutable, Kernel};

/// The kernels of a loaded code object.
pub(crate) struct Executable {
    /// Per GPU, in order of the entry points.
    kernels: Vec<Vec<Kernel>>,
    /// Keeps the code loaded.
    _executable: HsaExecutable,
}

impl ExecutableBackend for Executable {}

impl Executable {
    /// Loads a code object on all GPUs and looks up kernels by name.
    pub(crate) fn load(code: &[u8], names: &[&str], gpus: &[Agent]) -> Result<Self, roci_hsa::Error> {
        let agents: Vec<&Agent> = gpus.iter().collect();
        let executable = gpus[0].runtime().load(code.into(), &agents)?;
        let find = |gpu: &Agent| names.iter().map(|name| executable.kernel(&format!("{name}.kd"), gpu)).collect();
        let kernels = gpus.iter().map(find).collect::<Result<_, _>>()?;
        Ok(Self { kernels, _executable: executable })
    }

    /// Loads an executable of the HAL, which must be an AMD code object.
    pub(crate) fn from_source(source: &ExecutableSource, gpus: &[Agent]) -> Result<Self, Error> {
        let call = || format!("executable \"{}\"", source.label);
        let Code::AmdGcn(code) = &source.code else {
            return Err(Error::invalid(call(), "AMD GPUs only run code objects"));
        };
        let names: Vec<&str> = source.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        Self::load(code, &names, gpus).map_err(|error| {
            Error::invalid(call(), error.to_string())
                .with_hint("`roci objects FILE` shows its target chips and kernels")
        })
    }

    /// The kernel of an entry point on a GPU.
    pub(crate) fn kernel(&self, gpu: usize, entry: usize) -> Kernel {
        self.kernels[gpu][entry]
    }
}
