//! Log probabilities of tokens, in the formats of both generation endpoints.

use roci_engine::{Logprob, Token};
use serde_json::{Map, Value, json};

/// Replaces a log probability of minus infinity, which JSON cannot represent; OpenAI's servers use
/// the same value.
const IMPOSSIBLE: f32 = -9999.0;

fn number(log_probability: f32) -> f32 {
    if log_probability.is_finite() { log_probability } else { IMPOSSIBLE }
}

fn text(logprob: &Logprob) -> String {
    String::from_utf8_lossy(&logprob.bytes).into_owned()
}

/// The format of `/v1/chat/completions`.
pub(crate) fn chat(token: &Token) -> Value {
    let tell =
        |logprob: &Logprob| json!({"token": text(logprob), "logprob": number(logprob.logprob), "bytes": logprob.bytes});
    let mut value = tell(&token.chosen);
    value["top_logprobs"] = token.top_logprobs.iter().map(tell).collect();
    value
}

/// The format of `/v1/completions`. `offset` is the number of characters before, and is advanced.
pub(crate) fn completion(tokens: &[Token], offset: &mut usize) -> Value {
    let mut offsets = Vec::new();
    let mut texts = Vec::new();
    let mut numbers = Vec::new();
    let mut likeliest = Vec::new();
    for token in tokens {
        let chosen = text(&token.chosen);
        offsets.push(*offset);
        *offset += chosen.chars().count();
        texts.push(chosen);
        numbers.push(number(token.chosen.logprob));
        let others = token.top_logprobs.iter().map(|logprob| (text(logprob), json!(number(logprob.logprob))));
        likeliest.push(Value::Object(others.collect::<Map<_, _>>()));
    }
    json!({"tokens": texts, "token_logprobs": numbers, "top_logprobs": likeliest, "text_offset": offsets})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(bytes: &[u8], log_probability: f32) -> Token {
        let chosen = Logprob { token: 1, bytes: bytes.to_vec(), logprob: log_probability };
        Token { top_logprobs: vec![chosen.clone()], chosen, text: String::new() }
    }

    #[test]
    fn offsets_count_characters_and_minus_infinity_is_a_number() {
        let mut offset = 3;
        let value = completion(&[token("é".as_bytes(), -0.5), token(b"a", f32::NEG_INFINITY)], &mut offset);
        assert_eq!(value["text_offset"], json!([3, 4]));
        assert_eq!(value["token_logprobs"], json!([-0.5, -9999.0]));
        assert_eq!(value["top_logprobs"][0], json!({"é": -0.5}));
        assert_eq!(offset, 5);
        assert_eq!(chat(&token(b"\xff", -1.0))["bytes"], json!([255]));
    }
}
