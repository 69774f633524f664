//! No input crashes the server or causes a server error.

use std::io::{Read, Write};

use roci_lm::sample::Random;
use serde_json::{Value, json};

use crate::http;
use crate::test_server::{TestServer, ask, start};

/// Deterministic pseudorandom numbers.
pub(crate) struct TestRng {
    random: Random,
    at: u64,
}

impl TestRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), at: 0 }
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.at += 1;
        (self.random.bits(self.at) % limit.max(1) as u64) as usize
    }
}

/// A value that is often invalid.
fn odd(dice: &mut TestRng) -> Value {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1e308),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("auto"),
        json!("\u{0}<|im_end|>"),
        json!([]),
        json!({}),
        json!([[[]]]),
        json!({"type": "object"}),
        json!(["a", 1]),
        json!({"$ref": "#"}),
        json!("x".repeat(3000)),
    ];
    odd[dice.below(odd.len())].clone()
}

/// Mutates a random nested value.
fn mutate(value: &mut Value, dice: &mut TestRng) {
    match value {
        Value::Object(map) if !map.is_empty() && dice.below(5) > 0 => {
            let key = map.keys().nth(dice.below(map.len())).cloned().unwrap_or_default();
            match dice.below(8) {
                0 => {
                    map.remove(&key);
                }
                1 => {
                    map.insert("extra".into(), odd(dice));
                }
                _ => mutate(&mut map[&key], dice),
            }
        }
        Value::Array(list) if !list.is_empty() && dice.below(5) > 0 => {
            let place = dice.below(list.len());
            match dice.below(6) {
                0 => list.push(odd(dice)),
                1 => {
                    list.remove(place);
                }
                _ => mutate(&mut list[place], dice),
            }
        }
        value => *value = odd(dice),
    }
}

fn seeds() -> Vec<(&'static str, Value)> {
    let tools = json!([{"type": "function", "function": {"name": "f", "description": "d",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/B"}}, "$defs": {"B": {"type": "integer"}}}}}]);
    let schema = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object", "properties": {"a": {"type": "array", "items": {"enum": [1, "x"]}}}}}});
    let all = json!({"max_tokens": 4, "temperature": 0.5, "top_p": 0.9, "top_k": 3, "min_p": 0.1, "seed": 1, "stop": ["a"], "n": 2, "logit_bias": {"7": 1},
        "presence_penalty": 0.1, "frequency_penalty": 0.1, "repeat_penalty": 1.1, "stream_options": {"include_usage": true}});
    let merge = |mut body: Value, more: &Value| {
        more.as_object().into_iter().flatten().for_each(|(key, value)| body[key] = value.clone());
        body
    };
    vec![
        (
            "/v1/chat/completions",
            merge(ask("hello", json!({"chat_template_kwargs": {}, "logprobs": true, "top_logprobs": 2})), &all),
        ),
        (
            "/v1/chat/completions",
            ask("hi", json!({"max_tokens": 4, "stream": true, "tools": tools, "tool_choice": "required"})),
        ),
        ("/v1/chat/completions", ask("hi", json!({"max_tokens": 4, "response_format": schema}))),
        (
            "/v1/completions",
            merge(json!({"prompt": ["a", "b"], "echo": false}), &merge(all.clone(), &json!({"logprobs": 2}))),
        ),
        ("/v1/completions", json!({"prompt": [[5, 6], [7]], "max_tokens": 3, "grammar": "root ::= [a-c]+"})),
        ("/v1/embeddings", json!({"input": ["a", "b"], "encoding_format": "base64", "dimensions": 8})),
    ]
}

fn alive(server: &TestServer) {
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(server.chat("still here", json!({}))["choices"][0]["message"]["content"], "still here");
}

#[test]
fn mutated_requests_cause_no_server_error() {
    let server = start();
    for (path, body) in seeds() {
        let answer = server.post(path, &body);
        assert_eq!(answer.status, 200, "{path} {body}: {}", answer.body);
    }
    let mut dice = TestRng::new(1);
    let (mut good, mut refused) = (0, 0);
    for round in 0..600 {
        let seeds = seeds();
        let (path, mut body) = seeds[round % seeds.len()].clone();
        for _ in 0..=dice.below(2) {
            mutate(&mut body, &mut dice);
        }
        let answer = server.post(path, &body);
        match answer.status {
            200 => good += 1,
            400 => refused += 1,
            status => panic!("{status} for {path} {body}: {}", answer.body),
        }
    }
    assert!(good > 50 && refused > 50, "both are tried: {good} and {refused}");
    alive(&server);
}

#[test]
fn malformed_requests_cause_no_server_error() {
    let server = start();
    let mut dice = TestRng::new(2);
    for round in 0..300 {
        let (path, body) = seeds()[round % 6].clone();
        let mut bytes = body.to_string().into_bytes();
        let whole = round % 2 == 0;
        let mut request = http::head("POST", path, bytes.len(), "").into_bytes();
        let target = if whole { &mut bytes } else { &mut request };
        for _ in 0..=dice.below(6) {
            let place = dice.below(target.len());
            match dice.below(4) {
                0 => target[place] = dice.below(256) as u8,
                1 => target.truncate(place.max(1)),
                2 => target.insert(place, dice.below(256) as u8),
                _ => {
                    target.remove(place);
                }
            }
        }
        if whole {
            request = http::head("POST", path, bytes.len(), "").into_bytes();
        }
        request.extend(bytes);
        if round % 7 == 0 {
            request = (0..dice.below(2000)).map(|_| dice.below(256) as u8).collect();
        }
        let mut connection = http::connect(server.address).expect("the server accepts connections");
        // The server may close the connection before it has read everything.
        let _ = connection.write_all(&request);
        let _ = connection.shutdown(std::net::Shutdown::Write);
        let mut response = Vec::new();
        let _ = connection.read_to_end(&mut response);
        let response = String::from_utf8_lossy(&response);
        assert!(!response.starts_with("HTTP/1.1 5"), "{response}\n{}", String::from_utf8_lossy(&request));
    }
    alive(&server);
    server.wait("an empty engine", |now| now.running == 0 && now.waiting == 0);
}
