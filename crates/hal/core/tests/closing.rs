//! A device is closed once the last handle is dropped and the last work has ended, in any
//! state of that work.

use std::sync::Arc;
use std::time::Duration;

use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend};
use roci_hal::error::DeviceLoss;
use roci_hal::host_memory::HostMemory;
use roci_hal::null::NullDriver;
use roci_hal::{BufferDesc, Device, DeviceInfo, Error, ExecutableSource, Registry, Submit};

/// A device that finishes batches without executing them, and whose closing is observable.
struct ObservedDevice {
    info: DeviceInfo,
    _alive: Arc<()>,
}

struct Stub;

impl ExecutableBackend for Stub {}

impl CommandsBackend for Stub {}

impl DeviceBackend for ObservedDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        Ok(Arc::new(HostMemory::new(desc.size).ok_or_else(|| Error::invalid("allocate", "no memory"))?))
    }

    fn load(&self, _source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        Ok(Arc::new(Stub))
    }

    fn prepare(&self, _recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Stub))
    }

    fn submit(&self, _queue: usize, batch: Batch) {
        batch.completion.finish(Ok(()));
    }

    fn abandon(&self, _loss: &DeviceLoss) {}
}

/// A device, and a handle that tells whether it is still open.
fn watched() -> (Device, Arc<()>) {
    let info = Registry::new().with(NullDriver::new(1)).open(&"null".parse().unwrap(), None).unwrap().info().clone();
    let alive = Arc::new(());
    (Device::new(Arc::new(ObservedDevice { info, _alive: Arc::clone(&alive) }), None), alive)
}

/// Waits briefly, because the watchdog may hold a submission during a check.
fn assert_closed(alive: &Arc<()>) {
    for _ in 0..1000 {
        if Arc::strong_count(alive) == 1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the device is still open");
}

#[test]
fn closes_when_its_handles_are_dropped() {
    let (device, alive) = watched();
    let buffer = device.allocate(BufferDesc::host(64)).unwrap();
    drop(device);
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(buffer);
    assert_closed(&alive);
}

#[test]
fn closes_when_work_has_finished() {
    let (device, alive) = watched();
    let buffer = device.allocate(BufferDesc::device(64)).unwrap();
    device.write(&buffer, &[1; 64]).unwrap();
    device.read(&buffer).unwrap();
    drop((device, buffer));
    assert_closed(&alive);
}

#[test]
fn closes_when_work_can_never_start() {
    let (device, alive) = watched();
    let (never, done) = (device.semaphore(0), device.semaphore(0));
    let buffer = device.allocate(BufferDesc::device(64)).unwrap();
    let mut recorder = device.record();
    recorder.fill(&buffer, 0).unwrap();
    let commands = recorder.finish().unwrap();
    let queue = device.queue(0).unwrap();
    queue.submit(&commands, Submit::new().wait(&never, 1).signal(&done, 1)).unwrap();
    queue.barrier(Submit::new().wait(&done, 1)).unwrap();
    drop((device, buffer, commands, queue));
    assert_eq!(Arc::strong_count(&alive), 2);
    drop((never, done));
    assert_closed(&alive);
}

#[test]
fn closes_when_it_was_lost() {
    let (device, alive) = watched();
    let gate = device.semaphore(0);
    device.queue(0).unwrap().barrier(Submit::new().wait(&gate, 1)).unwrap();
    device.lose("unplugged");
    drop((device, gate));
    assert_closed(&alive);
}
