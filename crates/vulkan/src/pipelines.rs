//! Compiled kernels, kept on disk for the next process.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::sync::atomic::{AtomicBool, Ordering};

use ash::vk;
use roci_hal::cache::Cache;
use roci_hal::{Error, exit};

use crate::fault::failed;
use crate::shared::Shared;

/// The driver's cache of compiled kernels, and the file that outlives it.
#[derive(Default)]
pub(crate) struct Pipelines {
    pub(crate) raw: vk::PipelineCache,
    file: Option<Cache>,
    key: Vec<u8>,
    changed: AtomicBool,
    has_compiled: AtomicBool,
}

impl Pipelines {
    /// Begins with what the last process left. The file is named by device and version of the driver, and has a sum: what is
    /// damaged never reaches the driver.
    pub(crate) fn open(shared: &Shared, file: Option<Cache>) -> Result<Self, Error> {
        let key = shared.card.facts.identity.clone();
        let kept = file.as_ref().and_then(|file| file.load(&key)).unwrap_or_default();
        let create = |data: &[u8]| {
            let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
            // SAFETY: data of this very driver, or none.
            unsafe { shared.device.create_pipeline_cache(&info, None) }
        };
        // What the driver does not want is not worth an error.
        let raw = create(&kept).or_else(|_| create(&[])).map_err(failed("a cache of kernels"))?;
        Ok(Self { raw, file, key, ..Self::default() })
    }

    /// Something was compiled.
    pub(crate) fn note(&self) {
        self.changed.store(true, Ordering::Relaxed);
        if !self.has_compiled.swap(true, Ordering::Relaxed) {
            // Drivers load their compilers when they are first needed.
            exit::guard();
        }
    }

    /// Writes the file, if anything was compiled since.
    pub(crate) fn save(&self, device: &ash::Device) {
        let Some(file) = &self.file else { return };
        if !self.changed.swap(false, Ordering::Relaxed) {
            return;
        }
        // SAFETY: the cache lives as long as the device.
        if let Ok(data) = unsafe { device.get_pipeline_cache_data(self.raw) }
            && file.load(&self.key).as_ref() != Some(&data)
        {
            file.store(&self.key, &data);
        }
    }

    pub(crate) fn destroy(&self, device: &ash::Device) {
        // SAFETY: the caller destroys the device next; a null handle is fine.
        unsafe { device.destroy_pipeline_cache(self.raw, None) };
    }
}
