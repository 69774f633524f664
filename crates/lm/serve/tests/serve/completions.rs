//! `/v1/completions` and `/v1/embeddings`.

use base64::Engine as _;
use roci_testkit::Tolerance;
use serde_json::{Value, json};

use crate::test_server::{TestServer, start};

const COMPLETIONS: &str = "/v1/completions";

fn complete(server: &TestServer, body: Value) -> Value {
    let answer = server.post(COMPLETIONS, &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

#[test]
fn texts_are_continued() {
    let server = start();
    let answer = complete(&server, json!({"prompt": "abc", "max_tokens": 4}));
    assert_eq!(answer["object"], "text_completion");
    assert_eq!(answer["choices"], json!([{"index": 0, "text": "defg", "logprobs": null, "finish_reason": "length"}]));
    let ended = complete(&server, json!({"prompt": "x"}));
    assert_eq!((&ended["choices"][0]["text"], &ended["choices"][0]["finish_reason"]), (&json!("yz"), &json!("stop")));
    assert_eq!(complete(&server, json!({"prompt": "a"}))["usage"]["completion_tokens"], 16, "OpenAI's limit");
    let echoed = complete(&server, json!({"prompt": "abc", "max_tokens": 2, "echo": true}));
    assert_eq!(echoed["choices"][0]["text"], "abcde");
}

#[test]
fn lists_and_tokens_are_accepted() {
    let server = start();
    let several = complete(&server, json!({"prompt": ["abc", "x"], "max_tokens": 2, "n": 2, "echo": true}));
    let texts: Vec<&str> =
        several["choices"].as_array().expect("a list").iter().filter_map(|choice| choice["text"].as_str()).collect();
    assert_eq!(texts, ["abcde", "abcde", "xyz", "xyz"]);
    let tokens = crate::fake_model::tokenizer();
    let id = |text: &str| tokens.id(text).expect("the vocabulary has it");
    let one = complete(&server, json!({"prompt": [id("a"), id("b")], "max_tokens": 2}));
    assert_eq!(one["choices"][0]["text"], "cd");
    assert_eq!(one["usage"]["prompt_tokens"], 2, "tokens are used unchanged");
    let two = complete(&server, json!({"prompt": [[id("a")], [id("p"), id("q")]], "max_tokens": 2}));
    assert_eq!((&two["choices"][0]["text"], &two["choices"][1]["text"]), (&json!("bc"), &json!("rs")));
}

#[test]
fn completions_are_streamed_with_log_probabilities() {
    let server = start();
    let body = json!({"prompt": "abc", "max_tokens": 3, "stream": true, "logprobs": 1, "stream_options": {"include_usage": true}});
    let events = server.stream(COMPLETIONS, &body);
    let text: String = events.iter().filter_map(|event| event["choices"][0]["text"].as_str()).collect();
    assert_eq!(text, "def");
    let first = &events[0]["choices"][0]["logprobs"];
    assert_eq!(first["tokens"], json!(["d"]));
    assert_eq!(events[1]["choices"][0]["logprobs"]["text_offset"], json!([1]));
    assert_eq!(events.last().expect("events")["usage"]["completion_tokens"], 3);
    let whole = complete(&server, json!({"prompt": "abc", "max_tokens": 3, "logprobs": 2}));
    let logprobs = &whole["choices"][0]["logprobs"];
    assert_eq!(logprobs["tokens"], json!(["d", "e", "f"]));
    assert_eq!(logprobs["text_offset"], json!([0, 1, 2]));
    assert!(logprobs["token_logprobs"][0].as_f64() > Some(-0.01));
    assert_eq!(logprobs["top_logprobs"][0].as_object().map(serde_json::Map::len), Some(2));
}

#[test]
fn embeddings_are_floats_or_base64() {
    let server = start();
    let ask = |body: Value| {
        let answer = server.post("/v1/embeddings", &body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    };
    let plain = ask(json!({"input": ["abc", "other"]}));
    assert_eq!(plain["data"].as_array().map(Vec::len), Some(2));
    assert_eq!(plain["data"][1]["index"], 1);
    let numbers: Vec<f32> = plain["data"][0]["embedding"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|value| value.as_f64().expect("a number") as f32)
        .collect();
    assert_eq!(numbers.len(), crate::fake_model::EMBEDDING);
    let length: f32 = numbers.iter().map(|value| value * value).sum();
    assert!(Tolerance::Close.allows(length, 1.0), "{length}");
    assert!(plain["usage"]["prompt_tokens"].as_u64() >= Some(2));
    let packed = ask(json!({"input": "abc", "encoding_format": "base64"}));
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(packed["data"][0]["embedding"].as_str().expect("a text"))
        .expect("valid base64");
    let unpacked: Vec<f32> =
        bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes"))).collect();
    assert_eq!(unpacked, numbers);
    let tokens = ask(json!({"input": [5, 6, 7]}));
    assert_eq!(tokens["usage"]["prompt_tokens"], 3);
    assert_eq!(ask(json!({"input": [[5], [6, 7]]}))["data"].as_array().map(Vec::len), Some(2));
}
