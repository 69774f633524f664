//! YAML out of JSON values: what is made here is read by people, and pasted into files of theirs.

use std::fmt::Write;

use serde_json::Value;

/// One document, ended by a line break.
pub(super) fn document(value: &Value) -> String {
    let mut made = String::new();
    write(value, 0, &mut made);
    made
}

fn write(value: &Value, indent: usize, made: &mut String) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                pad(indent, made);
                made.push_str(&scalar(key));
                made.push(':');
                below(value, indent, made);
            }
        }
        Value::Array(entries) if !entries.is_empty() => {
            for value in entries {
                pad(indent, made);
                made.push_str("- ");
                write(value, indent + 2, made);
            }
        }
        Value::Object(_) => made.push_str("{}\n"),
        Value::Array(_) => made.push_str("[]\n"),
        Value::String(text) => {
            made.push_str(&scalar(text));
            made.push('\n');
        }
        other => {
            let _ = writeln!(made, "{other}");
        }
    }
}

/// A value after its key: on the same line, or under it.
fn below(value: &Value, indent: usize, made: &mut String) {
    let nested = match value {
        Value::Object(entries) => !entries.is_empty(),
        Value::Array(entries) => !entries.is_empty(),
        _ => false,
    };
    made.push(if nested { '\n' } else { ' ' });
    write(value, indent + 2, made);
}

/// Starts an entry. The first one within an entry of a list stands behind that one's dash.
fn pad(indent: usize, made: &mut String) {
    if made.is_empty() || made.ends_with('\n') {
        made.extend(std::iter::repeat_n(' ', indent));
    }
}

/// A string that every version of YAML reads as that string.
fn scalar(text: &str) -> String {
    // Without a letter that YAML's many words for true, false and null begin with, and without a digit, a string can be
    // nothing else; anything doubtful is quoted.
    let mut letters = text.chars();
    let starts = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '/');
    let plain = starts && letters.all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter));
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if plain && !words.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    let mut made = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => made.extend(['\\', letter]),
            '\n' => made.push_str("\\n"),
            '\t' => made.push_str("\\t"),
            ' '..='~' | '\u{a0}'..='\u{1fff}' | '\u{3000}'..='\u{d7ff}' => made.push(letter),
            _ => {
                let _ = write!(made, "\\U{:08x}", u32::from(letter));
            }
        }
    }
    made.push('"');
    made
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_reads_as_people_write_it() {
        let value = json!({
            "kind": "Job",
            "spec": {"containers": [{"args": ["-ngl", "99"], "name": "lab", "tty": false}], "none": [], "empty": {}},
            "count": 3,
        });
        assert_eq!(
            document(&value),
            "count: 3\nkind: Job\nspec:\n  containers:\n    - args:\n        - \"-ngl\"\n        - \"99\"\n      name: lab\n      \
             tty: false\n  empty: {}\n  none: []\n"
        );
        assert_eq!(document(&json!([["a"], {"b": "No"}])), "- - a\n- b: \"No\"\n");
    }

    #[test]
    fn doubtful_strings_are_quoted() {
        for (text, made) in [
            ("", "\"\""),
            ("off", "\"off\""),
            ("0x10", "\"0x10\""),
            ("1e3", "\"1e3\""),
            ("a: b", "\"a: b\""),
            ("a\n\"b\"\\", r#""a\n\"b\"\\""#),
            ("\u{1b}\u{85}\u{1f600}", r#""\U0000001b\U00000085\U0001f600""#),
            ("rocm/pytorch-7.1", "rocm/pytorch-7.1"),
        ] {
            assert_eq!(scalar(text), made);
        }
    }
}
