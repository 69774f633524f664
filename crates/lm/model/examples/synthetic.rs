//! Writes the synthetic models of `roci_lm::synthetic` to a folder, to compare with other programs.
//!
//! ```text
//! cargo run -p roci-lm --example synthetic FOLDER
//! ```
//! Next to each `NAME.gguf` is a `NAME.tokens`: the context length, then the tokens of a sequence.
//! For a model for embeddings it is a `NAME.texts`; the first half of the sequence is another text.
#![expect(clippy::print_stdout, reason = "a program for developers")]

use std::error::Error;
use std::path::PathBuf;

use roci_lm::synthetic::{architectures, embedders, hybrids, types};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: synthetic FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    let generating = architectures().into_iter().chain(hybrids()).chain(types()).map(|case| (case, "tokens"));
    for (case, kind) in generating.chain(embedders().into_iter().map(|case| (case, "texts"))) {
        std::fs::write(folder.join(format!("{}.gguf", case.name)), case.bytes()?)?;
        let tokens: Vec<String> = case.tokens(case.recorded).iter().map(u32::to_string).collect();
        std::fs::write(
            folder.join(format!("{}.{kind}", case.name)),
            format!("{}\n{}\n", case.context, tokens.join(" ")),
        )?;
        println!("{}", case.name);
    }
    Ok(())
}
