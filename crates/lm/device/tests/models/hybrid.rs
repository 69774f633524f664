//! Models with recurrent blocks: weight types and head sizes, and an engine that batches, preempts
//! and shares prefixes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::{Failed, Trial};
use roci_engine::{
    Chunk, Engine, Event, Forward, ForwardError, KvCapacity, Limits, Output, ReferenceForward, Request, Settings,
    States,
};
use roci_gguf::Type;
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::reference::Reference;
use roci_lm::sample;
use roci_lm::synthetic::{Case, Hybrid, Recipe, Recurrent, RecurrentBlock, hybrids, talking_hybrid, talking_recurrent};
use roci_lm_device::{CacheType, DeviceModel, Options};
use roci_testkit::tolerance::NormTolerance;
use roci_tokenizer::{Encode, Tokenizer};

use crate::{check, compare, devices, tolerance};

const PAGE: usize = 8;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, open) in devices::all() {
        let mut trial = |what: &str, run: fn(&Device) -> Result<(), String>| {
            trials.push(Trial::test(format!("{name}/{what}"), move || match open() {
                Ok(device) => run(&device).map_err(Failed::from),
                Err(reason) => devices::missing(name, &reason),
            }));
        };
        trial("hybrid-engine", |device| engine(device, &talking_hybrid()));
        trial("lfm2-engine", |device| engine(device, &talking_recurrent()[0]));
        trial("granitehybrid-engine", |device| engine(device, &talking_recurrent()[1]));
        trial("nemotron_h-engine", |device| engine(device, &talking_recurrent()[2]));
        trial("jamba-engine", |device| engine(device, &talking_recurrent()[3]));
        trial("rwkv7-engine", |device| engine(device, &talking_recurrent()[4]));
        trial("rwkv6-engine", |device| engine(device, &talking_recurrent()[5]));
        trial("hybrid-wide", |device| check(device, &wide(), CacheType::F16, None));
        trial("hybrid-q4_0", |device| check(device, &quantized(larger(), Type::Q4_0), CacheType::F16, None));
        trial("hybrid-cache-q8", |device| check(device, &hybrids().remove(2), CacheType::Q8, None));
    }
    trials.push(Trial::test("cpu/hybrid-heads", || refused_heads().map_err(Failed::from)));
    trials.push(Trial::test("cpu/hybrid-slots", || wrong_slots().map_err(Failed::from)));
    trials
}

/// A model with matrices of a type with blocks of 32 values.
pub(crate) fn quantized(case: Case, kind: Type) -> Case {
    let hybrid = case.recipe.hybrid.map(|hybrid| Hybrid { shared_feed_forward: 64, ..hybrid });
    let mut recurrent = case.recipe.recurrent;
    if let Some(Recurrent { block, .. }) = &mut recurrent
        && let RecurrentBlock::SelectiveScan { rank, .. }
        | RecurrentBlock::TimeMix { rank, .. }
        | RecurrentBlock::DynamicTimeMix { rank, .. } = block
    {
        *rank = 32;
    }
    Case {
        name: format!("{}-{}", case.name, kind.name().to_lowercase()),
        recipe: Recipe { kind, hybrid, recurrent, ..case.recipe },
        ..case
    }
}

/// Head sizes of published models.
pub(crate) fn wide() -> Case {
    let case = hybrids().remove(2);
    let hybrid = case.recipe.hybrid.map(|hybrid| Hybrid { length: 128, ..hybrid });
    Case { recipe: Recipe { hybrid, ..case.recipe }, ..case }
}

/// Long rows, so that quantized activations do not dominate the error.
fn larger() -> Case {
    let case = hybrids().remove(2);
    let hybrid = case.recipe.hybrid.map(|hybrid| Hybrid { length: 64, ..hybrid });
    Case { recipe: Recipe { embedding: 256, head: 64, feed_forward: 256, hybrid, ..case.recipe }, ..case }
}

/// Evaluates each call on a device and on the reference. Returns the outputs of the reference, so
/// that rounding does not change the generated tokens.
pub(crate) struct Compared {
    pub(crate) device: DeviceModel,
    pub(crate) reference: ReferenceForward,
    pub(crate) tolerance: NormTolerance,
    pub(crate) calls: Arc<AtomicUsize>,
}

impl Forward for Compared {
    fn limits(&self) -> &Limits {
        self.device.limits()
    }

    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
        let found = self.device.evaluate(chunks)?;
        let expected = self.reference.evaluate(chunks)?;
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        for (chunk, (found, expected)) in found.iter().zip(&expected).enumerate() {
            for (row, (found, expected)) in found.rows.iter().zip(&expected.rows).enumerate() {
                compare(found, expected, self.tolerance, &format!("row {row} of chunk {chunk} of call {call}"))
                    .map_err(|message| ForwardError { message, hint: None, lost: true })?;
            }
        }
        Ok(expected)
    }

    fn evaluate_with_states(
        &mut self,
        chunks: &[Chunk<'_>],
        before: Option<&[Vec<f32>]>,
    ) -> Result<Vec<(Output, States)>, ForwardError> {
        let found = self.device.evaluate_with_states(chunks, before)?;
        let expected = self.reference.evaluate_with_states(chunks, before)?;
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        for (chunk, ((output, states), expected)) in found.iter().zip(&expected).enumerate() {
            let counts = [output.rows.len(), states.len(), expected.0.rows.len(), expected.1.len()];
            let found = output.rows.iter().chain(states);
            let expected = expected.0.rows.iter().chain(&expected.1);
            for (row, (found, expected)) in found.zip(expected).enumerate() {
                let what = format!("row {row} of {counts:?} of chunk {chunk} of call {call}");
                compare(found, expected, self.tolerance, &what).map_err(|message| ForwardError {
                    message,
                    hint: None,
                    lost: true,
                })?;
            }
        }
        Ok(expected)
    }
}

/// Batched sequences, some of which are preempted and some of which start from checkpoints.
pub(crate) fn engine(device: &Device, case: &Case) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let tokenizer = Arc::new(Tokenizer::from_metadata(file.metadata()).map_err(|error| text(&error))?);
    let reference = Reference::new(&file, model.clone()).map_err(|error| text(&error))?;
    let (pages, state_slots) = (16, 6);
    let options = Options {
        cache_tokens: Some(pages * PAGE),
        page_size: PAGE,
        max_batch_tokens: Some(24),
        state_slots,
        ..Options::default()
    };
    let found = DeviceModel::load(file, model, std::slice::from_ref(device), &options, &|_, _| ())
        .map_err(|error| text(&error))?;
    let limits = found.limits();
    let capacity = KvCapacity {
        page_size: PAGE,
        pages,
        max_batch_tokens: limits.max_batch_tokens,
        max_chunks: limits.max_chunks,
        state_slots: limits.state_slots,
    };
    let calls = Arc::new(AtomicUsize::new(0));
    let compared = Compared {
        reference: ReferenceForward::new(reference, capacity),
        tolerance: tolerance(case, CacheType::F16, device, true),
        device: found,
        calls: Arc::clone(&calls),
    };
    let engine = Engine::start(Box::new(compared), Arc::clone(&tokenizer), Settings { max_batch: 4, max_waiting: 16 });
    let request = |prompt: &str, max_tokens: usize, seed: u64| Request {
        prompt: tokenizer.encode(prompt, Encode { add_special: true, parse_special: false }),
        max_tokens: Some(max_tokens),
        sampling: sample::Settings { seed, temperature: 1.0, ..sample::Settings::default() },
        ignore_eos: true,
        ..Request::default()
    };
    let generate = |requests: Vec<Request>| -> Result<usize, String> {
        let running: Vec<_> = requests
            .into_iter()
            .map(|one| engine.generate(one))
            .collect::<Result<_, _>>()
            .map_err(|error| text(&error))?;
        let mut cached = 0;
        for mut generation in running {
            loop {
                match generation.next() {
                    Some(Event::Finished(summary)) => break cached += summary.cached_tokens,
                    Some(Event::Failed(error)) => return Err(error.to_string()),
                    Some(_) => {}
                    None => return Err("a generation has no end".to_owned()),
                }
            }
        }
        Ok(cached)
    };
    let prefix = "You are a helpful machine. Answer shortly.";
    // These sequences grow beyond the pages.
    generate((0..4).map(|seed| request("tell me more", 40, seed)).collect())?;
    let preempted = engine.statistics().preemptions;
    // Both start from the checkpoint at the end of the first prompt.
    generate(vec![request(prefix, 9, 4)])?;
    let cached = generate(vec![request(prefix, 20, 5), request(&format!("{prefix} Why?"), 20, 6)])?;
    let calls = calls.load(Ordering::Relaxed);
    if preempted > 0 && cached > 0 && calls > 80 {
        Ok(())
    } else {
        Err(format!("{preempted} preemptions, {cached} tokens of shared prefixes, {calls} calls"))
    }
}

/// A device with a description of a model that is not loaded, or the error.
fn load(case: &Case) -> Result<DeviceModel, String> {
    let file = Arc::new(case.open().map_err(|error| error.to_string())?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| error.to_string())?;
    let device = devices::open("cpu")?;
    DeviceModel::load(file, model, &[device], &Options::default(), &|_, _| ()).map_err(|error| error.to_string())
}

fn refused_heads() -> Result<(), String> {
    let case = hybrids().remove(2);
    let hybrid = case.recipe.hybrid.map(|hybrid| Hybrid { length: 18, ..hybrid });
    let found = load(&Case { recipe: Recipe { hybrid, ..case.recipe }, ..case });
    let expected =
        "heads of 18 elements in gated delta nets are not supported, only multiples of 4 up to 2048".to_owned();
    if found.as_ref().err() == Some(&expected) { Ok(()) } else { Err(format!("found {found:?}")) }
}

/// A chunk must name existing slots, and only for models with recurrent states.
fn wrong_slots() -> Result<(), String> {
    use roci_engine::{OutputKind, StateSlots};
    let hybrid = hybrids().remove(2);
    let plain = roci_lm::synthetic::architectures().remove(0);
    let slots = |read, write| Some(StateSlots { read, write });
    for (case, state) in
        [(&hybrid, None), (&hybrid, slots(None, 9)), (&hybrid, slots(Some(9), 0)), (&plain, slots(None, 0))]
    {
        let mut model = load(case)?;
        let chunk = Chunk { tokens: &[1], start: 0, pages: &[0], state, output: OutputKind::LastLogits };
        let error = model.evaluate(&[chunk]).err().map(|error| error.message).unwrap_or_default();
        if !error.contains("a chunk with the recurrent state") {
            return Err(format!("{}, {state:?}: `{error}`", case.name));
        }
    }
    Ok(())
}
