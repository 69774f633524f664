//! Selection of the full sources: a greedy cover of all features that kernels use.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Id, Source};

/// The features that no source in `chosen` has, each with a source that has it.
pub(crate) fn uncovered<'a>(sources: &'a BTreeMap<Id, Source>, chosen: &BTreeSet<Id>) -> BTreeMap<&'a str, &'a Id> {
    let mut features = BTreeMap::new();
    for (id, source) in sources.iter().rev() {
        features.extend(source.features.iter().map(|feature| (feature.as_str(), id)));
    }
    for feature in chosen.iter().filter_map(|id| sources.get(id)).flat_map(|source| &source.features) {
        features.remove(feature.as_str());
    }
    features
}

/// Extends `chosen` until it covers every feature. Each step adds the source with the most
/// uncovered features, the shortest source on a tie. Sources already chosen stay, so that a new
/// kernel does not replace the sources of others.
pub(crate) fn complete(sources: &BTreeMap<Id, Source>, mut chosen: BTreeSet<Id>) -> BTreeSet<Id> {
    loop {
        let missing = uncovered(sources, &chosen);
        if missing.is_empty() {
            return chosen;
        }
        let value =
            |source: &Source| source.features.iter().filter(|feature| missing.contains_key(feature.as_str())).count();
        let best =
            sources.iter().max_by_key(|(id, source)| (value(source), Reverse(source.code.bytes().len()), Reverse(*id)));
        chosen.extend(best.map(|(id, _)| id.clone()));
    }
}
