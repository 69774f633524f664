//! Non-causal models and rerankers, through the engine on the reference.

use roci_base::Hint as _;
use roci_engine::{EngineError, KvCapacity, ReferenceForward, Request};
use roci_lm::architecture::{Model, Pooling};
use roci_lm::reference::Reference;
use roci_lm::synthetic::{Case, embedders};
use roci_testkit::Tolerance;

use crate::common::{MockDevice, PAGE, start};

const BATCH: usize = 24;

fn case(name: &str) -> Case {
    embedders().into_iter().find(|case| case.name == name).expect("the case exists")
}

fn reference(case: &Case) -> Reference {
    let file = case.open().expect("the synthetic file is valid");
    let model = Model::new(&file, Some(case.context)).expect("the architecture is supported");
    Reference::new(&file, model).expect("the file has all weights")
}

fn forward(case: &Case) -> ReferenceForward {
    let capacity = KvCapacity { page_size: PAGE, pages: 40, max_batch_tokens: BATCH, max_chunks: 12, state_slots: 0 };
    ReferenceForward::new(reference(case), capacity)
}

fn pooled(case: &Case, text: &[u32]) -> Vec<f32> {
    reference(case).pooled(text).expect("the tokens are in the vocabulary").expect("the model pools")
}

fn assert_embedding(case: &Case, found: &[f32], text: &[u32]) {
    let expected = pooled(case, text);
    let length = expected.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let ratio = Tolerance::Close.error_ratio((*found).into(), f64::from(expected) / length);
        assert!(ratio <= 1.0, "{}: {found} for {expected}", case.name);
    }
}

#[test]
fn embeddings_match_the_reference() {
    for name in ["bert", "bert-mean", "nomic-bert-moe", "gemma-embedding-dense", "qwen3-embedding"] {
        let case = case(name);
        let engine = start(Box::new(forward(&case)));
        for length in [BATCH, 7, 1] {
            let text = &case.tokens(40)[..length];
            assert_embedding(&case, &engine.embed(text).expect("the request is accepted"), text);
        }
        assert_eq!(engine.embedding_length(), 64, "{name}");
    }
}

#[test]
fn a_whole_text_is_one_chunk_and_shares_nothing() {
    let case = case("bert-mean");
    let (forward, gate) = MockDevice::of(forward(&case)).gated();
    let calls = forward.calls();
    let engine = start(Box::new(forward));
    let tokens = case.tokens(80);
    // The longest text is the oldest: later, shorter ones do not overtake it.
    let texts: Vec<Vec<u32>> = [20, 9, 9, 4].iter().map(|&length| tokens[..length].to_vec()).collect();
    let submit = |(index, text): (usize, &Vec<u32>)| {
        let (thread, text) = (engine.clone(), text.clone());
        let running = std::thread::spawn(move || thread.embed(&text));
        // Submitted in order.
        let active = || {
            let statistics = engine.statistics();
            statistics.waiting + statistics.running
        };
        while active() <= index {
            std::thread::yield_now();
        }
        running
    };
    let running: Vec<_> = texts.iter().enumerate().map(submit).collect();
    gate.wait();
    drop(gate);
    for (text, running) in texts.iter().zip(running) {
        assert_embedding(&case, &running.join().expect("no panic").expect("the request is accepted"), text);
    }
    let calls = calls.list();
    assert!(calls.iter().all(|call| call.iter().sum::<usize>() <= BATCH), "{calls:?}");
    let mut chunks = calls.concat();
    chunks.sort_unstable();
    assert_eq!(chunks, [4, 9, 9, 20], "each text is one chunk: {calls:?}");
    assert_eq!(engine.statistics().cached_tokens, 0);
}

#[test]
fn texts_beyond_a_batch_and_generation_are_refused() {
    let case = case("bert");
    let engine = start(Box::new(forward(&case)));
    let text = case.tokens(BATCH + 1);
    let error = engine.embed(&text).expect_err("it does not fit");
    assert_eq!(error, EngineError::TextTooLong { tokens: BATCH + 1, batch: BATCH });
    assert!(error.to_string().contains("25 tokens") && error.hint().is_some(), "{error}");
    let error = engine.generate(Request { prompt: vec![1], ..Request::default() }).expect_err("it cannot generate");
    assert_eq!(error, EngineError::NotGenerative);
    assert!(error.hint().is_some_and(|hint| hint.contains("/v1/embeddings")));
    // Causal models evaluate a text in parts.
    let causal = self::case("qwen3-embedding");
    let engine = start(Box::new(forward(&causal)));
    let text = causal.tokens(40);
    assert_embedding(&causal, &engine.embed(&text).expect("the request is accepted"), &text);
}

#[test]
fn scores_match_the_reference_and_belong_to_rerankers() {
    for name in ["bert-rank", "bert-rank-direct", "qwen3-rank"] {
        let case = case(name);
        let engine = start(Box::new(forward(&case)));
        let text = case.tokens(20);
        let expected = pooled(&case, &text)[0];
        let found = engine.score(&text).expect("the request is accepted");
        assert!(Tolerance::Close.error_ratio(found.into(), expected.into()) <= 1.0, "{name}: {found} for {expected}");
        assert_eq!(engine.embed(&text), Err(EngineError::Pooling(Pooling::Rank)));
    }
    let engine = start(Box::new(forward(&case("bert-mean"))));
    let error = engine.score(&[1, 2]).expect_err("it is no reranker");
    assert_eq!(error, EngineError::NoScores(Pooling::Mean));
    assert!(error.hint().is_some_and(|hint| hint.contains("`rank`")));
}

#[test]
fn pairs_follow_the_template_or_the_special_tokens() {
    let tokenizer = crate::common::tokenizer();
    let encode = |template| roci_engine::encode_pair(&tokenizer, template, "a {document}", "b {query}");
    let text = |tokens: &[u32]| tokenizer.decode(tokens);
    assert_eq!(text(&encode(Some("Q: {query}\nD: {document}"))), "Q: a {document}\nD: b {query}");
    let plain = encode(None);
    assert_eq!(plain.first(), tokenizer.special().bos.as_ref());
    assert_eq!(text(&plain[1..]), "a {document} b {query}");
}
