//! Devices: opened by URI, they compile kernels and own arrays.

use std::fmt;

use bytemuck::Pod;
use roci_hal::Registry;

use crate::array::Array;
use crate::error::Error;
use crate::kernel::Module;

/// Opens a device by URI, or the best real device for `auto`.
///
/// # Errors
/// A URI that no driver knows, a device that does not exist, or a driver that cannot be loaded. The
/// error's [`Hint`](roci_base::Hint) lists the devices there are.
pub fn open(uri: &str) -> Result<Device, Error> {
    Device::open_in(&roci_drivers::registry(), uri)
}

/// An open device. Cheap to clone.
#[derive(Clone)]
pub struct Device {
    hal: roci_hal::Device,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.uri()).finish()
    }
}

impl Device {
    /// Opens a device of a registry, for drivers that this crate does not know.
    ///
    /// # Errors
    /// As for [`open`].
    pub fn open_in(registry: &Registry, uri: &str) -> Result<Self, Error> {
        let uri = uri.parse().map_err(roci_hal::Error::from)?;
        Ok(Self { hal: registry.open(&uri, None)? })
    }

    /// The same device for code that uses `roci_hal` directly.
    pub fn hal(&self) -> &roci_hal::Device {
        &self.hal
    }

    /// Canonical URI, which opens the same device again.
    pub fn uri(&self) -> String {
        self.hal.info().uri.to_string()
    }

    /// Human-readable device name.
    pub fn name(&self) -> &str {
        &self.hal.info().physical[0].name
    }

    /// Copies values to the device.
    ///
    /// # Errors
    /// An empty slice, or a device without enough memory.
    pub fn array<T: Pod>(&self, values: &[T]) -> Result<Array<T>, Error> {
        let array = Array::new(&self.hal, values.len())?;
        array.write(values)?;
        Ok(array)
    }

    /// Allocates `length` zeroed values on the device.
    ///
    /// # Errors
    /// A length of zero, or a device without enough memory.
    pub fn zeros<T: Pod>(&self, length: usize) -> Result<Array<T>, Error> {
        self.array(&vec![T::zeroed(); length])
    }

    /// Compiles WGSL text for this device. Entry points, bindings and parameters are read from the
    /// text.
    ///
    /// # Errors
    /// Text that does not compile, with line and column; a device that cannot run WGSL.
    pub fn wgsl(&self, text: &str) -> Result<Module, Error> {
        Module::compile(&self.hal, text)
    }
}
