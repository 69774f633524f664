//! Runs the conformance suite on emulated chips: each one alone, two as one logical device, and one
//! next to another kind as two logical devices. Tests that need more setup are at the end.

mod emulated;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use emulated::driver;
use libtest_mimic::{Failed, Trial};
use roci_emu::Chip;
use roci_hal::{BufferDesc, CommandBuffer, Device, Error, Registry, Submit};
use roci_hal_cts::{Backend, Tag, run_trials, trials};

/// Timeout of the tests: emulated GPUs share the CPU cores with everything else on the machine.
const TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let all = |backend: Backend| backend.tags(&[Tag::Dispatch, Tag::Hang, Tag::Bounds]).timeout(TIMEOUT);
    let backend = |uri: String| all(Backend::new(uri.clone(), opens(uri)));
    let mut backends: Vec<_> = Chip::ALL.iter().map(|chip| backend(format!("emu://{chip}"))).collect();
    backends.push(backend("emu://gfx1010,gfx1010".to_owned()));
    // Also tests the copy method that is not the chip's default.
    backends.push(backend("emu://gfx1010?copy=sdma".to_owned()).only("copy"));
    backends.push(backend("emu://gfx1010?copy=shader".to_owned()).only("copy"));
    let two = Backend::new("emu://gfx1030 and gfx1010", opens_with("emu://gfx1030", "emu://gfx1010"));
    backends.push(all(two.second_device(opens("emu://gfx1010".to_owned()))));
    run_trials(backends, |backends| {
        let mut all = trials(backends);
        all.push(Trial::test("without_clang_skipped_cases_are_reported", without_clang));
        all
    })
}

/// Opens fresh devices.
fn opens(uri: String) -> impl Fn(Option<Duration>) -> Result<Device, Error> + Send + Sync {
    move |timeout| Registry::new().with(driver()).open(&uri.parse()?, timeout)
}

/// Opens devices next to another logical device, which stays open for the life of the process and
/// receives work whenever a device is opened.
fn opens_with(
    uri: &'static str,
    neighbor: &'static str,
) -> impl Fn(Option<Duration>) -> Result<Device, Error> + Send + Sync {
    let (open, open_neighbor) = (opens(uri.to_owned()), opens(neighbor.to_owned()));
    let first: Mutex<Option<(Device, CommandBuffer)>> = Mutex::new(None);
    move |timeout| {
        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            let device = open_neighbor(Some(TIMEOUT))?;
            let buffer = device.allocate(BufferDesc::device(1 << 16))?;
            let mut recorder = device.record();
            for value in 0..64 {
                recorder.fill(&buffer, value)?.barrier();
            }
            *first = Some((device, recorder.finish()?));
        }
        if let Some((device, commands)) = &*first {
            // Fails if an operation on another device has lost this one.
            device.queue(0)?.submit(commands, Submit::new())?;
        }
        open(timeout)
    }
}

/// Runs this binary again without clang and with an empty cache.
fn without_clang() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("without-clang-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let skipped = folder.join("skipped");
    let run = |require: &str| {
        Command::new(std::env::current_exe()?)
            .arg("emu://gfx1010/replay/")
            .env("PATH", &folder)
            .env("TMPDIR", &folder)
            .env("ROCI_SKIPPED", &skipped)
            .env("ROCI_REQUIRE", require)
            .output()
    };
    let message = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let (lenient, strict) = (run("")?, run("clang")?);
    let written = std::fs::read_to_string(&skipped).unwrap_or_default();
    std::fs::remove_dir_all(&folder)?;
    if !lenient.status.success() {
        return Err(format!("cases fail without clang: {}", message(&lenient)).into());
    }
    let named = |line: &str| line.contains("conformance suite on emu://gfx1010: clang: ");
    if written.is_empty() || !written.lines().all(named) {
        return Err(format!("skipped cases are not reported: {written:?}, {}", message(&lenient)).into());
    }
    if strict.status.success() || !message(&strict).contains("clang is absent") {
        return Err(format!("ROCI_REQUIRE names clang, but the cases pass without it: {}", message(&strict)).into());
    }
    Ok(())
}
