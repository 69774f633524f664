//! Functions that Hugging Face chat templates use in addition to those of Jinja.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::time::SystemTime;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, PrettyFormatter, Serializer};

/// The message of `raise_exception`.
#[derive(Debug)]
pub(super) struct TemplateException(pub(super) String);

impl fmt::Display for TemplateException {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for TemplateException {}

pub(super) fn raise_exception(reason: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, reason.clone()).with_source(TemplateException(reason)))
}

/// `strftime_now`: the time in Python's `strftime` format, in the local time zone.
pub(super) fn strftime(format: &str, now: SystemTime) -> Result<String, Error> {
    let wrong = |error: jiff::Error| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {error}"));
    let zoned = jiff::Timestamp::try_from(now).map_err(wrong)?.to_zoned(jiff::tz::TimeZone::system());
    jiff::fmt::strtime::format(format, &zoned).map_err(wrong)
}

/// `tojson` as Python's `json.dumps` writes it: a space after commas and colons, and no escapes of
/// non-ASCII characters.
///
/// Jinja's own filter escapes `<` and others for HTML, which models were not trained on.
pub(super) fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<Value> = options.get("indent")?;
    let ascii: bool = options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false);
    let sorted: bool = options.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    let separators: Option<Vec<String>> = options.get("separators")?;
    options.assert_all_used()?;
    let indent = match indent {
        None => None,
        Some(indent) if indent.is_none() => None,
        Some(indent) => Some(match indent.as_str() {
            Some(text) => text.to_owned(),
            None => " ".repeat(usize::try_from(indent)?.min(64)),
        }),
    };
    let separators = separators.filter(|list| list.len() == 2);
    let plain = if indent.is_some() { "," } else { ", " };
    let [comma, colon] = match &separators {
        Some(list) => [list[0].as_str(), list[1].as_str()],
        None => [plain, ": "],
    };
    let value = if sorted { &sort(value) } else { value };
    let style = Python {
        indent: indent.as_deref().map(|indent| PrettyFormatter::with_indent(indent.as_bytes())),
        comma,
        colon,
        ascii,
    };
    let mut text = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut text, style));
    written.map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    String::from_utf8(text).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

/// The value with the keys of its objects sorted.
fn sort(value: &Value) -> Value {
    match value.kind() {
        ValueKind::Map => {
            let keys = value.try_iter().into_iter().flatten();
            let pairs: BTreeMap<String, Value> =
                keys.map(|key| (key.to_string(), sort(&value.get_item(&key).unwrap_or_default()))).collect();
            Value::from_pairs(pairs)
        }
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter().into_iter().flatten().map(|item| sort(&item)).collect()
        }
        _ => value.clone(),
    }
}

/// Python's JSON layout.
struct Python<'a> {
    indent: Option<PrettyFormatter<'a>>,
    comma: &'a str,
    colon: &'a str,
    ascii: bool,
}

impl Formatter for Python<'_> {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        match &mut self.indent {
            Some(pretty) => pretty.begin_array(writer),
            None => writer.write_all(b"["),
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        match &mut self.indent {
            Some(pretty) => pretty.end_array(writer),
            None => writer.write_all(b"]"),
        }
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if !first {
            writer.write_all(self.comma.as_bytes())?;
        }
        match &mut self.indent {
            // Reported as the first element, since the comma is written already.
            Some(pretty) => pretty.begin_array_value(writer, true),
            None => Ok(()),
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.indent.as_mut().map_or(Ok(()), |pretty| pretty.end_array_value(writer))
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        match &mut self.indent {
            Some(pretty) => pretty.begin_object(writer),
            None => writer.write_all(b"{"),
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        match &mut self.indent {
            Some(pretty) => pretty.end_object(writer),
            None => writer.write_all(b"}"),
        }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if !first {
            writer.write_all(self.comma.as_bytes())?;
        }
        self.indent.as_mut().map_or(Ok(()), |pretty| pretty.begin_object_key(writer, true))
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(self.colon.as_bytes())
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.indent.as_mut().map_or(Ok(()), |pretty| pretty.end_object_value(writer))
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> std::io::Result<()> {
        if !self.ascii {
            return writer.write_all(fragment.as_bytes());
        }
        for character in fragment.chars() {
            if character.is_ascii() {
                writer.write_all(&[character as u8])?;
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> std::io::Result<()> {
        serde_json::ser::CompactFormatter.write_char_escape(writer, escape)
    }
}

/// A value as Python's `str` writes it: `True`, `None`, `['a', 1]`.
pub(super) fn python_text(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None if value.is_undefined() => String::new(),
        None => python_literal(value),
    }
}

fn python_literal(value: &Value) -> String {
    let items = |value: &Value| -> Vec<Value> { value.try_iter().into_iter().flatten().collect() };
    match value.kind() {
        ValueKind::None => "None".to_owned(),
        ValueKind::Undefined => "Undefined".to_owned(),
        ValueKind::Bool => if value.is_true() { "True" } else { "False" }.to_owned(),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            // Python chooses the quotation mark that needs no escape.
            let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            let mut literal = String::from(quote);
            for character in text.chars() {
                match character {
                    '\n' => literal.push_str("\\n"),
                    '\r' => literal.push_str("\\r"),
                    '\t' => literal.push_str("\\t"),
                    '\\' => literal.push_str("\\\\"),
                    c if c == quote => literal.extend(['\\', c]),
                    c if c.is_control() => literal.push_str(&format!("\\x{:02x}", u32::from(c))),
                    c => literal.push(c),
                }
            }
            literal.push(quote);
            literal
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let list: Vec<String> = items(value).iter().map(python_literal).collect();
            format!("[{}]", list.join(", "))
        }
        ValueKind::Map => {
            let pair = |key: &Value| {
                format!("{}: {}", python_literal(key), python_literal(&value.get_item(key).unwrap_or_default()))
            };
            let pairs: Vec<String> = items(value).iter().map(pair).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        _ => value.to_string(),
    }
}
