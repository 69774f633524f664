//! Kernels of one device, loaded on first use.

use std::collections::HashMap;

use roci_hal::{Binding, CodeFormat, Device, Kernel, Recorder};

use crate::Error;
use crate::kernel_id::KernelId;

/// Cache of the loaded kernels of one device.
pub(crate) struct KernelCache {
    device: Device,
    specialize: Specialize,
    /// Whether each matrix of a model has its own copy of the kernel of packed dot products. By
    /// Vulkan they share one: copies fill the instruction cache, which makes every kernel of a token
    /// slower. OpenCL passes constants in memory, which costs more.
    copies_products: bool,
    generic: HashMap<KernelId, Kernel>,
    /// By kernel and constants; `None` where the kernel cannot be specialized for these constants.
    specialized: HashMap<(KernelId, Vec<u8>), Option<LoadedSpecialization>>,
    /// In a dry run: the kernels that the recording would load. Nothing is recorded then.
    missing: Option<Vec<MissingKernel>>,
}

/// A kernel that is not loaded yet.
#[derive(PartialEq, Eq)]
pub(crate) struct MissingKernel {
    id: KernelId,
    /// The constants it is to be specialized for.
    constants: Option<Vec<u8>>,
}

/// Whether decode kernels are compiled with their constants as literals.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Specialize {
    Never,
    /// Falls back to generic kernels, for good, after the first failure.
    BestEffort,
    /// A failure is an error.
    Required,
}

/// A kernel that is compiled for one set of constants.
struct LoadedSpecialization {
    kernel: Kernel,
    /// Indices of the generic kernel's bindings that it takes.
    bindings: Vec<usize>,
}

impl KernelCache {
    pub(crate) fn new(device: &Device, specialize: Specialize) -> Self {
        Self {
            device: device.clone(),
            specialize,
            copies_products: device.info().formats.first() != Some(&CodeFormat::Spirv),
            generic: HashMap::new(),
            specialized: HashMap::new(),
            missing: None,
        }
    }

    /// Runs `record` dry and returns the kernels that it needs and that are not loaded. What it
    /// records must be discarded.
    pub(crate) fn missing(
        &mut self,
        record: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<Vec<MissingKernel>, Error> {
        self.missing = Some(Vec::new());
        let recorded = record(self);
        let missing = self.missing.take().unwrap_or_default();
        recorded.map(|()| missing)
    }

    /// Loads one of the kernels that [`Self::missing`] found.
    pub(crate) fn load(&mut self, missing: &MissingKernel) -> Result<(), Error> {
        if let Some(constants) = &missing.constants
            && self.specializes()
            && self.specialized(missing.id, constants)?.is_some()
        {
            return Ok(());
        }
        self.generic(missing.id).map(drop)
    }

    fn specializes(&self) -> bool {
        self.specialize != Specialize::Never
    }

    /// In a dry run, adds the kernel to the missing ones unless it is loaded. Returns whether this
    /// is a dry run.
    fn note_if_dry_run(&mut self, id: KernelId, constants: Option<&[u8]>) -> bool {
        let Some(missing) = &mut self.missing else { return false };
        let constants = constants.map(<[u8]>::to_vec);
        let key = constants.clone().map(|constants| (id, constants));
        let is_loaded = match key.as_ref().map(|key| self.specialized.get(key)) {
            Some(None) => false,
            Some(Some(Some(_))) => true,
            Some(Some(None)) | None => self.generic.contains_key(&id),
        };
        let kernel = MissingKernel { id, constants };
        if !is_loaded && !missing.contains(&kernel) {
            missing.push(kernel);
        }
        true
    }

    /// Records a dispatch by [`Recorder::dispatch`] and loads its kernel on first use. `specialize`
    /// is set for recordings that are replayed often enough to pay for a compilation.
    pub(crate) fn dispatch(
        &mut self,
        recorder: &mut Recorder,
        id: KernelId,
        grid: [u32; 3],
        bindings: &[Binding],
        constants: &[u8],
        specialize: bool,
    ) -> Result<(), Error> {
        let is_shared = id.is_packed_dot_product() && !self.copies_products;
        let specialize = specialize && self.specializes() && !is_shared;
        if self.note_if_dry_run(id, Some(constants).filter(|_| specialize)) {
            return Ok(());
        }
        let specialized = if specialize { self.specialized(id, constants)? } else { None };
        match specialized {
            Some(LoadedSpecialization { kernel, bindings: used }) => {
                let used: Vec<Binding> = used.iter().map(|&index| bindings[index].clone()).collect();
                recorder.dispatch(kernel, grid, &used, &[])?;
            }
            None => {
                recorder.dispatch(self.generic(id)?, grid, bindings, constants)?;
            }
        }
        Ok(())
    }

    fn generic(&mut self, id: KernelId) -> Result<&Kernel, Error> {
        if !self.generic.contains_key(&id) {
            let source = match roci_kernels::native_only_executable(id.name()) {
                Some(source) => source,
                None => id.spec()?.executable(self.device.info())?,
            };
            let kernel = self.device.load(&source)?.kernel(id.name())?;
            self.generic.insert(id, kernel);
        }
        Ok(&self.generic[&id])
    }

    fn specialized(&mut self, id: KernelId, constants: &[u8]) -> Result<Option<&LoadedSpecialization>, Error> {
        let key = (id, constants.to_vec());
        if !self.specialized.contains_key(&key) {
            let kernel = match self.compile_specialized(id, constants) {
                Err(error) if self.specialize == Specialize::Required => return Err(error),
                Err(_) => {
                    // A compiler that fails or times out once is not tried again: the generic
                    // kernels compute the same.
                    self.specialize = Specialize::Never;
                    None
                }
                Ok(kernel) => kernel,
            };
            self.specialized.insert(key.clone(), kernel);
        }
        Ok(self.specialized[&key].as_ref())
    }

    fn compile_specialized(&self, id: KernelId, constants: &[u8]) -> Result<Option<LoadedSpecialization>, Error> {
        let compiled = id.spec()?.specialized(self.device.info(), constants)?;
        let load = |compiled: roci_kernels::SpecializedKernel| {
            let kernel = self.device.load(&compiled.source)?.kernel(id.name())?;
            Ok(LoadedSpecialization { kernel, bindings: compiled.bindings })
        };
        compiled.map(load).transpose()
    }
}
