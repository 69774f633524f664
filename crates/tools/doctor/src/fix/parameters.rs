//! Parameters in kernel command lines, and assignments in shell files that contain them.

use std::ops::Range;

/// The words of a command line. Quoted spaces do not separate words.
fn words(line: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let (mut start, mut quoted) = (None, false);
    for (at, c) in line.char_indices() {
        quoted ^= c == '"';
        match start {
            None if !c.is_whitespace() => start = Some(at),
            Some(begin) if c.is_whitespace() && !quoted => {
                words.push(begin..at);
                start = None;
            }
            _ => {}
        }
    }
    words.extend(start.map(|begin| begin..line.len()));
    words
}

/// Name of a parameter as the kernel compares it: dashes are underscores.
fn name(word: &str) -> String {
    word.split('=').next().unwrap_or_default().trim_matches('"').replace('-', "_")
}

/// Whether a command line has a parameter of this name.
pub(crate) fn has(line: &str, parameter: &str) -> bool {
    words(line).into_iter().any(|word| name(&line[word]) == name(parameter))
}

/// The words of a command line that set a parameter.
pub(crate) fn set_by<'l>(line: &'l str, parameter: &str) -> Vec<&'l str> {
    words(line).into_iter().map(|word| &line[word]).filter(|word| name(word) == name(parameter)).collect()
}

/// The command line with a parameter set once: in place of its last value, otherwise at the end.
pub(crate) fn with(line: &str, parameter: &str) -> String {
    let places: Vec<_> = words(line).into_iter().filter(|word| name(&line[word.clone()]) == name(parameter)).collect();
    let Some((last, others)) = places.split_last() else {
        let end = line.trim_end().len();
        let space = if line[..end].trim().is_empty() { "" } else { " " };
        return format!("{}{space}{parameter}{}", &line[..end], &line[end..]);
    };
    let mut new = line.to_owned();
    new.replace_range(last.clone(), parameter);
    others.iter().rev().for_each(|word| cut(&mut new, word.clone()));
    new
}

/// The command line without a parameter.
pub(crate) fn without(line: &str, parameter: &str) -> String {
    let mut new = line.to_owned();
    let places = words(line).into_iter().filter(|word| name(&line[word.clone()]) == name(parameter));
    places.collect::<Vec<_>>().into_iter().rev().for_each(|word| cut(&mut new, word));
    new
}

/// Removes a word and the space next to it.
fn cut(line: &mut String, word: Range<usize>) {
    let is_space = |c: char| c == ' ' || c == '\t';
    let behind = line[word.end..].len() - line[word.end..].trim_start_matches(is_space).len();
    let before = line[..word.start].len() - line[..word.start].trim_end_matches(is_space).len();
    let is_last = line[word.end + behind..].trim_end_matches(['\n', '"', '\'']).is_empty();
    let range = if is_last { word.start - before..word.end } else { word.start..word.end + behind };
    line.replace_range(range, "");
}

/// An assignment `NAME="value"` in a shell file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// Where the value is, without quotes.
    value: Range<usize>,
    /// The quote around the value; a value without quotes gets some when it is changed.
    quote: Option<char>,
    /// Whether it is `+=`, which adds to earlier values.
    appends: bool,
}

/// Assignments to a variable, in order. The error is a message.
pub(crate) fn assignments(text: &str, variable: &str) -> Result<Vec<Assignment>, String> {
    let mut found = Vec::new();
    let mut start = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let begin = start;
        start += line.len();
        let indent = line.len() - line.trim_start().len();
        let Some(rest) = line[indent..].strip_prefix(variable) else { continue };
        let appends = rest.starts_with('+');
        let Some(value) = rest.strip_prefix('+').unwrap_or(rest).strip_prefix('=') else { continue };
        let at = begin + line.len() - value.len();
        let (first, length, quote) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let length = closing(&value[1..], quote);
                (at + 1, length.ok_or_else(|| format!("line {} has no closing quote", number + 1))?, Some(quote))
            }
            _ => (at, value.find(|c: char| c.is_whitespace() || c == ';' || c == '#').unwrap_or(value.len()), None),
        };
        found.push(Assignment { value: first..first + length, quote, appends });
    }
    Ok(found)
}

/// Offset of the closing quote; in double quotes a backslash escapes.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().take_while(|(_, c)| *c != '\n').find_map(|(at, c)| {
        let is_end = c == quote && !escaped;
        escaped = quote == '"' && c == '\\' && !escaped;
        is_end.then_some(at)
    })
}

impl Assignment {
    pub(crate) fn appends(&self) -> bool {
        self.appends
    }

    pub(crate) fn value<'t>(&self, text: &'t str) -> &'t str {
        &text[self.value.clone()]
    }

    /// The text with another value.
    pub(crate) fn replaced(&self, text: &str, value: &str) -> String {
        let value = if self.quote.is_some() { value.to_owned() } else { format!("\"{value}\"") };
        format!("{}{value}{}", &text[..self.value.start], &text[self.value.end..])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_are_set_once() {
        for (line, parameter, expected) in [
            ("", "a.b=1", "a.b=1"),
            ("quiet splash", "a.b=1", "quiet splash a.b=1"),
            ("root=x ro\n", "a.b=1", "root=x ro a.b=1\n"),
            ("quiet a.b=0 splash", "a.b=1", "quiet a.b=1 splash"),
            ("a.b=0 quiet a.b=2", "a.b=1", "quiet a.b=1"),
            ("a-c.b=0", "a_c.b=1", "a_c.b=1"),
            ("x=\"a.b=0 c\" quiet", "a.b=1", "x=\"a.b=0 c\" quiet a.b=1"),
        ] {
            assert_eq!(with(line, parameter), expected, "{line}");
            assert_eq!(with(expected, parameter), expected, "twice is once");
        }
    }

    #[test]
    fn parameters_are_removed_with_one_space() {
        for (line, expected) in [
            ("quiet a.b=0 splash", "quiet splash"),
            ("a.b", ""),
            ("quiet a.b=0\n", "quiet\n"),
            ("a.b=1 quiet a.b=2", "quiet"),
            ("quiet a.bc=0", "quiet a.bc=0"),
        ] {
            assert_eq!(without(line, "a.b"), expected, "{line}");
        }
        assert_eq!(set_by("a=1 b a=2", "a"), ["a=1", "a=2"]);
    }

    #[test]
    fn assignments_are_found_with_their_quotes() {
        let text = "# A=\"no\"\nA=\"one $(x \\\" y)\" # note\nA+='two'\n B=x\nA=three;\nAB=\"no\"\n";
        let found = assignments(text, "A").expect("all quotes are closed");
        assert_eq!(found.iter().map(|one| one.value(text)).collect::<Vec<_>>(), ["one $(x \\\" y)", "two", "three"]);
        assert!(found[0].replaced(text, "new").contains("A=\"new\" # note\n"));
        assert!(found[2].replaced(text, "new").contains("A=\"new\";\n"));
        assert_eq!(assignments("A=\"x\ny\"\n", "A"), Err("line 1 has no closing quote".to_owned()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_command_line_can_be_edited(line in "[ab.=\"' \t\n\\\\é-]{0,40}", value in "[0-9]{0,2}") {
            let parameter = format!("a.b={value}");
            let set = with(&line, &parameter);
            // A quote that nothing closes hides what follows.
            prop_assume!(line.matches('"').count() % 2 == 0);
            prop_assert!(has(&set, "a.b"), "{set:?}");
            prop_assert_eq!(with(&set, &parameter), set.clone());
            prop_assert_eq!(set_by(&set, "a.b").len(), 1);
            prop_assert!(!has(&without(&set, "a.b"), "a.b"), "{:?}", without(&set, "a.b"));
        }

        #[test]
        fn any_file_has_assignments_or_an_error(text in "[AB+=\"' #;\n\\\\é]{0,60}") {
            for one in assignments(&text, "A").unwrap_or_default() {
                let new = one.replaced(&text, "new");
                prop_assert!(new.contains("new") && new.len() + text.len() >= one.value(&text).len());
            }
        }
    }
}
