//! Common rules, each added on first use.

use super::Writer;
use crate::grammar::error::GrammarError;

/// Name, body, and the rules that the body references.
///
/// Spaces and digits are bounded, because a model could otherwise generate them endlessly.
/// Surrogate escapes come only in pairs, because half a pair is not a character.
const PRIMITIVES: [(&str, &str, &[&str]); 14] = [
    ("space", r#"(" " | "\n"{1,2} [ \t]{0,20})?"#, &[]),
    ("null", r#""null""#, &[]),
    ("boolean", r#""true" | "false""#, &[]),
    ("digits", "[0-9]{1,16}", &[]),
    ("natural", r#""0" | [1-9] [0-9]{0,15}"#, &[]),
    ("integer", r#""-"? natural"#, &["natural"]),
    ("number", r#""-"? natural ("." digits)? ([eE] [-+]? [0-9]{1,2})?"#, &["natural", "digits"]),
    ("hex", "[0-9a-fA-F]", &[]),
    (
        "unicode",
        r#"[0-9a-ce-fA-CE-F] hex{3} | [dD] [0-7] hex{2} | [dD] [89abAB] hex{2} "\\u" [dD] [c-fC-F] hex{2}"#,
        &["hex"],
    ),
    ("char", r#"[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" unicode)"#, &["unicode"]),
    ("string", r#""\"" char* "\"""#, &["char"]),
    ("array", r#""[" space (value (space "," space value)*)? space "]""#, &["space", "value"]),
    (
        "object",
        r#""{" space (string space ":" space value (space "," space string space ":" space value)*)? space "}""#,
        &["space", "string", "value"],
    ),
    (
        "value",
        "object | array | string | number | boolean | null",
        &["object", "array", "string", "number", "boolean", "null"],
    ),
];

impl Writer<'_> {
    /// The name of a common rule, such as `string`.
    pub(super) fn primitive(&mut self, kind: &str) -> Result<String, GrammarError> {
        // Rules of properties have no underscore in their names.
        let name = |kind: &str| format!("json_{kind}");
        let mut types = vec![kind];
        while let Some(kind) = types.pop() {
            let found = PRIMITIVES.iter().find(|(name, ..)| *name == kind);
            let Some((kind, body, needs)) = found else { unreachable!("`{kind}` is a built-in rule") };
            if self.names.insert(name(kind), 1).is_some() {
                continue;
            }
            let mut words: Vec<String> = Vec::new();
            for word in body.split(' ') {
                let bare = word.trim_start_matches('(');
                let end = bare.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(bare.len());
                let known = needs.contains(&&bare[..end]);
                words.push(if known {
                    format!("{}{}{}", &word[..word.len() - bare.len()], name(&bare[..end]), &bare[end..])
                } else {
                    word.to_owned()
                });
            }
            self.define(name(kind), words.join(" "))?;
            types.extend(*needs);
        }
        Ok(name(kind))
    }
}
