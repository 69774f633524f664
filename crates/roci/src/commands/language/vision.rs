//! Images as input of a language model: its vision tower, and the image files of prompts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use roci_base::Hint as _;
use roci_engine::{Engine, Forward as _, Image, ImagePositions, ImageRows};
use roci_gguf::Gguf;
use roci_hal::Device;
use roci_lm::architecture::Config;
use roci_lm_device::DeviceModel;
use roci_serve::ImageEncoder;
use roci_vision::{Description, Positions, Tower};

use super::LanguageError;

/// An mmproj file, read before the language model is loaded.
pub(super) struct VisionFile {
    path: PathBuf,
    file: Gguf,
    description: Description,
}

impl VisionFile {
    pub(super) fn open(path: &Path) -> Result<Self, LanguageError> {
        let file = Gguf::open(path).map_err(|source| LanguageError::File { path: path.to_owned(), source })?;
        let description = Description::new(&file).map_err(|source| vision_error(path, source))?;
        Ok(Self { path: path.to_owned(), file, description })
    }

    /// Minimum tokens per batch besides one of each other sequence: the rows of a bidirectional
    /// image are evaluated in one batch.
    pub(super) fn batch_rows(&self, config: &Config) -> usize {
        match positions(&self.description, config) {
            Positions::Bidirectional => self.description.max_rows(),
            _ => 0,
        }
    }

    /// Loads the tower for a model.
    pub(super) fn load(self, device: Device, model: &DeviceModel) -> Result<Vision, LanguageError> {
        let limits = model.limits();
        let config = &model.model().config;
        // Rows have features for the first layers behind the embedding.
        let embedding = limits.embedding * (1 + config.deepstack_layers);
        let mut tower = Tower::load(&self.file, device).map_err(|source| vision_error(&self.path, source))?;
        if tower.width() != embedding {
            return Err(LanguageError::VisionWidth { path: self.path, rows: tower.width(), embedding });
        }
        let positions = positions(&self.description, config);
        if positions == Positions::Grid && !model.has_grid_positions() {
            return Err(LanguageError::VisionPositions { path: self.path });
        }
        // Leaves room for text in the context.
        tower.limit_rows(limits.context * 3 / 4);
        Ok(Vision { path: self.path, positions, tower: Mutex::new(tower) })
    }
}

/// Positions of an image's rows in this language model.
fn positions(description: &Description, config: &Config) -> Positions {
    match description.positions() {
        Positions::Bidirectional if !config.bidirectional_images.contains(&true) => Positions::Causal,
        positions => positions,
    }
}

/// The vision tower of a loaded model.
#[derive(Debug)]
pub(crate) struct Vision {
    path: PathBuf,
    positions: Positions,
    tower: Mutex<Tower>,
}

impl Vision {
    fn rows(&self, bytes: &[u8]) -> Result<ImageRows, roci_vision::Error> {
        // A panic leaves the tower unchanged.
        let mut tower = self.tower.lock().unwrap_or_else(PoisonError::into_inner);
        let encoded = tower.encode(bytes)?;
        let (columns, lines) = encoded.grid;
        let positions = match self.positions {
            Positions::Bidirectional => ImagePositions::Bidirectional,
            Positions::Grid => ImagePositions::Grid { columns, lines },
            _ => ImagePositions::Causal,
        };
        Ok(ImageRows { rows: encoded.rows, width: encoded.width, positions, texts: encoded.texts })
    }

    /// The image in this file.
    pub(super) fn image(&self, path: &Path, engine: &Engine) -> Result<Arc<Image>, LanguageError> {
        let bytes = crate::input::read(path).map_err(|source| LanguageError::Read { path: path.to_owned(), source })?;
        let encode = || {
            self.rows(&bytes).map_err(|source| match source {
                error @ roci_vision::Error::Image(_) => vision_error(path, error),
                error => vision_error(&self.path, error),
            })
        };
        engine.images().get(&bytes, encode)
    }
}

impl ImageEncoder for Vision {
    fn encode(&self, bytes: &[u8]) -> Result<ImageRows, String> {
        let text = |error: roci_vision::Error| match error.hint() {
            Some(hint) => format!("{error}: {hint}"),
            None => error.to_string(),
        };
        self.rows(bytes).map_err(text)
    }
}

fn vision_error(path: &Path, source: roci_vision::Error) -> LanguageError {
    LanguageError::Vision { path: path.to_owned(), source: Box::new(source) }
}
