//! Embedding models and rerankers on every driver, compared with the reference.

use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Chunk, Forward as _, OutputKind};
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::reference::Reference;
use roci_lm::synthetic::{Case, embedders};
use roci_lm_device::{CacheType, DeviceModel, Options};

use crate::{compare, devices, tolerance};

const PAGE: usize = 16;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, open) in devices::all() {
        for case in embedders() {
            trials.push(Trial::test(format!("{name}/embedder-{}", case.name), move || match open() {
                Ok(device) => check(&device, &case).map_err(Into::into),
                Err(reason) => devices::missing(name, &reason),
            }));
        }
    }
    trials
}

/// Hidden states of two texts in one call, of a text longer than a small batch, and of a single
/// token; then the layers after pooling.
fn check(device: &Device, case: &Case) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let reference = Reference::new(&file, model.clone()).map_err(|error| text(&error))?;
    let options = Options { cache_tokens: Some(512), page_size: PAGE, ..Options::default() };
    let mut found = DeviceModel::load(Arc::clone(&file), model, std::slice::from_ref(device), &options, &|_, _| ())
        .map_err(|error| text(&error))?;
    let tokens = case.tokens(100);
    let calls = [vec![&tokens[..40], &tokens[40..53]], vec![&tokens[..5], &tokens[5..9]], vec![&tokens[3..4]]];
    for (number, texts) in calls.iter().enumerate() {
        let pages = [[5, 2, 9, 11], [4, 8, 1, 3]];
        let chunks = texts.iter().zip(&pages).map(|(tokens, pages)| Chunk {
            tokens,
            start: 0,
            pages,
            state: None,
            output: OutputKind::HiddenStates,
        });
        let chunks: Vec<Chunk<'_>> = chunks.collect();
        let outputs = found.evaluate(&chunks).map_err(|error| text(&error))?;
        for (tokens, output) in texts.iter().zip(outputs) {
            let expected = reference.hidden_states(tokens).map_err(|error| text(&error))?;
            if output.rows.len() != expected.len() {
                return Err(format!("{} rows for {} tokens", output.rows.len(), expected.len()));
            }
            let tolerance = tolerance(case, CacheType::F16, device, number == 2);
            for (at, (row, expected)) in output.rows.iter().zip(&expected).enumerate() {
                compare(row, expected, tolerance, &format!("token {at} of {} in call {number}", tokens.len()))?;
            }
        }
    }
    let head = reference.head().is_some();
    if head == found.head().is_some() { Ok(()) } else { Err("the layers after pooling are missing".to_owned()) }
}
