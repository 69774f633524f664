//! A toy driver: two physical devices of one queue and one thread each, host memory that is not coherent, native kernels.
//! Correct, or flawed on purpose.

mod device;
mod execute;
mod memory;

use std::sync::Arc;
use std::time::Duration;

use roci_hal::{Device, Error};

/// What is wrong with a toy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Says that a batch has finished and executes it a little later.
    Reorders,
    /// Executes commands last first, as if there were no barriers.
    DropsBarriers,
    /// Forgets every fifth batch when it should be finished.
    LosesSignals,
    /// Shows the host what was there when it looked first.
    StaleMemory,
    /// Has no queue on its second physical device.
    IdleDevice,
    /// Keeps memory apart for its second physical device.
    PrivateMemory,
    /// Runs kernels on its first physical device alone.
    LoadsOnFirst,
    /// Runs commands only on the physical device on which they ran first.
    PinsCommands,
    /// Tells when the first command of a batch ran, and nothing of the others.
    ForgetsTimes,
    /// Tells times of a clock that is not the host's.
    OtherClock,
}

/// Opens a fresh device.
pub(crate) fn open(flaw: Option<Flaw>, timeout: Option<Duration>) -> Result<Device, Error> {
    Ok(Device::new(Arc::new(device::Toy::new(flaw)?), timeout))
}
