//! Devices that report smaller limits than they have, and record which kernels they run.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use roci_hal::command::{Command, Recording};
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, Driver, ExecutableBackend, OpenRequest};
use roci_hal::error::DeviceLoss;
use roci_hal::{BufferDesc, Device, DeviceInfo, ExecutableSource, PhysicalInfo, Registry};

/// Opens a device of a driver with modified properties.
pub(crate) fn open(
    driver: impl Driver + 'static,
    uri: &str,
    change: impl Fn(&mut DeviceInfo) + Send + Sync + 'static,
) -> Result<Device, String> {
    open_recorded(driver, uri, change).map(|(device, _)| device)
}

/// The kernels of all recordings of a device, in order.
#[derive(Clone, Default)]
pub(crate) struct Dispatches(Arc<Mutex<Vec<String>>>);

impl Dispatches {
    /// Takes the names so far.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, recording: &Recording) {
        let names = recording.commands.iter().filter(|command| matches!(command, Command::Dispatch(_)));
        let names = names.map(|command| command.name().to_owned());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
    }
}

/// [`open`], with the kernels that the device runs.
pub(crate) fn open_recorded(
    driver: impl Driver + 'static,
    uri: &str,
    change: impl Fn(&mut DeviceInfo) + Send + Sync + 'static,
) -> Result<(Device, Dispatches), String> {
    let dispatches = Dispatches::default();
    let registry = Registry::new().with(LimitedDriver { driver, change, dispatches: dispatches.clone() });
    let uri = registry.parse(uri).map_err(|error| error.to_string())?;
    let device = registry.open(&uri, None).map_err(|error| error.to_string())?;
    device.fill_new_buffers(u32::MAX);
    Ok((device, dispatches))
}

struct LimitedDriver<D, F> {
    driver: D,
    change: F,
    dispatches: Dispatches,
}

impl<D: Driver, F: Fn(&mut DeviceInfo) + Send + Sync> Driver for LimitedDriver<D, F> {
    fn scheme(&self) -> &'static str {
        self.driver.scheme()
    }

    fn summary(&self) -> &'static str {
        self.driver.summary()
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, roci_hal::Error> {
        self.driver.enumerate()
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, roci_hal::Error> {
        let device = self.driver.open(request)?;
        let mut info = device.info().clone();
        (self.change)(&mut info);
        Ok(Arc::new(LimitedDevice { device, info, dispatches: self.dispatches.clone() }))
    }
}

struct LimitedDevice {
    device: Arc<dyn DeviceBackend>,
    info: DeviceInfo,
    dispatches: Dispatches,
}

impl DeviceBackend for LimitedDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, roci_hal::Error> {
        self.device.allocate(desc)
    }

    fn map_file(&self, file: &File) -> Option<(Arc<dyn BufferBackend>, u64)> {
        self.device.map_file(file)
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, roci_hal::Error> {
        self.device.load(source)
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, roci_hal::Error> {
        self.dispatches.add(recording);
        self.device.prepare(recording)
    }

    fn submit(&self, queue: usize, batch: Batch) {
        self.device.submit(queue, batch);
    }

    fn abandon(&self, loss: &DeviceLoss) {
        self.device.abandon(loss);
    }
}
