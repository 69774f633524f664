//! Every field is read, has no effect, accepts one value, or is rejected by name.

use roci_lm::architecture::Pooling;
use serde_json::{Value, json};

use crate::documented::{Class, DocumentedField, documented};
use crate::fuzz::TestRng;
use crate::test_server::{TestServer, TestServerOptions, ask, start};

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";
const RERANK: &str = "/v1/rerank";

/// A server with a model for text and embeddings, and one with a reranker.
struct Servers {
    plain: TestServer,
    ranking: TestServer,
}

impl Servers {
    fn start() -> Self {
        let ranking = TestServerOptions { pooling: Pooling::Rank, ..TestServerOptions::default() };
        Self { plain: start(), ranking: ranking.start() }
    }

    /// The server whose model an endpoint needs.
    fn of(&self, endpoint: &str) -> &TestServer {
        if endpoint == RERANK { &self.ranking } else { &self.plain }
    }
}

/// Renders two variables after each message, and prints fields without effect if the server passes
/// them on.
const TEMPLATE: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n\
    {{ m.content }}{{ ending }}{{ reasoning_effort }}{{ m.id }}{{ m.annotations }}<|im_end|>\n{% endfor %}\
    {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// A request that contains every kind of object that a request can have.
fn full(endpoint: &str) -> Value {
    let schema = json!({"type": "json_schema", "json_schema": {"schema": {"type": "integer"}}});
    let lora = json!([{"id": 0, "scale": 0}]);
    let more =
        json!({"temperature": 0, "max_tokens": 8, "stream_options": {}, "response_format": schema, "lora": lora});
    let mut body = match endpoint {
        CHAT => json!({
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}],
                "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        }),
        COMPLETIONS => json!({"prompt": "abc"}),
        RERANK => return json!({"query": "abc", "documents": ["d"]}),
        _ => return json!({"input": "abc"}),
    };
    more.as_object().into_iter().flatten().for_each(|(key, value)| body[key] = value.clone());
    body
}

/// Sets a field in every object at a path such as `messages[].content[].text`.
fn put(body: &mut Value, path: &str, value: &Value) {
    let Some((first, rest)) = path.split_once('.') else {
        body[path] = value.clone();
        return;
    };
    match first.strip_suffix("[]") {
        Some(list) => {
            body[list].as_array_mut().expect("a list").iter_mut().for_each(|item| put(item, rest, value));
        }
        None => {
            if body[first].is_null() {
                body[first] = match first {
                    "image_url" => json!({"url": "data:,"}),
                    _ => json!({"type": "function", "function": {"name": "f"}}),
                };
            }
            put(&mut body[first], rest, value);
        }
    }
}

/// A request with one additional field.
fn with(field: &DocumentedField, value: &Value) -> Value {
    let mut body = full(field.endpoint);
    if field.path.starts_with("tool_choice") {
        // A required call and a format are mutually exclusive.
        body["response_format"] = json!(null);
    }
    put(&mut body, &field.path, value);
    body
}

/// A response without the parts that differ between requests.
fn response(server: &TestServer, endpoint: &str, body: &Value) -> Value {
    let answer = server.post(endpoint, body);
    assert_eq!(answer.status, 200, "{endpoint} {body}: {}", answer.body);
    let answer = answer.json();
    json!([answer["choices"], answer["data"], answer["results"]])
}

/// The code of an error that names this field.
fn refused(server: &TestServer, endpoint: &str, body: &Value, path: &str) -> Value {
    let answer = server.post(endpoint, body);
    assert_eq!(answer.status, 400, "{endpoint} {body}: {}", answer.body);
    let error = answer.json()["error"].clone();
    assert_eq!(error["type"], "invalid_request_error");
    let param = error["param"].as_str().expect("a field").replace("[0]", "[]");
    assert_eq!(param, path, "{body}: {error}");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains(&path.replace("[]", "[0]")) && !message.contains('\n'), "{message}");
    error["code"].clone()
}

fn of_class(class: Class) -> Vec<DocumentedField> {
    documented().into_iter().filter(|field| field.class == class).collect()
}

#[test]
fn invalid_values_of_read_fields_are_rejected_by_name() {
    let servers = Servers::start();
    for field in of_class(Class::Read).iter().filter(|field| !field.path.contains(['.', '['])) {
        let server = servers.of(field.endpoint);
        // No field accepts all of these values.
        let names = |value: Value| {
            let mut body = full(field.endpoint);
            body[&field.path] = value;
            let answer = server.post(field.endpoint, &body);
            let param = answer.json()["error"]["param"].as_str().map(str::to_owned).unwrap_or_default();
            answer.status == 400 && param.split(['.', '[']).next() == Some(&field.path)
        };
        assert!([json!({"?": []}), json!([[]]), json!(1.5)].into_iter().any(names), "{field:?} is not read");
    }
}

#[test]
fn fields_without_effect_change_nothing() {
    let servers = Servers::start();
    // This model takes no images; a unit test has the fields of their parts.
    let of_images = |field: &DocumentedField| field.path.contains("image_url.");
    for field in of_class(Class::NoEffect).into_iter().filter(|field| !of_images(field)) {
        let server = servers.of(field.endpoint);
        let without = response(server, field.endpoint, &full(field.endpoint));
        for value in [json!("x"), json!(5), json!({"a": [true]}), json!(null)] {
            assert_eq!(response(server, field.endpoint, &with(&field, &value)), without, "{field:?}: {value}");
        }
    }
}

#[test]
fn other_values_of_fields_with_one_accepted_value_are_rejected() {
    let servers = Servers::start();
    for field in of_class(Class::Only) {
        let server = servers.of(field.endpoint);
        let (accepted, other) = match field.accepted.as_str() {
            "`true`" => (json!(true), json!(false)),
            "`false`" => (json!(false), json!(true)),
            "an empty value" => (json!(""), json!("x")),
            "a number below 0" => (json!(-1), json!(0)),
            word if word.starts_with('`') => (json!(word.split('`').nth(1)), json!("zebra")),
            number => {
                let (value, rest) = number.split_once(' ').unwrap_or((number, ""));
                let value: f64 = value.parse().expect(number);
                (json!(value), json!(value + if rest == "or more" { -0.5 } else { 0.5 }))
            }
        };
        let without = response(server, field.endpoint, &full(field.endpoint));
        assert_eq!(response(server, field.endpoint, &with(&field, &accepted)), without, "{field:?}");
        let code = refused(server, field.endpoint, &with(&field, &other), &field.path);
        assert_eq!(code, "unsupported_value", "{field:?}");
    }
}

#[test]
fn refused_fields_are_rejected_by_name() {
    let servers = Servers::start();
    for field in of_class(Class::Refused) {
        let server = servers.of(field.endpoint);
        for value in [json!("x"), json!({}), json!([]), json!(0)] {
            let code = refused(server, field.endpoint, &with(&field, &value), &field.path);
            assert_eq!(code, "unsupported_parameter", "{field:?}");
        }
        assert_eq!(server.post(field.endpoint, &with(&field, &json!(null))).status, 200, "null is absent: {field:?}");
    }
}

/// An unknown field name: random letters, or a misspelled known name.
fn stray(dice: &mut TestRng, known: &[DocumentedField]) -> String {
    let letters: Vec<char> = "abcdefghijklmnopqrstuvwxyz_ABC019-.éß世\"'` ".chars().collect();
    let mut name: Vec<char> = match dice.below(2) {
        0 => Vec::new(),
        _ => known[dice.below(known.len())].path.rsplit('.').next().unwrap_or_default().chars().collect(),
    };
    for _ in 0..=dice.below(if name.is_empty() { 12 } else { 2 }) {
        let letter = letters[dice.below(letters.len())];
        match dice.below(3) {
            0 if !name.is_empty() => {
                name.remove(dice.below(name.len()));
            }
            _ => name.insert(dice.below(name.len() + 1), letter),
        }
    }
    name.into_iter().collect()
}

#[test]
fn unknown_fields_are_rejected_by_name_at_any_depth() {
    let server = start();
    let known = documented();
    let mut dice = TestRng::new(3);
    let mut tried = 0;
    for round in 0..400 {
        let endpoint = [CHAT, COMPLETIONS, "/v1/embeddings"][round % 3];
        // All objects of this endpoint that contain fields.
        let mut places: Vec<&str> = known
            .iter()
            .filter(|field| field.endpoint == endpoint)
            .map(|field| field.path.rfind('.').map_or("", |end| &field.path[..=end]))
            .collect();
        places.sort_unstable();
        places.dedup();
        let place = places[dice.below(places.len())];
        let name = stray(&mut dice, &known);
        let path = format!("{place}{name}");
        if name.is_empty()
            || name.contains('.')
            || known.iter().any(|field| field.endpoint == endpoint && field.path == path)
        {
            continue;
        }
        let value = [json!(0), json!(""), json!([]), json!({}), json!(false)][dice.below(5)].clone();
        let mut body = full(endpoint);
        put(&mut body, &path, &value);
        assert_eq!(refused(&server, endpoint, &body, &path), "unknown_parameter");
        tried += 1;
    }
    assert!(tried > 250, "most names are unknown: {tried}");
    let long = refused(&server, CHAT, &ask("x", json!({"z".repeat(70): 1})), &format!("{}…", "z".repeat(64)));
    assert_eq!(long, "unknown_parameter");
    for (name, shown) in [("a\nb", "a\\nb"), ("", "\"\"")] {
        assert_eq!(refused(&server, CHAT, &ask("x", json!({name: 1})), shown), "unknown_parameter");
    }
}

#[test]
fn a_top_level_schema_constrains_the_answer() {
    let server = start();
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"], "additionalProperties": false});
    let answer = server.chat("who?", json!({"json_schema": schema}));
    let content = answer["choices"][0]["message"]["content"].as_str().expect("a text").to_owned();
    let value: Value = serde_json::from_str(&content).expect("valid JSON");
    assert!(value["name"].is_string() && value["age"].is_i64(), "{content}");
    let body = json!({"prompt": "abc", "max_tokens": 200, "json_schema": schema});
    let text = server.post(COMPLETIONS, &body).json()["choices"][0]["text"].as_str().expect("a text").to_owned();
    assert!(serde_json::from_str::<Value>(&text).is_ok_and(|value| value["age"].is_i64()), "{text}");
    let body = json!({"prompt": "abc", "grammar": "root ::= \"no\" | \"yes\""});
    let text = server.post(COMPLETIONS, &body).json()["choices"][0]["text"].clone();
    assert!(text == "no" || text == "yes", "{text}");
    // -1 means no limit, even if there is a default.
    let body = json!({"prompt": "a", "n_predict": -1});
    assert_eq!(server.post(COMPLETIONS, &body).json()["choices"][0]["text"], "bcdefghijklmnopqrstuvwxyz");
    assert_eq!(server.chat("forever", json!({"n_predict": 3}))["usage"]["completion_tokens"], 3);
}

#[test]
fn errors_name_the_conflicting_fields() {
    let server = start();
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let (schema, grammar, object) = (json!({"type": "integer"}), "root ::= \"a\"", json!({"type": "json_object"}));
    for (fields, param, other) in [
        (json!({"json_schema": schema, "grammar": grammar}), "json_schema", "grammar"),
        (json!({"json_schema": schema, "response_format": object}), "json_schema", "response_format"),
        (json!({"grammar": grammar, "response_format": object}), "grammar", "response_format"),
        (json!({"grammar": grammar, "tools": tools}), "grammar", "tools"),
        (json!({"json_schema": schema, "tools": tools, "tool_choice": "required"}), "tool_choice", "json_schema"),
    ] {
        let endpoints = if fields["tools"].is_null() { &[CHAT, COMPLETIONS][..] } else { &[CHAT] };
        for endpoint in endpoints {
            let mut body = if *endpoint == CHAT { ask("x", json!({})) } else { json!({"prompt": "x"}) };
            fields.as_object().into_iter().flatten().for_each(|(key, value)| body[key] = value.clone());
            refused(&server, endpoint, &body, param);
            let message = server.post(endpoint, &body).json()["error"]["message"].to_string();
            assert!(message.contains(&format!("`{other}`")), "{message}");
        }
    }
    let none = json!({"grammar": grammar, "tools": tools, "tool_choice": "none"});
    assert_eq!(server.chat("x", none)["choices"][0]["message"]["content"], "a");
}

#[test]
fn variables_reach_the_template_or_are_rejected() {
    let server = TestServerOptions { template: Some(TEMPLATE), ..Default::default() }.start();
    for (fields, response) in [
        (json!({"chat_template_kwargs": {"ending": "!"}}), "hello!"),
        (json!({"chat_template_kwargs": {"ending": "!"}, "reasoning_effort": "low"}), "hello!low"),
        (json!({"chat_template_kwargs": {"reasoning_effort": "low"}, "reasoning_effort": "low"}), "hellolow"),
    ] {
        assert_eq!(server.chat("hello", fields)["choices"][0]["message"]["content"], response);
    }
    for (fields, path) in [
        (json!({"chat_template_kwargs": {"endings": "!"}}), "chat_template_kwargs.endings"),
        (json!({"chat_template_kwargs": {"messages": []}}), "chat_template_kwargs.messages"),
        (json!({"chat_template_kwargs": {"reasoning_effort": "low"}, "reasoning_effort": "high"}), "reasoning_effort"),
    ] {
        refused(&server, CHAT, &ask("hello", fields), path);
    }
    let plain = start();
    refused(&plain, CHAT, &ask("hello", json!({"reasoning_effort": "high"})), "reasoning_effort");
    // Fields without effect do not reach the template either.
    let body = json!({"messages": [{"role": "user", "content": "hello", "id": "x", "annotations": ["y"]}]});
    assert_eq!(server.post(CHAT, &body).json()["choices"][0]["message"]["content"], "hello");
}
