//! Speculative decoding generates the same tokens in fewer steps.

use proptest::prelude::*;
use roci_engine::{
    DraftModel, DraftModelError, Drafter, Engine, Event, Forward, KvCapacity, PredictionHead, ReferenceForward,
    Request, Speculation, Token,
};
use roci_lm::grammar::Grammar;
use roci_lm::reference::SequenceState;
use roci_lm::sample;

use crate::common::{
    Fault, MockDevice, PAGE, answer, capacity, head, hybrid, last, reference, request, smaller, start, start_with,
    tokenizer, tokens,
};

const PROMPTS: [&str; 4] = ["a", "tell me", "abab abab ab", "You are a helpful machine. No, you are not; are you?"];

/// Whether the model has recurrent layers.
#[derive(Clone, Copy, Debug)]
struct Recurrent(bool);

fn device(recurrent: Recurrent, capacity: KvCapacity) -> MockDevice {
    MockDevice::of(ReferenceForward::new(if recurrent.0 { hybrid() } else { reference(256) }, capacity))
}

fn plain(recurrent: Recurrent, capacity: KvCapacity) -> Engine {
    start(Box::new(device(recurrent, capacity)))
}

/// Source of drafts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    Lookup,
    /// The target itself, or a model that shares some layers with it.
    Target,
    Smaller,
    /// The prediction head of the hybrid.
    Head,
}

const METHODS: [Method; 3] = [Method::Lookup, Method::Target, Method::Smaller];

/// A draft model that also checks its callers.
fn draft_device(method: Method, capacity: KvCapacity) -> MockDevice {
    let model = match method {
        Method::Smaller => smaller(),
        Method::Head => head(),
        _ => reference(256),
    };
    // Limits that differ from the target's.
    let capacity = KvCapacity { max_batch_tokens: 10, max_chunks: 7, ..capacity };
    MockDevice::of(ReferenceForward::new(model, capacity))
}

/// The device with speculation.
fn speculating(device: MockDevice, method: Method, capacity: KvCapacity, draft_tokens: usize) -> Engine {
    let model = || DraftModel::new(Box::new(draft_device(method, capacity)), device.limits());
    let drafter = match method {
        Method::Lookup => Drafter::Lookup,
        Method::Head => {
            let head = PredictionHead::new(Box::new(draft_device(method, capacity)), device.limits());
            Drafter::Head(head.expect("the models fit together"))
        }
        _ => Drafter::Model(model().expect("the models fit together")),
    };
    start_with(Box::new(device), Speculation { drafter: Some(drafter), draft_tokens, adaptive: false })
}

fn drafting(recurrent: Recurrent, method: Method, capacity: KvCapacity, draft_tokens: usize) -> Engine {
    speculating(device(recurrent, capacity), method, capacity, draft_tokens)
}

/// All tokens with their log probabilities and texts, and why the generation ended.
fn events(engine: &Engine, request: Request) -> (Vec<Token>, String) {
    let mut generation = engine.generate(request).expect("the request is accepted");
    let mut tokens = Vec::new();
    loop {
        match generation.next().expect("the stream ends with a summary") {
            Event::Token(token) => tokens.push(token),
            Event::Finished(end) => return (tokens, format!("{:?} {:?}", end.reason, end.text)),
            Event::Failed(error) => panic!("the request failed: {error}"),
            _ => {}
        }
    }
}

/// The request, with a text of three letters in which n-grams recur.
fn repetitive(request: Request) -> Request {
    let tokenizer = tokenizer();
    let letters = ["a", "b", "c"].map(|text| (tokenizer.id(text).expect("the model has it"), 1000.0));
    Request { sampling: sample::Settings { logit_bias: letters.to_vec(), ..request.sampling }, ..request }
}

/// Requests with different settings of sampling, grammars and stop strings.
fn requests() -> Vec<Request> {
    let sampled = |temperature, prompt, seed| {
        let request = repetitive(request(prompt, 40, seed));
        Request { sampling: sample::Settings { temperature, ..request.sampling }, ..request }
    };
    let mut requests: Vec<Request> =
        (0..12).map(|seed| sampled([0.0, 0.4, 1.0][seed % 3], PROMPTS[seed % 4], seed as u64)).collect();
    requests.push(request(PROMPTS[3], 40, 7));
    requests.push(Request { top_logprobs: Some(3), ..sampled(0.7, PROMPTS[2], 21) });
    let stop = vec!["cab".to_owned(), "bbb".to_owned(), "aca".to_owned()];
    requests.extend((30..36).map(|seed| Request { stop: stop.clone(), ..sampled(1.0, PROMPTS[1], seed) }));
    let mut penalized = sampled(0.5, PROMPTS[2], 23);
    penalized.sampling =
        sample::Settings { repeat_penalty: 1.3, presence_penalty: 0.2, frequency_penalty: 0.1, ..penalized.sampling };
    requests.push(penalized);
    let grammar = Grammar::parse(r#"root ::= (("yes" | "no") " "){3,9}"#).expect("it is a grammar");
    requests.extend((40..46).map(|seed| Request { grammar: Some(grammar.clone()), ..request(PROMPTS[0], 60, seed) }));
    requests
}

/// All requests, each alone, with and without speculation.
fn compare(recurrent: Recurrent, methods: &[Method]) {
    let expected: Vec<_> =
        requests().into_iter().map(|request| events(&plain(recurrent, capacity(40)), request)).collect();
    for &method in methods {
        for draft_tokens in [1, 3, 7] {
            let what = format!("{recurrent:?} {method:?} {draft_tokens}");
            let engine = drafting(recurrent, method, capacity(40), draft_tokens);
            for (request, expected) in requests().into_iter().zip(&expected) {
                assert_eq!(&events(&engine, request.clone()), expected, "{what}: {request:?}");
            }
            let statistics = engine.statistics();
            assert!(statistics.accepted_tokens > 20, "{what}: {statistics:?}");
            assert!(statistics.drafted_tokens > statistics.accepted_tokens, "{what}: some are rejected");
            assert_eq!((statistics.pages_used, statistics.failed), (0, 0));
        }
    }
}

#[test]
fn lookup_changes_nothing_but_the_number_of_steps() {
    compare(Recurrent(false), &[Method::Lookup]);
}

#[test]
fn draft_models_change_nothing_but_the_number_of_steps() {
    compare(Recurrent(false), &[Method::Target, Method::Smaller]);
}

#[test]
fn speculation_changes_nothing_of_a_hybrid_but_the_number_of_steps() {
    compare(Recurrent(true), &METHODS);
}

#[test]
fn a_prediction_head_changes_nothing_but_the_number_of_steps() {
    compare(Recurrent(true), &[Method::Head]);
}

/// All calls of the engine give the head the same inputs as one call from the start: the drafts of
/// the first step match the reference.
#[test]
fn a_prediction_head_reads_the_states_before_its_tokens() {
    let (model, head) = (hybrid(), head());
    let prompt = tokens("You are a helpful machine. Answer shortly.");
    let (mut states, mut predicted) = (SequenceState::default(), SequenceState::default());
    let mut before = vec![0.0; model.model().config.embedding];
    for &token in &prompt {
        head.hidden_after(&mut predicted, token, &before).expect("the token is in the vocabulary");
        before = model.hidden(&mut states, token).expect("the token is in the vocabulary");
    }
    let best = |logits: &[f32]| sample::likeliest(logits, 1)[0].token;
    let first = best(&model.logits_of(&before));
    let mut drafts = Vec::new();
    let mut token = first;
    for _ in 0..3 {
        before = head.hidden_after(&mut predicted, token, &before).expect("the token is in the vocabulary");
        token = best(&head.logits_of(&before));
        drafts.push(token);
    }
    let device = device(Recurrent(true), capacity(40));
    let seen = device.tokens();
    let engine = speculating(device, Method::Head, capacity(40), 3);
    let greedy = Request { prompt: prompt.clone(), sampling: sample::Settings::greedy(), ..request("", 8, 0) };
    answer(engine.generate(greedy).expect("the request is accepted"));
    let first_step = seen.list().into_iter().find(|tokens| tokens.first() == Some(&first));
    assert_eq!(first_step, Some([&[first], &drafts[..]].concat()));
}

#[test]
fn accepted_tokens_take_no_steps() {
    for (recurrent, method) in
        [(false, Method::Lookup), (true, Method::Lookup), (false, Method::Target), (true, Method::Target)]
    {
        let device = device(Recurrent(recurrent), capacity(40));
        let calls = device.calls();
        let engine = speculating(device, method, capacity(40), 4);
        let mut greedy = repetitive(request("x", 100, 0));
        // Only one token is possible.
        greedy.sampling.logit_bias.truncate(1);
        let found = answer(engine.generate(greedy).expect("the request is accepted"));
        assert_eq!(found.tokens.len(), 100);
        assert_eq!(found.summary.accepted_tokens, found.summary.drafted_tokens);
        let steps = calls.list().len();
        assert!(steps <= 26, "{steps} steps");
        assert_eq!(found.summary.accepted_tokens, 100 - steps);
        assert!(calls.list().iter().flatten().all(|&count| count <= 5), "{:?}", calls.list());
    }
}

#[test]
fn a_model_that_drafts_for_itself_is_always_right() {
    let prompts = ["Once upon a time", "You are a helpful machine.", "You are a helpful machine. Answer.", "x"];
    let engine = drafting(Recurrent(false), Method::Target, capacity(60), 4);
    // Sampled texts, concurrent and with shared prefixes; the draft model lags behind at first.
    for round in 0..3 {
        let running: Vec<_> = (0..)
            .zip(prompts)
            .map(|(seed, prompt)| engine.generate(request(prompt, 30, seed + round)).expect("the request is accepted"))
            .collect();
        running.into_iter().for_each(|generation| drop(answer(generation)));
    }
    let statistics = engine.statistics();
    assert_eq!(statistics.accepted_tokens, statistics.drafted_tokens);
    assert!(statistics.accepted_tokens > statistics.generated_tokens / 2, "{statistics:?}");
    assert!(statistics.cached_tokens > 0);
}

#[test]
fn a_failed_draft_model_fails_the_request() {
    let device = device(Recurrent(false), capacity(40));
    let draft = draft_device(Method::Target, capacity(40)).with(3, Fault::Fails);
    let model = DraftModel::new(Box::new(draft), device.limits()).expect("the models fit together");
    let speculation = Speculation { drafter: Some(Drafter::Model(model)), draft_tokens: 2, adaptive: false };
    let engine = start_with(Box::new(device), speculation);
    let failed = last(engine.generate(request("x", 30, 1)).expect("the request is accepted"));
    assert!(matches!(failed, Event::Failed(_)), "{failed:?}");
    // The next request finds the pages of the failed one free.
    let expected = events(&plain(Recurrent(false), capacity(40)), request("x", 30, 1));
    assert_eq!(events(&engine, request("x", 30, 1)), expected);
}

#[test]
fn unsuitable_draft_models_are_refused() {
    let target = device(Recurrent(false), capacity(40));
    let refused = |draft: MockDevice| DraftModel::new(Box::new(draft), target.limits()).expect_err("it is refused");
    assert_eq!(refused(device(Recurrent(true), capacity(40))), DraftModelError::Recurrent);
    let error = refused(device(Recurrent(false), capacity(39)));
    assert!(matches!(error, DraftModelError::Pages { .. }), "{error:?}");
}

#[test]
fn cached_pages_have_accepted_tokens_only() {
    for method in METHODS {
        let texts: Vec<Request> = (0..6).map(|seed| repetitive(request(PROMPTS[2], 40, seed))).collect();
        let engine = drafting(Recurrent(false), method, capacity(60), 5);
        let mut accepted = 0;
        for text in texts {
            let first = answer(engine.generate(text.clone()).expect("the request is accepted"));
            accepted += first.summary.accepted_tokens;
            let prompt = [&text.prompt[..], &first.tokens, &tokens("And?")[1..]].concat();
            let whole_pages = (text.prompt.len() + first.tokens.len() - 1) / PAGE * PAGE;
            let more = Request { prompt, ..request("", 20, 9) };
            let second = answer(engine.generate(more.clone()).expect("the request is accepted"));
            assert_eq!(second.summary.cached_tokens, whole_pages);
            let alone = plain(Recurrent(false), capacity(60));
            assert_eq!(second.tokens, answer(alone.generate(more).expect("the request is accepted")).tokens);
        }
        assert!(accepted > 20, "{method:?}: {accepted} drafted tokens were accepted");
    }
}

#[test]
fn a_full_context_ends_the_text_at_the_same_token() {
    for (recurrent, method) in METHODS.map(|method| [(false, method), (true, method)]).into_iter().flatten() {
        let recurrent = Recurrent(recurrent);
        let long = Request { max_tokens: None, ..repetitive(request(PROMPTS[2], 0, 5)) };
        // The pages hold less than the context.
        let expected = events(&plain(recurrent, capacity(9)), long.clone());
        assert_eq!(events(&drafting(recurrent, method, capacity(9), 6), long.clone()), expected);
        assert!(expected.1.starts_with("Context"), "{}", expected.1);
    }
}

/// Texts of two letters have the distribution that the model defines.
#[test]
fn sampled_tokens_have_the_distribution_of_the_model() {
    let sampling = |seed| {
        let mut sampling = repetitive(request("", 0, seed)).sampling;
        sampling.logit_bias.truncate(2);
        sample::Settings { top_k: 2, top_p: 1.0, min_p: 0.0, ..sampling }
    };
    let prompt = tokens("aabbabaabbb");
    let reference = reference(256);
    let mut start = SequenceState::default();
    let mut logits = Vec::new();
    for &token in &prompt {
        logits = reference.logits(&mut start, token).expect("the token is in the vocabulary");
    }
    // Texts of five tokens with their probabilities.
    let mut texts = vec![(Vec::new(), 1.0, start, logits)];
    for _ in 0..5 {
        let mut longer = Vec::new();
        for (text, probability, state, mut logits) in texts {
            sampling(0).logit_bias.iter().for_each(|&(token, bias)| logits[token as usize] += bias);
            let best = sample::likeliest(&logits, 2);
            let sum: f64 = best.iter().map(|one| f64::from(one.log_probability).exp()).sum();
            for one in best {
                let mut state = state.clone();
                let logits = reference.logits(&mut state, one.token).expect("the token is in the vocabulary");
                let probability = probability * f64::from(one.log_probability).exp() / sum;
                longer.push(([&text[..], &[one.token]].concat(), probability, state, logits));
            }
        }
        texts = longer;
    }
    let total = 1500;
    let expected: Vec<f64> = texts.iter().map(|(_, probability, ..)| probability * total as f64).collect();
    let distance = |counts: &[f64]| -> f64 {
        counts.iter().zip(&expected).map(|(count, expected)| (count - expected).powi(2) / expected).sum()
    };
    for method in [Method::Lookup, Method::Smaller] {
        let engine = drafting(Recurrent(false), method, capacity(40), 3);
        let mut counts = vec![0.0f64; texts.len()];
        for seed in 0..total {
            let request = Request { prompt: prompt.clone(), sampling: sampling(seed), ..request("", 5, seed) };
            let found = answer(engine.generate(request).expect("the request is accepted")).tokens;
            let place = texts.iter().position(|(text, ..)| *text == found).expect("only these texts are possible");
            counts[place] += 1.0;
        }
        let statistics = engine.statistics();
        assert!(statistics.accepted_tokens > total / 2, "{statistics:?}");
        assert!(statistics.drafted_tokens > statistics.accepted_tokens, "{statistics:?}");
        // The quantile 0.9999 of the chi-square distribution with 31 degrees of freedom.
        assert!(distance(&counts) < 70.0, "{method:?}: {counts:?} instead of {expected:?}");
        // The test also fails for a sampler that prefers one unlikely text in ten.
        let unlikely = (0..texts.len()).min_by(|&a, &b| expected[a].total_cmp(&expected[b])).expect("there are texts");
        let mut biased: Vec<f64> = counts.iter().map(|count| 0.9 * count).collect();
        biased[unlikely] += 0.1 * total as f64;
        assert!(distance(&biased) > 70.0);
    }
}

#[test]
fn adaptive_speculation_changes_no_token() {
    let engine = |adaptive| {
        let forward = Box::new(device(Recurrent(false), capacity(40)));
        start_with(forward, Speculation { drafter: Some(Drafter::Lookup), draft_tokens: 4, adaptive })
    };
    let long = repetitive(request(PROMPTS[2], 150, 3));
    assert_eq!(events(&engine(true), long.clone()), events(&engine(false), long));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// A request generates the same tokens as alone and without speculation, whatever runs at the
    /// same time, is cached, preempted or canceled.
    #[test]
    fn other_requests_do_not_change_a_speculative_one(
        picks in prop::collection::vec((0usize..4, 1usize..40, any::<bool>(), any::<bool>()), 1..7),
        pages in 10usize..30,
        state_slots in 1usize..14,
        draft_tokens in 1usize..9,
        recurrent in any::<bool>().prop_map(Recurrent),
        method in prop::sample::select([&METHODS[..], &[Method::Head]].concat()),
    ) {
        // Only the hybrid has a head.
        let recurrent = Recurrent(recurrent.0 || method == Method::Head);
        let engine = drafting(recurrent, method, KvCapacity { state_slots, ..capacity(pages) }, draft_tokens);
        let running: Vec<_> = picks
            .iter()
            .map(|&(prompt, count, is_repetitive, is_read)| {
                let request = request(PROMPTS[prompt], count, 3);
                let request = if is_repetitive { repetitive(request) } else { request };
                (is_read, request.clone(), engine.generate(request).expect("the request is accepted"))
            })
            .collect();
        for (is_read, request, generation) in running {
            if is_read {
                let alone = plain(recurrent, capacity(pages)).generate(request).expect("the request is accepted");
                prop_assert_eq!(answer(generation).tokens, answer(alone).tokens);
            }
        }
    }
}
