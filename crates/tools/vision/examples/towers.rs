//! Writes the synthetic towers of `roci_vision::synthetic` to a folder, to compare with other
//! programs.
//!
//! ```text
//! cargo run -p roci-vision --example towers FOLDER
//! ```
//! Each `NAME.gguf` has a `NAME.rgb`: a line of text with width and height, then the pixels of an
//! image. `text-model.gguf` is a language model with the same embedding length.
#![expect(clippy::print_stdout, reason = "a program for developers")]

use std::error::Error;
use std::path::PathBuf;

use roci_vision::synthetic::{image, towers};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: towers FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    for case in towers() {
        let (width, height) = case.size;
        let mut pixels = format!("{width} {height}\n").into_bytes();
        pixels.extend(image(width, height).concat());
        std::fs::write(folder.join(format!("{}.rgb", case.name)), pixels)?;
        std::fs::write(folder.join(format!("{}.gguf", case.name)), case.bytes()?)?;
        println!("{}", case.name);
    }
    std::fs::write(folder.join("text-model.gguf"), roci_lm::synthetic::talking().bytes()?)?;
    Ok(())
}
