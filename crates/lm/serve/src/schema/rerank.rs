//! Fields of `/v1/rerank`.

use super::{Field, no_effect, read, refused};

pub(super) const FIELDS: &[Field] = &[
    no_effect("model"),
    read("query"),
    read("documents"),
    read("top_n"),
    read("return_documents"),
    no_effect("user"),
    refused("texts", "use `documents`"),
    refused("return_text", "use `return_documents`"),
];
