//! Escapes untrusted text for HTML, Markdown, shells and terminals.
//!
//! Program output, file names and kernel log lines are not trusted. They can contain markup,
//! terminal escapes, or characters that change the direction of text.

use std::fmt::Write;

/// One line of text. Whitespace controls become spaces, other control characters visible escapes.
pub(super) fn line(text: &str) -> String {
    visible(text.trim())
}

fn visible(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => escaped.push(' '),
            _ => push_visible(&mut escaped, letter),
        }
    }
    escaped
}

/// Several lines, each as [`line`], with tabs and indentation kept.
pub(super) fn block(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.trim_end().chars() {
        match letter {
            '\n' | '\t' => escaped.push(letter),
            '\r' => {}
            _ => push_visible(&mut escaped, letter),
        }
    }
    escaped
}

/// Whether a character is a control character, invisible, or changes the direction of text.
pub(super) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

fn push_visible(escaped: &mut String, letter: char) {
    if is_hidden(letter) {
        let _ = write!(escaped, "\\u{{{:x}}}", u32::from(letter));
    } else {
        escaped.push(letter);
    }
}

/// At most `most` characters, with an ellipsis if truncated.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Escapes text for HTML and SVG, including attributes.
pub(super) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            _ => push_visible(&mut escaped, letter),
        }
    }
    escaped
}

/// Escapes text for Markdown.
pub(super) fn prose(text: &str) -> String {
    let text = visible(text);
    let mut escaped = String::with_capacity(text.len());
    let (mut before, mut letters) = (' ', text.chars().peekable());
    while let Some(letter) = letters.next() {
        // An underscore inside a word is not markup, and `graph_reserve` stays readable on a
        // terminal.
        let within = before.is_alphanumeric() && letters.peek().is_some_and(|next| next.is_alphanumeric());
        let special = if letter == '_' { !within } else { "\\`*{}[]<>|~#&!$".contains(letter) };
        if special {
            escaped.push('\\');
        }
        escaped.push(letter);
        before = letter;
    }
    // A list item starts with a dash, a plus, or a number and a period.
    let digits = escaped.bytes().take_while(u8::is_ascii_digit).count();
    if escaped.starts_with(['-', '+', '=']) || (digits > 0 && escaped[digits..].starts_with(['.', ')'])) {
        escaped.insert(digits, '\\');
    }
    // GitHub links URLs and mentions; a word joiner keeps the text and breaks the link.
    escaped.replace("://", ":\u{2060}//").replace("www.", "www\u{2060}.").replace('@', "@\u{2060}")
}

/// Inline code in Markdown, also for table cells.
pub(super) fn code(text: &str) -> String {
    let text = line(text);
    if text.is_empty() {
        return String::new();
    }
    // A bar ends a cell even inside backticks, and parsers differ on backslash-bar; entities work
    // in all.
    if text.contains('|') {
        let mut escaped = String::from("<code>");
        for letter in text.chars() {
            if letter.is_alphanumeric() || letter == ' ' {
                escaped.push(letter);
            } else {
                let _ = write!(escaped, "&#{};", u32::from(letter));
            }
        }
        escaped.push_str("</code>");
        return escaped;
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A code block in Markdown, with a fence that the text cannot close.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let text = block(text);
    let fence = "`".repeat((longest_run(&text) + 1).max(3));
    format!("{fence}{language}\n{text}\n{fence}\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

/// Quotes a word for a POSIX shell.
pub(super) fn shell(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:,=+@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    // NUL cannot be passed to a program.
    format!("'{}'", text.replace('\0', "").replace('\'', r"'\''"))
}

/// Whether a name is a valid shell variable.
pub(super) fn is_variable(name: &str) -> bool {
    let starts = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    starts && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A number with at least three significant digits.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "not a number".to_owned(),
        _ if value == 0.0 => "0".to_owned(),
        _ if !(1e-3..1e15).contains(&size) => format!("{value:.2e}"),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ => significant(value, 3),
    }
}

/// A number with this many significant digits.
fn significant(value: f64, digits: usize) -> String {
    let size = value.abs();
    if !(1e-3..1e15).contains(&size) {
        return format!("{value:.*e}", digits - 1);
    }
    // Decimals: the digits that are not before the point.
    let before = size.log10().floor() as i32 + 1;
    let behind = usize::try_from(digits as i32 - before).unwrap_or(0);
    format!("{value:.behind$}")
}

/// Two numbers with as many digits as needed to tell them apart.
pub(super) fn distinct(one: f64, other: f64) -> [String; 2] {
    const MAX_ENTRIES: usize = 17;
    let short = [number(one), number(other)];
    if short[0] != short[1] || one == other || !(one.is_finite() && other.is_finite()) {
        return short;
    }
    let longer = (4..=MAX_ENTRIES).map(|digits| [significant(one, digits), significant(other, digits)]);
    longer.into_iter().find(|[one, other]| one != other).unwrap_or(short)
}

/// A relative change as a signed percentage.
pub(super) fn percent(change: f64) -> String {
    let percent = change * 100.0;
    if percent.abs() < 10.0 { format!("{percent:+.1} %") } else { format!("{percent:+.0} %") }
}

/// A duration for people.
pub(super) fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        _ if seconds < 60.0 => format!("{} s", number(seconds)),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_escaped() {
        assert_eq!(line(" a\u{1b}[31mred\nb\u{202e}c\0 "), "a\\u{1b}[31mred b\\u{202e}c\\u{0}");
        assert_eq!(block("a\r\n\tb\u{7}\n\n"), "a\n\tb\\u{7}");
        assert_eq!(html("<b a='\"'>&\u{9b}"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;\\u{9b}");
    }

    #[test]
    fn code_cannot_close_its_fence() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`a"), "`` `a ``");
        assert_eq!(code("a\\|b"), "<code>a&#92;&#124;b</code>");
        assert_eq!(code("\n"), "");
        assert_eq!(fenced("sh", "a\n```\nb"), "````sh\na\n```\nb\n````\n");
    }

    #[test]
    fn prose_is_escaped() {
        assert_eq!(prose("hung at graph_reserve"), "hung at graph_reserve");
        assert_eq!(prose("_a_ __b__ a_ *c*"), r"\_a\_ \_\_b\_\_ a\_ \*c\*");
        assert_eq!([prose("1. a"), prose("- a"), prose("12 a.")], [r"1\. a", r"\- a", "12 a."]);
    }

    #[test]
    fn shell_words_are_quoted() {
        assert_eq!(shell("HSA_ENABLE_SDMA=0"), "HSA_ENABLE_SDMA=0");
        assert_eq!(shell(""), "''");
        assert_eq!(shell("it's $(rm)"), r"'it'\''s $(rm)'");
        assert!(is_variable("A_1") && !is_variable("1A") && !is_variable("A;B") && !is_variable(""));
    }

    #[test]
    fn numbers_are_short() {
        let all = [721.4, 63.25, 4.5, 0.0417, 0.0, 1e-9, 3e20, -2.5].map(number);
        assert_eq!(all, ["721", "63.2", "4.50", "0.0417", "0", "1.00e-9", "3.00e20", "-2.50"]);
        assert_eq!([percent(0.041), percent(-0.5)], ["+4.1 %", "-50 %"]);
        assert_eq!([0.25, 12.0, 61.0, 7260.0].map(duration), ["250 ms", "12.0 s", "1 min 1 s", "2 h 1 min"]);
    }

    #[test]
    fn different_numbers_are_printed_differently() {
        assert_eq!(distinct(700.0, 600.0), ["700", "600"]);
        assert_eq!(distinct(100.1, 100.4), ["100.1", "100.4"]);
        assert_eq!(distinct(0.00121, 0.00124), ["0.00121", "0.00124"]);
        assert_eq!(distinct(1e-9, 1.000_001e-9), ["1.000000e-9", "1.000001e-9"]);
        assert_eq!(distinct(5.0, 5.0), ["5.00", "5.00"]);
        assert_eq!([0.9999, 0.001, 9.999, 99.96].map(number), ["1.000", "0.00100", "10.00", "100.0"]);
    }

    #[test]
    fn long_text_is_truncated_between_characters() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß", 3), "äöü…");
    }
}
