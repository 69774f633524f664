//! Steps with several tokens: prompts of 2 to 32 tokens, and decode steps of as many sequences.
//! Devices use packed dot products in these tests, even where they are slower; those with matrix
//! units only up to eight tokens.

use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Chunk, Forward as _, OutputKind};
use roci_gguf::Type;
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{Case, types};
use roci_lm_device::{CacheType, DeviceModel, Options};
use roci_testkit::{skipped, tolerance::NormTolerance};

use crate::{compare, devices, tolerance};

/// Numbers of tokens below, at and above those that kernels process together, and the maximum.
const COUNTS: [usize; 5] = [2, 5, 8, 9, 32];
/// Maximum number of tokens of packed dot products on devices with matrix units.
const PACKED_DOT_COOPMAT_TOKENS: usize = 8;
/// Decode steps per sequence.
const STEPS: usize = 2;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, open) in devices::all() {
        // Without embedding models.
        for case in types().into_iter().filter(|case| case.name.starts_with("type-")) {
            trials.push(Trial::test(format!("{name}/batch-{}", case.name), move || match open() {
                Ok(device) => check(&device, &case).map_err(Into::into),
                Err(reason) => devices::missing(name, &reason),
            }));
        }
    }
    trials.push(Trial::test("vulkan/packed-dots", || match devices::open("vulkan:0") {
        Ok(device) => packed_dots_round_activations(&device).map_err(Into::into),
        Err(reason) => devices::missing("vulkan", &reason),
    }));
    trials
}

fn load(device: &Device, case: &Case, packed_dot: bool) -> Result<DeviceModel, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let options = Options {
        cache_tokens: Some(1024),
        page_size: 16,
        exact: !packed_dot,
        force_packed_dot: packed_dot,
        ..Options::default()
    };
    DeviceModel::load(file, model, std::slice::from_ref(device), &options, &|_, _| ()).map_err(|error| text(&error))
}

/// The outputs of one chunk per sequence, from position `start` on.
fn evaluate(
    found: &mut DeviceModel,
    sequences: &[&[u32]],
    start: usize,
    output: OutputKind,
) -> Result<Vec<Vec<f32>>, String> {
    // Each of several sequences has one page; a single sequence has several.
    let pages: Vec<Vec<u32>> = match sequences {
        [_] => vec![vec![7, 3, 5]],
        _ => (0..sequences.len() as u32).map(|sequence| vec![63 - sequence]).collect(),
    };
    let chunks: Vec<Chunk<'_>> = sequences
        .iter()
        .zip(&pages)
        .map(|(tokens, pages)| Chunk { tokens, start, pages, state: None, output })
        .collect();
    let outputs = found.evaluate(&chunks).map_err(|error| error.to_string())?;
    Ok(outputs.into_iter().flat_map(|output| output.rows).collect())
}

fn check(device: &Device, case: &Case) -> Result<(), String> {
    let file = case.open().map_err(|error| error.to_string())?;
    let model = Model::new(&file, Some(case.context)).map_err(|error| error.to_string())?;
    let reference = Reference::new(&file, model).map_err(|error| error.to_string())?;
    let expected = |tokens: &[u32]| -> Vec<Vec<f32>> {
        let mut state = SequenceState::default();
        let logits = |token: &u32| reference.logits(&mut state, *token).expect("the token is in the vocabulary");
        tokens.iter().map(logits).collect()
    };
    let most_tokens = COUNTS.into_iter().max().unwrap_or(0);
    let tokens = case.tokens(most_tokens + STEPS);
    let prompt = expected(&tokens[..most_tokens]);
    let sequences: Vec<&[u32]> = (0..most_tokens).map(|first| &tokens[first..first + STEPS]).collect();
    let sequence_logits: Vec<Vec<Vec<f32>>> = sequences.iter().map(|tokens| expected(tokens)).collect();

    let is_matrix = device.info().capabilities().matrix && case.recipe.experts.is_none();
    let allowed = |tokens: usize| match case.recipe.kind {
        Type::F32 | Type::F16 | Type::BF16 => tolerance(case, CacheType::F16, device, false),
        // Experts do not run on matrix units.
        _ if is_matrix && tokens > PACKED_DOT_COOPMAT_TOKENS => tolerance(case, CacheType::F16, device, false),
        _ => NormTolerance::Activations8,
    };
    let compare_rows = |what: &str, rows: &[Vec<f32>], expected: &mut dyn Iterator<Item = &Vec<f32>>| {
        let allowed = allowed(rows.len());
        let mut pairs = rows.iter().zip(expected).enumerate();
        pairs.try_for_each(|(at, (row, expected))| compare(row, expected, allowed, &format!("{what}, row {at}")))
    };
    let mut found = load(device, case, true)?;
    for count in COUNTS {
        let rows = evaluate(&mut found, &[&tokens[..count]], 0, OutputKind::AllLogits)?;
        compare_rows(&format!("a prompt of {count}"), &rows, &mut prompt.iter())?;
        for step in 0..STEPS {
            let now: Vec<&[u32]> = sequences[..count].iter().map(|tokens| &tokens[step..=step]).collect();
            let rows = evaluate(&mut found, &now, step, OutputKind::AllLogits)?;
            compare_rows(&format!("step {step} of {count}"), &rows, &mut sequence_logits.iter().map(|all| &all[step]))?;
        }
    }
    Ok(())
}

/// Without matrix units, the option selects other kernels for every number of tokens.
fn packed_dots_round_activations(device: &Device) -> Result<(), String> {
    if device.info().capabilities().matrix {
        skipped("batches::packed_dots", "the device has matrix units and does not use packed dot products");
        return Ok(());
    }
    let case = types().into_iter().find(|case| case.recipe.kind == Type::Q8_0).expect("the type exists");
    let tokens = case.tokens(40);
    let (mut rounded, mut exact) = (load(device, &case, true)?, load(device, &case, false)?);
    for count in [2, 8, 9, 32, 33] {
        // Without logits, which are computed in parts.
        let hidden = |found| evaluate(found, &[&tokens[..count]], 0, OutputKind::HiddenStates);
        let differ = hidden(&mut rounded)? != hidden(&mut exact)?;
        if differ != (count <= 32) {
            return Err(format!("the hidden states of {count} tokens differ: {differ}"));
        }
    }
    Ok(())
}
