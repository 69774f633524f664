//! Regular expressions of schemas, as grammars of JSON strings.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};

use super::{alternatives, literal, times};
use crate::grammar::class;
use crate::json::Json;

/// Limits of a pattern and of the expansion of its counts.
const MAX_PATTERN_BYTES: usize = 1 << 12;

/// The contents of strings that a pattern matches somewhere; `char` is the rule of any character.
pub(super) fn write(pattern: &str, char: &str) -> Result<String, String> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(format!("`pattern` is longer than {MAX_PATTERN_BYTES} bytes"));
    }
    let mut parser = ParserBuilder::new();
    let hir = parser.nest_limit(32).build().parse(&as_ecma(pattern));
    let hir = hir.map_err(|_| format!("`pattern` `{pattern}` is not a supported regular expression"))?;
    let branches: &[Hir] = match hir.kind() {
        HirKind::Alternation(branches) => branches,
        _ => std::slice::from_ref(&hir),
    };
    let bodies: Result<Vec<String>, String> = branches.iter().map(|branch| whole(branch, char)).collect();
    Ok(alternatives(bodies?))
}

/// One alternative, with any text around it unless it is anchored.
fn whole(branch: &Hir, char: &str) -> Result<String, String> {
    let mut parts: &[Hir] = match branch.kind() {
        HirKind::Concat(parts) => parts,
        _ => std::slice::from_ref(branch),
    };
    let mut body = Vec::new();
    match parts.split_first() {
        Some((first, rest)) if *first.kind() == HirKind::Look(Look::Start) => parts = rest,
        _ => body.push(format!("{char}*")),
    }
    let mut after = Some(format!("{char}*"));
    if let Some((last, rest)) = parts.split_last()
        && *last.kind() == HirKind::Look(Look::End)
    {
        parts = rest;
        after = None;
    }
    for part in parts {
        body.push(expression(part)?);
    }
    body.extend(after);
    Ok(if body.is_empty() { "\"\"".to_owned() } else { format!("({})", body.join(" ")) })
}

fn expression(hir: &Hir) -> Result<String, String> {
    match hir.kind() {
        HirKind::Empty => Ok("\"\"".to_owned()),
        HirKind::Literal(bytes) => {
            let text = std::str::from_utf8(&bytes.0).map_err(|_| "`pattern` has bytes that are not UTF-8")?;
            let json = Json::from(text).to_string();
            Ok(literal(&json[1..json.len() - 1]))
        }
        HirKind::Class(Class::Unicode(set)) => Ok(characters(set)),
        HirKind::Class(Class::Bytes(_)) => Err("`pattern` has bytes that are not UTF-8".to_owned()),
        HirKind::Look(_) => Err("`pattern` has an anchor in the middle, which is not supported".to_owned()),
        HirKind::Repetition(repetition) => {
            let body = expression(&repetition.sub)?;
            Ok(format!("({body}){}", times(repetition.min, repetition.max)))
        }
        HirKind::Capture(capture) => expression(&capture.sub),
        HirKind::Concat(parts) => {
            Ok(format!("({})", parts.iter().map(expression).collect::<Result<Vec<_>, _>>()?.join(" ")))
        }
        HirKind::Alternation(parts) => Ok(alternatives(parts.iter().map(expression).collect::<Result<Vec<_>, _>>()?)),
    }
}

/// A character of a class in JSON: verbatim, or escaped where required.
fn characters(set: &ClassUnicode) -> String {
    const ESCAPED: [(char, &str); 7] = [
        ('"', "\\\""),
        ('\\', "\\\\"),
        ('\n', "\\n"),
        ('\r', "\\r"),
        ('\t', "\\t"),
        ('\u{8}', "\\b"),
        ('\u{c}', "\\f"),
    ];
    let mut plain = set.clone();
    plain.intersect(&class::set(&[('"', '"'), ('\\', '\\'), ('\0', '\u{1f}'), ('\u{7f}', '\u{7f}')], true));
    let within = |character| set.ranges().iter().any(|range| (range.start()..=range.end()).contains(&character));
    let mut bodies = Vec::new();
    if !plain.ranges().is_empty() {
        let ranges = plain
            .ranges()
            .iter()
            .map(|range| format!("{}-{}", class_character(range.start()), class_character(range.end())));
        bodies.push(format!("[{}]", ranges.collect::<String>()));
    }
    bodies.extend(ESCAPED.iter().filter(|(character, _)| within(*character)).map(|(_, escape)| literal(escape)));
    if bodies.is_empty() {
        // An empty class matches nothing.
        bodies.push("[]".to_owned());
    }
    alternatives(bodies)
}

/// A character in the notation of a GBNF class.
pub(super) fn class_character(character: char) -> String {
    match character {
        plain if plain.is_ascii_alphanumeric() => plain.to_string(),
        other => format!("\\U{:08X}", u32::from(other)),
    }
}

/// Gives `\d`, `\w` and `\s` the meaning of ECMAScript: ASCII, and JavaScript's whitespace. Also
/// allows `\/`.
fn as_ecma(pattern: &str) -> String {
    const SPACES: &str =
        r"\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";
    let mut text = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('d') => text.push_str("[0-9]"),
            Some('D') => text.push_str("[^0-9]"),
            Some('w') => text.push_str("[0-9A-Za-z_]"),
            Some('W') => text.push_str("[^0-9A-Za-z_]"),
            Some('s') => text.push_str(&format!("[{SPACES}]")),
            Some('S') => text.push_str(&format!("[^{SPACES}]")),
            Some('/') => text.push('/'),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}
