//! Models with multi-head latent attention: published sizes, weight types, long texts, an engine that
//! batches, preempts and shares prefixes, and the memory of the KV cache.

use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use roci_gguf::Type;
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::synthetic::{Case, LatentRecipe, Mixture, Recipe, architectures, talking_latent};
use roci_lm_device::{CacheType, DeviceModel, Options, estimate};

use crate::hybrid::engine;
use crate::split_attention::{LONG, compare};
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
        trial("latent-engine", |device| engine(device, &talking_latent()));
        trial("latent-wide", |device| check(device, &wide(), CacheType::F16, None));
        trial("latent-q4_0", |device| check(device, &quantized(dense(), Type::Q4_0), CacheType::F16, None));
        trial("latent-lite-q8_0", |device| {
            check(device, &quantized(named("deepseek2-lite"), Type::Q8_0), CacheType::F16, None)
        });
        trial("latent-cache-q8", |device| check(device, &dense(), CacheType::Q8, None));
        trial("latent-long", |device| {
            let case = Case { context: 512, ..dense() };
            compare(std::slice::from_ref(device), &case, LONG, &Options::default()).map(drop)
        });
    }
    trials.push(Trial::test("cpu/latent-memory", || memory().map_err(Failed::from)));
    trials.push(Trial::test("cpu/latent-lengths", || refused_lengths().map_err(Failed::from)));
    trials
}

fn named(name: &str) -> Case {
    architectures().into_iter().find(|case| case.name == name).expect("the case exists")
}

/// Without experts, which quantized activations can change.
pub(crate) fn dense() -> Case {
    let case = named("deepseek2");
    let metadata = case.metadata.into_iter().filter(|(key, _)| !key.contains("expert")).collect();
    Case { recipe: Recipe { experts: None, ..case.recipe }, metadata, ..case }
}

fn with_latent(case: Case, latent: LatentRecipe) -> Case {
    Case { recipe: Recipe { latent: Some(latent), ..case.recipe }, ..case }
}

/// Latents and heads as long as those of published models.
fn wide() -> Case {
    let latent = LatentRecipe { rank: 512, plain: 128, rotated: 64, output: 128, ..LatentRecipe::small() };
    let case = with_latent(dense(), latent);
    Case { recipe: Recipe { layers: 2, ..case.recipe }, ..case }
}

/// Rows long enough that quantized activations do not dominate.
fn quantized(case: Case, kind: Type) -> Case {
    let latent = case.recipe.latent.map(|latent| LatentRecipe {
        rank: 128,
        query_rank: latent.query_rank.map(|_| 128),
        ..latent
    });
    let mixture = Mixture { shared: Some(256), ..case.recipe.mixture };
    // All experts are used, because rounding can change the choice.
    let experts = case.recipe.experts.map(|_| (3, 3));
    let layers = if experts.is_some() { 2 } else { 1 };
    let sizes = Recipe { embedding: 256, feed_forward: 256, layers, ..case.recipe };
    Case { recipe: Recipe { kind, latent, mixture, experts, ..sizes }, ..case }
}

/// The cache has one row of a latent and of the rotated part per token and layer.
fn memory() -> Result<(), String> {
    let case = named("deepseek2");
    let file = case.open().map_err(|error| error.to_string())?;
    let model = Model::new(&file, Some(case.context)).map_err(|error| error.to_string())?;
    let device = devices::open("cpu")?;
    let options = Options { cache_tokens: Some(256), ..Options::default() };
    let found = estimate(&file, &model, &[device.info()], &options).map_err(|error| error.to_string())?;
    // 96 values of 16 bits.
    let expected = 256 * 3 * 96 * 2;
    match found.shares[0].cache {
        cache if cache == expected => Ok(()),
        cache => Err(format!("{cache} bytes, not {expected}")),
    }
}

fn refused_lengths() -> Result<(), String> {
    let case = with_latent(dense(), LatentRecipe { plain: 24, rotated: 8, ..LatentRecipe::small() });
    let file = Arc::new(case.open().map_err(|error| error.to_string())?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| error.to_string())?;
    let found = DeviceModel::load(file, model, &[devices::open("cpu")?], &Options::default(), &|_, _| ());
    let message = found.err().map(|error| error.to_string()).unwrap_or_default();
    match message.contains("latents or parts of heads whose lengths are not multiples of 32") {
        true => Ok(()),
        false => Err(format!("found `{message}`")),
    }
}
