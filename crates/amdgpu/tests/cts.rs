//! The driver against the conformance suite, on emulated chips: each by itself, two as one logical device, and one beside
//! another kind as two logical devices. What tests of its own need besides is at the end.

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

/// How long things may take: emulated GPUs need the cores that whatever else runs here has.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let all = |backend: Backend| backend.tags(&[Tag::Dispatch, Tag::Hang, Tag::Bounds]).patience(PATIENCE);
    let backend = |uri: String| all(Backend::new(uri.clone(), opens(uri)));
    let mut backends: Vec<_> = Chip::ALL.iter().map(|chip| backend(format!("emu://{chip}"))).collect();
    backends.push(backend("emu://gfx1010,gfx1010".to_owned()));
    // Copies by the other means than the chip's own.
    backends.push(backend("emu://gfx1010?copy=sdma".to_owned()).only("copy"));
    backends.push(backend("emu://gfx1010?copy=shader".to_owned()).only("copy"));
    let two = Backend::new("emu://gfx1030 beside a gfx1010", opens_beside("emu://gfx1030", "emu://gfx1010"));
    backends.push(all(two.beside(opens("emu://gfx1010".to_owned()))));
    run_trials(backends, |backends| {
        let mut all = trials(backends);
        all.push(Trial::test("without_clang_what_is_not_run_is_named", without_clang));
        all
    })
}

/// A factory of fresh devices.
fn opens(uri: String) -> impl Fn(Option<Duration>) -> Result<Device, Error> + Send + Sync {
    move |timeout| Registry::new().with(driver()).open(&uri.parse()?, timeout)
}

/// A factory of devices that are never alone: another logical device is open as long as the process lives, and is given work
/// whenever a device is opened.
fn opens_beside(
    uri: &'static str,
    neighbour: &'static str,
) -> impl Fn(Option<Duration>) -> Result<Device, Error> + Send + Sync {
    let (open, open_neighbour) = (opens(uri.to_owned()), opens(neighbour.to_owned()));
    let first: Mutex<Option<(Device, CommandBuffer)>> = Mutex::new(None);
    move |timeout| {
        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            let device = open_neighbour(Some(PATIENCE))?;
            let buffer = device.allocate(BufferDesc::device(1 << 16))?;
            let mut recorder = device.record();
            for value in 0..64 {
                recorder.fill(&buffer, value)?.barrier();
            }
            *first = Some((device, recorder.finish()?));
        }
        if let Some((device, commands)) = &*first {
            // Refused if anything that was done to the others has lost this one.
            device.queue(0)?.submit(commands, Submit::new())?;
        }
        open(timeout)
    }
}

/// Runs this binary again where there is no clang and nothing that it has made before.
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
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let (lenient, strict) = (run("")?, run("clang")?);
    let written = std::fs::read_to_string(&skipped).unwrap_or_default();
    std::fs::remove_dir_all(&folder)?;
    if !lenient.status.success() {
        return Err(format!("cases fail where clang is absent: {}", said(&lenient)).into());
    }
    let named = |line: &str| line.contains("conformance suite on emu://gfx1010: clang: ");
    if written.is_empty() || !written.lines().all(named) {
        return Err(format!("what is not run is not named: {written:?}, {}", said(&lenient)).into());
    }
    if strict.status.success() || !said(&strict).contains("clang is absent") {
        return Err(format!("required, but its absence passes: {}", said(&strict)).into());
    }
    Ok(())
}
