//! What differs from layer to layer: windows, chunks, position embedding and temperature.

use roci_gguf::Value;

use super::blocks::Temperature;
use super::error::ModelError;
use super::keys::{Keys, LayerCount, MAX_CONTEXT};
use super::rope::RopeConfig;
use super::traits::{ArchitectureTraits, Nope, TemperatureTraits, Windows};

/// The kind of each layer.
pub(super) struct LayerKinds {
    /// Sliding windows; `None` for full attention.
    pub(super) windows: Vec<Option<u32>>,
    /// Lengths of chunks; `None` for full attention.
    pub(super) chunks: Vec<Option<u32>>,
    /// Whether a layer has position embedding.
    pub(super) rotated: Vec<bool>,
}

impl LayerKinds {
    pub(super) fn read(keys: &Keys<'_>, traits: &ArchitectureTraits, layers: usize) -> Result<Self, ModelError> {
        // Some files use a window of 0 for full attention.
        let found = keys.metadata.get::<u32>(&keys.key("attention.sliding_window"))?;
        let declared = found.filter(|window| *window > 0);
        let mut chunks = vec![None; layers];
        let windows = match traits.windows {
            Windows::Never => vec![None; layers],
            Windows::AsDeclared => vec![declared; layers],
            Windows::Alternating { period, window, .. } => {
                let window = declared.or(window);
                let within = pattern(keys, period, layers, but_last)?;
                within.into_iter().map(|within| window.filter(|_| within)).collect()
            }
            Windows::DenseFirst { period, .. } => {
                let within = pattern(keys, period, layers, |layer, period| layer % period != 0)?;
                within.into_iter().map(|within| declared.filter(|_| within)).collect()
            }
            Windows::Chunks { period, length } => {
                if found.is_some_and(|found| found != length) {
                    let reason = format!("chunks of another length than {length} are not supported");
                    return Err(ModelError::config(keys.key("attention.sliding_window"), reason));
                }
                chunks = pattern(keys, period, layers, but_last)?
                    .into_iter()
                    .map(|within| within.then_some(length))
                    .collect();
                vec![None; layers]
            }
        };
        let rotated = rotated(keys, traits, &windows)?;
        Ok(Self { windows, chunks, rotated })
    }
}

/// Whether a layer is not the last one of its period.
fn but_last(layer: usize, period: usize) -> bool {
    layer % period < period - 1
}

/// Which layers have a window: from the file, or else those that `within` selects in each period.
fn pattern(
    keys: &Keys<'_>,
    period: usize,
    layers: usize,
    within: impl Fn(usize, usize) -> bool,
) -> Result<Vec<bool>, ModelError> {
    let key = keys.key("attention.sliding_window_pattern");
    let pattern = match keys.metadata.value(&key) {
        Some(Value::Array(_)) => keys.metadata.expect::<Vec<bool>>(&key)?,
        _ => {
            let period = keys.metadata.get::<u32>(&key)?.map_or(period, |period| period as usize);
            (0..layers).map(|layer| period == 0 || within(layer, period)).collect()
        }
    };
    if pattern.len() != layers {
        return Err(ModelError::config(key, format!("{} entries for {layers} layers", pattern.len())));
    }
    Ok(pattern)
}

/// For each layer, the earlier one whose keys and values it reads: the last one that computes keys
/// and values and has the same kind of attention.
pub(super) fn kv_layers(
    keys: &Keys<'_>,
    traits: &ArchitectureTraits,
    windows: &[Option<u32>],
    kv_heads: &[usize],
) -> Result<Vec<Option<usize>>, ModelError> {
    let shared = if traits.shared_kv { keys.integer("attention.shared_kv_layers")?.unwrap_or(0) } else { 0 };
    if shared < 0 || shared >= windows.len() as i64 {
        let reason = format!("{shared} is out of range: 0 to {}", windows.len() - 1);
        return Err(ModelError::config(keys.key("attention.shared_kv_layers"), reason));
    }
    let first = windows.len() - shared as usize;
    let source = |layer: usize| {
        if layer < first {
            return Ok(None);
        }
        let like = |other: &usize| windows[*other] == windows[layer] && kv_heads[*other] == kv_heads[layer];
        (0..first).rev().find(like).map(Some).ok_or_else(|| {
            let reason = format!("layer {layer} has no earlier layer like it to share keys and values with");
            ModelError::config(keys.key("attention.shared_kv_layers"), reason)
        })
    };
    (0..windows.len()).map(source).collect()
}

/// Default number of layers with sparse activations, and their sparsity: 95 % of a normal
/// distribution are below the mean plus this many standard deviations.
const SPARSE_LAYERS: usize = 10;
const SPARSITY: f32 = 1.644_853_4;

/// Sparsity of the activations of each layer. Files use minus infinity for none.
pub(super) fn sparsity(
    keys: &Keys<'_>,
    traits: &ArchitectureTraits,
    layers: LayerCount,
) -> Result<Vec<Option<f32>>, ModelError> {
    if !traits.sparse {
        return Ok(vec![None; layers.computed]);
    }
    let key = keys.key("activation_sparsity_scale");
    let Some(mut found) = keys.metadata.get_each::<f32>(&key, layers.file)? else {
        return Ok((0..layers.computed).map(|layer| (layer < SPARSE_LAYERS).then_some(SPARSITY)).collect());
    };
    found.truncate(layers.computed);
    if found.iter().any(|scale| scale.is_nan() || *scale == f32::INFINITY) {
        return Err(ModelError::config(key, "a number is not finite".to_owned()));
    }
    Ok(found.into_iter().map(|scale| Some(scale).filter(|scale| scale.is_finite())).collect())
}

fn rotated(keys: &Keys<'_>, traits: &ArchitectureTraits, windows: &[Option<u32>]) -> Result<Vec<bool>, ModelError> {
    let any_window = windows.iter().any(Option::is_some);
    let finetuned = match traits.nope {
        Nope::UnlessFinetuned => keys.flag("rope.scaling.finetuned")?.unwrap_or(true),
        _ => true,
    };
    let rotated = |(layer, window): (usize, &Option<u32>)| match traits.nope {
        Nope::Never => true,
        Nope::Always => false,
        Nope::UnlessFinetuned => finetuned,
        Nope::FullAttention => window.is_some() || !any_window,
        Nope::Every(step) => !(layer + 1).is_multiple_of(step),
    };
    Ok(windows.iter().enumerate().map(rotated).collect())
}

/// The attention temperature of each layer.
pub(super) fn temperature(
    keys: &Keys<'_>,
    traits: &ArchitectureTraits,
    rope: &RopeConfig,
    rotated: &[bool],
) -> Result<Vec<Option<Temperature>>, ModelError> {
    let declared = keys.scale("attention.temperature_scale")?;
    let interval = match traits.temperature {
        TemperatureTraits::DeclaredInterval if declared.is_some() => {
            Some(keys.needed("attention.temperature_length", MAX_CONTEXT)?)
        }
        _ => None,
    };
    let temperature = |rotated: &bool| match traits.temperature {
        TemperatureTraits::None => None,
        TemperatureTraits::Declared => {
            declared.map(|scale| Temperature { scale, interval: rope.original_context, offset: 0 })
        }
        TemperatureTraits::DeclaredInterval => {
            declared.zip(interval).map(|(scale, interval)| Temperature { scale, interval: interval as u32, offset: 0 })
        }
        TemperatureTraits::NopeLayers { scale, interval, offset } => {
            (!rotated).then_some(Temperature { scale, interval, offset })
        }
    };
    let declares = matches!(traits.temperature, TemperatureTraits::Declared | TemperatureTraits::DeclaredInterval);
    if declared.is_some() && !declares {
        let reason = format!("not supported for the architecture `{}`", traits.name);
        return Err(ModelError::config(keys.key("attention.temperature_scale"), reason));
    }
    Ok(rotated.iter().map(temperature).collect())
}
