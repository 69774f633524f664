//! The description of a tower: the table row of its projector type, and the sizes in the file.

use roci_gguf::{Gguf, Metadata};

use crate::Error;
use crate::projector::{NormKind, PROJECTORS, Positions, Projector, Size};
use crate::tiles::{MAX_TILES, PREPROCESSED, Tiling};

/// Maximum of any size in a file; published models are far below.
const MAX_SIZE: u32 = 1 << 16;

/// Maximum side of a merged square in pixels.
const MAX_SQUARE: usize = 1024;
/// Maximum pixels of a resized image, and patches that are encoded together: a small file must not
/// cause large images and long computations. Published models have 13 million and 65,536.
const MAX_PIXELS: usize = 1 << 25;
const MAX_PATCHES: usize = 1 << 17;

/// The activation of feed-forward blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    /// With the tanh approximation.
    Gelu,
    /// `x sigmoid(1.702 x)`.
    QuickGelu,
    Silu,
}

/// Hyperparameters of a vision tower.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    pub(crate) projector: Projector,
    /// Length of a patch's hidden state.
    pub(crate) width: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    /// Added to the mean square in norms.
    pub(crate) epsilon: f32,
    pub(crate) activation: Activation,
    /// Side of the square training images in pixels.
    pub(crate) image: usize,
    /// Side of a patch in pixels.
    pub(crate) patch: usize,
    /// Side in patches of a square that is merged into one row.
    pub(crate) merged: usize,
    pub(crate) windows: Option<Windows>,
    /// How images are cut into tiles.
    pub(crate) tiling: Option<Tiling>,
    /// Subtracted from each channel, before the division by `deviation`.
    pub(crate) mean: [f32; 3],
    pub(crate) deviation: [f32; 3],
}

/// Attention within windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    /// Every `every`-th layer attends to the whole image, starting with layer `every - 1`.
    pub(crate) every: usize,
    /// Side of a window in merged squares.
    pub(crate) side: usize,
}

impl Description {
    /// Reads the description of a file.
    ///
    /// # Errors
    /// If the file is not a vision tower of a supported type, or has invalid sizes.
    pub fn new(file: &Gguf) -> Result<Self, Error> {
        let metadata = file.metadata();
        let architecture = metadata.get::<&str>("general.architecture")?.unwrap_or_default();
        if architecture != "clip" {
            return Err(Error::Architecture(architecture.to_owned()));
        }
        if !metadata.get("clip.has_vision_encoder")?.unwrap_or(true) {
            return Err(Error::NoVision);
        }
        let name = metadata.get::<&str>("clip.projector_type")?.filter(|name| !name.is_empty());
        let name = match name {
            Some(name) => name,
            // Files with several encoders have a projector type for each.
            None => metadata.get::<&str>("clip.vision.projector_type")?.unwrap_or_default(),
        };
        let known = PROJECTORS.iter().find(|projector| projector.name == name);
        let projector = *known.ok_or_else(|| Error::Projector(name.to_owned()))?;
        let patch = size(metadata, "clip.vision.patch_size")?;
        let merged = merged(metadata, projector.merged)?;
        if patch * merged > MAX_SQUARE {
            return Err(Error::value(
                "clip.vision.patch_size",
                patch,
                "expected merged patches of at most 1024 pixels",
            ));
        }
        let width = size(metadata, "clip.vision.embedding_length")?;
        let (patch, merged) = if projector.layerless { (patch * merged, 1) } else { (patch, merged) };
        let (layers, heads) = match projector.layerless {
            true => (0, 1),
            false => (size(metadata, "clip.vision.block_count")?, size(metadata, "clip.vision.attention.head_count")?),
        };
        let norm = if projector.rms_sizes == Some((width, layers)) { NormKind::Rms } else { projector.norm };
        let description = Self {
            projector: Projector { norm, ..projector },
            width,
            layers,
            heads,
            epsilon: metadata.expect_f32("clip.vision.attention.layer_norm_epsilon")?,
            activation: activation(metadata)?,
            image: size(metadata, "clip.vision.image_size")?,
            patch,
            merged,
            windows: if projector.windows { Some(windows(metadata, patch, merged)?) } else { None },
            tiling: Tiling::read(metadata, projector.size)?,
            mean: channels(metadata, "clip.vision.image_mean")?,
            deviation: channels(metadata, "clip.vision.image_std")?,
        };
        if !width.is_multiple_of(heads) || layers > 0 && !description.head().is_multiple_of(4) {
            return Err(Error::value(
                "clip.vision.attention.head_count",
                heads,
                "expected heads whose size is a multiple of 4",
            ));
        }
        if !description.epsilon.is_finite() || description.epsilon < 0.0 {
            let key = "clip.vision.attention.layer_norm_epsilon";
            return Err(Error::value(key, description.epsilon, "expected a number from 0"));
        }
        description.check_sizes()?;
        let is_fixed = !matches!(projector.size, Size::Dynamic { .. });
        if is_fixed && !description.image.is_multiple_of(patch * merged) {
            return Err(Error::value(
                "clip.vision.image_size",
                description.image,
                "expected a multiple of merged patches",
            ));
        }
        Ok(description)
    }

    /// Checks the size of the largest image.
    fn check_sizes(&self) -> Result<(), Error> {
        let (rows, key, value) = match (self.projector.size, self.windows) {
            // A strip, whose windows consist of padding except for one line.
            (Size::Dynamic { max, .. }, Some(windows)) => {
                (windows.side.saturating_mul(max as usize), "clip.vision.window_size", windows.side)
            }
            (Size::Dynamic { max, .. }, None) => (max as usize, "clip.vision.patch_size", self.patch),
            _ => (self.rows_of_square(), "clip.vision.image_size", self.image),
        };
        let patches = rows.saturating_mul(self.square());
        let tiles = self.tiling.as_ref().map_or(0, |tiling| tiling.max_pixels(self.image));
        let pixels = patches.saturating_mul(self.patch * self.patch);
        if patches > MAX_PATCHES || pixels > MAX_PIXELS {
            return Err(Error::value(key, value, "expected images of at most 131,072 patches and 33 million pixels"));
        }
        if tiles > MAX_PIXELS {
            let key = if self.projector.size == Size::LongestSide { PREPROCESSED } else { MAX_TILES };
            return Err(Error::value(key, tiles, "expected tiles of at most 33 million pixels together"));
        }
        Ok(())
    }

    /// `clip.projector_type`.
    pub fn projector_type(&self) -> &'static str {
        self.projector.name
    }

    /// Positions of an image's rows in the language model.
    pub fn positions(&self) -> Positions {
        self.projector.positions
    }

    /// Maximum number of rows of an image.
    pub fn max_rows(&self) -> usize {
        match self.projector.size {
            Size::Square => self.rows_of_square(),
            Size::LongestSide | Size::BestGrid => {
                (self.tiling.as_ref().map_or(0, Tiling::most) + 1) * self.rows_of_square()
            }
            // There are at most as many line breaks as other rows.
            Size::Dynamic { max, .. } => max as usize * if self.projector.line_breaks { 2 } else { 1 },
        }
    }

    /// Rows of an image of the file's square.
    pub(crate) fn rows_of_square(&self) -> usize {
        (self.image / self.patch / self.merged).pow(2)
    }

    /// Size of a head.
    pub(crate) fn head(&self) -> usize {
        self.width / self.heads
    }

    /// Number of patches of a merged square.
    pub(crate) fn square(&self) -> usize {
        self.merged * self.merged
    }

    /// Whether a layer attends within windows.
    pub(crate) fn is_windowed(&self, layer: usize) -> bool {
        self.windows.is_some_and(|windows| !(layer + 1).is_multiple_of(windows.every))
    }
}

/// A positive size up to [`MAX_SIZE`].
fn size(metadata: &Metadata, key: &str) -> Result<usize, Error> {
    let value = metadata.expect_u32(key)?;
    check(key, value)
}

pub(crate) fn check(key: &str, value: u32) -> Result<usize, Error> {
    match value {
        1..=MAX_SIZE => Ok(value as usize),
        _ => Err(Error::value(key, value, "expected 1 to 65536")),
    }
}

/// Side of a merged square in patches.
fn merged(metadata: &Metadata, default: u32) -> Result<usize, Error> {
    for key in ["clip.vision.projector.scale_factor", "clip.vision.spatial_merge_size"] {
        if let Some(value) = metadata.get::<u32>(key)? {
            return match value {
                1..=64 => Ok(value as usize),
                _ => Err(Error::value(key, value, "expected 1 to 64")),
            };
        }
    }
    Ok(default as usize)
}

fn activation(metadata: &Metadata) -> Result<Activation, Error> {
    let flag = |key: &str| metadata.get::<bool>(key).map(Option::unwrap_or_default);
    Ok(match (flag("clip.use_gelu")?, flag("clip.use_silu")?) {
        (true, true) => {
            return Err(Error::value("clip.use_silu", "true", "expected one activation, and `clip.use_gelu` is true"));
        }
        (true, false) => Activation::Gelu,
        (false, true) => Activation::Silu,
        (false, false) => Activation::QuickGelu,
    })
}

fn windows(metadata: &Metadata, patch: usize, merged: usize) -> Result<Windows, Error> {
    const PIXELS: u32 = 112;
    let pixels = metadata.get::<u32>("clip.vision.window_size")?.filter(|pixels| *pixels > 0).unwrap_or(PIXELS);
    let side = check("clip.vision.window_size", pixels)? / patch / merged;
    if side == 0 {
        return Err(Error::value("clip.vision.window_size", pixels, "expected at least one merged patch"));
    }
    Ok(Windows { every: size(metadata, "clip.vision.n_wa_pattern")?, side })
}

fn channels(metadata: &Metadata, key: &str) -> Result<[f32; 3], Error> {
    let values: Vec<f32> = metadata.expect(key)?;
    let valid = values.iter().all(|value| value.is_finite())
        && (key.ends_with("mean") || values.iter().all(|value| *value != 0.0));
    match values[..] {
        [red, green, blue, ..] if valid => Ok([red, green, blue]),
        _ => Err(Error::value(key, format!("{values:?}"), "expected three numbers, and no zero as a divisor")),
    }
}
