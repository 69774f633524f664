//! Prompts with an image: compares logits with llama.cpp's.

use std::path::Path;
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use roci_engine::{
    Chunk, Engine, EngineError, Event, Forward as _, Generation, Image, ImagePositions, ImageRows, Images,
    OutOfImageTokens, OutputKind, Request, Settings, StateSlots,
};
use roci_hal::Device;
use roci_lm::architecture::Model;
use roci_lm::sample;
use roci_lm::synthetic::talking;
use roci_lm_device::{CacheType, DeviceModel, Options};
use roci_tokenizer::{Encode, Tokenizer};

use crate::image_cases::{ImageCase, all};
use crate::{compare, devices, tolerance};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, open) in devices::all() {
        for case in all() {
            trials.push(Trial::test(format!("{name}/{}", case.name), move || match open() {
                Ok(device) => check(&device, &case).map_err(Failed::from),
                Err(reason) => devices::missing(name, &reason),
            }));
        }
        trials.push(Trial::test(format!("{name}/image-engine"), move || match open() {
            Ok(device) => engine(&device).map_err(Failed::from),
            Err(reason) => devices::missing(name, &reason),
        }));
    }
    trials
}

/// Requests with images to an engine: one at a time, from the prefix cache, and concurrently.
fn engine(device: &Device) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let case = talking();
    let file = Arc::new(case.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let options = Options { cache_tokens: Some(224), page_size: 8, max_batch_tokens: Some(40), ..Options::default() };
    let device_slice = std::slice::from_ref(device);
    let model = DeviceModel::load(Arc::clone(&file), model, device_slice, &options, &|_, _| ())
        .map_err(|error| text(&error))?;
    let tokenizer = Arc::new(Tokenizer::from_metadata(file.metadata()).map_err(|error| text(&error))?);
    let settings = Settings { max_batch: 3, max_waiting: 8 };
    let engine = Engine::start(Box::new(model), Arc::clone(&tokenizer), settings);
    let image = |name: &[u8], count: usize, factor: f32| {
        let rows = (0..count * case.recipe.embedding).map(|at| ((at * 7 % 13) as f32 - 6.0) * factor).collect();
        let positions = ImagePositions::Bidirectional;
        let rows = ImageRows { rows, width: case.recipe.embedding, positions, texts: Vec::new() };
        engine.images().get::<OutOfImageTokens>(name, || Ok(rows)).map_err(|error| text(&error))
    };
    let (cat, dog) = (image(b"cat", 30, 0.1)?, image(b"dog", 21, 0.2)?);
    let words = tokenizer.encode("Once upon a time", Encode { add_special: true, parse_special: false });
    let request = |image: &Arc<Image>| Request {
        prompt: words.iter().copied().chain(image.tokens()).chain(words.iter().copied()).collect(),
        images: vec![Arc::clone(image)],
        max_tokens: Some(9),
        sampling: sample::Settings::greedy(),
        ignore_eos: true,
        ..Request::default()
    };
    let start = |image: &Arc<Image>| engine.generate(request(image)).map_err(|error| text(&error));
    let finish = |generation: Generation| {
        let mut answer = String::new();
        for event in generation {
            match event {
                Event::Token(token) => answer.push_str(&token.text),
                Event::Finished(summary) => return Ok((answer + &summary.text, summary.cached_tokens)),
                Event::Failed(error) => return Err(text(&error)),
                _ => {}
            }
        }
        Err("the generation did not end".to_owned())
    };
    let (first, cached) = finish(start(&cat)?)?;
    let (again, shared) = finish(start(&cat)?)?;
    let (other, _) = finish(start(&dog)?)?;
    let together = [start(&cat)?, start(&dog)?, start(&cat)?].map(finish);
    let [Ok((one, _)), Ok((two, _)), Ok((three, _))] = together else { return Err("a request failed".to_owned()) };
    if cached != 0
        || shared == 0
        || first != again
        || first == other
        || [&one, &two, &three] != [&first, &other, &first]
    {
        return Err(format!("{cached} {shared}: {first:?} {again:?} {other:?} {one:?} {two:?} {three:?}"));
    }
    let mut wrong = request(&cat);
    wrong.images.clear();
    let mut part = request(&cat);
    part.prompt.truncate(words.len() + 5);
    let refused = |request: Request| matches!(engine.generate(request), Err(EngineError::UnknownToken { .. }));
    let large = image(b"large", 39, 0.1)?;
    let too_large = matches!(engine.generate(request(&large)), Err(EngineError::ImageTooLarge { rows: 39, batch: 38 }));
    if !refused(wrong) || !refused(part) || !too_large {
        return Err("a wrong prompt was accepted".to_owned());
    }
    Ok(())
}

/// Recorded logits of the tokens after the image.
fn recorded(case: &ImageCase) -> Result<Vec<Vec<f32>>, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/images/{}.f32", case.name));
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let values: Vec<f32> =
        bytes.chunks_exact(4).map(|value| f32::from_le_bytes([value[0], value[1], value[2], value[3]])).collect();
    Ok(values.chunks_exact(values.len() / case.after.len()).map(<[f32]>::to_vec).collect())
}

fn check(device: &Device, case: &ImageCase) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = Arc::new(case.model.open().map_err(|error| text(&error))?);
    let model = Model::new(&file, Some(case.model.context)).map_err(|error| text(&error))?;
    let options = Options { cache_tokens: Some(256), page_size: 16, ..Options::default() };
    let device_slice = std::slice::from_ref(device);
    let mut model = DeviceModel::load(Arc::clone(&file), model, device_slice, &options, &|_, _| ())
        .map_err(|error| text(&error))?;
    let images = Arc::new(Images::default());
    model.attach_images(Arc::clone(&images));
    let (columns, lines) = case.grid;
    let positions = match case.placed {
        "grid" => ImagePositions::Grid { columns, lines },
        "bidirectional" => ImagePositions::Bidirectional,
        _ => ImagePositions::Causal,
    };
    let rows = ImageRows { rows: case.rows(), width: case.width(), positions, texts: Vec::new() };
    let image = images.get::<OutOfImageTokens>(b"image", || Ok(rows)).map_err(|error| text(&error))?;
    let tokens: Vec<u32> =
        case.before.iter().copied().chain(image.tokens()).chain(case.after.iter().copied()).collect();
    let (first, end) = (case.before.len(), case.before.len() + image.count());
    let last = tokens.len();
    // Chunks that end within the text, within the image unless its rows attend to each other, and
    // after some text; then single tokens.
    let middle = if case.placed == "bidirectional" { end } else { first + 7 };
    let mut ends = vec![9, middle, end + 5];
    ends.extend(end + 6..=last);
    let other: Vec<u32> = case.model.tokens(64)[24..].to_vec();
    let pages = [[5, 2, 9, 11, 12], [4, 8, 1, 3, 0]];
    let recurrent = model.limits().state_slots > 0;
    let slot = |sequence: u32, start: usize| {
        recurrent.then(|| StateSlots { read: (start > 0).then_some(sequence), write: sequence })
    };
    let mut found = Vec::new();
    let (mut start, mut others) = (0, 0);
    for end_of_chunk in ends {
        // The other sequence has only text.
        let next = others + 2;
        let chunks = [
            Chunk {
                tokens: &tokens[start..end_of_chunk],
                start,
                pages: &pages[0],
                state: slot(0, start),
                output: OutputKind::AllLogits,
            },
            Chunk {
                tokens: &other[others..next],
                start: others,
                pages: &pages[1],
                state: slot(1, others),
                output: OutputKind::LastLogits,
            },
        ];
        let saved = if start >= end { image.saved_positions() as u32 } else { 0 };
        // The last steps have only the first sequence, with one token each.
        let chunks = if end_of_chunk + 3 > last { &chunks[..1] } else { &chunks[..] };
        model.set_saved_positions(&[saved, 0][..chunks.len()]);
        let outputs = model.evaluate(chunks).map_err(|error| text(&error))?;
        found.extend(outputs.into_iter().next().map(|output| output.rows).unwrap_or_default());
        (start, others) = (end_of_chunk, next);
    }
    for (at, (row, expected)) in found[end..].iter().zip(recorded(case)?).enumerate() {
        let tolerance = tolerance(&case.model, CacheType::F16, device, true);
        compare(row, &expected, tolerance, &format!("token {at} after the image"))?;
    }
    Ok(())
}
