//! LoRA adapters of requests: scales of chunks, and the prefix cache.

use std::sync::{Arc, Mutex};

use roci_engine::{
    AdapterSetting, Chunk, EngineError, Forward, ForwardError, Limits, Output, ReferenceForward, Request,
};

use crate::common::{PAGE, answer, capacity, reference, request, start};

const PROMPT: &str = "You are a helpful machine. Answer shortly.";

/// The scales of all chunks, call by call.
type Calls = Arc<Mutex<Vec<Vec<Arc<[f32]>>>>>;

/// A model with two adapters that change nothing.
struct Adapted {
    inner: ReferenceForward,
    calls: Calls,
}

impl Forward for Adapted {
    fn limits(&self) -> &Limits {
        self.inner.limits()
    }

    fn adapters(&self) -> Vec<AdapterSetting> {
        [("one", 1.0), ("two", 0.0)].map(|(name, scale)| AdapterSetting { name: name.to_owned(), scale }).to_vec()
    }

    fn set_adapter_scales(&mut self, scales: &[Arc<[f32]>]) {
        self.calls.lock().expect("no thread panicked").push(scales.to_vec());
    }

    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
        let calls = self.calls.lock().expect("no thread panicked");
        assert_eq!(calls.last().map(Vec::len), Some(chunks.len()), "every chunk has scales");
        drop(calls);
        self.inner.evaluate(chunks)
    }
}

fn adapted() -> (roci_engine::Engine, Calls) {
    let calls = Calls::default();
    let inner = ReferenceForward::new(reference(256), capacity(60));
    (start(Box::new(Adapted { inner, calls: Arc::clone(&calls) })), calls)
}

#[test]
fn sequences_with_different_scales_share_no_pages() {
    let (engine, calls) = adapted();
    let ask = |adapters: Option<Vec<(usize, f32)>>| {
        let request = Request { adapters, ..request(PROMPT, 4, 1) };
        answer(engine.generate(request).expect("the request is accepted")).summary.cached_tokens
    };
    let last = || calls.lock().expect("no thread panicked").last().expect("there was a call")[0].to_vec();
    assert_eq!(ask(None), 0);
    assert_eq!(last(), [1.0, 0.0]);
    assert_eq!(ask(Some(vec![(1, 0.5)])), 0);
    assert_eq!(last(), [0.0, 0.5]);
    assert_eq!(ask(Some(Vec::new())), 0);
    assert_eq!(last(), [0.0, 0.0]);
    // Each setting finds its own pages again.
    for adapters in [None, Some(vec![(0, 1.0)]), Some(vec![(1, 0.5)]), Some(Vec::new())] {
        assert!(ask(adapters.clone()) >= PAGE, "{adapters:?}");
    }
    engine.set_adapter_scales(&[(1, 0.5)]).expect("the adapter exists");
    assert!(ask(None) >= PAGE);
    assert_eq!(last(), [0.0, 0.5]);
    assert_eq!(engine.adapters()[1].scale, 0.5);
}

#[test]
fn unknown_adapters_are_refused() {
    let (engine, _) = adapted();
    let wrong = Request { adapters: Some(vec![(2, 1.0)]), ..request(PROMPT, 4, 1) };
    assert!(matches!(engine.generate(wrong), Err(EngineError::Adapter { id: 2, count: 2, .. })));
    assert!(engine.set_adapter_scales(&[(0, f32::INFINITY)]).is_err());
    assert_eq!(engine.adapters()[0].scale, 1.0);
}
