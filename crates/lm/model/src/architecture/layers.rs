//! What differs from layer to layer: windows, chunks, position embedding and temperature.

use roci_gguf::Value;

use super::blocks::Temperature;
use super::error::ModelError;
use super::keys::Keys;
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
                let within = pattern(keys, period, layers)?;
                within.into_iter().map(|within| window.filter(|_| within)).collect()
            }
            Windows::Chunks { period, length } => {
                if found.is_some_and(|found| found != length) {
                    let reason = format!("chunks of another length than {length} are not supported");
                    return Err(ModelError::config(keys.key("attention.sliding_window"), reason));
                }
                chunks = pattern(keys, period, layers)?.into_iter().map(|within| within.then_some(length)).collect();
                vec![None; layers]
            }
        };
        let rotated = rotated(keys, traits, &windows)?;
        Ok(Self { windows, chunks, rotated })
    }
}

/// Which layers have a window: as the file says, or else all except every n-th.
fn pattern(keys: &Keys<'_>, period: usize, layers: usize) -> Result<Vec<bool>, ModelError> {
    let key = keys.key("attention.sliding_window_pattern");
    let pattern = match keys.metadata.value(&key) {
        Some(Value::Array(_)) => keys.metadata.expect::<Vec<bool>>(&key)?,
        _ => {
            let period = keys.metadata.get::<u32>(&key)?.map_or(period, |period| period as usize);
            (0..layers).map(|layer| period == 0 || layer % period < period - 1).collect()
        }
    };
    if pattern.len() != layers {
        return Err(ModelError::config(key, format!("{} entries for {layers} layers", pattern.len())));
    }
    Ok(pattern)
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
    let temperature = |rotated: &bool| match traits.temperature {
        TemperatureTraits::None => None,
        TemperatureTraits::Declared => {
            declared.map(|scale| Temperature { scale, interval: rope.original_context, offset: 0 })
        }
        TemperatureTraits::NopeLayers { scale, interval, offset } => {
            (!rotated).then_some(Temperature { scale, interval, offset })
        }
    };
    if declared.is_some() && traits.temperature != TemperatureTraits::Declared {
        let reason = format!("not supported for the architecture `{}`", traits.name);
        return Err(ModelError::config(keys.key("attention.temperature_scale"), reason));
    }
    Ok(rotated.iter().map(temperature).collect())
}
