//! Embeddings of each pooling type, compared with the reference.
//!
//! The types are llama.cpp's: `mean` averages all tokens, `cls` takes the first and `last` the
//! last, each after the final norm and scaled to length 1. A model without the key has the type
//! `none`, for which llama.cpp's server returns no embedding.

use roci_base::Hint as _;
use roci_engine::{EngineError, ReferenceForward};
use roci_lm::architecture::Pooling;
use roci_lm::reference::SequenceState;
use roci_testkit::Tolerance;

use crate::common::{MockDevice, PAGE, answer, capacity, pooled, request, start, tokens};

const TEXT: &str = "The quick brown fox jumps over the lazy dog and runs away from all the hounds";

/// Types that give an embedding, with their values in GGUF files.
const POOLED: [(u32, Pooling); 3] = [(1, Pooling::Mean), (2, Pooling::Cls), (3, Pooling::Last)];

/// Hidden states of the reference.
fn hidden(text: &[u32]) -> Vec<Vec<f32>> {
    let reference = pooled(None, 256);
    let mut state = SequenceState::default();
    text.iter().map(|token| reference.hidden(&mut state, *token).expect("the token is in the vocabulary")).collect()
}

fn expected(pooling: Pooling, text: &[u32]) -> Vec<f64> {
    let rows = hidden(text);
    let rows = match pooling {
        Pooling::Mean => &rows[..],
        Pooling::Cls => &rows[..1],
        Pooling::Last => &rows[rows.len() - 1..],
        other => panic!("{other} gives no embedding"),
    };
    let mean = |at: usize| rows.iter().map(|row| f64::from(row[at])).sum::<f64>() / rows.len() as f64;
    let mean: Vec<f64> = (0..rows[0].len()).map(mean).collect();
    let length = mean.iter().map(|value| value * value).sum::<f64>().sqrt();
    mean.into_iter().map(|value| value / length).collect()
}

fn assert_close(found: &[f32], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(Tolerance::Close.error_ratio((*found).into(), *expected) <= 1.0, "{what}: {found} for {expected}");
    }
}

fn mock(number: u32, pages: usize) -> MockDevice {
    MockDevice::of(ReferenceForward::new(pooled(Some(number), 256), capacity(pages)))
}

#[test]
fn each_pooling_type_matches_the_reference_over_several_calls() {
    let text = tokens(TEXT);
    assert!(text.len() > 2 * 24, "one call takes 24 tokens");
    for (number, pooling) in POOLED {
        let forward = mock(number, 40);
        let calls = forward.calls();
        let engine = start(Box::new(forward));
        assert_close(
            &engine.embed(&text).expect("the request is accepted"),
            &expected(pooling, &text),
            &pooling.to_string(),
        );
        assert!(calls.list().len() > 2, "it took several calls: {:?}", calls.list());
        // With one token all types agree.
        assert_close(
            &engine.embed(&text[..1]).expect("the request is accepted"),
            &expected(Pooling::Cls, &text[..1]),
            "one",
        );
    }
}

#[test]
fn a_cached_prefix_does_not_change_the_result() {
    let text = tokens(TEXT);
    for (number, pooling) in POOLED {
        let engine = start(Box::new(mock(number, 80)));
        let alone = engine.embed(&text).expect("the request is accepted");
        answer(engine.generate(request(TEXT, 4, 1)).expect("the request is accepted"));
        let before = engine.statistics().cached_tokens;
        let again = engine.embed(&text).expect("the request is accepted");
        assert_eq!(again, alone, "{pooling}");
        // `last` evaluates its last token again; `mean` and `cls` evaluate all tokens again.
        let shared = (engine.statistics().cached_tokens - before) as usize;
        let most = if pooling == Pooling::Last { (text.len() - 1) / PAGE * PAGE } else { 0 };
        assert_eq!(shared, most, "{pooling}");
        // A prompt that is a prefix of a cached one and ends at a page boundary.
        let part = &text[..2 * PAGE];
        assert_close(
            &engine.embed(part).expect("the request is accepted"),
            &expected(pooling, part),
            &pooling.to_string(),
        );
    }
}

#[test]
fn concurrent_embeddings_match_the_reference() {
    let texts: Vec<Vec<u32>> = (0..5).map(|number| tokens(&format!("{TEXT} {number}"))).collect();
    for (number, pooling) in POOLED {
        let (forward, gate) = mock(number, 80).gated();
        let calls = forward.calls();
        let engine = start(Box::new(forward));
        let decoding = engine.generate(request(TEXT, 20, 7)).expect("the request is accepted");
        let running: Vec<_> = texts
            .iter()
            .map(|text| {
                let (engine, text) = (engine.clone(), text.clone());
                std::thread::spawn(move || engine.embed(&text))
            })
            .collect();
        gate.wait();
        // All requests are queued before the first call continues.
        let active = || {
            let statistics = engine.statistics();
            statistics.waiting + statistics.running
        };
        while active() < texts.len() + 1 {
            std::thread::yield_now();
        }
        drop(gate);
        for (text, running) in texts.iter().zip(running) {
            let found = running.join().expect("no panic").expect("the request is accepted");
            assert_close(&found, &expected(pooling, text), &pooling.to_string());
        }
        answer(decoding);
        assert!(calls.list().iter().any(|call| call.len() > 1), "{:?}", calls.list());
    }
}

#[test]
fn pooling_types_without_an_embedding_are_rejected_by_name() {
    for (number, pooling) in [(None, Pooling::Unspecified), (Some(0), Pooling::None), (Some(4), Pooling::Rank)] {
        let engine = start(Box::new(ReferenceForward::new(pooled(number, 256), capacity(9))));
        let error = engine.embed(&[1, 2]).expect_err("the type gives no embedding");
        assert_eq!(error, EngineError::Pooling(pooling));
        assert!(error.to_string().contains(&format!("`{pooling}`")), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("`last`")));
        assert_eq!(engine.statistics().failed, 0, "rejected requests do not count as failed");
        answer(engine.generate(request("a", 2, 1)).expect("generation still works"));
    }
}
