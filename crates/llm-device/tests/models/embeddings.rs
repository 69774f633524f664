//! Embeddings of each pooling type on the CPU driver, through an engine, held to the reference.
//!
//! What each type means is llama.cpp's: `mean` is over all tokens, `cls` is the first, `last` the last, each after the last norm and scaled to
//! length 1.

use std::sync::Arc;

use libtest_mimic::Trial;
use roci_engine::{Engine, Settings};
use roci_llm::architecture::{Model, Pooling};
use roci_llm::reference::{Reference, Text};
use roci_llm::synthetic::talking;
use roci_llm_device::{CacheType, DeviceModel, Options};
use roci_tokenizer::Tokenizer;

use crate::{devices, distance, tolerance};

/// Tokens of a text; one call takes 16.
const LENGTH: usize = 50;
const BATCH: usize = 16;
const PAGE: usize = 16;

/// One for each type that gives an embedding, by its number in files.
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
    let options = Options { kept: Some(512), page: PAGE, batch: Some(BATCH), ..Options::default() };
    let forward = DeviceModel::load(file, model, std::slice::from_ref(&device), &options, &|_, _| ())
        .map_err(|error| text(&error))?;
    let engine = Engine::start(Box::new(forward), tokenizer, Settings::default());

    let most = tolerance(&case, CacheType::F16, &device, true);
    let tokens = case.tokens(LENGTH);
    let others = [Pooling::Mean, Pooling::Cls, Pooling::Last].into_iter().filter(|other| *other != pooling);
    let others: Vec<Vec<f32>> = others.map(|other| expected(&reference, other, &tokens)).collect();
    // All of it; again, when keys and values of its beginning are kept; and a part that ends with a page of them.
    for length in [LENGTH, LENGTH, 2 * PAGE] {
        let found = engine.embed(&tokens[..length]).map_err(|error| text(&error))?;
        let off = distance(&found, &expected(&reference, pooling, &tokens[..length]));
        if off.is_nan() || off > most {
            return Err(format!("{length} tokens are off by {off:.1e}; {most:.0e} is allowed"));
        }
        if length == LENGTH && others.iter().any(|other| distance(&found, other) < 10.0 * most) {
            return Err(format!("{pooling} cannot be told from another type"));
        }
    }
    let shared = engine.statistics().shared_tokens as usize;
    let reused = if pooling == Pooling::Last { (LENGTH - 1) / PAGE * PAGE + PAGE } else { 0 };
    if shared == reused { Ok(()) } else { Err(format!("{shared} tokens were shared where {reused} can be")) }
}

fn expected(reference: &Reference, pooling: Pooling, tokens: &[u32]) -> Vec<f32> {
    let mut seen = Text::default();
    let rows: Vec<Vec<f32>> =
        tokens.iter().map(|token| reference.hidden(&mut seen, *token).expect("it is known")).collect();
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
