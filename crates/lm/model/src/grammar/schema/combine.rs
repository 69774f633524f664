//! Schema composition: `$ref`, `allOf`, `anyOf`, `oneOf`.

use std::collections::HashMap;

use super::{SchemaLocation, Writer, alternatives};
use crate::grammar::error::GrammarError;
use crate::json::Json;

/// Annotations: keywords that do not constrain values.
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
    /// The expression of a composed schema; `None` if the schema is not composed.
    pub(super) fn combined(
        &mut self,
        schema: &Json,
        location: &SchemaLocation,
    ) -> Result<Option<String>, GrammarError> {
        if let Some(reference) = schema.get("$ref") {
            let reference = reference.as_str().ok_or_else(|| location.wrong("`$ref` is not a string"))?;
            if alone(schema, "$ref") {
                return self.reference(reference, location).map(Some);
            }
            // Sibling keywords apply as well.
            let target = self.target(reference, location)?;
            return self.value(&merge(&without(schema, "$ref"), &target), &location.below("$ref")).map(Some);
        }
        if let Some(parts) = list(schema, "allOf", location)? {
            let mut whole = without(schema, "allOf");
            for part in parts {
                let part = match part.get("$ref").and_then(Json::as_str) {
                    Some(reference) => merge(&without(part, "$ref"), &self.target(reference, location)?),
                    None => part.clone(),
                };
                whole = merge(&whole, &part);
            }
            return self.value(&whole, &location.below("allOf")).map(Some);
        }
        for keyword in ["anyOf", "oneOf"] {
            let Some(parts) = list(schema, keyword, location)? else { continue };
            let beside = without(schema, keyword);
            let beside = (!alone(schema, keyword)).then_some(beside);
            let mut bodies = Vec::new();
            for (at, part) in parts.iter().enumerate() {
                let location = location.below(&format!("{keyword}/{at}"));
                let whole = match &beside {
                    Some(beside) => merge(beside, &self.resolved(part, &location)?),
                    None => part.clone(),
                };
                bodies.push(self.value_rule(&whole, &location)?);
            }
            return Ok(Some(alternatives(bodies)));
        }
        Ok(None)
    }

    /// A schema, or the target of its reference if it consists of one.
    fn resolved(&self, schema: &Json, location: &SchemaLocation) -> Result<Json, GrammarError> {
        match schema.get("$ref").and_then(Json::as_str) {
            Some(reference) => Ok(merge(&without(schema, "$ref"), &self.target(reference, location)?)),
            None => Ok(schema.clone()),
        }
    }

    /// The rule of a reference's target, added on first use.
    fn reference(&mut self, reference: &str, location: &SchemaLocation) -> Result<String, GrammarError> {
        if let Some(name) = self.references.get(reference) {
            return Ok(name.clone());
        }
        let target = self.target(reference, location)?;
        let name = self.reserve(reference.rsplit('/').next().unwrap_or("ref"));
        // Registered first, because the target may reference itself.
        self.references.insert(reference.to_owned(), name.clone());
        let below = SchemaLocation { path: reference.to_owned(), depth: location.depth + 1 };
        let body = self.value(&target, &below)?;
        self.define(name.clone(), body)?;
        Ok(name)
    }

    /// The target of a reference.
    fn target(&self, reference: &str, location: &SchemaLocation) -> Result<Json, GrammarError> {
        let Some(path) = reference.strip_prefix('#') else {
            return Err(location.wrong(format!("`$ref` to `{reference}`, which is outside the schema")));
        };
        let missing = || location.wrong(format!("`$ref` to `{reference}`, which does not exist in the schema"));
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
        // Named anchors are not JSON pointers.
        if !path.is_empty() && !path.starts_with('/') {
            return Err(missing());
        }
        Ok(found.clone())
    }
}

/// Whether a keyword has no siblings except annotations.
fn alone(schema: &Json, keyword: &str) -> bool {
    let others = schema.as_object().unwrap_or_default().iter().map(|(key, _)| key.as_str());
    others.filter(|key| *key != keyword).all(|key| ANNOTATIONS.contains(&key))
}

fn without(schema: &Json, keyword: &str) -> Json {
    let entries = schema.as_object().unwrap_or_default();
    Json::Object(entries.iter().filter(|(key, _)| key != keyword).cloned().collect())
}

fn list<'a>(schema: &'a Json, keyword: &str, location: &SchemaLocation) -> Result<Option<&'a [Json]>, GrammarError> {
    match schema.get(keyword) {
        None => Ok(None),
        Some(Json::Array(parts)) if !parts.is_empty() => Ok(Some(parts)),
        Some(_) => Err(location.wrong(format!("`{keyword}` is not an array of schemas"))),
    }
}

/// The conjunction of two schemas: properties of both, required by either. For other keywords the
/// second schema wins.
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
                // Duplicates are harmless.
                Json::Array(have.iter().chain(more).cloned().collect())
            }
            _ => value.clone(),
        };
    }
    Json::Object(merged)
}

/// The properties of both. A property in both must satisfy both.
fn merge_properties(have: &[(String, Json)], more: &[(String, Json)]) -> Vec<(String, Json)> {
    let mut merged = have.to_vec();
    let indices: HashMap<&str, usize> = have.iter().zip(0..).map(|((name, _), index)| (name.as_str(), index)).collect();
    for (name, value) in more {
        match indices.get(name.as_str()) {
            Some(&index) if merged[index].1 != *value => {
                let both = vec![merged[index].1.clone(), value.clone()];
                merged[index].1 = Json::Object(vec![("allOf".to_owned(), Json::Array(both))]);
            }
            Some(_) => {}
            None => merged.push((name.clone(), value.clone())),
        }
    }
    merged
}
