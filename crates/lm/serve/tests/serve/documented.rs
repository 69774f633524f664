//! Parses the fields that docs/reference/server-fields.md lists.

const DOCS: &str = include_str!("../../../../../docs/reference/server-fields.md");

/// How the server handles a field, from the heading of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Read,
    NoEffect,
    Only,
    Refused,
}

/// A documented field of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DocumentedField {
    pub(crate) class: Class,
    pub(crate) endpoint: &'static str,
    /// Path such as `messages[].content[].text`.
    pub(crate) path: String,
    /// The accepted value of [`Class::Only`].
    pub(crate) accepted: String,
}

pub(crate) fn documented() -> Vec<DocumentedField> {
    let mut class = None;
    let mut all = Vec::new();
    for line in DOCS.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            class = match heading.trim_start_matches('#').trim() {
                "Fields that are read" => Some(Class::Read),
                "Fields without effect" => Some(Class::NoEffect),
                "Fields with one accepted value" => Some(Class::Only),
                "Refused fields" => Some(Class::Refused),
                _ => None,
            };
        }
        let (Some(class), true) = (class, line.starts_with("| `")) else { continue };
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let endpoints: &[&str] = match cells[2] {
            "chat" => &["/v1/chat/completions"],
            "completions" => &["/v1/completions"],
            "embeddings" => &["/v1/embeddings"],
            "rerank" => &["/v1/rerank"],
            "both" => &["/v1/chat/completions", "/v1/completions"],
            "all" => &["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank"],
            other => panic!("unknown endpoint `{other}`: {line}"),
        };
        let accepted = if class == Class::Only { cells[3] } else { "" };
        for path in cells[1].split('`').skip(1).step_by(2) {
            all.extend(endpoints.iter().map(|endpoint| DocumentedField {
                class,
                endpoint,
                path: path.to_owned(),
                accepted: accepted.to_owned(),
            }));
        }
    }
    assert!(all.len() > 100, "the tables were found: {}", all.len());
    all
}
