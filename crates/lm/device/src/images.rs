//! Images in a batch: embeddings, rotary positions, and which keys an image row attends to.

use std::sync::Arc;

use roci_engine::{Chunk, FIRST_IMAGE_TOKEN, Image, ImagePositions, Images};
use roci_gguf::Gguf;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::Layer;

use crate::Error;

/// Embeddings and positions of the images of a batch; empty for batches without images.
#[derive(Debug, Default)]
pub(crate) struct BatchImages {
    /// Image rows: index in the batch, image, index in the image.
    rows: Vec<(usize, Arc<Image>, usize)>,
    /// Three rotary positions per token, if they differ from the positions in the KV cache.
    pub(crate) rope: Option<Vec<[u32; 3]>>,
    /// The last position that each token attends to, if some tokens attend to later ones.
    pub(crate) ends: Option<Vec<u32>>,
}

impl BatchImages {
    /// Finds the images of chunks. `saved[i]` is how far the images before chunk `i` lower its
    /// rotary positions.
    pub(crate) fn find(chunks: &[Chunk<'_>], images: Option<&Images>, saved: &[u32]) -> Result<Self, Error> {
        let is_row = |token: &u32| *token >= FIRST_IMAGE_TOKEN;
        if saved.iter().all(|saved| *saved == 0) && !chunks.iter().any(|chunk| chunk.tokens.iter().any(is_row)) {
            return Ok(Self::default());
        }
        let (mut rows, mut rope, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let (mut grids, mut bidirectional) = (saved.iter().any(|saved| *saved > 0), false);
        for (chunk, mut saved) in chunks.iter().zip(saved.iter().copied().chain(std::iter::repeat(0))) {
            let mut image: Option<Arc<Image>> = None;
            for (at, token) in chunk.tokens.iter().enumerate() {
                let position = (chunk.start + at) as u32;
                let own = position.saturating_sub(saved);
                if !is_row(token) {
                    rope.push([own; 3]);
                    ends.push(position);
                    continue;
                }
                let is_same = |image: &Arc<Image>| image.tokens().any(|own| own == *token);
                if !image.as_ref().is_some_and(is_same) {
                    image = images.and_then(|images| images.with_token(*token));
                }
                let image = image.as_ref().ok_or_else(|| Error::file(format!("no image has the token {token}")))?;
                let index = image.index(*token);
                rows.push((rope.len(), Arc::clone(image), index));
                let (mut place, mut end) = ([own; 3], position);
                match image.positions() {
                    ImagePositions::Grid { columns, .. } => {
                        grids = true;
                        let origin = own.saturating_sub(index as u32);
                        let [line, column] = [index / columns.max(1), index % columns.max(1)].map(|at| at as u32);
                        place = [origin, origin + line, origin + column];
                    }
                    ImagePositions::Bidirectional => {
                        bidirectional = true;
                        let last = at + image.count() - 1 - index;
                        end = (chunk.start + last.min(chunk.tokens.len() - 1)) as u32;
                    }
                    ImagePositions::Causal => {}
                }
                rope.push(place);
                ends.push(end);
                if index + 1 == image.count() {
                    saved += image.saved_positions() as u32;
                }
            }
        }
        Ok(Self { rows, rope: grids.then_some(rope), ends: bidirectional.then_some(ends) })
    }

    /// Whether the batch has image rows.
    pub(crate) fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// The tokens of the batch, with a vocabulary token in place of each image row.
    pub(crate) fn text_tokens(&self, mut tokens: Vec<u32>) -> Vec<u32> {
        self.rows.iter().for_each(|(at, ..)| tokens[*at] = 0);
        tokens
    }

    /// Overwrites the embeddings of image rows, `stride` floats each.
    pub(crate) fn write_rows(&self, stride: usize, staged: &mut [f32]) -> Result<(), Error> {
        for (at, image, index) in &self.rows {
            let row = image.row(*index);
            let target = staged.get_mut(at * stride..(at + 1) * stride).filter(|_| row.len() <= stride);
            let target = target.ok_or_else(|| Error::file("the rows of an image are longer than embeddings"))?;
            let (own, padding) = target.split_at_mut(row.len());
            own.copy_from_slice(row);
            padding.fill(0.0);
        }
        Ok(())
    }
}

/// For each rotated pair of a head, the index of the rotary position that it uses (M-RoPE); `None`
/// for models whose tokens have a single rotary position.
pub(crate) fn rope_sections(file: &Gguf, model: &Model) -> Result<Option<Vec<u32>>, Error> {
    let architecture = model.config.architecture;
    let key = format!("{architecture}.rope.dimension_sections");
    let Some(sections) = file.metadata().get::<Vec<u32>>(&key)? else { return Ok(None) };
    let pairs: Vec<usize> =
        model.layers.iter().filter_map(Layer::attention).map(|block| block.rope.frequencies.len()).collect();
    let (Some(&count), [time, line, column, rest @ ..]) = (pairs.first(), &sections[..]) else { return Ok(None) };
    let total = sections.iter().fold(0u32, |total, section| total.saturating_add(*section));
    if total == 0 || rest.iter().any(|rest| *rest > 0) || pairs.iter().any(|pairs| *pairs != count) {
        return Ok(None);
    }
    let section = |pair: usize| {
        // Sections repeat if a head has more pairs.
        let pair = pair as u32 % total;
        if is_interleaved(architecture) {
            let (section, length) = [(0, *time), (1, *line), (2, *column)][pair as usize % 3];
            return (pair / 3 < length).then_some(section);
        }
        Some(u32::from(pair >= *time) + u32::from(pair >= time.saturating_add(*line)))
    };
    Ok((0..count).map(section).collect())
}

/// Whether an architecture interleaves the sections.
fn is_interleaved(architecture: &str) -> bool {
    ["qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe"].contains(&architecture)
}
