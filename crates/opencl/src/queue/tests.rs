//! A device that fails in the middle of a batch, which no OpenCL of a processor does: by an event that says so.

use std::sync::Arc;

use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend};
use roci_hal::error::Loss;
use roci_hal::sysfs::Sysfs;
use roci_hal::{BufferDesc, Deadline, Device, DeviceInfo, Error, ExecutableSource, Submit};

use super::Flight;
use crate::cl::{Context, DeviceId};
use crate::device::OpenClDevice;
use crate::discover;
use crate::options::Options;
use crate::program::{Enqueued, Program};

/// A device whose every batch ends by the failure of its second command.
struct Failing {
    device: OpenClDevice,
    id: DeviceId,
}

impl DeviceBackend for Failing {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        self.device.allocate(desc)
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        self.device.load(source)
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        self.device.prepare(recording)
    }

    fn submit(&self, _queue: usize, batch: Batch) {
        let Some((program, slots, completion)) = batch.open::<Program>() else { return };
        let context = Context::new(&[self.id]).expect("a context");
        let mut enqueued = Enqueued::default();
        // The one between them is a barrier.
        for (command, status) in [(0, 0), (2, cl3::error_codes::CL_OUT_OF_RESOURCES)] {
            enqueued.events.push((command, context.ended_event(status).expect("an event")));
        }
        let mut flight = Flight {
            completion: Some(completion),
            enqueued,
            next: 0,
            announced: false,
            trouble: None,
            clock: None,
            _program: program,
            _slots: slots,
        };
        assert!(!flight.advance(true), "nothing of it runs any more");
    }

    fn abandon(&self, loss: &Loss) {
        self.device.abandon(loss);
    }
}

#[test]
fn a_command_that_fails_loses_the_device_and_is_named() {
    let Some(found) = roci_testkit::require("opencl", discover::devices(&Sysfs::system())) else { return };
    let uri: roci_hal::DeviceUri = "opencl:0".parse().expect("a URI");
    let options = Options::of(&uri).expect("no options");
    let device = OpenClDevice::open(uri, &found[..1], &options, None).expect("a device");
    let device = Device::new(Arc::new(Failing { device, id: found[0].id }), None);
    let run = || {
        let buffer = device.allocate(BufferDesc::device(64))?;
        let mut recorder = device.record();
        recorder.fill(&buffer, 1)?.barrier();
        recorder.update(&[0; 64], &buffer)?;
        let done = device.semaphore(0);
        device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1))?;
        done.wait(1, Deadline::default())
    };
    for _ in 0..2 {
        let error: Error = run().expect_err("it is lost");
        let said = error.to_string();
        assert!(matches!(error, Error::Lost(_)), "{said}");
        assert!(said.contains("CL_OUT_OF_RESOURCES") && said.contains("\"update\" in flight"), "{said}");
    }
}
