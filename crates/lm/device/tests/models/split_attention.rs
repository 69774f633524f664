//! Sequences long enough for split attention, and models on two devices.

use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Chunk, Forward as _, OutputKind, StateSlots};
use roci_gguf::Gguf;
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{Case, Recipe, architectures};
use roci_lm_device::{CacheType, DeviceModel, Options, estimate};

use crate::{devices, tolerance};

/// Prompt length: attention is split from 129 tokens on, and on larger devices again from 257 on.
pub(crate) const LONG: usize = 270;

/// Trials of both, with generic and specialized kernels.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let opened = devices::all().into_iter().filter(|(name, _)| *name != "cpu");
    for (name, open) in opened {
        let variants: &[(&str, Option<bool>)] =
            if name == "vulkan" { &[("long", None), ("specialized-long", Some(true))] } else { &[("long", None)] };
        for &(variant, specialize) in variants {
            trials.push(Trial::test(format!("{name}/{variant}"), move || match open() {
                Ok(device) => {
                    let options = Options { specialize, ..Options::default() };
                    compare(&[device], &small(), LONG, &options).map(drop).map_err(Into::into)
                }
                Err(reason) => devices::missing(name, &reason),
            }));
        }
    }
    trials.push(Trial::test("pocl/with-cpu", || match devices::all()[2].1() {
        Ok(device) => with_cpu(&device).map_err(Into::into),
        Err(reason) => devices::missing("pocl", &reason),
    }));
    trials
}

/// Head size 32, for which one kernel applies RoPE and attention.
fn small() -> Case {
    Case { recipe: Recipe { head: 32, ..Recipe::default() }, context: 512, ..architectures().remove(0) }
}

/// Limits the device's memory so that some layers go to the CPU.
fn with_cpu(device: &Device) -> Result<(), String> {
    let recipe = Recipe { embedding: 256, head: 32, feed_forward: 1024, layers: 4, ..Recipe::default() };
    let case = Case { recipe, ..small() };
    let options = Options { cache_tokens: Some(512), max_batch_tokens: Some(64), ..Options::default() };
    let file = open(&case)?;
    let model = Model::new(&file, Some(case.context)).map_err(|error| error.to_string())?;
    let whole = estimate(&file, &model, &[device.info()], &options).map_err(|error| error.to_string())?;
    let share = &whole.shares[0];
    let half = share.scratch + (share.weights + share.cache) * 5 / 8;
    let uri = format!("{}?memory={}MiB", device.info().uri, (half * 16 / 15).div_ceil(1 << 20));
    let both = [devices::open(&uri)?, devices::open("cpu")?];
    let found = compare(&both, &case, 40, &options)?;
    let layers: Vec<usize> = found.estimate().shares.iter().map(|share| share.layers.len()).collect();
    if layers.len() == 2 && !layers.contains(&0) { Ok(()) } else { Err(format!("the layers are split as {layers:?}")) }
}

fn open(case: &Case) -> Result<Arc<Gguf>, String> {
    case.open().map(Arc::new).map_err(|error| error.to_string())
}

/// Compares the logits of a prompt and of three decode steps with the reference.
pub(crate) fn compare(
    devices: &[Device],
    case: &Case,
    prompt: usize,
    options: &Options,
) -> Result<DeviceModel, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = open(case)?;
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let reference = Reference::new(&file, model.clone()).map_err(|error| text(&error))?;
    let mut found = DeviceModel::load(file, model, devices, options, &|_, _| ()).map_err(|error| text(&error))?;
    let tokens = case.tokens(prompt + 3);
    let (pages, batch) = ((0..found.limits().pages as u32).collect::<Vec<_>>(), found.limits().max_batch_tokens);
    let mut reference_state = SequenceState::default();
    let mut at = 0;
    while at < tokens.len() {
        let end = if at < prompt { prompt.min(at + batch) } else { at + 1 };
        let state = StateSlots::of_only_sequence(found.limits(), at);
        let chunk = Chunk { tokens: &tokens[at..end], start: at, pages: &pages, state, output: OutputKind::LastLogits };
        let output = found.evaluate(&[chunk]).map_err(|error| text(&error))?.remove(0);
        let mut expected = Vec::new();
        for token in &tokens[at..end] {
            expected = reference.logits(&mut reference_state, *token).map_err(|error| text(&error))?;
        }
        let tolerance = devices.iter().map(|one| tolerance(case, CacheType::F16, one, true)).max();
        let tolerance = tolerance.ok_or("no device")?;
        crate::compare(&output.rows[0], &expected, tolerance, &format!("the logits after {end} tokens"))?;
        at = end;
    }
    Ok(found)
}
