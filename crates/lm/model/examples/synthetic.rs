//! Writes the synthetic models of `roci_lm::synthetic` to a folder, to compare with other programs.
//!
//! ```text
//! cargo run -p roci-lm --example synthetic FOLDER
//! ```
//! Next to each `NAME.gguf` is a `NAME.tokens`: the context length, then the tokens of a sequence.
//! A third line has the scales of LoRA adapters, which are in `NAME.lora-0.gguf` and so on.
//! For a model for embeddings it is a `NAME.texts`; the first half of the sequence is another text.
#![expect(clippy::print_stdout, reason = "a program for developers")]

use std::error::Error;
use std::path::PathBuf;

use roci_lm::architecture::Model;
use roci_lm::synthetic::{adapted, architectures, embedders, hybrids, types};

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
    for case in adapted() {
        let base = case.base.open()?;
        let model = Model::new(&base, Some(case.base.context))?;
        std::fs::write(folder.join(format!("{}.gguf", case.name)), case.base.bytes()?)?;
        for (number, (recipe, _)) in case.adapters.iter().enumerate() {
            let path = folder.join(format!("{}.lora-{number}.gguf", case.name));
            std::fs::write(path, recipe.bytes(&base, &model)?)?;
        }
        let tokens: Vec<String> = case.base.tokens(case.base.recorded).iter().map(u32::to_string).collect();
        let scales: Vec<String> = case.adapters.iter().map(|(_, scale)| scale.to_string()).collect();
        let text = format!("{}\n{}\n{}\n", case.base.context, tokens.join(" "), scales.join(" "));
        std::fs::write(folder.join(format!("{}.tokens", case.name)), text)?;
        println!("{}", case.name);
    }
    Ok(())
}
