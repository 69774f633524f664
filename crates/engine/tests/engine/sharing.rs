//! Texts that begin alike share pages, texts that have none left give way, and what nobody waits for is let go.

use roci_engine::{Event, Reason, Request};

use crate::kit::{PAGE, Watched, answer, engine, request, room, start, tokens};

const BEGINNING: &str = "You are a helpful machine. Answer shortly.";

#[test]
fn a_beginning_that_is_kept_is_not_computed_again() {
    let texts = [format!("{BEGINNING} What is one?"), format!("{BEGINNING} Who are you?")];
    let alone = answer(engine(room(40)).generate(request(&texts[1], 20, 4)).expect("there is room"));
    assert_eq!(alone.end.shared_tokens, 0);

    let engine = engine(room(40));
    answer(engine.generate(request(&texts[0], 20, 3)).expect("there is room"));
    let before = engine.statistics();
    assert!(before.pages_kept > 0);
    let second = answer(engine.generate(request(&texts[1], 20, 4)).expect("there is room"));
    assert_eq!(second.tokens, alone.tokens);
    let common = tokens(&texts[0]).iter().zip(tokens(&texts[1])).take_while(|(a, b)| **a == *b).count();
    assert_eq!(second.end.shared_tokens, common / PAGE * PAGE);
    let statistics = engine.statistics();
    assert_eq!(statistics.shared_tokens as usize, second.end.shared_tokens);
    let computed = statistics.prompt_tokens - before.prompt_tokens;
    assert_eq!(computed as usize, second.end.prompt_tokens - second.end.shared_tokens);
}

#[test]
fn the_same_prompt_again_computes_its_last_token_alone() {
    // Whole pages: the last page cannot be shared, since its last token's logits are needed.
    let prompt = tokens(BEGINNING)[..2 * PAGE].to_vec();
    let again = || Request { prompt: prompt.clone(), ..request("", 9, 5) };
    let engine = engine(room(40));
    let first = answer(engine.generate(again()).expect("there is room"));
    let second = answer(engine.generate(again()).expect("there is room"));
    assert_eq!(first.tokens, second.tokens);
    assert_eq!(second.end.shared_tokens, PAGE);
    // An answer that is asked on about was read once, too.
    let more = [&prompt[..], &first.tokens, &tokens(" And then?")[1..]].concat();
    let third = answer(engine.generate(Request { prompt: more, ..request("", 1, 6) }).expect("there is room"));
    assert_eq!(third.end.shared_tokens, (prompt.len() + 8) / PAGE * PAGE, "the answer's last token was never read");
}

#[test]
fn prompts_that_come_together_are_computed_once() {
    let (forward, leave) = Watched::new(room(80)).held();
    let engine = start(Box::new(forward));
    let texts: Vec<String> = (0..5).map(|number| format!("{BEGINNING} {number}?")).collect();
    let running: Vec<_> = texts
        .iter()
        .zip(0..)
        .map(|(text, seed)| engine.generate(request(text, 10, seed)).expect("there is room"))
        .collect();
    drop(leave);
    let answers: Vec<_> = running.into_iter().map(answer).collect();
    let common = tokens(&texts[0]).iter().zip(tokens(&texts[1])).take_while(|(a, b)| **a == *b).count() / PAGE * PAGE;
    for (text, (answer_, seed)) in texts.iter().zip(answers.iter().zip(0..)) {
        let alone = answer(crate::kit::engine(room(40)).generate(request(text, 10, seed)).expect("there is room"));
        assert_eq!(answer_.tokens, alone.tokens);
        assert_eq!(answer_.end.shared_tokens, if seed == 0 { 0 } else { common }, "{text}");
    }
    let total: usize = texts.iter().map(|text| tokens(text).len()).sum();
    assert_eq!(engine.statistics().prompt_tokens as usize, total - 4 * common);
}

#[test]
fn who_finds_no_page_is_put_back_and_writes_the_same_later() {
    let alone: Vec<_> = (0..4)
        .map(|seed| answer(engine(room(40)).generate(request("tell me more", 40, seed)).expect("there is room")).tokens)
        .collect();
    // Each needs 7 pages at its end, and one fits well.
    let engine = start(Box::new(Watched::new(room(12))));
    let running: Vec<_> =
        (0..4).map(|seed| engine.generate(request("tell me more", 40, seed)).expect("there is room")).collect();
    let together: Vec<_> = running.into_iter().map(|generation| answer(generation).tokens).collect();
    assert_eq!(together, alone);
    let statistics = engine.statistics();
    assert!(statistics.put_back > 0, "nobody was put back");
    assert_eq!((statistics.ended, statistics.failed, statistics.pages_used), (4, 0, 0));
}

#[test]
fn a_text_ends_where_the_context_or_the_pages_do() {
    let endless = Request { most: None, ..request("on and on", 0, 1) };
    let few = answer(engine(room(5)).generate(endless.clone()).expect("there is room"));
    assert_eq!(few.end.reason, Reason::Context);
    assert_eq!(few.end.prompt_tokens + few.end.tokens, 5 * PAGE);
    let many = answer(engine(room(99)).generate(endless).expect("there is room"));
    assert_eq!(many.end.reason, Reason::Context);
    assert_eq!(many.end.prompt_tokens + many.end.tokens, 256);
    assert_eq!(many.tokens[..few.tokens.len()], few.tokens);
}

#[test]
fn dropped_requests_give_back_pages_and_places() {
    let (forward, leave) = Watched::new(room(40)).held();
    let engine = start(Box::new(forward));
    let mut dropped = engine.generate(request("to be dropped while it is written", 200, 1)).expect("there is room");
    for _ in 0..4 {
        leave.go();
    }
    while !matches!(dropped.next(), Some(Event::Token(_))) {}
    assert!(engine.statistics().pages_used > 0);
    let waiting = engine.generate(request("to be dropped before it is begun", 200, 1)).expect("there is room");
    drop((dropped, waiting));
    drop(leave);
    answer(engine.generate(request("another", 5, 2)).expect("there is room"));
    let statistics = engine.statistics();
    assert_eq!((statistics.dropped, statistics.ended, statistics.failed), (2, 1, 0));
    assert_eq!((statistics.working, statistics.waiting, statistics.pages_used), (0, 0, 0));
}

#[test]
fn old_texts_go_when_pages_are_needed() {
    let engine = engine(room(8));
    for number in 0..12 {
        let text = format!("{number}: every text is another one");
        answer(engine.generate(request(&text, 12, number)).expect("there is room"));
        let statistics = engine.statistics();
        assert_eq!(statistics.pages_used, 0);
        assert!(statistics.pages_kept <= 8);
    }
    assert_eq!(engine.statistics().ended, 12);
}
