//! Compares the tables with the documentation.

use super::*;

#[path = "../../tests/serve/documented.rs"]
mod documented;

use documented::{Class, DocumentedField, documented};

/// Rows of a table and of all tables in it.
fn rows(table: Table, endpoint: &'static str, before: &str, all: &mut Vec<DocumentedField>) {
    for field in table.iter().copied().flatten() {
        let path = format!("{before}{}", field.name);
        let (class, accepted) = match &field.rule {
            Rule::Read => (Class::Read, String::new()),
            Rule::Object(inner) => {
                rows(inner, endpoint, &format!("{path}."), all);
                (Class::Read, String::new())
            }
            Rule::List(inner) => {
                rows(inner, endpoint, &format!("{path}[]."), all);
                (Class::Read, String::new())
            }
            Rule::NoEffect => (Class::NoEffect, String::new()),
            Rule::Only(neutral, _) => (Class::Only, neutral.to_string()),
            Rule::Refused(_) => (Class::Refused, String::new()),
        };
        all.push(DocumentedField { class, endpoint, path, accepted });
    }
}

#[test]
fn every_field_is_documented_once_and_nothing_else_is() {
    let mut known = Vec::new();
    for endpoint in ENDPOINTS {
        rows(endpoint.fields, endpoint.path, "", &mut known);
    }
    let mut documented = documented();
    known.sort();
    documented.sort();
    let missing: Vec<_> = known.iter().filter(|row| !documented.contains(row)).collect();
    let extra: Vec<_> = documented.iter().filter(|row| !known.contains(row)).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "not documented: {missing:#?}\ndocumented, but not known: {extra:#?}"
    );
    assert_eq!(known.len(), documented.len(), "no field is documented twice");
    known.sort_by_key(|row| (row.endpoint, row.path.clone()));
    known.dedup_by_key(|row| (row.endpoint, row.path.clone()));
    assert_eq!(known.len(), documented.len(), "each field has one rule");
}

fn error(endpoint: &Endpoint, text: &str) -> ApiError {
    let body = Json::parse(text).expect("valid JSON");
    endpoint.fields(&body).map(|_| ()).expect_err(text)
}

#[test]
fn error_messages_say_what_to_do() {
    for (endpoint, text, message) in [
        (&CHAT, r#"{"temprature":1}"#, "`temprature` is unknown: did you mean `temperature`?"),
        (&CHAT, r#"{"zebra":1}"#, "`zebra` is unknown: leave it out"),
        (&COMPLETIONS, r#"{"messages":[]}"#, "`messages` is a field of /v1/chat/completions, not of /v1/completions"),
        (&EMBEDDINGS, r#"{"prompt":""}"#, "`prompt` is a field of /v1/completions, not of /v1/embeddings"),
        (&CHAT, r#"{"stream_options":{"usage":true}}"#, "`stream_options.usage` is unknown: leave it out"),
        (
            &CHAT,
            r#"{"tools":[{"function":{"parameter":{}}}]}"#,
            "`tools[0].function.parameter` is unknown: did you mean `parameters`?",
        ),
        (&CHAT, r#"{"functions":[]}"#, "`functions` is not supported: use `tools`"),
        (
            &CHAT,
            r#"{"typical_p":0.5}"#,
            "`typical_p` is not supported: use `top_p` or `min_p`; only 1 or more is accepted",
        ),
    ] {
        assert_eq!(error(endpoint, text).message, message);
    }
}

#[test]
fn null_counts_as_absent() {
    let body = Json::parse(r#"{"zebra":null,"functions":null,"store":null,"stream_options":{"zebra":null}}"#);
    assert!(CHAT.fields(&body.expect("valid JSON")).is_ok());
}

#[test]
fn only_neutral_values_are_accepted() {
    for (neutral, good, bad) in [
        (Neutral::Flag(true), "[true]", r#"[false, 1, "true"]"#),
        (Neutral::Empty, r#"["", [], {}]"#, r#"["x", [0], {"a": 1}, 0, false]"#),
        (Neutral::Exactly(0.0), "[0, 0.0, -0.0]", r#"[1, -1, "0", false]"#),
        (Neutral::AtLeast(1.0), "[1, 1.5]", "[0.99, -1, true]"),
        (Neutral::AtMost(0.0), "[0, -3.5]", "[0.01, []]"),
        (Neutral::Below(0.0), "[-1, -0.5]", "[0, 1]"),
        (Neutral::Words(&["a", "b"]), r#"["a", "b", ["a"], ["b", "a"]]"#, r#"["c", ["a", "c"], 1, [1]]"#),
    ] {
        for (values, expected) in [(good, true), (bad, false)] {
            for value in Json::parse(values).expect("valid JSON").as_array().expect("a list") {
                assert_eq!(neutral.is(value), expected, "{neutral}: {value}");
            }
        }
    }
}
