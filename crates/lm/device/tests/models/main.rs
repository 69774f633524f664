//! Synthetic models of every architecture and weight type on every driver, compared with the
//! reference.
//!
//! Tokens are evaluated as an engine does: a prompt in chunks, then decode steps, batched with a
//! second sequence whose KV pages are interleaved with those of the first.

mod batches;
mod devices;
mod embeddings;
mod in_place;
mod long;
mod narrow;
mod preload;
mod stories;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use roci_engine::{Chunk, Forward as _, OutputKind};
use roci_gguf::Type;
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{Case, architectures, types};
use roci_lm_device::{CacheType, DeviceModel, Options};

/// Tokens per sequence.
const TOKENS: usize = 40;

fn main() -> ExitCode {
    devices::prepare();
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (name, open) in devices::all() {
        for case in architectures().into_iter().chain(types()) {
            let trial = format!("{name}/{}", case.name);
            trials.push(Trial::test(trial, move || match open() {
                Ok(device) => check(&device, &case, CacheType::F16, None).map_err(Into::into),
                Err(reason) => devices::missing(name, &reason),
            }));
        }
        // Specialized kernels. PoCL compiles each for seconds.
        let all = architectures().into_iter().chain(types());
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
    trials.extend(batches::trials());
    trials.extend(preload::trials());
    trials.extend(embeddings::trials());
    trials.extend(long::trials());
    trials.extend(in_place::trials());
    trials.extend(narrow::trials());
    trials.extend(stories::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Tolerance of logits: norm of the error relative to the norm of the expected logits.
/// `single_token` is for steps with one token.
pub(crate) fn tolerance(case: &Case, cache: CacheType, device: &Device, single_token: bool) -> f64 {
    let host = roci_kernels::takes_native(device.info());
    let gpu = device.info().physical.iter().all(|one| one.kind.is_gpu());
    let capabilities = device.info().capabilities();
    let on_vectors = single_token || !capabilities.matrix || case.recipe.experts.is_some();
    let rounds = gpu && capabilities.integer_dot && on_vectors;
    match case.recipe.kind {
        // Keys and values are always rounded to 16 bits.
        _ if cache == CacheType::Q8 => 2e-2,
        Type::F32 | Type::F16 | Type::BF16 => 2e-3,
        // The CPU quantizes activations to 8 bits, as llama.cpp does; GPUs do so for single tokens
        // and for experts, and without matrix units for small batches.
        _ if host || rounds => 5e-2,
        // Scales and offsets of 2-bit blocks are rounded to 16 bits.
        Type::Q2_K => 1e-2,
        // Matrix units take weights and activations as 16-bit floats.
        _ if device.info().capabilities().matrix => 5e-3,
        // Offsets of 15 and 9 times the scale are rounded to 16 bits.
        Type::IQ1_S | Type::IQ1_M | Type::IQ3_S => 5e-3,
        _ => 3e-3,
    }
}

/// Relative distance of two vectors; NaN if their lengths differ.
pub(crate) fn distance(row: &[f32], expected: &[f32]) -> f64 {
    if row.len() != expected.len() {
        return f64::NAN;
    }
    let squares = |values: &mut dyn Iterator<Item = f32>| values.map(|value| f64::from(value).powi(2)).sum::<f64>();
    let length = squares(&mut expected.iter().copied());
    let difference = squares(&mut row.iter().zip(expected).map(|(row, expected)| row - expected));
    (difference / length).sqrt()
}

fn check(device: &Device, case: &Case, cache: CacheType, specialize: Option<bool>) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let reference = Reference::new(&file, model.clone()).map_err(|error| text(&error))?;
    let options = Options { cache, cache_tokens: Some(512), page_size: 16, specialize, ..Options::default() };
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
    // 19 tokens of one sequence; the rest of its prompt with the other's prompt; decode steps of
    // both; decode steps of one sequence.
    let prompts = [(0..19, 0..0), (19..25, 0..31)].into_iter();
    let tokens =
        prompts.chain((25..34).map(|at| (at..at + 1, at + 6..at + 7))).chain((34..37).map(|at| (at..at + 1, 0..0)));
    for (first, second) in tokens {
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
                        state: None,
                        output: OutputKind::AllLogits,
                    },
                )
            })
            .collect();
        let given: Vec<Chunk<'_>> = chunks.iter().map(|(_, chunk)| *chunk).collect();
        let outputs = found.evaluate(&given).map_err(|error| text(&error))?;
        for ((text, _), output) in chunks.iter().zip(outputs) {
            rows[*text].extend(output.rows);
        }
    }
    for (text, (rows, expected)) in rows.iter().zip(&expected).enumerate() {
        for (at, (row, expected)) in rows.iter().zip(expected).enumerate() {
            // The last tokens of the first sequence are single-token steps.
            let most = tolerance(case, cache, device, text == 0 && at >= 34);
            let distance = distance(row, expected);
            if distance.is_nan() || distance > most {
                return Err(format!(
                    "token {at} of sequence {text} is off by {distance:.1e}; the tolerance is {most:.0e}"
                ));
            }
        }
    }
    Ok(())
}
