//! A custom driver. It wraps the null driver and counts the batches that reach it.
//! `cargo run -p rocinante --example own_driver`

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rocinante::hal::command::Recording;
use rocinante::hal::driver::*;
use rocinante::hal::error::DeviceLoss;
use rocinante::hal::{BufferDesc, DeviceInfo, Error, ExecutableSource, PhysicalInfo, Registry, null::NullDriver};

static BATCHES: AtomicUsize = AtomicUsize::new(0);

/// The driver: enumerates and opens devices.
struct Counting(NullDriver);

#[rustfmt::skip]
impl Driver for Counting {
    fn scheme(&self) -> &'static str { "counting" }
    fn summary(&self) -> &'static str { "counts the batches of a null device" }
    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> { self.0.enumerate() }
    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        Ok(Arc::new(CountingDevice(self.0.open(request)?)))
    }
}

/// The open device: forwards to the null device and counts batches.
struct CountingDevice(Arc<dyn DeviceBackend>);

#[rustfmt::skip]
impl DeviceBackend for CountingDevice {
    fn info(&self) -> &DeviceInfo { self.0.info() }
    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> { self.0.allocate(desc) }
    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> { self.0.load(source) }
    fn prepare(&self, commands: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> { self.0.prepare(commands) }
    fn submit(&self, queue: usize, batch: Batch) {
        BATCHES.fetch_add(1, Ordering::Relaxed);
        self.0.submit(queue, batch);
    }
    fn abandon(&self, loss: &DeviceLoss) { self.0.abandon(loss) }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::new().with(Counting(NullDriver::new(1)));
    let device = rocinante::Device::open_in(&registry, "counting:0")?;
    let values = device.array(&[1u32, 2, 3])?;
    assert_eq!(values.read()?, [1, 2, 3]);
    writeln!(std::io::stdout(), "{}: {} batches", device.uri(), BATCHES.load(Ordering::Relaxed))?;
    Ok(())
}
