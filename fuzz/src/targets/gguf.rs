//! Model files: GGUF, the tokenizer and the model description in it, and their quantization.

use std::num::NonZeroUsize;

use roci_gguf::Gguf;
use roci_lm::architecture::Model;
use roci_lm::quantize::{FileType, Options, Plan};
use roci_tokenizer::{Encode, Tokenizer};

/// Opens a GGUF file, dequantizes its tensors, reads the tokenizer and the model from its
/// metadata, and quantizes it.
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
    let options = Options {
        file_type: FileType::Q4_K_M,
        output: None,
        embedding: None,
        overrides: &|_| None,
        pure: false,
        allow_requantize: true,
        importance: None,
    };
    if let Ok(plan) = Plan::new(&file, &options) {
        let _ = plan.write(std::io::sink(), NonZeroUsize::MIN, |_, _| true);
    }
}
