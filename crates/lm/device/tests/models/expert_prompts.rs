//! Prompts of models with experts, whose pairs of tokens and experts are grouped by expert.

use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Chunk, Forward as _, OutputKind};
use roci_gguf::Type;
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{Case, Recipe, architectures};
use roci_lm_device::{CacheType, DeviceModel, Options};
use roci_testkit::tolerance::NormTolerance;

use crate::{compare, devices, expert_near_ties, tolerance};

/// Lengths of prompts: with a few pairs of a token and an expert per expert, and with more than any
/// tile has.
const LENGTHS: [usize; 4] = [2, 9, 40, 130];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, open) in devices::all() {
        for case in cases() {
            let trial = format!("{name}/expert-prompts-{}-{}", case.name, case.recipe.kind);
            trials.push(Trial::test(trial, move || match open() {
                Ok(device) => check(&device, &case).map_err(Into::into),
                Err(reason) => devices::missing(name, &reason),
            }));
        }
    }
    trials
}

/// Experts with plain matrices, beside a shared expert, with biases and another activation, and
/// with weighted inputs.
pub(crate) fn cases() -> Vec<Case> {
    let kinds = [
        ("qwen3moe", Type::F32),
        ("qwen3moe", Type::Q4_K),
        ("glm4moe", Type::Q8_0),
        ("gpt-oss", Type::Q8_0),
        ("llama4", Type::Q4_0),
    ];
    let all = architectures();
    let of = |(name, kind): (&str, Type)| {
        let case = all.iter().find(|case| case.name == name).expect("the architecture has a model");
        let sizes = if kind == Type::F32 {
            case.recipe.clone()
        } else {
            // Rows are whole blocks.
            Recipe { embedding: 256, head: 64, feed_forward: 256, kind, ..case.recipe.clone() }
        };
        Case { recipe: Recipe { experts: Some((4, 2)), ..sizes }, ..case.clone() }
    };
    kinds.into_iter().map(of).collect()
}

pub(crate) fn check(device: &Device, case: &Case) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let reference = Reference::new(&file, model.clone()).map_err(|error| text(&error))?;
    let tokens = case.tokens(LENGTHS.into_iter().max().unwrap_or(0));
    let mut state = SequenceState::default();
    let expected = tokens.iter().map(|token| reference.logits(&mut state, *token)).collect::<Result<Vec<_>, _>>();
    let expected = expected.map_err(|error| text(&error))?;
    let pages: Vec<u32> = (0..9).collect();
    let native = roci_kernels::runs_native_kernels(device.info());
    for force_packed_dot in [false, true] {
        // It selects the same kernels for weights that are floats, and on the CPU.
        if force_packed_dot && (case.recipe.kind == Type::F32 || native) {
            continue;
        }
        let options = Options {
            cache_tokens: Some(256),
            page_size: 16,
            max_batch_tokens: Some(tokens.len()),
            force_packed_dot,
            ..Options::default()
        };
        let mut found =
            DeviceModel::load(Arc::clone(&file), model.clone(), std::slice::from_ref(device), &options, &|_, _| ())
                .map_err(|error| text(&error))?;
        for length in LENGTHS {
            let allowed = match tolerance(case, CacheType::F16, device, false) {
                allowed if force_packed_dot => allowed.max(NormTolerance::Activations8),
                allowed => allowed,
            };
            let chunk = Chunk {
                tokens: &tokens[..length],
                start: 0,
                pages: &pages,
                state: None,
                output: OutputKind::AllLogits,
            };
            let rows = found.evaluate(&[chunk]).map_err(|error| text(&error))?.remove(0).rows;
            if rows.len() != length {
                return Err(format!("{} rows of {length}", rows.len()));
            }
            let what = format!("{length} tokens, packed dots {force_packed_dot}");
            let is_equal = |(row, expected): (&Vec<f32>, &Vec<f32>)| compare(row, expected, allowed, &what).is_ok();
            if !rows.iter().zip(&expected).all(is_equal) {
                expert_near_ties::compare_rows(&reference, &tokens, &rows, |_| allowed, &what)?;
            }
        }
    }
    Ok(())
}
