//! Images in a batch: embeddings, rotary positions, and which keys an image row attends to.

use std::sync::Arc;

use roci_engine::{Chunk, FIRST_IMAGE_TOKEN, Image, ImagePositions, Images};
use roci_gguf::Gguf;
use roci_lm::architecture::blocks::Layer;
use roci_lm::architecture::{Config, Model};

use crate::Error;

/// Embeddings and positions of the images of a batch; empty for batches without images.
#[derive(Debug, Default)]
pub(crate) struct BatchImages {
    /// Image rows: index in the batch, image, index in the image.
    rows: Vec<(usize, Arc<Image>, usize)>,
    /// Length of an embedding.
    embedding: usize,
    /// How many features rows have behind their embedding, of this length each (deepstack). Each is
    /// added after one of the first layers.
    pub(crate) deepstack_layers: usize,
    /// Three rotary positions per token, if they differ from the positions in the KV cache.
    pub(crate) rope: Option<Vec<[u32; 3]>>,
    /// The last position that each token attends to, if some tokens attend to later ones.
    pub(crate) ends: Option<Vec<u32>>,
}

impl BatchImages {
    /// Finds the images of chunks. `saved[i]` is how far the images before chunk `i` lower its
    /// rotary positions.
    pub(crate) fn find(
        chunks: &[Chunk<'_>],
        images: Option<&Images>,
        saved: &[u32],
        config: &Config,
    ) -> Result<Self, Error> {
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
                        let last = at + image.section(index).end - 1 - index;
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
        let embedding = config.embedding;
        let length = rows.iter().map(|(_, image, index): &(_, Arc<Image>, _)| image.row(*index).len()).max();
        let deepstack_layers = (length.unwrap_or(0) / embedding.max(1)).saturating_sub(1);
        if rows.iter().any(|(_, image, index)| !image.row(*index).len().is_multiple_of(embedding))
            || deepstack_layers > config.deepstack_layers
        {
            return Err(Error::file("the rows of an image do not have the length that the model reads"));
        }
        let (rope, ends) = (grids.then_some(rope), bidirectional.then_some(ends));
        Ok(Self { rows, embedding, deepstack_layers, rope, ends })
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

    /// Writes one part of all image rows to `staged`, which has `stride` floats per token. Part 0 is
    /// the embedding; the others are the features for each of the first layers.
    pub(crate) fn write_rows(&self, part: usize, stride: usize, staged: &mut [f32]) -> Result<(), Error> {
        for (at, image, index) in &self.rows {
            let row = image.row(*index).get(part * self.embedding..(part + 1) * self.embedding).unwrap_or_default();
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
    // The sections repeat if there are more pairs.
    let pairs = (0..count).map(|pair| pair as u32 % total);
    let lengths = [*time, *line, *column];
    Ok(Some(pairs.map(|pair| section(pair, lengths, is_interleaved(architecture))).collect()))
}

/// The section of a pair. What is left of interleaved sections belongs to the first, as in the
/// published models.
fn section(pair: u32, [time, line, column]: [u32; 3], interleaved: bool) -> u32 {
    if !interleaved {
        return u32::from(pair >= time) + u32::from(pair >= time.saturating_add(line));
    }
    let (section, length) = [(0, time), (1, line), (2, column)][pair as usize % 3];
    if pair / 3 < length { section } else { 0 }
}

/// Whether an architecture interleaves the sections.
fn is_interleaved(architecture: &str) -> bool {
    ["qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe"].contains(&architecture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_a_section() {
        let count = |lengths, interleaved| {
            let pairs: Vec<u32> = (0..lengths_sum(lengths)).map(|pair| section(pair, lengths, interleaved)).collect();
            [0, 1, 2].map(|section| pairs.iter().filter(|own| **own == section).count())
        };
        // Qwen 2 VL, Qwen 3.5 and Qwen 3 VL.
        assert_eq!(count([16, 24, 24], false), [16, 24, 24]);
        assert_eq!(count([11, 11, 10], true), [11, 11, 10]);
        assert_eq!(count([24, 20, 20], true), [24, 20, 20]);
        assert_eq!([59, 60, 61, 62].map(|pair| section(pair, [24, 20, 20], true)), [2, 0, 0, 0]);
    }

    fn lengths_sum(lengths: [u32; 3]) -> u32 {
        lengths.iter().sum()
    }
}
