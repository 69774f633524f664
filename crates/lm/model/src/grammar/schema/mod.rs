//! Conversion of JSON schemas to grammars.
//!
//! The grammar may be stricter than the schema. Where it is looser, it lists the keywords that it
//! does not enforce. Properties come in the order of the schema. Other properties are allowed only
//! if `additionalProperties` says so explicitly.

mod combine;
mod number;
mod object;
mod pattern;
mod primitive;
mod string;

use std::collections::HashMap;

use super::error::GrammarError;
use crate::json::Json;

/// The grammar of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaGrammar {
    /// Grammar text in llama.cpp's notation, GBNF.
    pub text: String,
    /// Keywords that the grammar does not enforce, with their locations.
    pub unchecked: Vec<String>,
}

/// Limits of one schema. Referenced schemas may be expanded repeatedly, so that a small schema
/// could otherwise cost any amount of work.
const MAX_RULES: usize = 10_000;
const MAX_BYTES: usize = 1 << 20;
const MAX_WORK: usize = 1 << 22;
const MAX_NOTES: usize = 100;
const MAX_DEPTH: usize = 64;

/// Constraints that the grammars cannot express.
const UNCHECKED: [&str; 14] = [
    "multipleOf",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "not",
    "if",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
    "patternProperties",
    "minProperties",
    "maxProperties",
];

pub(super) fn write(schema: &Json) -> Result<SchemaGrammar, GrammarError> {
    let mut writer = Writer {
        document: schema,
        rules: Vec::new(),
        names: HashMap::new(),
        references: HashMap::new(),
        unchecked: Vec::new(),
        bytes: 0,
        work: 0,
    };
    // Reserved first, so that no property rule gets this name.
    let root = writer.reserve("root");
    writer.references.insert("#".to_owned(), root.clone());
    let body = writer.value(schema, &SchemaLocation::root())?;
    writer.define(root, body)?;
    let text = writer.rules.iter().map(|(name, body)| format!("{name} ::= {body}\n")).collect();
    Ok(SchemaGrammar { text, unchecked: writer.unchecked })
}

/// Location in a schema, for error messages, and its depth.
#[derive(Clone, Debug)]
struct SchemaLocation {
    path: String,
    depth: usize,
}

impl SchemaLocation {
    fn root() -> Self {
        Self { path: "#".to_owned(), depth: 0 }
    }

    fn below(&self, key: &str) -> Self {
        Self { path: format!("{}/{key}", self.path), depth: self.depth + 1 }
    }

    fn wrong(&self, reason: impl Into<String>) -> GrammarError {
        GrammarError::Schema { path: self.path.clone(), reason: reason.into() }
    }
}

struct Writer<'a> {
    document: &'a Json,
    rules: Vec<(String, String)>,
    /// Number of rules per base name.
    names: HashMap<String, usize>,
    /// The rule of each `$ref` target.
    references: HashMap<String, String>,
    unchecked: Vec<String>,
    /// Total length of the rules in bytes.
    bytes: usize,
    /// Schema values visited, with repetitions.
    work: usize,
}

impl Writer<'_> {
    /// A unique rule name based on `base_name`.
    fn reserve(&mut self, base_name: &str) -> String {
        let plain: String =
            base_name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(48).collect();
        let plain = if plain.is_empty() { "empty".to_owned() } else { plain };
        // No other name has two dashes, because runs of dashes in property names are collapsed.
        let plain = plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
        let plain = if plain.is_empty() { "x".to_owned() } else { plain };
        let count = self.names.entry(plain.clone()).or_default();
        *count += 1;
        if *count == 1 { plain } else { format!("{plain}--{count}") }
    }

    fn define(&mut self, name: String, body: String) -> Result<(), GrammarError> {
        if self.rules.len() == MAX_RULES {
            return Err(GrammarError::TooLarge { what: "rules", limit: MAX_RULES });
        }
        self.bytes += body.len();
        if self.bytes > MAX_BYTES {
            return Err(GrammarError::TooLarge { what: "bytes", limit: MAX_BYTES });
        }
        self.rules.push((name, body));
        Ok(())
    }

    /// Adds a rule and returns its name.
    fn rule(&mut self, base_name: &str, body: String) -> Result<String, GrammarError> {
        let name = self.reserve(base_name);
        self.define(name.clone(), body)?;
        Ok(name)
    }

    /// Writes a schema as a rule of its own and returns the rule's name.
    fn value_rule(&mut self, schema: &Json, location: &SchemaLocation) -> Result<String, GrammarError> {
        let name = location.path.trim_start_matches("#/").replace("properties/", "");
        let body = self.value(schema, location)?;
        // An expression that is a rule name needs no second rule.
        if body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Ok(body);
        }
        self.rule(&name, body)
    }

    /// Writes a schema as the right-hand side of a rule.
    fn value(&mut self, schema: &Json, location: &SchemaLocation) -> Result<String, GrammarError> {
        if location.depth > MAX_DEPTH {
            return Err(location.wrong(format!("the schema is nested deeper than {MAX_DEPTH}")));
        }
        self.work += size(schema);
        if self.work > MAX_WORK {
            return Err(GrammarError::TooLarge { what: "visited schema values", limit: MAX_WORK });
        }
        let entries = match schema {
            Json::Bool(true) => return self.primitive("value"),
            Json::Bool(false) => return Err(location.wrong("no value satisfies `false`")),
            Json::Object(entries) => entries,
            _ => return Err(location.wrong("a schema must be an object or a boolean")),
        };
        for (keyword, _) in entries.iter().filter(|(keyword, _)| UNCHECKED.contains(&keyword.as_str())) {
            self.note(location, keyword);
        }
        if let Some(combined) = self.combined(schema, location)? {
            return Ok(combined);
        }
        if let Some(constant) = schema.get("const") {
            return Ok(literal(&constant.to_string()));
        }
        if let Some(values) = schema.get("enum") {
            let values = values.as_array().filter(|values| !values.is_empty());
            let values = values.ok_or_else(|| location.wrong("`enum` is not a non-empty array"))?;
            return Ok(alternatives(values.iter().map(|value| literal(&value.to_string()))));
        }
        let kinds = kinds(schema, location)?;
        let bodies: Result<Vec<String>, _> = kinds.iter().map(|kind| self.kind(kind, schema, location)).collect();
        Ok(alternatives(bodies?))
    }

    /// The values of one type.
    fn kind(&mut self, kind: &str, schema: &Json, location: &SchemaLocation) -> Result<String, GrammarError> {
        match kind {
            "object" => self.object(schema, location),
            "array" => self.array(schema, location),
            "string" => self.string(schema, location),
            "integer" => self.integer(schema, location),
            "number" => self.number(schema, location),
            "boolean" | "null" | "value" => self.primitive(kind),
            other => Err(location.wrong(format!("unknown type `{other}`"))),
        }
    }

    fn array(&mut self, schema: &Json, location: &SchemaLocation) -> Result<String, GrammarError> {
        let min = count(schema, "minItems", location)?.unwrap_or(0);
        let max = count(schema, "maxItems", location)?;
        if max.is_some_and(|max| max < min) {
            return Err(location.wrong("`maxItems` is below `minItems`"));
        }
        let space = self.primitive("space")?;
        let fixed = schema.get("prefixItems").and_then(Json::as_array).unwrap_or_default();
        let mut items = Vec::new();
        for (at, item) in fixed.iter().enumerate().take(max.unwrap_or(u32::MAX) as usize) {
            items.push(self.value_rule(item, &location.below(&format!("prefixItems/{at}")))?);
        }
        let other = match schema.get("items") {
            // An array with `prefixItems` has no further items unless it allows them.
            None if !items.is_empty() => None,
            Some(Json::Bool(false)) => None,
            None => Some(self.primitive("value")?),
            Some(item) => Some(self.value_rule(item, &location.below("items"))?),
        };
        let separator = format!("{space} \",\" {space}");
        let min_other = min.saturating_sub(items.len() as u32);
        let max_other = max.map(|max| max - items.len() as u32);
        let mut body = items.join(&format!(" {separator} "));
        match other {
            None if min_other > 0 => return Err(location.wrong("`minItems` is above the maximum number of items")),
            None => {}
            Some(_) if max_other == Some(0) => {}
            Some(other) if items.is_empty() => {
                let more = times(min.saturating_sub(1), max.map(|max| max - 1));
                body = format!("{other} ({separator} {other}){more}");
                if min == 0 {
                    body = format!("({body})?");
                }
            }
            Some(other) => body = format!("{body} ({separator} {other}){}", times(min_other, max_other)),
        }
        Ok(format!("\"[\" {space} {body} {space} \"]\""))
    }

    /// Lists a keyword that the grammar does not enforce.
    fn note(&mut self, location: &SchemaLocation, keyword: &str) {
        let note = format!("{}/{keyword}", location.path);
        if !self.unchecked.contains(&note) && self.unchecked.len() < MAX_NOTES {
            self.unchecked.push(note);
        }
    }
}

/// Number of values in a schema, with long strings counted as several: the cost of copying it.
fn size(schema: &Json) -> usize {
    1 + match schema {
        Json::String(text) => text.len() / 64,
        Json::Array(items) => items.iter().map(size).sum(),
        Json::Object(entries) => entries.iter().map(|(key, value)| key.len() / 64 + size(value)).sum(),
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

/// The types that a schema names, or those that its keywords apply to.
fn kinds(schema: &Json, location: &SchemaLocation) -> Result<Vec<String>, GrammarError> {
    let wrong = || location.wrong("`type` is not a name or a non-empty array of names");
    match schema.get("type") {
        Some(Json::String(kind)) => Ok(vec![kind.clone()]),
        Some(Json::Array(kinds)) if !kinds.is_empty() => {
            kinds.iter().map(|kind| kind.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
        None => {
            const HINTS: [(&str, &[&str]); 4] = [
                ("object", &["properties", "required", "additionalProperties"]),
                ("array", &["items", "prefixItems", "minItems", "maxItems"]),
                ("string", &["minLength", "maxLength", "pattern", "format"]),
                ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
            ];
            let hinted = HINTS.iter().find(|(_, words)| words.iter().any(|word| schema.get(word).is_some()));
            Ok(vec![hinted.map_or("value", |(kind, _)| kind).to_owned()])
        }
    }
}

/// The value of a keyword that is a count.
fn count(schema: &Json, keyword: &str, location: &SchemaLocation) -> Result<Option<u32>, GrammarError> {
    const MAX: u64 = 1 << 24;
    match schema.get(keyword) {
        None => Ok(None),
        Some(Json::Number(number)) => match number.as_u64() {
            Some(count) if count <= MAX => Ok(Some(count as u32)),
            _ => Err(location.wrong(format!("`{keyword}` is not an integer from 0 to {MAX}"))),
        },
        Some(_) => Err(location.wrong(format!("`{keyword}` is not a non-negative integer"))),
    }
}

/// The repetition operator for a range of counts.
fn times(min: u32, max: Option<u32>) -> String {
    match (min, max) {
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) if min == max => format!("{{{min}}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    }
}

/// `a | b`, in parentheses if there is more than one alternative.
fn alternatives(bodies: impl IntoIterator<Item = String>) -> String {
    let mut bodies: Vec<String> = bodies.into_iter().collect();
    bodies.dedup();
    match bodies.len() {
        1 => bodies.swap_remove(0),
        _ => format!("({})", bodies.join(" | ")),
    }
}

/// A text as a GBNF literal.
fn literal(text: &str) -> String {
    let mut literal = "\"".to_owned();
    for character in text.chars() {
        match character {
            '"' | '\\' => literal.extend(['\\', character]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            other => literal.push(other),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests;
