//! Real models on devices against logits that others computed, teacher-forced.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use roci_engine::{Chunk, Forward as _, Wanted};
use roci_gguf::Gguf;
use roci_hal::Device;
use roci_llm::architecture::Model;
use roci_llm::sample::log_probability;
use roci_llm_device::{DeviceModel, Options};

use crate::devices;

/// Tokens that are read at once, and from which on one by one.
const CHUNK: usize = 7;
const ALONE: usize = 14;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models/gguf")
}

/// A trial for each device and recorded text; none where there are no records.
pub(crate) fn trials() -> Vec<Trial> {
    if !folder().is_dir() {
        return vec![Trial::test("stories", || {
            roci_testkit::absent("stories told by real models on devices (../shared/models/gguf)");
            Ok(())
        })];
    }
    let mut trials = Vec::new();
    for (name, open) in devices::all() {
        for (model, text, most) in
            [("stories260K-f32", "bos", 100), ("stories15M-q4_0", "bos", 12), ("stories15M-q4_0", "prompt", 24)]
        {
            trials.push(Trial::test(format!("{name}/{model}-{text}"), move || match open() {
                Ok(device) => compare(&device, model, text, most),
                Err(reason) => devices::missing(name, &reason),
            }));
        }
    }
    trials
}

/// Reads at most `most` tokens of a recorded text, and compares what the model expects after each.
fn compare(device: &Device, model: &str, text: &str, most: usize) -> Result<(), Failed> {
    let file = Arc::new(Gguf::open(folder().join(format!("{model}.gguf")))?);
    let recorded = std::fs::read_to_string(folder().join(format!("{model}.{text}.json")))?;
    let recorded: serde_json::Value = serde_json::from_str(&recorded)?;
    let sequence: Vec<u32> = serde_json::from_value(recorded["sequence"].clone())?;
    let highest: Vec<Vec<(u32, f32)>> = serde_json::from_value(recorded["top10_logits_per_position"].clone())?;
    let surprise: Vec<f64> = serde_json::from_value(recorded["nll_next_token"].clone())?;
    // As the vectors' own page states: with f32 activations, and with those of 8 bits, which the CPU has beside quantised weights.
    let rounded = roci_kernels::takes_native(device.info()) && !model.ends_with("f32");
    let (allowed, mean) = if rounded { (0.5, 0.05) } else { (0.02, 0.02) };

    let described = Model::new(&file, Some(256)).map_err(|error| error.to_string())?;
    let mut found = DeviceModel::load(file, described, std::slice::from_ref(device), &Options::default(), &|_, _| ())
        .map_err(|error| error.to_string())?;
    let pages: Vec<u32> = (0..found.limits().pages as u32).rev().collect();
    let count = sequence.len().min(most);
    let mut rows = Vec::new();
    while rows.len() < count {
        let start = rows.len();
        let end = (start + if start < ALONE { CHUNK } else { 1 }).min(count);
        let chunk = Chunk { tokens: &sequence[start..end], start, pages: &pages, wanted: Wanted::Each };
        rows.extend(found.evaluate(&[chunk]).map_err(|error| error.to_string())?.remove(0).rows);
    }
    let (mut sum, mut wanted_sum) = (0.0, 0.0);
    for (at, logits) in rows.iter().enumerate() {
        for &(token, wanted) in &highest[at] {
            let found = logits[token as usize];
            if (found - wanted).abs() >= allowed {
                return Err(format!("after {at} tokens, token {token}: {found} for {wanted}").into());
            }
        }
        if let Some(&next) = sequence.get(at + 1) {
            sum -= f64::from(log_probability(logits, next));
            wanted_sum += surprise[at];
        }
    }
    if (sum - wanted_sum).abs() / count as f64 >= mean {
        return Err(format!("{sum} for {wanted_sum}").into());
    }
    Ok(())
}
