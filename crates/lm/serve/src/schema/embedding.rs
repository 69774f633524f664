//! Fields of `/v1/embeddings`.

use super::Neutral::Exactly;
use super::{Field, no_effect, only, read, refused};

pub(super) const FIELDS: &[Field] = &[
    no_effect("model"),
    read("input"),
    read("encoding_format"),
    read("dimensions"),
    no_effect("user"),
    // llama.cpp's value for the Euclidean norm.
    only("embd_normalize", Exactly(2.0), "embeddings have the Euclidean length 1"),
    refused("content", "use `input`"),
];
