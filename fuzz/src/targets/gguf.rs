//! Model files: GGUF, the tokenizer and the model description in it.

use roci_gguf::Gguf;
use roci_lm::architecture::Model;
use roci_tokenizer::{Encode, Tokenizer};

/// Opens a GGUF file, dequantizes its tensors and reads the tokenizer and the model from its
/// metadata.
pub fn target(data: &[u8]) {
    let Ok(file) = Gguf::from_bytes(data) else { return };
    for tensor in file.tensors() {
        let _ = tensor.to_f32();
    }
    if let Ok(tokenizer) = Tokenizer::from_metadata(file.metadata()) {
        let tokens = tokenizer.encode("Hello, wörld\n", Encode { add_special: true, parse_special: true });
        let _ = tokenizer.decode(&tokens);
    }
    let _ = Model::new(&file, None);
}
