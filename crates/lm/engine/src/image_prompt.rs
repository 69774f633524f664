//! Prompts with images: text with a marker in place of each image.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use roci_tokenizer::{Encode, Tokenizer};

use crate::Image;

/// A marker that stands for an image until the text is encoded. It is random, so users cannot write
/// it.
pub fn image_marker() -> String {
    format!("<__image_{:016x}__>", RandomState::new().hash_one(0))
}

/// The rendered text does not have one marker for each image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chat template renders {found} images where the conversation has {expected}")]
pub struct ImageCount {
    /// Markers in the text.
    pub found: usize,
    /// Images of the conversation.
    pub expected: usize,
}

/// Encodes text whose markers stand for images, in order. `around` is the text before and after
/// each image; `start` encodes the text before the first image, including the tokens that start a
/// prompt.
///
/// # Errors
/// If the number of markers differs from the number of images.
pub fn encode_with_images(
    tokenizer: &Tokenizer,
    text: &str,
    marker: &str,
    images: &[Arc<Image>],
    around: [&str; 2],
    start: impl FnOnce(&str) -> Vec<u32>,
) -> Result<Vec<u32>, ImageCount> {
    let mut parts = text.split(marker);
    let mut tokens = start(parts.next().unwrap_or_default());
    let parts: Vec<&str> = parts.collect();
    if parts.len() != images.len() {
        return Err(ImageCount { found: parts.len(), expected: images.len() });
    }
    let encode = |text: &str| match text {
        "" => Vec::new(),
        text => tokenizer.encode(text, Encode { add_special: false, parse_special: true }),
    };
    for (part, image) in parts.into_iter().zip(images) {
        tokens.extend(encode(around[0]));
        tokens.extend(image.tokens());
        tokens.extend(encode(around[1]));
        tokens.extend(encode(part));
    }
    Ok(tokens)
}
