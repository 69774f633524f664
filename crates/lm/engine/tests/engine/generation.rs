//! Generated text, stop conditions and reported probabilities.

use roci_engine::{Event, FinishReason, Request};
use roci_lm::grammar::Grammar;
use roci_lm::json::Json;
use roci_lm::sample;

use crate::common::{answer, capacity, engine, last, request, tokenizer};

/// The request with these tokens forbidden.
fn without(request: Request, texts: &[&str]) -> Request {
    let tokenizer = tokenizer();
    let bias = texts.iter().map(|text| (tokenizer.id(text).expect("the model has it"), f32::NEG_INFINITY)).collect();
    Request { sampling: sample::Settings { logit_bias: bias, ..request.sampling.clone() }, ..request }
}

/// The request with this token forced.
fn always(request: Request, text: &str) -> Request {
    let bias = vec![(tokenizer().id(text).expect("the model has it"), 1000.0)];
    Request { sampling: sample::Settings { logit_bias: bias, ..request.sampling.clone() }, ..request }
}

fn run(request: Request) -> crate::common::Answer {
    answer(engine(capacity(40)).generate(request).expect("the request is accepted"))
}

#[test]
fn a_stop_string_ends_the_text_and_is_not_part_of_it() {
    let whole = run(request("once", 40, 8));
    let characters: Vec<char> = whole.text.chars().collect();
    assert!(characters.len() > 12, "the answer has some text: {:?}", whole.text);
    let stop: String = characters[6..10].iter().collect();
    let offset = whole.text.find(&stop).expect("the stop string is part of the text");
    let request = Request { stop: vec!["never comes".into(), stop], ..request("once", 40, 8) };
    let stopped = run(request);
    assert_eq!(stopped.text, whole.text[..offset]);
    assert_eq!(stopped.summary.reason, FinishReason::Stop(1));
    assert_eq!(whole.tokens[..stopped.tokens.len()], stopped.tokens);
    assert!(stopped.tokens.len() < whole.tokens.len());
}

#[test]
fn an_end_of_generation_token_ends_the_text_unless_ignored() {
    let ending = always(Request { ignore_eos: false, ..request("once", 5, 1) }, "</s>");
    let ended = run(ending.clone());
    assert_eq!((ended.summary.reason, ended.tokens.len(), ended.text.as_str()), (FinishReason::EndOfGeneration, 0, ""));
    let passed = run(Request { ignore_eos: true, ..ending.clone() });
    assert_eq!((passed.summary.reason, passed.tokens.len(), passed.text.as_str()), (FinishReason::Length, 5, ""));
    let shown = run(Request { ignore_eos: true, show_special: true, ..ending });
    assert_eq!(shown.text, "</s>".repeat(5));
}

#[test]
fn bytes_of_a_character_are_emitted_together() {
    let grammar = Grammar::parse("root ::= \"é€\"").expect("it is a grammar");
    let request = Request { grammar: Some(grammar), ..without(request("once", 40, 1), &["é", "€"]) };
    let mut generation = engine(capacity(40)).generate(request).expect("the request is accepted");
    let mut texts = Vec::new();
    let end = loop {
        match generation.next().expect("the stream ends with a summary") {
            Event::Token(token) => texts.push(token.text),
            Event::Finished(end) => break end,
            Event::Failed(error) => panic!("{error}"),
            _ => {}
        }
    };
    assert_eq!(texts, ["", "é", "", "", "€"]);
    assert_eq!((end.reason, end.text.as_str()), (FinishReason::EndOfGeneration, ""));
}

#[test]
fn an_incomplete_character_is_emitted_at_the_end() {
    let cut = always(request("once", 1, 1), "<0xE2>");
    let cut = run(cut);
    assert_eq!(cut.text, "\u{fffd}");
}

#[test]
fn a_grammar_constrains_and_ends_the_text() {
    let text = r#"root ::= ("yes" | "no") (" " ("yes" | "no")){2}"#;
    let grammar = Grammar::parse(text).expect("it is a grammar");
    for seed in 0..8 {
        let request = Request { grammar: Some(grammar.clone()), ..request("well?", 40, seed) };
        let found = run(request);
        assert_eq!(grammar.matches(found.text.as_bytes()), Ok(true), "{}", found.text);
        assert_eq!(found.summary.reason, FinishReason::EndOfGeneration);
    }
}

#[test]
fn a_schema_gives_json_of_its_types() {
    let schema = r#"{"type":"object","properties":{"on":{"type":"boolean"},"level":{"enum":[1,2,3]}},"required":["on","level"]}"#;
    let schema = Json::parse(schema).expect("it is JSON");
    let (grammar, _) = Grammar::of_schema(&schema).expect("it is a schema");
    for seed in 0..4 {
        // Byte tokens and white space make the text long.
        let request = Request { grammar: Some(grammar.clone()), ..request("set:", 200, seed) };
        let found = run(Request { ignore_eos: false, ..request });
        let value = Json::parse(&found.text).expect("it is JSON");
        assert!(matches!(value.get("on"), Some(Json::Bool(_))), "{}", found.text);
    }
}

#[test]
fn a_grammar_that_allows_no_token_fails_the_request() {
    let grammar = Grammar::parse("root ::= \"ab\"").expect("it is a grammar");
    // The letter and its byte token.
    let request = without(request("well?", 40, 1), &["a", "<0x61>"]);
    let request = Request { grammar: Some(grammar), ..request };
    let engine = engine(capacity(40));
    let Event::Failed(error) = last(engine.generate(request).expect("the request is accepted")) else {
        panic!("expected a failure")
    };
    assert_eq!(error.to_string(), "the grammar and the logit biases exclude every token");
    assert_eq!(engine.statistics().failed, 1);
}

#[test]
fn probabilities_are_reported_on_request() {
    let asked = Request { top_logprobs: Some(3), ..request("once", 4, 2) };
    let generation = engine(capacity(40)).generate(asked).expect("the request is accepted");
    let mut count = 0;
    for event in generation {
        let Event::Token(token) = event else { continue };
        count += 1;
        assert!(token.chosen.logprob < 0.0);
        assert_eq!(token.top_logprobs.len(), 3);
        assert!(token.top_logprobs[0].logprob >= token.top_logprobs[2].logprob);
        assert!(token.top_logprobs[0].logprob >= token.chosen.logprob);
    }
    assert_eq!(count, 4);
}

#[test]
fn prefill_reports_progress() {
    let prompt = "word after word ".repeat(5);
    let generation = engine(capacity(40)).generate(request(&prompt, 1, 1)).expect("the request is accepted");
    let mut steps = Vec::new();
    for event in generation {
        if let Event::Prefill { done, total } = event {
            steps.push((done, total));
        }
    }
    let total = crate::common::tokens(&prompt).len();
    assert!(steps.len() > 1);
    assert!(steps.is_sorted());
    assert_eq!(steps.last(), Some(&(total, total)));
}
