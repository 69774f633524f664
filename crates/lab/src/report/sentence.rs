//! Sentences of ours with words of others in them, which each rendering sets apart in its own way.

use serde::{Serialize, Serializer};

use super::text;

/// A sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Plain(String),
    Code(String),
}

/// A word of others.
#[derive(Clone, Copy)]
pub(super) enum Word<'a> {
    /// A name or a setting, shown as code.
    Name(&'a str),
    /// Something said, shown as it is.
    Said(&'a str),
}

/// How many names a sentence lists.
const LISTED: usize = 8;

impl Sentence {
    /// `template` with each `{}` replaced by one of `words`.
    pub(super) fn of(template: &str, words: &[Word<'_>]) -> Self {
        let mut words = words.iter().map(|word| match word {
            Word::Name(name) => Part::Code(text::line(name)),
            Word::Said(said) => Part::Plain(text::line(said)),
        });
        let mut parts = Vec::new();
        for (index, piece) in template.split("{}").enumerate() {
            if index > 0 {
                parts.extend(words.next());
            }
            parts.push(Part::Plain(piece.to_owned()));
        }
        Self(parts)
    }

    /// Names with commas between; long lists are cut.
    pub(super) fn list(names: &[&str]) -> Self {
        let shown: Vec<_> = names.iter().take(LISTED).map(|name| Word::Name(name)).collect();
        let more = if names.len() > LISTED { format!(" and {} more", names.len() - LISTED) } else { String::new() };
        Self::of(&format!("{}{more}", vec!["{}"; shown.len()].join(", ")), &shown)
    }

    /// This one, and then another.
    pub(super) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// For Markdown.
    pub(super) fn markdown(&self) -> String {
        self.render(text::prose, text::code)
    }

    /// For HTML.
    pub(super) fn html(&self) -> String {
        self.render(text::html, |name| format!("<code>{}</code>", text::html(name)))
    }

    fn render(&self, plain: impl Fn(&str) -> String, code: impl Fn(&str) -> String) -> String {
        let part = |part: &Part| match part {
            Part::Plain(said) => plain(said),
            Part::Code(name) => code(name),
        };
        self.0.iter().map(part).collect()
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
    use super::Word::{Name, Said};
    use super::*;

    #[test]
    fn words_of_others_are_set_apart_and_cannot_break_out() {
        let sentence = Sentence::of("{} gets past {}, {}: <ours>.", &[Name("A={}"), Name("a`b"), Said("<b>\n")]);
        assert_eq!(sentence.to_string(), "`A={}` gets past `a`b`, <b>: <ours>.");
        assert_eq!(sentence.markdown(), "`A={}` gets past ``a`b``, \\<b\\>: \\<ours\\>.");
        assert_eq!(sentence.html(), "<code>A={}</code> gets past <code>a`b</code>, &lt;b&gt;: &lt;ours&gt;.");
        assert_eq!(Sentence::of("All: ", &[]).then(Sentence::list(&["a", "b"])).to_string(), "All: `a`, `b`");
        assert!(Sentence::list(&["x"; 10]).to_string().ends_with("`x` and 2 more"));
    }
}
