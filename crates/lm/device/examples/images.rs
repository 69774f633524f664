//! Writes models and prompts with an image to a folder, to compare logits with other programs.
//!
//! ```text
//! cargo run -p roci-lm-device --example images FOLDER
//! ```
//! For each `NAME.gguf`, `NAME.prompt` has the context length, the tokens before the image, the
//! columns and lines of the image, its kind of positions, and the tokens after the image.
//! `NAME.rows` has the embeddings of the image in f32.
#![expect(clippy::print_stdout, reason = "a program for developers")]

use std::error::Error;
use std::path::PathBuf;

#[path = "../tests/models/image_cases.rs"]
mod image_cases;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: images FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    for case in image_cases::all() {
        let list = |tokens: &[u32]| tokens.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let (columns, lines) = case.grid;
        let prompt = format!(
            "{}\n{}\n{columns} {lines} {}\n{}\n",
            case.model.context,
            list(&case.before),
            case.placed,
            list(&case.after)
        );
        std::fs::write(folder.join(format!("{}.gguf", case.name)), case.model.bytes()?)?;
        std::fs::write(folder.join(format!("{}.prompt", case.name)), prompt)?;
        let rows: Vec<u8> = case.rows().into_iter().flat_map(f32::to_le_bytes).collect();
        std::fs::write(folder.join(format!("{}.rows", case.name)), rows)?;
        println!("{}", case.name);
    }
    Ok(())
}
