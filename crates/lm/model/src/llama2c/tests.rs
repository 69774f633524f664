use roci_gguf::{Array, Gguf};

use super::*;
use crate::architecture::Model;
use crate::reference::{Reference, SequenceState};
use crate::sample::Random;

const VOCABULARY: usize = 300;
const TOKENS: [u32; 5] = [1, 7, 270, 33, 299];

/// Header of a checkpoint: embedding, feed-forward, layers, heads, KV heads, vocabulary, context.
const NUMBERS: [i32; 7] = [16, 24, 2, 4, 2, VOCABULARY as i32, 8];

fn words(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Random weights by name, the same for every order.
fn weights(name: &str, count: usize) -> Vec<u8> {
    let random = Random::new(name.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte)));
    (0..count as u64).flat_map(|at| ((random.unit(at) - 0.5) as f32).to_le_bytes()).collect()
}

/// A checkpoint of version 0 or 1, with tied embeddings or not.
fn checkpoint(long: bool, tied: bool) -> Vec<u8> {
    let [dim, hidden, layers, heads, kv_heads, vocabulary, context] = NUMBERS.map(|number| number as usize);
    let head = dim / heads;
    let block = |name: &str, count: usize| weights(name, count * layers);
    let attention = ["wq", "wk", "wv", "wo"].map(|name| {
        let outputs = if matches!(name, "wk" | "wv") { kv_heads * head } else { dim };
        block(name, dim * outputs)
    });
    let fed = ["w1", "w2", "w3"].map(|name| block(name, dim * hidden));
    let tokens = weights("tokens", vocabulary * dim);
    let (norm, second, last) = (block("norm", dim), block("second", dim), weights("last", dim));
    let mut bytes;
    if long {
        bytes = words(&[0x616b_3432, 1]);
        bytes.extend(words(&NUMBERS));
        bytes.push(u8::from(tied));
        bytes.resize(256, 0);
        bytes.extend([norm, second, last, tokens].concat());
        bytes.extend(attention.concat());
        bytes.extend(fed.concat());
    } else {
        let mut numbers = NUMBERS;
        numbers[5] *= if tied { 1 } else { -1 };
        bytes = words(&numbers);
        bytes.extend([tokens, norm].concat());
        bytes.extend(attention.concat());
        bytes.extend(second);
        bytes.extend(fed.concat());
        bytes.extend(last);
        bytes.extend(vec![0xff; 4 * context * head]);
    }
    if !tied {
        bytes.extend(weights("output", vocabulary * dim));
    }
    bytes
}

fn vocabulary() -> Vec<u8> {
    let mut bytes = words(&[9]);
    for token in 0..VOCABULARY {
        let text = match token {
            0 => "<unk>".to_owned(),
            1 => "\n<s>\n".to_owned(),
            2 => "\n</s>\n".to_owned(),
            3..259 => format!("<0x{:02X}>", token - 3),
            _ => format!(" w{token}"),
        };
        bytes.extend((-(token as f32)).to_le_bytes());
        bytes.extend(words(&[text.len() as i32]));
        bytes.extend(text.as_bytes());
    }
    bytes
}

fn open(checkpoint: &[u8]) -> Gguf {
    let bytes = convert(checkpoint, &vocabulary(), "small", Vec::new()).expect("the checkpoint is valid");
    Gguf::from_bytes(bytes).expect("the file is valid")
}

fn logits(file: &Gguf) -> Vec<f32> {
    let model = Model::new(file, None).expect("the architecture is supported");
    let reference = Reference::new(file, model).expect("the file has all weights");
    let mut text = SequenceState::default();
    TOKENS
        .iter()
        .map(|&token| reference.logits(&mut text, token).expect("the token is in the vocabulary"))
        .next_back()
        .expect("logits")
}

#[test]
fn both_versions_give_the_same_model() {
    for tied in [true, false] {
        let files = [false, true].map(|long| open(&checkpoint(long, tied)));
        assert_eq!(files[0].tensor("output.weight").is_none(), tied);
        assert_eq!(logits(&files[0]), logits(&files[1]));
        let up = files[0].expect_tensor("blk.1.ffn_up.weight").expect("the entry exists");
        assert_eq!(up.bytes(), &weights("w3", 2 * 16 * 24)[4 * 16 * 24..], "the second half is the second layer's");
    }
    assert_ne!(logits(&open(&checkpoint(false, true))), logits(&open(&checkpoint(false, false))));
}

#[test]
fn the_vocabulary_is_in_sentencepiece_notation() {
    let file = open(&checkpoint(false, true));
    let Some(Value::Array(Array::String(tokens))) = file.metadata().value("tokenizer.ggml.tokens") else {
        panic!("there are no tokens");
    };
    assert_eq!([&tokens[1], &tokens[2], &tokens[3], &tokens[299]], ["<s>", "</s>", "<0x00>", "▁w299"]);
    let kinds = file.metadata().expect::<Vec<i32>>("tokenizer.ggml.token_type").expect("the entry exists");
    assert_eq!((kinds[0], kinds[1], kinds[2], kinds[258], kinds[259]), (2, 3, 3, 6, 1));
}

#[test]
fn invalid_checkpoints_are_rejected() {
    let refused = |checkpoint: &[u8], tokens: &[u8]| {
        let error = convert(checkpoint, tokens, "small", Vec::new()).expect_err("the checkpoint is invalid");
        assert!(error.hint().is_some());
        error.to_string()
    };
    let (good, tokens) = (checkpoint(false, true), vocabulary());
    assert_eq!(refused(b"", &tokens), "the checkpoint has 0 bytes, but its header requires 28");
    let longer = [good.clone(), vec![0]].concat();
    for damaged in [&good[..good.len() - 1], &longer, &checkpoint(true, true)[..300]] {
        assert!(refused(damaged, &tokens).starts_with("the checkpoint has "), "{}", damaged.len());
    }
    assert!(refused(&[0x77; 4096], &tokens).contains("expected from 1 to"));
    let with = |at: usize, number: i32| {
        let mut bytes = good.clone();
        bytes[4 * at..4 * at + 4].copy_from_slice(&number.to_le_bytes());
        refused(&bytes, &tokens)
    };
    assert_eq!(with(0, 0), "the checkpoint's embedding length is 0, expected from 1 to 1048576");
    assert_eq!(with(3, 5), "the checkpoint's number of heads is 5, expected a divisor of 16, the embedding length");
    assert_eq!(with(4, 3), "the checkpoint's number of KV heads is 3, expected a divisor of 4, the number of heads");
    assert!(with(5, i32::MIN).contains("vocabulary"));
    let mut newer = checkpoint(true, true);
    newer[4] = 2;
    assert_eq!(refused(&newer, &tokens), "checkpoint version 2 is not supported; versions 0 and 1 are");
    assert_eq!(refused(&good, &tokens[..tokens.len() - 1]), "the tokenizer file ends within token 299 of 300");
    assert_eq!(refused(&good, b""), "the tokenizer file ends within token 0 of 300");
    let more = [tokens, vec![0]].concat();
    assert_eq!(refused(&good, &more), "the tokenizer file has data after the checkpoint's 300 tokens");
}
