//! Kernels of one device, loaded when they are first needed.

use std::collections::HashMap;

use roci_hal::{Binding, Device, Kernel, Recorder};

use crate::Error;

/// Kernels of one device.
pub(crate) struct Kernels {
    device: Device,
    /// Whether some get their constants for good.
    bakes: Bakes,
    general: HashMap<String, Kernel>,
    /// By name and constants; `None` for what only the general kernel can do.
    baked: HashMap<(String, Vec<u8>), Option<Baked>>,
    /// Set where dispatches are not recorded: the kernels that they would load.
    missing: Option<Vec<Missing>>,
}

/// A kernel that is not loaded yet, with its constants if it is compiled for them.
#[derive(PartialEq, Eq)]
pub(crate) struct Missing {
    name: String,
    constants: Option<Vec<u8>>,
}

/// Whether kernels get their constants for good.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bakes {
    /// None does.
    Never,
    /// Those that can.
    Gladly,
    /// The same, and what fails is an error.
    Always,
}

/// A kernel that has its constants for good.
struct Baked {
    kernel: Kernel,
    /// Which of the kernel's bindings it takes.
    bindings: Vec<usize>,
}

impl Kernels {
    pub(crate) fn new(device: &Device, bakes: Bakes) -> Self {
        Self { device: device.clone(), bakes, general: HashMap::new(), baked: HashMap::new(), missing: None }
    }

    /// The kernels that some recordings need and that are not loaded. The recordings are of no use.
    pub(crate) fn missing(
        &mut self,
        record: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<Vec<Missing>, Error> {
        self.missing = Some(Vec::new());
        let recorded = record(self);
        let missing = self.missing.take().unwrap_or_default();
        recorded.map(|()| missing)
    }

    /// Loads one of them.
    pub(crate) fn load(&mut self, missing: &Missing) -> Result<(), Error> {
        if let Some(constants) = &missing.constants
            && self.specializes()
            && self.baked(&missing.name, constants)?.is_some()
        {
            return Ok(());
        }
        self.general(&missing.name).map(drop)
    }

    fn specializes(&self) -> bool {
        self.bakes != Bakes::Never
    }

    /// Notes a kernel, where they are only looked for.
    fn is_noted(&mut self, name: &str, constants: Option<&[u8]>) -> bool {
        let Some(missing) = &mut self.missing else { return false };
        let constants = constants.map(<[u8]>::to_vec);
        let key = constants.clone().map(|constants| (name.to_owned(), constants));
        let is_loaded = match key.as_ref().map(|key| self.baked.get(key)) {
            Some(None) => false,
            Some(Some(Some(_))) => true,
            Some(Some(None)) | None => self.general.contains_key(name),
        };
        let one = Missing { name: name.to_owned(), constants };
        if !is_loaded && !missing.contains(&one) {
            missing.push(one);
        }
        true
    }

    /// Records a kernel. What is `lasting` is replayed often enough that a kernel is worth compiling for its constants.
    pub(crate) fn dispatch(
        &mut self,
        recorder: &mut Recorder,
        name: &str,
        grid: [u32; 3],
        bindings: &[Binding],
        constants: &[u8],
        lasting: bool,
    ) -> Result<(), Error> {
        let lasting = lasting && self.specializes();
        if self.is_noted(name, Some(constants).filter(|_| lasting)) {
            return Ok(());
        }
        let baked = if lasting { self.baked(name, constants)? } else { None };
        match baked {
            Some(Baked { kernel, bindings: left }) => {
                let left: Vec<Binding> = left.iter().map(|&at| bindings[at].clone()).collect();
                recorder.dispatch(kernel, grid, &left, &[])?;
            }
            None => {
                recorder.dispatch(self.general(name)?, grid, bindings, constants)?;
            }
        }
        Ok(())
    }

    fn general(&mut self, name: &str) -> Result<&Kernel, Error> {
        if !self.general.contains_key(name) {
            let source = match roci_kernels::host_executable(name) {
                Some(source) => source,
                None => roci_kernels::find(name)?.executable(self.device.info())?,
            };
            let kernel = self.device.load(&source)?.kernel(name)?;
            self.general.insert(name.to_owned(), kernel);
        }
        Ok(&self.general[name])
    }

    fn baked(&mut self, name: &str, constants: &[u8]) -> Result<Option<&Baked>, Error> {
        let key = (name.to_owned(), constants.to_vec());
        if !self.baked.contains_key(&key) {
            let baked = match self.bake(name, constants) {
                Err(error) if self.bakes == Bakes::Always => return Err(error),
                Err(_) => {
                    // The kernels for all constants do as well. A driver that fails, or takes for ever, is not asked again.
                    self.bakes = Bakes::Never;
                    None
                }
                Ok(baked) => baked,
            };
            self.baked.insert(key.clone(), baked);
        }
        Ok(self.baked[&key].as_ref())
    }

    fn bake(&self, name: &str, constants: &[u8]) -> Result<Option<Baked>, Error> {
        let baked = roci_kernels::find(name)?.baked(self.device.info(), constants)?;
        let load = |baked: roci_kernels::Baked| {
            let kernel = self.device.load(&baked.source)?.kernel(name)?;
            Ok(Baked { kernel, bindings: baked.bindings })
        };
        baked.map(load).transpose()
    }
}
