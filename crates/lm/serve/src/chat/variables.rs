//! Template variables: `chat_template_kwargs` and `reasoning_effort`.

use std::collections::BTreeSet;

use roci_lm::json::Json;

use crate::error::ApiError;
use crate::fields::{Fields, shown};

const EFFORT: &str = "reasoning_effort";
const THINKING: &str = "enable_thinking";

/// The variables of a request. Each must be one that the template reads.
pub(super) fn of(fields: &Fields<'_>, known: &BTreeSet<String>) -> Result<Vec<(String, Json)>, ApiError> {
    let mut variables = Vec::new();
    if let Some(given) = fields.object("chat_template_kwargs")? {
        for (name, value) in given.entries().iter().filter(|(_, value)| *value != Json::Null) {
            if !known.contains(name) {
                let what = format!("is not a variable of the model's template: {}", choice(known));
                return Err(ApiError::field(given.name(&shown(name)), what).with_code("unknown_parameter"));
            }
            variables.push((name.clone(), value.clone()));
        }
    }
    if let Some(effort) = fields.text(EFFORT)? {
        // As in llama.cpp: a boolean in many templates, a string in some.
        let (name, value) = match (effort, known.contains(THINKING)) {
            ("none", true) => (THINKING, Json::Bool(false)),
            _ if known.contains(EFFORT) => (EFFORT, Json::from(effort)),
            (_, true) => {
                let what = "is not supported with this model: only `none` is, which turns reasoning off";
                return Err(ApiError::field(EFFORT, what).with_code("unsupported_value"));
            }
            (_, false) => {
                let what = "is not supported with this model: its template has no such variable";
                return Err(ApiError::field(EFFORT, what).with_code("unsupported_parameter"));
            }
        };
        if variables.iter().any(|(given, other)| given == name && *other != value) {
            let what = format!("and `chat_template_kwargs.{name}` contradict each other: send one of them");
            return Err(ApiError::field(EFFORT, what));
        }
        variables.push((name.to_owned(), value));
    }
    Ok(variables)
}

/// Lists the variables that a client can set.
fn choice(known: &BTreeSet<String>) -> String {
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, known: &[&str]) -> Result<Vec<(String, Json)>, ApiError> {
        let body = Json::parse(text).expect("valid JSON");
        of(&Fields::of(&body, "")?, &known.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn variables_that_the_template_reads_are_accepted() {
        let given = r#"{"chat_template_kwargs":{"enable_thinking":false,"other":null}}"#;
        assert_eq!(read(given, &[THINKING]), Ok(vec![(THINKING.to_owned(), Json::Bool(false))]));
        let none = r#"{"reasoning_effort":"none"}"#;
        assert_eq!(read(none, &[THINKING]), Ok(vec![(THINKING.to_owned(), Json::Bool(false))]));
        assert_eq!(read(none, &[EFFORT]), Ok(vec![(EFFORT.to_owned(), Json::from("none"))]));
        let low = r#"{"reasoning_effort":"low"}"#;
        assert_eq!(read(low, &[EFFORT, THINKING]), Ok(vec![(EFFORT.to_owned(), Json::from("low"))]));
        assert_eq!(read("{}", &[]), Ok(Vec::new()));
    }

    #[test]
    fn variables_without_effect_are_rejected_by_name() {
        for (text, known, param) in [
            (r#"{"chat_template_kwargs":{"enable_thinking":false}}"#, &[][..], "chat_template_kwargs.enable_thinking"),
            (r#"{"chat_template_kwargs":{"a\nb":1}}"#, &[THINKING], "chat_template_kwargs.a\\nb"),
            (r#"{"chat_template_kwargs":[]}"#, &[THINKING], "chat_template_kwargs"),
            (r#"{"reasoning_effort":"none"}"#, &[], EFFORT),
            (r#"{"reasoning_effort":"high"}"#, &[THINKING], EFFORT),
            (r#"{"reasoning_effort":5}"#, &[EFFORT], EFFORT),
            (r#"{"reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":true}}"#, &[THINKING], EFFORT),
        ] {
            let error = read(text, known).expect_err(text);
            assert_eq!(error.param.as_deref(), Some(param), "{text}: {}", error.message);
        }
    }
}
