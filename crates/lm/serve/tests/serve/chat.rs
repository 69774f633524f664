//! `/v1/chat/completions`.

use serde_json::{Value, json};

use crate::test_server::{ask, start};

const CHAT: &str = "/v1/chat/completions";

/// The concatenated text of a streamed answer.
fn text(events: &[Value], answer: u64) -> String {
    let choices = events.iter().flat_map(|event| event["choices"].as_array().cloned().unwrap_or_default());
    let mine = choices.filter(|choice| choice["index"] == answer);
    mine.filter_map(|choice| choice["delta"]["content"].as_str().map(str::to_owned)).collect()
}

#[test]
fn an_answer_has_usage_and_timings() {
    let server = start();
    let answer = server.chat("hello there", json!({"model": "any"}));
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "fake");
    assert!(answer["id"].as_str().is_some_and(|id| id.starts_with("chatcmpl-")));
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"], json!({"role": "assistant", "content": "hello there"}));
    assert_eq!(choice["finish_reason"], "stop");
    let usage = &answer["usage"];
    assert!(usage["prompt_tokens"].as_u64() > Some(10) && usage["completion_tokens"].as_u64() > Some(3));
    let sum = usage["prompt_tokens"].as_u64().zip(usage["completion_tokens"].as_u64()).map(|(a, b)| a + b);
    assert_eq!(usage["total_tokens"].as_u64(), sum);
    assert!(answer["timings"]["prompt_ms"].is_number());
}

#[test]
fn a_stream_gives_the_same_text() {
    let server = start();
    let message = "grüße, 世界 and more";
    let events = server.stream(CHAT, &ask(message, json!({"stream": true, "stream_options": {"include_usage": true}})));
    assert_eq!(events[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    assert_eq!(text(&events, 0), message);
    assert!(events.len() > 8, "the stream has several parts: {}", events.len());
    let last = &events[events.len() - 2];
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    let usage = events.last().expect("there are events");
    assert_eq!(usage["choices"], json!([]));
    assert!(usage["usage"]["completion_tokens"].as_u64() > Some(5));
    assert!(events.iter().all(|event| event["id"] == events[0]["id"] && event["object"] == "chat.completion.chunk"));
    let without = server.stream(CHAT, &ask(message, json!({"stream": true})));
    assert!(without.iter().all(|event| event.get("usage").is_none()));
}

#[test]
fn conversations_with_parts_and_tools_are_accepted() {
    let server = start();
    let body = json!({"messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "42"}
    ]});
    let answer = server.post(CHAT, &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let tool_response = "<tool_response>\n42\n</tool_response>";
    assert_eq!(answer.json()["choices"][0]["message"]["content"], tool_response, "the tool result is the last message");
    let body = json!({"messages": body["messages"].as_array().expect("a list")[..2]});
    assert_eq!(server.post(CHAT, &body).json()["choices"][0]["message"]["content"], "one\ntwo");
}

#[test]
fn token_limits_and_stop_strings_end_an_answer() {
    let server = start();
    let answer = server.chat("forever", json!({"max_tokens": 7}));
    assert_eq!(answer["choices"][0]["message"]["content"], "xxxxxxx");
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["usage"]["completion_tokens"], 7);
    let newer = server.chat("forever", json!({"max_tokens": 7, "max_completion_tokens": 3}));
    assert_eq!(newer["choices"][0]["message"]["content"], "xxx");
    let stopped = server.chat("one two three four", json!({"stop": [" four", "three"]}));
    assert_eq!(stopped["choices"][0]["message"]["content"], "one two ");
    assert_eq!(stopped["choices"][0]["finish_reason"], "stop");
    let full = server.chat("forever", json!({}));
    assert_eq!(full["choices"][0]["finish_reason"], "length", "the context is full");
    assert_eq!(full["usage"]["total_tokens"], 1024);
}

#[test]
fn several_answers_are_complete_or_streamed() {
    let server = start();
    let answer = server.chat("abc", json!({"n": 3, "seed": 1}));
    let choices = answer["choices"].as_array().expect("a list");
    assert_eq!(choices.len(), 3);
    for (place, choice) in choices.iter().enumerate() {
        assert_eq!((choice["index"].as_u64(), &choice["message"]["content"]), (Some(place as u64), &json!("abc")));
    }
    let events = server.stream(CHAT, &ask("abc", json!({"n": 3, "stream": true})));
    for answer in 0..3 {
        assert_eq!(text(&events, answer), "abc");
    }
    let ends = events.iter().filter(|event| event["choices"][0]["finish_reason"] == "stop").count();
    assert_eq!(ends, 3);
}

#[test]
fn log_probabilities_are_reported() {
    let server = start();
    let answer = server.chat("ab", json!({"logprobs": true, "top_logprobs": 2, "temperature": 0}));
    let logprobs = answer["choices"][0]["logprobs"]["content"].as_array().expect("a list").clone();
    assert_eq!(logprobs[0]["token"], "a");
    assert_eq!(logprobs[0]["bytes"], json!([97]));
    assert!(logprobs[0]["logprob"].as_f64() > Some(-0.01));
    assert_eq!(logprobs[0]["top_logprobs"].as_array().map(Vec::len), Some(2));
    assert_eq!(logprobs[0]["top_logprobs"][0]["token"], "a");
    let events =
        server.stream(CHAT, &ask("ab", json!({"logprobs": true, "top_logprobs": 1, "temperature": 0, "stream": true})));
    let streamed: Vec<String> = events
        .iter()
        .filter_map(|event| event["choices"][0]["logprobs"]["content"][0]["token"].as_str().map(str::to_owned))
        .collect();
    let whole: Vec<&str> = logprobs.iter().filter_map(|token| token["token"].as_str()).collect();
    assert_eq!(streamed, whole);
    assert_eq!(server.chat("ab", json!({}))["choices"][0]["logprobs"], Value::Null);
}

#[test]
fn seed_and_logit_bias_determine_the_answer() {
    let server = start();
    // At this temperature all tokens are almost equally likely.
    let ask = |seed: i64| {
        let fields = json!({"temperature": 100, "top_k": 0, "top_p": 1, "min_p": 0, "seed": seed, "max_tokens": 12});
        server.chat("forever", fields)["choices"][0]["message"]["content"].clone()
    };
    assert_eq!(ask(5), ask(5));
    assert_ne!(ask(5), ask(6));
    let x = crate::fake_model::tokenizer().id("x").expect("there is an x").to_string();
    let biased = server.chat("forever", json!({"logit_bias": {x: -100}, "max_tokens": 5, "temperature": 0}));
    assert_eq!(biased["choices"][0]["message"]["content"], "\"\"\"\"\"", "the second choice");
}

#[test]
fn answers_match_the_response_format() {
    let server = start();
    let object = server.chat("no JSON at all", json!({"response_format": {"type": "json_object"}}));
    let content = object["choices"][0]["message"]["content"].as_str().expect("a text").to_owned();
    assert!(serde_json::from_str::<Value>(&content).is_ok_and(|value| value.is_object()), "{content}");
    assert_eq!(object["choices"][0]["finish_reason"], "stop");
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"], "additionalProperties": false});
    let format = json!({"type": "json_schema", "json_schema": {"name": "person", "strict": true, "schema": schema}});
    let person = server.chat("who?", json!({"response_format": format}));
    let content = person["choices"][0]["message"]["content"].as_str().expect("a text").to_owned();
    let value: Value = serde_json::from_str(&content).expect("valid JSON");
    assert!(value["name"].is_string() && value["age"].is_i64(), "{content}");
    let text = server.chat("just text", json!({"response_format": {"type": "text"}}));
    assert_eq!(text["choices"][0]["message"]["content"], "just text");
    let grammar = server.chat("maybe", json!({"grammar": "root ::= \"yes\" | \"no\""}));
    let content = grammar["choices"][0]["message"]["content"].clone();
    assert!(content == "yes" || content == "no", "{content}");
}

#[test]
fn variables_reach_the_template() {
    let template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{{ ending }}<|im_end|>\n{% endfor %}\
                    {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let server = crate::test_server::TestServerOptions { template: Some(template), ..Default::default() }.start();
    let answer = server.chat("hello", json!({"chat_template_kwargs": {"ending": "!"}}));
    assert_eq!(answer["choices"][0]["message"]["content"], "hello!");
}
