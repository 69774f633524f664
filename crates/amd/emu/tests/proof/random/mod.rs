//! Random kernels on a random chip, compared with the host.
//!
//! Runs for a minute with fixed seeds. `ROCI_RANDOM_SECONDS` sets the duration, `ROCI_RANDOM_SEED`
//! the first seed. A failure reports its seed and a minimized program.

mod generate;
mod shrink;

use std::time::{Duration, Instant};

use libloading::{Library, Symbol};
use libtest_mimic::{Failed, Trial};
use roci_emu::Chip;

use crate::data::{Kind, Random};
use crate::device::{self, Device};
use crate::toolchain::{CHIPS, Source, Toolchain};
use generate::{WORDS_IN, WORDS_OUT};

/// Default duration in seconds.
const MINUTE: u64 = 60;
/// Minimum number of programs, of eight kernels each.
const PROGRAMS: u64 = 16;
const ITEMS: u32 = 256;
const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];

fn seeds() -> impl Iterator<Item = u64> {
    let asked = roci_testkit::random_run();
    let first = asked.seed.unwrap_or(0);
    let end = Instant::now() + Duration::from_secs(asked.seconds.unwrap_or(MINUTE));
    (first..).take_while(move |seed| *seed < first + PROGRAMS || Instant::now() < end)
}

/// A program for both machines.
struct Case<'a> {
    toolchain: &'a Toolchain,
    seed: u64,
}

/// A failure: clang rejects the program, or the results of a kernel differ.
enum Failure {
    Rejected(String),
    Differs(String),
}

impl Case<'_> {
    fn chip(&self) -> Chip {
        CHIPS[(self.seed % 6) as usize]
    }

    fn level(&self) -> &'static str {
        LEVELS[(self.seed / 6 % 4) as usize]
    }

    fn wave64(&self) -> bool {
        self.seed % 5 == 4
    }

    /// Runs all kernels in the text on both machines.
    fn compare(&self, text: &str, kernels: &[(String, bool)]) -> Result<(), Failure> {
        let mut options = vec![self.level(), "-DWAVE=32"];
        if self.wave64() {
            options.push("-mwavefrontsize64");
        }
        let path = self.toolchain.host(&Source::Text(text), &["-DWAVE=32"]).map_err(Failure::Rejected)?;
        // SAFETY: the library was just built from text without initializers.
        let library = unsafe { Library::new(&path) }.map_err(|error| Failure::Rejected(error.to_string()))?;
        let object = self.toolchain.device(&Source::Text(text), self.chip(), &options).map_err(Failure::Rejected)?;
        let device = Device::load(self.chip(), &object).map_err(Failure::Rejected)?;
        let mut random = Random::new(self.seed);
        for (name, grouped) in kernels {
            let input = random.inputs(ITEMS as usize * WORDS_IN);
            let mut want = vec![0u32; ITEMS as usize * WORDS_OUT];
            type Function = unsafe extern "C" fn(*const u32, *mut u32, u32);
            // SAFETY: the macros of the prelude give every kernel this signature.
            let found: Result<Symbol<'_, Function>, _> = unsafe { library.get(name.as_bytes()) };
            // A minimized program has fewer kernels.
            let Ok(function) = found else { continue };
            // SAFETY: the buffers have enough words for this many work-items.
            unsafe { function(input.as_ptr(), want.as_mut_ptr(), ITEMS) };
            let (source, output) = (device.words(&input), device.words(&vec![0; want.len()]));
            let block = if *grouped { 128 } else { 64 };
            device
                .run(name, [ITEMS, 1, 1], [block, 1, 1], &[source.address(), output.address()])
                .map_err(|error| Failure::Differs(format!("{name}: {error}")))?;
            let got = device::words(&output);
            if let Some(at) = Kind::Bits.first_difference(&got, &want) {
                let (item, word) = (at / WORDS_OUT, at % WORDS_OUT);
                let words = &input[item * WORDS_IN..][..WORDS_IN];
                let (got, want) = (got[at], want[at]);
                let difference =
                    format!("{name}: item {item}, word {word}: got {got:#x}, want {want:#x} from {words:x?}");
                return Err(Failure::Differs(difference));
            }
        }
        Ok(())
    }
}

fn check(toolchain: &Toolchain, seed: u64) -> Result<(), String> {
    let case = Case { toolchain, seed };
    let (text, kernels) = generate::program(seed);
    let whole = |text: &str| format!("{}\n{text}", generate::PRELUDE);
    let (error, text) = match case.compare(&whole(&text), &kernels) {
        Ok(()) => return Ok(()),
        Err(Failure::Rejected(error)) => (error, text),
        Err(Failure::Differs(first)) => {
            let differs = |text: &str| matches!(case.compare(&whole(text), &kernels), Err(Failure::Differs(_)));
            roci_testkit::note(&format!("seed {seed} differs ({first}); minimizing the program"));
            // Remove the other kernels first: later attempts then compile an eighth of the text.
            let named = first.split(':').next().unwrap_or_default();
            let others = kernels.iter().filter(|(name, _)| name != named);
            let alone = others.fold(text.clone(), |text, (name, _)| shrink::without_block(&text, &format!("({name},")));
            let small = shrink::shrink(if differs(&alone) { &alone } else { &text }, differs);
            match case.compare(&whole(&small), &kernels) {
                Err(Failure::Rejected(error) | Failure::Differs(error)) => (error, small),
                Ok(()) => ("the failure is intermittent".to_owned(), small),
            }
        }
    };
    let wave = if case.wave64() { 64 } else { 32 };
    Err(format!("seed {seed}, {}, {}, wave{wave}: {error}\n{text}", case.chip(), case.level()))
}

pub(crate) fn trials(toolchain: &Toolchain) -> Vec<Trial> {
    let toolchain = toolchain.uncached();
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
    vec![
        Trial::test("random::c_agrees_with_the_host", run),
        Trial::test("random::failures_shrink", || shrink::proof().map_err(Failed::from)),
    ]
}
