//! Compilation has its own timeout, whether a driver compiles when code is loaded or when a kernel
//! is first dispatched.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::sleep;
use std::time::Duration;

use roci_base::Hint;
use roci_base::sync::{Mutex, lock};
use roci_hal::command::Recording;
use roci_hal::deadline::Timeouts;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, Completion, DeviceBackend, ExecutableBackend};
use roci_hal::error::{DeviceLoss, DeviceLossReason};
use roci_hal::host_memory::HostMemory;
use roci_hal::null::NullDriver;
use roci_hal::{
    BufferDesc, Code, Deadline, Device, DeviceInfo, EntryPoint, Error, Executable, ExecutableSource, Registry,
    Semaphore, Submit,
};

/// Shorter than any compilation in the tests.
const SHORT: Duration = Duration::from_millis(50);
/// Duration of a slow but successful compilation.
const SLOW: Duration = Duration::from_millis(400);
/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// A driver whose compile time a test controls.
struct CompilingDevice {
    info: DeviceInfo,
    /// Receives when loading an executable called `slow` may finish.
    gate: Mutex<Receiver<()>>,
    /// Handles a batch.
    on_submit: fn(Completion),
}

struct Stub;

impl ExecutableBackend for Stub {}

impl CommandsBackend for Stub {}

impl DeviceBackend for CompilingDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        Ok(Arc::new(HostMemory::new(desc.size).expect("the host has enough memory")))
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        assert_ne!(source.label, "broken", "the compiler crashed");
        if source.label == "slow" {
            // A dropped sender opens the gate.
            let _ = lock(&self.gate).recv();
        }
        Ok(Arc::new(Stub))
    }

    fn prepare(&self, _recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Stub))
    }

    fn submit(&self, _queue: usize, batch: Batch) {
        (self.on_submit)(batch.completion);
    }

    fn abandon(&self, _loss: &DeviceLoss) {}
}

/// A device, and the gate of its compiler.
fn device(limits: Timeouts, on_submit: fn(Completion)) -> (Device, Sender<()>) {
    let info = Registry::new().with(NullDriver::new(1)).open(&"null".parse().unwrap(), None).unwrap().info().clone();
    let (open, gate) = channel();
    (Device::with_timeouts(Arc::new(CompilingDevice { info, gate: Mutex::new(gate), on_submit }), limits), open)
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
    // Not compiled at load time.
    let kernel = load(device, "quick", Code::Native(Vec::new())).unwrap().kernel("square").unwrap();
    let mut recorder = device.record();
    recorder.dispatch(&kernel, [1; 3], &[], &[]).unwrap();
    let done = device.semaphore(0);
    device.queue(0).unwrap().submit(&recorder.finish().unwrap(), Submit::new().signal(&done, 1)).unwrap();
    done
}

/// Handles a batch on another thread.
fn later(completion: Completion, run: impl FnOnce(Completion) + Send + 'static) {
    std::thread::spawn(move || run(completion));
}

fn until_abandoned(completion: Completion, each: impl Fn(&Completion)) {
    while !completion.is_abandoned() {
        each(&completion);
        sleep(Duration::from_millis(1));
    }
}

/// Waits until the device is lost, and returns the cause.
fn loss(device: &Device, done: &Semaphore) -> (Arc<DeviceLoss>, Error) {
    let error = done.wait(1, LONG).expect_err("the device is lost");
    assert!(matches!(error, Error::Lost(_)), "{error:?}");
    (device.loss().expect("the device is lost"), error)
}

const SHORT_COMMAND_TIMEOUT: Timeouts = Timeouts { command: SHORT, compile: LONG };

#[test]
fn loading_may_exceed_the_command_timeout() {
    let (device, open) = device(SHORT_COMMAND_TIMEOUT, |completion| completion.finish(Ok(())));
    let opener = std::thread::spawn(move || {
        sleep(SLOW);
        drop(open);
    });
    load(&device, "slow", source()).unwrap();
    opener.join().unwrap();
    assert!(device.loss().is_none());
}

#[test]
fn a_load_timeout_names_the_kernel_and_keeps_the_device() {
    let limits = Timeouts { command: LONG, compile: SHORT };
    let (device, open) = device(limits, |completion| completion.finish(Ok(())));
    let error = load(&device, "slow", source()).map(drop).expect_err("the compile timeout expires");
    assert!(matches!(error, Error::Compile { .. }), "{error:?}");
    assert_eq!(error.to_string(), "\"slow\" was still compiling after 0.050 s on null");
    assert!(error.hint().is_some_and(|hint| hint.contains("ROCI_COMPILE_TIMEOUT")));
    assert!(device.loss().is_none());
    drop(open);
    device.allocate(BufferDesc::device(64)).unwrap();
}

#[test]
#[should_panic(expected = "the compiler crashed")]
fn a_driver_panic_reaches_the_caller() {
    let (device, _open) = device(SHORT_COMMAND_TIMEOUT, |completion| completion.finish(Ok(())));
    let _ = load(&device, "broken", source());
}

#[test]
fn compilation_at_dispatch_may_exceed_the_command_timeout() {
    let (device, _open) = device(SHORT_COMMAND_TIMEOUT, |completion| {
        completion.compiling(0);
        later(completion, |completion| {
            sleep(SLOW);
            completion.finish(Ok(()));
        });
    });
    let done = dispatch(&device);
    done.wait(1, Deadline::excluding_compilation(SHORT)).unwrap();
    assert!(device.loss().is_none());
}

#[test]
fn a_missed_deadline_reports_that_the_kernel_is_compiling() {
    let (device, _open) = device(SHORT_COMMAND_TIMEOUT, |completion| {
        completion.compiling(0);
        later(completion, |completion| until_abandoned(completion, |_| ()));
    });
    let error = dispatch(&device).wait(1, SHORT).expect_err("the deadline expires").to_string();
    assert!(error.ends_with("queue 0: \"square\" compiling, nothing finished before"), "{error}");
    assert!(device.loss().is_none());
    device.lose("the test is over");
}

#[test]
fn an_endless_compilation_loses_the_device_at_the_compile_timeout() {
    let (device, _open) = device(Timeouts { command: LONG, compile: SHORT }, |completion| {
        completion.compiling(0);
        later(completion, |completion| until_abandoned(completion, |_| ()));
    });
    let (loss, error) = loss(&device, &dispatch(&device));
    assert!(matches!(loss.reason, DeviceLossReason::Compile { limit: SHORT }), "{loss:?}");
    assert!(loss.in_flight.compiling, "{loss:?}");
    let text = error.to_string();
    assert!(text.contains("was still compiling after 0.050 s, queue 0: \"square\" compiling"), "{text}");
    assert!(error.hint().is_some_and(|hint| hint.contains("ROCI_COMPILE_TIMEOUT")));
}

#[test]
fn an_endless_kernel_loses_the_device_at_the_command_timeout() {
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
        // The driver may compile during each status query.
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
    for on_submit in plays {
        let (device, _open) = device(SHORT_COMMAND_TIMEOUT, on_submit);
        let (loss, error) = loss(&device, &dispatch(&device));
        assert!(matches!(loss.reason, DeviceLossReason::Hang { limit: SHORT }), "{loss:?}");
        assert!(error.to_string().contains("queue 0: \"square\" in flight"), "{error}");
    }
}
