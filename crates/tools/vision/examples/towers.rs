//! Writes the synthetic towers of `roci_vision::synthetic` to a folder, to compare with other
//! programs.
//!
//! ```text
//! cargo run -p roci-vision --example towers FOLDER
//! ```
//! Each `NAME.gguf` has a `NAME.rgb`: a line of text with width and height, then the pixels of an
//! image. `NAME.model.gguf` is a language model that fits the tower.
#![expect(clippy::print_stdout, reason = "a program for developers")]

use std::error::Error;
use std::path::PathBuf;

use roci_gguf::{Metadata, Value};
use roci_lm::architecture::blocks::NormSpan;
use roci_lm::synthetic::{self, Recipe, talking};
use roci_vision::synthetic::{image, towers};

/// Tokens around images.
const TOKENS: &[&str] = &[
    "\n\n",
    "<fake_token_around_image>",
    "<global-img>",
    "<row_1_col_1>",
    "<row_1_col_2>",
    "<row_1_col_3>",
    "<row_2_col_1>",
    "<row_2_col_2>",
    "<row_2_col_3>",
    "<img>",
    "</img>",
    "<start_of_image>",
    "<end_of_image>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_start|>",
    "<|image_end|>",
    "<|image>",
    "<image|>",
    "[IMG_END]",
];
const CONTROL: i32 = 3;

/// A language model with the tokens around images, and additions after this many layers.
fn text_model(deepstack: usize) -> Result<synthetic::Case, Box<dyn Error>> {
    let mut case = talking();
    let metadata: Metadata = case.metadata.iter().cloned().collect();
    let known = metadata.expect::<&[String]>("tokenizer.ggml.tokens")?;
    let tokens: Vec<&str> = known.iter().map(String::as_str).chain(TOKENS.iter().copied()).collect();
    let mut scores: Vec<f32> = metadata.expect("tokenizer.ggml.scores")?;
    scores.resize(tokens.len(), 0.0);
    let mut kinds: Vec<i32> = metadata.expect("tokenizer.ggml.token_type")?;
    kinds.resize(tokens.len(), CONTROL);
    case.recipe.vocabulary = tokens.len();
    for (key, value) in [("tokens", Value::from(tokens)), ("scores", scores.into()), ("token_type", kinds.into())] {
        case.metadata.push((format!("tokenizer.ggml.{key}"), value));
    }
    if deepstack > 0 {
        case.recipe =
            Recipe { architecture: "qwen3vl", layers: deepstack + 1, head_norms: Some(NormSpan::Head), ..case.recipe };
        case.metadata.push(("qwen3vl.rope.dimension_sections".to_owned(), Value::from(vec![4i32, 2, 2, 0])));
        case.metadata.push(("qwen3vl.n_deepstack_layers".to_owned(), Value::U32(deepstack as u32)));
    }
    Ok(case)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: towers FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    for case in towers() {
        let (width, height) = case.size;
        let mut pixels = format!("{width} {height}\n").into_bytes();
        pixels.extend(image(width, height).concat());
        std::fs::write(folder.join(format!("{}.rgb", case.name)), pixels)?;
        std::fs::write(folder.join(format!("{}.gguf", case.name)), case.bytes()?)?;
        std::fs::write(folder.join(format!("{}.model.gguf", case.name)), text_model(case.deepstack)?.bytes()?)?;
        println!("{}", case.name);
    }
    Ok(())
}
