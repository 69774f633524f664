//! Real models against logits that others computed, teacher-forced.

use std::path::{Path, PathBuf};

use roci_gguf::Gguf;
use roci_llm::architecture::Model;
use roci_llm::reference::{Reference, Text};
use roci_llm::sample::log_probability;

/// How far the ten highest logits may be off, as the vectors' own page states for f32 activations.
const LOGITS: f32 = 0.02;
/// How far the mean of the negative log-probabilities may be off.
const MEAN: f64 = 0.02;

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models/gguf");
    if !folder.is_dir() {
        roci_testkit::absent("stories told by real models (../shared/models/gguf)");
        return None;
    }
    Some(folder)
}

/// Reads at most `most` tokens of a recorded text, and compares what the model expects after each.
fn compare(model: &str, text: &str, most: usize) {
    let Some(folder) = folder() else { return };
    let file = Gguf::open(folder.join(format!("{model}.gguf"))).expect("the file opens");
    let reference =
        Reference::new(&file, Model::new(&file, None).expect("the model is known")).expect("it has weights");
    let recorded = std::fs::read_to_string(folder.join(format!("{model}.{text}.json"))).expect("the record is there");
    let recorded: serde_json::Value = serde_json::from_str(&recorded).expect("the record is JSON");
    let sequence: Vec<u32> = serde_json::from_value(recorded["sequence"].clone()).expect("there are tokens");
    let highest: Vec<Vec<(u32, f32)>> =
        serde_json::from_value(recorded["top10_logits_per_position"].clone()).expect("there are logits");
    let surprise: Vec<f64> =
        serde_json::from_value(recorded["nll_next_token"].clone()).expect("there are probabilities");

    let mut state = Text::default();
    let (mut found, mut wanted) = (0.0, 0.0);
    let count = sequence.len().min(most);
    for (at, &token) in sequence.iter().enumerate().take(count) {
        let logits = reference.logits(&mut state, token).expect("the model has the token");
        for &(token, wanted) in &highest[at] {
            let found = logits[token as usize];
            assert!(
                (found - wanted).abs() < LOGITS,
                "{model} {text}, after {at} tokens, token {token}: {found} for {wanted}"
            );
        }
        if let Some(&next) = sequence.get(at + 1) {
            found -= f64::from(log_probability(&logits, next));
            wanted += surprise[at];
        }
    }
    assert!((found - wanted).abs() / (count as f64) < MEAN, "{model} {text}: {found} for {wanted}");
}

#[test]
fn stories_of_a_quarter_million_parameters() {
    compare("stories260K-f32", "bos", 201);
}

#[test]
fn stories_of_fifteen_million_parameters() {
    compare("stories15M-q4_0", "bos", 12);
    compare("stories15M-q4_0", "prompt", 24);
}
