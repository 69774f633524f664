//! What the driver does before and besides executing commands: when HSA is started, who copies, what is said of faults.

mod changed;
mod emulated;

use std::fs;
use std::path::Path;
use std::time::Duration;

use emulated::{library, origin, runtime};
use roci_amdgpu::{AmdgpuDriver, Origin, Settings};
use roci_hal::driver::Driver;
use roci_hal::env::Found;
use roci_hal::{Binding, BufferDesc, Device, Error, Hint, Kernel, Profile, Registry, Submit};
use roci_hal_cts::kernels;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// A machine with a kernel driver and these chips, as its files show it.
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

/// Plain surroundings.
fn settings(root: &Path) -> Settings {
    Settings { root: root.into(), allow_hsa: false, overrides: Vec::new(), enable_sdma: None, library_named: false }
}

/// The driver of real GPUs, whose runtime is the emulated one all the same.
fn real(settings: Settings) -> AmdgpuDriver {
    AmdgpuDriver::new(Origin::Real, Box::new(|_| runtime(&["gfx1010".to_owned()])), library(), settings)
}

/// The driver of real GPUs, whose runtime must not be started.
fn untouched(settings: Settings) -> AmdgpuDriver {
    AmdgpuDriver::new(Origin::Real, Box::new(|_| panic!("HSA was started")), library(), settings)
}

fn open(driver: AmdgpuDriver, uri: &str) -> Result<Device, Error> {
    Registry::new().with(driver).open(&uri.parse()?, Some(PATIENCE))
}

/// A kernel of the conformance suite; `None`, with a word, where clang is absent.
fn kernel(device: &Device, name: &str) -> Option<Kernel> {
    roci_testkit::require("clang", roci_testkit::tools::clang())?;
    let source = kernels::source(name, device.info()).expect("the suite's kernels compile");
    Some(device.load(&source).expect("it loads").kernel(name).expect("it is there"))
}

#[track_caller]
fn says(error: &Error, cause: &[&str], remedy: &[&str]) {
    let (said, hint) = (error.to_string(), error.hint().unwrap_or_default());
    assert!(cause.iter().all(|word| said.contains(word)), "{said}");
    assert!(remedy.iter().all(|word| hint.contains(word)), "{hint}");
}

#[test]
fn a_machine_that_may_freeze_is_left_alone_until_its_gpu_is_asked_for() {
    let root = machine(&[0, 100_103]);
    let error = untouched(settings(root.path())).enumerate().expect_err("it must not look");
    says(&error, &["HSA is not available", "gfx1013", "not started"], &["--device=amdgpu", "ROCI_ALLOW_HSA=1"]);
    // Neither does `auto`, nor a URI that is wrong.
    let registry = Registry::new().with(untouched(settings(root.path())));
    says(&registry.choose(&"auto".parse().expect("a URI")).expect_err("no device"), &["gfx1013"], &[]);
    registry.parse("amdgpu:0,").expect_err("a comma too many");
    // Whoever asks for it gets it, and so does whoever allows it.
    let device = open(real(settings(root.path())), "amdgpu:0").expect("it was asked for");
    assert_eq!(device.info().physical.len(), 1);
    let allowed = Settings { allow_hsa: true, ..settings(root.path()) };
    assert!(!real(allowed).enumerate().expect("it was allowed").is_empty());
    // Another chip is nothing to be afraid of.
    let other = machine(&[0, 100_100]);
    assert!(!real(settings(other.path())).enumerate().expect("it may look").is_empty());
}

#[test]
fn without_a_kernel_driver_nothing_is_loaded_unless_a_library_is_named() {
    let root = tempfile::tempdir().expect("a folder");
    let error = untouched(settings(root.path())).enumerate().expect_err("there is no kernel driver");
    says(&error, &["/dev/kfd"], &["modprobe amdgpu"]);
    let named = Settings { library_named: true, ..settings(root.path()) };
    assert!(!real(named).enumerate().expect("a library that needs no kernel driver").is_empty());
}

#[test]
fn an_override_of_the_chip_is_refused_unless_its_owner_goes_on_knowingly() {
    // The second is that of one node, which ROCm reads first.
    ["HSA_OVERRIDE_GFX_VERSION", "HSA_OVERRIDE_GFX_VERSION_1"].into_iter().for_each(overridden_by);
}

fn overridden_by(variable: &str) {
    let root = machine(&[0, 100_100]);
    let found = Found { name: variable.to_owned(), value: "10.3.0".to_owned() };
    let overridden = || Settings { overrides: vec![found.clone()], ..settings(root.path()) };
    let assigned = format!("{variable}=10.3.0");
    let words = [assigned.as_str(), "another chip's code", "crashes"];
    let unset = format!("`unset {variable}`");
    let remedy = [unset.as_str(), "amdgpu?override=allow"];
    says(&untouched(overridden()).enumerate().expect_err("it is refused"), &words, &remedy);
    says(&open(untouched(overridden()), "amdgpu:0").map(drop).expect_err("it is refused"), &words, &remedy);
    let wrong = open(untouched(overridden()), "amdgpu:0?override=yes").map(drop).expect_err("no such value");
    says(&wrong, &["`override` is `yes`"], &[]);
    let device = open(real(overridden()), "amdgpu:0?override=allow").expect("its owner goes on");
    let quirks = &device.info().physical[0].quirks;
    assert!(quirks.iter().any(|quirk| quirk.contains(&assigned)), "{quirks:?}");
    // An emulated chip is what it is.
    let emulated = AmdgpuDriver::new(origin(), Box::new(runtime), library(), overridden());
    open(emulated, "emu://gfx1010").expect("no override counts there");
}

/// How many copies the runtime was asked for while bytes went to a device, within it and back.
fn engine_copies(uri: &str, enable_sdma: Option<&str>, bytes: usize) -> usize {
    let enable_sdma = enable_sdma.map(str::to_owned);
    let settings = Settings { enable_sdma, ..settings(Path::new("/")) };
    let driver = AmdgpuDriver::new(origin(), Box::new(changed::counting_copies), library(), settings);
    let device = open(driver, uri).expect("it opens");
    let sent: Vec<u8> = (0..bytes).map(|index| (index * 31 % 251) as u8).collect();
    let buffer = || device.allocate(BufferDesc::device(bytes.next_multiple_of(4) as u64)).expect("memory");
    let (first, second) = (buffer(), buffer());
    let part = |buffer: &roci_hal::Buffer| buffer.range(0, bytes as u64).expect("it is as long");
    let before = changed::copies();
    device.write(part(&first), &sent).expect("it is written");
    let mut recorder = device.record();
    recorder.copy(part(&first), part(&second)).expect("a copy");
    let commands = recorder.finish().expect("it can be recorded");
    let done = device.semaphore(0);
    device.queue(1).expect("two queues").submit(&commands, Submit::new().signal(&done, 1)).expect("it is taken");
    done.wait(1, PATIENCE).expect("it ends");
    assert_eq!(device.read(part(&second)).expect("it is read"), sent, "{uri} {bytes}");
    changed::copies() - before
}

#[test]
fn copies_go_by_kernels_or_by_the_copy_engines_as_the_policy_says() {
    for (uri, enable_sdma, bytes, engines) in [
        ("emu://gfx1010?copy=shader", None, 100_001, 0),
        ("emu://gfx1010?copy=sdma", None, 100_001, 3),
        ("emu://gfx1010?copy=sdma", None, 64, 3),
        // Where nothing is said: between host and GPU, if it is worth it.
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
    let quirks = |uri: &str| open(emulated::driver(), uri).expect("it opens").info().physical[0].quirks.join("; ");
    assert!(quirks("emu://gfx1013").contains("kernels copy: the copy engines of gfx1013 are known bad"));
    assert!(quirks("emu://gfx1013?copy=sdma").contains("copy engines copy: `copy=sdma` asks for it"));
    let error = open(emulated::driver(), "emu://gfx1010?copy=fast").map(drop).expect_err("no such value");
    says(&error, &["`copy` is `fast`"], &["`shader` or `sdma`"]);
}

#[test]
fn a_device_that_is_lost_leaves_no_copy_behind() {
    let driver = emulated::driver();
    let device = Registry::new().with(driver).open(&"emu://gfx1010?copy=sdma".parse().expect("a URI"), Some(PATIENCE));
    let device = device.expect("it opens");
    let Some(spin) = kernel(&device, "spin") else { return };
    let flag = device.allocate(BufferDesc::device(64)).expect("memory");
    let buffer = || device.allocate(BufferDesc::device(1 << 20)).expect("memory");
    let (source, target) = (buffer(), buffer());
    let mut recorder = device.record();
    recorder.dispatch(&spin, [1, 1, 1], &[Binding::from(&flag)], &[]).expect("a kernel").barrier();
    recorder.copy(&source, &target).expect("a copy");
    let commands = recorder.finish().expect("it can be recorded");
    let done = device.semaphore(0);
    device.queue(0).expect("a queue").submit(&commands, Submit::new().signal(&done, 1)).expect("it is taken");
    std::thread::sleep(Duration::from_millis(20));
    device.lose("given up");
    assert!(matches!(done.wait(1, PATIENCE), Err(Error::Lost(_))));
    // The copy waits for a kernel that never ends; its memory may not go before it.
    drop((source, target, commands));
    let fresh = open(emulated::driver(), "emu://gfx1010").expect("it opens");
    let bytes = fresh.allocate(BufferDesc::device(1 << 20)).expect("memory");
    fresh.write(&bytes, &[7; 1 << 20]).expect("it works");
    assert_eq!(fresh.read(&bytes).expect("it works"), [7; 1 << 20]);
}

/// Waits for something that other threads do.
#[track_caller]
fn comes_true(what: &str, is_so: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_device_that_faults_leaves_no_copy_behind() {
    let driver = AmdgpuDriver::new(origin(), Box::new(changed::watching_copies), library(), settings(Path::new("/")));
    let device = open(driver, "emu://gfx1030?copy=sdma").expect("it opens");
    let Some(wild) = kernel(&device, "out_of_bounds") else { return };
    let buffer = |bytes| device.allocate(BufferDesc::device(bytes)).expect("memory");
    let (small, source, target) = (buffer(64), buffer(1 << 16), buffer(1 << 16));
    let constants: Vec<u8> = [1u32 << 28, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut recorder = device.record();
    recorder.dispatch(&wild, [1, 1, 1], &[Binding::from(&small)], &constants).expect("a kernel").barrier();
    recorder.copy(&source, &target).expect("a copy");
    let commands = recorder.finish().expect("it can be recorded");
    let done = device.semaphore(0);
    device.queue(0).expect("a queue").submit(&commands, Submit::new().signal(&done, 1)).expect("it is taken");
    assert!(matches!(done.wait(1, PATIENCE), Err(Error::Lost(_))));
    drop((source, target, commands));
    // The copy was the runtime's when the kernel failed, and its signals are there until it ends.
    comes_true("the copy is given up", || changed::watched_copies().0 == 0);
    assert_eq!(changed::watched_copies(), (0, 0), "a signal is destroyed while the runtime has the copy");
}

#[test]
fn a_device_that_does_not_open_leaves_no_queue_behind() {
    let driver = AmdgpuDriver::new(origin(), Box::new(changed::with_one_queue), library(), settings(Path::new("/")));
    let error = open(driver, "emu://gfx1010").map(drop).expect_err("there is no second queue");
    says(&error, &["hsa_queue_create"], &[]);
    comes_true("the first queue is destroyed", || changed::queues() == (2, 1));
}

#[test]
fn a_batch_that_cannot_be_written_leaves_its_arguments_to_others() {
    let driver = AmdgpuDriver::new(origin(), Box::new(changed::without_copies), library(), settings(Path::new("/")));
    let device = open(driver, "emu://gfx1010?copy=sdma").expect("it opens");
    let buffer = || device.allocate(BufferDesc::device(64)).expect("memory");
    let (source, target) = (buffer(), buffer());
    let mut recorder = device.record();
    recorder.copy(&source, &target).expect("a copy").barrier();
    // More than half of the ring.
    for value in 0..40_000 {
        recorder.fill(Binding::slot(0, 64), value).expect("a fill");
    }
    let commands = recorder.finish().expect("it can be recorded");
    for _ in 0..2 {
        let done = device.semaphore(0);
        let submit = Submit::new().bind(&target).signal(&done, 1);
        device.queue(0).expect("a queue").submit(&commands, submit).expect("it is taken");
        let error = done.wait(1, PATIENCE).expect_err("nothing copies");
        assert!(matches!(error, Error::Kernel { .. }), "{error}");
    }
}

/// What a device says when a kernel has left its bindings.
fn fault(driver: AmdgpuDriver, uri: &str) -> Option<String> {
    let device = open(driver, uri).expect("it opens");
    let wild = kernel(&device, "out_of_bounds")?;
    let buffer = device.allocate(BufferDesc::device(64)).expect("memory");
    let constants: Vec<u8> = [1u32 << 28, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut recorder = device.record();
    recorder.dispatch(&wild, [1, 1, 1], &[Binding::from(&buffer)], &constants).expect("a kernel");
    let commands = recorder.finish().expect("it can be recorded");
    let done = device.semaphore(0);
    let submit = Submit::new().signal(&done, 1).label("wild");
    device.queue(0).expect("a queue").submit(&commands, submit).expect("it is taken");
    let error = done.wait(1, PATIENCE).expect_err("it leaves its bindings");
    assert!(matches!(error, Error::Lost(_)), "{error}");
    let later = device.allocate(BufferDesc::device(64)).map(drop).expect_err("a lost device stays lost");
    assert_eq!(later.to_string(), error.to_string());
    Some(error.to_string())
}

#[test]
fn a_memory_fault_is_told_with_kernel_address_and_reason() {
    let Some(said) = fault(emulated::driver(), "emu://gfx1010") else { return };
    for words in ["HSA_STATUS_ERROR_MEMORY_FAULT", "memory fault at 0x", "\"out_of_bounds\" in flight", "\"wild\""] {
        assert!(said.contains(words), "{words} is not in: {said}");
    }
}

#[test]
fn a_memory_fault_of_which_no_queue_is_told_loses_the_device_too() {
    // As with AMD's own runtime, which tells the process alone.
    let driver =
        AmdgpuDriver::new(origin(), Box::new(changed::without_queue_errors), library(), settings(Path::new("/")));
    // A chip that no other test of faults uses at the same time: the fault is every queue's of its GPU.
    let Some(said) = fault(driver, "emu://gfx1012") else { return };
    for words in ["emu://gfx1012 is lost: memory fault at 0x", "\"out_of_bounds\" in flight"] {
        assert!(said.contains(words), "{words} is not in: {said}");
    }
}

#[test]
fn batches_larger_than_what_is_free_of_a_ring_find_room() {
    let device = open(emulated::driver(), "emu://gfx1010").expect("it opens");
    let Some(add) = kernel(&device, "add_constant") else { return };
    let buffer = device.allocate(BufferDesc::device(256)).expect("memory");
    let record = |dispatches: usize| {
        let mut recorder = device.record();
        for _ in 0..dispatches {
            // No word is added: the count is zero.
            let bindings = [Binding::slot(0, 256), Binding::slot(0, 256)];
            recorder.dispatch(&add, [1, 1, 1], &bindings, &[0; 8]).expect("a kernel");
        }
        recorder.finish().expect("it can be recorded")
    };
    // Arguments of two and of three quarters of the ring: neither fits behind the other, nor behind its own end.
    let (two, three) = (record(32_768), record(49_152));
    let done = device.semaphore(0);
    for (value, commands) in (1..).zip([&two, &three, &two]) {
        let submit = Submit::new().bind(&buffer).signal(&done, value).wait(&done, value - 1);
        device.queue(0).expect("a queue").submit(commands, submit).expect("it is taken");
    }
    done.wait(3, PATIENCE).expect("all of them end");
}

#[test]
fn times_are_told_of_more_commands_than_a_queue_holds() {
    let device = open(emulated::driver(), "emu://gfx1010").expect("it opens");
    let buffer = device.allocate(BufferDesc::device(64)).expect("memory");
    let mut recorder = device.record();
    for value in 0..20_000 {
        recorder.fill(&buffer, value).expect("a fill").barrier();
    }
    let commands = recorder.finish().expect("it can be recorded");
    let (profile, done) = (Profile::new(), device.semaphore(0));
    let submit = Submit::new().signal(&done, 1).profile(&profile);
    device.queue(0).expect("a queue").submit(&commands, submit).expect("it is taken");
    done.wait(1, PATIENCE).expect("it ends");
    let records = profile.take();
    assert_eq!(records.len(), 20_000);
    assert!(records.windows(2).all(|two| two[0].end <= two[1].start && two[0].command < two[1].command));
}
