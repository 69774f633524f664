//! A failed call fails its requests, and a lost device fails all requests; the process continues.

use std::time::Duration;

use roci_base::Hint as _;
use roci_engine::{Engine, EngineError, Event};

use crate::common::{Fault, MockDevice, answer, capacity, last, request, start};

fn failing(call: usize, fault: Fault) -> Engine {
    start(Box::new(MockDevice::new(capacity(40)).with(call, fault)))
}

#[test]
fn a_failed_call_fails_its_requests_and_later_ones_succeed() {
    let (forward, gate) = MockDevice::new(capacity(40)).with(3, Fault::Fails).gated();
    let engine = start(Box::new(forward));
    let running: Vec<_> =
        (0..3).map(|seed| engine.generate(request("so far", 20, seed)).expect("the request is accepted")).collect();
    drop(gate);
    for generation in running {
        let Event::Failed(error @ EngineError::Device(_)) = last(generation) else { panic!("expected a failure") };
        assert_eq!(error.to_string(), "the card fell off");
        assert_eq!(error.hint().as_deref(), Some("push it"));
    }
    let alone =
        answer(failing(usize::MAX, Fault::Fails).generate(request("so far", 20, 7)).expect("the request is accepted"));
    assert_eq!(
        answer(engine.generate(request("so far", 20, 7)).expect("the request is accepted")).tokens,
        alone.tokens
    );
    let statistics = engine.statistics();
    assert_eq!((statistics.failed, statistics.completed, statistics.pages_used), (3, 1, 0));
}

#[test]
fn a_lost_device_fails_all_requests_with_the_first_cause() {
    let (forward, gate) = MockDevice::new(capacity(40)).with(2, Fault::IsLost).gated();
    let engine = Engine::start(
        Box::new(forward),
        crate::common::tokenizer(),
        roci_engine::Settings { max_batch: 2, max_waiting: 8 },
    );
    let running: Vec<_> =
        (0..5).map(|seed| engine.generate(request("so far", 20, seed)).expect("the request is accepted")).collect();
    drop(gate);
    for generation in running {
        let Event::Failed(EngineError::Device(error)) = last(generation) else { panic!("expected a failure") };
        assert!(error.lost);
        assert_eq!(error.message, "the card fell off");
    }
    let refused = engine.generate(request("later", 1, 0)).expect_err("the device is lost");
    assert_eq!(refused.to_string(), "the card fell off");
    assert_eq!(engine.embed(&[1, 2]), Err(refused));
    let statistics = engine.statistics();
    assert_eq!((statistics.failed, statistics.running, statistics.waiting, statistics.pages_used), (5, 0, 0, 0));
    engine.shut_down(Duration::from_secs(60));
}

#[test]
fn a_panic_of_the_driver_loses_the_device() {
    let engine = failing(1, Fault::Panics);
    let Event::Failed(error) = last(engine.generate(request("so far", 20, 1)).expect("the request is accepted")) else {
        panic!("expected a failure")
    };
    assert_eq!(error.to_string(), "the driver panicked: a bug in the driver");
    assert_eq!(engine.generate(request("later", 1, 0)).expect_err("the device is lost"), error);
}

#[test]
fn an_embedding_reports_a_failure() {
    let error = failing(0, Fault::Fails).embed(&[1, 2, 3]).expect_err("the call fails");
    assert_eq!(error.to_string(), "the card fell off");
}

#[test]
fn shutdown_fails_active_requests() {
    let (forward, gate) = MockDevice::new(capacity(40)).gated();
    let engine = start(Box::new(forward));
    let running: Vec<_> =
        (0..2).map(|seed| engine.generate(request("so far", 200, seed)).expect("the request is accepted")).collect();
    let other = engine.clone();
    let thread = std::thread::spawn(move || other.shut_down(Duration::ZERO));
    while engine.generate(request("later", 1, 0)).err() != Some(EngineError::Closed) {
        std::thread::yield_now();
    }
    drop(gate);
    thread.join().expect("the thread does not panic");
    for generation in running {
        assert_eq!(last(generation), Event::Failed(EngineError::Closed));
    }
    assert_eq!(engine.embed(&[1]), Err(EngineError::Closed));
    // A second shutdown does nothing.
    engine.shut_down(Duration::ZERO);
}

#[test]
fn shutdown_with_a_timeout_completes_requests() {
    let engine = failing(usize::MAX, Fault::Fails);
    let running = engine.generate(request("so far", 20, 1)).expect("the request is accepted");
    engine.shut_down(Duration::from_secs(600));
    assert_eq!(answer(running).tokens.len(), 20);
    assert_eq!(engine.generate(request("later", 1, 0)).err(), Some(EngineError::Closed));
}

#[test]
fn requests_complete_after_the_engine_is_dropped() {
    let engine = failing(usize::MAX, Fault::Fails);
    let running = engine.generate(request("so far", 20, 1)).expect("the request is accepted");
    drop(engine);
    assert_eq!(answer(running).tokens.len(), 20);
}
