//! Text.

use roci_graph::ops::text::{Case, Ngrams, Pool, Text, Weighting};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let op = match node.op().as_str() {
        "StringConcat" => Text::Concat,
        "StringSplit" => {
            // Below 0 is without a limit, as in Python.
            let most = node.int("maxsplit")?.and_then(|most| usize::try_from(most).ok());
            Text::Split { delimiter: node.string_or("delimiter", "")?, most }
        }
        "StringNormalizer" => {
            let case = match node.string_or("case_change_action", "NONE")?.as_str() {
                "NONE" => Case::Keep,
                "LOWER" => Case::Lower,
                "UPPER" => Case::Upper,
                other => return Err(Error::invalid(format!("`case_change_action` is `{other}`"))),
            };
            // Letters change by Unicode's rules, whatever the place.
            node.string("locale")?;
            let stop = node.strings("stopwords")?.unwrap_or_default();
            Text::Normalize { case, sensitive: node.flag("is_case_sensitive", false)?, stop }
        }
        "RegexFullMatch" => Text::full_match(&node.string_or("pattern", "")?)?,
        "TfIdfVectorizer" => Text::Ngrams(ngrams(node)?),
        _ => return Ok(false),
    };
    node.emit(op)
}

fn ngrams(node: &NodeContext<'_, '_>) -> Result<Ngrams, Error> {
    let missing = |name: &str| Error::invalid(format!("attribute `{name}` is missing"));
    let ints = |name: &str| node.ints(name)?.ok_or_else(|| missing(name));
    let int = |name: &str| node.int(name)?.ok_or_else(|| missing(name));
    let pool = match (node.ints("pool_int64s")?, node.strings("pool_strings")?) {
        (Some(integers), None) => Pool::Integers(integers),
        (None, Some(texts)) => Pool::Texts(texts),
        _ => return Err(Error::invalid("either `pool_int64s` or `pool_strings` is wanted")),
    };
    let weighting = match node.string("mode")?.as_deref() {
        Some("TF") => Weighting::Count,
        Some("IDF") => Weighting::Weight,
        Some("TFIDF") => Weighting::Product,
        other => return Err(Error::invalid(format!("`mode` is `{}`", other.unwrap_or_default()))),
    };
    Ok(Ngrams::new(
        pool,
        &ints("ngram_counts")?,
        &ints("ngram_indexes")?,
        node.floats("weights")?.unwrap_or_default(),
        weighting,
        (int("min_gram_length")?, int("max_gram_length")?),
        int("max_skip_count")?,
    )?)
}
