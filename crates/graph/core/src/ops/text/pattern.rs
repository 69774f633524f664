//! Converts patterns in RE2 syntax, which ONNX uses, to the regex crate's.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

use crate::OpError;

/// A pattern that matches whole strings.
pub(super) fn compile(pattern: &str) -> Result<Regex, OpError> {
    let wrong =
        |reason: String| OpError::invalid(format!("pattern `{pattern}` is not a valid regular expression: {reason}"));
    // The pattern alone must be valid too: `a)(b` is not.
    let own = translate(pattern);
    RegexBuilder::new(&own).build().map_err(|error| wrong(error.to_string()))?;
    RegexBuilder::new(&format!(r"\A(?:{own})\z")).build().map_err(|error| wrong(error.to_string()))
}

/// In RE2, `\d`, `\w`, `\s` and `\b` are ASCII, and a bracket within brackets is literal.
fn translate(pattern: &str) -> String {
    let mut result = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut within = false;
    while let Some(char) = chars.next() {
        match char {
            '\\' => escape(&mut chars, within, &mut result),
            '[' if !within => {
                within = true;
                result.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    result.push('^');
                }
                // A closing bracket in the first position is literal.
                if chars.next_if_eq(&']').is_some() {
                    result.push_str(r"\]");
                }
            }
            '[' if chars.peek() == Some(&':') => class(&mut chars, &mut result),
            ']' if within => {
                within = false;
                result.push(']');
            }
            // Within brackets these would be set operations of the regex crate.
            '[' | '&' | '~' if within => result.extend(['\\', char]),
            other => result.push(other),
        }
    }
    result
}

fn escape(chars: &mut Peekable<Chars<'_>>, within: bool, result: &mut String) {
    let Some(char) = chars.next() else {
        result.push('\\');
        return;
    };
    let ascii = match char {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        's' => r"[\t\n\f\r ]",
        'S' => r"[^\t\n\f\r ]",
        'b' if !within => r"(?-u:\b)",
        'B' if !within => r"(?-u:\B)",
        _ => return result.extend(['\\', char]),
    };
    result.push_str(ascii);
}

/// A named class such as `[:alpha:]`, up to its end; a literal bracket otherwise.
fn class(chars: &mut Peekable<Chars<'_>>, result: &mut String) {
    let ahead: String = chars.clone().take_while(|char| *char != ']').collect();
    if ahead.len() > 1 && ahead.ends_with(':') {
        result.push('[');
        result.push_str(&ahead);
        result.push(']');
        // The characters of the class and the bracket after them.
        for _ in 0..=ahead.chars().count() {
            chars.next();
        }
    } else {
        result.push_str(r"\[");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern).is_ok_and(|pattern| pattern.is_match(text))
    }

    #[test]
    fn whole_strings_match_as_in_re2() {
        assert!(matches("a|bc", "bc") && !matches("a|bc", "ac") && !matches("a", "a\n"));
        assert!(matches(r"[\w.]+@\d+", "a.b@1") && !matches(r"\d", "٣"));
        assert!(matches(r"[]a[]+", "][a") && matches("[[:alpha:]]+", "ab") && matches("[a&&b]+", "&ab"));
        assert!(compile("a)(b").is_err() && compile("(").is_err() && compile("\\").is_err() && compile("[").is_err());
        assert!(compile("(a{1000}){1000}").is_err());
    }
}
