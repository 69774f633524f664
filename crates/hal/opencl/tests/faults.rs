//! Faults around the driver: no loader, library or device, a library that fails to load, a process
//! killed while it uses the device, too much memory, a damaged cache. Tests that depend on the
//! environment run in child processes.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use roci_base::Hint;
use roci_base::cache::Cache;
use roci_hal::driver::Driver;
use roci_hal::{
    Access, BufferDesc, Code, Device, DeviceUri, EntryPoint, Error, ExecutableSource, Kernel, Registry, Semaphore,
    Submit,
};
use roci_opencl::OpenClDriver;

const VENDORS: &str = "/etc/OpenCL/vendors";
const CHILD: &str = "--child";
const TIMEOUT: Duration = Duration::from_secs(60);
/// Shorter than PoCL's compile time.
const SHORT: Duration = Duration::from_millis(100);
const SOURCE: &str = "kernel void one(global uint *out) { out[get_global_id(0)] = 1u; }
kernel __attribute__((reqd_work_group_size(8, 1, 1))) void sized(global uint *out) { out[get_global_id(0)] = 8u; }
kernel void endless(global volatile uint *out) { while (out[0] != 2u) {} }";

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    if let [first, what, folder] = words.as_slice()
        && first == CHILD
    {
        return child(what, Path::new(folder));
    }
    let trials = vec![
        Trial::test("a_broken_loader_is_reported_in_one_line_with_a_hint", broken_loader),
        Trial::test("missing_and_broken_libraries_are_reported", no_library),
        Trial::test("a_broken_library_does_not_affect_others", broken_library),
        Trial::test("rusticl_without_devices_gets_a_hint", hidden_devices),
        Trial::test("cpus_are_used_only_if_named", named_cpus),
        Trial::test("a_process_exits_cleanly_with_work_in_flight", exits_with_work_in_flight),
        Trial::test("features_disabled_by_the_uri_are_absent", disabled_features),
        Trial::test("a_killed_process_releases_the_device", killed),
        Trial::test("a_hang_in_the_first_run_is_not_reported_as_compilation", hangs_at_first),
        Trial::test("an_allocation_beyond_the_reported_memory_fails_with_its_size", too_much_memory),
        Trial::test("a_damaged_cache_entry_is_rebuilt", damaged_cache),
        Trial::test("cached_binaries_serve_a_logical_device_of_two", shared_cache),
        Trial::test("a_rejected_command_does_not_lose_the_device", rejected_command),
        Trial::test("rejected_source_reports_the_build_log", rejected_source),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Starts a child process that performs one action and prints the result.
fn process(what: &str, folder: &Path, environment: &[(&str, &str)]) -> Result<Command, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([CHILD, what]).arg(folder).stdin(Stdio::null()).stdout(Stdio::piped());
    command.envs(environment.iter().copied());
    Ok(command)
}

fn says(what: &str, environment: &[(&str, &str)]) -> Result<String, Failed> {
    let folder = tempfile::tempdir()?;
    let output = process(what, folder.path(), environment)?.output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn expect(message: &str, words: &[&str]) -> Result<(), Failed> {
    match words.iter().find(|word| !message.contains(**word)) {
        Some(word) => Err(format!("`{word}` is not in: {message}").into()),
        None => Ok(()),
    }
}

fn child(what: &str, folder: &Path) -> ExitCode {
    let driver = OpenClDriver::new().with_cache(Some(Cache::at(folder)));
    let message = match what {
        "enumerate" => driver.enumerate().map(|devices| format!("{} devices", devices.len())),
        "default" => open(driver, "opencl").map(|_| "opened".to_owned()),
        "allowed" => open(driver, "opencl?cpu=on").map(|_| "opened".to_owned()),
        "auto" => Registry::new()
            .with(driver)
            .choose(&DeviceUri::driver("auto").unwrap_or_else(|| unreachable!("a word")))
            .map(|choice| choice.uri.to_string()),
        "hold" => open(driver, "opencl:0").and_then(|device| hold(&device, TIMEOUT)).map(|_| "holding".to_owned()),
        "hang" => open(driver, "opencl:0")
            .and_then(|device| hold(&device, SHORT)?.wait(1, TIMEOUT))
            .map(|()| "ended".to_owned()),
        "leave" => open(driver, "opencl:0").and_then(leave),
        "run two" => open(driver, "opencl://0,1").and_then(|device| run(&device)).map(|()| "ran".to_owned()),
        _ => open(driver, "opencl:0").and_then(|device| run(&device)).map(|()| "ran".to_owned()),
    };
    let text = message.unwrap_or_else(|error| format!("{error} (hint: {})", error.hint().unwrap_or_default()));
    let _ = writeln!(std::io::stdout(), "{text}");
    if what == "hold" || what == "hang" {
        std::thread::sleep(TIMEOUT);
    }
    ExitCode::SUCCESS
}

fn open(driver: OpenClDriver, uri: &str) -> Result<Device, Error> {
    Registry::new().with(driver).open(&uri.parse()?, Some(TIMEOUT))
}

fn kernel(device: &Device, name: &str) -> Result<Kernel, Error> {
    let entry = |name: &str| EntryPoint {
        name: name.into(),
        workgroup_size: [1, 1, 1],
        bindings: vec![Access::ReadWrite],
        constants: 0,
        in_place: false,
    };
    let entry_points = vec![entry("one"), entry("sized"), entry("endless")];
    device
        .load(&ExecutableSource { label: "faults".into(), entry_points, code: Code::OpenClC(SOURCE.into()) })?
        .kernel(name)
}

/// Runs a kernel on every queue, and so on every device, and checks its results.
fn run(device: &Device) -> Result<(), Error> {
    let buffer = device.allocate(BufferDesc::device(64))?;
    let mut recorder = device.record();
    recorder.dispatch(&kernel(device, "one")?, [16, 1, 1], &[(&buffer).into()], &[])?;
    let commands = recorder.finish()?;
    let ones: Vec<u8> = [1u32; 16].iter().flat_map(|word| word.to_ne_bytes()).collect();
    for queue in 0..device.info().queues.len() {
        device.write(&buffer, &[0; 64])?;
        let done = device.semaphore(0);
        device.queue(queue)?.submit(&commands, Submit::new().signal(&done, 1))?;
        done.wait(1, TIMEOUT)?;
        if device.read(&buffer)? != ones {
            return Err(Error::invalid("the kernel", format!("wrote wrong values on queue {queue}")));
        }
    }
    Ok(())
}

/// Starts a kernel that never ends, with `limit` as its command timeout.
fn hold(device: &Device, limit: Duration) -> Result<Semaphore, Error> {
    let buffer = device.allocate(BufferDesc::device(64))?;
    device.write(&buffer, &[0; 64])?;
    let mut recorder = device.record();
    recorder.dispatch(&kernel(device, "endless")?, [1, 1, 1], &[(&buffer).into()], &[])?;
    let done = device.semaphore(0);
    device.queue(0)?.submit(&recorder.finish()?, Submit::new().limit(limit).signal(&done, 1))?;
    Ok(done)
}

/// Leaves work in flight that takes some time, and closes nothing.
fn leave(device: Device) -> Result<String, Error> {
    let buffer = device.allocate(BufferDesc::device(16 << 20))?;
    let mut recorder = device.record();
    for pattern in 0..64 {
        recorder.fill(&buffer, pattern)?.barrier();
    }
    let commands = recorder.finish()?;
    for queue in 0..device.info().queues.len() {
        device.queue(queue)?.submit(&commands, Submit::new())?;
    }
    std::mem::forget((device, buffer, commands));
    Ok("left".to_owned())
}

fn exits_with_work_in_flight() -> Result<(), Failed> {
    let Some(file) = pocl() else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let output = process("leave", folder.path(), &[("OCL_ICD_VENDORS", &file)])?.output()?;
    expect(&String::from_utf8_lossy(&output.stdout), &["left"])?;
    if output.status.success() { Ok(()) } else { Err(format!("it ended with {}", output.status).into()) }
}

/// PoCL's vendor file, or `None` with the reason printed.
fn pocl() -> Option<String> {
    let file = format!("{VENDORS}/pocl.icd");
    let found = if Path::new(&file).exists() { Ok(file) } else { Err(format!("{file} does not exist")) };
    roci_testkit::require("pocl", found)
}

fn rusticl() -> Option<String> {
    let file = format!("{VENDORS}/rusticl.icd");
    let found = if Path::new(&file).exists() { Ok(file) } else { Err(format!("{file} does not exist")) };
    roci_testkit::require("rusticl", found)
}

fn broken_loader() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("libOpenCL.so.1"), "no library")?;
    let path = folder.path().to_string_lossy();
    let message = says("enumerate", &[("LD_LIBRARY_PATH", &path)])?;
    expect(
        &message,
        &["OpenCL is not available", "loader cannot be loaded", "hint: install the package ocl-icd-libopencl1"],
    )
}

fn no_library() -> Result<(), Failed> {
    if pocl().is_none() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().to_string_lossy().into_owned();
    expect(&says("enumerate", &[("OCL_ICD_VENDORS", &path)])?, &["none of the libraries in", &path, "hint: install"])?;
    std::fs::write(folder.path().join("gone.icd"), "libThereIsNoSuchLibrary.so.1\n")?;
    expect(&says("enumerate", &[("OCL_ICD_VENDORS", &path)])?, &["none of the libraries in", &path, "hint: install"])
}

fn broken_library() -> Result<(), Failed> {
    let Some(file) = pocl() else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    std::fs::copy(file, folder.path().join("pocl.icd"))?;
    std::fs::write(folder.path().join("broken.so"), "no library")?;
    let broken = folder.path().join("broken.so").to_string_lossy().into_owned();
    std::fs::write(folder.path().join("a.icd"), format!("{broken}\n"))?;
    let path = folder.path().to_string_lossy();
    expect(&says("run", &[("OCL_ICD_VENDORS", &path)])?, &["ran"])
}

fn hidden_devices() -> Result<(), Failed> {
    let Some(file) = rusticl() else { return Ok(()) };
    for enabled in ["", "1"] {
        let message = says("enumerate", &[("OCL_ICD_VENDORS", &file), ("RUSTICL_ENABLE", enabled)])?;
        expect(&message, &["no device with OpenCL 1.2 or later on rusticl", "RUSTICL_ENABLE=radeonsi"])?;
    }
    Ok(())
}

fn named_cpus() -> Result<(), Failed> {
    let Some(file) = pocl() else { return Ok(()) };
    let environment = [("OCL_ICD_VENDORS", file.as_str())];
    expect(&says("default", &environment)?, &["there is no GPU, only `pthread", "opencl?cpu=on"])?;
    expect(&says("allowed", &environment)?, &["opened"])?;
    expect(&says("auto", &environment)?, &["only software rasterizer"])?;
    expect(&says("run", &environment)?, &["ran"])
}

fn killed() -> Result<(), Failed> {
    let Some(file) = pocl() else { return Ok(()) };
    let environment = [("OCL_ICD_VENDORS", file.as_str())];
    let folder = tempfile::tempdir()?;
    let mut holder = process("hold", folder.path(), &environment)?.spawn()?;
    let stdout = holder.stdout.take().ok_or("the process has no output")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let beside = expect(&line, &["holding"]).and_then(|()| expect(&says("run", &environment)?, &["ran"]));
    holder.kill()?;
    holder.wait()?;
    beside?;
    // The killed process's cache is usable.
    let output = process("run", folder.path(), &environment)?.output()?;
    expect(&String::from_utf8_lossy(&output.stdout), &["ran"])
}

/// PoCL compiles the kernel first, which takes longer than the limit.
fn hangs_at_first() -> Result<(), Failed> {
    let Some(file) = pocl() else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let cache = folder.path().join("pocl");
    std::fs::create_dir(&cache)?;
    let environment = [("OCL_ICD_VENDORS", file.as_str()), ("POCL_CACHE_DIR", &cache.to_string_lossy())];
    let mut child = process("hang", folder.path(), &environment)?.spawn()?;
    let mut message = String::new();
    let stdout = child.stdout.take().ok_or("no output")?;
    let read = BufReader::new(stdout).read_line(&mut message);
    child.kill()?;
    child.wait()?;
    read?;
    expect(&message, &["did not end within 0.100 s", "\"endless\" in flight"])
}

/// Opens a device of the first platform in this process.
fn device(cache: Option<Cache>, parameters: &str) -> Result<Option<Device>, Failed> {
    let driver = OpenClDriver::new().with_cache(cache);
    match open(driver, &format!("opencl:0{parameters}")) {
        Err(error @ Error::Unavailable { .. }) => Ok(roci_testkit::require("opencl", Err(error))),
        other => Ok(Some(other?)),
    }
}

fn disabled_features() -> Result<(), Failed> {
    let Some(device) = device(None, "?fp16=off&subgroups=off")? else { return Ok(()) };
    let capabilities = device.info().capabilities();
    if capabilities.fp16_arithmetic || !capabilities.subgroup_sizes.is_empty() {
        return Err(format!("features are still enabled: {capabilities:?}").into());
    }
    Ok(run(&device)?)
}

fn too_much_memory() -> Result<(), Failed> {
    let Some(device) = device(None, "?memory=2000000GiB")? else { return Ok(()) };
    let size = 1_000_000 << 30;
    match device.allocate(BufferDesc::device(size)) {
        Err(Error::OutOfMemory { requested, limit: Some(limit), .. }) if requested == size && limit < size => {}
        other => return Err(format!("expected an out-of-memory error with sizes, got {:?}", other.map(drop)).into()),
    }
    Ok(run(&device)?)
}

/// The only file of a cache, and its key.
fn only_file(folder: &Path) -> Result<(PathBuf, Vec<u8>), Failed> {
    let files: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    let [file] = files.as_slice() else {
        return Err(format!("{} files in the cache, expected one", files.len()).into());
    };
    let whole = std::fs::read(file.path())?;
    // After 8 magic bytes: the key's length, then the checksum, then the key.
    let length = u64::from_le_bytes(whole[8..16].try_into()?) as usize;
    Ok((file.path(), whole[24..24 + length].to_vec()))
}

fn damaged_cache() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let cache = Cache::at(folder.path());
    let Some(first) = device(Some(cache.clone()), "")? else { return Ok(()) };
    run(&first)?;
    let again = || run(&device(Some(cache.clone()), "")?.ok_or("the device is gone")?).map_err(Failed::from);
    let (file, key) = only_file(folder.path())?;
    let whole = std::fs::read(&file)?;
    let mut flipped = whole.clone();
    flipped.iter_mut().rev().take(9).for_each(|byte| *byte ^= 0x55);
    for damage in [&whole[..whole.len() / 2], &flipped, b""] {
        std::fs::write(&file, damage)?;
        again()?;
        // The length may differ: PoCL's binaries include whatever has been compiled so far.
        if cache.load(&key).is_none() {
            return Err("a damaged file was not replaced".into());
        }
        // An unusable file would be replaced by a new one.
        let written = std::fs::metadata(&file)?.modified()?;
        again()?;
        if std::fs::metadata(&file)?.modified()? != written {
            return Err("the replaced file is unusable".into());
        }
    }
    // An intact file whose content is not a program: the driver's own check rejects it.
    cache.store(&key, b"this is no program");
    again()?;
    if cache.load(&key).is_none_or(|content| content == b"this is no program") {
        return Err("a binary that the driver rejected was not replaced".into());
    }
    Ok(())
}

/// Two devices as one logical device: cached binaries serve both, including those that one device
/// stored alone.
fn shared_cache() -> Result<(), Failed> {
    let Some(file) = pocl() else { return Ok(()) };
    let environment = [("OCL_ICD_VENDORS", file.as_str()), ("POCL_DEVICES", "pthread pthread")];
    let folder = tempfile::tempdir()?;
    let says = |what| -> Result<String, Failed> {
        let output = process(what, folder.path(), &environment)?.output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    expect(&says("run")?, &["ran"])?;
    let (file, _) = only_file(folder.path())?;
    let written = std::fs::metadata(&file)?.modified()?;
    expect(&says("run two")?, &["ran"])?;
    if std::fs::metadata(&only_file(folder.path())?.0)?.modified()? != written {
        return Err("a binary cached by one device was compiled again for two".into());
    }
    std::fs::remove_file(file)?;
    expect(&says("run two")?, &["ran"])?;
    only_file(folder.path()).map(drop)
}

/// The source requires groups of eight; the contract says one.
fn rejected_command() -> Result<(), Failed> {
    let Some(device) = device(None, "")? else { return Ok(()) };
    let buffer = device.allocate(BufferDesc::device(64))?;
    let mut recorder = device.record();
    recorder.fill(&buffer, 3)?;
    recorder.dispatch(&kernel(&device, "sized")?, [8, 1, 1], &[(&buffer).into()], &[])?;
    let done = device.semaphore(0);
    device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1))?;
    match done.wait(1, TIMEOUT) {
        Err(error @ Error::Kernel { .. }) => expect(&error.to_string(), &["sized", "CL_INVALID_WORK_GROUP_SIZE"])?,
        other => return Err(format!("expected a failed kernel, got {other:?}").into()),
    }
    if device.loss().is_some() {
        return Err("the device is lost".into());
    }
    Ok(run(&device)?)
}

fn rejected_source() -> Result<(), Failed> {
    let Some(device) = device(None, "")? else { return Ok(()) };
    let source = ExecutableSource {
        label: "wrong".into(),
        entry_points: Vec::new(),
        code: Code::OpenClC("kernel void wrong(global uint *out) { out[0] = nothing; }".into()),
    };
    match device.load(&source) {
        Err(error) => expect(&error.to_string(), &["executable \"wrong\"", "compiler rejects", "nothing"]),
        Ok(_) => Err("it was accepted".into()),
    }
}
