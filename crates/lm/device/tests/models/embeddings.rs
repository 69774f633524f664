//! Embeddings of each pooling type on the CPU driver, through an engine, compared with the
//! reference.
//!
//! The types are llama.cpp's: `mean` averages all tokens, `cls` takes the first and `last` the
//! last, each after the final norm and scaled to length 1.

use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Engine, Settings};
use roci_lm::architecture::{Model, Pooling};
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::talking;
use roci_lm_device::{CacheType, DeviceModel, Options};
use roci_testkit::tolerance::distance;
use roci_tokenizer::Tokenizer;

use crate::{compare, devices, tolerance};

/// Tokens of the sequence; one call takes 16.
const LENGTH: usize = 50;
const BATCH: usize = 16;
const PAGE: usize = 16;

/// A trial per type that gives an embedding, with its value in files.
pub(crate) fn trials() -> Vec<Trial> {
    let trial = |(number, pooling): (u32, Pooling)| {
        Trial::test(format!("cpu/pooling-{pooling}"), move || check(number, pooling).map_err(Into::into))
    };
    [(1, Pooling::Mean), (2, Pooling::Cls), (3, Pooling::Last)].into_iter().map(trial).collect()
}

fn check(number: u32, pooling: Pooling) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let mut case = talking();
    case.metadata.push(("llama.pooling_type".to_owned(), number.into()));
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let reference = Reference::new(&file, model.clone()).map_err(|error| text(&error))?;
    let tokenizer = Arc::new(Tokenizer::from_metadata(file.metadata()).map_err(|error| text(&error))?);
    let device = devices::open("cpu")?;
    let options =
        Options { cache_tokens: Some(512), page_size: PAGE, max_batch_tokens: Some(BATCH), ..Options::default() };
    let forward = DeviceModel::load(file, model, std::slice::from_ref(&device), &options, &|_, _| ())
        .map_err(|error| text(&error))?;
    let engine = Engine::start(Box::new(forward), tokenizer, Settings::default());

    let tolerance = tolerance(&case, CacheType::F16, &device, true);
    let tokens = case.tokens(LENGTH);
    let others = [Pooling::Mean, Pooling::Cls, Pooling::Last].into_iter().filter(|other| *other != pooling);
    let others: Vec<Vec<f32>> = others.map(|other| expected(&reference, other, &tokens)).collect();
    // The whole sequence, again with a cached prefix, and a prefix that ends at a page boundary.
    for length in [LENGTH, LENGTH, 2 * PAGE] {
        let found = engine.embed(&tokens[..length]).map_err(|error| text(&error))?;
        let expected = expected(&reference, pooling, &tokens[..length]);
        compare(&found, &expected, tolerance, &format!("{length} tokens"))?;
        if length == LENGTH && others.iter().any(|other| distance(&found, other) < 10.0 * tolerance.bound()) {
            return Err(format!("the embedding of {pooling} matches another type's"));
        }
    }
    let shared = engine.statistics().cached_tokens as usize;
    let reused = if pooling == Pooling::Last { (LENGTH - 1) / PAGE * PAGE + PAGE } else { 0 };
    if shared == reused {
        Ok(())
    } else {
        Err(format!("{shared} tokens came from the prefix cache, expected {reused}"))
    }
}

fn expected(reference: &Reference, pooling: Pooling, tokens: &[u32]) -> Vec<f32> {
    let mut state = SequenceState::default();
    let rows: Vec<Vec<f32>> = tokens
        .iter()
        .map(|token| reference.hidden(&mut state, *token).expect("the token is in the vocabulary"))
        .collect();
    let rows = match pooling {
        Pooling::Mean => &rows[..],
        Pooling::Cls => &rows[..1],
        _ => &rows[rows.len() - 1..],
    };
    let sum = |at: usize| rows.iter().map(|row| f64::from(row[at])).sum::<f64>();
    let sums: Vec<f64> = (0..rows[0].len()).map(sum).collect();
    let length = sums.iter().map(|sum| sum * sum).sum::<f64>().sqrt();
    sums.into_iter().map(|sum| (sum / length) as f32).collect()
}
