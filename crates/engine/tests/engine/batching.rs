//! What runs beside a request makes no difference to it.

use roci_engine::{Engine, Reason, ReferenceForward, Request, Settings, Statistics};
use roci_llm::reference::Text;
use roci_llm::sample;

use crate::kit::{Watched, answer, engine, reference, request, room, start, tokenizer, tokens};

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
fn the_likeliest_tokens_are_those_of_the_reference() {
    let reference = reference(256);
    let mut text = Text::default();
    let mut logits = Vec::new();
    for token in tokens(PROMPTS[0]) {
        logits = reference.logits(&mut text, token).expect("the model has the token");
    }
    let mut wanted = Vec::new();
    for _ in 0..12 {
        let token = sample::likeliest(&logits, 1)[0].token;
        wanted.push(token);
        logits = reference.logits(&mut text, token).expect("the model has the token");
    }
    let greedy = Request { sampling: sample::Settings::greedy(), ..request(PROMPTS[0], 12, 0) };
    let found = answer(engine(room(40)).generate(greedy).expect("there is room"));
    assert_eq!(found.tokens, wanted);
    assert_eq!(found.end.reason, Reason::Most);
    assert_eq!(found.end.prompt_tokens, tokens(PROMPTS[0]).len());
}

#[test]
fn many_together_write_what_each_writes_alone() {
    let alone: Vec<_> = requests()
        .into_iter()
        .map(|request| answer(engine(room(40)).generate(request).expect("there is room")).tokens)
        .collect();
    let (forward, leave) = Watched::new(room(40)).held();
    let calls = forward.calls();
    let engine = start(Box::new(forward));
    let running: Vec<_> =
        requests().into_iter().map(|request| engine.generate(request).expect("there is room")).collect();
    drop(leave);
    let together: Vec<_> = running.into_iter().map(|generation| answer(generation).tokens).collect();
    assert_eq!(together, alone);
    assert!(calls.list().iter().any(|call| call.len() == PROMPTS.len()), "all were in one call: {:?}", calls.list());
    let statistics = engine.statistics();
    assert_eq!(statistics.tokens as usize, alone.iter().map(Vec::len).sum::<usize>());
    assert_eq!((statistics.ended, statistics.working, statistics.waiting, statistics.pages_used), (6, 0, 0, 0));
}

#[test]
fn writers_and_prompts_take_part_in_every_call() {
    let (forward, leave) = Watched::new(room(40)).held();
    let calls = forward.calls();
    let engine = start(Box::new(forward));
    let writer = engine.generate(request("a", 60, 1)).expect("there is room");
    // One call reads the prompt; in the next the first step is under way.
    leave.wait();
    leave.go();
    leave.wait();
    let long = "many words ".repeat(12);
    let length = tokens(&long).len();
    let reader = engine.generate(request(&long, 1, 2)).expect("there is room");
    drop(leave);
    answer(reader);
    assert_eq!(answer(writer).tokens.len(), 60);
    let calls = calls.list();
    let reading: Vec<_> = calls.iter().skip(1).filter(|call| call.len() > 1).collect();
    assert_eq!(reading.len(), length.div_ceil(23), "the prompt got all that the writer left: {calls:?}");
    assert!(reading.iter().all(|call| call[0] == 1), "the writer took its step each time: {calls:?}");
}

#[test]
fn short_prompts_need_not_wait_for_long_ones() {
    let (forward, leave) = Watched::new(room(80)).held();
    let calls = forward.calls();
    let engine = start(Box::new(forward));
    // The engine is held in a call with this, and hears of the others afterwards.
    let first = engine.generate(request("a", 1, 0)).expect("there is room");
    leave.wait();
    let long = engine.generate(request(&"many words ".repeat(12), 1, 1)).expect("there is room");
    let short = engine.generate(request("few words", 1, 2)).expect("there is room");
    drop(leave);
    [first, long, short].into_iter().for_each(|generation| drop(answer(generation)));
    let calls = calls.list();
    let short = tokens("few words").len();
    let shared = calls.iter().find(|call| call.len() == 2).expect("both were in one call");
    assert_eq!(shared, &[short, 24 - short], "short ones come first, the long one gets the rest: {calls:?}");
}

#[test]
fn an_engine_takes_no_more_at_a_time_than_its_device() {
    let narrow = roci_engine::Room { batch: 2, chunks: 3, ..room(40) };
    let forward = Watched::new(narrow);
    let calls = forward.calls();
    let engine = start(Box::new(forward));
    let running: Vec<_> =
        requests().into_iter().map(|request| engine.generate(request).expect("there is room")).collect();
    running.into_iter().for_each(|generation| drop(answer(generation)));
    assert!(calls.list().iter().all(|call| call.iter().sum::<usize>() <= 2));
}

#[test]
fn nothing_is_counted_before_anything_is_done() {
    let forward = ReferenceForward::new(reference(256), room(7));
    let engine = Engine::start(Box::new(forward), tokenizer(), Settings::default());
    assert_eq!(engine.statistics(), Statistics { pages: 7, ..Statistics::default() });
    assert_eq!((engine.limits().context, engine.context()), (256, 56));
}
