//! Cache of compiled pipelines, saved to disk for the next process.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::sync::atomic::{AtomicBool, Ordering};

use ash::vk;
use roci_base::cache::Cache;
use roci_base::exit;
use roci_hal::Error;

use crate::device_state::DeviceState;
use crate::error::failed;

/// The device's pipeline cache, and the file that persists it.
#[derive(Default)]
pub(crate) struct PipelineCache {
    pub(crate) raw: vk::PipelineCache,
    file: Option<Cache>,
    key: Vec<u8>,
    changed: AtomicBool,
    has_compiled: AtomicBool,
}

impl PipelineCache {
    /// Starts with the data of the last process. The file is keyed by device and driver version and
    /// has a checksum, so damaged data never reaches the driver.
    pub(crate) fn open(shared: &DeviceState, file: Option<Cache>) -> Result<Self, Error> {
        let key = shared.card.properties.identity.clone();
        let cached = file.as_ref().and_then(|file| file.load(&key)).unwrap_or_default();
        let create = |data: &[u8]| {
            let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
            // SAFETY: data of this driver version, or none.
            unsafe { shared.device.create_pipeline_cache(&info, None) }
        };
        // Data that the driver rejects is dropped silently.
        let raw = create(&cached).or_else(|_| create(&[])).map_err(failed("a pipeline cache"))?;
        Ok(Self { raw, file, key, ..Self::default() })
    }

    /// Notes that a pipeline was compiled.
    pub(crate) fn note(&self) {
        self.changed.store(true, Ordering::Relaxed);
        if !self.has_compiled.swap(true, Ordering::Relaxed) {
            // Drivers load their compilers on first use.
            exit::wait_for_threads_at_exit();
        }
    }

    /// Writes the file if a pipeline was compiled since it was read.
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
        // SAFETY: the caller destroys the device next; a null handle is allowed.
        unsafe { device.destroy_pipeline_cache(self.raw, None) };
    }
}
