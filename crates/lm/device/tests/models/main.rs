//! Synthetic models of every architecture and weight type on every driver, compared with the
//! reference.
//!
//! Tokens are evaluated as an engine does: a prompt in chunks, then decode steps, batched with a
//! second sequence whose KV pages are interleaved with those of the first.

mod adapters;
mod altered;
mod batches;
mod binding_limits;
mod devices;
mod embedders;
mod embeddings;
mod expert_near_ties;
mod expert_prompts;
mod experts_in_parts;
mod gemma;
mod half_floats;
mod host_experts;
mod hybrid;
mod image_cases;
mod images;
mod in_place;
mod latent;
mod limited;
mod preload;
mod recorded_logits;
mod speculation;
mod split_attention;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use roci_engine::{Chunk, Forward as _, OutputKind, StateSlots};
use roci_gguf::Type;
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{Case, architectures, hybrids, types};
use roci_lm_device::{CacheType, DeviceModel, Options};
use roci_testkit::tolerance::{NormTolerance, distance};

/// Tokens per sequence.
const TOKENS: usize = 40;

fn main() -> ExitCode {
    devices::prepare();
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (name, open) in devices::all() {
        for case in computed().chain(types()) {
            let trial = format!("{name}/{}", case.name);
            trials.push(Trial::test(trial, move || match open() {
                Ok(device) => check(&device, &case, CacheType::F16, None).map_err(Into::into),
                Err(reason) => devices::missing(name, &reason),
            }));
        }
        // Specialized kernels: OpenCL devices test only one model, because PoCL takes seconds to
        // compile each kernel.
        let all = computed().chain(types());
        let specialized = match name {
            "vulkan" => all.collect(),
            "pocl" | "rusticl" => all.take(1).collect(),
            _ => Vec::new(),
        };
        for case in specialized {
            let trial = format!("{name}/specialized-{}", case.name);
            trials.push(Trial::test(trial, move || match open() {
                Ok(device) => check(&device, &case, CacheType::F16, Some(true)).map_err(Into::into),
                Err(reason) => devices::missing(name, &reason),
            }));
        }
        let case =
            Case { recipe: roci_lm::synthetic::Recipe { head: 32, ..Default::default() }, ..architectures().remove(0) };
        trials.push(Trial::test(format!("{name}/cache-q8"), move || match open() {
            Ok(device) => check(&device, &case, CacheType::Q8, None).map_err(Into::into),
            Err(reason) => devices::missing(name, &reason),
        }));
    }
    let ((name, open), case) = (devices::DISCRETE, architectures().remove(0));
    trials.push(Trial::test(format!("{name}/{}", case.name), move || match open() {
        Ok(device) => check(&device, &case, CacheType::F16, None).map_err(Into::into),
        Err(reason) => devices::missing(name, &reason),
    }));
    trials.extend(adapters::trials());
    trials.extend(altered::trials());
    trials.extend(batches::trials());
    trials.push(Trial::test("cpu/near-ties", || expert_near_ties::near_tie_choices_are_accepted().map_err(Into::into)));
    trials.extend(preload::trials());
    trials.extend(embedders::trials());
    trials.extend(embeddings::trials());
    trials.extend(experts_in_parts::trials());
    trials.extend(expert_prompts::trials());
    trials.extend(gemma::trials());
    trials.extend(hybrid::trials());
    trials.extend(latent::trials());
    trials.extend(speculation::trials());
    trials.extend(images::trials());
    trials.extend(split_attention::trials());
    trials.extend(in_place::trials());
    trials.extend(half_floats::trials());
    trials.extend(host_experts::trials());
    trials.extend(binding_limits::trials());
    trials.extend(recorded_logits::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Models of all architectures but those of embedders.
pub(crate) fn computed() -> impl Iterator<Item = Case> {
    architectures().into_iter().chain(hybrids())
}

/// Tolerance of logits. `few` is for steps with one to eight tokens.
pub(crate) fn tolerance(case: &Case, cache: CacheType, device: &Device, few: bool) -> NormTolerance {
    let recurrent = case.recipe.hybrid.is_some() || case.recipe.recurrent.is_some();
    let allowed = exact_tolerance(case, cache, device, few);
    match case.recipe.kind {
        // Matrix units take F32 weights and activations as 16-bit floats.
        Type::F32 if device.info().capabilities().matrix && recurrent => allowed.max(NormTolerance::Cache8),
        Type::F32 if device.info().capabilities().matrix => allowed.max(NormTolerance::Bfloat),
        _ => allowed,
    }
}

/// [`tolerance`] with F32 weights that stay f32.
fn exact_tolerance(case: &Case, cache: CacheType, device: &Device, few: bool) -> NormTolerance {
    let native = roci_kernels::runs_native_kernels(device.info());
    let gpu = device.info().physical.iter().all(|one| one.kind.is_gpu());
    let capabilities = device.info().capabilities();
    let on_vectors = few || !capabilities.matrix || case.recipe.experts.is_some();
    let rounds = gpu && capabilities.integer_dot && on_vectors;
    match case.recipe.kind {
        // Unscaled scores are larger, so rounded keys have a larger effect.
        _ if case.recipe.gemma.is_some() && cache == CacheType::Q8 => NormTolerance::Activations8,
        // A latent is a key and a value.
        _ if case.recipe.latent.is_some() && cache == CacheType::Q8 => NormTolerance::Activations8,
        _ if cache == CacheType::Q8 => NormTolerance::Cache8,
        // 25 layers of several residual streams amplify it, as they do in the comparison with llama.cpp.
        Type::F32 if case.recipe.layers == 25 && case.recipe.gemma.is_some() => NormTolerance::Activations8,
        Type::F32 | Type::F16 | Type::BF16 if case.recipe.gemma.is_some() => NormTolerance::HalfProducts,
        // Keys and values are always rounded to 16 bits.
        // Recurrent layers amplify the error of attention before them.
        Type::F32 | Type::F16 | Type::BF16 if case.recipe.hybrid.is_some() || case.recipe.recurrent.is_some() => {
            NormTolerance::HalfScales
        }
        // Rounding errors add up over many layers.
        Type::F32 | Type::F16 | Type::BF16 if case.recipe.layers > 32 => NormTolerance::HalfProducts,
        Type::F32 | Type::F16 | Type::BF16 => NormTolerance::Half,
        // The CPU quantizes activations to 8 bits, as llama.cpp does; GPUs do so for few tokens and
        // for experts, and without matrix units for small batches.
        _ if native || rounds => NormTolerance::Activations8,
        // Matrix units take weights and activations as 16-bit floats, and small tiles also scales.
        _ if case.recipe.gemma.is_some() || capabilities.matrix => NormTolerance::Bfloat,
        _ => NormTolerance::HalfScales,
    }
}

/// The distance of a row from the reference. The error names `what` if the tolerance does not allow
/// the distance.
pub(crate) fn compare(row: &[f32], expected: &[f32], tolerance: NormTolerance, what: &str) -> Result<(), String> {
    let distance = distance(row, expected);
    if tolerance.allows(distance) {
        return Ok(());
    }
    Err(format!("{what}: an error of {distance:.1e}; {tolerance:?} allows {:.0e}", tolerance.bound()))
}

/// State slots of a sequence in a step. Each sequence has two slots and switches after every two
/// steps: a step reads the slot that it writes, or the other one.
fn state(sequence: usize, step: usize, start: usize) -> StateSlots {
    let slot = |step: usize| [[4, 2], [0, 3]][sequence][step / 2 % 2];
    StateSlots { read: (start > 0).then(|| slot(step - 1)), write: slot(step) }
}

pub(crate) fn check(device: &Device, case: &Case, cache: CacheType, specialize: Option<bool>) -> Result<(), String> {
    check_altered(device, case, cache, specialize, |_| ())
}

/// Like [`check`], after the described model is changed.
pub(crate) fn check_altered(
    device: &Device,
    case: &Case,
    cache: CacheType,
    specialize: Option<bool>,
    alter: fn(&mut Model),
) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let mut model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    alter(&mut model);
    let reference = Reference::new(&file, model.clone()).map_err(|error| text(&error))?;
    // Rounded F32 weights would hide small errors; `half_floats` and `expert_prompts` test them.
    let exact = case.recipe.kind == Type::F32;
    let options = Options { cache, cache_tokens: Some(512), page_size: 16, specialize, exact, ..Options::default() };
    let mut found = DeviceModel::load(Arc::clone(&file), model, std::slice::from_ref(device), &options, &|_, _| ())
        .map_err(|error| text(&error))?;
    let tokens = case.tokens(2 * TOKENS);
    let (one, other) = tokens.split_at(TOKENS);
    let expected = [one, other].map(|tokens| {
        let mut text = SequenceState::default();
        tokens
            .iter()
            .map(|token| reference.logits(&mut text, *token).expect("the token is in the vocabulary"))
            .collect::<Vec<_>>()
    });
    // Page numbers are unordered, and those of the two sequences are interleaved.
    let pages = [[5, 2, 9, 11], [4, 8, 1, 3]];
    let mut rows: [Vec<Vec<f32>>; 2] = Default::default();
    let recurrent = found.limits().state_slots > 0;
    // 19 tokens of one sequence; the rest of its prompt with the other's prompt; decode steps of
    // both; decode steps of one sequence.
    let prompts = [(0..19, 0..0), (19..25, 0..31)].into_iter();
    let tokens =
        prompts.chain((25..34).map(|at| (at..at + 1, at + 6..at + 7))).chain((34..37).map(|at| (at..at + 1, 0..0)));
    for (step, (first, second)) in tokens.enumerate() {
        let ranges = [first, second];
        let chunks: Vec<(usize, Chunk<'_>)> = [one, other]
            .iter()
            .enumerate()
            .filter(|(text, _)| !ranges[*text].is_empty())
            .map(|(text, tokens)| {
                let range = ranges[text].clone();
                let start = range.start;
                (
                    text,
                    Chunk {
                        tokens: &tokens[range],
                        start,
                        pages: &pages[text],
                        state: recurrent.then(|| state(text, step, start)),
                        output: OutputKind::AllLogits,
                    },
                )
            })
            .collect();
        let batch: Vec<Chunk<'_>> = chunks.iter().map(|(_, chunk)| *chunk).collect();
        let outputs = found.evaluate(&batch).map_err(|error| text(&error))?;
        for ((text, _), output) in chunks.iter().zip(outputs) {
            rows[*text].extend(output.rows);
        }
    }
    // Decode steps follow the prompts.
    let tolerance = |text: usize, at: usize| exact_tolerance(case, cache, device, at >= [25, 31][text]);
    for (text, (rows, expected)) in rows.iter().zip(&expected).enumerate() {
        let what = format!("sequence {text}");
        if case.recipe.experts.is_some() && case.recipe.gemma.is_none() {
            expert_near_ties::compare_rows(&reference, [one, other][text], rows, |at| tolerance(text, at), &what)?;
            continue;
        }
        let rows_of = rows.iter().zip(expected).enumerate();
        let wrong: Vec<String> = rows_of
            .filter_map(|(at, (row, expected))| {
                compare(row, expected, tolerance(text, at), &format!("token {at} of {what}")).err()
            })
            .collect();
        // Unscaled scores amplify rounded activations: a few rows exceed the tolerance of 8 bits.
        let rounds = tolerance(text, TOKENS) == NormTolerance::Activations8;
        let others = if rounds && case.recipe.gemma.is_some() { rows.len() / 16 } else { 0 };
        if wrong.len() > others {
            return Err(wrong.into_iter().next().unwrap_or_default());
        }
    }
    Ok(())
}
