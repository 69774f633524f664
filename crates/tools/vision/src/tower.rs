//! A vision tower on a device.

use roci_gguf::Gguf;
use roci_graph::{Tensor, Value};
use roci_hal::Device;
use roci_image::Image;
use roci_runtime::{Precision, Session};

use crate::Error;
use crate::build::{Input, TowerGraph, build};
use crate::description::Description;
use crate::layout::Layout;
use crate::preprocess::{Normalized, preprocess};
use crate::projector::{Learned, Projector, Size};
use crate::surroundings::texts;
use crate::weights::Weights;

/// A vision tower on a device, ready for any number of images.
#[derive(Debug)]
pub struct Tower {
    description: Description,
    session: Session,
    inputs: Vec<Input>,
    /// Length of a row.
    width: usize,
    /// Learned position embeddings, and the side of their grid.
    positions: Option<(Vec<f32>, usize)>,
    /// The row between two lines of the grid.
    line_break: Option<Vec<f32>>,
}

/// The output rows for an image.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EncodedImage {
    /// The values of all rows, row by row.
    pub rows: Vec<f32>,
    /// Length of a row.
    pub width: usize,
    /// Columns and lines of the grid of rows, without line breaks; of the overview if the image has
    /// tiles.
    pub grid: (usize, usize),
    /// Texts around and between the rows, in order: each with the number of rows before it.
    pub texts: Vec<(usize, String)>,
}

impl EncodedImage {
    /// The number of rows.
    pub fn count(&self) -> usize {
        self.rows.len() / self.width.max(1)
    }
}

impl Tower {
    /// Loads the tower of a file. Weights are uploaded when the first image is encoded.
    ///
    /// # Errors
    /// If the file is damaged, or is not a supported tower.
    pub fn load(file: &Gguf, device: Device) -> Result<Self, Error> {
        let description = Description::new(file)?;
        let weights = Weights(file);
        let TowerGraph { graph, inputs, outputs } = build(weights, &description)?;
        let positions = match description.projector.learned {
            Learned::None => None,
            learned => Some(positions(weights, &description, learned)?),
        };
        let line_break = match description.projector.line_breaks {
            true => Some(weights.floats("v.token_embd.img_break", &[outputs])?),
            false => None,
        };
        let precision = if weights.fit_halves() { Precision::F16 } else { Precision::F32 };
        let session = Session::new(graph, device).with_precision(precision);
        Ok(Self { description, session, inputs, width: outputs, positions, line_break })
    }

    /// Limits the rows per image: larger images are scaled down. No effect on towers with a fixed
    /// size.
    pub fn limit_rows(&mut self, rows: usize) {
        if let Size::Dynamic { min, max } = &mut self.description.projector.size {
            *max = (*max).min(u32::try_from(rows).unwrap_or(u32::MAX)).max(1);
            *min = (*min).min(*max);
        }
        let tiles = (rows / self.description.rows_of_square().max(1)).saturating_sub(1);
        self.description.tiling.iter_mut().for_each(|tiling| tiling.limit(tiles));
    }

    /// The description of the tower.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Length of a row: the embedding length of the language model.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Computes the rows of a PNG or JPEG image.
    ///
    /// # Errors
    /// If the image cannot be read, or the device fails.
    pub fn encode(&mut self, image: &[u8]) -> Result<EncodedImage, Error> {
        if !roci_image::is_image(image) {
            return Err(Error::Image(match roci_image::other_kind(image) {
                Some(kind) => format!("this is {kind} image, not a PNG or JPEG file"),
                None => "this is not a PNG or JPEG file".to_owned(),
            }));
        }
        self.encode_pixels(&roci_image::decode(image).map_err(Error::Image)?)
    }

    /// Computes the rows of a decoded image.
    ///
    /// # Errors
    /// Those of [`encode`](Self::encode).
    pub fn encode_pixels(&mut self, image: &Image) -> Result<EncodedImage, Error> {
        if image.width == 0 || image.height == 0 {
            return Err(Error::Image("the image has no pixels".to_owned()));
        }
        let (images, tiles) = preprocess(image, &self.description);
        let (mut rows, mut grid, mut of_tile) = (Vec::new(), (0, 0), 0);
        for image in &images {
            let layout = self.encode_normalized(image, &mut rows)?;
            grid = layout.grid;
            if of_tile == 0 {
                of_tile = rows.len() / self.width.max(1);
            }
        }
        let count = rows.len() / self.width.max(1);
        let texts = texts(&self.description.projector, tiles, of_tile, count);
        Ok(EncodedImage { rows, width: self.width, grid, texts })
    }

    /// Computes the rows of a resized image or of a tile, and adds them to `all`.
    fn encode_normalized(&mut self, image: &Normalized, all: &mut Vec<f32>) -> Result<Layout, Error> {
        let patch = self.description.patch;
        let layout = Layout::new(&self.description, image.width / patch, image.height / patch);
        let Projector { rope, rope_base, learned, .. } = self.description.projector;
        let rotations = layout.rotations(rope, rope_base, self.description.head());
        let (patches, window) = (layout.len(), layout.window());
        let mut values = Vec::new();
        for input in &self.inputs {
            let (shape, elements) = match input {
                Input::Pixels => (vec![1, patches, 3 * patch * patch], layout.pixels(image, patch)),
                Input::Positions => {
                    let (table, side) = self.positions.as_ref().map_or((&[][..], 0), |(table, side)| (table, *side));
                    let width = self.description.width;
                    let positions = match learned {
                        Learned::Axes => layout.axis_positions(table, side, width).ok_or_else(|| {
                            Error::Image(format!("one side of the image is too long: at most {side} patches"))
                        })?,
                        _ => layout.positions(table, side, width, &self.description),
                    };
                    (vec![1, patches, width], positions)
                }
                Input::Cosines => (vec![1, patches, rotations[0].len() / patches.max(1)], rotations[0].clone()),
                Input::Sines => (vec![1, patches, rotations[1].len() / patches.max(1)], rotations[1].clone()),
                Input::Mask => (vec![1, 1, 1, patches], layout.mask()),
                Input::WindowMask => (vec![patches / window.max(1), 1, 1, window], layout.mask()),
            };
            let tensor = Tensor::new(shape, elements).map_err(|error| Error::Image(error.to_string()))?;
            values.push(Value::Tensor(tensor));
        }
        let outputs = self.session.run(&values)?;
        let expected = patches / self.description.square() * self.width;
        let rows = outputs.first().and_then(|value| value.tensor().ok()).and_then(|tensor| tensor.slice::<f32>().ok());
        let rows = rows.unwrap_or_default();
        if rows.len() != expected {
            return Err(Error::Output { found: rows.len(), expected });
        }
        if rows.iter().any(|value| !value.is_finite()) {
            return Err(Error::NotFinite);
        }
        self.arrange(rows, &layout, all);
        Ok(layout)
    }

    /// Adds the rows line by line, without padding, with line breaks if the tower has them.
    fn arrange(&self, rows: &[f32], layout: &Layout, arranged: &mut Vec<f32>) {
        let (columns, lines) = layout.grid;
        for (line, own) in layout.rows.chunks_exact(columns.max(1)).enumerate() {
            own.iter().for_each(|&row| arranged.extend_from_slice(&rows[row * self.width..][..self.width]));
            if let Some(line_break) = self.line_break.as_ref().filter(|_| line + 1 < lines) {
                arranged.extend_from_slice(line_break);
            }
        }
    }
}

/// Learned position embeddings of a square grid, and its side.
fn positions(weights: Weights<'_>, description: &Description, learned: Learned) -> Result<(Vec<f32>, usize), Error> {
    let name = "v.position_embd.weight";
    let info = weights.0.expect_tensor(name)?.info();
    let count = info.shape().get(1).map_or(1, |size| *size as usize);
    if learned == Learned::Axes {
        return Ok((weights.floats(name, &[description.width, count, 2])?, count));
    }
    let side = match learned {
        Learned::Fixed => description.image / description.patch,
        _ => count.isqrt().max(1),
    };
    // That of a class embedding is behind them.
    let rows = side * side + usize::from(description.projector.class);
    Ok((weights.floats(name, &[description.width, rows])?, side))
}
