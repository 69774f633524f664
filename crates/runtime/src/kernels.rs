//! Kernels of the table, loaded on a device when they are first needed.

use std::collections::HashMap;

use roci_hal::{Device, Kernel};

use crate::Error;

/// Those that are loaded.
#[derive(Default)]
pub(crate) struct Kernels {
    loaded: HashMap<&'static str, Kernel>,
}

impl Kernels {
    /// The kernel of a name.
    pub(crate) fn get(&mut self, device: &Device, name: &'static str) -> Result<Kernel, Error> {
        if let Some(kernel) = self.loaded.get(name) {
            return Ok(kernel.clone());
        }
        let source = match roci_kernels::host_executable(name) {
            Some(source) => source,
            None => roci_kernels::find(name)?.executable(device.info())?,
        };
        let kernel = device.load(&source)?.kernel(name)?;
        self.loaded.insert(name, kernel.clone());
        Ok(kernel)
    }
}
