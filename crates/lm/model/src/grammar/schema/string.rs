//! Strings: lengths, formats and patterns.

use super::{SchemaLocation, Writer, count, pattern, times};
use crate::grammar::error::GrammarError;
use crate::json::Json;

/// Formats as GBNF, between quotation marks.
const FORMATS: [(&str, &str); 4] = [
    ("date", DATE),
    ("time", TIME),
    ("date-time", concat!("DATE", " \"T\" ", "TIME")),
    ("uuid", r#"[0-9a-fA-F]{8} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{12}"#),
];

const DATE: &str = r#"[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])"#;
const TIME: &str = r#"([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])"#;

impl Writer<'_> {
    pub(super) fn string(&mut self, schema: &Json, location: &SchemaLocation) -> Result<String, GrammarError> {
        let min = count(schema, "minLength", location)?;
        let max = count(schema, "maxLength", location)?;
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            return Err(location.wrong("`maxLength` is below `minLength`"));
        }
        let lengths = min.is_some() || max.is_some();
        if let Some(pattern) = schema.get("pattern") {
            let pattern = pattern.as_str().ok_or_else(|| location.wrong("`pattern` is not a string"))?;
            if lengths {
                self.note(location, "minLength and maxLength with a pattern");
            }
            let char = self.primitive("char")?;
            let body = pattern::write(pattern, &char).map_err(|reason| location.wrong(reason))?;
            return Ok(format!("\"\\\"\" {body} \"\\\"\""));
        }
        if let Some(format) = schema.get("format") {
            let known = format.as_str().and_then(|format| FORMATS.iter().find(|(name, _)| *name == format));
            if let Some((_, body)) = known {
                let body = body.replace("DATE", DATE).replace("TIME", TIME);
                return Ok(format!("\"\\\"\" {body} \"\\\"\""));
            }
            self.note(location, "format");
        }
        if !lengths {
            return self.primitive("string");
        }
        let char = self.primitive("char")?;
        Ok(format!("\"\\\"\" {char}{} \"\\\"\"", times(min.unwrap_or(0), max)))
    }
}
