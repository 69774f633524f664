//! What an answer is made of, and where it ends.

use roci_engine::{Event, Reason, Request};
use roci_llm::grammar::Grammar;
use roci_llm::json::Json;
use roci_llm::sample;

use crate::kit::{answer, engine, last, request, room, tokenizer};

/// A request in which these tokens cannot come.
fn without(request: Request, texts: &[&str]) -> Request {
    let tokenizer = tokenizer();
    let bias = texts.iter().map(|text| (tokenizer.id(text).expect("the model has it"), f32::NEG_INFINITY)).collect();
    Request { sampling: sample::Settings { logit_bias: bias, ..request.sampling.clone() }, ..request }
}

/// A request in which this token comes always.
fn always(request: Request, text: &str) -> Request {
    let bias = vec![(tokenizer().id(text).expect("the model has it"), 1000.0)];
    Request { sampling: sample::Settings { logit_bias: bias, ..request.sampling.clone() }, ..request }
}

fn told(request: Request) -> crate::kit::Answer {
    answer(engine(room(40)).generate(request).expect("there is room"))
}

#[test]
fn a_stop_text_ends_the_answer_and_is_no_part_of_it() {
    let whole = told(request("once", 40, 8));
    let characters: Vec<char> = whole.text.chars().collect();
    assert!(characters.len() > 12, "the answer has some text: {:?}", whole.text);
    let stop: String = characters[6..10].iter().collect();
    let place = whole.text.find(&stop).expect("it is from there");
    let request = Request { stop: vec!["never comes".into(), stop], ..request("once", 40, 8) };
    let stopped = told(request);
    assert_eq!(stopped.text, whole.text[..place]);
    assert_eq!(stopped.end.reason, Reason::Stop(1));
    assert_eq!(whole.tokens[..stopped.tokens.len()], stopped.tokens);
    assert!(stopped.tokens.len() < whole.tokens.len());
}

#[test]
fn the_models_end_ends_it_unless_it_is_passed_over() {
    let ending = always(Request { ignore_end: false, ..request("once", 5, 1) }, "</s>");
    let ended = told(ending.clone());
    assert_eq!((ended.end.reason, ended.tokens.len(), ended.text.as_str()), (Reason::End, 0, ""));
    let passed = told(Request { ignore_end: true, ..ending.clone() });
    assert_eq!((passed.end.reason, passed.tokens.len(), passed.text.as_str()), (Reason::Most, 5, ""));
    let shown = told(Request { ignore_end: true, show_special: true, ..ending });
    assert_eq!(shown.text, "</s>".repeat(5));
}

#[test]
fn characters_come_whole_though_their_bytes_come_one_by_one() {
    let grammar = Grammar::parse("root ::= \"é€\"").expect("it is a grammar");
    let request = Request { grammar: Some(grammar), ..without(request("once", 40, 1), &["é", "€"]) };
    let mut generation = engine(room(40)).generate(request).expect("there is room");
    let mut texts = Vec::new();
    let end = loop {
        match generation.next().expect("an end comes") {
            Event::Token(token) => texts.push(token.text),
            Event::End(end) => break end,
            Event::Failed(error) => panic!("{error}"),
            _ => {}
        }
    };
    assert_eq!(texts, ["", "é", "", "", "€"]);
    assert_eq!((end.reason, end.text.as_str()), (Reason::End, ""));
}

#[test]
fn a_character_that_is_never_completed_is_shown_at_the_end() {
    let cut = always(request("once", 1, 1), "<0xE2>");
    let cut = told(cut);
    assert_eq!(cut.text, "\u{fffd}");
}

#[test]
fn a_grammar_is_held_to_and_ends_the_answer() {
    let text = r#"root ::= ("yes" | "no") (" " ("yes" | "no")){2}"#;
    let grammar = Grammar::parse(text).expect("it is a grammar");
    for seed in 0..8 {
        let request = Request { grammar: Some(grammar.clone()), ..request("well?", 40, seed) };
        let found = told(request);
        assert_eq!(grammar.matches(found.text.as_bytes()), Ok(true), "{}", found.text);
        assert_eq!(found.end.reason, Reason::End);
    }
}

#[test]
fn a_schema_gives_json_of_its_kind() {
    let schema = r#"{"type":"object","properties":{"on":{"type":"boolean"},"level":{"enum":[1,2,3]}},"required":["on","level"]}"#;
    let schema = Json::parse(schema).expect("it is JSON");
    let (grammar, _) = Grammar::of_schema(&schema).expect("it is a schema");
    for seed in 0..4 {
        // Numbers of a token could end the text, and spaces go on; enough tokens for both.
        let request = Request { grammar: Some(grammar.clone()), ..request("set:", 200, seed) };
        let found = told(Request { ignore_end: false, ..request });
        let value = Json::parse(&found.text).expect("it is JSON");
        assert!(matches!(value.get("on"), Some(Json::Bool(_))), "{}", found.text);
    }
}

#[test]
fn a_grammar_that_leaves_nothing_fails_the_request() {
    let grammar = Grammar::parse("root ::= \"ab\"").expect("it is a grammar");
    // Letters, and the bytes that spell them.
    let request = without(request("well?", 40, 1), &["a", "<0x61>"]);
    let request = Request { grammar: Some(grammar), ..request };
    let engine = engine(room(40));
    let Event::Failed(error) = last(engine.generate(request).expect("there is room")) else { panic!("it must fail") };
    assert_eq!(error.to_string(), "the grammar and the biases leave no token to choose");
    assert_eq!(engine.statistics().failed, 1);
}

#[test]
fn probabilities_are_told_when_asked_for() {
    let asked = Request { likeliest: Some(3), ..request("once", 4, 2) };
    let generation = engine(room(40)).generate(asked).expect("there is room");
    let mut count = 0;
    for event in generation {
        let Event::Token(token) = event else { continue };
        count += 1;
        assert!(token.chosen.log_probability < 0.0);
        assert_eq!(token.likeliest.len(), 3);
        assert!(token.likeliest[0].log_probability >= token.likeliest[2].log_probability);
        assert!(token.likeliest[0].log_probability >= token.chosen.log_probability);
    }
    assert_eq!(count, 4);
}

#[test]
fn reading_a_prompt_is_told_step_by_step() {
    let prompt = "word after word ".repeat(5);
    let generation = engine(room(40)).generate(request(&prompt, 1, 1)).expect("there is room");
    let mut steps = Vec::new();
    for event in generation {
        if let Event::Prompt { done, total } = event {
            steps.push((done, total));
        }
    }
    let total = crate::kit::tokens(&prompt).len();
    assert!(steps.len() > 1);
    assert!(steps.is_sorted());
    assert_eq!(steps.last(), Some(&(total, total)));
}
