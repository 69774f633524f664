//! Fields of a request, each with its name for messages.
//!
//! `null` counts as absent, as clients in many languages send it so. Which fields there are, `schema` says.

use std::ops::RangeInclusive;

use roci_llm::json::Json;

use crate::error::ApiError;

/// An object of a request.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    entries: &'a [(String, Json)],
    path: String,
}

impl<'a> Fields<'a> {
    /// The object at `path`; the empty path is the whole body.
    pub(crate) fn of(value: &'a Json, path: impl Into<String>) -> Result<Self, ApiError> {
        let path = path.into();
        match value.as_object() {
            Some(entries) => Ok(Self { entries, path }),
            None => Err(wrong(path, "an object", value)),
        }
    }

    /// A field's whole name.
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
        wanted: &str,
        read: impl FnOnce(&'a Json) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| wrong(self.name(field), wanted, value))
    }

    pub(crate) fn text(&self, field: &str) -> Result<Option<&'a str>, ApiError> {
        self.read(field, "a text", Json::as_str)
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

    /// A number within a range.
    pub(crate) fn number(&self, field: &str, range: RangeInclusive<f64>) -> Result<Option<f32>, ApiError> {
        let number = self.read(field, "a number", number)?;
        match number {
            Some(number) if !range.contains(&number) => Err(outside(self.name(field), number, &range)),
            number => Ok(number.map(|number| number as f32)),
        }
    }

    /// A whole number within a range; `3.0` is one too.
    pub(crate) fn whole(&self, field: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, ApiError> {
        let whole = self.read(field, "a whole number", whole)?;
        match whole {
            Some(whole) if !range.contains(&whole) => Err(outside(self.name(field), whole, &range)),
            whole => Ok(whole),
        }
    }

    /// A number of something, up to `most`.
    pub(crate) fn count(&self, field: &str, least: usize, most: usize) -> Result<Option<usize>, ApiError> {
        let as_signed = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let count = self.whole(field, as_signed(least)..=as_signed(most))?;
        Ok(count.and_then(|count| usize::try_from(count).ok()))
    }
}

/// The longest name that is repeated in a message, in characters.
const LONGEST_SHOWN: usize = 64;

/// A name that the client chose, fit for a message.
pub(crate) fn shown(name: &str) -> String {
    match name.char_indices().nth(LONGEST_SHOWN) {
        None if name.is_empty() => "\"\"".to_owned(),
        Some((end, _)) => format!("{}…", one_line(&name[..end])),
        None => one_line(name),
    }
}

/// A text of the client without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let printable = |character: char| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    text.chars().map(printable).collect()
}

/// A number, if this is one.
pub(crate) fn number(value: &Json) -> Option<f64> {
    if let Json::Number(number) = value { number.as_f64() } else { None }
}

/// A whole number, if this is one.
pub(crate) fn whole(value: &Json) -> Option<i64> {
    let Json::Number(number) = value else { return None };
    number.as_i64().or_else(|| {
        let number = number.as_f64()?;
        // Beyond this, floats skip whole numbers.
        (number.fract() == 0.0 && number.abs() <= 9e15).then_some(number as i64)
    })
}

/// A token's number, if this is one.
pub(crate) fn token(value: &Json) -> Option<u32> {
    whole(value).and_then(|whole| u32::try_from(whole).ok())
}

fn outside<T: std::fmt::Display>(name: String, value: T, range: &RangeInclusive<T>) -> ApiError {
    ApiError::field(name, format!("is {value}; it must be from {} to {}", range.start(), range.end()))
}

/// The error of a value of the wrong kind.
pub(crate) fn wrong(name: impl Into<String>, wanted: &str, value: &Json) -> ApiError {
    let kind = match value {
        Json::Null => "null",
        Json::Bool(_) => "a flag",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    };
    ApiError::field(name, format!("is {kind}; it must be {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_ranges_are_named() {
        let body = Json::parse(r#"{"a":"x","b":1.5,"c":{"d":[1]},"e":null,"f":3.0,"g":1e300}"#).expect("it is JSON");
        let fields = Fields::of(&body, "").expect("it is an object");
        assert_eq!(fields.text("a"), Ok(Some("x")));
        assert_eq!(fields.text("e"), Ok(None), "null is absent");
        assert_eq!(fields.whole("f", 0..=5), Ok(Some(3)));
        assert_eq!(fields.number("b", 0.0..=2.0), Ok(Some(1.5)));
        let message = |error: Result<(), ApiError>| error.expect_err("it is wrong").message;
        assert_eq!(message(fields.flag("a").map(|_| ())), "`a` is a text; it must be `true` or `false`");
        assert_eq!(message(fields.whole("b", 0..=5).map(|_| ())), "`b` is a number; it must be a whole number");
        assert_eq!(message(fields.whole("g", 0..=5).map(|_| ())), "`g` is a number; it must be a whole number");
        assert_eq!(message(fields.count("f", 0, 2).map(|_| ())), "`f` is 3; it must be from 0 to 2");
        let inner = fields.object("c").expect("it is an object").expect("it is there");
        assert_eq!(message(inner.text("d").map(|_| ())), "`c.d` is a list; it must be a text");
        assert_eq!(message(Fields::of(&Json::Null, "").map(|_| ())), "the body is null; it must be an object");
    }

    #[test]
    fn names_of_clients_fit_in_one_line() {
        assert_eq!(shown("naïve key"), "naïve key");
        assert_eq!(shown(""), "\"\"");
        assert_eq!(shown("a\nb\u{7f}"), "a\\nb\\u{7f}");
        assert_eq!(shown(&"x".repeat(64)), "x".repeat(64));
        assert_eq!(shown(&"x".repeat(65)), format!("{}…", "x".repeat(64)));
    }
}
