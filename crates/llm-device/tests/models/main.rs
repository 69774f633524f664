//! Made-up models of every architecture and type of weights on every driver, held to the reference.
//!
//! Tokens go in as an engine sends them: a prompt in chunks, then one by one, beside another text whose pages lie between.

mod ahead;
mod devices;
mod embeddings;
mod far;
mod in_place;
mod narrow;
mod stories;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use roci_engine::{Chunk, Forward as _, Wanted};
use roci_gguf::Type;
use roci_hal::Device;
use roci_llm::architecture::Model;
use roci_llm::reference::{Reference, Text};
use roci_llm::synthetic::{Case, architectures, types};
use roci_llm_device::{CacheType, DeviceModel, Options};

/// Tokens of each text.
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
        // Kernels that are compiled for the model: PoCL takes seconds for each.
        let all = architectures().into_iter().chain(types());
        let baked = match name {
            "vulkan" => all.collect(),
            "pocl" | "rusticl" => all.take(1).collect(),
            _ => Vec::new(),
        };
        for case in baked {
            let trial = format!("{name}/baked-{}", case.name);
            trials.push(Trial::test(trial, move || match open() {
                Ok(device) => check(&device, &case, CacheType::F16, Some(true)).map_err(Into::into),
                Err(reason) => devices::missing(name, &reason),
            }));
        }
        let case = Case {
            recipe: roci_llm::synthetic::Recipe { head: 32, ..Default::default() },
            ..architectures().remove(0)
        };
        trials.push(Trial::test(format!("{name}/cache-of-bytes"), move || match open() {
            Ok(device) => check(&device, &case, CacheType::Q8, None).map_err(Into::into),
            Err(reason) => devices::missing(name, &reason),
        }));
    }
    let ((name, open), case) = (devices::APART, architectures().remove(0));
    trials.push(Trial::test(format!("{name}/{}", case.name), move || match open() {
        Ok(device) => check(&device, &case, CacheType::F16, None).map_err(Into::into),
        Err(reason) => devices::missing(name, &reason),
    }));
    trials.extend(ahead::trials());
    trials.extend(embeddings::trials());
    trials.extend(far::trials());
    trials.extend(in_place::trials());
    trials.extend(narrow::trials());
    trials.extend(stories::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// How far logits may be off: the length of the difference by the length of what is wanted. `alone` are those of a step with one token.
pub(crate) fn tolerance(case: &Case, cache: CacheType, device: &Device, alone: bool) -> f64 {
    let host = roci_kernels::takes_native(device.info());
    let gpu = device.info().physical.iter().all(|one| one.kind.is_gpu());
    let rounds = gpu && device.info().capabilities().integer_dot && (alone || case.recipe.experts.is_some());
    match case.recipe.kind {
        // Keys and values are rounded to 16 bits in any case.
        _ if cache == CacheType::Q8 => 2e-2,
        Type::F32 | Type::F16 | Type::BF16 => 2e-3,
        // The CPU rounds activations to 8 bits, as llama.cpp does, and GPUs do so for a token alone and for experts.
        _ if host || rounds => 5e-2,
        // Of two bits, scales and offsets are rounded to 16 bits.
        Type::Q2_K => 1e-2,
        // Matrix units take weights and activations as 16-bit floats.
        _ if device.info().capabilities().matrix => 5e-3,
        _ => 3e-3,
    }
}

/// How far logits are from others: nothing that could be compared, if they are not as many.
pub(crate) fn distance(row: &[f32], expected: &[f32]) -> f64 {
    if row.len() != expected.len() {
        return f64::NAN;
    }
    let squares = |values: &mut dyn Iterator<Item = f32>| values.map(|value| f64::from(value).powi(2)).sum::<f64>();
    let length = squares(&mut expected.iter().copied());
    let way = squares(&mut row.iter().zip(expected).map(|(row, expected)| row - expected));
    (way / length).sqrt()
}

fn check(device: &Device, case: &Case, cache: CacheType, bake: Option<bool>) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let reference = Reference::new(&file, model.clone()).map_err(|error| text(&error))?;
    let options = Options { cache, kept: Some(512), page: 16, bake, ..Options::default() };
    let mut found = DeviceModel::load(Arc::clone(&file), model, std::slice::from_ref(device), &options, &|_, _| ())
        .map_err(|error| text(&error))?;
    let tokens = case.tokens(2 * TOKENS);
    let (one, other) = tokens.split_at(TOKENS);
    let expected = [one, other].map(|tokens| {
        let mut text = Text::default();
        tokens.iter().map(|token| reference.logits(&mut text, *token).expect("it is known")).collect::<Vec<_>>()
    });
    // Pages in no order, and those of the two texts between each other.
    let pages = [[5, 2, 9, 11], [4, 8, 1, 3]];
    let mut rows: [Vec<Vec<f32>>; 2] = Default::default();
    // First 19 of one text; then the rest of its prompt beside the other's; then a token of each at a time, and some of one alone.
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
                (text, Chunk { tokens: &tokens[range], start, pages: &pages[text], wanted: Wanted::Each })
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
            // The first text's last tokens came alone.
            let most = tolerance(case, cache, device, text == 0 && at >= 34);
            let distance = distance(row, expected);
            if distance.is_nan() || distance > most {
                return Err(format!("token {at} of text {text} is off by {distance:.1e}; {most:.0e} is allowed"));
            }
        }
    }
    Ok(())
}
