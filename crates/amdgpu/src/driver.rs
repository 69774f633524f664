//! What the driver finds: the GPUs of an HSA runtime, a real one or an emulated one.

use std::sync::Arc;

use parking_lot::Mutex;
use roci_hal::driver::{DeviceBackend, Driver, OpenRequest};
use roci_hal::{Error, PhysicalInfo};
use roci_hsa::Runtime;
use roci_hsa::runtime::Agent;

use crate::device::AmdgpuDevice;
use crate::discover;

/// Gives a code object with the kernels `fill` and `copy` for an instruction set (`gfx1010:xnack-`).
pub type CodeLibrary = Arc<dyn Fn(&str) -> Result<Vec<u8>, Error> + Send + Sync>;

/// Starts an HSA runtime that has at least these chips, each as often as it is named; a real one has what it has.
pub type OpenRuntime = Box<dyn Fn(&[String]) -> Result<Runtime, Error> + Send + Sync>;

/// Where the GPUs come from.
pub enum Origin {
    /// The machine.
    Real,
    /// An emulator that makes these chips to order. The function tells more of the last fault than HSA can.
    Emulated {
        /// Their names.
        chips: Vec<String>,
        /// What the last fault was.
        last_fault: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    },
}

/// The driver.
pub struct AmdgpuDriver {
    origin: Origin,
    open: OpenRuntime,
    library: CodeLibrary,
    /// Starting it is slow: it stays.
    runtime: Mutex<Option<Runtime>>,
}

impl AmdgpuDriver {
    /// The driver of the GPUs of a runtime, with the kernels that it needs itself.
    pub fn new(origin: Origin, open: OpenRuntime, library: CodeLibrary) -> Self {
        Self { origin, open, library, runtime: Mutex::new(None) }
    }

    /// The runtime, with at least these chips.
    fn runtime(&self, chips: &[String]) -> Result<Runtime, Error> {
        let mut known = self.runtime.lock();
        match (&*known, &self.origin) {
            (Some(runtime), Origin::Real) => Ok(runtime.clone()),
            _ => {
                let runtime = (self.open)(chips)?;
                *known = Some(runtime.clone());
                Ok(runtime)
            }
        }
    }

    fn is_emulated(&self) -> bool {
        matches!(self.origin, Origin::Emulated { .. })
    }

    /// The agents that a request names. Of an emulator's equal chips it takes one after the other.
    fn agents(&self, request: &OpenRequest<'_>) -> Result<Vec<Agent>, Error> {
        let chips: Vec<String> = request.physical.iter().filter_map(|(_, info)| info.target.clone()).collect();
        let runtime = self.runtime(&chips)?;
        let mut gpus = discover::gpus(&runtime)?;
        let mut agents = Vec::new();
        for (ordinal, info) in request.physical {
            let index = match &self.origin {
                Origin::Real => Some(*ordinal as usize).filter(|index| *index < gpus.len()),
                Origin::Emulated { .. } => gpus.iter().position(|gpu| gpu.name().ok() == info.target),
            };
            let Some(index) = index else {
                return Err(discover::unavailable(&format!("device `{}`", request.uri), "the GPU is gone"));
            };
            agents.push(if self.is_emulated() { gpus.remove(index) } else { gpus[index].clone() });
        }
        Ok(agents)
    }
}

impl Driver for AmdgpuDriver {
    fn scheme(&self) -> &'static str {
        if self.is_emulated() { "emu" } else { "amdgpu" }
    }

    fn summary(&self) -> &'static str {
        if self.is_emulated() { "emulated AMD GPUs, which run the same code" } else { "AMD GPUs, by HSA directly" }
    }

    fn made_to_order(&self) -> bool {
        self.is_emulated()
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        match &self.origin {
            Origin::Real => {
                let runtime = self.runtime(&[])?;
                discover::gpus(&runtime)?.iter().map(|gpu| discover::describe(gpu, false)).collect()
            }
            Origin::Emulated { chips, .. } => {
                let gpus = discover::gpus(&self.runtime(chips)?)?;
                let find = |chip: &String| gpus.iter().find(|gpu| gpu.name().ok().as_ref() == Some(chip));
                chips.iter().filter_map(find).map(|gpu| discover::describe(gpu, true)).collect()
            }
        }
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        let agents = self.agents(request)?;
        let last_fault = match &self.origin {
            Origin::Real => None,
            Origin::Emulated { last_fault, .. } => Some(Arc::clone(last_fault)),
        };
        Ok(Arc::new(AmdgpuDevice::open(request, agents, &self.library, last_fault)?))
    }
}
