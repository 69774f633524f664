//! A toy driver, correct or with a deliberate flaw: two physical devices with one queue and one
//! thread each, non-coherent host memory, native kernels.

mod buffer;
mod device;
mod execute;

use std::sync::Arc;
use std::time::Duration;

use roci_hal::{Device, Error};

/// The flaw of a toy driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Signals completion of a batch, then executes it a little later.
    Reorders,
    /// Executes commands in reverse order, as if there were no barriers.
    DropsBarriers,
    /// Never completes every fifth batch.
    LosesSignals,
    /// Keeps showing the host the content of its first mapping.
    StaleMemory,
    /// Has no queue on its second physical device.
    IdleDevice,
    /// Has separate memory on its second physical device.
    PrivateMemory,
    /// Runs kernels only on its first physical device.
    LoadsOnFirst,
    /// Runs commands only on the physical device that ran them first.
    PinsCommands,
    /// Reports the time of only the first command of a batch.
    ForgetsTimes,
    /// Reports times from a clock other than the host's.
    OtherClock,
}

/// Opens a fresh device.
pub(crate) fn open(flaw: Option<Flaw>, timeout: Option<Duration>) -> Result<Device, Error> {
    Ok(Device::new(Arc::new(device::ToyDevice::new(flaw)?), timeout))
}
