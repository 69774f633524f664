//! Compiling a kernel has a limit of its own, wherever a driver does it: when code is loaded, or when a kernel is first dispatched.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::sleep;
use std::time::Duration;

use roci_hal::command::Recording;
use roci_hal::deadline::Limits;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, Completion, DeviceBackend, ExecutableBackend};
use roci_hal::error::{Loss, LossReason};
use roci_hal::host_memory::HostMemory;
use roci_hal::null::NullDriver;
use roci_hal::sync::{Mutex, lock};
use roci_hal::{
    BufferDesc, Code, Deadline, Device, DeviceInfo, EntryPoint, Error, Executable, ExecutableSource, Hint, Registry,
    Semaphore, Submit,
};

/// Shorter than anything that the tests let a driver compile for.
const SHORT: Duration = Duration::from_millis(50);
/// How long a driver compiles that is slow and no more.
const SLOW: Duration = Duration::from_millis(400);
/// Longer than a test takes.
const LONG: Duration = Duration::from_secs(600);

/// A driver that compiles for as long as a test says.
struct Compiler {
    info: DeviceInfo,
    /// Answers when loading an executable called `slow` may end.
    gate: Mutex<Receiver<()>>,
    /// What becomes of a batch.
    play: fn(Completion),
}

struct Nothing;

impl ExecutableBackend for Nothing {}

impl CommandsBackend for Nothing {}

impl DeviceBackend for Compiler {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        Ok(Arc::new(HostMemory::new(desc.size).expect("the host has this much")))
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        assert_ne!(source.label, "broken", "the compiler crashed");
        if source.label == "slow" {
            // A gate that is gone is open.
            let _ = lock(&self.gate).recv();
        }
        Ok(Arc::new(Nothing))
    }

    fn prepare(&self, _recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Nothing))
    }

    fn submit(&self, _queue: usize, batch: Batch) {
        (self.play)(batch.completion);
    }

    fn abandon(&self, _loss: &Loss) {}
}

/// A device, and the gate of its compiler.
fn device(limits: Limits, play: fn(Completion)) -> (Device, Sender<()>) {
    let info = Registry::new().with(NullDriver::new(1)).open(&"null".parse().unwrap(), None).unwrap().info().clone();
    let (open, gate) = channel();
    (Device::limited(Arc::new(Compiler { info, gate: Mutex::new(gate), play }), limits), open)
}

fn load(device: &Device, label: &str, code: Code) -> Result<Executable, Error> {
    let entry = EntryPoint {
        name: "square".into(),
        workgroup_size: [1; 3],
        bindings: Vec::new(),
        constants: 0,
        in_place: false,
    };
    device.load(&ExecutableSource { label: label.into(), entry_points: vec![entry], code })
}

fn source() -> Code {
    Code::OpenClC(String::new())
}

/// Submits one dispatch.
fn dispatch(device: &Device) -> Semaphore {
    // Not compiled when it is loaded.
    let kernel = load(device, "quick", Code::Native(Vec::new())).unwrap().kernel("square").unwrap();
    let mut recorder = device.record();
    recorder.dispatch(&kernel, [1; 3], &[], &[]).unwrap();
    let done = device.semaphore(0);
    device.queue(0).unwrap().submit(&recorder.finish().unwrap(), Submit::new().signal(&done, 1)).unwrap();
    done
}

/// Does something with a batch on another thread.
fn later(completion: Completion, run: impl FnOnce(Completion) + Send + 'static) {
    std::thread::spawn(move || run(completion));
}

fn until_abandoned(completion: Completion, each: impl Fn(&Completion)) {
    while !completion.is_abandoned() {
        each(&completion);
        sleep(Duration::from_millis(1));
    }
}

/// Why the device is lost, once it is.
fn loss(device: &Device, done: &Semaphore) -> (Arc<Loss>, Error) {
    let error = done.wait(1, LONG).expect_err("the device is lost");
    assert!(matches!(error, Error::Lost(_)), "{error:?}");
    (device.loss().expect("the device is lost"), error)
}

const HASTY: Limits = Limits { command: SHORT, compile: LONG };

#[test]
fn loading_may_take_longer_than_a_command() {
    let (device, open) = device(HASTY, |completion| completion.finish(Ok(())));
    let opener = std::thread::spawn(move || {
        sleep(SLOW);
        drop(open);
    });
    load(&device, "slow", source()).unwrap();
    opener.join().unwrap();
    assert!(device.loss().is_none());
}

#[test]
fn loading_that_misses_its_limit_is_an_error_that_names_the_kernel_and_leaves_the_device() {
    let limits = Limits { command: LONG, compile: SHORT };
    let (device, open) = device(limits, |completion| completion.finish(Ok(())));
    let error = load(&device, "slow", source()).map(drop).expect_err("it misses the limit");
    assert!(matches!(error, Error::Compile { .. }), "{error:?}");
    assert_eq!(error.to_string(), "\"slow\" was still compiling after 0.050 s on null");
    assert!(error.hint().is_some_and(|hint| hint.contains("ROCI_COMPILE_TIMEOUT")));
    assert!(device.loss().is_none());
    drop(open);
    device.allocate(BufferDesc::device(64)).unwrap();
}

#[test]
#[should_panic(expected = "the compiler crashed")]
fn a_panic_of_the_driver_is_the_callers() {
    let (device, _open) = device(HASTY, |completion| completion.finish(Ok(())));
    let _ = load(&device, "broken", source());
}

#[test]
fn a_first_dispatch_may_compile_longer_than_a_command_runs() {
    let (device, _open) = device(HASTY, |completion| {
        completion.compiling(0);
        later(completion, |completion| {
            sleep(SLOW);
            completion.finish(Ok(()));
        });
    });
    let done = dispatch(&device);
    done.wait(1, Deadline::of_work(SHORT)).unwrap();
    assert!(device.loss().is_none());
}

#[test]
fn a_deadline_that_counts_everything_says_that_the_kernel_is_compiling() {
    let (device, _open) = device(HASTY, |completion| {
        completion.compiling(0);
        later(completion, |completion| until_abandoned(completion, |_| ()));
    });
    let error = dispatch(&device).wait(1, SHORT).expect_err("it is not done").to_string();
    assert!(error.ends_with("queue 0: \"square\" compiling, nothing finished before"), "{error}");
    assert!(device.loss().is_none());
    device.lose("the test is over");
}

#[test]
fn a_dispatch_that_compiles_for_ever_loses_the_device_by_the_limit_of_compilation() {
    let (device, _open) = device(Limits { command: LONG, compile: SHORT }, |completion| {
        completion.compiling(0);
        later(completion, |completion| until_abandoned(completion, |_| ()));
    });
    let (loss, error) = loss(&device, &dispatch(&device));
    assert!(matches!(loss.reason, LossReason::Compile { limit: SHORT }), "{loss:?}");
    assert!(loss.work.compiling, "{loss:?}");
    let text = error.to_string();
    assert!(text.contains("was still compiling after 0.050 s, queue 0: \"square\" compiling"), "{text}");
    assert!(error.hint().is_some_and(|hint| hint.contains("ROCI_COMPILE_TIMEOUT")));
}

#[test]
fn a_kernel_that_never_ends_is_found_by_the_limit_of_commands() {
    let plays: [fn(Completion); 3] = [
        |completion| {
            completion.progress(0);
            later(completion, |completion| until_abandoned(completion, |_| ()));
        },
        // It was compiled before.
        |completion| {
            completion.compiling(0);
            later(completion, |completion| {
                sleep(SHORT * 2);
                completion.progress(0);
                until_abandoned(completion, |_| ());
            });
        },
        // The driver may compile whenever it is asked how far it is.
        |completion| {
            completion.progress(0);
            later(completion, |completion| {
                until_abandoned(completion, |completion| {
                    completion.compiling(0);
                    completion.progress(0);
                });
            });
        },
    ];
    for play in plays {
        let (device, _open) = device(HASTY, play);
        let (loss, error) = loss(&device, &dispatch(&device));
        assert!(matches!(loss.reason, LossReason::Hang { limit: SHORT }), "{loss:?}");
        assert!(error.to_string().contains("queue 0: \"square\" in flight"), "{error}");
    }
}
