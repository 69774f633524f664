//! Probabilities of tokens, as both ways of asking for text tell them.

use roci_engine::{Likely, Token};
use serde_json::{Map, Value, json};

/// No number of JSON is infinite; OpenAI's own servers give this for what cannot be.
const IMPOSSIBLE: f32 = -9999.0;

fn number(log_probability: f32) -> f32 {
    if log_probability.is_finite() { log_probability } else { IMPOSSIBLE }
}

fn text(likely: &Likely) -> String {
    String::from_utf8_lossy(&likely.bytes).into_owned()
}

/// As `/v1/chat/completions` tells them.
pub(crate) fn chat(token: &Token) -> Value {
    let tell = |likely: &Likely| json!({"token": text(likely), "logprob": number(likely.log_probability), "bytes": likely.bytes});
    let mut value = tell(&token.chosen);
    value["top_logprobs"] = token.likeliest.iter().map(tell).collect();
    value
}

/// As `/v1/completions` tells them; `offset` is how many characters came before, and is moved on.
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
        numbers.push(number(token.chosen.log_probability));
        let others = token.likeliest.iter().map(|likely| (text(likely), json!(number(likely.log_probability))));
        likeliest.push(Value::Object(others.collect::<Map<_, _>>()));
    }
    json!({"tokens": texts, "token_logprobs": numbers, "top_logprobs": likeliest, "text_offset": offsets})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(bytes: &[u8], log_probability: f32) -> Token {
        let chosen = Likely { token: 1, bytes: bytes.to_vec(), log_probability };
        Token { likeliest: vec![chosen.clone()], chosen, text: String::new() }
    }

    #[test]
    fn offsets_count_characters_and_what_cannot_be_is_a_number() {
        let mut offset = 3;
        let value = completion(&[token("é".as_bytes(), -0.5), token(b"a", f32::NEG_INFINITY)], &mut offset);
        assert_eq!(value["text_offset"], json!([3, 4]));
        assert_eq!(value["token_logprobs"], json!([-0.5, -9999.0]));
        assert_eq!(value["top_logprobs"][0], json!({"é": -0.5}));
        assert_eq!(offset, 5);
        assert_eq!(chat(&token(b"\xff", -1.0))["bytes"], json!([255]));
    }
}
