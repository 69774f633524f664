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
}

impl ImageCase {
    /// Random rows of the image.
    pub(crate) fn rows(&self) -> Vec<f32> {
        let count = self.grid.0 * self.grid.1 * self.model.recipe.embedding;
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
        Some(ImageCase { name, before: tokens[..13].to_vec(), after: tokens[13..].to_vec(), grid, placed, model })
    };
    [
        case("image-llama", "llama", "causal", (5, 4)),
        case("image-gemma3", "gemma3", "bidirectional", (5, 5)),
        case("image-qwen35", "qwen35", "grid", (6, 3)),
        case("image-qwen2vl", "qwen2vl", "grid", (3, 6)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
