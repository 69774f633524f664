//! Validates the messages of a conversation, and converts them for the template.

use roci_lm::json::Json;
use roci_lm::template::message;

use super::calls::{CLOSE, OPEN};
use super::images::image_url;
use crate::error::ApiError;
use crate::fields::{Fields, shown, wrong};
use crate::schema;

/// Maximum number of messages.
const MAX_MESSAGES: usize = 16384;

/// Parses `messages`.
pub(super) fn of(fields: &Fields<'_>) -> Result<Vec<Json>, ApiError> {
    let list = fields.list("messages")?.ok_or_else(|| ApiError::field("messages", "is missing"))?;
    if list.is_empty() {
        return Err(ApiError::field("messages", "is an empty list"));
    }
    if list.len() > MAX_MESSAGES {
        return Err(ApiError::field("messages", format!("has {}; at most {MAX_MESSAGES} are allowed", list.len())));
    }
    list.iter().enumerate().map(|(place, message)| check(message, format!("messages[{place}]"))).collect()
}

fn check(message: &Json, path: String) -> Result<Json, ApiError> {
    let fields = Fields::of(message, path)?;
    let role = fields.text("role")?.ok_or_else(|| ApiError::field(fields.name("role"), "is missing"))?;
    // Newer OpenAI models call the system role `developer`.
    let role = match role {
        "developer" => "system",
        "system" | "user" | "assistant" | "tool" => role,
        other => {
            let what = format!("is `{other}`; it must be `system`, `developer`, `user`, `assistant` or `tool`");
            return Err(ApiError::field(fields.name("role"), what));
        }
    };
    let has_calls = calls(&fields)?;
    match fields.get("content") {
        None if role == "assistant" && has_calls => {}
        None => return Err(ApiError::field(fields.name("content"), "is missing")),
        Some(Json::String(_)) => {}
        Some(Json::Array(parts)) => {
            for (place, part) in parts.iter().enumerate() {
                check_part(part, format!("{}[{place}]", fields.name("content")))?;
            }
        }
        Some(other) => return Err(wrong(fields.name("content"), "a string or a list of parts", other)),
    }
    for text in ["name", "tool_call_id", "reasoning_content", "reasoning", "thinking"] {
        fields.text(text)?;
    }
    let mut read = schema::read_fields(schema::MESSAGE, message);
    if let Json::Object(entries) = &mut read {
        let roles = entries.iter_mut().filter(|(key, _)| key == "role");
        roles.for_each(|(_, value)| *value = Json::from(role));
    }
    Ok(read)
}

fn check_part(part: &Json, path: String) -> Result<(), ApiError> {
    let fields = Fields::of(part, path)?;
    let kind = fields.text("type")?.ok_or_else(|| ApiError::field(fields.name("type"), "is missing"))?;
    let other = |name: &str| {
        let what = format!("is in a part of type `{kind}`: send a separate part for each");
        Err(ApiError::field(fields.name(name), what))
    };
    match kind {
        "text" => match fields.text("text")? {
            Some(_) if fields.get("image_url").is_some() => other("image_url"),
            Some(_) => Ok(()),
            None => Err(ApiError::field(fields.name("text"), "is missing")),
        },
        "image_url" if fields.text("text")?.is_some_and(|text| !text.is_empty()) => other("text"),
        "image_url" => image_url(&fields).map(|_| ()),
        other => {
            let what = format!("is `{}`; only `text` and `image_url` are supported", shown(other));
            Err(ApiError::field(fields.name("type"), what))
        }
    }
}

/// Validates an assistant message's earlier calls. Returns whether there are any.
fn calls(fields: &Fields<'_>) -> Result<bool, ApiError> {
    let calls = fields.list("tool_calls")?.unwrap_or_default();
    for (place, call) in calls.iter().enumerate() {
        let call = Fields::of(call, format!("{}[{place}]", fields.name("tool_calls")))?;
        let missing = |name: String| ApiError::field(name, "is missing");
        call.text("id")?;
        if let Some(other) = call.text("type")?.filter(|kind| *kind != "function") {
            return Err(ApiError::field(call.name("type"), format!("is `{other}`; only `function` is supported")));
        }
        let function = call.object("function")?.ok_or_else(|| missing(call.name("function")))?;
        function.text("name")?.ok_or_else(|| missing(function.name("name")))?;
        match function.get("arguments") {
            None | Some(Json::String(_) | Json::Object(_)) => {}
            Some(other) => return Err(wrong(function.name("arguments"), "a string of JSON", other)),
        }
    }
    Ok(!calls.is_empty())
}

/// Describes tools, calls and results as text, for templates without tool support.
pub(super) fn as_text(messages: Vec<Json>, tools: &[Json]) -> Vec<Json> {
    let mut converted: Vec<Json> = messages.into_iter().map(|message| message_as_text(&message)).collect();
    if tools.is_empty() {
        return converted;
    }
    let list: Vec<String> = tools.iter().map(ToString::to_string).collect();
    let words = format!(
        "You may call these functions:\n<tools>\n{}\n</tools>\nFor each call, write a JSON object with the function's name and its arguments:\n\
         {OPEN}\n{{\"name\": <name>, \"arguments\": <object>}}\n{CLOSE}",
        list.join("\n")
    );
    match converted.first_mut() {
        Some(first) if first.get("role").and_then(Json::as_str) == Some("system") => {
            *first = message("system", &format!("{}\n\n{words}", text(first)));
        }
        _ => converted.insert(0, message("system", &words)),
    }
    converted
}

fn message_as_text(whole: &Json) -> Json {
    let role = whole.get("role").and_then(Json::as_str).unwrap_or_default();
    let calls = whole.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
    if role == "tool" {
        return message("user", &format!("<tool_response>\n{}\n</tool_response>", text(whole)));
    }
    if calls.is_empty() {
        return whole.clone();
    }
    let call = |call: &Json| {
        let function = call.get("function")?;
        let arguments = match function.get("arguments") {
            Some(Json::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => "{}".to_owned(),
        };
        let name = function.get("name")?;
        Some(format!("{OPEN}\n{{\"name\": {name}, \"arguments\": {arguments}}}\n{CLOSE}"))
    };
    let parts = std::iter::once(text(whole)).chain(calls.iter().filter_map(call)).filter(|part| !part.is_empty());
    message(role, &parts.collect::<Vec<_>>().join("\n"))
}

/// The text of a message, given as a string or in parts.
fn text(message: &Json) -> String {
    match message.get("content") {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Json::as_str));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(messages: &str) -> Result<Vec<Json>, ApiError> {
        let body = Json::parse(&format!("{{\"messages\":{messages}}}")).expect("valid JSON");
        of(&schema::CHAT.fields(&body)?)
    }

    #[test]
    fn messages_of_all_roles_are_accepted() {
        let messages = read(
            r#"[{"role":"developer","content":"be brief"},
                {"role":"user","content":[{"type":"text","text":"hi"}],"name":null},
                {"role":"assistant","content":null,"parsed":{},"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
                {"role":"tool","tool_call_id":"1","content":"42"}]"#,
        )
        .expect("the request is valid");
        assert_eq!(messages[0].get("role"), Some(&Json::from("system")));
        assert_eq!(messages[1].get("name"), None, "null is absent");
        assert_eq!(messages[2].get("parsed"), None, "fields without effect do not reach the template");
        let call = messages[2].get("tool_calls").and_then(Json::as_array).expect("a list")[0].clone();
        assert_eq!(call.to_string(), r#"{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}"#);
        let converted = as_text(messages, &[Json::from("T")]);
        assert!(text(&converted[0]).starts_with("be brief\n\nYou may call"));
        assert_eq!(text(&converted[2]), "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>");
        assert_eq!(converted[3], message("user", "<tool_response>\n42\n</tool_response>"));
    }

    #[test]
    fn the_detail_of_an_image_has_no_effect() {
        for detail in ["\"low\"", "5", "{}", "null"] {
            for part in [format!(r#"{{"url":"x","detail":{detail}}}"#), format!(r#""x","detail":{detail}"#)] {
                let content = format!(r#"[{{"type":"image_url","image_url":{part}}}]"#);
                read(&format!(r#"[{{"role":"user","content":{content}}}]"#)).expect(&content);
            }
        }
    }

    #[test]
    fn errors_name_the_invalid_field() {
        for (messages, param) in [
            ("null", "messages"),
            ("[]", "messages"),
            ("{}", "messages"),
            ("[1]", "messages[0]"),
            (r#"[{"content":"x"}]"#, "messages[0].role"),
            (r#"[{"role":"user","content":"x"},{"role":"king","content":"x"}]"#, "messages[1].role"),
            (r#"[{"role":"user"}]"#, "messages[0].content"),
            (r#"[{"role":"assistant","content":null}]"#, "messages[0].content"),
            (r#"[{"role":"user","content":5}]"#, "messages[0].content"),
            (r#"[{"role":"user","content":["x"]}]"#, "messages[0].content[0]"),
            (r#"[{"role":"user","content":[{"type":"image_url"}]}]"#, "messages[0].content[0].image_url"),
            (
                r#"[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]"#,
                "messages[0].content[0].image_url.url",
            ),
            (
                r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"},"text":"y"}]}]"#,
                "messages[0].content[0].text",
            ),
            (
                r#"[{"role":"user","content":[{"type":"text","text":"y","image_url":{"url":"x"}}]}]"#,
                "messages[0].content[0].image_url",
            ),
            (r#"[{"role":"user","content":[{"type":"image_url","image_url":5}]}]"#, "messages[0].content[0].image_url"),
            (
                r#"[{"role":"user","content":[{"type":"image_url","image_url":["x"]}]}]"#,
                "messages[0].content[0].image_url",
            ),
            (
                r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":5}}]}]"#,
                "messages[0].content[0].image_url.url",
            ),
            (r#"[{"role":"user","content":[{"image_url":{"url":"x"}}]}]"#, "messages[0].content[0].type"),
            (r#"[{"role":"user","content":{"type":"image_url","image_url":"x"}}]"#, "messages[0].content"),
            // Parts of other APIs.
            (
                r#"[{"role":"user","content":[{"type":"input_image","image_url":"x","detail":"auto"}]}]"#,
                "messages[0].content[0].type",
            ),
            (r#"[{"role":"user","content":[{"type":"input_text","text":"x"}]}]"#, "messages[0].content[0].type"),
            (
                r#"[{"role":"user","content":[{"type":"image","source":{"type":"base64"}}]}]"#,
                "messages[0].content[0].source",
            ),
            (r#"[{"role":"user","content":[{"type":"image","image":"x"}]}]"#, "messages[0].content[0].image"),
            (
                r#"[{"role":"user","content":[{"type":"video_url","video_url":{"url":"x"}}]}]"#,
                "messages[0].content[0].video_url",
            ),
            (r#"[{"role":"user","content":"x","images":["y"]}]"#, "messages[0].images"),
            (r#"[{"role":"user","content":[{"type":"input_audio"}]}]"#, "messages[0].content[0].type"),
            (r#"[{"role":"user","content":[{"type":"text"}]}]"#, "messages[0].content[0].text"),
            (r#"[{"role":"user","content":"x","name":5}]"#, "messages[0].name"),
            (r#"[{"role":"user","content":"x","names":"y"}]"#, "messages[0].names"),
            (
                r#"[{"role":"user","content":"x"},{"role":"assistant","content":"x","refusal":"no"}]"#,
                "messages[1].refusal",
            ),
            (r#"[{"role":"user","content":[{"type":"text","text":"x","texts":"y"}]}]"#, "messages[0].content[0].texts"),
            (
                r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x","detail":"x","size":1}}]}]"#,
                "messages[0].content[0].image_url.size",
            ),
            (
                r#"[{"role":"assistant","tool_calls":[{"type":"custom","function":{"name":"f"}}]}]"#,
                "messages[0].tool_calls[0].type",
            ),
            (
                r#"[{"role":"assistant","tool_calls":[{"id":1,"function":{"name":"f"}}]}]"#,
                "messages[0].tool_calls[0].id",
            ),
            (r#"[{"role":"assistant","tool_calls":[{}]}]"#, "messages[0].tool_calls[0].function"),
            (
                r#"[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":5}}]}]"#,
                "messages[0].tool_calls[0].function.arguments",
            ),
        ] {
            assert_eq!(read(messages).expect_err(messages).param.as_deref(), Some(param), "{messages}");
        }
    }
}
