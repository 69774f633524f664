//! The input of a chat template.

use std::time::SystemTime;

use crate::json::Json;

/// A conversation to render.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Messages as in OpenAI's API: objects with a `role` and `content`.
    pub messages: Vec<Json>,
    /// Tool definitions, as in OpenAI's API.
    pub tools: Vec<Json>,
    /// Whether to append the start of the assistant's turn.
    pub add_generation_prompt: bool,
    /// Further template variables, such as `enable_thinking`.
    pub variables: Vec<(String, Json)>,
    /// Current time, for templates that print it.
    pub now: SystemTime,
}

impl Conversation {
    /// A conversation with a generation prompt and the current time.
    pub fn new(messages: Vec<Json>) -> Self {
        Self { messages, tools: Vec::new(), add_generation_prompt: true, variables: Vec::new(), now: SystemTime::now() }
    }
}

/// A text message.
pub fn message(role: &str, content: &str) -> Json {
    Json::Object(vec![("role".to_owned(), Json::from(role)), ("content".to_owned(), Json::from(content))])
}

/// Capabilities of a template, found by trial rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateCapabilities {
    /// It renders messages of the role `system`.
    pub system: bool,
    /// It accepts content only as a list of typed parts.
    pub typed_content: bool,
    /// It renders tool definitions.
    pub tools: bool,
}

/// Converts messages to the form that a template with these capabilities accepts.
pub(super) fn prepare(messages: &[Json], capabilities: TemplateCapabilities) -> Vec<Json> {
    let mut prepared: Vec<Json> = Vec::new();
    // Without a system role, the system prompt is prepended to the first user message.
    let mut system = String::new();
    for message in messages {
        let mut text = content(message);
        let role = message.get("role").and_then(Json::as_str).unwrap_or_default();
        if role == "system" && !capabilities.system {
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
        prepared.push(with(message, &text, capabilities.typed_content));
    }
    if !system.is_empty() {
        prepared.insert(0, with(&self::message("user", ""), &system, capabilities.typed_content));
    }
    prepared
}

/// The text of a message, whether its content is a string or a list of parts.
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

/// The message with this text, and with tool call arguments as values instead of JSON text.
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

/// Requests carry arguments as JSON text; templates print them as JSON or iterate over them.
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
