//! Importance matrices, in GGUF and in the older format.

use roci_lm::quantize::ImportanceMatrix;

/// Reads an importance matrix.
pub fn target(data: &[u8]) {
    let Ok(matrix) = ImportanceMatrix::parse(data.to_vec()) else { return };
    assert!(!matrix.is_empty() && matrix.get("").is_none_or(|values| !values.is_empty()));
}
