//! A vocabulary for synthetic models.

use roci_gguf::Value;

/// Words that are a single token, in addition to all letters.
const WORDS: &[&str] = &["▁the", "▁a", "ing", "er", "▁and", "é", "€", "ß", "\n", "▁\"", "▁1", "true", "false"];
const CONTROL: i32 = 3;

/// A token, its score and its type, as in GGUF files.
type Entry = (String, f32, i32);

fn entries() -> Vec<Entry> {
    let control = |text: &str| (text.to_owned(), 0.0, CONTROL);
    let mut entries = vec![("<unk>".to_owned(), 0.0, 2), control("<s>"), control("</s>")];
    entries.extend([control("<|im_start|>"), control("<|im_end|>")]);
    entries.extend((0..=255u8).map(|byte| (format!("<0x{byte:02X}>"), 0.0, 6)));
    entries.extend(std::iter::once('▁').chain('!'..='~').map(|letter| (letter.to_string(), -100.0, 1)));
    entries.extend(WORDS.iter().zip(1..).map(|(word, rank)| ((*word).to_owned(), -(rank as f32), 1)));
    entries
}

/// Vocabulary size.
pub(super) fn count() -> usize {
    entries().len()
}

/// The tokenizer's metadata.
pub(super) fn metadata() -> Vec<(String, Value)> {
    let entries = entries();
    let tokens: Vec<&str> = entries.iter().map(|(text, ..)| text.as_str()).collect();
    let scores: Vec<f32> = entries.iter().map(|(_, score, _)| *score).collect();
    let kinds: Vec<i32> = entries.iter().map(|(.., kind)| *kind).collect();
    let pairs: [(&str, Value); 7] = [
        ("model", "llama".into()),
        ("tokens", tokens.into()),
        ("scores", scores.into()),
        ("token_type", kinds.into()),
        ("bos_token_id", 1u32.into()),
        ("eos_token_id", 2u32.into()),
        ("unknown_token_id", 0u32.into()),
    ];
    pairs.into_iter().map(|(key, value)| (format!("tokenizer.ggml.{key}"), value)).collect()
}
