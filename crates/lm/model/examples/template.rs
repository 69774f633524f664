//! Renders conversations with chat templates; `scripts/llm-templates` compares the results with
//! Python's Jinja.
//!
//! Reads a JSON object from standard input: `templates` (text by name), `conversations` (by name,
//! each with `messages` and `tools`) and `now` (seconds since 1970). Writes a JSON object with a
//! text or an error for each template and conversation.
#![expect(clippy::print_stdout, reason = "a program for developers")]

use std::error::Error;
use std::io::Read;
use std::time::{Duration, UNIX_EPOCH};

use roci_lm::json::Json;
use roci_lm::template::{ChatTemplate, Conversation};

fn main() -> Result<(), Box<dyn Error>> {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let input = Json::parse(&input)?;
    let object = |key: &str| input.get(key).and_then(Json::as_object).ok_or(format!("`{key}` is not an object"));
    let list = |value: &Json, key: &str| value.get(key).and_then(Json::as_array).unwrap_or_default().to_vec();
    let now = input.get("now").map(Json::to_string).and_then(|now| now.parse().ok()).unwrap_or(0);
    let mut output = Vec::new();
    for (name, source) in object("templates")? {
        let template = ChatTemplate::new(source.as_str().ok_or("a template must be a string")?, "<BOS>", "<EOS>");
        for (kind, conversation) in object("conversations")? {
            let mut written = Conversation::new(list(conversation, "messages"));
            written.tools = list(conversation, "tools");
            written.now = UNIX_EPOCH + Duration::from_secs(now);
            let result = match &template {
                Ok(template) => template.render(&written).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            let (key, text) = match result {
                Ok(text) => ("text", text),
                Err(error) => ("error", error),
            };
            output.push((format!("{name} {kind}"), Json::Object(vec![(key.to_owned(), Json::from(text.as_str()))])));
        }
    }
    println!("{}", Json::Object(output));
    Ok(())
}
