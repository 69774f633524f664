//! Models with recurrent layers: states beside pages.

use proptest::prelude::*;
use roci_engine::{Engine, KvCapacity, ReferenceForward, Request};
use roci_lm::reference::SequenceState;

use crate::common::{MockDevice, PAGE, answer, capacity, hybrid, request, start, tokens};

const PREFIX: &str = "You are a helpful machine. Answer shortly.";

fn engine(capacity: KvCapacity) -> Engine {
    start(Box::new(MockDevice::of(ReferenceForward::new(hybrid(), capacity))))
}

fn alone(request: Request) -> Vec<u32> {
    answer(engine(capacity(40)).generate(request).expect("the request is accepted")).tokens
}

#[test]
fn greedy_tokens_of_a_hybrid_match_the_reference() {
    let reference = hybrid();
    let mut text = SequenceState::default();
    let mut logits = Vec::new();
    for token in tokens(PREFIX) {
        logits = reference.logits(&mut text, token).expect("the token is in the vocabulary");
    }
    let mut expected = Vec::new();
    for _ in 0..20 {
        let best = (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).expect("there are logits") as u32;
        expected.push(best);
        logits = reference.logits(&mut text, best).expect("the token is in the vocabulary");
    }
    let mut greedy = request(PREFIX, 20, 0);
    greedy.sampling.temperature = 0.0;
    assert_eq!(alone(greedy), expected);
}

#[test]
fn a_repeated_prompt_continues_from_the_checkpoint_at_its_end() {
    let prompt = format!("{PREFIX} What is one?");
    let whole_pages = (tokens(&prompt).len() - 1) / PAGE * PAGE;
    let engine = engine(capacity(60));
    let first = answer(engine.generate(request(&prompt, 20, 4)).expect("the request is accepted"));
    let again = answer(engine.generate(request(&prompt, 20, 4)).expect("the request is accepted"));
    assert_eq!((first.summary.cached_tokens, again.summary.cached_tokens), (0, whole_pages));
    assert_eq!(first.tokens, again.tokens);
    assert_eq!(first.tokens, alone(request(&prompt, 20, 4)));
    // A conversation goes on from the end of the first prompt, not from its answer.
    let more = Request { prompt: [tokens(&prompt), first.tokens].concat(), ..request("", 9, 5) };
    let third = answer(engine.generate(more.clone()).expect("the request is accepted"));
    assert_eq!(third.summary.cached_tokens, whole_pages);
    assert_eq!(third.tokens, alone(more));
}

#[test]
fn the_second_prompt_with_a_prefix_leaves_a_checkpoint_for_the_third() {
    let texts = ["What is one?", "Who are you?", "Why me?"].map(|text| format!("{PREFIX} {text}"));
    let common = tokens(&texts[0]).iter().zip(tokens(&texts[1])).take_while(|(a, b)| **a == *b).count() / PAGE * PAGE;
    let engine = engine(capacity(60));
    for (text, cached) in texts.iter().zip([0, 0, common]) {
        let found = answer(engine.generate(request(text, 12, 7)).expect("the request is accepted"));
        assert_eq!(found.summary.cached_tokens, cached, "{text}");
        assert_eq!(found.tokens, alone(request(text, 12, 7)), "{text}");
    }
}

#[test]
fn a_preempted_hybrid_generates_the_same_tokens() {
    let requests = |seed| request("tell me more", 40, seed);
    let engine = engine(capacity(12));
    let running: Vec<_> =
        (0..4).map(|seed| engine.generate(requests(seed)).expect("the request is accepted")).collect();
    for (generation, seed) in running.into_iter().zip(0..) {
        assert_eq!(answer(generation).tokens, alone(requests(seed)));
    }
    let statistics = engine.statistics();
    assert!(statistics.preemptions > 0, "no sequence was preempted");
    assert_eq!((statistics.completed, statistics.failed, statistics.pages_used), (4, 0, 0));
}

#[test]
fn hybrids_run_with_as_few_states_as_there_are() {
    for state_slots in 1..5 {
        let engine = engine(KvCapacity { state_slots, ..capacity(60) });
        let texts = [format!("{PREFIX} One?"), format!("{PREFIX} Two?"), "x".to_owned(), format!("{PREFIX} One?")];
        let running: Vec<_> =
            texts.iter().map(|text| engine.generate(request(text, 10, 3)).expect("the request is accepted")).collect();
        for (generation, text) in running.into_iter().zip(&texts) {
            assert_eq!(answer(generation).tokens, alone(request(text, 10, 3)), "{state_slots} slots: {text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// A request generates the same tokens as alone, whatever runs at the same time, is cached,
    /// preempted or canceled.
    #[test]
    fn other_requests_do_not_change_a_hybrid(
        picks in prop::collection::vec((0usize..4, 1usize..24, any::<bool>()), 1..7),
        pages in 10usize..30,
        state_slots in 1usize..6,
    ) {
        let prompts = ["a", "tell me", PREFIX, "You are a helpful machine. No, you are not; are you?"];
        let engine = engine(KvCapacity { state_slots, ..capacity(pages) });
        let running: Vec<_> = picks
            .iter()
            .map(|&(prompt, count, cached_tokens)| {
                let request = request(prompts[prompt], count, 3);
                (cached_tokens, request.clone(), engine.generate(request).expect("the request is accepted"))
            })
            .collect();
        for (cached_tokens, request, generation) in running {
            if cached_tokens {
                prop_assert_eq!(answer(generation).tokens, alone(request));
            }
        }
    }
}
