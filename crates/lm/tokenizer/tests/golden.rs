//! Compares the vocabularies of `scripts/make-tokenizer-fixtures`, and llama.cpp's own test
//! vocabularies if present, with llama.cpp's results.

use std::path::{Path, PathBuf};

use roci_gguf::{Gguf, Metadata};
use roci_tokenizer::{Encode, Tokenizer};
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn metadata(path: &Path) -> Metadata {
    Gguf::open(path).unwrap_or_else(|error| panic!("{error}")).metadata().clone()
}

fn tokenizer(metadata: &Metadata) -> Tokenizer {
    Tokenizer::from_metadata(metadata).unwrap_or_else(|error| panic!("{error}"))
}

fn numbers(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).expect("a list of numbers")
}

/// The texts and llama.cpp's tokens, one JSON object per line.
fn cases() -> (Vec<String>, Vec<Value>) {
    let file = std::fs::read_to_string(data("cases.jsonl")).expect("the fixture");
    let mut lines = file.lines();
    let texts = serde_json::from_str(lines.next().expect("texts")).expect("texts");
    (texts, lines.map(|line| serde_json::from_str(line).expect("a case")).collect())
}

#[test]
fn tokens_match_llama_cpp_for_every_model_and_pre_tokenizer() {
    let (texts, cases) = cases();
    let mut files = Vec::new();
    for case in cases.iter().filter(|case| case.get("ids").is_some()) {
        let file = case["file"].as_str().expect("a name");
        let names: Vec<Option<&str>> = match case["pre"].as_array().expect("a list") {
            list if list.is_empty() => vec![None],
            list => list.iter().map(Value::as_str).collect(),
        };
        let how = Encode { add_special: case["add_special"] == true, parse_special: case["parse_special"] == true };
        for name in names {
            let mut metadata = metadata(&data(&format!("{file}.gguf")));
            if let Some(name) = name {
                metadata.insert("tokenizer.ggml.model", "gpt2");
                metadata.insert("tokenizer.ggml.pre", name);
            }
            let tokenizer = tokenizer(&metadata);
            for (text, expected) in texts.iter().zip(case["ids"].as_array().expect("a list")) {
                assert_eq!(tokenizer.encode(text, how), numbers(expected), "{file} {name:?} {how:?} {text:?}");
            }
            files.extend(name.map(str::to_owned));
        }
    }
    files.sort_unstable();
    let mut known = roci_tokenizer::pre_tokenizers();
    known.sort_unstable();
    assert_eq!(files, known, "the fixtures are outdated: run scripts/make-tokenizer-fixtures");
}

#[test]
fn token_pieces_match_llama_cpp() {
    let (_, cases) = cases();
    for case in cases.iter().filter(|case| case.get("pieces").is_some()) {
        let file = case["file"].as_str().expect("a name");
        let tokenizer = tokenizer(&metadata(&data(&format!("{file}.gguf"))));
        let pieces = case["pieces"].as_array().expect("a list");
        assert_eq!(tokenizer.len(), pieces.len());
        for (id, expected) in pieces.iter().enumerate() {
            let hex: String = tokenizer.piece(id as u32, true).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(Some(hex.as_str()), expected.as_str(), "{file}: token {id}");
        }
        assert_eq!(tokenizer.special().end_of_generation, numbers(&case["ends"]), "{file}");
    }
}

#[test]
fn decoding_inverts_encoding() {
    let (texts, _) = cases();
    for file in ["spm", "spm-phi3", "bpe", "raw"] {
        let tokenizer = tokenizer(&metadata(&data(&format!("{file}.gguf"))));
        // Next to a special token, SentencePiece adds a space, and Phi-3 removes existing ones.
        let spaces = file.starts_with("spm");
        for text in texts.iter().filter(|text| !(spaces && (text.contains("<extra>") || text.contains("\n\n\n")))) {
            let ids = tokenizer.encode(text, Encode::default());
            // Shows control tokens, because merges may produce a text that is also that of a
            // control token.
            let mut decoder = tokenizer.decoder(true);
            let mut decoded: String = ids.iter().map(|id| decoder.push(*id)).collect();
            decoded.push_str(&decoder.finish());
            assert_eq!(&decoded, text, "{file}");
        }
    }
}

/// llama.cpp's test vocabularies with their texts and tokens.
#[test]
fn tokens_match_llama_cpp_test_vocabularies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/models/vocab");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return roci_testkit::absent("llama.cpp's vocabularies (../shared/models/vocab)");
    };
    let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let vocabularies: Vec<_> = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "gguf")).collect();
    assert!(!vocabularies.is_empty());
    for path in vocabularies {
        let beside = |end: &str| {
            std::fs::read_to_string(format!("{}.{end}", path.display())).expect("the file next to the vocabulary")
        };
        let tokenizer = tokenizer(&metadata(path));
        let (texts, expected) = (beside("inp"), beside("out"));
        let texts: Vec<&str> = texts.split("\n__ggml_vocab_test__\n").collect();
        let expected: Vec<Vec<u32>> = expected
            .lines()
            .map(|line| line.split_whitespace().map(|id| id.parse().expect("a number")).collect())
            .collect();
        assert!(expected.len() >= 46 && texts.len() >= 46, "{}", path.display());
        for (text, expected) in texts.iter().zip(expected) {
            assert_eq!(tokenizer.encode(text, Encode::default()), expected, "{}: {text:?}", path.display());
        }
    }
}
