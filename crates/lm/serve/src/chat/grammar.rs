//! Grammars for answers that are or contain tool calls.

use roci_lm::grammar::{Grammar, GrammarError};
use roci_lm::json::Json;

use super::calls::{CLOSE, OPEN};
use super::tools::ToolStyle;

/// A tool with the schema of its arguments.
pub(super) struct Callable<'a> {
    pub(super) name: &'a str,
    /// If `None`, any object is valid.
    pub(super) parameters: Option<&'a Json>,
}

/// Grammar rules for calls of some tools; `call-root` is the object of a call.
pub(super) struct CallGrammar {
    rules: String,
    tagged: bool,
}

impl CallGrammar {
    pub(super) fn of<'a>(tools: impl Iterator<Item = Callable<'a>>, style: ToolStyle) -> Result<Self, GrammarError> {
        let object = |entries: Vec<(&str, Json)>| {
            Json::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
        };
        let schema = |(place, tool): (usize, Callable<'a>)| {
            let mut parameters = match tool.parameters {
                Some(parameters) if parameters.as_object().is_some_and(|entries| !entries.is_empty()) => {
                    parameters.clone()
                }
                _ => object(vec![("type", Json::from("object"))]),
            };
            move_references(&mut parameters, &format!("#/anyOf/{place}/properties/{}", style.arguments));
            let name = object(vec![("const", Json::from(tool.name))]);
            object(vec![
                ("type", Json::from("object")),
                ("properties", object(vec![("name", name), (style.arguments, parameters)])),
                ("required", Json::Array(vec![Json::from("name"), Json::from(style.arguments)])),
                ("additionalProperties", Json::Bool(false)),
            ])
        };
        let schemas = tools.enumerate().map(schema).collect();
        let (_, written) = Grammar::of_schema(&object(vec![("anyOf", Json::Array(schemas))]))?;
        Ok(Self { rules: prefixed(&written.text, "call-"), tagged: style.tagged })
    }

    /// Exactly one call; up to 16 tagged calls if `several`.
    pub(super) fn alone(&self, several: bool) -> Result<Grammar, GrammarError> {
        Grammar::parse(&format!("root ::= {}\n{}", self.whole(several), self.rules))
    }

    /// Either calls only, or text by other rules.
    pub(super) fn or(&self, rules: &str) -> Result<Grammar, GrammarError> {
        let other = prefixed(rules, "format-");
        Grammar::parse(&format!("root ::= {} | format-root\n{}{other}", self.whole(true), self.rules))
    }

    fn whole(&self, several: bool) -> String {
        let call = format!(r#""{OPEN}\n" call-root "\n{CLOSE}""#);
        match (self.tagged, several) {
            (false, _) => "call-root".to_owned(),
            (true, false) => call,
            (true, true) => format!(r#"{call} ("\n" {call}){{0,15}}"#),
        }
    }

    /// Any text in which every call is valid.
    pub(super) fn within_text(&self) -> Result<Grammar, GrammarError> {
        let (partial, mismatch) = not_opened();
        // A `<` that does not start a call; a partial opening tag at the end of the text is allowed
        // as well.
        let text = format!(
            r#"partial ::= {partial}
lead ::= partial* {mismatch}
space ::= [ \t\r\n]{{0,4}}
tagged ::= partial* "{OPEN}" space call-root space "{CLOSE}"
text ::= ([^<] | lead)*
free ::= text (tagged text)* partial*
"#
        );
        // Without tags, an object or a list of objects at the start is a call.
        let root = match self.tagged {
            true => "root ::= free\n",
            false => {
                r"root ::= space (call-root space | other)?
other ::= ([^{\[ \t\r\n<] | lead | tagged) free | partial+ | listed
listed ::= [\[] [\[ \t\r\n]* (([^{\[ \t\r\n<] | lead | tagged) free | partial+)?
"
            }
        };
        Grammar::parse(&format!("{root}{text}{}", self.rules))
    }
}

/// Right-hand sides for texts that start like the opening tag: prefixes of the tag that may be
/// followed by another `<`, and prefixes followed by any other text.
fn not_opened() -> (String, String) {
    let letters: Vec<char> = OPEN.chars().skip(1).collect();
    let (last, others) = letters.split_last().unwrap_or((&'>', &[]));
    let part = others.iter().rev().fold(String::new(), |rest, letter| format!(r#"("{letter}" {rest})?"#));
    let other = others.iter().rev().fold(format!("[^{last}<]"), |rest, letter| {
        // The next letter continues the tag, and `<` restarts it.
        format!(r#"([^{letter}<] | "{letter}" {rest})"#)
    });
    (format!(r#""<" {part}"#), format!(r#""<" {other}"#))
}

/// Rewrites references, which are relative to the document root, after the schema has moved below
/// `below`.
fn move_references(schema: &mut Json, below: &str) {
    match schema {
        Json::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Json::String(reference) if key == "$ref" && reference.starts_with('#') => {
                        *reference = format!("{below}{}", &reference[1..]);
                    }
                    // A property may be named `$ref`; its schema is an object, not a string.
                    value => move_references(value, below),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| move_references(item, below)),
        _ => {}
    }
}

/// Adds a prefix to rule names, so that they can be combined with others. Only for rules generated
/// from a schema, which have no comments.
fn prefixed(rules: &str, prefix: &str) -> String {
    let mut renamed = String::with_capacity(rules.len());
    let mut characters = rules.chars();
    let mut end = None;
    let mut in_name = false;
    while let Some(character) = characters.next() {
        let part_of_name = end.is_none() && (character.is_ascii_alphanumeric() || character == '-');
        if part_of_name && !in_name {
            renamed.push_str(prefix);
        }
        in_name = part_of_name;
        renamed.push(character);
        match (end, character) {
            (Some('"' | ']'), '\\') => renamed.extend(characters.next()),
            (Some(end_quote), character) if character == end_quote => end = None,
            (None, '"') => end = Some('"'),
            (None, '[') => end = Some(']'),
            // A repetition count.
            (None, '{') => end = Some('}'),
            _ => {}
        }
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rule_names_get_the_prefix() {
        let rules = "root ::= a--2 \"root \\\" {\" [a-z\\]\"]{1,3} (b|\"x\")*\na--2 ::= .\n";
        let expected = "p-root ::= p-a--2 \"root \\\" {\" [a-z\\]\"]{1,3} (p-b|\"x\")*\np-a--2 ::= .\n";
        assert_eq!(prefixed(rules, "p-"), expected);
    }

    /// All texts over these symbols up to a length.
    fn texts(signs: &[&str], length: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..length {
            last = last.iter().flat_map(|text| signs.iter().map(move |sign| format!("{text}{sign}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn text_is_unconstrained_until_a_call_starts() {
        let style = ToolStyle { tagged: true, in_template: true, arguments: "arguments" };
        let tools = [Callable { name: "f", parameters: None }];
        let grammar = CallGrammar::of(tools.into_iter(), style).and_then(|calls| calls.within_text());
        let grammar = grammar.expect("the grammar is valid");
        let call = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
        for text in texts(&["<", "<tool_call", ">", "t", "x", call], 4) {
            let only_whole_calls = !text.split(call).any(|part| part.contains(OPEN));
            assert_eq!(grammar.matches(text.as_bytes()), Ok(only_whole_calls), "{text}");
        }
    }
}
