//! The driver's decisions other than executing commands: when HSA is started, which engine
//! copies, and how faults are reported.

mod changed;
mod emulated;

use std::fs;
use std::path::Path;
use std::time::Duration;

use emulated::{library, origin, runtime};
use roci_amdgpu::{AmdgpuDriver, Origin, Settings};
use roci_base::Hint;
use roci_base::env::EnvVariable;
use roci_hal::driver::Driver;
use roci_hal::{Binding, BufferDesc, Device, Error, Kernel, Profile, Registry, Submit};
use roci_hal_cts::kernels;
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A fake sysfs of a machine with the kernel driver and these chips.
fn machine(versions: &[u32]) -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    };
    write("dev/kfd", "");
    for (node, version) in versions.iter().enumerate() {
        write(
            &format!("sys/class/kfd/kfd/topology/nodes/{node}/properties"),
            &format!("gfx_target_version {version}\n"),
        );
    }
    root
}

/// Settings without any override.
fn settings(root: &Path) -> Settings {
    Settings { root: root.into(), allow_hsa: false, overrides: Vec::new(), enable_sdma: None, library_named: false }
}

/// The driver for real GPUs, on the emulated runtime.
fn real(settings: Settings) -> AmdgpuDriver {
    AmdgpuDriver::new(Origin::Real, Box::new(|_| runtime(&["gfx1010".to_owned()])), library(), settings)
}

/// The driver for real GPUs, which must not start its runtime.
fn untouched(settings: Settings) -> AmdgpuDriver {
    AmdgpuDriver::new(Origin::Real, Box::new(|_| panic!("HSA was started")), library(), settings)
}

fn open(driver: AmdgpuDriver, uri: &str) -> Result<Device, Error> {
    Registry::new().with(driver).open(&uri.parse()?, Some(TIMEOUT))
}

/// A kernel of the conformance suite; `None`, with the reason printed, without clang.
fn kernel(device: &Device, name: &str) -> Option<Kernel> {
    roci_testkit::require("clang", roci_testkit::tools::clang())?;
    let source = kernels::source(name, device.info()).expect("the suite's kernels compile");
    Some(device.load(&source).expect("it loads").kernel(name).expect("it exists"))
}

#[track_caller]
fn says(error: &Error, cause: &[&str], remedy: &[&str]) {
    let (message, hint) = (error.to_string(), error.hint().unwrap_or_default());
    assert!(cause.iter().all(|word| message.contains(word)), "{message}");
    assert!(remedy.iter().all(|word| hint.contains(word)), "{hint}");
}

#[test]
fn a_machine_that_may_freeze_needs_an_explicit_uri() {
    let root = machine(&[0, 100_103]);
    let error = untouched(settings(root.path())).enumerate().expect_err("enumeration must not start HSA");
    says(&error, &["HSA is not available", "gfx1013", "not started"], &["--device=amdgpu", "ROCI_ALLOW_HSA=1"]);
    // Neither does `auto`, nor an invalid URI.
    let registry = Registry::new().with(untouched(settings(root.path())));
    says(&registry.choose(&"auto".parse().expect("a URI")).expect_err("no device"), &["gfx1013"], &[]);
    registry.parse("amdgpu:0,").expect_err("the URI is invalid");
    // Started if the URI names the driver, or if the environment allows it.
    let device = open(real(settings(root.path())), "amdgpu:0").expect("the URI names the driver");
    assert_eq!(device.info().physical.len(), 1);
    let allowed = Settings { allow_hsa: true, ..settings(root.path()) };
    assert!(!real(allowed).enumerate().expect("the environment allows it").is_empty());
    // Other chips have no known hazard.
    let other = machine(&[0, 100_100]);
    assert!(!real(settings(other.path())).enumerate().expect("enumeration may start HSA").is_empty());
}

#[test]
fn without_a_kernel_driver_only_a_named_library_is_loaded() {
    let root = tempfile::tempdir().expect("a folder");
    let error = untouched(settings(root.path())).enumerate().expect_err("there is no kernel driver");
    says(&error, &["/dev/kfd"], &["modprobe amdgpu"]);
    let named = Settings { library_named: true, ..settings(root.path()) };
    assert!(!real(named).enumerate().expect("a library that needs no kernel driver").is_empty());
}

#[test]
fn a_chip_override_is_rejected_without_consent() {
    // The second applies to one node, and ROCm reads it first.
    ["HSA_OVERRIDE_GFX_VERSION", "HSA_OVERRIDE_GFX_VERSION_1"].into_iter().for_each(overridden_by);
}

fn overridden_by(variable: &str) {
    let root = machine(&[0, 100_100]);
    let found = EnvVariable { name: variable.to_owned(), value: "10.3.0".to_owned() };
    let overridden = || Settings { overrides: vec![found.clone()], ..settings(root.path()) };
    let assigned = format!("{variable}=10.3.0");
    let words = [assigned.as_str(), "another chip's code", "crashes"];
    let unset = format!("`unset {variable}`");
    let remedy = [unset.as_str(), "amdgpu?override=allow"];
    says(&untouched(overridden()).enumerate().expect_err("it is rejected"), &words, &remedy);
    says(&open(untouched(overridden()), "amdgpu:0").map(drop).expect_err("it is rejected"), &words, &remedy);
    let wrong = open(untouched(overridden()), "amdgpu:0?override=yes").map(drop).expect_err("no such value");
    says(&wrong, &["`override` is `yes`"], &[]);
    let device = open(real(overridden()), "amdgpu:0?override=allow").expect("the parameter allows it");
    let quirks = &device.info().physical[0].quirks;
    assert!(quirks.iter().any(|quirk| quirk.contains(&assigned)), "{quirks:?}");
    // Overrides do not affect emulated chips.
    let emulated = AmdgpuDriver::new(origin(), Box::new(runtime), library(), overridden());
    open(emulated, "emu://gfx1010").expect("overrides do not apply to emulated chips");
}

/// Number of copies requested from the runtime during an upload, a device copy and a download.
fn engine_copies(uri: &str, enable_sdma: Option<&str>, bytes: usize) -> usize {
    let enable_sdma = enable_sdma.map(str::to_owned);
    let settings = Settings { enable_sdma, ..settings(Path::new("/")) };
    let driver = AmdgpuDriver::new(origin(), Box::new(changed::counting_copies), library(), settings);
    let device = open(driver, uri).expect("the device opens");
    let sent: Vec<u8> = (0..bytes).map(|index| (index * 31 % 251) as u8).collect();
    let buffer = || device.allocate(BufferDesc::device(bytes.next_multiple_of(4) as u64)).expect("memory");
    let (first, second) = (buffer(), buffer());
    let part = |buffer: &roci_hal::Buffer| buffer.range(0, bytes as u64).expect("the range is inside the buffer");
    let before = changed::copies();
    device.write(part(&first), &sent).expect("it is written");
    let mut recorder = device.record();
    recorder.copy(part(&first), part(&second)).expect("a copy");
    let commands = recorder.finish().expect("the commands are valid");
    let done = device.semaphore(0);
    device
        .queue(1)
        .expect("two queues")
        .submit(&commands, Submit::new().signal(&done, 1))
        .expect("the submission is accepted");
    done.wait(1, TIMEOUT).expect("the work completes");
    assert_eq!(device.read(part(&second)).expect("it is read"), sent, "{uri} {bytes}");
    changed::copies() - before
}

#[test]
fn copies_use_kernels_or_copy_engines_by_policy() {
    for (uri, enable_sdma, bytes, engines) in [
        ("emu://gfx1010?copy=shader", None, 100_001, 0),
        ("emu://gfx1010?copy=sdma", None, 100_001, 3),
        ("emu://gfx1010?copy=sdma", None, 64, 3),
        // By default, transfers between host and GPU use the engine from a minimum size.
        ("emu://gfx1010", None, 100_001, 2),
        ("emu://gfx1010", None, 4096, 0),
        ("emu://gfx1013", None, 100_001, 0),
        ("emu://gfx1151", None, 100_001, 0),
        ("emu://gfx1010", Some("0"), 100_001, 0),
        ("emu://gfx1151", Some("1"), 100_001, 3),
        // No kernel copies less than a word.
        ("emu://gfx1010?copy=shader", None, 3, 3),
        ("emu://gfx1010?copy=shader", None, 5, 0),
    ] {
        assert_eq!(engine_copies(uri, enable_sdma, bytes), engines, "{uri} {enable_sdma:?} {bytes}");
    }
    let quirks =
        |uri: &str| open(emulated::driver(), uri).expect("the device opens").info().physical[0].quirks.join("; ");
    assert!(
        quirks("emu://gfx1013").contains("kernels copy: the copy engines of gfx1013 are known to corrupt data or hang")
    );
    assert!(quirks("emu://gfx1013?copy=sdma").contains("copy engines copy: requested by `copy=sdma`"));
    let error = open(emulated::driver(), "emu://gfx1010?copy=fast").map(drop).expect_err("no such value");
    says(&error, &["`copy` is `fast`"], &["`shader` or `sdma`"]);
}

#[test]
fn a_lost_device_leaves_no_pending_copy() {
    let driver = emulated::driver();
    let device = Registry::new().with(driver).open(&"emu://gfx1010?copy=sdma".parse().expect("a URI"), Some(TIMEOUT));
    let device = device.expect("the device opens");
    let Some(spin) = kernel(&device, "spin") else { return };
    let flag = device.allocate(BufferDesc::device(64)).expect("memory");
    let buffer = || device.allocate(BufferDesc::device(1 << 20)).expect("memory");
    let (source, target) = (buffer(), buffer());
    let mut recorder = device.record();
    recorder.dispatch(&spin, [1, 1, 1], &[Binding::from(&flag)], &[]).expect("a kernel").barrier();
    recorder.copy(&source, &target).expect("a copy");
    let commands = recorder.finish().expect("the commands are valid");
    let done = device.semaphore(0);
    device
        .queue(0)
        .expect("a queue")
        .submit(&commands, Submit::new().signal(&done, 1))
        .expect("the submission is accepted");
    std::thread::sleep(Duration::from_millis(20));
    device.lose("the test loses it");
    assert!(matches!(done.wait(1, TIMEOUT), Err(Error::Lost(_))));
    // The copy waits for a kernel that never ends; its memory must outlive it.
    drop((source, target, commands));
    let fresh = open(emulated::driver(), "emu://gfx1010").expect("the device opens");
    let bytes = fresh.allocate(BufferDesc::device(1 << 20)).expect("memory");
    fresh.write(&bytes, &[7; 1 << 20]).expect("it works");
    assert_eq!(fresh.read(&bytes).expect("it works"), [7; 1 << 20]);
}

/// Waits until a condition holds that other threads make true.
#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !condition() {
        assert!(begun.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_faulted_device_leaves_no_pending_copy() {
    let driver = AmdgpuDriver::new(origin(), Box::new(changed::watching_copies), library(), settings(Path::new("/")));
    let device = open(driver, "emu://gfx1030?copy=sdma").expect("the device opens");
    let Some(wild) = kernel(&device, "out_of_bounds") else { return };
    let buffer = |bytes| device.allocate(BufferDesc::device(bytes)).expect("memory");
    let (small, source, target) = (buffer(64), buffer(1 << 16), buffer(1 << 16));
    let constants: Vec<u8> = [1u32 << 28, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut recorder = device.record();
    recorder.dispatch(&wild, [1, 1, 1], &[Binding::from(&small)], &constants).expect("a kernel").barrier();
    recorder.copy(&source, &target).expect("a copy");
    let commands = recorder.finish().expect("the commands are valid");
    let done = device.semaphore(0);
    device
        .queue(0)
        .expect("a queue")
        .submit(&commands, Submit::new().signal(&done, 1))
        .expect("the submission is accepted");
    assert!(matches!(done.wait(1, TIMEOUT), Err(Error::Lost(_))));
    drop((source, target, commands));
    // The runtime still had the copy when the kernel failed, and its signals live until the copy
    // ends.
    wait_until("the copy is released", || changed::watched_copies().0 == 0);
    assert_eq!(changed::watched_copies(), (0, 0), "a signal is destroyed while the runtime has the copy");
}

#[test]
fn a_failed_open_leaves_no_queue() {
    let driver = AmdgpuDriver::new(origin(), Box::new(changed::with_one_queue), library(), settings(Path::new("/")));
    let error = open(driver, "emu://gfx1010").map(drop).expect_err("there is no second queue");
    says(&error, &["hsa_queue_create"], &[]);
    wait_until("the first queue is destroyed", || changed::queues() == (2, 1));
}

#[test]
fn a_failed_batch_returns_its_kernel_arguments() {
    let driver = AmdgpuDriver::new(origin(), Box::new(changed::without_copies), library(), settings(Path::new("/")));
    let device = open(driver, "emu://gfx1010?copy=sdma").expect("the device opens");
    let buffer = || device.allocate(BufferDesc::device(64)).expect("memory");
    let (source, target) = (buffer(), buffer());
    let mut recorder = device.record();
    recorder.copy(&source, &target).expect("a copy").barrier();
    // More than half of the ring.
    for value in 0..40_000 {
        recorder.fill(Binding::slot(0, 64), value).expect("a fill");
    }
    let commands = recorder.finish().expect("the commands are valid");
    for _ in 0..2 {
        let done = device.semaphore(0);
        let submit = Submit::new().bind(&target).signal(&done, 1);
        device.queue(0).expect("a queue").submit(&commands, submit).expect("the submission is accepted");
        let error = done.wait(1, TIMEOUT).expect_err("copies fail");
        assert!(matches!(error, Error::Kernel { .. }), "{error}");
    }
}

/// Runs a kernel that accesses memory outside its bindings, and returns the device's error.
fn fault(driver: AmdgpuDriver, uri: &str) -> Option<String> {
    let device = open(driver, uri).expect("the device opens");
    let wild = kernel(&device, "out_of_bounds")?;
    let buffer = device.allocate(BufferDesc::device(64)).expect("memory");
    let constants: Vec<u8> = [1u32 << 28, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut recorder = device.record();
    recorder.dispatch(&wild, [1, 1, 1], &[Binding::from(&buffer)], &constants).expect("a kernel");
    let commands = recorder.finish().expect("the commands are valid");
    let done = device.semaphore(0);
    let submit = Submit::new().signal(&done, 1).label("wild");
    device.queue(0).expect("a queue").submit(&commands, submit).expect("the submission is accepted");
    let error = done.wait(1, TIMEOUT).expect_err("it accesses memory outside its bindings");
    assert!(matches!(error, Error::Lost(_)), "{error}");
    let later = device.allocate(BufferDesc::device(64)).map(drop).expect_err("a lost device stays lost");
    assert_eq!(later.to_string(), error.to_string());
    Some(error.to_string())
}

#[test]
fn a_memory_fault_names_kernel_address_and_reason() {
    let Some(message) = fault(emulated::driver(), "emu://gfx1010") else { return };
    for words in ["HSA_STATUS_ERROR_MEMORY_FAULT", "memory fault at 0x", "\"out_of_bounds\" in flight", "\"wild\""] {
        assert!(message.contains(words), "{words} is not in: {message}");
    }
}

#[test]
fn a_memory_fault_without_a_queue_loses_the_device() {
    // Like AMD's own runtime, which reports faults only to the process.
    let driver =
        AmdgpuDriver::new(origin(), Box::new(changed::without_queue_errors), library(), settings(Path::new("/")));
    // A chip that no other fault test uses concurrently: a fault affects all queues of its GPU.
    let Some(message) = fault(driver, "emu://gfx1012") else { return };
    for words in ["emu://gfx1012 is lost: memory fault at 0x", "\"out_of_bounds\" in flight"] {
        assert!(message.contains(words), "{words} is not in: {message}");
    }
}

#[test]
fn batches_larger_than_the_free_part_of_a_ring_are_split() {
    let device = open(emulated::driver(), "emu://gfx1010").expect("the device opens");
    let Some(add) = kernel(&device, "add_constant") else { return };
    let buffer = device.allocate(BufferDesc::device(256)).expect("memory");
    let record = |dispatches: usize| {
        let mut recorder = device.record();
        for _ in 0..dispatches {
            // A count of zero, so the kernel adds nothing.
            let bindings = [Binding::slot(0, 256), Binding::slot(0, 256)];
            recorder.dispatch(&add, [1, 1, 1], &bindings, &[0; 8]).expect("a kernel");
        }
        recorder.finish().expect("the commands are valid")
    };
    // Arguments of one half and of three quarters of the ring: neither fits after the other, nor
    // again after itself.
    let (two, three) = (record(32_768), record(49_152));
    let done = device.semaphore(0);
    for (value, commands) in (1..).zip([&two, &three, &two]) {
        let submit = Submit::new().bind(&buffer).signal(&done, value).wait(&done, value - 1);
        device.queue(0).expect("a queue").submit(commands, submit).expect("the submission is accepted");
    }
    done.wait(3, TIMEOUT).expect("all batches complete");
}

#[test]
fn timings_of_more_commands_than_a_queue_holds_are_complete() {
    let device = open(emulated::driver(), "emu://gfx1010").expect("the device opens");
    let buffer = device.allocate(BufferDesc::device(64)).expect("memory");
    let mut recorder = device.record();
    for value in 0..20_000 {
        recorder.fill(&buffer, value).expect("a fill").barrier();
    }
    let commands = recorder.finish().expect("the commands are valid");
    let (profile, done) = (Profile::new(), device.semaphore(0));
    let submit = Submit::new().signal(&done, 1).profile(&profile);
    device.queue(0).expect("a queue").submit(&commands, submit).expect("the submission is accepted");
    done.wait(1, TIMEOUT).expect("the work completes");
    let records = profile.take();
    assert_eq!(records.len(), 20_000);
    assert!(records.windows(2).all(|two| two[0].end <= two[1].start && two[0].command < two[1].command));
}
