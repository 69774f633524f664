//! Compares real models with recorded logits of other programs (teacher forcing).

use std::path::{Path, PathBuf};

use roci_gguf::Gguf;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::sample::log_probability;

/// Tolerance of the ten highest logits, as the publisher of the recorded logits states for f32
/// activations.
const LOGITS: f32 = 0.02;
/// Tolerance of the mean negative log-likelihood.
const MEAN: f64 = 0.02;

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/models/gguf");
    if !folder.is_dir() {
        roci_testkit::absent("real models (../shared/models/gguf)");
        return None;
    }
    Some(folder)
}

/// Evaluates at most `most` tokens of a recorded text and compares the logits after each.
fn compare(model: &str, text: &str, most: usize) {
    let Some(folder) = folder() else { return };
    let file = Gguf::open(folder.join(format!("{model}.gguf"))).expect("the file opens");
    let reference = Reference::new(&file, Model::new(&file, None).expect("the architecture is supported"))
        .expect("the file has all weights");
    let recorded = std::fs::read_to_string(folder.join(format!("{model}.{text}.json"))).expect("the record exists");
    let recorded: serde_json::Value = serde_json::from_str(&recorded).expect("the record is valid JSON");
    let sequence: Vec<u32> = serde_json::from_value(recorded["sequence"].clone()).expect("the record has tokens");
    let highest: Vec<Vec<(u32, f32)>> =
        serde_json::from_value(recorded["top10_logits_per_position"].clone()).expect("the record has logits");
    let expected_nll: Vec<f64> =
        serde_json::from_value(recorded["nll_next_token"].clone()).expect("the record has likelihoods");

    let mut state = SequenceState::default();
    let (mut found, mut expected) = (0.0, 0.0);
    let count = sequence.len().min(most);
    for (at, &token) in sequence.iter().enumerate().take(count) {
        let logits = reference.logits(&mut state, token).expect("the token is in the vocabulary");
        for &(token, expected) in &highest[at] {
            let found = logits[token as usize];
            assert!(
                (found - expected).abs() < LOGITS,
                "{model} {text}, after {at} tokens, token {token}: {found} for {expected}"
            );
        }
        if let Some(&next) = sequence.get(at + 1) {
            found -= f64::from(log_probability(&logits, next));
            expected += expected_nll[at];
        }
    }
    assert!((found - expected).abs() / (count as f64) < MEAN, "{model} {text}: {found} for {expected}");
}

#[test]
fn stories260k_matches_the_recorded_logits() {
    compare("stories260K-f32", "bos", 201);
}

#[test]
fn stories15m_matches_the_recorded_logits() {
    compare("stories15M-q4_0", "bos", 12);
    compare("stories15M-q4_0", "prompt", 24);
}
