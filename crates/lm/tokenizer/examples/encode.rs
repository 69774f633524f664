//! Prints the tokens of texts: `encode MODEL.gguf [PRE]` reads one JSON string per line, and writes
//! one list of token IDs per line.
//!
//! A line may also be a list `[text, add_special, parse_special]`. For comparison with other
//! tokenizers.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::io::BufRead;

use roci_gguf::Gguf;
use roci_tokenizer::{Encode, Tokenizer};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = Gguf::open(arguments.next().ok_or("which model?")?)?;
    let mut metadata = file.metadata().clone();
    if let Some(pre) = arguments.next() {
        metadata.insert("tokenizer.ggml.pre", pre);
    }
    let tokenizer = Tokenizer::from_metadata(&metadata)?;
    for line in std::io::stdin().lock().lines() {
        let value: Value = serde_json::from_str(&line?)?;
        let (text, add_special, parse_special) = match &value {
            Value::Array(parts) => (&parts[0], parts[1] == true, parts[2] == true),
            text => (text, false, false),
        };
        let ids = tokenizer.encode(text.as_str().ok_or("not a text")?, Encode { add_special, parse_special });
        println!("{}", serde_json::to_string(&ids)?);
    }
    Ok(())
}
