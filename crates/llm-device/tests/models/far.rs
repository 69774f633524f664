//! Texts so long that their keys are split, and models whose layers lie on two devices.

use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Chunk, Forward as _, Wanted};
use roci_gguf::Gguf;
use roci_hal::Device;
use roci_llm::architecture::Model;
use roci_llm::reference::{Reference, Text};
use roci_llm::synthetic::{Case, Recipe, architectures};
use roci_llm_device::{CacheType, DeviceModel, Options, estimate};

use crate::{devices, tolerance};

/// Tokens of the prompt of a long text: keys are split from 129 on, on larger devices again from 257 on.
const LONG: usize = 270;

/// Both, with each way to compile kernels.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let opened = devices::all().into_iter().filter(|(name, _)| *name != "cpu");
    for (name, open) in opened {
        let ways: &[(&str, Option<bool>)] =
            if name == "vulkan" { &[("long", None), ("baked-long", Some(true))] } else { &[("long", None)] };
        for &(way, bake) in ways {
            trials.push(Trial::test(format!("{name}/{way}"), move || match open() {
                Ok(device) => {
                    let options = Options { bake, ..Options::default() };
                    compare(&[device], &small(), LONG, &options).map(drop).map_err(Into::into)
                }
                Err(reason) => devices::missing(name, &reason),
            }));
        }
    }
    trials.push(Trial::test("pocl/beside-cpu", || match devices::all()[2].1() {
        Ok(device) => beside(&device).map_err(Into::into),
        Err(reason) => devices::missing("pocl", &reason),
    }));
    trials
}

/// Heads of 32, so that one kernel turns and attends.
fn small() -> Case {
    Case { recipe: Recipe { head: 32, ..Recipe::default() }, context: 512, ..architectures().remove(0) }
}

/// As many layers on the device as its memory is said to hold, the rest on the CPU.
fn beside(device: &Device) -> Result<(), String> {
    let recipe = Recipe { embedding: 256, head: 32, feed_forward: 1024, layers: 4, ..Recipe::default() };
    let case = Case { recipe, ..small() };
    let options = Options { kept: Some(512), batch: Some(64), ..Options::default() };
    let file = open(&case)?;
    let model = Model::new(&file, Some(case.context)).map_err(|error| error.to_string())?;
    let whole = estimate(&file, &model, &[device.info()], &options).map_err(|error| error.to_string())?;
    let share = &whole.shares[0];
    let half = share.scratch + (share.weights + share.cache) * 5 / 8;
    let uri = format!("{}?memory={}MiB", device.info().uri, (half * 16 / 15).div_ceil(1 << 20));
    let both = [devices::open(&uri)?, devices::open("cpu")?];
    let found = compare(&both, &case, 40, &options)?;
    let layers: Vec<usize> = found.estimate().shares.iter().map(|share| share.layers.len()).collect();
    if layers.len() == 2 && !layers.contains(&0) { Ok(()) } else { Err(format!("layers lie as {layers:?}")) }
}

fn open(case: &Case) -> Result<Arc<Gguf>, String> {
    case.open().map(Arc::new).map_err(|error| error.to_string())
}

/// A prompt, then three tokens one by one, whose logits are held to the reference.
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
    let (pages, batch) = ((0..found.limits().pages as u32).collect::<Vec<_>>(), found.limits().batch);
    let mut seen = Text::default();
    let mut at = 0;
    while at < tokens.len() {
        let end = if at < prompt { prompt.min(at + batch) } else { at + 1 };
        let chunk = Chunk { tokens: &tokens[at..end], start: at, pages: &pages, wanted: Wanted::Last };
        let output = found.evaluate(&[chunk]).map_err(|error| text(&error))?.remove(0);
        let mut wanted = Vec::new();
        for token in &tokens[at..end] {
            wanted = reference.logits(&mut seen, *token).map_err(|error| text(&error))?;
        }
        let most = devices.iter().map(|one| tolerance(case, CacheType::F16, one, true)).fold(0.0, f64::max);
        let distance = crate::distance(&output.rows[0], &wanted);
        if distance.is_nan() || distance > most {
            return Err(format!("the logits after {end} tokens are off by {distance:.1e}; {most:.0e} is allowed"));
        }
        at = end;
    }
    Ok(found)
}
