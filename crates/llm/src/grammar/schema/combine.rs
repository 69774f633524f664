//! Schemas made of schemas: `$ref`, `allOf`, `anyOf`, `oneOf`.

use std::collections::HashMap;

use super::{Place, Writer, alternatives};
use crate::grammar::error::GrammarError;
use crate::json::Json;

/// What may stand beside other keywords and says nothing about values.
const ANNOTATIONS: [&str; 14] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "strict",
    "$anchor",
];

impl Writer<'_> {
    /// What a schema that is made of others says; nothing if it is not.
    pub(super) fn combined(&mut self, schema: &Json, place: &Place) -> Result<Option<String>, GrammarError> {
        if let Some(reference) = schema.get("$ref") {
            let reference = reference.as_str().ok_or_else(|| place.wrong("`$ref` is not a string"))?;
            if alone(schema, "$ref") {
                return self.reference(reference, place).map(Some);
            }
            // What stands beside it holds as well.
            let target = self.target(reference, place)?;
            return self.value(&merge(&without(schema, "$ref"), &target), &place.below("$ref")).map(Some);
        }
        if let Some(parts) = list(schema, "allOf", place)? {
            let mut whole = without(schema, "allOf");
            for part in parts {
                let part = match part.get("$ref").and_then(Json::as_str) {
                    Some(reference) => merge(&without(part, "$ref"), &self.target(reference, place)?),
                    None => part.clone(),
                };
                whole = merge(&whole, &part);
            }
            return self.value(&whole, &place.below("allOf")).map(Some);
        }
        for keyword in ["anyOf", "oneOf"] {
            let Some(parts) = list(schema, keyword, place)? else { continue };
            let beside = without(schema, keyword);
            let beside = (!alone(schema, keyword)).then_some(beside);
            let mut bodies = Vec::new();
            for (at, part) in parts.iter().enumerate() {
                let place = place.below(&format!("{keyword}/{at}"));
                let whole = match &beside {
                    Some(beside) => merge(beside, &self.resolved(part, &place)?),
                    None => part.clone(),
                };
                bodies.push(self.named(&whole, &place)?);
            }
            return Ok(Some(alternatives(bodies)));
        }
        Ok(None)
    }

    /// A schema, or what it refers to if that is all that it does.
    fn resolved(&self, schema: &Json, place: &Place) -> Result<Json, GrammarError> {
        match schema.get("$ref").and_then(Json::as_str) {
            Some(reference) => Ok(merge(&without(schema, "$ref"), &self.target(reference, place)?)),
            None => Ok(schema.clone()),
        }
    }

    /// The rule of what a reference names, written once for all who refer to it.
    fn reference(&mut self, reference: &str, place: &Place) -> Result<String, GrammarError> {
        if let Some(name) = self.references.get(reference) {
            return Ok(name.clone());
        }
        let target = self.target(reference, place)?;
        let name = self.reserve(reference.rsplit('/').next().unwrap_or("ref"));
        // Known before it is written: it may refer to itself.
        self.references.insert(reference.to_owned(), name.clone());
        let below = Place { path: reference.to_owned(), depth: place.depth + 1 };
        let body = self.value(&target, &below)?;
        self.define(name.clone(), body)?;
        Ok(name)
    }

    /// What a reference names.
    fn target(&self, reference: &str, place: &Place) -> Result<Json, GrammarError> {
        let Some(path) = reference.strip_prefix('#') else {
            return Err(place.wrong(format!("`$ref` to `{reference}`, which lies outside of the schema")));
        };
        let missing = || place.wrong(format!("`$ref` to `{reference}`, which the schema does not have"));
        let mut found = self.document;
        for key in path.split('/').skip(1) {
            let key =
                key.replace("~1", "/").replace("~0", "~").replace("%24", "$").replace("%20", " ").replace("%25", "%");
            found = match found {
                Json::Array(items) => key.parse().ok().and_then(|at: usize| items.get(at)),
                other => other.get(&key),
            }
            .ok_or_else(missing)?;
        }
        // An anchor by name is not something that a path leads to.
        if !path.is_empty() && !path.starts_with('/') {
            return Err(missing());
        }
        Ok(found.clone())
    }
}

/// Whether nothing but annotations stands beside a keyword.
fn alone(schema: &Json, keyword: &str) -> bool {
    let others = schema.as_object().unwrap_or_default().iter().map(|(key, _)| key.as_str());
    others.filter(|key| *key != keyword).all(|key| ANNOTATIONS.contains(&key))
}

fn without(schema: &Json, keyword: &str) -> Json {
    let entries = schema.as_object().unwrap_or_default();
    Json::Object(entries.iter().filter(|(key, _)| key != keyword).cloned().collect())
}

fn list<'a>(schema: &'a Json, keyword: &str, place: &Place) -> Result<Option<&'a [Json]>, GrammarError> {
    match schema.get(keyword) {
        None => Ok(None),
        Some(Json::Array(parts)) if !parts.is_empty() => Ok(Some(parts)),
        Some(_) => Err(place.wrong(format!("`{keyword}` is not a list of schemas"))),
    }
}

/// A schema that says what both say: properties of both, required by either; for the rest, the second has the last word.
fn merge(first: &Json, second: &Json) -> Json {
    let (Some(first), Some(added)) = (first.as_object(), second.as_object()) else { return second.clone() };
    let mut merged = first.to_vec();
    for (key, value) in added {
        let Some((_, present)) = merged.iter_mut().find(|(name, _)| name == key) else {
            merged.push((key.clone(), value.clone()));
            continue;
        };
        *present = match (key.as_str(), &*present, value) {
            ("properties", Json::Object(have), Json::Object(more)) => Json::Object(merge_properties(have, more)),
            ("required" | "allOf", Json::Array(have), Json::Array(more)) => {
                // What comes twice does no harm.
                Json::Array(have.iter().chain(more).cloned().collect())
            }
            _ => value.clone(),
        };
    }
    Json::Object(merged)
}

/// The properties of both; one that both describe must satisfy both.
fn merge_properties(have: &[(String, Json)], more: &[(String, Json)]) -> Vec<(String, Json)> {
    let mut merged = have.to_vec();
    let places: HashMap<&str, usize> = have.iter().zip(0..).map(|((name, _), place)| (name.as_str(), place)).collect();
    for (name, value) in more {
        match places.get(name.as_str()) {
            Some(&place) if merged[place].1 != *value => {
                let both = vec![merged[place].1.clone(), value.clone()];
                merged[place].1 = Json::Object(vec![("allOf".to_owned(), Json::Array(both))]);
            }
            Some(_) => {}
            None => merged.push((name.clone(), value.clone())),
        }
    }
    merged
}
