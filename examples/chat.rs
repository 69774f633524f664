//! Asks a language model one question and prints the answer while it is generated.
//!
//!     cargo run --release -p rocinante --features gguf --example chat -- \
//!         model.gguf 'What is a wavefront?' vulkan:0

use std::io::{self, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: chat MODEL.gguf QUESTION [DEVICE]")?;
    let question = arguments.next().ok_or("usage: chat MODEL.gguf QUESTION [DEVICE]")?;
    let device = rocinante::open(&arguments.next().unwrap_or("auto".into()))?;

    let model = device.gguf(path)?;
    let mut out = io::stdout();
    for text in model.chat(&[("user", &question)])? {
        out.write_all(text?.as_bytes())?;
        out.flush()?;
    }
    out.write_all(b"\n")?;
    Ok(())
}
