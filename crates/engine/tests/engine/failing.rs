//! A device that fails ends the requests that it had to do with, and a lost one all of them; the process lives on.

use std::time::Duration;

use roci_engine::{Engine, EngineError, Event};
use roci_hal::Hint as _;

use crate::kit::{Fault, Watched, answer, last, request, room, start};

fn failing(call: usize, fault: Fault) -> Engine {
    start(Box::new(Watched::new(room(40)).with(call, fault)))
}

#[test]
fn a_call_that_fails_ends_its_requests_and_the_next_is_answered() {
    let (forward, leave) = Watched::new(room(40)).with(3, Fault::Fails).held();
    let engine = start(Box::new(forward));
    let running: Vec<_> =
        (0..3).map(|seed| engine.generate(request("so far", 20, seed)).expect("there is room")).collect();
    drop(leave);
    for generation in running {
        let Event::Failed(error @ EngineError::Device(_)) = last(generation) else { panic!("it must fail") };
        assert_eq!(error.to_string(), "the card fell off");
        assert_eq!(error.hint().as_deref(), Some("push it"));
    }
    let alone = answer(failing(usize::MAX, Fault::Fails).generate(request("so far", 20, 7)).expect("there is room"));
    assert_eq!(answer(engine.generate(request("so far", 20, 7)).expect("there is room")).tokens, alone.tokens);
    let statistics = engine.statistics();
    assert_eq!((statistics.failed, statistics.ended, statistics.pages_used), (3, 1, 0));
}

#[test]
fn a_lost_device_fails_all_requests_with_the_first_cause() {
    let (forward, leave) = Watched::new(room(40)).with(2, Fault::IsLost).held();
    let engine =
        Engine::start(Box::new(forward), crate::kit::tokenizer(), roci_engine::Settings { together: 2, waiting: 8 });
    let running: Vec<_> =
        (0..5).map(|seed| engine.generate(request("so far", 20, seed)).expect("there is room")).collect();
    drop(leave);
    for generation in running {
        let Event::Failed(EngineError::Device(error)) = last(generation) else { panic!("it must fail") };
        assert!(error.lost);
        assert_eq!(error.message, "the card fell off");
    }
    let refused = engine.generate(request("later", 1, 0)).expect_err("the device is lost");
    assert_eq!(refused.to_string(), "the card fell off");
    assert_eq!(engine.embed(&[1, 2]), Err(refused));
    let statistics = engine.statistics();
    assert_eq!((statistics.failed, statistics.working, statistics.waiting, statistics.pages_used), (5, 0, 0, 0));
    engine.shut_down(Duration::from_secs(60));
}

#[test]
fn a_driver_that_panics_is_lost() {
    let engine = failing(1, Fault::Panics);
    let Event::Failed(error) = last(engine.generate(request("so far", 20, 1)).expect("there is room")) else {
        panic!("it must fail")
    };
    assert_eq!(error.to_string(), "the device's program panicked: the driver's own fault");
    assert_eq!(engine.generate(request("later", 1, 0)).expect_err("the device is lost"), error);
}

#[test]
fn an_embedding_hears_of_a_failure() {
    let error = failing(0, Fault::Fails).embed(&[1, 2, 3]).expect_err("the call fails");
    assert_eq!(error.to_string(), "the card fell off");
}

#[test]
fn shutting_down_ends_what_is_left() {
    let (forward, leave) = Watched::new(room(40)).held();
    let engine = start(Box::new(forward));
    let running: Vec<_> =
        (0..2).map(|seed| engine.generate(request("so far", 200, seed)).expect("there is room")).collect();
    let other = engine.clone();
    let thread = std::thread::spawn(move || other.shut_down(Duration::ZERO));
    while engine.generate(request("later", 1, 0)).err() != Some(EngineError::Closed) {
        std::thread::yield_now();
    }
    drop(leave);
    thread.join().expect("it comes to an end");
    for generation in running {
        assert_eq!(last(generation), Event::Failed(EngineError::Closed));
    }
    assert_eq!(engine.embed(&[1]), Err(EngineError::Closed));
    // Once more does nothing.
    engine.shut_down(Duration::ZERO);
}

#[test]
fn shutting_down_with_patience_lets_requests_end() {
    let engine = failing(usize::MAX, Fault::Fails);
    let running = engine.generate(request("so far", 20, 1)).expect("there is room");
    engine.shut_down(Duration::from_secs(600));
    assert_eq!(answer(running).tokens.len(), 20);
    assert_eq!(engine.generate(request("later", 1, 0)).err(), Some(EngineError::Closed));
}

#[test]
fn answers_come_to_their_end_when_the_engine_is_dropped() {
    let engine = failing(usize::MAX, Fault::Fails);
    let running = engine.generate(request("so far", 20, 1)).expect("there is room");
    drop(engine);
    assert_eq!(answer(running).tokens.len(), 20);
}
