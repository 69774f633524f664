//! How far each pair of a head's values is turned.

use super::blocks::{Rope, RopeStyle};
use super::config::Keys;
use super::error::ModelError;
use super::table::{Traits, Windows};

/// Rotations as a file describes them.
#[derive(Clone, Debug, PartialEq)]
pub struct RopeConfig {
    /// How many values of a head are turned.
    pub dimensions: usize,
    /// The base of the geometric series of angles.
    pub base: f32,
    /// The base for layers with a window, if it is another.
    pub window_base: Option<f32>,
    /// How the series is bent for contexts longer than the model was first trained on.
    pub scaling: Scaling,
    /// The context that it was first trained on.
    pub original_context: u32,
    /// What the turned values are multiplied by.
    pub attention_factor: f32,
}

/// How angles are changed for longer contexts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// Not at all, but for factors that the file has as a tensor.
    None,
    /// All divided by a factor.
    Linear {
        /// The factor.
        factor: f32,
    },
    /// Slow ones divided by a factor, fast ones not, and a ramp between.
    Yarn {
        /// The factor.
        factor: f32,
        /// Turns over the original context above which a pair counts as fast.
        fast: f32,
        /// Turns below which it counts as slow.
        slow: f32,
        /// How much of the ramp is applied.
        share: f32,
        /// What the strength of attention grows by for each logarithm of the factor; `None` for the usual tenth.
        log_multiplier: Option<f32>,
    },
    /// By factors for each pair that the file has as tensors: one list for short contexts, one for long ones.
    Long,
}

impl RopeConfig {
    pub(super) fn read(keys: &Keys<'_>, traits: &Traits, key_length: usize, context: u32) -> Result<Self, ModelError> {
        let dimensions = keys.count("rope.dimension_count", key_length as u64)?.unwrap_or(key_length);
        if dimensions % 2 != 0 {
            let reason = format!("{dimensions} values are not pairs");
            return Err(ModelError::config(keys.key("rope.dimension_count"), reason));
        }
        let factor = match keys.positive("rope.scaling.factor")? {
            Some(factor) => factor,
            // The name that it had in older files.
            None => keys.positive("rope.scale_linear")?.unwrap_or(1.0),
        };
        let scaling = match keys.text("rope.scaling.type")? {
            None if factor != 1.0 => Scaling::Linear { factor },
            None | Some("none") => Scaling::None,
            Some("linear") => Scaling::Linear { factor },
            Some("yarn") => Scaling::Yarn {
                factor,
                fast: keys.positive("rope.scaling.yarn_beta_fast")?.unwrap_or(32.0),
                slow: keys.positive("rope.scaling.yarn_beta_slow")?.unwrap_or(1.0),
                share: keys.float("rope.scaling.yarn_ext_factor")?.filter(|share| *share >= 0.0).unwrap_or(1.0),
                log_multiplier: keys.float("rope.scaling.yarn_log_multiplier")?.filter(|m| *m != 0.0),
            },
            Some("longrope") => Scaling::Long,
            Some(other) => {
                let reason = format!("`{other}` is not one of none, linear, yarn, longrope");
                return Err(ModelError::config(keys.key("rope.scaling.type"), reason));
            }
        };
        let window_base = match traits.windows {
            Windows::Alternating { base, .. } => keys.positive("rope.freq_base_swa")?.or(base),
            Windows::Never | Windows::AsDeclared => None,
        };
        let original = keys.count("rope.scaling.original_context_length", 1 << 31)?;
        Ok(Self {
            dimensions,
            base: keys.positive("rope.freq_base")?.unwrap_or(10_000.0),
            window_base,
            scaling,
            original_context: original.map_or(context, |original| original as u32),
            attention_factor: keys.positive("rope.scaling.attn_factor")?.unwrap_or(1.0),
        })
    }

    /// The rotations of layers that see everything; `factors` divide the angles pair by pair.
    pub(super) fn build(&self, style: RopeStyle, factors: Option<&[f32]>) -> Rope {
        let mut frequencies = series(self.base, self.dimensions);
        for (frequency, factor) in frequencies.iter_mut().zip(factors.unwrap_or_default()) {
            *frequency /= f64::from(*factor);
        }
        let mut magnitude = f64::from(self.attention_factor);
        match self.scaling {
            Scaling::None | Scaling::Long => {}
            Scaling::Linear { factor } => frequencies.iter_mut().for_each(|frequency| *frequency /= f64::from(factor)),
            Scaling::Yarn { factor, fast, slow, share, log_multiplier } => {
                let original = f64::from(self.original_context);
                let turned = |turns: f32| {
                    let pair = (original / (f64::from(turns) * std::f64::consts::TAU)).ln() / f64::from(self.base).ln();
                    self.dimensions as f64 * pair / 2.0
                };
                let first = turned(fast).floor().max(0.0);
                let last = turned(slow).ceil().min(self.dimensions as f64 - 1.0);
                for (pair, frequency) in frequencies.iter_mut().enumerate() {
                    let along = ((pair as f64 - first) / (last - first).max(0.001)).clamp(0.0, 1.0);
                    let kept = (1.0 - along) * f64::from(share);
                    *frequency = *frequency / f64::from(factor) * (1.0 - kept) + *frequency * kept;
                }
                if share != 0.0 {
                    let growth = |multiplier: f32| 1.0 + 0.1 * f64::from(multiplier) * f64::from(factor).ln().max(0.0);
                    magnitude *= growth(1.0) / log_multiplier.map_or(1.0, growth);
                }
            }
        }
        let frequencies = frequencies.into_iter().map(|frequency| frequency as f32).collect();
        Rope { style, frequencies, magnitude: magnitude as f32 }
    }

    /// The rotations of layers with a window, which no scaling changes, since they never look far back.
    pub(super) fn build_local(&self, style: RopeStyle, base: f32) -> Rope {
        let frequencies = series(base, self.dimensions).into_iter().map(|frequency| frequency as f32).collect();
        Rope { style, frequencies, magnitude: 1.0 }
    }
}

/// `base` to the powers 0, -2/n, -4/n, and so on.
fn series(base: f32, dimensions: usize) -> Vec<f64> {
    let exponent = |pair: usize| -2.0 * pair as f64 / dimensions as f64;
    (0..dimensions / 2).map(|pair| f64::from(base).powf(exponent(pair))).collect()
}
