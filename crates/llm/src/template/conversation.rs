//! A conversation as a template wants it.

use std::time::SystemTime;

use crate::json::Json;

/// What is to be written for a model.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Messages as in requests to OpenAI's interface: objects with a `role` and `content`.
    pub messages: Vec<Json>,
    /// Definitions of tools, as in such requests.
    pub tools: Vec<Json>,
    /// Whether the model's turn is to be opened.
    pub add_generation_prompt: bool,
    /// Further variables, such as `enable_thinking`.
    pub variables: Vec<(String, Json)>,
    /// The time that a template may write.
    pub now: SystemTime,
}

impl Conversation {
    /// Messages to be answered now.
    pub fn new(messages: Vec<Json>) -> Self {
        Self { messages, tools: Vec::new(), add_generation_prompt: true, variables: Vec::new(), now: SystemTime::now() }
    }
}

/// A message of text.
pub fn message(role: &str, content: &str) -> Json {
    Json::Object(vec![("role".to_owned(), Json::from(role)), ("content".to_owned(), Json::from(content))])
}

/// What a template can do, found by trying it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Messages of the role `system` are written.
    pub system: bool,
    /// Content is taken as a list of typed parts alone.
    pub typed_content: bool,
    /// Definitions of tools are written.
    pub tools: bool,
}

/// Messages in the form that a template with these abilities takes.
pub(super) fn prepare(messages: &[Json], abilities: Abilities) -> Vec<Json> {
    let mut prepared: Vec<Json> = Vec::new();
    // What a template without a system role cannot say goes before what the user says first.
    let mut system = String::new();
    for message in messages {
        let mut text = content(message);
        let role = message.get("role").and_then(Json::as_str).unwrap_or_default();
        if role == "system" && !abilities.system {
            system = [system.as_str(), text.as_str()]
                .iter()
                .filter(|part| !part.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join("\n\n");
            continue;
        }
        if role == "user" && !system.is_empty() {
            text = format!("{}\n\n{text}", std::mem::take(&mut system));
        }
        prepared.push(with(message, &text, abilities.typed_content));
    }
    if !system.is_empty() {
        prepared.insert(0, with(&self::message("user", ""), &system, abilities.typed_content));
    }
    prepared
}

/// The text of a message, whether it came as one or in parts.
fn content(message: &Json) -> String {
    match message.get("content") {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(parts)) => {
            let texts =
                parts.iter().filter_map(|part| part.as_str().or_else(|| part.get("text").and_then(Json::as_str)));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// A message with this text, and with the arguments of its tool calls as values rather than as JSON text.
fn with(message: &Json, text: &str, typed: bool) -> Json {
    let content = if typed {
        let part = vec![("type".to_owned(), Json::from("text")), ("text".to_owned(), Json::from(text))];
        Json::Array(vec![Json::Object(part)])
    } else {
        Json::from(text)
    };
    let mut entries = message.as_object().unwrap_or_default().to_vec();
    match entries.iter_mut().find(|(key, _)| key == "content") {
        Some((_, value)) => *value = content,
        None => entries.push(("content".to_owned(), content)),
    }
    for (_, calls) in entries.iter_mut().filter(|(key, _)| key == "tool_calls") {
        let Json::Array(calls) = calls else { continue };
        calls.iter_mut().for_each(read_arguments);
    }
    Json::Object(entries)
}

/// Requests carry arguments as text; templates print them as JSON or go through their names.
fn read_arguments(call: &mut Json) {
    let Json::Object(entries) = call else { return };
    for (key, value) in entries {
        match (key.as_str(), &*value) {
            ("arguments", Json::String(text)) => {
                if let Ok(arguments @ Json::Object(_)) = Json::parse(text) {
                    *value = arguments;
                }
            }
            ("function", Json::Object(_)) => read_arguments(value),
            _ => {}
        }
    }
}
