//! What goes wrong around the driver: no loader, no library, no device, a library that fails to load, a process killed while it
//! holds the device, too much memory, a damaged cache. What depends on the environment runs in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use roci_hal::cache::Cache;
use roci_hal::driver::Driver;
use roci_hal::{
    Access, BufferDesc, Code, Device, DeviceUri, EntryPoint, Error, ExecutableSource, Hint, Kernel, Registry,
    Semaphore, Submit,
};
use roci_opencl::OpenClDriver;

const VENDORS: &str = "/etc/OpenCL/vendors";
const CHILD: &str = "--child";
const PATIENCE: Duration = Duration::from_secs(60);
/// Less than PoCL compiles for.
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
        Trial::test("a_broken_loader_is_one_line_with_a_remedy", broken_loader),
        Trial::test("no_library_and_one_that_fails_to_load_are_told", no_library),
        Trial::test("a_library_that_fails_to_load_leaves_the_others", broken_library),
        Trial::test("rusticl_without_devices_gets_its_remedy", hidden_devices),
        Trial::test("processors_are_used_only_when_they_are_named", named_processors),
        Trial::test("a_process_ends_well_with_work_in_flight", ends_at_work),
        Trial::test("what_a_uri_switches_off_is_gone", switched_off),
        Trial::test("a_killed_process_leaves_the_device_to_others", killed),
        Trial::test("a_hang_in_the_first_run_is_told_from_compiling", hangs_at_first),
        Trial::test("more_memory_than_reported_is_tried_and_refused_with_figures", too_much_memory),
        Trial::test("a_damaged_cache_is_made_again", damaged_cache),
        Trial::test("what_is_kept_serves_several_devices_as_one", shared_cache),
        Trial::test("a_refused_command_leaves_the_device_alive", refused_command),
        Trial::test("refused_source_gives_the_compilers_words", refused_source),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Another process that does one thing and says how it went.
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

fn expect(said: &str, words: &[&str]) -> Result<(), Failed> {
    match words.iter().find(|word| !said.contains(**word)) {
        Some(word) => Err(format!("`{word}` is not in: {said}").into()),
        None => Ok(()),
    }
}

fn child(what: &str, folder: &Path) -> ExitCode {
    let driver = OpenClDriver::new().with_cache(Some(Cache::at(folder)));
    let said = match what {
        "enumerate" => driver.enumerate().map(|devices| format!("{} devices", devices.len())),
        "default" => open(driver, "opencl").map(|_| "opened".to_owned()),
        "allowed" => open(driver, "opencl?cpu=on").map(|_| "opened".to_owned()),
        "auto" => Registry::new()
            .with(driver)
            .choose(&DeviceUri::driver("auto").unwrap_or_else(|| unreachable!("a word")))
            .map(|choice| choice.uri.to_string()),
        "hold" => open(driver, "opencl:0").and_then(|device| hold(&device, PATIENCE)).map(|_| "holding".to_owned()),
        "hang" => open(driver, "opencl:0")
            .and_then(|device| hold(&device, SHORT)?.wait(1, PATIENCE))
            .map(|()| "ended".to_owned()),
        "leave" => open(driver, "opencl:0").and_then(leave),
        "run two" => open(driver, "opencl://0,1").and_then(|device| run(&device)).map(|()| "ran".to_owned()),
        _ => open(driver, "opencl:0").and_then(|device| run(&device)).map(|()| "ran".to_owned()),
    };
    let text = said.unwrap_or_else(|error| format!("{error} (hint: {})", error.hint().unwrap_or_default()));
    let _ = writeln!(std::io::stdout(), "{text}");
    if what == "hold" || what == "hang" {
        std::thread::sleep(PATIENCE);
    }
    ExitCode::SUCCESS
}

fn open(driver: OpenClDriver, uri: &str) -> Result<Device, Error> {
    Registry::new().with(driver).open(&uri.parse()?, Some(PATIENCE))
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

/// Runs a kernel on every queue, and so on every device, and looks at its results.
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
        done.wait(1, PATIENCE)?;
        if device.read(&buffer)? != ones {
            return Err(Error::invalid("the kernel", format!("wrote something else on queue {queue}")));
        }
    }
    Ok(())
}

/// Starts a kernel that does not end, and may run so long.
fn hold(device: &Device, limit: Duration) -> Result<Semaphore, Error> {
    let buffer = device.allocate(BufferDesc::device(64))?;
    device.write(&buffer, &[0; 64])?;
    let mut recorder = device.record();
    recorder.dispatch(&kernel(device, "endless")?, [1, 1, 1], &[(&buffer).into()], &[])?;
    let done = device.semaphore(0);
    device.queue(0)?.submit(&recorder.finish()?, Submit::new().limit(limit).signal(&done, 1))?;
    Ok(done)
}

/// Closes nothing, and leaves work behind that takes a while.
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

fn ends_at_work() -> Result<(), Failed> {
    let Some(file) = pocl() else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let output = process("leave", folder.path(), &[("OCL_ICD_VENDORS", &file)])?.output()?;
    expect(&String::from_utf8_lossy(&output.stdout), &["left"])?;
    if output.status.success() { Ok(()) } else { Err(format!("it ended with {}", output.status).into()) }
}

/// PoCL's vendor file alone, or the reason why not.
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
    let said = says("enumerate", &[("LD_LIBRARY_PATH", &path)])?;
    expect(
        &said,
        &["OpenCL is not available", "loader cannot be loaded", "hint: install the package ocl-icd-libopencl1"],
    )
}

fn no_library() -> Result<(), Failed> {
    if pocl().is_none() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().to_string_lossy().into_owned();
    expect(&says("enumerate", &[("OCL_ICD_VENDORS", &path)])?, &["no library that", &path, "hint: install"])?;
    std::fs::write(folder.path().join("gone.icd"), "libThereIsNoSuchLibrary.so.1\n")?;
    expect(&says("enumerate", &[("OCL_ICD_VENDORS", &path)])?, &["no library that", &path, "hint: install"])
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
        let said = says("enumerate", &[("OCL_ICD_VENDORS", &file), ("RUSTICL_ENABLE", enabled)])?;
        expect(&said, &["no device of version 1.2 or later on rusticl", "RUSTICL_ENABLE=radeonsi"])?;
    }
    Ok(())
}

fn named_processors() -> Result<(), Failed> {
    let Some(file) = pocl() else { return Ok(()) };
    let environment = [("OCL_ICD_VENDORS", file.as_str())];
    expect(&says("default", &environment)?, &["there is no GPU, only `pthread", "opencl?cpu=on"])?;
    expect(&says("allowed", &environment)?, &["opened"])?;
    expect(&says("auto", &environment)?, &["only software rasteriser"])?;
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
    // The cache of the killed one serves as well.
    let output = process("run", folder.path(), &environment)?.output()?;
    expect(&String::from_utf8_lossy(&output.stdout), &["ran"])
}

/// PoCL compiles the kernel first, for longer than it may run.
fn hangs_at_first() -> Result<(), Failed> {
    let Some(file) = pocl() else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let cache = folder.path().join("pocl");
    std::fs::create_dir(&cache)?;
    let environment = [("OCL_ICD_VENDORS", file.as_str()), ("POCL_CACHE_DIR", &cache.to_string_lossy())];
    let mut child = process("hang", folder.path(), &environment)?.spawn()?;
    let mut said = String::new();
    let stdout = child.stdout.take().ok_or("no output")?;
    let read = BufReader::new(stdout).read_line(&mut said);
    child.kill()?;
    child.wait()?;
    read?;
    expect(&said, &["did not end within 0.100 s", "\"endless\" in flight"])
}

/// A device in this process, of whichever platform comes first.
fn device(cache: Option<Cache>, parameters: &str) -> Result<Option<Device>, Failed> {
    let driver = OpenClDriver::new().with_cache(cache);
    match open(driver, &format!("opencl:0{parameters}")) {
        Err(error @ Error::Unavailable { .. }) => Ok(roci_testkit::require("opencl", Err(error))),
        other => Ok(Some(other?)),
    }
}

fn switched_off() -> Result<(), Failed> {
    let Some(device) = device(None, "?fp16=off&subgroups=off")? else { return Ok(()) };
    let capabilities = device.info().capabilities();
    if capabilities.fp16_arithmetic || !capabilities.subgroup_sizes.is_empty() {
        return Err(format!("it is still there: {capabilities:?}").into());
    }
    Ok(run(&device)?)
}

fn too_much_memory() -> Result<(), Failed> {
    let Some(device) = device(None, "?memory=2000000GiB")? else { return Ok(()) };
    let size = 1_000_000 << 30;
    match device.allocate(BufferDesc::device(size)) {
        Err(Error::OutOfMemory { requested, limit: Some(limit), .. }) if requested == size && limit < size => {}
        other => return Err(format!("wanted a refusal with figures, got {:?}", other.map(drop)).into()),
    }
    Ok(run(&device)?)
}

/// The one file of a cache with its key.
fn only_file(folder: &Path) -> Result<(PathBuf, Vec<u8>), Failed> {
    let files: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    let [file] = files.as_slice() else { return Err(format!("{} files were kept, not one", files.len()).into()) };
    let whole = std::fs::read(file.path())?;
    // Behind the first bytes and the sum: the key, as long as it says.
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
        // Its length may be another: PoCL puts into a program what has been compiled of it so far.
        if cache.load(&key).is_none() {
            return Err("a damaged file was not made again".into());
        }
        // A file that did not serve would be replaced by another.
        let written = std::fs::metadata(&file)?.modified()?;
        again()?;
        if std::fs::metadata(&file)?.modified()? != written {
            return Err("the file that was made again does not serve".into());
        }
    }
    // A whole file whose content is no program: the driver's own check finds it.
    cache.store(&key, b"this is no program");
    again()?;
    if cache.load(&key).is_none_or(|content| content == b"this is no program") {
        return Err("what the driver refused was not made again".into());
    }
    Ok(())
}

/// Two devices as one: what is kept serves on both, also what one of them alone has kept.
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
        return Err("what one device kept was made again for two".into());
    }
    std::fs::remove_file(file)?;
    expect(&says("run two")?, &["ran"])?;
    only_file(folder.path()).map(drop)
}

/// The source demands groups of eight, the contract says one.
fn refused_command() -> Result<(), Failed> {
    let Some(device) = device(None, "")? else { return Ok(()) };
    let buffer = device.allocate(BufferDesc::device(64))?;
    let mut recorder = device.record();
    recorder.fill(&buffer, 3)?;
    recorder.dispatch(&kernel(&device, "sized")?, [8, 1, 1], &[(&buffer).into()], &[])?;
    let done = device.semaphore(0);
    device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1))?;
    match done.wait(1, PATIENCE) {
        Err(error @ Error::Kernel { .. }) => expect(&error.to_string(), &["sized", "CL_INVALID_WORK_GROUP_SIZE"])?,
        other => return Err(format!("wanted a failed kernel, got {other:?}").into()),
    }
    if device.loss().is_some() {
        return Err("the device is lost".into());
    }
    Ok(run(&device)?)
}

fn refused_source() -> Result<(), Failed> {
    let Some(device) = device(None, "")? else { return Ok(()) };
    let source = ExecutableSource {
        label: "wrong".into(),
        entry_points: Vec::new(),
        code: Code::OpenClC("kernel void wrong(global uint *out) { out[0] = nothing; }".into()),
    };
    match device.load(&source) {
        Err(error) => expect(&error.to_string(), &["executable \"wrong\"", "compiler refuses", "nothing"]),
        Ok(_) => Err("it was taken".into()),
    }
}
