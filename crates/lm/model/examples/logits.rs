//! Writes the reference's logits after each token of a sequence, as f32 values, to standard output.
//!
//! ```text
//! cargo run -p roci-lm --example logits FILE.gguf CONTEXT TOKEN...
//! ```

use std::error::Error;
use std::io::Write;

use roci_gguf::Gguf;
use roci_lm::architecture::Model;
use roci_lm::reference::{Reference, SequenceState};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, context, tokens @ ..] = &arguments[..] else { return Err("FILE.gguf CONTEXT TOKEN...".into()) };
    let file = Gguf::open(path)?;
    let reference = Reference::new(&file, Model::new(&file, Some(context.parse()?))?)?;
    let mut text = SequenceState::default();
    let mut output = std::io::stdout().lock();
    for token in tokens {
        for logit in reference.logits(&mut text, token.parse()?)? {
            output.write_all(&logit.to_le_bytes())?;
        }
    }
    Ok(())
}
