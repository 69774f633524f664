//! Writes the hidden states after each layer and the logits of all tokens to standard output, as
//! f32 values, for `scripts/compare-layers`.
//!
//! ```text
//! layers MODEL.gguf DEVICE PROMPT LAYER,… TOKEN...
//! ```
//! DEVICE is `reference` or a URI. PROMPT is the number of tokens that are evaluated at once; the
//! others follow one by one. Without layers (`-`), only logits are written. The states after a
//! layer are those of a model that ends there, after a final norm without weights.

#[path = "../tests/models/devices.rs"]
#[expect(dead_code, reason = "only its drivers are used")]
mod devices;

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use roci_engine::{Chunk, Forward as _, OutputKind, StateSlots};
use roci_gguf::Gguf;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};
use roci_lm_device::{DeviceModel, Options};

/// Hidden states of the tokens after the final norm, or their logits.
fn evaluate(
    file: &Arc<Gguf>,
    model: Model,
    device: &str,
    prompt: usize,
    tokens: &[u32],
    output: OutputKind,
) -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
    if device == "reference" {
        let (reference, mut sequence) = (Reference::new(file, model)?, SequenceState::default());
        let row = |token| match output {
            OutputKind::HiddenStates => reference.hidden(&mut sequence, token),
            _ => reference.logits(&mut sequence, token),
        };
        return Ok(tokens.iter().copied().map(row).collect::<Result<_, _>>()?);
    }
    let device = devices::open(device)?;
    let options = Options { cache_tokens: Some(tokens.len()), ..Options::default() };
    let mut model = DeviceModel::load(file.clone(), model, &[device], &options, &|_, _| ())?;
    let limits = model.limits().clone();
    let pages: Vec<u32> = (0..limits.pages as u32).collect();
    let mut rows = Vec::with_capacity(tokens.len());
    let (prompt, rest) = tokens.split_at_checked(prompt).ok_or("there are fewer tokens than PROMPT")?;
    for tokens in prompt.chunks(limits.max_batch_tokens).chain(rest.chunks(1)) {
        let (start, pages) = (rows.len(), &pages);
        let state = StateSlots::of_only_sequence(&limits, start);
        let outputs = model.evaluate(&[Chunk { tokens, start, pages, state, output }])?;
        rows.extend(outputs.into_iter().flat_map(|output| output.rows));
    }
    Ok(rows)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, device, prompt, layers, tokens @ ..] = &arguments[..] else {
        return Err("layers MODEL.gguf DEVICE PROMPT LAYER,... TOKEN...".into());
    };
    let prompt: usize = prompt.parse()?;
    let tokens: Vec<u32> = tokens.iter().map(|token| token.parse()).collect::<Result<_, _>>()?;
    let file = Arc::new(Gguf::open(path)?);
    let model = Model::new(&file, Some(4096))?;
    let mut output = std::io::stdout().lock();
    let mut write =
        |rows: Vec<Vec<f32>>| rows.iter().flatten().try_for_each(|value| output.write_all(&value.to_le_bytes()));
    for layer in layers.split(',').filter(|layer| *layer != "-") {
        let mut part = model.clone();
        part.layers.truncate(layer.parse::<usize>()? + 1);
        part.norm.weight = None;
        write(evaluate(&file, part, device, prompt, &tokens, OutputKind::HiddenStates)?)?;
    }
    write(evaluate(&file, model, device, prompt, &tokens, OutputKind::AllLogits)?)?;
    Ok(())
}
