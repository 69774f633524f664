//! Devices that report smaller limits than they have.

use std::fs::File;
use std::sync::Arc;

use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, Driver, ExecutableBackend, OpenRequest};
use roci_hal::error::DeviceLoss;
use roci_hal::{BufferDesc, Device, DeviceInfo, ExecutableSource, PhysicalInfo, Registry};

/// Opens a device of a driver with modified properties.
pub(crate) fn open(
    driver: impl Driver + 'static,
    uri: &str,
    change: impl Fn(&mut DeviceInfo) + Send + Sync + 'static,
) -> Result<Device, String> {
    let registry = Registry::new().with(LimitedDriver { driver, change });
    let uri = registry.parse(uri).map_err(|error| error.to_string())?;
    registry.open(&uri, None).map_err(|error| error.to_string())
}

struct LimitedDriver<D, F> {
    driver: D,
    change: F,
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
        Ok(Arc::new(LimitedDevice { device, info }))
    }
}

struct LimitedDevice {
    device: Arc<dyn DeviceBackend>,
    info: DeviceInfo,
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
        self.device.prepare(recording)
    }

    fn submit(&self, queue: usize, batch: Batch) {
        self.device.submit(queue, batch);
    }

    fn abandon(&self, loss: &DeviceLoss) {
        self.device.abandon(loss);
    }
}
