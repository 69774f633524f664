//! What the driver finds: the GPUs of an HSA runtime, a real one or an emulated one.

use std::sync::Arc;

use parking_lot::Mutex;
use roci_hal::driver::{DeviceBackend, Driver, OpenRequest, Parameter};
use roci_hal::{DeviceUri, Error, PhysicalInfo};
use roci_hsa::Runtime;
use roci_hsa::runtime::Agent;

use crate::copies::COPY;
use crate::device::{AmdgpuDevice, Surroundings};
use crate::discover;
use crate::faults;
use crate::settings::{OVERRIDE, Settings};

/// What URIs may say, and of real GPUs besides.
const COPY_PARAMETER: Parameter =
    Parameter { key: COPY, help: "who copies: `shader` (kernels) or `sdma` (copy engines); by chip otherwise" };
const OVERRIDE_PARAMETER: Parameter =
    Parameter { key: OVERRIDE, help: "`allow` goes on although HSA_OVERRIDE_GFX_VERSION is set, for all nodes or one" };

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
    settings: Settings,
    /// Starting it is slow: it stays.
    runtime: Mutex<Option<Runtime>>,
}

impl AmdgpuDriver {
    /// The driver of the GPUs of a runtime, with the kernels that it needs itself.
    pub fn new(origin: Origin, open: OpenRuntime, library: CodeLibrary, settings: Settings) -> Self {
        Self { origin, open, library, settings, runtime: Mutex::new(None) }
    }

    /// The runtime, with at least these chips; `uri` is what was asked for, if something was.
    fn start(&self, chips: &[String], uri: Option<&DeviceUri>) -> Result<Runtime, Error> {
        let mut known = self.runtime.lock();
        if !self.is_emulated() {
            if known.is_none() && uri.is_none() {
                self.settings.check_unasked()?;
            }
            self.settings.check(uri)?;
        }
        match (&*known, &self.origin) {
            (Some(runtime), Origin::Real) => Ok(runtime.clone()),
            // An emulated one is the same again, and has these chips too.
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

    fn look(&self, uri: Option<&DeviceUri>) -> Result<Vec<PhysicalInfo>, Error> {
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

    /// The agents that a request names. Of an emulator's equal chips it takes one after the other.
    fn agents(&self, request: &OpenRequest<'_>, runtime: &Runtime) -> Result<Vec<Agent>, Error> {
        let mut gpus = discover::gpus(runtime)?;
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

    fn parameters(&self) -> &'static [Parameter] {
        if self.is_emulated() { &[COPY_PARAMETER] } else { &[COPY_PARAMETER, OVERRIDE_PARAMETER] }
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        self.look(None)
    }

    fn enumerate_for(&self, uri: &DeviceUri) -> Result<Vec<PhysicalInfo>, Error> {
        self.look(Some(uri))
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        let chips: Vec<String> = request.physical.iter().filter_map(|(_, info)| info.target.clone()).collect();
        let runtime = self.start(&chips, Some(request.uri))?;
        let agents = self.agents(request, &runtime)?;
        let last_fault = match &self.origin {
            Origin::Real => None,
            Origin::Emulated { last_fault, .. } => Some(Arc::clone(last_fault)),
        };
        let surroundings = Surroundings { library: &self.library, settings: &self.settings, last_fault };
        Ok(Arc::new(AmdgpuDevice::open(request, agents, surroundings)?))
    }
}
