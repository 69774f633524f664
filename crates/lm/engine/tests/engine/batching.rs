//! Continuous batching: concurrent requests do not change a result.

use roci_engine::{Engine, FinishReason, ReferenceForward, Request, Settings, Statistics};
use roci_lm::reference::SequenceState;
use roci_lm::sample;

use crate::common::{MockDevice, answer, capacity, engine, reference, request, start, tokenizer, tokens};

const PROMPTS: [&str; 6] = [
    "Once upon a time there was",
    "x",
    "The quick brown fox jumps over the lazy dog and runs away",
    "é€ß",
    "12 + 30 =",
    "a",
];

fn requests() -> Vec<Request> {
    PROMPTS.iter().zip(0..).map(|(prompt, seed)| request(prompt, 20 + 3 * seed as usize, seed)).collect()
}

#[test]
fn greedy_tokens_match_the_reference() {
    let reference = reference(256);
    let mut text = SequenceState::default();
    let mut logits = Vec::new();
    for token in tokens(PROMPTS[0]) {
        logits = reference.logits(&mut text, token).expect("the token is in the vocabulary");
    }
    let mut expected = Vec::new();
    for _ in 0..12 {
        let token = sample::likeliest(&logits, 1)[0].token;
        expected.push(token);
        logits = reference.logits(&mut text, token).expect("the token is in the vocabulary");
    }
    let greedy = Request { sampling: sample::Settings::greedy(), ..request(PROMPTS[0], 12, 0) };
    let found = answer(engine(capacity(40)).generate(greedy).expect("the request is accepted"));
    assert_eq!(found.tokens, expected);
    assert_eq!(found.summary.reason, FinishReason::Length);
    assert_eq!(found.summary.prompt_tokens, tokens(PROMPTS[0]).len());
}

#[test]
fn concurrent_requests_generate_what_each_generates_alone() {
    let alone: Vec<_> = requests()
        .into_iter()
        .map(|request| answer(engine(capacity(40)).generate(request).expect("the request is accepted")).tokens)
        .collect();
    let (forward, gate) = MockDevice::new(capacity(40)).gated();
    let calls = forward.calls();
    let engine = start(Box::new(forward));
    let running: Vec<_> =
        requests().into_iter().map(|request| engine.generate(request).expect("the request is accepted")).collect();
    drop(gate);
    let together: Vec<_> = running.into_iter().map(|generation| answer(generation).tokens).collect();
    assert_eq!(together, alone);
    assert!(
        calls.list().iter().any(|call| call.len() == PROMPTS.len()),
        "one call had all requests: {:?}",
        calls.list()
    );
    let statistics = engine.statistics();
    assert_eq!(statistics.generated_tokens as usize, alone.iter().map(Vec::len).sum::<usize>());
    assert_eq!((statistics.completed, statistics.running, statistics.waiting, statistics.pages_used), (6, 0, 0, 0));
}

#[test]
fn decoding_continues_during_a_prefill() {
    let (forward, gate) = MockDevice::new(capacity(40)).gated();
    let calls = forward.calls();
    let engine = start(Box::new(forward));
    let decoding = engine.generate(request("a", 60, 1)).expect("the request is accepted");
    // The first call evaluates the prompt; the second is the first decode step.
    gate.wait();
    gate.go();
    gate.wait();
    let long = "many words ".repeat(12);
    let length = tokens(&long).len();
    let prefilling = engine.generate(request(&long, 1, 2)).expect("the request is accepted");
    drop(gate);
    answer(prefilling);
    assert_eq!(answer(decoding).tokens.len(), 60);
    let calls = calls.list();
    let prefill: Vec<_> = calls.iter().skip(1).filter(|call| call.len() > 1).collect();
    assert_eq!(prefill.len(), length.div_ceil(23), "the prompt gets all remaining tokens: {calls:?}");
    assert!(prefill.iter().all(|call| call[0] == 1), "each call has a decode step: {calls:?}");
}

#[test]
fn short_prompts_are_not_delayed_by_long_ones() {
    let (forward, gate) = MockDevice::new(capacity(80)).gated();
    let calls = forward.calls();
    let engine = start(Box::new(forward));
    // The engine is blocked in a call with this one and receives the others afterwards.
    let first = engine.generate(request("a", 1, 0)).expect("the request is accepted");
    gate.wait();
    let long = engine.generate(request(&"many words ".repeat(12), 1, 1)).expect("the request is accepted");
    let short = engine.generate(request("few words", 1, 2)).expect("the request is accepted");
    drop(gate);
    [first, long, short].into_iter().for_each(|generation| drop(answer(generation)));
    let calls = calls.list();
    let short = tokens("few words").len();
    let shared = calls.iter().find(|call| call.len() == 2).expect("one call has both");
    assert_eq!(shared, &[short, 24 - short], "the short one comes first, the long one gets the rest: {calls:?}");
}

#[test]
fn an_engine_respects_the_limits_of_its_device() {
    let narrow = roci_engine::KvCapacity { max_batch_tokens: 2, max_chunks: 3, ..capacity(40) };
    let forward = MockDevice::new(narrow);
    let calls = forward.calls();
    let engine = start(Box::new(forward));
    let running: Vec<_> =
        requests().into_iter().map(|request| engine.generate(request).expect("the request is accepted")).collect();
    running.into_iter().for_each(|generation| drop(answer(generation)));
    assert!(calls.list().iter().all(|call| call.iter().sum::<usize>() <= 2));
}

#[test]
fn statistics_start_at_zero() {
    let forward = ReferenceForward::new(reference(256), capacity(7));
    let engine = Engine::start(Box::new(forward), tokenizer(), Settings::default());
    let mut expected = Statistics::default();
    expected.pages = 7;
    assert_eq!(engine.statistics(), expected);
    assert_eq!((engine.limits().context, engine.context()), (256, 56));
}
