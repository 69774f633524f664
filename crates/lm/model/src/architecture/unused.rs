//! Refuses what a file has and the model would ignore: such a file means another computation.

use std::collections::BTreeSet;

use roci_gguf::{Gguf, Metadata, Value};

use super::blocks::Layer;
use super::error::ModelError;
use super::{Model, Pooling, matrix_scales};

/// Keys that have no effect on the logits of text, or only in architectures that read them.
const WITHOUT_EFFECT: &[&str] = &[
    "attention.layer_norm_epsilon",
    "attention.sliding_window_pattern",
    "classifier.output_labels",
    "deepstack_mapping",
    "rope.dimension_sections",
    "rope.freq_base_swa",
    "rope.scaling.finetuned",
    "tensor_data_layout",
    "use_parallel_residual",
    "vocab_size",
];

/// Prefix of the tensors of a classification head, which only rerankers use.
const CLASSIFIER: &str = "cls.";

/// Keys and tensors of image and audio encoders in the same file.
const ENCODERS: &[&str] = &["a.", "audio.", "mm.", "projector.", "v.", "vision."];

/// Checks that every key of the architecture is in `read`, has no effect, or has the value that
/// means "off".
///
/// # Errors
/// If one is not.
pub(super) fn check_keys(metadata: &Metadata, architecture: &str, read: &BTreeSet<String>) -> Result<(), ModelError> {
    for (key, value) in metadata.iter() {
        let Some(short) = key.strip_prefix(architecture).and_then(|rest| rest.strip_prefix('.')) else { continue };
        let known = read.contains(key) || WITHOUT_EFFECT.contains(&short);
        if known || ENCODERS.iter().any(|prefix| short.starts_with(prefix)) || is_off(short, value) {
            continue;
        }
        let reason = format!("not supported for the architecture `{architecture}`");
        return Err(ModelError::config(key, reason));
    }
    Ok(())
}

/// Whether a key has the value that it would have if the file did not have it.
fn is_off(key: &str, value: &Value) -> bool {
    let number = match value {
        Value::Bool(set) => return *set == (key == "attention.causal"),
        Value::F32(number) => f64::from(*number),
        Value::F64(number) => *number,
        _ => match value.as_integer() {
            Some(number) => number as f64,
            None => return false,
        },
    };
    number == 0.0 || (number == 1.0 && (key.ends_with("scale") || key.ends_with("factor")))
}

/// Checks that the model uses every tensor of the file. Not counted are RoPE factors, which are
/// part of the description, layers for multi-token prediction, encoders, and classification heads
/// of models that are not rerankers.
///
/// # Errors
/// If it does not use one.
pub(super) fn check_tensors(file: &Gguf, model: &Model) -> Result<(), ModelError> {
    let used: BTreeSet<&str> = model.tensors().into_iter().collect();
    for tensor in file.tensors() {
        let name = tensor.info().name();
        let layer = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
        let layer = layer.and_then(|(number, _)| number.parse::<usize>().ok());
        let ranks = model.config.pooling == Pooling::Rank;
        let ignored = name.starts_with("rope_f")
            || layer.is_some_and(|layer| is_shared(model, layer, name))
            || (name.starts_with(CLASSIFIER) && !ranks)
            || layer.is_some_and(|layer| layer >= model.layers.len())
            || ENCODERS.iter().any(|prefix| name.starts_with(prefix));
        if ignored || used.contains(name) || is_scale(file, name, &used)? {
            continue;
        }
        return Err(ModelError::Unused { tensor: name.to_owned(), architecture: model.config.architecture.to_owned() });
    }
    Ok(())
}

/// Whether a tensor computes keys or values in a layer that reads those of an earlier layer.
fn is_shared(model: &Model, layer: usize, name: &str) -> bool {
    let attention = model.layers.get(layer).and_then(Layer::attention);
    let is_shared = attention.is_some_and(|block| block.kv_layer.is_some());
    is_shared && ["attn_k.weight", "attn_k_norm.weight", "attn_v.weight"].iter().any(|end| name.ends_with(end))
}

/// Whether a tensor scales a matrix that the model uses, or its inputs. Scales of inputs serve
/// engines that quantize these with a fixed scale.
fn is_scale(file: &Gguf, name: &str, used: &BTreeSet<&str>) -> Result<bool, ModelError> {
    let weight = |stem: &str| format!("{stem}.weight");
    if let Some(stem) = name.strip_suffix(".input_scale") {
        return Ok(used.contains(weight(stem).as_str()));
    }
    let Some(weight) = name.strip_suffix(".scale").map(weight) else { return Ok(false) };
    Ok(used.contains(weight.as_str()) && matrix_scales(file, &weight)?.is_some())
}
