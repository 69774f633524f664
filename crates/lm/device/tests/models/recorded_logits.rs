//! Real models on devices, compared with recorded logits of other programs (teacher forcing).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use roci_engine::{Chunk, Forward as _, OutputKind};
use roci_gguf::{Gguf, Type};
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::sample::log_probability;
use roci_lm_device::{DeviceModel, Options};

use crate::devices;

/// Tokens per chunk, and the position from which tokens are evaluated one by one.
const CHUNK: usize = 7;
const FIRST_SINGLE: usize = 14;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/models/gguf")
}

/// Maximum errors: of the logits of the ten most likely tokens, of their mean over positions, and
/// of the mean negative log-likelihood.
#[derive(Debug)]
struct ErrorLimits {
    logit: f64,
    mean: f64,
    nll: f64,
}

/// Limits of a model: for devices that compute in f32, for matrix units in f16, and for the CPU
/// with quantized weights, where it quantizes activations to 8 bits.
#[derive(Clone, Copy)]
struct Limits {
    plain: &'static ErrorLimits,
    f16: &'static ErrorLimits,
    rounded: &'static ErrorLimits,
}

/// The tolerances that the publisher of the recorded logits states.
const STORIES: Limits = Limits {
    plain: &ErrorLimits { logit: 0.02, mean: 0.02, nll: 0.02 },
    f16: &ErrorLimits { logit: 0.02, mean: 0.02, nll: 0.02 },
    rounded: &ErrorLimits { logit: 0.5, mean: 0.5, nll: 0.05 },
};

/// An f16 KV cache alone causes an error of 0.027 in one logit of the reference, 0.007 on average.
/// llama.cpp, which also quantizes activations to 8 bits, has an error of 2.0 after the same token,
/// 0.46 on average, and 0.037 in the mean negative log-likelihood.
const SMOLLM2: Limits = Limits {
    plain: &ErrorLimits { logit: 0.04, mean: 0.01, nll: 0.02 },
    f16: &ErrorLimits { logit: 0.1, mean: 0.025, nll: 0.02 },
    rounded: &ErrorLimits { logit: 2.5, mean: 0.5, nll: 0.05 },
};

/// The reference rounds nothing.
const EXACT: ErrorLimits = ErrorLimits { logit: 0.001, mean: 0.0005, nll: 0.0005 };

/// A text with logits recorded from another program.
#[derive(Clone)]
struct Recorded {
    model: PathBuf,
    text: PathBuf,
    /// Maximum number of evaluated tokens.
    max_tokens: usize,
    limits: Limits,
}

/// A trial per device and recorded text; if the records are missing, one that reports it.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    if folder().is_dir() {
        for (model, text, max_tokens) in
            [("stories260K-f32", "bos", 100), ("stories15M-q4_0", "bos", 12), ("stories15M-q4_0", "prompt", 24)]
        {
            let file = |end: String| folder().join(format!("{model}.{end}"));
            let recorded = Recorded {
                model: file("gguf".into()),
                text: file(format!("{text}.json")),
                max_tokens,
                limits: STORIES,
            };
            trials.extend(on_each_device(&format!("{model}-{text}"), &recorded));
        }
    } else {
        trials.push(absent("stories", "real models on devices (../shared/models/gguf)"));
    }
    match roci_testkit::smollm2() {
        Some(model) => {
            for text in ["a", "c"] {
                let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
                let text_file = data.join(format!("smollm2-135m-q4_1.{text}.json"));
                let recorded =
                    Recorded { model: model.clone(), text: text_file, max_tokens: usize::MAX, limits: SMOLLM2 };
                trials.extend(on_each_device(&format!("smollm2-{text}"), &recorded));
                trials.push(Trial::test(format!("reference/smollm2-{text}"), move || compare_reference(&recorded)));
            }
        }
        None => {
            trials.push(absent("smollm2", "SmolLM2 on devices (scripts/fetch-smollm2 gets it, ROCI_SMOLLM2 names it)"))
        }
    }
    trials
}

fn absent(name: &str, what: &'static str) -> Trial {
    Trial::test(name, move || {
        roci_testkit::absent(what);
        Ok(())
    })
}

fn on_each_device<'a>(name: &'a str, recorded: &'a Recorded) -> impl Iterator<Item = Trial> + 'a {
    devices::all().into_iter().map(move |(device, open)| {
        let recorded = recorded.clone();
        Trial::test(format!("{device}/{name}"), move || match open() {
            Ok(device) => compare(&device, &recorded),
            Err(reason) => devices::missing(device, &reason),
        })
    })
}

/// Evaluates tokens that follow the earlier ones, and returns the logits after each.
type ReadTokens<'a> = dyn FnMut(&[u32], usize) -> Result<Vec<Vec<f32>>, Failed> + 'a;

/// Evaluates a recorded text on a device.
fn compare(device: &Device, recorded: &Recorded) -> Result<(), Failed> {
    let file = Arc::new(Gguf::open(&recorded.model)?);
    let described = Model::new(&file, Some(256)).map_err(|error| error.to_string())?;
    let first = file.expect_tensor(&described.layers[0].mixers[0].linears()[0].matrix.tensor)?.info().kind();
    let rounded = roci_kernels::runs_native_kernels(device.info()) && first != Type::F32;
    let mut model = DeviceModel::load(file, described, std::slice::from_ref(device), &Options::default(), &|_, _| ())
        .map_err(|error| error.to_string())?;
    let pages: Vec<u32> = (0..model.limits().pages as u32).rev().collect();
    let mut read = |tokens: &[u32], start: usize| {
        let chunk = Chunk { tokens, start, pages: &pages, state: None, output: OutputKind::AllLogits };
        Ok(model.evaluate(&[chunk]).map_err(|error| error.to_string())?.remove(0).rows)
    };
    let allowed = match recorded.limits {
        limits if rounded => limits.rounded,
        limits if device.info().capabilities().matrix => limits.f16,
        limits => limits.plain,
    };
    check_logits(&device.info().uri.to_string(), recorded, allowed, &mut read)
}

/// Evaluates a recorded text on the reference.
fn compare_reference(recorded: &Recorded) -> Result<(), Failed> {
    let file = Gguf::open(&recorded.model)?;
    let described = Model::new(&file, Some(256)).map_err(|error| error.to_string())?;
    let reference = Reference::new(&file, described).map_err(|error| error.to_string())?;
    let mut text = SequenceState::default();
    let mut read = |tokens: &[u32], _: usize| {
        let row = |token: &u32| reference.logits(&mut text, *token).map_err(|error| error.to_string().into());
        tokens.iter().map(row).collect()
    };
    check_logits("the reference", recorded, &EXACT, &mut read)
}

/// Compares the logits after each token with the recorded ones.
fn check_logits(
    name: &str,
    recorded: &Recorded,
    allowed: &ErrorLimits,
    read: &mut ReadTokens<'_>,
) -> Result<(), Failed> {
    let records: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&recorded.text)?)?;
    let sequence: Vec<u32> = serde_json::from_value(records["sequence"].clone())?;
    let highest: Vec<Vec<(u32, f32)>> = serde_json::from_value(records["top10_logits_per_position"].clone())?;
    let nll: Vec<f64> = serde_json::from_value(records["nll_next_token"].clone())?;
    let count = sequence.len().min(recorded.max_tokens);
    let mut rows = Vec::new();
    while rows.len() < count {
        let start = rows.len();
        let end = (start + if start < FIRST_SINGLE { CHUNK } else { 1 }).min(count);
        rows.extend(read(&sequence[start..end], start)?);
    }
    let (mut sum, mut expected_sum, mut worst) = (0.0, 0.0, Vec::new());
    for (at, logits) in rows.iter().enumerate() {
        let errors = highest[at].iter().map(|&(token, expected)| f64::from((logits[token as usize] - expected).abs()));
        // Not `f64::max`, which would drop NaN.
        worst.push(errors.fold(0.0, |max: f64, error| if error <= max { max } else { error }));
        if let Some(&next) = sequence.get(at + 1) {
            sum -= f64::from(log_probability(logits, next));
            expected_sum += nll[at];
        }
    }
    let (at, max) = worst.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default();
    let mean = worst.iter().sum::<f64>() / count as f64;
    let nll = (sum - expected_sum).abs() / count as f64;
    let text = recorded.text.file_name().unwrap_or_default().display();
    let summary = format!(
        "{name}, {count} tokens of {text}: error of logits {max:.4} (after token {at}), mean {mean:.4}; error of the mean NLL {nll:.5}"
    );
    roci_testkit::note(&summary);
    // NaN fails every comparison.
    let passes = max < allowed.logit && mean < allowed.mean && nll < allowed.nll;
    if passes { Ok(()) } else { Err(format!("{summary}; limits: {allowed:?}").into()) }
}
