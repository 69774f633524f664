//! The kernels of `c/`, for every chip and optimization level, against the same C compiled for the
//! host.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use libloading::{Library, Symbol};
use libtest_mimic::{Failed, Trial};
use roci_emu::Chip;

use crate::data::{Kind, Random};
use crate::device::{self, Device};
use crate::toolchain::{CHIPS, Source, Toolchain};

/// Work-items of a kernel without communication. Not a multiple of the workgroup size, so that the
/// last workgroup is partial.
const INDEPENDENT_ITEMS: u32 = 1000;
const INDEPENDENT_GROUP_SIZE: u32 = 64;
/// Work-items of a kernel that communicates within workgroups.
const GROUPS: u32 = 4 * GROUP_SIZE;
const GROUP_SIZE: u32 = 128;

/// A kernel declared in the sources.
struct Declared {
    name: String,
    words_in: usize,
    words_out: usize,
    kind: Kind,
    grouped: bool,
}

impl Declared {
    fn items(&self) -> u32 {
        if self.grouped { GROUPS } else { INDEPENDENT_ITEMS }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proof/c")
}

/// The kernels of a preprocessed source, in declaration order.
fn declared(preprocessed: &str) -> Vec<Declared> {
    let mut all = Vec::new();
    for line in preprocessed.split("DECLARE(").skip(1) {
        let Some((inside, _)) = line.split_once(')') else { continue };
        let fields: Vec<&str> = inside.split(',').map(str::trim).collect();
        let [grouped, name, words_in, words_out, kind] = fields[..] else { continue };
        let (Some(words_in), Some(words_out), Some(kind)) = (product(words_in), product(words_out), Kind::parse(kind))
        else {
            continue;
        };
        all.push(Declared { name: name.to_owned(), words_in, words_out, kind, grouped: grouped == "1" });
    }
    all
}

/// Evaluates `3 * 2`: the preprocessor does not evaluate macro arguments.
fn product(text: &str) -> Option<usize> {
    text.split('*').map(|factor| factor.trim().parse::<usize>().ok()).product()
}

/// The kernels and the host's results, computed once for all chips.
struct Reference {
    kernels: Vec<Declared>,
    inputs: Vec<Vec<u32>>,
    outputs: Vec<Vec<u32>>,
}

fn reference(toolchain: &Toolchain, wave: u32) -> Result<Reference, String> {
    let source = folder().join("all.c");
    let wave = format!("-DWAVE={wave}");
    let listed = toolchain.preprocess(&source, &["-DLIST", &wave])?;
    let kernels = declared(&listed);
    let library = toolchain.host(&Source::File(&source), &[&wave])?;
    // SAFETY: the library was just built from the project's own source and has no initializers.
    let library = unsafe { Library::new(&library) }.map_err(|error| error.to_string())?;
    let mut random = Random::new(1);
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for kernel in &kernels {
        let items = kernel.items();
        let input = random.inputs(items as usize * kernel.words_in);
        let mut output = vec![0u32; items as usize * kernel.words_out];
        type Function = unsafe extern "C" fn(*const u32, *mut u32, u32);
        // SAFETY: the macros of the prelude give every kernel this signature.
        let function: Symbol<'_, Function> =
            unsafe { library.get(kernel.name.as_bytes()) }.map_err(|error| error.to_string())?;
        // SAFETY: the buffers have the size that the declaration requires for this many work-items.
        unsafe { function(input.as_ptr(), output.as_mut_ptr(), items) };
        inputs.push(input);
        outputs.push(output);
    }
    Ok(Reference { kernels, inputs, outputs })
}

/// The reference for a wave size, computed by the first test that needs it.
#[derive(Clone, Default)]
struct References(Arc<[OnceLock<Result<Reference, String>>; 2]>);

impl References {
    fn get(&self, toolchain: &Toolchain, wave: u32) -> Result<&Reference, String> {
        self.0[usize::from(wave == 64)].get_or_init(|| reference(toolchain, wave)).as_ref().map_err(Clone::clone)
    }
}

fn check(toolchain: &Toolchain, references: &References, chip: Chip, level: &str, wave: u32) -> Result<(), Failed> {
    let reference = references.get(toolchain, wave)?;
    let define = format!("-DWAVE={wave}");
    let mut options = vec![level, &define];
    if wave == 64 {
        options.push("-mwavefrontsize64");
    }
    let object = toolchain.device(&Source::File(&folder().join("all.c")), chip, &options)?;
    let device = Device::load(chip, &object)?;
    let mut failures = Vec::new();
    let mut ran = 0;
    for (index, kernel) in reference.kernels.iter().enumerate() {
        let has = device.module.kernel(&kernel.name).is_ok();
        // Only gfx11 has matrix instructions; all other instructions exist on every chip.
        if !has && kernel.name.starts_with("matrix_") && chip < Chip::Gfx1100 {
            continue;
        }
        ran += 1;
        let block = if kernel.grouped { GROUP_SIZE } else { INDEPENDENT_GROUP_SIZE };
        let input = device.words(&reference.inputs[index]);
        let output = device.words(&vec![0; reference.outputs[index].len()]);
        let grid = [kernel.items(), 1, 1];
        let run = || device.run(&kernel.name, grid, [block, 1, 1], &[input.address(), output.address()]);
        // Report a panic as a failure of one kernel, so that the others still run.
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                failures.push(format!("{}: {error}", kernel.name));
                continue;
            }
            Err(_) => {
                failures.push(format!("{}: the emulator panicked", kernel.name));
                continue;
            }
        }
        let (got, want) = (device::words(&output), &reference.outputs[index]);
        let difference = kernel.kind.first_difference(&got, want);
        if kernel.kind == Kind::Differs {
            if difference.is_none() {
                failures.push(format!("{}: the planted difference was not found", kernel.name));
            }
        } else if let Some(at) = difference {
            let item = at / kernel.words_out;
            let words = &reference.inputs[index][item * kernel.words_in..][..kernel.words_in];
            failures.push(format!(
                "{}: work-item {item}, word {}: got {:#010x}, want {:#010x} from {words:x?}",
                kernel.name,
                at % kernel.words_out,
                got[at],
                want[at]
            ));
        }
    }
    if ran < 90 {
        return Err(format!("only {ran} kernels were found").into());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

pub(crate) fn trials(toolchain: &Toolchain) -> Vec<Trial> {
    let references = References::default();
    let mut trials = Vec::new();
    let mut add = |chip: Chip, level: &'static str, wave: u32| {
        let (toolchain, references) = (toolchain.clone(), references.clone());
        trials.push(Trial::test(format!("c::{chip}::{}::wave{wave}", &level[1..]), move || {
            check(&toolchain, &references, chip, level, wave)
        }));
    };
    for chip in CHIPS {
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            add(chip, level, 32);
        }
    }
    for chip in [Chip::Gfx1010, Chip::Gfx1030, Chip::Gfx1100] {
        add(chip, "-O0", 64);
        add(chip, "-O3", 64);
    }
    trials
}
