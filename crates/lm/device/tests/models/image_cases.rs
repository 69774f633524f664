//! Prompts with an image, for tests and for the example that exports them to record llama.cpp's
//! logits.

use roci_lm::synthetic::{Case, architectures, hybrids};

/// A model and a prompt with an image.
pub(crate) struct ImageCase {
    pub(crate) name: &'static str,
    pub(crate) model: Case,
    pub(crate) before: Vec<u32>,
    pub(crate) after: Vec<u32>,
    /// Columns and lines of the image's rows.
    pub(crate) grid: (usize, usize),
    /// `causal`, `bidirectional` or `grid`.
    pub(crate) placed: &'static str,
    /// Layers after which features of the image are added.
    pub(crate) deepstack: usize,
}

impl ImageCase {
    /// Length of a row: an embedding, and what is added after each of the first layers.
    pub(crate) fn width(&self) -> usize {
        self.model.recipe.embedding * (1 + self.deepstack)
    }

    /// Random rows of the image.
    pub(crate) fn rows(&self) -> Vec<f32> {
        let count = self.grid.0 * self.grid.1 * self.width();
        // Uniform from -1 to 1, by a linear congruential generator.
        let mut state = 12345u32;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        std::iter::repeat_with(next).take(count).collect()
    }
}

/// All prompts with images.
pub(crate) fn all() -> Vec<ImageCase> {
    let models = || architectures().into_iter().chain(hybrids());
    let model = |name: &str| models().find(|case| case.name == name);
    let case = |name, model_name, placed, grid| {
        let model = model(model_name)?;
        let tokens = model.tokens(24);
        let (before, after) = (tokens[..13].to_vec(), tokens[13..].to_vec());
        Some(ImageCase { name, before, after, grid, placed, model, deepstack: 0 })
    };
    let deepstack = |case: ImageCase, count: usize| {
        let mut model = case.model;
        model.recipe.layers = count + 1;
        let key = format!("{}.n_deepstack_layers", model.recipe.architecture);
        model.metadata.push((key, (count as u32).into()));
        // llama.cpp does not rotate pairs that interleaved sections leave over.
        let key = format!("{}.rope.dimension_sections", model.recipe.architecture);
        model.metadata.push((key, vec![4i32, 4, 4, 0].into()));
        ImageCase { model, deepstack: count, ..case }
    };
    [
        case("image-llama", "llama", "causal", (5, 4)),
        case("image-gemma3", "gemma3", "bidirectional", (5, 5)),
        // With per-layer embeddings, rows attend to earlier ones only.
        case("image-gemma4", "gemma4", "causal", (5, 5)),
        case("image-gemma4-dense", "gemma4-dense", "bidirectional", (5, 5)),
        case("image-qwen35", "qwen35", "grid", (6, 3)),
        case("image-qwen2vl", "qwen2vl", "grid", (3, 6)),
        case("image-qwen3vl", "qwen3vl", "grid", (4, 5)).map(|case| deepstack(case, 2)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
