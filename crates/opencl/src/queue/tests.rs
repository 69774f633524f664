//! A device that fails in the middle of a batch, which no OpenCL of a processor does: by an event that says so. And how many events
//! a batch has.

use std::sync::Arc;
use std::time::{Duration, Instant};

use roci_hal::command::Recording;
use roci_hal::driver::{
    Batch, BoundRange, BufferBackend, CommandsBackend, Completion, DeviceBackend, ExecutableBackend,
};
use roci_hal::error::Loss;
use roci_hal::sysfs::Sysfs;
use roci_hal::{Access, BufferDesc, Code, Deadline, Device, DeviceInfo, EntryPoint, Error, ExecutableSource, Submit};

use super::Flight;
use crate::cl::{Context, DeviceId};
use crate::device::OpenClDevice;
use crate::discover;
use crate::options::Options;
use crate::patience;
use crate::program::{Enqueued, Program, Target};

/// A device that does something else with its batches.
struct Played {
    device: OpenClDevice,
    id: DeviceId,
    play: fn(&Self, Arc<Program>, Vec<BoundRange>, Completion),
}

impl DeviceBackend for Played {
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
        if let Some((program, slots, completion)) = batch.open::<Program>() {
            (self.play)(self, program, slots, completion);
        }
    }

    fn abandon(&self, loss: &Loss) {
        self.device.abandon(loss);
    }
}

/// Ends a batch by the failure of its second command.
fn fail(played: &Played, program: Arc<Program>, slots: Vec<BoundRange>, completion: Completion) {
    let context = Context::new(&[played.id]).expect("a context");
    let mut enqueued = Enqueued::default();
    // The one between them is a barrier.
    for (command, status) in [(0, 0), (2, cl3::error_codes::CL_OUT_OF_RESOURCES)] {
        enqueued.events.push((command, context.ended_event(status).expect("an event")));
    }
    let mut flight = in_flight(program, slots, completion, enqueued, false);
    assert!(!flight.advance(true, Instant::now()), "nothing of it runs any more");
}

/// A batch with these events.
fn in_flight(
    program: Arc<Program>,
    slots: Vec<BoundRange>,
    completion: Completion,
    enqueued: Enqueued,
    compiles_late: bool,
) -> Flight {
    Flight {
        completion: Some(completion),
        enqueued,
        next: 0,
        announced: false,
        trouble: None,
        clock: None,
        since: Instant::now(),
        learns: false,
        compiles_late,
        program,
        _slots: slots,
    }
}

/// Looks at a batch whose only command is submitted and never runs: on a device that compiles when kernels first run, or not; in the first run of
/// its recording, or not.
fn wait_for_ever<const LATE: bool, const FIRST: bool>(
    played: &Played,
    program: Arc<Program>,
    slots: Vec<BoundRange>,
    completion: Completion,
) {
    if !FIRST {
        program.note_run();
    }
    let context = Context::new(&[played.id]).expect("a context");
    let mut enqueued = Enqueued::default();
    enqueued.events.push((0, context.waiting_event().expect("an event")));
    let mut flight = in_flight(program, slots, completion, enqueued, LATE);
    assert!(flight.advance(true, Instant::now()), "its command is still to come");
    // Until the device is lost.
    std::thread::spawn(move || {
        while flight.completion.as_ref().is_some_and(|completion| !completion.is_abandoned()) {
            std::thread::sleep(SHORT);
        }
    });
}

#[test]
fn a_submitted_kernel_is_compiling_in_its_first_run_on_a_device_that_compiles_late() {
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
    let said = |play, dispatches: bool| {
        let device = device(play)?;
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
        let said: Result<(), Error> = run();
        device.lose("the test is over");
        Some(said.expect_err("it never ends").to_string())
    };
    let Some(first) = said(wait_for_ever::<true, true>, true) else { return };
    assert!(first.contains("queue 0: \"one\" compiling"), "{first}");
    for (play, dispatches) in [
        (wait_for_ever::<true, true> as fn(&Played, Arc<Program>, Vec<BoundRange>, Completion), false),
        (wait_for_ever::<true, false>, true),
        (wait_for_ever::<false, true>, true),
    ] {
        let said = said(play, dispatches).expect("a device");
        assert!(said.contains("in flight"), "{said}");
    }
}

/// The first device, whose batches are played.
fn device(play: fn(&Played, Arc<Program>, Vec<BoundRange>, Completion)) -> Option<Device> {
    let found = roci_testkit::require("opencl", discover::devices(&Sysfs::system()))?;
    let uri: roci_hal::DeviceUri = "opencl:0".parse().expect("a URI");
    let options = Options::of(&uri).expect("no options");
    let device = OpenClDevice::open(uri, &found[..1], &options, None).expect("a device");
    Some(Device::new(Arc::new(Played { device, id: found[0].id, play }), None))
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
        let error: Error = run().expect_err("it is lost");
        let said = error.to_string();
        assert!(matches!(error, Error::Lost(_)), "{said}");
        assert!(said.contains("CL_OUT_OF_RESOURCES") && said.contains("\"update\" in flight"), "{said}");
    }
}

/// Enqueues a batch as one that took so long before, and lets it end; gives the first command of each event.
fn events_of(played: &Played, program: &Program, slots: &[BoundRange], took: Duration) -> (Vec<usize>, bool) {
    program.learn(took);
    let queue = &played.device.lines[0].inner.serial.plain;
    let mut enqueued = Enqueued::default();
    let went = program.enqueue(Target { queue, out_of_order: false, timed: false }, slots, &mut enqueued).is_ok();
    queue.flush().expect("a queue");
    for (_, event) in &enqueued.events {
        assert!(patience::wait(event, Deadline::default()).is_ok());
    }
    assert!(!enqueued.adrift);
    (enqueued.events.iter().map(|(command, _)| *command).collect(), went)
}

const SHORT: Duration = Duration::from_millis(4);
const LONG: Duration = Duration::from_secs(4);

#[test]
fn a_batch_that_is_known_to_be_short_has_one_event() {
    fn play(played: &Played, program: Arc<Program>, slots: Vec<BoundRange>, completion: Completion) {
        // Between the commands are barriers.
        assert_eq!(events_of(played, &program, &slots, LONG), (vec![0, 2, 4], true));
        assert_eq!(events_of(played, &program, &slots, SHORT), (vec![0], true));
        completion.finish(Ok(()));
    }
    let Some(device) = device(play) else { return };
    let buffer = device.allocate(BufferDesc::device(64)).expect("memory");
    let mut recorder = device.record();
    for pattern in 1..4 {
        recorder.fill(&buffer, pattern).expect("a command").barrier();
    }
    run(&device, recorder);
}

#[test]
fn what_went_before_a_refused_command_is_seen_to_end() {
    fn play(played: &Played, program: Arc<Program>, slots: Vec<BoundRange>, completion: Completion) {
        assert_eq!(events_of(played, &program, &slots, LONG), (vec![0, 1], false));
        assert_eq!(events_of(played, &program, &slots, SHORT), (vec![0], false));
        completion.finish(Ok(()));
    }
    let Some(device) = device(play) else { return };
    let buffer = device.allocate(BufferDesc::device(64)).expect("memory");
    // It demands groups of eight, the contract says one.
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
    done.wait(1, Deadline::default()).expect("its end");
}
