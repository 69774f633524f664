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

/// Encodes text whose markers stand for images, in order. `start` encodes the text before the first
/// image; its result begins with the special tokens of a prompt, such as BOS.
///
/// # Errors
/// If the number of markers differs from the number of images.
pub fn encode_with_images(
    tokenizer: &Tokenizer,
    text: &str,
    marker: &str,
    images: &[Arc<Image>],
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
        let mut rows = image.tokens();
        let mut done = 0;
        for (at, text) in image.texts() {
            tokens.extend(rows.by_ref().take(at.saturating_sub(done)));
            done = done.max(*at);
            tokens.extend(encode(text));
        }
        tokens.extend(rows);
        tokens.extend(encode(part));
    }
    Ok(tokens)
}
