//! Loaded code.

use roci_hal::driver::ExecutableBackend;
use roci_hal::{Code, Error, ExecutableSource};
use roci_hsa::runtime::{Agent, Executable, Kernel};

/// The kernels of an executable.
pub(crate) struct Kernels {
    /// By GPU, then in the order of the entry points.
    kernels: Vec<Vec<Kernel>>,
    /// Loaded as long as a kernel may be dispatched.
    _executable: Executable,
}

impl ExecutableBackend for Kernels {}

impl Kernels {
    /// Loads a code object on all GPUs and finds kernels in it.
    pub(crate) fn load(code: &[u8], names: &[&str], gpus: &[Agent]) -> Result<Self, roci_hsa::Error> {
        let agents: Vec<&Agent> = gpus.iter().collect();
        let executable = gpus[0].runtime().load(code.into(), &agents)?;
        let find = |gpu: &Agent| names.iter().map(|name| executable.kernel(&format!("{name}.kd"), gpu)).collect();
        let kernels = gpus.iter().map(find).collect::<Result<_, _>>()?;
        Ok(Self { kernels, _executable: executable })
    }

    /// The same from what the HAL was given.
    pub(crate) fn of(source: &ExecutableSource, gpus: &[Agent]) -> Result<Self, Error> {
        let call = || format!("executable \"{}\"", source.label);
        let Code::AmdGcn(code) = &source.code else {
            return Err(Error::invalid(call(), "an AMD GPU runs code objects only"));
        };
        let names: Vec<&str> = source.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        Self::load(code, &names, gpus).map_err(|error| {
            Error::invalid(call(), error.to_string())
                .hinted("`roci objects FILE` shows for which chips it is and which kernels it has")
        })
    }

    /// A kernel on a GPU.
    pub(crate) fn kernel(&self, gpu: usize, entry: usize) -> Kernel {
        self.kernels[gpu][entry]
    }
}
