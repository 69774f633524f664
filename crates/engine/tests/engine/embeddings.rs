//! Embeddings by the model's pooling type, held to the reference.
//!
//! What each type means is llama.cpp's: `mean` is over all tokens, `cls` is the first, `last` the last, each after the last norm and scaled to
//! length 1. A model without the key has the type `none`, of which its server makes no embedding.

use roci_engine::{EngineError, ReferenceForward};
use roci_hal::Hint as _;
use roci_llm::architecture::Pooling;
use roci_llm::reference::Text;

use crate::kit::{PAGE, Watched, answer, pooled, request, room, start, tokens};

const TEXT: &str = "The quick brown fox jumps over the lazy dog and runs away from all the hounds";
/// What pooling does beside the reference: a sum in f64, rounded to f32 once.
const ROUNDING: f64 = 1e-6;

/// Those that give an embedding, with their numbers in files.
const POOLED: [(u32, Pooling); 3] = [(1, Pooling::Mean), (2, Pooling::Cls), (3, Pooling::Last)];

/// What the reference makes of each token.
fn hidden(text: &[u32]) -> Vec<Vec<f32>> {
    let reference = pooled(None, 256);
    let mut state = Text::default();
    text.iter().map(|token| reference.hidden(&mut state, *token).expect("the model has the token")).collect()
}

fn expected(pooling: Pooling, text: &[u32]) -> Vec<f64> {
    let rows = hidden(text);
    let rows = match pooling {
        Pooling::Mean => &rows[..],
        Pooling::Cls => &rows[..1],
        Pooling::Last => &rows[rows.len() - 1..],
        other => panic!("{other} gives none"),
    };
    let mean = |at: usize| rows.iter().map(|row| f64::from(row[at])).sum::<f64>() / rows.len() as f64;
    let mean: Vec<f64> = (0..rows[0].len()).map(mean).collect();
    let length = mean.iter().map(|value| value * value).sum::<f64>().sqrt();
    mean.into_iter().map(|value| value / length).collect()
}

fn assert_close(found: &[f32], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((f64::from(*found) - expected).abs() < ROUNDING, "{what}: {found} for {expected}");
    }
}

fn watched(number: u32, pages: usize) -> Watched {
    Watched::of(ReferenceForward::new(pooled(Some(number), 256), room(pages)))
}

#[test]
fn each_pooling_type_gives_what_the_reference_gives_over_several_calls() {
    let text = tokens(TEXT);
    assert!(text.len() > 2 * 24, "one call takes 24 tokens");
    for (number, pooling) in POOLED {
        let forward = watched(number, 40);
        let calls = forward.calls();
        let engine = start(Box::new(forward));
        assert_close(&engine.embed(&text).expect("there is room"), &expected(pooling, &text), &pooling.to_string());
        assert!(calls.list().len() > 2, "it took several calls: {:?}", calls.list());
        // One token is the first, the last and all.
        assert_close(&engine.embed(&text[..1]).expect("there is room"), &expected(Pooling::Cls, &text[..1]), "one");
    }
}

#[test]
fn a_shared_prefix_makes_no_difference() {
    let text = tokens(TEXT);
    for (number, pooling) in POOLED {
        let engine = start(Box::new(watched(number, 80)));
        let alone = engine.embed(&text).expect("there is room");
        answer(engine.generate(request(TEXT, 4, 1)).expect("there is room"));
        let before = engine.statistics().shared_tokens;
        let again = engine.embed(&text).expect("there is room");
        assert_eq!(again, alone, "{pooling}");
        // The last token has to be read again, all for the mean, and the first with all that follow it.
        let shared = (engine.statistics().shared_tokens - before) as usize;
        let most = if pooling == Pooling::Last { (text.len() - 1) / PAGE * PAGE } else { 0 };
        assert_eq!(shared, most, "{pooling}");
        // A text that ends within what another has read, at the end of a page.
        let part = &text[..2 * PAGE];
        assert_close(&engine.embed(part).expect("there is room"), &expected(pooling, part), &pooling.to_string());
    }
}

#[test]
fn texts_that_come_together_give_what_each_gives_alone() {
    let texts: Vec<Vec<u32>> = (0..5).map(|number| tokens(&format!("{TEXT} {number}"))).collect();
    for (number, pooling) in POOLED {
        let (forward, leave) = watched(number, 80).held();
        let calls = forward.calls();
        let engine = start(Box::new(forward));
        let writer = engine.generate(request(TEXT, 20, 7)).expect("there is room");
        let running: Vec<_> = texts
            .iter()
            .map(|text| {
                let (engine, text) = (engine.clone(), text.clone());
                std::thread::spawn(move || engine.embed(&text))
            })
            .collect();
        leave.wait();
        // All of them are known to the engine before the first call goes on.
        let under_way = || {
            let statistics = engine.statistics();
            statistics.waiting + statistics.working
        };
        while under_way() < texts.len() + 1 {
            std::thread::yield_now();
        }
        drop(leave);
        for (text, running) in texts.iter().zip(running) {
            let found = running.join().expect("no panic").expect("there is room");
            assert_close(&found, &expected(pooling, text), &pooling.to_string());
        }
        answer(writer);
        assert!(calls.list().iter().any(|call| call.len() > 1), "{:?}", calls.list());
    }
}

#[test]
fn pooling_types_without_an_embedding_are_refused_by_name() {
    for (number, pooling) in [(None, Pooling::Unspecified), (Some(0), Pooling::None), (Some(4), Pooling::Rank)] {
        let engine = start(Box::new(ReferenceForward::new(pooled(number, 256), room(9))));
        let error = engine.embed(&[1, 2]).expect_err("it has no embedding");
        assert_eq!(error, EngineError::Pooling(pooling));
        assert!(error.to_string().contains(&format!("`{pooling}`")), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("`last`")));
        assert_eq!(engine.statistics().failed, 0, "nothing was begun");
        answer(engine.generate(request("a", 2, 1)).expect("it writes all the same"));
    }
}
