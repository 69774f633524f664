//! Objects: properties in order, with commas between those that are present.

use std::collections::HashSet;

use super::{SchemaLocation, Writer, literal};
use crate::grammar::error::GrammarError;
use crate::json::Json;

impl Writer<'_> {
    pub(super) fn object(&mut self, schema: &Json, location: &SchemaLocation) -> Result<String, GrammarError> {
        let properties = match schema.get("properties") {
            None => &[],
            Some(properties) => {
                properties.as_object().ok_or_else(|| location.wrong("`properties` is not an object"))?
            }
        };
        let required = required(schema, location)?;
        // A required property without a schema may have any value.
        let described: HashSet<&str> = properties.iter().map(|(name, _)| name.as_str()).collect();
        let undescribed: Vec<&str> = required.iter().copied().filter(|name| !described.contains(name)).collect();
        let required: HashSet<&str> = required.into_iter().collect();
        let extra = match schema.get("additionalProperties") {
            Some(Json::Bool(false)) => None,
            // Described properties are written even if they are not required, unless the schema
            // says otherwise.
            None if !properties.is_empty() || !undescribed.is_empty() => None,
            None => Some(Json::Bool(true)),
            Some(extra) => Some(extra.clone()),
        };
        if properties.is_empty() && undescribed.is_empty() && extra == Some(Json::Bool(true)) {
            return self.primitive("object");
        }
        let any = Json::Bool(true);
        let members = properties.iter().map(|(name, value)| (name.as_str(), value));
        let members: Vec<(&str, &Json)> = members.chain(undescribed.iter().map(|&name| (name, &any))).collect();
        let mut pairs = Vec::new();
        for &(name, value) in &members {
            let below = location.below(&format!("properties/{name}"));
            let pair = match value {
                // A property whose schema is `false` is omitted.
                Json::Bool(false) if !required.contains(name) => continue,
                value => self.pair(&literal(&Json::from(name).to_string()), value, &below)?,
            };
            pairs.push((pair, required.contains(name)));
        }
        let extra = match extra {
            None => None,
            Some(extra) => {
                let names: Vec<&str> = members.iter().map(|&(name, _)| name).collect();
                let key = if names.is_empty() { self.primitive("string")? } else { self.other_key(&names, location)? };
                Some(self.pair(&key, &extra, &location.below("additionalProperties"))?)
            }
        };
        let space = self.primitive("space")?;
        let body = self.members(&pairs, extra.as_deref(), &format!("{space} \",\" {space}"), location)?;
        Ok(format!("\"{{\" {space} {body} {space} \"}}\""))
    }

    /// A rule for a key, a colon and a value.
    fn pair(&mut self, key: &str, value: &Json, location: &SchemaLocation) -> Result<String, GrammarError> {
        let value = self.value_rule(value, location)?;
        let space = self.primitive("space")?;
        let name = format!("{}-pair", location.path.trim_start_matches("#/").replace("properties/", ""));
        self.rule(&name, format!("{key} {space} \":\" {space} {value}"))
    }

    /// The properties in order, with optional ones left out or not, then any number of additional
    /// ones.
    ///
    /// Each property after the first includes its comma. There is one rule per property for what
    /// may follow it, and the start is a choice of the first property: the number of alternatives
    /// is linear, not all subsets.
    fn members(
        &mut self,
        pairs: &[(String, bool)],
        extra: Option<&str>,
        separator: &str,
        location: &SchemaLocation,
    ) -> Result<String, GrammarError> {
        let name = format!("{}-rest", location.path.trim_start_matches("#/").replace("properties/", ""));
        let mut rest = match extra {
            Some(extra) => self.rule(&name, format!("({separator} {extra})*"))?,
            None => String::new(),
        };
        let mut firsts = Vec::new();
        if let Some(extra) = extra {
            firsts.push(format!("{extra} {rest}"));
        }
        let mut may_be_empty = true;
        for (pair, required) in pairs.iter().rev() {
            if *required {
                // A required property: no later one can come first.
                firsts.clear();
                may_be_empty = false;
            }
            firsts.push(format!("{pair} {rest}"));
            let this = if *required { format!("{separator} {pair}") } else { format!("({separator} {pair})?") };
            rest = self.rule(&name, format!("{this} {rest}"))?;
        }
        firsts.reverse();
        Ok(match (firsts.is_empty(), may_be_empty) {
            (true, _) => String::new(),
            (false, true) => format!("({})?", firsts.join(" | ")),
            (false, false) => format!("({})", firsts.join(" | ")),
        })
    }

    /// A key other than `names`, without escapes while it could still become one of them.
    fn other_key(&mut self, names: &[&str], location: &SchemaLocation) -> Result<String, GrammarError> {
        let char = self.primitive("char")?;
        let name = format!("{}-key", location.path.trim_start_matches("#/").replace("properties/", ""));
        let mut names: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
        names.sort();
        let names: Vec<&[char]> = names.iter().map(Vec::as_slice).collect();
        let body = self.other_than(&names, &char, &name, location, 0)?;
        Ok(format!("\"\\\"\" {body} \"\\\"\""))
    }

    /// The rest of a string that must not complete any of these sorted names.
    fn other_than(
        &mut self,
        names: &[&[char]],
        char: &str,
        base_name: &str,
        location: &SchemaLocation,
        depth: usize,
    ) -> Result<String, GrammarError> {
        const MAX_NAME_CHARS: usize = 256;
        if depth > MAX_NAME_CHARS {
            return Err(location.wrong(format!(
                "names of more than {MAX_NAME_CHARS} characters are not supported with `additionalProperties`"
            )));
        }
        let ends_here = names.first().is_some_and(|name| name.is_empty());
        let longer: Vec<&[char]> = names.iter().copied().filter(|name| !name.is_empty()).collect();
        let mut bodies = Vec::new();
        if !ends_here {
            bodies.push("\"\"".to_owned());
        }
        let firsts: String = longer.iter().map(|name| super::pattern::class_character(name[0])).collect();
        bodies.push(format!("[^\"\\\\\\x00-\\x1F\\x7F{firsts}] {char}*"));
        for alike in longer.chunk_by(|a, b| a[0] == b[0]) {
            let rests: Vec<&[char]> = alike.iter().map(|name| &name[1..]).collect();
            let rest = self.other_than(&rests, char, base_name, location, depth + 1)?;
            bodies.push(format!("{} {rest}", literal(&alike[0][0].to_string())));
        }
        self.rule(base_name, bodies.join(" | "))
    }
}

/// The names that a schema requires.
fn required<'a>(schema: &'a Json, location: &SchemaLocation) -> Result<Vec<&'a str>, GrammarError> {
    let wrong = || location.wrong("`required` is not an array of names");
    let Some(required) = schema.get("required") else { return Ok(Vec::new()) };
    let mut seen = HashSet::new();
    let mut names: Vec<&str> = Vec::new();
    for name in required.as_array().ok_or_else(wrong)? {
        let name = name.as_str().ok_or_else(wrong)?;
        if seen.insert(name) {
            names.push(name);
        }
    }
    Ok(names)
}
