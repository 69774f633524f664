//! Models with per-layer embeddings, shared keys and values, or experts beside a dense network:
//! weight types, head sizes, an engine, and unsupported options.

use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use roci_gguf::Type;
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::synthetic::{Case, Gemma, Recipe, StreamRecipe, architectures, talking_gemma};
use roci_lm_device::{CacheType, Options, estimate};

use crate::hybrid::engine;
use crate::{check, devices};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, open) in devices::all() {
        let mut trial = |what: &str, run: fn(&Device) -> Result<(), String>| {
            trials.push(Trial::test(format!("{name}/{what}"), move || match open() {
                Ok(device) => run(&device).map_err(Failed::from),
                Err(reason) => devices::missing(name, &reason),
            }));
        };
        trial("gemma-engine", |device| engine(device, &talking_gemma()));
        trial("gemma-wide", |device| check(device, &wide(), CacheType::F16, None));
        trial("gemma-q4_0", |device| check(device, &quantized("gemma4"), CacheType::F16, None));
        trial("gemma-experts-q4_0", |device| check(device, &quantized("gemma4-experts"), CacheType::F16, None));
        trial("gemma-streams", |device| check(device, &streams(), CacheType::F16, None));
        trial("gemma-cache-q8", |device| check(device, &wide(), CacheType::Q8, None));
    }
    trials.push(Trial::test("cpu/gemma-devices", || one_device().map_err(Failed::from)));
    trials
}

fn named(name: &str) -> Case {
    architectures().into_iter().find(|case| case.name == name).expect("the case exists")
}

/// Head sizes of published models.
fn wide() -> Case {
    let case = named("gemma4");
    let gemma = case.recipe.gemma.map(|gemma| Gemma { window_head: Some(256), ..gemma });
    Case { recipe: Recipe { head: 512, heads: 2, kv_heads: 1, gemma, ..case.recipe }, ..case }
}

/// Long rows and few layers, so that quantized activations do not dominate the error. All experts
/// are used, because rounding can change the selection.
fn quantized(name: &str) -> Case {
    let case = named(name);
    let recipe = case.recipe.clone();
    let gemma = recipe.gemma.clone().map(|gemma| Gemma {
        windows: vec![true, false, true, false],
        shared_kv: gemma.shared_kv / 2,
        window_head: Some(32),
        per_layer: gemma.per_layer.map(|_| 64),
        ..gemma
    });
    let experts = recipe.experts.map(|_| (3, 3));
    let sizes = Recipe { layers: 4, embedding: 256, feed_forward: 256, ..recipe };
    Case { recipe: Recipe { kind: Type::Q4_0, experts, gemma, ..sizes }, ..case }
}

/// Three residual streams and few layers, which do not amplify rounding.
fn streams() -> Case {
    let case = named("gemma3n");
    let gemma = case.recipe.gemma.map(|gemma| Gemma {
        windows: vec![true, false, true, true, false],
        shared_kv: 2,
        per_layer: Some(128),
        streams: Some(StreamRecipe { count: 3, rank: 24, sparse: 2 }),
        ..gemma
    });
    Case { recipe: Recipe { layers: 5, gemma, ..case.recipe }, ..case }
}

/// Models whose layers share keys and values or inputs cannot be distributed.
fn one_device() -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let device = devices::open("cpu")?;
    let infos = [device.info(), device.info()];
    for (name, most) in [("gemma4", 1), ("gemma4-dense", 2)] {
        let case = named(name);
        let file = Arc::new(case.open().map_err(|error| text(&error))?);
        let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
        let found = estimate(&file, &model, &infos, &Options::default()).map_err(|error| text(&error))?;
        if found.shares.len() > most {
            return Err(format!("{name}: {} devices", found.shares.len()));
        }
    }
    Ok(())
}
