//! Writes the made-up models of `roci_llm::synthetic` to a folder, for other programs to be asked about them.
//!
//! ```text
//! cargo run -p roci-llm --example synthetic FOLDER
//! ```
//! With each `NAME.gguf` comes `NAME.tokens`: the context, then the tokens of a text.
#![expect(clippy::print_stdout, reason = "a program for developers")]

use std::error::Error;
use std::path::PathBuf;

use roci_llm::synthetic::{architectures, types};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name a folder to write to")?);
    std::fs::create_dir_all(&folder)?;
    for case in architectures().into_iter().chain(types()) {
        std::fs::write(folder.join(format!("{}.gguf", case.name)), case.bytes()?)?;
        let tokens: Vec<String> = case.tokens(16).iter().map(u32::to_string).collect();
        std::fs::write(
            folder.join(format!("{}.tokens", case.name)),
            format!("{}\n{}\n", case.context, tokens.join(" ")),
        )?;
        println!("{}", case.name);
    }
    Ok(())
}
