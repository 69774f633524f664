//! Bad input and faults: each gives one line of cause with a remedy, and the process goes on.

mod common;

use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use roci_hal::cache::Cache;
use roci_hal::driver::Driver;
use roci_hal::{
    Binding, BufferDesc, Code, Deadline, Device, Error, ExecutableSource, Hint, MemoryType, Registry, Submit,
};
use roci_vulkan::{Options, VulkanDriver};

/// The arguments that make this binary another process.
const ENUMERATE: &str = "--child-enumerate";
const HOLD: &str = "--child-hold";
const LEAVE: &str = "--child-leave";

type Verdict = Result<(), Failed>;
type Test = fn() -> Verdict;

fn open(query: &str) -> Result<Device, Error> {
    let registry = Registry::new().with(common::driver());
    registry.open(&registry.parse(&format!("{}{query}", roci_testkit::vulkan_device()))?, None)
}

fn check(holds: bool, otherwise: impl std::fmt::Display) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise.to_string().into()) }
}

/// Asks for devices in a process of its own with this environment, and gives what it says.
fn enumerate_with(environment: &[(&str, &Path)]) -> Result<String, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(ENUMERATE).envs(environment.iter().copied()).env("ROCI_VULKAN_VALIDATE", "0");
    let output = command.output()?;
    check(output.status.success(), format!("the process ended with {}", output.status))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What that process does.
#[expect(clippy::print_stdout, reason = "what it says is what is tested")]
fn enumerate() {
    match VulkanDriver::new(Options::default()).enumerate() {
        Ok(devices) => println!("devices: {}", devices.len()),
        Err(error) => println!("error: {error}\nhint: {}", error.hint().unwrap_or_default()),
    }
}

fn no_loader() -> Verdict {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("libvulkan.so.1"), "no library")?;
    let said = enumerate_with(&[("LD_LIBRARY_PATH", folder.path())])?;
    check(said.starts_with("error: Vulkan is not available: ") && said.contains("libvulkan.so.1"), &said)?;
    check(said.contains("apt install libvulkan1") && said.lines().count() == 2, &said)
}

fn broken_icd() -> Verdict {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("broken.json");
    let library = folder.path().join("libbroken.so");
    std::fs::write(&library, "no library")?;
    let text = format!(
        r#"{{"file_format_version": "1.0.0", "ICD": {{"library_path": "{}", "api_version": "1.3.0"}}}}"#,
        library.display()
    );
    std::fs::write(&file, text)?;
    let missing = folder.path().join("missing.json");
    for path in [&file, &missing] {
        let said = enumerate_with(&[("VK_ICD_FILENAMES", path), ("VK_DRIVER_FILES", path)])?;
        check(said.starts_with("error: Vulkan is not available: ") && said.contains("VK_DRIVER_FILES"), &said)?;
    }
    Ok(())
}

/// A driver of hardware that is not here, and one that cannot be loaded beside one that can.
fn no_device() -> Verdict {
    let installed = |name: &str| Path::new("/usr/share/vulkan/icd.d").join(format!("{name}_icd.x86_64.json"));
    let is_absent = !Path::new("/dev/dri").exists();
    let (radeon, lavapipe) = (installed("radeon"), installed("lvp"));
    let present = if is_absent && radeon.exists() && lavapipe.exists() { Ok(()) } else { Err("not as in CI") };
    if let Err(reason) = present {
        roci_testkit::skipped("no_device", reason);
        return Ok(());
    }
    let said = enumerate_with(&[("VK_ICD_FILENAMES", &radeon), ("VK_DRIVER_FILES", &radeon)])?;
    // Mesa's driver has answered in both ways.
    let refused =
        said.starts_with("error: a Vulkan device is not available: ") && said.contains("hint: see whether /dev/dri");
    check(refused || said.trim() == "devices: 0", &said)?;
    let folder = tempfile::tempdir()?;
    let both = format!("{}:{}", folder.path().join("missing.json").display(), lavapipe.display());
    let said = enumerate_with(&[("VK_ICD_FILENAMES", Path::new(&both)), ("VK_DRIVER_FILES", Path::new(&both))])?;
    check(said.trim() == "devices: 1", &said)
}

fn damaged_cache() -> Verdict {
    let folder = tempfile::tempdir()?;
    let run = || -> Result<(), Failed> {
        let options = Options { cache: Some(Cache::at(folder.path().join("vulkan"))), validate: None };
        let registry = Registry::new().with(VulkanDriver::new(options));
        let device = registry.open(&registry.parse(&roci_testkit::vulkan_device())?, None)?;
        works(&device)
    };
    // A device is closed by whoever holds it last, which may be a thread of its own.
    let kept = |than: &[u8]| -> Result<(std::path::PathBuf, Vec<u8>), Failed> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let files = std::fs::read_dir(folder.path().join("vulkan")).into_iter().flatten().flatten();
            // What begins with a dot is not written in full.
            let file = files.map(|entry| entry.path()).find(|path| !is_draft(path));
            let found = file.and_then(|path| Some((std::fs::read(&path).ok()?, path)));
            match found {
                Some((bytes, path)) if bytes != than => return Ok((path, bytes)),
                _ if Instant::now() > deadline => return Err("no other file was written".into()),
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    };
    run()?;
    let (path, whole) = kept(&[])?;
    check(whole.len() > 32, "the file holds nothing")?;
    for damage in [0, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[damage] ^= 0x55;
        std::fs::write(&path, &bytes)?;
        run()?;
        kept(&bytes)?;
    }
    std::fs::write(&path, "")?;
    run()
}

fn is_draft(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// That a device computes.
fn works(device: &Device) -> Verdict {
    let buffer = device.allocate(BufferDesc::device(256))?;
    device.write(&buffer, &[1; 256])?;
    let kernel = device.load(&roci_hal_cts::kernels::source("accumulate", device.info())?)?.kernel("accumulate")?;
    let mut recorder = device.record();
    recorder.dispatch(&kernel, [1, 1, 1], &[(&buffer).into()], &[64, 0, 0, 0, 5, 0, 0, 0])?;
    run(device, &recorder.finish()?)?;
    let wanted = u32::from_ne_bytes([1; 4]).wrapping_mul(3).wrapping_add(5).to_ne_bytes();
    check(device.read(&buffer)? == wanted.repeat(64), "the kernel computes something else")
}

fn run(device: &Device, commands: &roci_hal::CommandBuffer) -> Result<(), Error> {
    let done = device.semaphore(0);
    device.queue(0)?.submit(commands, Submit::new().signal(&done, 1))?;
    done.wait(1, Deadline::default())
}

/// Another process that has the device and a long kernel on it.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What that process does: says when it has the device, then works without an end.
#[expect(clippy::print_stdout, reason = "whoever started it waits for the line")]
fn hold() -> Verdict {
    let device = open("")?;
    let buffer = device.allocate(BufferDesc::device(64 << 20))?;
    let mut recorder = device.record();
    for pattern in 0..64 {
        recorder.fill(&buffer, pattern)?.barrier();
    }
    let commands = recorder.finish()?;
    run(&device, &commands)?;
    println!("ready");
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        run(&device, &commands)?;
    }
    Ok(())
}

/// What a process does that ends while work is in flight, and closes nothing.
fn leave() -> Verdict {
    let device = open("")?;
    let buffer = device.allocate(BufferDesc::device(16 << 20))?;
    let mut recorder = device.record();
    for pattern in 0..64 {
        recorder.fill(&buffer, pattern)?.barrier();
    }
    let commands = recorder.finish()?;
    run(&device, &commands)?;
    for _ in 0..4 {
        device.queue(0)?.submit(&commands, Submit::new())?;
    }
    std::mem::forget((device, buffer, commands));
    Ok(())
}

fn ends_at_work() -> Verdict {
    let status = Command::new(std::env::current_exe()?).arg(LEAVE).status()?;
    check(status.success(), format!("it ended with {status}"))
}

fn killed_holder() -> Verdict {
    use std::io::BufRead;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(HOLD).stdout(Stdio::piped());
    let mut holder = Holder(command.spawn()?);
    let output = holder.0.stdout.take().ok_or("its output is not there")?;
    let mut line = String::new();
    std::io::BufReader::new(output).read_line(&mut line)?;
    check(line.trim() == "ready", format!("the other process says `{line}`"))?;
    let device = open("")?;
    works(&device)?;
    holder.0.kill()?;
    holder.0.wait()?;
    works(&device)?;
    works(&open("")?)
}

fn out_of_memory() -> Verdict {
    let device = open("")?;
    // Half a heap at a time, so that the third is one too many, wherever the device finds it.
    let size = (device.info().max_allocation / 2).max(1 << 20);
    let most = 64;
    let mut held = Vec::new();
    let refused = loop {
        check(held.len() < most, format!("{most} buffers of {size} bytes were granted"))?;
        match device.allocate(BufferDesc::device(size)) {
            Ok(buffer) => held.push(buffer),
            Err(error) => break error,
        }
    };
    let figures = matches!(refused, Error::OutOfMemory { requested, limit: Some(limit), .. } if requested == size && limit < size);
    check(figures, &refused)?;
    held.clear();
    device.allocate(BufferDesc::device(size))?;
    works(&device)
}

fn long_binding() -> Verdict {
    let device = open("")?;
    let kernel = device.load(&roci_hal_cts::kernels::source("accumulate", device.info())?)?.kernel("accumulate")?;
    // What no Vulkan device takes in one binding, and no memory is needed to ask for.
    match device.record().dispatch(&kernel, [1, 1, 1], &[Binding::slot(0, (1 << 32) + 4)], &[0; 8]) {
        Err(error @ Error::Invalid { .. }) => {
            let said = error.to_string();
            check(said.contains("accumulate") && said.contains("binding 0 has 4294967300 bytes"), said)
        }
        Err(other) => Err(other.into()),
        Ok(_) => Err("a binding of more than 4 GiB was taken".into()),
    }
}

fn refused_code() -> Verdict {
    let device = open("")?;
    let good = roci_hal_cts::kernels::source("accumulate", device.info())?;
    let Code::Spirv(words) = &good.code else { return Err("the suite gives no SPIR-V".into()) };
    let refused = |source: ExecutableSource, words: &[&str]| match device.load(&source).map(drop) {
        Err(error @ Error::Invalid { .. }) => {
            let said = error.to_string();
            check(words.iter().all(|word| said.contains(word)), said)
        }
        other => Err(format!("wanted a refusal, got {other:?}").into()),
    };
    let with = |words: Vec<u32>| ExecutableSource { code: Code::Spirv(words), ..good.clone() };
    refused(with(Vec::new()), &["no SPIR-V"])?;
    refused(with(words[..words.len() - 1].to_vec()), &["no end"])?;
    refused(with(words[..8].to_vec()), &["leaves the module"])?;
    let mut newer = words.clone();
    newer[1] = 0x0001_0900;
    refused(with(newer), &["SPIR-V 1.9"])?;
    // Float64, which the driver leaves off everywhere.
    let mut doubles = words[..5].to_vec();
    doubles.extend([2 << 16 | 17, 10]);
    doubles.extend(&words[5..]);
    refused(with(doubles), &["capability 10"])?;
    let mut renamed = good.clone();
    renamed.entry_points[0].name = "other".into();
    refused(renamed, &["no code for \"other\""])?;
    let mut resized = good.clone();
    resized.entry_points[0].workgroup_size = [1, 1, 1];
    refused(resized, &["workgroups of Some([64, 1, 1])"])?;
    works(&device)
}

fn parameters() -> Verdict {
    for (query, word) in [
        ("?queue=fast", "`fast`"),
        ("?queue=99", "no such queue"),
        ("?subgroup=3", "`3`"),
        ("?subgroups=3", "`3`"),
        ("?subgroup=8&subgroups=8", "`?subgroup=`"),
        ("?timeline=maybe", "`maybe`"),
    ] {
        let said = open(query).map(drop).map_or_else(|error| error.to_string(), |()| "it was taken".into());
        check(said.contains(word), format!("{query}: {said}"))?;
    }
    works(&open("?timeline=off")?)
}

/// A grid of more invocations than one piece has, by a kernel that may run in parts.
fn large_grid() -> Verdict {
    let device = open("")?;
    let count = 5_000_000u32;
    let kernel = device.load(&roci_hal_cts::kernels::source("add_constant", device.info())?)?.kernel("add_constant")?;
    // A grid of two dimensions is not needed: 65,535 workgroups of 64 are all that one may have, so the rest goes by itself.
    let words: Vec<u32> = (0..count).collect();
    let source = device.allocate(BufferDesc::device(4 * u64::from(count)))?;
    let target = device.allocate(BufferDesc::device(4 * u64::from(count)))?;
    device.write(&source, bytemuck::cast_slice(&words))?;
    let mut recorder = device.record();
    let half = count / 2 / 64 * 64;
    for (start, count) in [(0, half), (half, count - half)] {
        let part = |buffer: &roci_hal::Buffer| buffer.range(4 * u64::from(start), 4 * u64::from(count));
        let constants: Vec<u8> = [count, 7].iter().flat_map(|word| word.to_le_bytes()).collect();
        let bindings = [part(&source)?.into(), part(&target)?.into()];
        recorder.dispatch(&kernel, [count.div_ceil(64), 1, 1], &bindings, &constants)?;
    }
    let commands = recorder.finish()?;
    // Unknown times at first, then known ones.
    for _ in 0..3 {
        device.write(&target, &vec![0; 4 * count as usize])?;
        run(&device, &commands)?;
        let got = device.read(&target)?;
        let right = got.chunks_exact(4).zip(&words).all(|(bytes, word)| bytes == (word + 7).to_ne_bytes());
        check(right, "a part of the grid did not run")?;
    }
    Ok(())
}

fn zero_copy() -> Verdict {
    let device = open("")?;
    if !device.info().memory_types.contains(&MemoryType::Shared) {
        roci_testkit::skipped("shared memory", "the Vulkan device shares no memory with the host");
        return Ok(());
    }
    let buffer = device.allocate(BufferDesc::shared(4096))?;
    buffer.map()?.fill(3);
    let mut recorder = device.record();
    recorder.fill(buffer.range(0, 2048)?, 0x0909_0909)?;
    run(&device, &recorder.finish()?)?;
    let mapping = buffer.map()?;
    check(mapping[..2048] == [9; 2048] && mapping[2048..] == [3; 2048], "host and device see different bytes")
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(ENUMERATE) => {
            enumerate();
            return ExitCode::SUCCESS;
        }
        Some(LEAVE) => return if leave().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE },
        Some(HOLD) => return if hold().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE },
        _ => {}
    }
    if roci_testkit::require("vulkan", open("").map(drop)).is_none() {
        return ExitCode::SUCCESS;
    }
    let tests: &[(&str, Test)] = &[
        ("no_loader_is_one_line_with_a_remedy", no_loader),
        ("a_driver_that_cannot_be_loaded_is_one_line_with_a_remedy", broken_icd),
        ("no_device_is_said_and_a_broken_driver_leaves_the_others", no_device),
        ("a_damaged_cache_is_discarded", damaged_cache),
        ("a_process_ends_well_with_work_in_flight", ends_at_work),
        ("a_process_killed_with_the_device_leaves_it_to_others", killed_holder),
        ("out_of_memory_gives_the_figures_and_is_over_when_memory_is_free", out_of_memory),
        ("a_binding_beyond_the_limit_gives_the_figures", long_binding),
        ("code_that_the_device_cannot_run_is_refused", refused_code),
        ("parameters_that_mean_nothing_are_refused", parameters),
        ("a_large_grid_runs_in_parts", large_grid),
        ("shared_memory_is_one_for_host_and_device", zero_copy),
    ];
    let trials = tests.iter().map(|(name, test)| Trial::test(*name, *test)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
