//! RoPE frequencies and their scaling for long contexts.

use super::blocks::{Rope, RopeStyle};
use super::error::ModelError;
use super::keys::Keys;
use super::traits::{ArchitectureTraits, RopeSections, WindowRope, Windows};

/// RoPE parameters of a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RopeConfig {
    /// Number of rotated values per head.
    pub dimensions: usize,
    /// The same parameters for layers with a sliding window.
    pub window_dimensions: usize,
    /// How values are paired.
    pub style: RopeStyle,
    /// Base of the geometric series of frequencies.
    pub base: f32,
    /// Base of layers with a sliding window, if their RoPE differs.
    pub window_base: Option<f32>,
    /// Whether RoPE of layers with a sliding window is scaled.
    pub window_scaled: bool,
    /// Scaling of the frequencies for contexts beyond the original one.
    pub scaling: Scaling,
    /// Context length before scaling.
    pub original_context: u32,
    /// Factor of the rotated values.
    pub attention_factor: f32,
    /// Number of pairs that rotate by each of a token's positions, for interleaved sections
    /// (MRoPE).
    pub sections: Option<[usize; 4]>,
}

/// RoPE scaling.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scaling {
    /// None, except for frequency factors in a tensor of the file.
    None,
    /// Linear: all frequencies are divided by a factor.
    Linear {
        /// The factor.
        factor: f32,
    },
    /// YaRN: low frequencies are divided by a factor, high ones are unchanged, with a ramp in
    /// between.
    Yarn {
        /// The factor.
        factor: f32,
        /// `beta_fast`: rotations over the original context above which a frequency is unchanged.
        fast: f32,
        /// `beta_slow`: rotations below which a frequency is divided by the whole factor.
        slow: f32,
        /// `ext_factor`: weight of the ramp.
        share: f32,
        /// Growth of the attention factor per natural logarithm of the scaling factor; `None` for
        /// the default of 0.1.
        log_multiplier: Option<f32>,
    },
    /// LongRoPE: frequency factors as tensors, one for short and one for long contexts.
    Long,
}

impl RopeConfig {
    pub(super) fn read(
        keys: &Keys<'_>,
        traits: &ArchitectureTraits,
        [key_length, window_key_length]: [usize; 2],
        context: u32,
    ) -> Result<Self, ModelError> {
        let dimensions = keys.count("rope.dimension_count", key_length as u64)?.unwrap_or(key_length);
        if dimensions % 2 != 0 {
            let reason = format!("{dimensions} is not an even number");
            return Err(ModelError::config(keys.key("rope.dimension_count"), reason));
        }
        let window_dimensions = window_dimensions(keys, traits, dimensions, window_key_length)?;
        let factor = match keys.positive("rope.scaling.factor")? {
            Some(factor) => factor,
            // The key in older files.
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
                // With a latent, it does not change the rotated values but the scores.
                log_multiplier: keys
                    .float("rope.scaling.yarn_log_multiplier")?
                    .filter(|m| *m != 0.0)
                    .map(|multiplier| if traits.latent { 1.0 } else { multiplier }),
            },
            Some("longrope") => Scaling::Long,
            Some(other) => {
                let reason = format!("unknown RoPE scaling `{other}`; known: none, linear, yarn, longrope");
                return Err(ModelError::config(keys.key("rope.scaling.type"), reason));
            }
        };
        let base = base(keys, dimensions)?;
        let window_rope = match traits.windows {
            Windows::Alternating { rope, .. } | Windows::DenseFirst { rope, .. } => rope,
            Windows::Never | Windows::AsDeclared | Windows::Chunks { .. } => WindowRope::Same,
        };
        let window_base = match window_rope {
            WindowRope::Same => None,
            WindowRope::Base => keys.positive("rope.freq_base_swa")?,
            WindowRope::Unscaled(usual) => Some(keys.positive("rope.freq_base_swa")?.or(usual).unwrap_or(base)),
        };
        let sections = sections(keys, traits.rope_sections, dimensions)?;
        // Plain sections, in contrast to interleaved ones, change nothing but the pairs.
        let plain = traits.rope_sections == RopeSections::Optional && sections.is_some();
        let original = keys.count("rope.scaling.original_context_length", 1 << 31)?;
        Ok(Self {
            dimensions,
            window_dimensions,
            style: if plain { RopeStyle::Neox } else { traits.rope },
            base,
            window_base,
            window_scaled: !matches!(window_rope, WindowRope::Unscaled(_)),
            scaling,
            original_context: original.map_or(context, |original| original as u32),
            attention_factor: keys.positive("rope.scaling.attn_factor")?.unwrap_or(1.0),
            sections: sections.filter(|_| !plain),
        })
    }

    /// Whether a pair rotates by the position of a token of text. The first three positions of
    /// such a token are equal, so that their sections do not matter; the fourth is 0.
    fn rotates(&self, pair: usize) -> bool {
        let Some(sections) = self.sections else { return true };
        let sector = pair % sections.iter().sum::<usize>();
        sector < 3 * sections[sector % 3]
    }

    /// RoPE of layers with full attention; `factors` divide the frequencies pair by pair.
    pub(super) fn build(&self, factors: Option<&[f32]>) -> Rope {
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
        let frequency = |(pair, frequency)| if self.rotates(pair) { frequency as f32 } else { 0.0 };
        let frequencies = frequencies.into_iter().enumerate().map(frequency).collect();
        Rope { style: self.style, frequencies, magnitude: magnitude as f32 }
    }

    /// RoPE of layers with a sliding window; `None` if it is that of the others.
    pub(super) fn build_local(&self, factors: Option<&[f32]>) -> Option<Rope> {
        let base = self.window_base?;
        if self.window_scaled {
            return Some(Self { base, ..self.clone() }.build(factors));
        }
        let frequencies = series(base, self.window_dimensions).into_iter().map(|frequency| frequency as f32).collect();
        Some(Rope { style: self.style, frequencies, magnitude: 1.0 })
    }

    /// No position embedding.
    pub(super) fn build_none(&self) -> Rope {
        Rope { style: self.style, frequencies: Vec::new(), magnitude: 1.0 }
    }
}

/// Rotated values per head in layers with a window. May differ from other layers only if the head
/// length does.
fn window_dimensions(
    keys: &Keys<'_>,
    traits: &ArchitectureTraits,
    dimensions: usize,
    key_length: usize,
) -> Result<usize, ModelError> {
    if !traits.window_heads {
        return Ok(dimensions);
    }
    let found = keys.count("rope.dimension_count_swa", key_length as u64)?.unwrap_or(key_length);
    if found % 2 != 0 {
        let reason = format!("{found} is not an even number");
        return Err(ModelError::config(keys.key("rope.dimension_count_swa"), reason));
    }
    Ok(found)
}

/// The base of the frequencies. `alpha` scales it for longer contexts (NTK-aware scaling).
fn base(keys: &Keys<'_>, dimensions: usize) -> Result<f32, ModelError> {
    let base = keys.positive("rope.freq_base")?.unwrap_or(10_000.0);
    let Some(alpha) = keys.positive_scale("rope.scaling.alpha")?.filter(|_| dimensions > 2) else { return Ok(base) };
    let scaled = f64::from(base) * f64::from(alpha).powf(dimensions as f64 / (dimensions - 2) as f64);
    Ok(scaled as f32)
}

/// The sections of MRoPE, which cover at most all pairs.
fn sections(keys: &Keys<'_>, traits: RopeSections, dimensions: usize) -> Result<Option<[usize; 4]>, ModelError> {
    let absent = keys.metadata.value(&keys.key("rope.dimension_sections")).is_none();
    if traits == RopeSections::None || (traits == RopeSections::Optional && absent) {
        return Ok(None);
    }
    let sections = keys.counts::<4>("rope.dimension_sections", dimensions as u64)?;
    let none = sections[..3].iter().all(|&pairs| pairs == 0);
    if none && traits == RopeSections::Optional {
        return Ok(None);
    }
    // A token of text has no other position than those of the first three.
    if none || sections.iter().sum::<usize>() > dimensions {
        let reason = format!("sections of {sections:?} pairs are out of range for {dimensions} rotated values");
        return Err(ModelError::config(keys.key("rope.dimension_sections"), reason));
    }
    if traits == RopeSections::Optional && sections[3] != 0 {
        let reason = format!("a fourth section of {} pairs is not supported", sections[3]);
        return Err(ModelError::config(keys.key("rope.dimension_sections"), reason));
    }
    Ok(Some(sections))
}

/// `base` to the powers 0, -2/n, -4/n, and so on.
fn series(base: f32, dimensions: usize) -> Vec<f64> {
    let exponent = |pair: usize| -2.0 * pair as f64 / dimensions as f64;
    (0..dimensions / 2).map(|pair| f64::from(base).powf(exponent(pair))).collect()
}
