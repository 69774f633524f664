//! Typed memory on a device.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use roci_hal::{Binding, Buffer, BufferDesc};

use crate::error::Error;

/// Values of one type in the device's fastest memory. Cheap to clone; clones share the memory.
#[derive(Clone)]
pub struct Array<T> {
    device: roci_hal::Device,
    buffer: Buffer,
    length: usize,
    element: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array<{}>({} on {})", std::any::type_name::<T>(), self.length, self.device.info().uri)
    }
}

impl<T: Pod> Array<T> {
    pub(crate) fn new(device: &roci_hal::Device, length: usize) -> Result<Self, Error> {
        let bytes = (length * size_of::<T>()).next_multiple_of(4) as u64;
        let desc = BufferDesc::new(bytes, device.info().fastest_memory());
        let buffer = device.allocate(desc)?;
        Ok(Self { device: device.clone(), buffer, length, element: PhantomData })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Always `false`, because devices have no empty buffers.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Replaces all values and waits until they are on the device.
    ///
    /// # Errors
    /// A slice of another length, or a lost device.
    pub fn write(&self, values: &[T]) -> Result<(), Error> {
        let mut bytes = bytemuck::cast_slice(values).to_vec();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        Ok(self.device.write(&self.buffer, &bytes)?)
    }

    /// Waits for the values and copies them to the host.
    ///
    /// # Errors
    /// A lost device.
    pub fn read(&self) -> Result<Vec<T>, Error> {
        let bytes = self.device.read(&self.buffer)?;
        let mut values = vec![T::zeroed(); self.length];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(&bytes[..self.length * size_of::<T>()]);
        Ok(values)
    }

    /// The HAL buffer.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }
}

/// An argument of [`Kernel::run`](crate::Kernel::run): an [`Array`] of any type.
pub trait Bindable: fmt::Debug {
    /// The memory to bind.
    fn binding(&self) -> Binding;
}

impl<T: Pod> Bindable for Array<T> {
    fn binding(&self) -> Binding {
        (&self.buffer).into()
    }
}
