//! Finds lines in the WGSL source for items without a span in naga: entry points and attributes of
//! their arguments.

/// A word or a single other character, and its line number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token<'a> {
    text: &'a str,
    line: u32,
}

/// The owner of an attribute, by its name in the source.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner<'a> {
    /// A parameter of a function.
    Function(&'a str),
    /// A member of a struct.
    Struct(&'a str),
}

impl Owner<'_> {
    /// Index of the owner's name among the tokens.
    fn find(self, tokens: &[Token<'_>]) -> Option<usize> {
        let (keyword, name) = match self {
            Owner::Function(name) => ("fn", name),
            Owner::Struct(name) => ("struct", name),
        };
        tokens.windows(2).position(|pair| pair[0].text == keyword && pair[1].text == name).map(|place| place + 1)
    }
}

/// The line of an entry point's stage attribute (`fragment`), or of its name if there is no such
/// attribute.
pub(super) fn stage_line(source: &str, stage: &str, function: &str) -> Option<u32> {
    let tokens = tokens(source);
    let name = Owner::Function(function).find(&tokens)?;
    // Attributes precede their function, and any other function of that stage precedes them.
    let attribute = tokens[..name].windows(2).rposition(|pair| pair[0].text == "@" && pair[1].text == stage);
    Some(tokens[attribute.unwrap_or(name)].line)
}

/// The line of `@attribute` or, with an argument, of `@attribute(argument`. Falls back to the line
/// of the owner's name.
pub(super) fn attribute_line(source: &str, owner: Owner<'_>, attribute: &str, argument: Option<&str>) -> Option<u32> {
    let tokens = tokens(source);
    let name = owner.find(&tokens)?;
    let mut expected = vec!["@", attribute];
    if let Some(argument) = argument {
        expected.extend(["(", argument]);
    }
    let after = &tokens[name..];
    let found = after.windows(expected.len()).find(|window| window.iter().map(|token| token.text).eq(expected.clone()));
    Some(found.map_or(tokens[name], |window| window[0]).line)
}

/// Tokens without whitespace and comments. WGSL has no string literals, so only comments can hide a
/// word.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find(is_line_break).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if is_blank(first) {
            first.len_utf8()
        } else {
            let word = rest.find(|next| !is_word(next)).unwrap_or(rest.len());
            let length = word.max(first.len_utf8());
            tokens.push(Token { text: &rest[..length], line });
            length
        };
        let (passed, behind) = rest.split_at(length);
        // Spans count lines by line feeds only; this must match.
        line += passed.bytes().filter(|&byte| byte == b'\n').count() as u32;
        rest = behind;
    }
    tokens
}

/// Length in bytes of the block comment that `text` starts with. Block comments nest.
fn block_comment(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0;
    let mut at = 0;
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => depth += 1,
            [b'*', b'/', ..] => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn is_line_break(char: char) -> bool {
    matches!(char, '\u{a}'..='\u{d}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(char: char) -> bool {
    is_line_break(char) || matches!(char, ' ' | '\t' | '\u{200e}' | '\u{200f}')
}

/// Non-ASCII characters other than whitespace occur only in names.
fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || (!char.is_ascii() && !is_blank(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "// @fragment fn shade(@builtin(position) p: vec4<f32>) {}
/* fn shade /* @fragment */ fn shade
*/ struct In { @builtin(front_facing) front: bool, // @builtin(vertex_index)
    @builtin ( /* here */ vertex_index, ) i: u32,
}
@fragment fn shade_more() {}
@fragment
@must_use // fn shade
fn
shäde() {}
@fragment fn shade(in: In,
    @builtin(sample_index) s: u32) {}";

    #[test]
    fn a_stage_is_found_past_comments_and_longer_names() {
        assert_eq!(stage_line(SOURCE, "fragment", "shade"), Some(11));
        assert_eq!(stage_line(SOURCE, "fragment", "shäde"), Some(7));
        assert_eq!(stage_line(SOURCE, "fragment", "shade_more"), Some(6));
        assert_eq!(stage_line(SOURCE, "vertex", "shade"), Some(11), "the name itself");
        assert_eq!(stage_line(SOURCE, "fragment", "shad"), None);
    }

    #[test]
    fn an_attribute_is_found_in_its_owner() {
        let line = |owner, name| attribute_line(SOURCE, owner, "builtin", Some(name));
        assert_eq!(line(Owner::Struct("In"), "front_facing"), Some(3));
        assert_eq!(line(Owner::Struct("In"), "vertex_index"), Some(4));
        assert_eq!(line(Owner::Function("shade"), "sample_index"), Some(12));
        assert_eq!(line(Owner::Function("shade"), "position"), Some(11), "the owner's name");
        assert_eq!(attribute_line(SOURCE, Owner::Struct("In"), "builtin", None), Some(3));
        assert_eq!(line(Owner::Struct("Out"), "position"), None);
    }

    #[test]
    fn unterminated_text_has_tokens() {
        for (text, count) in [("", 0), ("/* /* */", 0), ("fn /", 2), ("//", 0), ("a/**/b", 2), ("/*/fn", 0), ("é*/", 3)]
        {
            assert_eq!(tokens(text).len(), count, "{text}");
        }
    }
}
