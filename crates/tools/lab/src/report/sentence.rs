//! Sentences of a report that contain names from the experiment, which each output format marks as
//! code.

use serde::{Serialize, Serializer};

use super::text;

/// Text with names and settings in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence(Vec<Part>);

/// A segment of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Part {
    /// Whether it is a name or a setting, printed as code.
    is_code: bool,
    text: String,
}

impl Part {
    /// Text that is not code.
    pub(super) fn plain(text: &str) -> Self {
        Self { is_code: false, text: text.to_owned() }
    }

    fn code(text: &str) -> Self {
        Self { is_code: true, text: text.to_owned() }
    }
}

/// What replaces a `{}` of a sentence template. It is not trusted, and each format escapes it.
#[derive(Clone, Copy)]
pub(super) enum Word<'a> {
    /// A name or a setting, printed as code.
    Name(&'a str),
    /// Other text.
    Text(&'a str),
}

/// Names in a list before it is cut.
const MAX_NAMES: usize = 8;

impl Sentence {
    /// `template` with each `{}` replaced by one of `words`.
    pub(super) fn of(template: &str, words: &[Word<'_>]) -> Self {
        let mut words = words.iter().map(|word| match word {
            Word::Name(name) => Part::code(&text::line(name)),
            Word::Text(text) => Part::plain(&text::line(text)),
        });
        let mut parts = Vec::new();
        for (index, piece) in template.split("{}").enumerate() {
            if index > 0 {
                parts.extend(words.next());
            }
            parts.push(Part::plain(piece));
        }
        Self(parts)
    }

    /// Comma-separated names; a long list is cut.
    pub(super) fn list(names: &[&str]) -> Self {
        let displayed: Vec<_> = names.iter().take(MAX_NAMES).map(|name| Word::Name(name)).collect();
        let more =
            if names.len() > MAX_NAMES { format!(" and {} more", names.len() - MAX_NAMES) } else { String::new() };
        Self::of(&format!("{}{more}", vec!["{}"; displayed.len()].join(", ")), &displayed)
    }

    /// Appends another sentence.
    pub(super) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// As Markdown, escaped.
    pub(super) fn markdown(&self) -> String {
        self.render(text::prose, text::code)
    }

    /// The segments, in order.
    pub(super) fn parts(&self) -> &[Part] {
        &self.0
    }

    fn render(&self, plain: impl Fn(&str) -> String, code: impl Fn(&str) -> String) -> String {
        self.0.iter().map(|part| if part.is_code { code(&part.text) } else { plain(&part.text) }).collect()
    }
}

impl std::fmt::Display for Sentence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(str::to_owned, |name| format!("`{name}`")))
    }
}

impl Serialize for Sentence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Word::{Name, Text};
    use super::*;

    #[test]
    fn names_are_code_and_cannot_break_out() {
        let sentence = Sentence::of("{} gets past {}, {}: <ours>.", &[Name("A={}"), Name("a`b"), Text("<b>\n")]);
        assert_eq!(sentence.to_string(), "`A={}` gets past `a`b`, <b>: <ours>.");
        assert_eq!(sentence.markdown(), "`A={}` gets past ``a`b``, \\<b\\>: \\<ours\\>.");
        assert_eq!(Sentence::of("All: ", &[]).then(Sentence::list(&["a", "b"])).to_string(), "All: `a`, `b`");
        assert!(Sentence::list(&["x"; 10]).to_string().ends_with("`x` and 2 more"));
    }
}
