//! Selection of the full texts: a greedy cover of all features that kernels use.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::text::{Id, Text};

/// The features that no text in `chosen` has, each with a text that has it.
pub(crate) fn uncovered<'a>(texts: &'a BTreeMap<Id, Text>, chosen: &BTreeSet<Id>) -> BTreeMap<&'a str, &'a Id> {
    let mut features = BTreeMap::new();
    for (id, text) in texts.iter().rev() {
        features.extend(text.features.iter().map(|feature| (feature.as_str(), id)));
    }
    for feature in chosen.iter().filter_map(|id| texts.get(id)).flat_map(|text| &text.features) {
        features.remove(feature.as_str());
    }
    features
}

/// Extends `chosen` until it covers every feature. Each step adds the text with the most uncovered
/// features, the shortest text on a tie. Texts already chosen stay, so that a new kernel does not
/// replace the texts of others.
pub(crate) fn complete(texts: &BTreeMap<Id, Text>, mut chosen: BTreeSet<Id>) -> BTreeSet<Id> {
    loop {
        let missing = uncovered(texts, &chosen);
        if missing.is_empty() {
            return chosen;
        }
        let value = |text: &Text| text.features.iter().filter(|feature| missing.contains_key(feature.as_str())).count();
        let best = texts.iter().max_by_key(|(id, text)| (value(text), Reverse(text.code.bytes().len()), Reverse(*id)));
        chosen.extend(best.map(|(id, _)| id.clone()));
    }
}
