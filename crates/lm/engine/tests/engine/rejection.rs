//! Requests that are invalid or too long, and a full queue.

use roci_base::Hint as _;
use roci_engine::{Engine, EngineError, Request, Settings};
use roci_lm::sample;

use crate::common::{MockDevice, PAGE, answer, capacity, engine, request, tokenizer};

#[test]
fn prompts_longer_than_the_context_are_rejected() {
    let long = |length: usize| Request { prompt: vec![7; length], ..request("", 1, 0) };
    let wide = engine(capacity(99));
    assert_eq!(wide.generate(long(256)).err(), Some(EngineError::TooLong { prompt: 256, context: 256 }));
    assert_eq!(answer(wide.generate(long(255)).expect("one token fits")).tokens.len(), 1);
    // Fewer pages than the context needs.
    let narrow = engine(capacity(3));
    let context = 3 * PAGE;
    assert_eq!(narrow.generate(long(context)).err(), Some(EngineError::TooLong { prompt: context, context }));
    assert_eq!(answer(narrow.generate(long(context - 1)).expect("the request is accepted")).tokens.len(), 1);
    assert_eq!(narrow.embed(&vec![7; context + 1]), Err(EngineError::TooLong { prompt: context + 1, context }));
    assert!(narrow.embed(&vec![7; context]).is_ok());
    assert_eq!(wide.statistics().failed + narrow.statistics().failed, 0, "rejected requests do not count as failed");
}

#[test]
fn invalid_prompts_and_settings_are_rejected() {
    let engine = engine(capacity(9));
    assert_eq!(engine.generate(Request::default()).err(), Some(EngineError::Empty));
    assert_eq!(engine.embed(&[]), Err(EngineError::Empty));
    let vocabulary = engine.limits().vocabulary;
    let unknown = EngineError::UnknownToken { token: vocabulary as u32, vocabulary };
    assert_eq!(engine.embed(&[1, vocabulary as u32]), Err(unknown));
    let sampling = sample::Settings { top_p: 2.0, ..sample::Settings::default() };
    let error = engine.generate(Request { sampling, ..request("a", 1, 0) }).expect_err("top_p is out of range");
    assert!(error.hint().is_some_and(|hint| hint.contains("top_p")));
}

#[test]
fn a_full_queue_rejects_requests() {
    let (forward, gate) = MockDevice::new(capacity(40)).gated();
    let engine = Engine::start(Box::new(forward), tokenizer(), Settings { max_batch: 1, max_waiting: 2 });
    let running: Vec<_> =
        (0..3).map(|seed| engine.generate(request("a", 3, seed)).expect("the request is accepted")).collect();
    assert_eq!(engine.generate(request("a", 3, 9)).err(), Some(EngineError::Busy { waiting: 2 }));
    drop(gate);
    running.into_iter().for_each(|generation| drop(answer(generation)));
    answer(engine.generate(request("a", 3, 9)).expect("the queue has space again"));
}

#[test]
fn a_request_for_zero_tokens_finishes_at_once() {
    let engine = engine(capacity(9));
    let nothing = answer(engine.generate(request("a", 0, 1)).expect("the request is accepted"));
    assert_eq!((nothing.tokens.len(), nothing.summary.reason), (0, roci_engine::FinishReason::Length));
    assert_eq!(engine.statistics().prompt_tokens, 0);
}
