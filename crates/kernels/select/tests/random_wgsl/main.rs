//! Random small WGSL programs give the same results through PoCL as by direct evaluation.
//!
//! A seed makes a program as a value ([`ast`]). It is printed as WGSL ([`print`]) and evaluated
//! directly ([`eval`]) by rules taken only from the WGSL specification. The WGSL goes through naga,
//! the OpenCL C writer and PoCL, and every word of the results must match. Some programs also go
//! through spirv-val, and through clang for an AMD GPU.
//!
//! `ROCI_RANDOM_SECONDS=600` sets the duration, `ROCI_RANDOM_SEED=n` the first seed. A failure
//! reports its seed and prints the smallest program that still fails.

mod ast;
mod check;
mod eval;
mod expressions;
mod floats;
mod generate;
mod phases;
mod print;
mod random;
mod semantics;
mod shrink;
mod statements;
mod subgroups;
mod values;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use roci_testkit::opencl::Runner;
use roci_testkit::tools;

use ast::Program;
use check::{Fault, SUBGROUP_SIZES};

/// Number of programs in a run without a set duration, and how many of them also go through the
/// slower tools.
const PROGRAMS: u64 = 24;
const FOR_TOOLS: u64 = 8;
const FOR_PARSER: u64 = 200;

/// The seeds to run, limited by the duration.
fn seeds() -> impl Iterator<Item = u64> {
    let expected = roci_testkit::random_run();
    let end = expected.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let start = expected.seed.unwrap_or(0);
    let most = if end.is_some() { u64::MAX } else { PROGRAMS };
    (0..most).take_while(move |_| end.is_none_or(|end| Instant::now() < end)).map(move |number| start + number)
}

/// Checks one program; a failure is reduced and reported in full.
fn check(seed: u64, size: u32, test: &dyn Fn(&Program) -> Result<(), Fault>) -> Result<(), Failed> {
    let program = generate::program(seed);
    let Err(fault) = test(&program) else { return Ok(()) };
    let small = shrink::run(&program, |smaller| test(smaller).is_err_and(|other| other.is_like(&fault)));
    let reported = test(&small).err().unwrap_or(fault);
    let wgsl = print::program(&small);
    let source = check::opencl_c(&small, size).map(|output| output.source).unwrap_or_default();
    Err(format!("seed {seed}, subgroups of {size}\n{wgsl}\n{source}\nseed {seed}, subgroups of {size}: {reported}")
        .into())
}

fn run_pocl(runner: &Runner) -> Result<(), Failed> {
    let (mut programs, mut undefined) = (0u64, 0u64);
    let blamed = RefCell::new(BTreeSet::new());
    for seed in seeds() {
        let size = SUBGROUP_SIZES[(seed % 2) as usize];
        let test = |program: &Program| match check::pocl(runner, program, size) {
            // Nested loops may exceed the step limit; that is the only valid reason for a program
            // without a result.
            Err(Fault::Undefined(why)) if why == eval::TOO_LONG => Ok(()),
            Err(Fault::Pocl(_)) => {
                blamed.borrow_mut().insert(seed);
                Ok(())
            }
            other => other,
        };
        check(seed, size, &test)?;
        programs += 1;
        undefined += u64::from(eval::run(&generate::program(seed), size).is_err());
    }
    // A run that skips most programs must not pass.
    if undefined * 4 > programs {
        return Err(format!("{undefined} of {programs} programs have no result").into());
    }
    let blamed = blamed.into_inner();
    // The expected rate of the known PoCL bug: one program in fifty, or a single one in a short
    // run.
    if blamed.len() as u64 > (programs / 50).max(1) {
        return Err(format!("too many differences to blame on PoCL: seeds {blamed:?}").into());
    }
    let agree = programs - undefined - blamed.len() as u64;
    roci_testkit::note(&format!(
        "random_wgsl: {agree} programs agree, {undefined} run for too long, PoCL is at fault in seeds {blamed:?}"
    ));
    Ok(())
}

/// Broken prelude functions that the fixed programs must detect.
const MUTATIONS: [(&str, &str); 3] =
    [("return b == 0 ? a :", "return b == 0 ? 0 :"), ("& 31u)", "& 15u)"), (" >= ", " > ")];

/// Verifies that the comparison detects wrong code.
fn finds_mutations(runner: &Runner) -> Result<(), Failed> {
    for (right, wrong) in MUTATIONS {
        let is_found = (0..PROGRAMS).any(|seed| {
            let (program, size) = (generate::program(seed), SUBGROUP_SIZES[(seed % 2) as usize]);
            let has = check::opencl_c(&program, size).is_ok_and(|output| output.source.contains(right));
            let change = |source: String| source.replace(right, wrong);
            has && matches!(check::pocl_as(runner, &program, size, change), Err(Fault::Differs(_)))
        });
        if !is_found {
            return Err(format!("no program detects `{wrong}` in place of `{right}`").into());
        }
    }
    Ok(())
}

fn main() {
    let mut arguments = Arguments::from_args();
    // PoCL 3.1 compiles one kernel at a time and runs it on all cores.
    arguments.test_threads.get_or_insert(1);
    let mut trials = Vec::new();
    let runner = roci_testkit::require("pocl", Runner::open());
    let absent = runner.is_none();
    let mutated = runner.clone();
    let run = move || mutated.map_or(Ok(()), |runner| finds_mutations(&runner));
    trials.push(Trial::test("wrong_code_is_found", run).with_ignored_flag(absent));
    let run = move || runner.map_or(Ok(()), |runner| run_pocl(&runner));
    trials.push(Trial::test("pocl_agrees_with_direct_evaluation", run).with_ignored_flag(absent));
    let first = roci_testkit::random_run().seed.unwrap_or(0);

    // Many more programs than are run: detecting a rejection needs no PoCL compilation.
    let run = move || {
        (first..first + FOR_PARSER)
            .try_for_each(|seed| check(seed, 32, &|program| check::opencl_c(program, 32).map(drop)))
    };
    trials.push(Trial::test("naga_and_the_writer_accept", run));

    let validator = roci_testkit::require("spirv-val", tools::spirv_val());
    let absent = validator.is_none();
    let run = move || {
        let Some(validator) = validator else { return Ok(()) };
        // naga 30 writes invalid SPIR-V for bit functions of 64-bit integers, or panics
        // (gfx-rs/wgpu issue 5276).
        let is_32_bit = |seed: &u64| !generate::program(*seed).uses_64_bits;
        let mut seeds = (first..).filter(is_32_bit).take(FOR_TOOLS as usize);
        seeds.try_for_each(|seed| check(seed, 32, &|program| check::spirv(&validator, program)))
    };
    trials.push(Trial::test("spirv_val_accepts", run).with_ignored_flag(absent));

    let clang = roci_testkit::require("clang", tools::clang());
    let absent = clang.is_none();
    let run = move || {
        let Some(clang) = clang else { return Ok(()) };
        (first..first + FOR_TOOLS).try_for_each(|seed| check(seed, 32, &|program| check::amdgcn(&clang, program)))
    };
    trials.push(Trial::test("clang_accepts_for_gfx1010", run).with_ignored_flag(absent));
    libtest_mimic::run(&arguments, trials).exit();
}
