//! Random kernels on a random chip against the host.
//!
//! A few seconds of fixed seeds; `ROCI_RANDOM_SECONDS` goes on for longer, `ROCI_RANDOM_SEED` starts elsewhere. A failure
//! names its seed and shows the program.

mod generate;

use std::time::{Duration, Instant};

use libloading::{Library, Symbol};
use libtest_mimic::{Failed, Trial};

use crate::data::{Kind, Random};
use crate::device::{self, Device};
use crate::toolchain::{CHIPS, Source, Toolchain};
use generate::{WORDS_IN, WORDS_OUT};

/// Programs of eight kernels each that run without being asked for more.
const PROGRAMS: u64 = 16;
const ITEMS: u32 = 256;
const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];

fn seeds() -> impl Iterator<Item = u64> {
    let asked = roci_testkit::random_run();
    let first = asked.seed.unwrap_or(0);
    let end = asked.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    (first..).take_while(move |seed| match end {
        Some(end) => Instant::now() < end,
        None => *seed < first + PROGRAMS,
    })
}

fn check(toolchain: &Toolchain, seed: u64) -> Result<(), String> {
    let (text, kernels) = generate::program(seed);
    let chip = CHIPS[(seed % 6) as usize];
    let level = LEVELS[(seed / 6 % 4) as usize];
    let wave64 = seed % 5 == 4;
    let mut options = vec![level, "-DWAVE=32"];
    if wave64 {
        options.push("-mwavefrontsize64");
    }
    let context = format!("seed {seed}, {chip}, {level}, wave{}", if wave64 { 64 } else { 32 });
    let said = |error: String| format!("{context}: {error}\n{text}");
    let path = toolchain.host(&Source::Text(&text), &["-DWAVE=32"]).map_err(said)?;
    // SAFETY: the library was just made from text without initialisers.
    let library = unsafe { Library::new(&path) }.map_err(|error| error.to_string())?;
    let object = toolchain.device(&Source::Text(&text), chip, &options).map_err(said)?;
    let device = Device::load(chip, &object)?;
    let mut random = Random::new(seed);
    for (name, grouped) in &kernels {
        let input = random.inputs(ITEMS as usize * WORDS_IN);
        let mut want = vec![0u32; ITEMS as usize * WORDS_OUT];
        type Function = unsafe extern "C" fn(*const u32, *mut u32, u32);
        // SAFETY: the macros of the prelude give every kernel this signature.
        let function: Symbol<'_, Function> =
            unsafe { library.get(name.as_bytes()) }.map_err(|error| error.to_string())?;
        // SAFETY: the buffers have the words of as many work-items.
        unsafe { function(input.as_ptr(), want.as_mut_ptr(), ITEMS) };
        let (source, output) = (device.words(&input), device.words(&vec![0; want.len()]));
        let block = if *grouped { 128 } else { 64 };
        device
            .run(name, [ITEMS, 1, 1], [block, 1, 1], &[source.address(), output.address()])
            .map_err(|error| said(format!("{name}: {error}")))?;
        let got = device::words(&output);
        if let Some(at) = Kind::Bits.first_difference(&got, &want) {
            let (item, word) = (at / WORDS_OUT, at % WORDS_OUT);
            let words = &input[item * WORDS_IN..][..WORDS_IN];
            let (got, want) = (got[at], want[at]);
            let place = format!("{name}: item {item}, word {word}: got {got:#x}, want {want:#x} from {words:x?}");
            return Err(said(place));
        }
    }
    Ok(())
}

pub(crate) fn trials(toolchain: &Toolchain) -> Vec<Trial> {
    let toolchain = toolchain.forgetful();
    let run = move || -> Result<(), Failed> {
        let (mut programs, mut failures) = (0u64, Vec::new());
        for seed in seeds() {
            programs += 1;
            failures.extend(check(&toolchain, seed).err());
            if failures.len() >= 3 {
                break;
            }
        }
        if failures.is_empty() {
            roci_testkit::note(&format!("random C: {programs} programs of 8 kernels agree"));
            return Ok(());
        }
        Err(format!("{} of {programs} programs differ\n{}", failures.len(), failures.join("\n\n")).into())
    };
    vec![Trial::test("random::c_agrees_with_the_host", run)]
}
