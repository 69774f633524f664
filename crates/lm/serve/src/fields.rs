//! Typed access to request fields; errors name the field.
//!
//! `null` counts as absent, because clients in many languages send it for unset fields. `schema`
//! defines the known fields.

use std::ops::RangeInclusive;

use roci_lm::json::Json;

use crate::error::ApiError;

/// A JSON object of a request.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    entries: &'a [(String, Json)],
    path: String,
}

impl<'a> Fields<'a> {
    /// The object at `path`; an empty path is the whole body.
    pub(crate) fn of(value: &'a Json, path: impl Into<String>) -> Result<Self, ApiError> {
        let path = path.into();
        match value.as_object() {
            Some(entries) => Ok(Self { entries, path }),
            None => Err(wrong(path, "an object", value)),
        }
    }

    /// The full path of a field.
    pub(crate) fn name(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }

    pub(crate) fn get(&self, field: &str) -> Option<&'a Json> {
        self.entries
            .iter()
            .find(|(name, _)| name == field)
            .map(|(_, value)| value)
            .filter(|value| **value != Json::Null)
    }

    fn read<T>(
        &self,
        field: &str,
        expected: &str,
        read: impl FnOnce(&'a Json) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| wrong(self.name(field), expected, value))
    }

    pub(crate) fn text(&self, field: &str) -> Result<Option<&'a str>, ApiError> {
        self.read(field, "a string", Json::as_str)
    }

    pub(crate) fn flag(&self, field: &str) -> Result<Option<bool>, ApiError> {
        self.read(field, "`true` or `false`", |value| if let Json::Bool(flag) = value { Some(*flag) } else { None })
    }

    pub(crate) fn list(&self, field: &str) -> Result<Option<&'a [Json]>, ApiError> {
        self.read(field, "a list", Json::as_array)
    }

    pub(crate) fn object(&self, field: &str) -> Result<Option<Self>, ApiError> {
        self.get(field).map(|value| Self::of(value, self.name(field))).transpose()
    }

    pub(crate) fn entries(&self) -> &'a [(String, Json)] {
        self.entries
    }

    /// A float within a range.
    pub(crate) fn number(&self, field: &str, range: RangeInclusive<f64>) -> Result<Option<f32>, ApiError> {
        let number = self.read(field, "a number", number)?;
        match number {
            Some(number) if !range.contains(&number) => Err(outside(self.name(field), number, &range)),
            number => Ok(number.map(|number| number as f32)),
        }
    }

    /// An integer within a range. `3.0` counts as an integer.
    pub(crate) fn integer(&self, field: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, ApiError> {
        let integer = self.read(field, "an integer", integer)?;
        match integer {
            Some(integer) if !range.contains(&integer) => Err(outside(self.name(field), integer, &range)),
            integer => Ok(integer),
        }
    }

    /// A count between `least` and `most`.
    pub(crate) fn count(&self, field: &str, least: usize, most: usize) -> Result<Option<usize>, ApiError> {
        let as_signed = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let count = self.integer(field, as_signed(least)..=as_signed(most))?;
        Ok(count.and_then(|count| usize::try_from(count).ok()))
    }
}

/// Maximum length in characters of a client's name in an error message.
const MAX_SHOWN_CHARS: usize = 64;

/// A name from the client, sanitized for an error message.
pub(crate) fn shown(name: &str) -> String {
    match name.char_indices().nth(MAX_SHOWN_CHARS) {
        None if name.is_empty() => "\"\"".to_owned(),
        Some((end, _)) => format!("{}…", one_line(&name[..end])),
        None => one_line(name),
    }
}

/// Text from the client without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let printable = |character: char| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    text.chars().map(printable).collect()
}

/// The number, if the value is one.
pub(crate) fn number(value: &Json) -> Option<f64> {
    if let Json::Number(number) = value { number.as_f64() } else { None }
}

/// The integer, if the value is one.
pub(crate) fn integer(value: &Json) -> Option<i64> {
    let Json::Number(number) = value else { return None };
    number.as_i64().or_else(|| {
        let number = number.as_f64()?;
        // Larger floats cannot represent every integer.
        (number.fract() == 0.0 && number.abs() <= 9e15).then_some(number as i64)
    })
}

/// The token ID, if the value is one.
pub(crate) fn token(value: &Json) -> Option<u32> {
    integer(value).and_then(|integer| u32::try_from(integer).ok())
}

fn outside<T: std::fmt::Display>(name: String, value: T, range: &RangeInclusive<T>) -> ApiError {
    ApiError::field(name, format!("is {value}; it must be from {} to {}", range.start(), range.end()))
}

/// The error for a value of the wrong type.
pub(crate) fn wrong(name: impl Into<String>, expected: &str, value: &Json) -> ApiError {
    let kind = match value {
        Json::Null => "null",
        Json::Bool(_) => "a flag",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    };
    ApiError::field(name, format!("is {kind}; it must be {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_state_type_and_range() {
        let body = Json::parse(r#"{"a":"x","b":1.5,"c":{"d":[1]},"e":null,"f":3.0,"g":1e300}"#).expect("valid JSON");
        let fields = Fields::of(&body, "").expect("an object");
        assert_eq!(fields.text("a"), Ok(Some("x")));
        assert_eq!(fields.text("e"), Ok(None), "null is absent");
        assert_eq!(fields.integer("f", 0..=5), Ok(Some(3)));
        assert_eq!(fields.number("b", 0.0..=2.0), Ok(Some(1.5)));
        let message = |error: Result<(), ApiError>| error.expect_err("the value is invalid").message;
        assert_eq!(message(fields.flag("a").map(|_| ())), "`a` is a string; it must be `true` or `false`");
        assert_eq!(message(fields.integer("b", 0..=5).map(|_| ())), "`b` is a number; it must be an integer");
        assert_eq!(message(fields.integer("g", 0..=5).map(|_| ())), "`g` is a number; it must be an integer");
        assert_eq!(message(fields.count("f", 0, 2).map(|_| ())), "`f` is 3; it must be from 0 to 2");
        let inner = fields.object("c").expect("an object").expect("the field exists");
        assert_eq!(message(inner.text("d").map(|_| ())), "`c.d` is a list; it must be a string");
        assert_eq!(message(Fields::of(&Json::Null, "").map(|_| ())), "the body is null; it must be an object");
    }

    #[test]
    fn client_names_are_sanitized() {
        assert_eq!(shown("naïve key"), "naïve key");
        assert_eq!(shown(""), "\"\"");
        assert_eq!(shown("a\nb\u{7f}"), "a\\nb\\u{7f}");
        assert_eq!(shown(&"x".repeat(64)), "x".repeat(64));
        assert_eq!(shown(&"x".repeat(65)), format!("{}…", "x".repeat(64)));
    }
}
