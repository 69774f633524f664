//! String operations.

use roci_graph::ops::text::{Case, NgramPool, Ngrams, Text, Weighting};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let op = match node.op().as_str() {
        "StringConcat" => Text::Concat,
        "StringSplit" => {
            // Negative means no limit, as in Python.
            let most = node.int("maxsplit")?.and_then(|most| usize::try_from(most).ok());
            Text::Split { delimiter: node.string_or("delimiter", "")?, most }
        }
        "StringNormalizer" => {
            let case = match node.string_or("case_change_action", "NONE")?.as_str() {
                "NONE" => Case::Keep,
                "LOWER" => Case::Lower,
                "UPPER" => Case::Upper,
                other => {
                    return Err(Error::invalid(format!("unknown value `{other}` of attribute `case_change_action`")));
                }
            };
            // Case conversion follows Unicode's rules regardless of the locale.
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
        (Some(integers), None) => NgramPool::Integers(integers),
        (None, Some(texts)) => NgramPool::Texts(texts),
        _ => return Err(Error::invalid("expected either `pool_int64s` or `pool_strings`")),
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
