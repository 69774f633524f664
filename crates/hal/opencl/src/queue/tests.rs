//! A device that fails in the middle of a batch, simulated by a failed event because no CPU
//! implementation does so; and the number of events of a batch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use roci_base::sysfs::Sysfs;
use roci_hal::command::Recording;
use roci_hal::driver::{
    Batch, BoundRange, BufferBackend, CommandsBackend, Completion, DeviceBackend, ExecutableBackend,
};
use roci_hal::error::DeviceLoss;
use roci_hal::{Access, BufferDesc, Code, Deadline, Device, DeviceInfo, EntryPoint, Error, ExecutableSource, Submit};

use super::InFlight;
use crate::cl::{Context, DeviceId};
use crate::commands::{Commands, EnqueueTarget, Enqueued};
use crate::device::OpenClDevice;
use crate::discover;
use crate::options::Options;
use crate::timeout;

/// A device whose batches are replaced by a test function.
struct FakeDevice {
    device: OpenClDevice,
    id: DeviceId,
    on_submit: fn(&Self, Arc<Commands>, Vec<BoundRange>, Completion),
}

impl DeviceBackend for FakeDevice {
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
        if let Some((commands, slots, completion)) = batch.into_parts::<Commands>() {
            (self.on_submit)(self, commands, slots, completion);
        }
    }

    fn abandon(&self, loss: &DeviceLoss) {
        self.device.abandon(loss);
    }
}

/// Fails a batch at its second command.
fn fail(fake: &FakeDevice, commands: Arc<Commands>, slots: Vec<BoundRange>, completion: Completion) {
    let context = Context::new(&[fake.id]).expect("a context");
    let mut enqueued = Enqueued::default();
    // Index 1 is a barrier.
    for (command, status) in [(0, 0), (2, cl3::error_codes::CL_OUT_OF_RESOURCES)] {
        enqueued.events.push((command, context.ended_event(status).expect("an event")));
    }
    let mut batch = in_flight(commands, slots, completion, enqueued, false);
    assert!(!batch.advance(true, Instant::now()), "none of its commands is running");
}

/// A batch in flight with these events.
fn in_flight(
    commands: Arc<Commands>,
    slots: Vec<BoundRange>,
    completion: Completion,
    enqueued: Enqueued,
    compiles_on_first_run: bool,
) -> InFlight {
    InFlight {
        completion: Some(completion),
        enqueued,
        next: 0,
        has_callback: false,
        error: None,
        clock: None,
        since: Instant::now(),
        records_time: false,
        compiles_on_first_run,
        commands,
        _slots: slots,
    }
}

/// Observes a batch whose only command never starts. `LATE`: the device compiles kernels at their
/// first run. `FIRST`: the recording runs for the first time.
fn wait_for_ever<const LATE: bool, const FIRST: bool>(
    fake: &FakeDevice,
    commands: Arc<Commands>,
    slots: Vec<BoundRange>,
    completion: Completion,
) {
    if !FIRST {
        commands.mark_compiled();
    }
    let context = Context::new(&[fake.id]).expect("a context");
    let mut enqueued = Enqueued::default();
    enqueued.events.push((0, context.waiting_event().expect("an event")));
    let mut batch = in_flight(commands, slots, completion, enqueued, LATE);
    assert!(batch.advance(true, Instant::now()), "its command has not started");
    // Until the device is lost.
    std::thread::spawn(move || {
        while batch.completion.as_ref().is_some_and(|completion| !completion.is_abandoned()) {
            std::thread::sleep(SHORT);
        }
    });
}

#[test]
fn late_compilation_is_reported_in_the_first_run_of_a_kernel() {
    let kernel = |device: &Device| {
        let entry = EntryPoint {
            name: "one".into(),
            workgroup_size: [1, 1, 1],
            bindings: vec![Access::ReadWrite],
            constants: 0,
            in_place: false,
        };
        let code = Code::OpenClC("kernel void one(global uint *out) { out[0] = 1u; }".into());
        device.load(&ExecutableSource { label: "one".into(), entry_points: vec![entry], code })?.kernel("one")
    };
    let message = |on_submit, dispatches: bool| {
        let device = device(on_submit)?;
        let run = || {
            let buffer = device.allocate(BufferDesc::device(64))?;
            let mut recorder = device.record();
            if dispatches {
                recorder.dispatch(&kernel(&device)?, [1, 1, 1], &[(&buffer).into()], &[])?;
            } else {
                recorder.fill(&buffer, 1)?;
            }
            let done = device.semaphore(0);
            device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1))?;
            done.wait(1, SHORT)
        };
        let message: Result<(), Error> = run();
        device.lose("the test is over");
        Some(message.expect_err("it never ends").to_string())
    };
    let Some(first) = message(wait_for_ever::<true, true>, true) else { return };
    assert!(first.contains("queue 0: \"one\" compiling"), "{first}");
    for (on_submit, dispatches) in [
        (wait_for_ever::<true, true> as fn(&FakeDevice, Arc<Commands>, Vec<BoundRange>, Completion), false),
        (wait_for_ever::<true, false>, true),
        (wait_for_ever::<false, true>, true),
    ] {
        let message = message(on_submit, dispatches).expect("a device");
        assert!(message.contains("in flight"), "{message}");
    }
}

/// The first device, with batches handled by `on_submit`.
fn device(on_submit: fn(&FakeDevice, Arc<Commands>, Vec<BoundRange>, Completion)) -> Option<Device> {
    let found = roci_testkit::require("opencl", discover::devices(&Sysfs::system()))?;
    let uri: roci_hal::DeviceUri = "opencl:0".parse().expect("a URI");
    let options = Options::of(&uri).expect("no options");
    let device = OpenClDevice::open(uri, &found[..1], &options, None).expect("a device");
    Some(Device::new(Arc::new(FakeDevice { device, id: found[0].id, on_submit }), None))
}

#[test]
fn a_command_that_fails_loses_the_device_and_is_named() {
    let Some(device) = device(fail) else { return };
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
        let error: Error = run().expect_err("the device is lost");
        let message = error.to_string();
        assert!(matches!(error, Error::Lost(_)), "{message}");
        assert!(message.contains("CL_OUT_OF_RESOURCES") && message.contains("\"update\" in flight"), "{message}");
    }
}

/// Enqueues a batch whose last run took `took`, and lets it complete. Returns the first command of
/// each event.
fn events_of(fake: &FakeDevice, commands: &Commands, slots: &[BoundRange], took: Duration) -> (Vec<usize>, bool) {
    commands.record_time(took);
    let queue = &fake.device.queues[0].inner.serial.plain;
    let mut enqueued = Enqueued::default();
    let went =
        commands.enqueue(EnqueueTarget { queue, out_of_order: false, timed: false }, slots, &mut enqueued).is_ok();
    queue.flush().expect("a queue");
    for (_, event) in &enqueued.events {
        assert!(timeout::wait(event, Deadline::default()).is_ok());
    }
    assert!(!enqueued.has_untracked);
    (enqueued.events.iter().map(|(command, _)| *command).collect(), went)
}

const SHORT: Duration = Duration::from_millis(4);
const LONG: Duration = Duration::from_secs(4);

#[test]
fn a_short_batch_has_one_event() {
    fn on_submit(fake: &FakeDevice, commands: Arc<Commands>, slots: Vec<BoundRange>, completion: Completion) {
        // The commands are separated by barriers.
        assert_eq!(events_of(fake, &commands, &slots, LONG), (vec![0, 2, 4], true));
        assert_eq!(events_of(fake, &commands, &slots, SHORT), (vec![0], true));
        completion.finish(Ok(()));
    }
    let Some(device) = device(on_submit) else { return };
    let buffer = device.allocate(BufferDesc::device(64)).expect("memory");
    let mut recorder = device.record();
    for pattern in 1..4 {
        recorder.fill(&buffer, pattern).expect("a command").barrier();
    }
    run(&device, recorder);
}

#[test]
fn commands_before_a_rejected_one_are_awaited() {
    fn on_submit(fake: &FakeDevice, commands: Arc<Commands>, slots: Vec<BoundRange>, completion: Completion) {
        assert_eq!(events_of(fake, &commands, &slots, LONG), (vec![0, 1], false));
        assert_eq!(events_of(fake, &commands, &slots, SHORT), (vec![0], false));
        completion.finish(Ok(()));
    }
    let Some(device) = device(on_submit) else { return };
    let buffer = device.allocate(BufferDesc::device(64)).expect("memory");
    // The source requires groups of eight; the contract says one.
    let text = "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void sized(global uint *out) { out[0] = 1u; }";
    let entry = EntryPoint {
        name: "sized".into(),
        workgroup_size: [1, 1, 1],
        bindings: vec![Access::ReadWrite],
        constants: 0,
        in_place: false,
    };
    let source =
        ExecutableSource { label: "sized".into(), entry_points: vec![entry], code: Code::OpenClC(text.into()) };
    let kernel = device.load(&source).expect("a program").kernel("sized").expect("a kernel");
    let mut recorder = device.record();
    recorder.fill(&buffer, 1).expect("a command");
    recorder.fill(&buffer, 2).expect("a command").barrier();
    recorder.dispatch(&kernel, [8, 1, 1], &[(&buffer).into()], &[]).expect("a command");
    run(&device, recorder);
}

fn run(device: &Device, recorder: roci_hal::Recorder) {
    let done = device.semaphore(0);
    let commands = recorder.finish().expect("commands");
    device.queue(0).expect("a queue").submit(&commands, Submit::new().signal(&done, 1)).expect("a submission");
    done.wait(1, Deadline::default()).expect("the batch completes");
}
