//! Invalid input and faults: each yields a one-line cause with a remedy, and the process continues.

mod common;

use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use roci_base::Hint;
use roci_base::cache::Cache;
use roci_hal::driver::Driver;
use roci_hal::{Binding, BufferDesc, Code, Deadline, Device, Error, ExecutableSource, MemoryType, Registry, Submit};
use roci_vulkan::{Options, VulkanDriver};

/// The argument that makes this binary a child process.
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

/// Enumerates devices in a child process with this environment, and returns its output.
fn enumerate_with(environment: &[(&str, &Path)]) -> Result<String, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(ENUMERATE).envs(environment.iter().copied()).env("ROCI_VULKAN_VALIDATE", "0");
    let output = command.output()?;
    check(output.status.success(), format!("the process ended with {}", output.status))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Body of the child process.
#[expect(clippy::print_stdout, reason = "the parent process checks the output")]
fn enumerate() {
    match VulkanDriver::new(Options::default()).enumerate() {
        Ok(devices) => println!("devices: {}", devices.len()),
        Err(error) => println!("error: {error}\nhint: {}", error.hint().unwrap_or_default()),
    }
}

fn no_loader() -> Verdict {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("libvulkan.so.1"), "no library")?;
    let message = enumerate_with(&[("LD_LIBRARY_PATH", folder.path())])?;
    check(message.starts_with("error: Vulkan is not available: ") && message.contains("libvulkan.so.1"), &message)?;
    check(message.contains("apt install libvulkan1") && message.lines().count() == 2, &message)
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
        let message = enumerate_with(&[("VK_ICD_FILENAMES", path), ("VK_DRIVER_FILES", path)])?;
        check(
            message.starts_with("error: Vulkan is not available: ") && message.contains("VK_DRIVER_FILES"),
            &message,
        )?;
    }
    Ok(())
}

/// A driver without its hardware, and a driver that fails to load next to one that works.
fn no_device() -> Verdict {
    let installed = |name: &str| Path::new("/usr/share/vulkan/icd.d").join(format!("{name}_icd.x86_64.json"));
    let is_absent = !Path::new("/dev/dri").exists();
    let (radeon, lavapipe) = (installed("radeon"), installed("lvp"));
    let present = if is_absent && radeon.exists() && lavapipe.exists() { Ok(()) } else { Err("not as in CI") };
    if let Err(reason) = present {
        roci_testkit::skipped("no_device", reason);
        return Ok(());
    }
    let message = enumerate_with(&[("VK_ICD_FILENAMES", &radeon), ("VK_DRIVER_FILES", &radeon)])?;
    // The result depends on the Mesa version.
    let refused = message.starts_with("error: a Vulkan device is not available: ")
        && message.contains("hint: check that /dev/dri");
    check(refused || message.trim() == "devices: 0", &message)?;
    let folder = tempfile::tempdir()?;
    let both = format!("{}:{}", folder.path().join("missing.json").display(), lavapipe.display());
    let message = enumerate_with(&[("VK_ICD_FILENAMES", Path::new(&both)), ("VK_DRIVER_FILES", Path::new(&both))])?;
    check(message.trim() == "devices: 1", &message)
}

fn damaged_cache() -> Verdict {
    let folder = tempfile::tempdir()?;
    let run = || -> Result<(), Failed> {
        let options = Options { cache: Some(Cache::at(folder.path().join("vulkan"))), validate: None };
        let registry = Registry::new().with(VulkanDriver::new(options));
        let device = registry.open(&registry.parse(&roci_testkit::vulkan_device())?, None)?;
        works(&device)
    };
    // The last holder, possibly another thread, closes the device and thereby writes the file.
    let changed_file = |than: &[u8]| -> Result<(std::path::PathBuf, Vec<u8>), Failed> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let files = std::fs::read_dir(folder.path().join("vulkan")).into_iter().flatten().flatten();
            // Files whose name starts with a dot are incomplete.
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
    let (path, whole) = changed_file(&[])?;
    check(whole.len() > 32, "the cache file is empty")?;
    for damage in [0, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[damage] ^= 0x55;
        std::fs::write(&path, &bytes)?;
        run()?;
        changed_file(&bytes)?;
    }
    std::fs::write(&path, "")?;
    run()
}

fn is_draft(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Checks that a device computes.
fn works(device: &Device) -> Verdict {
    let buffer = device.allocate(BufferDesc::device(256))?;
    device.write(&buffer, &[1; 256])?;
    let kernel = device.load(&roci_hal_cts::kernels::source("accumulate", device.info())?)?.kernel("accumulate")?;
    let mut recorder = device.record();
    recorder.dispatch(&kernel, [1, 1, 1], &[(&buffer).into()], &[64, 0, 0, 0, 5, 0, 0, 0])?;
    run(device, &recorder.finish()?)?;
    let expected = u32::from_ne_bytes([1; 4]).wrapping_mul(3).wrapping_add(5).to_ne_bytes();
    check(device.read(&buffer)? == expected.repeat(64), "the kernel's result is wrong")
}

fn run(device: &Device, commands: &roci_hal::CommandBuffer) -> Result<(), Error> {
    let done = device.semaphore(0);
    device.queue(0)?.submit(commands, Submit::new().signal(&done, 1))?;
    done.wait(1, Deadline::default())
}

/// A child process that runs a long kernel on the device.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Body of the child process: reports that it has the device, then works without end.
#[expect(clippy::print_stdout, reason = "the parent process waits for the line")]
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

/// Body of a child process that exits with work in flight and closes nothing.
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

fn exits_with_work_in_flight() -> Verdict {
    let status = Command::new(std::env::current_exe()?).arg(LEAVE).status()?;
    check(status.success(), format!("it ended with {status}"))
}

fn killed_holder() -> Verdict {
    use std::io::BufRead;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(HOLD).stdout(Stdio::piped());
    let mut holder = ChildGuard(command.spawn()?);
    let output = holder.0.stdout.take().ok_or("its output is not piped")?;
    let mut line = String::new();
    std::io::BufReader::new(output).read_line(&mut line)?;
    check(line.trim() == "ready", format!("the other process printed `{line}`"))?;
    let device = open("")?;
    works(&device)?;
    holder.0.kill()?;
    holder.0.wait()?;
    works(&device)?;
    works(&open("")?)
}

fn out_of_memory() -> Verdict {
    let device = open("")?;
    // Half a heap each, so the third allocation must fail, wherever the device places them.
    let size = (device.info().max_allocation / 2).max(1 << 20);
    let most = 64;
    let mut allocations = Vec::new();
    let refused = loop {
        check(allocations.len() < most, format!("{most} buffers of {size} bytes were allocated"))?;
        match device.allocate(BufferDesc::device(size)) {
            Ok(buffer) => allocations.push(buffer),
            Err(error) => break error,
        }
    };
    let figures = matches!(refused, Error::OutOfMemory { requested, limit: Some(limit), .. } if requested == size && limit < size);
    check(figures, &refused)?;
    allocations.clear();
    device.allocate(BufferDesc::device(size))?;
    works(&device)
}

fn long_binding() -> Verdict {
    let device = open("")?;
    let kernel = device.load(&roci_hal_cts::kernels::source("accumulate", device.info())?)?.kernel("accumulate")?;
    // Larger than any Vulkan device's binding limit, and needs no memory to request.
    match device.record().dispatch(&kernel, [1, 1, 1], &[Binding::slot(0, (1 << 32) + 4)], &[0; 8]) {
        Err(error @ Error::Invalid { .. }) => {
            let message = error.to_string();
            check(message.contains("accumulate") && message.contains("binding 0 has 4294967300 bytes"), message)
        }
        Err(other) => Err(other.into()),
        Ok(_) => Err("a binding of more than 4 GiB was accepted".into()),
    }
}

fn rejected_code() -> Verdict {
    let device = open("")?;
    let good = roci_hal_cts::kernels::source("accumulate", device.info())?;
    let Code::Spirv(words) = &good.code else { return Err("the suite gives no SPIR-V".into()) };
    let refused = |source: ExecutableSource, words: &[&str]| match device.load(&source).map(drop) {
        Err(error @ Error::Invalid { .. }) => {
            let message = error.to_string();
            check(words.iter().all(|word| message.contains(word)), message)
        }
        other => Err(format!("expected a refusal, got {other:?}").into()),
    };
    let with = |words: Vec<u32>| ExecutableSource { code: Code::Spirv(words), ..good.clone() };
    refused(with(Vec::new()), &["not SPIR-V"])?;
    refused(with(words[..words.len() - 1].to_vec()), &["no OpFunctionEnd"])?;
    refused(with(words[..8].to_vec()), &["extends past the end of the module"])?;
    let mut newer = words.clone();
    newer[1] = 0x0001_0900;
    refused(with(newer), &["SPIR-V 1.9"])?;
    // Float64, which the driver never enables.
    let mut doubles = words[..5].to_vec();
    doubles.extend([2 << 16 | 17, 10]);
    doubles.extend(&words[5..]);
    refused(with(doubles), &["capability 10"])?;
    let mut renamed = good.clone();
    renamed.entry_points[0].name = "other".into();
    refused(renamed, &["no entry point \"other\""])?;
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
        let message = open(query).map(drop).map_or_else(|error| error.to_string(), |()| "it was accepted".into());
        check(message.contains(word), format!("{query}: {message}"))?;
    }
    works(&open("?timeline=off")?)
}

/// A grid larger than one chunk, of a kernel that can be split.
fn large_grid() -> Verdict {
    let device = open("")?;
    let count = 5_000_000u32;
    let kernel = device.load(&roci_hal_cts::kernels::source("add_constant", device.info())?)?.kernel("add_constant")?;
    // 65,535 workgroups of 64 are the maximum of one dimension, so two dispatches cover the rest
    // without a second dimension.
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
    // First with unknown run times, then with known ones.
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
        ("a_missing_loader_is_reported_in_one_line_with_a_hint", no_loader),
        ("a_broken_driver_is_reported_in_one_line_with_a_hint", broken_icd),
        ("a_missing_device_is_reported_and_a_broken_driver_does_not_affect_others", no_device),
        ("a_damaged_cache_is_discarded", damaged_cache),
        ("a_process_exits_cleanly_with_work_in_flight", exits_with_work_in_flight),
        ("a_killed_process_releases_the_device", killed_holder),
        ("out_of_memory_reports_sizes_and_ends_when_memory_is_freed", out_of_memory),
        ("a_binding_beyond_the_limit_reports_both_sizes", long_binding),
        ("code_that_the_device_cannot_run_is_rejected", rejected_code),
        ("invalid_parameters_are_rejected", parameters),
        ("a_large_grid_runs_in_parts", large_grid),
        ("host_and_device_see_the_same_shared_memory", zero_copy),
    ];
    let trials = tests.iter().map(|(name, test)| Trial::test(*name, *test)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
