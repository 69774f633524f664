//! Prefix cache, preemption and cancellation.

use roci_engine::{Event, FinishReason, Request};

use crate::common::{MockDevice, PAGE, answer, capacity, engine, request, start, tokens};

const PREFIX: &str = "You are a helpful machine. Answer shortly.";

#[test]
fn a_cached_prefix_is_not_evaluated_again() {
    let texts = [format!("{PREFIX} What is one?"), format!("{PREFIX} Who are you?")];
    let alone = answer(engine(capacity(40)).generate(request(&texts[1], 20, 4)).expect("the request is accepted"));
    assert_eq!(alone.summary.cached_tokens, 0);

    let engine = engine(capacity(40));
    answer(engine.generate(request(&texts[0], 20, 3)).expect("the request is accepted"));
    let before = engine.statistics();
    assert!(before.pages_cached > 0);
    let second = answer(engine.generate(request(&texts[1], 20, 4)).expect("the request is accepted"));
    assert_eq!(second.tokens, alone.tokens);
    let common = tokens(&texts[0]).iter().zip(tokens(&texts[1])).take_while(|(a, b)| **a == *b).count();
    assert_eq!(second.summary.cached_tokens, common / PAGE * PAGE);
    let statistics = engine.statistics();
    assert_eq!(statistics.cached_tokens as usize, second.summary.cached_tokens);
    let computed = statistics.prompt_tokens - before.prompt_tokens;
    assert_eq!(computed as usize, second.summary.prompt_tokens - second.summary.cached_tokens);
}

#[test]
fn a_repeated_prompt_evaluates_only_its_last_page() {
    // Whole pages: the last page cannot be shared, since its last token's logits are needed.
    let prompt = tokens(PREFIX)[..2 * PAGE].to_vec();
    let again = || Request { prompt: prompt.clone(), ..request("", 9, 5) };
    let engine = engine(capacity(40));
    let first = answer(engine.generate(again()).expect("the request is accepted"));
    let second = answer(engine.generate(again()).expect("the request is accepted"));
    assert_eq!(first.tokens, second.tokens);
    assert_eq!(second.summary.cached_tokens, PAGE);
    // Generated tokens are cached, too.
    let more = [&prompt[..], &first.tokens, &tokens(" And then?")[1..]].concat();
    let third =
        answer(engine.generate(Request { prompt: more, ..request("", 1, 6) }).expect("the request is accepted"));
    assert_eq!(
        third.summary.cached_tokens,
        (prompt.len() + 8) / PAGE * PAGE,
        "the last generated token was never evaluated"
    );
}

#[test]
fn a_prefix_of_concurrent_prompts_is_evaluated_once() {
    let (forward, gate) = MockDevice::new(capacity(80)).gated();
    let engine = start(Box::new(forward));
    let texts: Vec<String> = (0..5).map(|number| format!("{PREFIX} {number}?")).collect();
    let running: Vec<_> = texts
        .iter()
        .zip(0..)
        .map(|(text, seed)| engine.generate(request(text, 10, seed)).expect("the request is accepted"))
        .collect();
    drop(gate);
    let answers: Vec<_> = running.into_iter().map(answer).collect();
    let common = tokens(&texts[0]).iter().zip(tokens(&texts[1])).take_while(|(a, b)| **a == *b).count() / PAGE * PAGE;
    for (text, (answer_, seed)) in texts.iter().zip(answers.iter().zip(0..)) {
        let alone = answer(
            crate::common::engine(capacity(40)).generate(request(text, 10, seed)).expect("the request is accepted"),
        );
        assert_eq!(answer_.tokens, alone.tokens);
        assert_eq!(answer_.summary.cached_tokens, if seed == 0 { 0 } else { common }, "{text}");
    }
    let total: usize = texts.iter().map(|text| tokens(text).len()).sum();
    assert_eq!(engine.statistics().prompt_tokens as usize, total - 4 * common);
}

#[test]
fn a_preempted_sequence_generates_the_same_tokens() {
    let alone: Vec<_> = (0..4)
        .map(|seed| {
            answer(engine(capacity(40)).generate(request("tell me more", 40, seed)).expect("the request is accepted"))
                .tokens
        })
        .collect();
    // Each needs 7 pages at its end: one sequence fits, two do not.
    let engine = start(Box::new(MockDevice::new(capacity(12))));
    let running: Vec<_> = (0..4)
        .map(|seed| engine.generate(request("tell me more", 40, seed)).expect("the request is accepted"))
        .collect();
    let together: Vec<_> = running.into_iter().map(|generation| answer(generation).tokens).collect();
    assert_eq!(together, alone);
    let statistics = engine.statistics();
    assert!(statistics.preemptions > 0, "no sequence was preempted");
    assert_eq!((statistics.completed, statistics.failed, statistics.pages_used), (4, 0, 0));
}

#[test]
fn generation_ends_when_the_context_or_the_pages_are_full() {
    let endless = Request { max_tokens: None, ..request("on and on", 0, 1) };
    let few = answer(engine(capacity(5)).generate(endless.clone()).expect("the request is accepted"));
    assert_eq!(few.summary.reason, FinishReason::Context);
    assert_eq!(few.summary.prompt_tokens + few.summary.generated_tokens, 5 * PAGE);
    let many = answer(engine(capacity(99)).generate(endless).expect("the request is accepted"));
    assert_eq!(many.summary.reason, FinishReason::Context);
    assert_eq!(many.summary.prompt_tokens + many.summary.generated_tokens, 256);
    assert_eq!(many.tokens[..few.tokens.len()], few.tokens);
}

#[test]
fn dropped_requests_release_their_pages_and_slots() {
    let (forward, gate) = MockDevice::new(capacity(40)).gated();
    let engine = start(Box::new(forward));
    let mut dropped =
        engine.generate(request("to be dropped while it is written", 200, 1)).expect("the request is accepted");
    for _ in 0..4 {
        gate.go();
    }
    while !matches!(dropped.next(), Some(Event::Token(_))) {}
    assert!(engine.statistics().pages_used > 0);
    let waiting =
        engine.generate(request("to be dropped before it is begun", 200, 1)).expect("the request is accepted");
    drop((dropped, waiting));
    drop(gate);
    answer(engine.generate(request("another", 5, 2)).expect("the request is accepted"));
    let statistics = engine.statistics();
    assert_eq!((statistics.canceled, statistics.completed, statistics.failed), (2, 1, 0));
    assert_eq!((statistics.running, statistics.waiting, statistics.pages_used), (0, 0, 0));
}

#[test]
fn cached_pages_are_evicted_when_pages_are_needed() {
    let engine = engine(capacity(8));
    for number in 0..12 {
        let text = format!("{number}: every text is another one");
        answer(engine.generate(request(&text, 12, number)).expect("the request is accepted"));
        let statistics = engine.statistics();
        assert_eq!(statistics.pages_used, 0);
        assert!(statistics.pages_cached <= 8);
    }
    assert_eq!(engine.statistics().completed, 12);
}
