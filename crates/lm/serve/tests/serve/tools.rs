//! Tool calls.

use serde_json::{Value, json};

use crate::test_server::{TestServer, TestServerOptions, ask, start};

fn tools() -> Value {
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false});
    json!([
        {"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": city}},
        {"type": "function", "function": {"name": "time", "parameters": {"type": "object", "properties": {}, "additionalProperties": false}}}
    ])
}

/// A template that renders tools and calls like Llama 3.
const PLAIN: &str = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}\
    {% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.tool_calls %}{{ '{\"name\": \"' ~ m.tool_calls[0].function.name ~ '\", \"parameters\": ' }}\
    {{ m.tool_calls[0].function.arguments | tojson }}{{ '}' }}{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}\
    {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

fn calls(answer: &Value) -> Vec<(String, Value)> {
    let list = answer["choices"][0]["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
    let call = |call: &Value| {
        assert!(call["id"].as_str().is_some_and(|id| id.starts_with("call_")) && call["type"] == "function");
        let arguments = call["function"]["arguments"].as_str().expect("a text");
        let arguments = serde_json::from_str(arguments).unwrap_or_else(|error| panic!("{error}: {arguments}"));
        (call["function"]["name"].as_str().expect("a name").to_owned(), arguments)
    };
    list.iter().map(call).collect()
}

#[test]
fn a_generated_call_is_parsed() {
    let server = start();
    let text = "Let me see.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";
    let answer = server.chat(text, json!({"tools": tools()}));
    assert_eq!(calls(&answer), [("weather".to_owned(), json!({"city": "Rome"}))]);
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(answer["choices"][0]["message"]["content"], "Let me see.\n");
    let plain = server.chat("{\"name\": \"time\", \"arguments\": {}}", json!({"tools": tools()}));
    assert_eq!(calls(&plain), [("time".to_owned(), json!({}))]);
    assert_eq!(plain["choices"][0]["message"]["content"], Value::Null);
}

#[test]
fn a_call_is_text_without_tools_or_with_tool_choice_none() {
    let server = start();
    let text = "<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>";
    for fields in [json!({}), json!({"tools": tools(), "tool_choice": "none"})] {
        let answer = server.chat(text, fields);
        assert_eq!(answer["choices"][0]["message"]["content"], text);
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    }
    let text = server.chat("no call", json!({"tools": tools(), "tool_choice": "auto"}));
    assert_eq!(text["choices"][0]["message"], json!({"role": "assistant", "content": "no call"}));
}

fn check_required_call(server: &TestServer) {
    let required = server.chat("I will not", json!({"tools": tools(), "tool_choice": "required"}));
    assert_eq!(calls(&required).len(), 1, "{required}");
    assert_eq!(required["choices"][0]["finish_reason"], "tool_calls");
    let choice = json!({"type": "function", "function": {"name": "weather"}});
    let named = server.chat("I will not", json!({"tools": tools(), "tool_choice": choice}));
    let [(name, arguments)] = calls(&named).try_into().expect("one call");
    assert_eq!(name, "weather");
    assert!(arguments["city"].is_string(), "{arguments}");
}

#[test]
fn a_required_call_is_made_with_and_without_tags() {
    check_required_call(&start());
    check_required_call(&TestServerOptions { template: Some(PLAIN), ..Default::default() }.start());
}

#[test]
fn strict_tools_constrain_optional_calls() {
    let server = start();
    let text = "Wait. <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"town\": \"Rome\"}}\n</tool_call>";
    let loose = server.chat(text, json!({"tools": tools()}));
    assert_eq!(calls(&loose), [("weather".to_owned(), json!({"town": "Rome"}))]);
    let mut strict = tools();
    strict[0]["function"]["strict"] = json!(true);
    let held = server.chat(text, json!({"tools": strict, "max_tokens": 200}));
    let calls = calls(&held);
    assert!(calls.len() == 1 && calls[0].0 == "weather" && calls[0].1["city"].is_string(), "{held}");
    assert!(held["choices"][0]["message"]["content"].as_str().is_some_and(|text| text.starts_with("Wait. ")), "{held}");
    let text = server.chat("a < b, no call", json!({"tools": strict}));
    assert_eq!(text["choices"][0]["message"]["content"], "a < b, no call");
}

#[test]
fn with_tools_and_a_format_an_answer_is_a_call_or_has_the_format() {
    let server = start();
    let fields = json!({"tools": tools(), "json_schema": {"type": "integer"}});
    let text = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";
    assert_eq!(calls(&server.chat(text, fields.clone())), [("weather".to_owned(), json!({"city": "Rome"}))]);
    let number = server.chat("hello", fields);
    let content = number["choices"][0]["message"]["content"].as_str().expect("a text").to_owned();
    assert!(content.parse::<i64>().is_ok(), "{content}");
}

#[test]
fn without_parallel_calls_only_the_first_counts() {
    let server = start();
    let one = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";
    let text = format!("{one}\n{}", one.replace("Rome", "Oslo"));
    assert_eq!(calls(&server.chat(&text, json!({"tools": tools()}))).len(), 2);
    let fields = json!({"tools": tools(), "parallel_tool_calls": false});
    assert_eq!(calls(&server.chat(&text, fields)), [("weather".to_owned(), json!({"city": "Rome"}))]);
    let body = ask(&text, json!({"tools": tools(), "parallel_tool_calls": false, "stream": true}));
    let events = server.stream("/v1/chat/completions", &body);
    let deltas = events.iter().flat_map(|event| event["choices"][0]["delta"]["tool_calls"].as_array().cloned());
    let deltas: Vec<Value> = deltas.flatten().collect();
    assert!(deltas.iter().all(|call| call["index"] == 0));
    let arguments: String = deltas.iter().filter_map(|call| call["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, "{\"city\": \"Rome\"}");
}

#[test]
fn a_call_is_streamed_in_parts() {
    let server = start();
    let one = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";
    let text = format!("Wait. {one}\n{}", one.replace("Rome", "Oslo"));
    let body = ask(&text, json!({"tools": tools(), "stream": true}));
    let events = server.stream("/v1/chat/completions", &body);
    let mut names = Vec::new();
    let mut arguments = [String::new(), String::new()];
    let mut content = String::new();
    let mut parts = 0;
    for event in &events {
        let delta = &event["choices"][0]["delta"];
        content.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let place = call["index"].as_u64().expect("a place") as usize;
            names.extend(call["function"]["name"].as_str().map(str::to_owned));
            arguments[place].push_str(call["function"]["arguments"].as_str().expect("a text"));
            parts += 1;
        }
    }
    assert_eq!(content, "Wait. ");
    assert_eq!(names, ["weather", "weather"]);
    assert_eq!(arguments, ["{\"city\": \"Rome\"}", "{\"city\": \"Oslo\"}"]);
    assert!(parts > 10, "arguments come in parts: {parts}");
    let last = events.last().expect("there are events");
    assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
}
