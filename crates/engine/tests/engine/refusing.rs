//! Requests that make no sense, or that there is no room for.

use roci_engine::{Engine, EngineError, Request, Settings};
use roci_hal::Hint as _;
use roci_llm::sample;

use crate::kit::{PAGE, Watched, answer, engine, request, room, tokenizer};

#[test]
fn texts_that_do_not_fit_are_refused() {
    let long = |length: usize| Request { prompt: vec![7; length], ..request("", 1, 0) };
    let wide = engine(room(99));
    assert_eq!(wide.generate(long(256)).err(), Some(EngineError::TooLong { prompt: 256, context: 256 }));
    assert_eq!(answer(wide.generate(long(255)).expect("there is room for one token")).tokens.len(), 1);
    // There are fewer pages than the context would need.
    let narrow = engine(room(3));
    let context = 3 * PAGE;
    assert_eq!(narrow.generate(long(context)).err(), Some(EngineError::TooLong { prompt: context, context }));
    assert_eq!(answer(narrow.generate(long(context - 1)).expect("it fits")).tokens.len(), 1);
    assert_eq!(narrow.embed(&vec![7; context + 1]), Err(EngineError::TooLong { prompt: context + 1, context }));
    assert!(narrow.embed(&vec![7; context]).is_ok());
    assert_eq!(wide.statistics().failed + narrow.statistics().failed, 0, "nothing was begun");
}

#[test]
fn prompts_and_settings_without_sense_are_refused() {
    let engine = engine(room(9));
    assert_eq!(engine.generate(Request::default()).err(), Some(EngineError::Empty));
    assert_eq!(engine.embed(&[]), Err(EngineError::Empty));
    let vocabulary = engine.limits().vocabulary;
    let unknown = EngineError::UnknownToken { token: vocabulary as u32, vocabulary };
    assert_eq!(engine.embed(&[1, vocabulary as u32]), Err(unknown));
    let sampling = sample::Settings { top_p: 2.0, ..sample::Settings::default() };
    let error = engine.generate(Request { sampling, ..request("a", 1, 0) }).expect_err("the share is too large");
    assert!(error.hint().is_some_and(|hint| hint.contains("top_p")));
}

#[test]
fn more_than_may_wait_are_refused_until_some_are_done() {
    let (forward, leave) = Watched::new(room(40)).held();
    let engine = Engine::start(Box::new(forward), tokenizer(), Settings { together: 1, waiting: 2 });
    let running: Vec<_> = (0..3).map(|seed| engine.generate(request("a", 3, seed)).expect("there is room")).collect();
    assert_eq!(engine.generate(request("a", 3, 9)).err(), Some(EngineError::Busy { waiting: 2 }));
    drop(leave);
    running.into_iter().for_each(|generation| drop(answer(generation)));
    answer(engine.generate(request("a", 3, 9)).expect("there is room again"));
}

#[test]
fn no_token_at_all_is_an_answer_too() {
    let engine = engine(room(9));
    let nothing = answer(engine.generate(request("a", 0, 1)).expect("there is room"));
    assert_eq!((nothing.tokens.len(), nothing.end.reason), (0, roci_engine::Reason::Most));
    assert_eq!(engine.statistics().prompt_tokens, 0);
}
