//! Enumerates and opens the GPUs of an HSA runtime, real or emulated.

use std::sync::Arc;

use parking_lot::Mutex;
use roci_hal::driver::{DeviceBackend, Driver, OpenRequest, Parameter};
use roci_hal::{DeviceUri, Error, PhysicalInfo};
use roci_hsa::Runtime;
use roci_hsa::runtime::Agent;

use crate::copy_policy::COPY_KEY;
use crate::device::{AmdgpuDevice, CodeLibrary, DriverContext};
use crate::discover;
use crate::error::unavailable;
use crate::faults;
use crate::settings::{OVERRIDE_KEY, Settings};

/// URI parameters. The second applies only to real GPUs.
const COPY_PARAMETER: Parameter =
    Parameter { key: COPY_KEY, help: "copy by `shader` (kernels) or `sdma` (copy engines) (default: by chip)" };
const OVERRIDE_PARAMETER: Parameter =
    Parameter { key: OVERRIDE_KEY, help: "`allow` opens the device even if HSA_OVERRIDE_GFX_VERSION is set" };

/// Starts an HSA runtime. An emulated runtime has at least these chips, one per occurrence of
/// a name; a real one ignores them.
pub type OpenRuntime = Box<dyn Fn(&[String]) -> Result<Runtime, Error> + Send + Sync>;

/// Origin of the GPUs.
pub enum Origin {
    /// GPUs of this machine.
    Real,
    /// Emulated GPUs, created on demand.
    Emulated {
        /// Names of the supported chips.
        chips: Vec<String>,
        /// Describes the last fault in more detail than HSA can.
        last_fault: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    },
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Real => f.write_str("Real"),
            Self::Emulated { chips, .. } => f.debug_struct("Emulated").field("chips", chips).finish_non_exhaustive(),
        }
    }
}

/// The driver of AMD GPUs.
pub struct AmdgpuDriver {
    origin: Origin,
    open: OpenRuntime,
    library: CodeLibrary,
    settings: Settings,
    /// Kept, because starting it is slow.
    runtime: Mutex<Option<Runtime>>,
}

impl std::fmt::Debug for AmdgpuDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AmdgpuDriver")
            .field("origin", &self.origin)
            .field("is_running", &self.runtime.lock().is_some())
            .finish_non_exhaustive()
    }
}

impl AmdgpuDriver {
    /// A driver for the GPUs of the runtime that `open` starts. `library` has its kernels for fills
    /// and copies.
    pub fn new(origin: Origin, open: OpenRuntime, library: CodeLibrary, settings: Settings) -> Self {
        Self { origin, open, library, settings, runtime: Mutex::new(None) }
    }

    /// Starts the runtime, or returns the running one. `uri` is the requested URI, if any.
    fn start(&self, chips: &[String], uri: Option<&DeviceUri>) -> Result<Runtime, Error> {
        let mut known = self.runtime.lock();
        if !self.is_emulated() {
            if known.is_none() && uri.is_none() {
                self.settings.check_enumeration()?;
            }
            self.settings.check(uri)?;
        }
        match (&*known, &self.origin) {
            (Some(runtime), Origin::Real) => Ok(runtime.clone()),
            // Opening an emulated runtime again returns the same one, extended by these chips.
            (before, _) => {
                let is_first = before.is_none();
                let runtime = known.insert((self.open)(chips)?).clone();
                if is_first {
                    faults::watch(&runtime);
                }
                Ok(runtime)
            }
        }
    }

    fn enumerate_gpus(&self, uri: Option<&DeviceUri>) -> Result<Vec<PhysicalInfo>, Error> {
        match &self.origin {
            Origin::Real => {
                let gpus = discover::gpus(&self.start(&[], uri)?)?;
                gpus.iter().map(|gpu| discover::describe(gpu, false, &self.settings, uri)).collect()
            }
            Origin::Emulated { chips, .. } => {
                let gpus = discover::gpus(&self.start(chips, uri)?)?;
                let find = |chip: &String| gpus.iter().find(|gpu| gpu.name().ok().as_ref() == Some(chip));
                chips.iter().filter_map(find).map(|gpu| discover::describe(gpu, true, &self.settings, uri)).collect()
            }
        }
    }

    fn is_emulated(&self) -> bool {
        matches!(self.origin, Origin::Emulated { .. })
    }

    /// The agents that a request selects. Equal emulated chips are assigned in order.
    fn agents(&self, request: &OpenRequest<'_>, runtime: &Runtime) -> Result<Vec<Agent>, Error> {
        let mut gpus = discover::gpus(runtime)?;
        let mut agents = Vec::new();
        for (ordinal, info) in request.physical {
            let index = match &self.origin {
                Origin::Real => Some(*ordinal as usize).filter(|index| *index < gpus.len()),
                Origin::Emulated { .. } => gpus.iter().position(|gpu| gpu.name().ok() == info.target),
            };
            let Some(index) = index else {
                return Err(unavailable(&format!("device `{}`", request.uri), "the GPU no longer exists"));
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
        if self.is_emulated() { "emulated AMD GPUs, running the same code" } else { "AMD GPUs through HSA" }
    }

    fn creates_on_demand(&self) -> bool {
        self.is_emulated()
    }

    fn parameters(&self) -> &'static [Parameter] {
        if self.is_emulated() { &[COPY_PARAMETER] } else { &[COPY_PARAMETER, OVERRIDE_PARAMETER] }
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        self.enumerate_gpus(None)
    }

    fn enumerate_for(&self, uri: &DeviceUri) -> Result<Vec<PhysicalInfo>, Error> {
        self.enumerate_gpus(Some(uri))
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        let chips: Vec<String> = request.physical.iter().filter_map(|(_, info)| info.target.clone()).collect();
        let runtime = self.start(&chips, Some(request.uri))?;
        let agents = self.agents(request, &runtime)?;
        let last_fault = match &self.origin {
            Origin::Real => None,
            Origin::Emulated { last_fault, .. } => Some(Arc::clone(last_fault)),
        };
        let context = DriverContext { library: &self.library, settings: &self.settings, last_fault };
        Ok(Arc::new(AmdgpuDevice::open(request, agents, context)?))
    }
}
