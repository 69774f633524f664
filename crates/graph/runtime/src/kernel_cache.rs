//! Kernels by name, loaded on the device on first use.

use std::collections::HashMap;

use roci_hal::{Device, Kernel};

use crate::Error;

/// The loaded kernels.
#[derive(Default)]
pub(crate) struct KernelCache {
    loaded: HashMap<&'static str, Kernel>,
}

impl KernelCache {
    /// Returns the kernel of this name, and loads it on first use.
    pub(crate) fn get(&mut self, device: &Device, name: &'static str) -> Result<Kernel, Error> {
        if let Some(kernel) = self.loaded.get(name) {
            return Ok(kernel.clone());
        }
        let source = match roci_kernels::native_only_executable(name) {
            Some(source) => source,
            None => roci_kernels::find(name)?.executable(device.info())?,
        };
        let kernel = device.load(&source)?.kernel(name)?;
        self.loaded.insert(name, kernel.clone());
        Ok(kernel)
    }
}
