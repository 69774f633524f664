//! Writes the grammar of the texts that satisfy a JSON schema.
//!
//! What a grammar can express is held to. It may be stricter than the schema, never looser without saying so: keywords that it
//! does not hold a text to are listed. Properties come in the schema's order, and others only if `additionalProperties` allows them by name.

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
pub struct SchemaGrammar {
    /// As text, in llama.cpp's notation.
    pub text: String,
    /// Keywords that the grammar does not hold a text to, with their places.
    pub unchecked: Vec<String>,
}

/// Limits for one schema. Parts that are referred to again and again may be written again each time, so that a small schema could otherwise cost
/// any amount of work.
const MOST_RULES: usize = 10_000;
const MOST_BYTES: usize = 1 << 20;
const MOST_WORK: usize = 1 << 22;
const MOST_NOTES: usize = 100;
const DEEPEST: usize = 64;

/// Keywords that restrict values and that no grammar of ours expresses.
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
    // Its name first, so that no property takes it.
    let root = writer.reserve("root");
    writer.references.insert("#".to_owned(), root.clone());
    let body = writer.value(schema, &Place::root())?;
    writer.define(root, body)?;
    let text = writer.rules.iter().map(|(name, body)| format!("{name} ::= {body}\n")).collect();
    Ok(SchemaGrammar { text, unchecked: writer.unchecked })
}

/// Where in a schema something stands: how it is told to people, and how deep it is.
#[derive(Clone, Debug)]
struct Place {
    path: String,
    depth: usize,
}

impl Place {
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
    /// How many rules have each name.
    names: HashMap<String, usize>,
    /// The rule of each part of the document that a `$ref` names.
    references: HashMap<String, String>,
    unchecked: Vec<String>,
    /// How long the rules are together.
    bytes: usize,
    /// How many values of the schema were looked at, again and again.
    work: usize,
}

impl Writer<'_> {
    /// A rule's name made from `wanted`, taken by no other rule.
    fn reserve(&mut self, wanted: &str) -> String {
        let plain: String = wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(48).collect();
        let plain = if plain.is_empty() { "empty".to_owned() } else { plain };
        // Names with a number behind two dashes are made nowhere else, since properties' dashes are squeezed.
        let plain = plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
        let plain = if plain.is_empty() { "x".to_owned() } else { plain };
        let count = self.names.entry(plain.clone()).or_default();
        *count += 1;
        if *count == 1 { plain } else { format!("{plain}--{count}") }
    }

    fn define(&mut self, name: String, body: String) -> Result<(), GrammarError> {
        if self.rules.len() == MOST_RULES {
            return Err(GrammarError::TooLarge { what: "rules", limit: MOST_RULES });
        }
        self.bytes += body.len();
        if self.bytes > MOST_BYTES {
            return Err(GrammarError::TooLarge { what: "bytes", limit: MOST_BYTES });
        }
        self.rules.push((name, body));
        Ok(())
    }

    /// Adds a rule and gives its name.
    fn rule(&mut self, wanted: &str, body: String) -> Result<String, GrammarError> {
        let name = self.reserve(wanted);
        self.define(name.clone(), body)?;
        Ok(name)
    }

    /// A schema as a rule of its own; gives the rule's name.
    fn named(&mut self, schema: &Json, place: &Place) -> Result<String, GrammarError> {
        let wanted = place.path.trim_start_matches("#/").replace("properties/", "");
        let body = self.value(schema, place)?;
        // What is a rule already needs no second one.
        if body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Ok(body);
        }
        self.rule(&wanted, body)
    }

    /// A schema as what stands to the right of `::=`.
    fn value(&mut self, schema: &Json, place: &Place) -> Result<String, GrammarError> {
        if place.depth > DEEPEST {
            return Err(place.wrong(format!("it is nested deeper than {DEEPEST}")));
        }
        self.work += size(schema);
        if self.work > MOST_WORK {
            return Err(GrammarError::TooLarge { what: "values in its schema", limit: MOST_WORK });
        }
        let entries = match schema {
            Json::Bool(true) => return self.primitive("value"),
            Json::Bool(false) => return Err(place.wrong("no value satisfies `false`")),
            Json::Object(entries) => entries,
            _ => return Err(place.wrong("a schema is an object or a boolean")),
        };
        for (keyword, _) in entries.iter().filter(|(keyword, _)| UNCHECKED.contains(&keyword.as_str())) {
            self.note(place, keyword);
        }
        if let Some(combined) = self.combined(schema, place)? {
            return Ok(combined);
        }
        if let Some(constant) = schema.get("const") {
            return Ok(literal(&constant.to_string()));
        }
        if let Some(values) = schema.get("enum") {
            let values = values.as_array().filter(|values| !values.is_empty());
            let values = values.ok_or_else(|| place.wrong("`enum` is a list of at least one value"))?;
            return Ok(alternatives(values.iter().map(|value| literal(&value.to_string()))));
        }
        let kinds = kinds(schema, place)?;
        let bodies: Result<Vec<String>, _> = kinds.iter().map(|kind| self.kind(kind, schema, place)).collect();
        Ok(alternatives(bodies?))
    }

    /// The values of one type.
    fn kind(&mut self, kind: &str, schema: &Json, place: &Place) -> Result<String, GrammarError> {
        match kind {
            "object" => self.object(schema, place),
            "array" => self.array(schema, place),
            "string" => self.string(schema, place),
            "integer" => self.integer(schema, place),
            "number" => self.number(schema, place),
            "boolean" | "null" | "value" => self.primitive(kind),
            other => Err(place.wrong(format!("there is no type `{other}`"))),
        }
    }

    fn array(&mut self, schema: &Json, place: &Place) -> Result<String, GrammarError> {
        let min = count(schema, "minItems", place)?.unwrap_or(0);
        let max = count(schema, "maxItems", place)?;
        if max.is_some_and(|max| max < min) {
            return Err(place.wrong("`maxItems` is below `minItems`"));
        }
        let space = self.primitive("space")?;
        let fixed = schema.get("prefixItems").and_then(Json::as_array).unwrap_or_default();
        let mut items = Vec::new();
        for (at, item) in fixed.iter().enumerate().take(max.unwrap_or(u32::MAX) as usize) {
            items.push(self.named(item, &place.below(&format!("prefixItems/{at}")))?);
        }
        let other = match schema.get("items") {
            // A list that says how it starts has nothing else unless it says so.
            None if !items.is_empty() => None,
            Some(Json::Bool(false)) => None,
            None => Some(self.primitive("value")?),
            Some(item) => Some(self.named(item, &place.below("items"))?),
        };
        let separator = format!("{space} \",\" {space}");
        let min_other = min.saturating_sub(items.len() as u32);
        let max_other = max.map(|max| max - items.len() as u32);
        let mut body = items.join(&format!(" {separator} "));
        match other {
            None if min_other > 0 => return Err(place.wrong("`minItems` is above the number of items that may be")),
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

    /// Lists a keyword that the grammar does not hold a text to.
    fn note(&mut self, place: &Place, keyword: &str) {
        let note = format!("{}/{keyword}", place.path);
        if !self.unchecked.contains(&note) && self.unchecked.len() < MOST_NOTES {
            self.unchecked.push(note);
        }
    }
}

/// How many values a schema has, long texts counted as several: what it costs to copy.
fn size(schema: &Json) -> usize {
    1 + match schema {
        Json::String(text) => text.len() / 64,
        Json::Array(items) => items.iter().map(size).sum(),
        Json::Object(entries) => entries.iter().map(|(key, value)| key.len() / 64 + size(value)).sum(),
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

/// The types that a schema names, or those that its keywords are about.
fn kinds(schema: &Json, place: &Place) -> Result<Vec<String>, GrammarError> {
    let wrong = || place.wrong("`type` is a name, or a list of at least one");
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

/// The value of a keyword that counts something.
fn count(schema: &Json, keyword: &str, place: &Place) -> Result<Option<u32>, GrammarError> {
    const MOST: u64 = 1 << 24;
    match schema.get(keyword) {
        None => Ok(None),
        Some(Json::Number(number)) => match number.as_u64() {
            Some(count) if count <= MOST => Ok(Some(count as u32)),
            _ => Err(place.wrong(format!("`{keyword}` is not a count of at most {MOST}"))),
        },
        Some(_) => Err(place.wrong(format!("`{keyword}` is not a count"))),
    }
}

/// How often something comes, as it is written behind it.
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

/// `a | b`, in parentheses if there is more than one.
fn alternatives(bodies: impl IntoIterator<Item = String>) -> String {
    let mut bodies: Vec<String> = bodies.into_iter().collect();
    bodies.dedup();
    match bodies.len() {
        1 => bodies.swap_remove(0),
        _ => format!("({})", bodies.join(" | ")),
    }
}

/// A text as a literal of the grammar.
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
