//! Speculation on devices: steps with drafts, and prediction heads.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use libtest_mimic::{Failed, Trial};
use roci_engine::{
    Drafter, Engine, Event, Forward, KvCapacity, PredictionHead, ReferenceForward, Request, Settings, Speculation,
};
use roci_gguf::Gguf;
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::reference::Reference;
use roci_lm::sample;
use roci_lm::synthetic::{Case, Recipe, talking_predicting};
use roci_lm_device::{CacheType, DeviceModel, Options};
use roci_tokenizer::{Encode, Tokenizer};

use crate::hybrid::Compared;
use crate::{devices, tolerance};

const PAGE: usize = 8;
const PAGES: usize = 24;
const STATE_SLOTS: usize = 9;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |(name, open): (&'static str, devices::Open)| {
        Trial::test(format!("{name}/speculation"), move || match open() {
            Ok(device) => run(&device).map_err(Failed::from),
            Err(reason) => devices::missing(name, &reason),
        })
    };
    // Other tests run the same kernels on the other devices.
    devices::all().into_iter().filter(|(name, _)| ["cpu", "vulkan", "pocl"].contains(name)).map(trial).collect()
}

/// A model on a device whose calls are all compared with the reference.
fn compared(case: &Case, file: &Arc<Gguf>, model: Model, device: &Device) -> Result<Compared, String> {
    let options = Options {
        cache_tokens: Some(PAGES * PAGE),
        page_size: PAGE,
        max_batch_tokens: Some(24),
        state_slots: STATE_SLOTS,
        ..Options::default()
    };
    let reference = Reference::new(file, model.clone()).map_err(|error| error.to_string())?;
    let found = DeviceModel::load(Arc::clone(file), model, std::slice::from_ref(device), &options, &|_, _| ())
        .map_err(|error| error.to_string())?;
    let limits = found.limits();
    let capacity = KvCapacity {
        page_size: PAGE,
        pages: PAGES,
        max_batch_tokens: limits.max_batch_tokens,
        max_chunks: limits.max_chunks,
        state_slots: STATE_SLOTS,
    };
    Ok(Compared {
        reference: ReferenceForward::new(reference, capacity),
        tolerance: tolerance(case, CacheType::F16, device, true),
        device: found,
        calls: Arc::new(AtomicUsize::new(0)),
    })
}

/// Batched sequences generate the same text with and without drafts.
fn run(device: &Device) -> Result<(), String> {
    let case = talking_predicting();
    // Long rows, so that quantized activations do not dominate the error.
    let case = Case { recipe: Recipe { embedding: 128, feed_forward: 128, ..case.recipe }, ..case };
    let file = Arc::new(case.open().map_err(|error| error.to_string())?);
    let tokenizer = Arc::new(Tokenizer::from_metadata(file.metadata()).map_err(|error| error.to_string())?);
    let head = Model::prediction_head(&file, case.context).map_err(|error| error.to_string())?;
    let head = head.ok_or("the file has no prediction head")?;
    let mut texts = Vec::new();
    for method in ["none", "lookup", "head"] {
        let model = Model::new(&file, Some(case.context)).map_err(|error| error.to_string())?;
        let target = compared(&case, &file, model, device)?;
        let drafter = match method {
            "lookup" => Some(Drafter::Lookup),
            "head" => {
                let head = compared(&case, &file, head.clone(), device)?;
                let head = PredictionHead::new(Box::new(head), target.limits());
                Some(Drafter::Head(head.map_err(|error| error.to_string())?))
            }
            _ => None,
        };
        let settings = Settings { max_batch: 3, max_waiting: 16 };
        let speculation = Speculation { drafter, draft_tokens: 3, adaptive: false };
        let engine = Engine::start_with(Box::new(target), Arc::clone(&tokenizer), settings, speculation);
        let found = generate(&engine, &tokenizer)?;
        let statistics = engine.statistics();
        if (method != "none") != (statistics.accepted_tokens > 10) {
            return Err(format!("{method}: {statistics:?}"));
        }
        texts.push(found);
    }
    match texts.windows(2).all(|pair| pair[0] == pair[1]) {
        true => Ok(()),
        false => Err(format!("the texts differ: {texts:?}")),
    }
}

/// Texts of two letters, in which n-grams recur.
fn generate(engine: &Engine, tokenizer: &Tokenizer) -> Result<Vec<Vec<u32>>, String> {
    let letters = ["a", "b"].iter().filter_map(|text| tokenizer.id(text)).map(|token| (token, 1000.0));
    let sampling = sample::Settings { logit_bias: letters.collect(), temperature: 0.7, ..sample::Settings::default() };
    let request = |prompt: &str, seed: u64| Request {
        prompt: tokenizer.encode(prompt, Encode { add_special: true, parse_special: false }),
        max_tokens: Some(24),
        sampling: sample::Settings { seed, ..sampling.clone() },
        ignore_eos: true,
        ..Request::default()
    };
    let prompts = ["abab", "You are a helpful machine.", "You are a helpful machine. Answer.", "x"];
    let running: Vec<_> = (0..)
        .zip(prompts)
        .map(|(seed, prompt)| engine.generate(request(prompt, seed)))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    let mut texts = Vec::new();
    for mut generation in running {
        let mut tokens = Vec::new();
        loop {
            match generation.next() {
                Some(Event::Token(token)) => tokens.push(token.chosen.token),
                Some(Event::Finished(_)) => break texts.push(tokens),
                Some(Event::Failed(error)) => return Err(error.to_string()),
                Some(_) => {}
                None => return Err("a generation has no end".to_owned()),
            }
        }
    }
    Ok(texts)
}
