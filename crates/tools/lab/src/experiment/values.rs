//! Parses values: times, sizes, versions, placeholders.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Visitor};

use super::{Comparison, Range};

/// A string, number or boolean as text: `HSA_ENABLE_SDMA = 0` needs no quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scalar(pub(super) String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number or a boolean")
            }
            fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar(value.to_owned()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Parses `90`, `1.5s`, `10m`, `2h`, `500ms`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let text = text.trim();
    let unit = UNITS.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)));
    let (number, scale) = unit.unwrap_or((text, 1.0));
    let seconds = number.trim().parse::<f64>().ok().map(|number| number * scale);
    // One month. A longer time is a mistake, and could overflow a clock.
    let allowed = seconds.filter(|seconds| *seconds > 0.0 && *seconds <= 2_678_400.0);
    allowed
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("`{text}` is not a time; write `90s`, `10m`, `2h`, or a number of seconds"))
}

/// Parses `8GiB`, `512 MiB`, `1000000`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let text = text.trim();
    let unit = UNITS.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (number, shift) = unit.unwrap_or((text, 0));
    let number = number.trim().parse::<f64>().ok().map(|number| number * 2f64.powi(shift as i32));
    let allowed = number.filter(|number| *number >= 1.0 && *number < 2f64.powi(60));
    allowed.map(|number| number as u64).ok_or_else(|| format!("`{text}` is not a size; write `8GiB` or `512MiB`"))
}

/// Parses `>=6.16, <6.18`; empty is any version.
pub(super) fn range(text: &str) -> Result<Range, String> {
    const SIGNS: [(&str, Comparison); 6] = [
        (">=", Comparison::AtLeast),
        ("<=", Comparison::AtMost),
        ("!=", Comparison::IsNot),
        (">", Comparison::Above),
        ("<", Comparison::Below),
        ("=", Comparison::Is),
    ];
    let part = |part: &str| {
        let (version, comparison) = SIGNS
            .iter()
            .find_map(|(sign, comparison)| Some((part.strip_prefix(sign)?.trim(), *comparison)))
            .unwrap_or((part, Comparison::AtLeast));
        match version.starts_with(|c: char| c.is_ascii_digit()) {
            true => Ok((comparison, version.to_owned())),
            false => Err(format!("`{part}` is not a version; write `>=6.16` or `>=6.16, <6.18`")),
        }
    };
    text.split(',').map(str::trim).filter(|text| !text.is_empty()).map(part).collect::<Result<_, _>>().map(Range)
}

/// Parses `name=value`; without `=` any value.
pub(super) fn assignment(text: &str) -> (String, Option<String>) {
    match text.split_once('=') {
        Some((name, value)) => (name.trim().to_owned(), Some(value.trim().to_owned())),
        None => (text.trim().to_owned(), None),
    }
}

/// Replaces names in double braces, in one pass: values are not expanded again.
pub(super) fn fill(text: &str, values: &BTreeMap<String, String>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        filled.push_str(before);
        let is_name =
            |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        match behind.split_once("}}").map(|(name, behind)| (name.trim(), behind)).filter(|(name, _)| is_name(name)) {
            Some((name, behind)) => {
                match values.get(name).map(String::as_str) {
                    None => {
                        let why = format!("`{{{{{name}}}}}` is not a variable");
                        return Err(format!("{why}; add `{name} = \"…\"` to `[variables]`"));
                    }
                    Some("") => {
                        return Err(format!("the variable `{name}` has no value; set it: `--set {name}=VALUE`"));
                    }
                    Some(value) => filled.push_str(value),
                }
                rest = behind;
            }
            // Braces of another language.
            None => {
                filled.push_str("{{");
                rest = behind;
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The most similar known name, for suggestions.
pub(crate) fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let close = |known: &'a str| (strsim::jaro_winkler(name, known), known);
    let best = known.into_iter().map(close).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for wrong in ["", "s", "0", "-1s", "inf", "nan", "1e300h", "10 minutes"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(bytes("8GiB"), Ok(8 << 30));
        assert_eq!(bytes("0.5 KiB"), Ok(512));
        for wrong in ["", "GiB", "0", "-1", "1e40", "8GB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_are_lists_of_comparisons() {
        let is = |text: &str| range(text).map(|range| range.0);
        assert_eq!(is(">=6.16, <6.18").map(|parts| parts.len()), Ok(2));
        assert_eq!(is("6.16"), Ok(vec![(Comparison::AtLeast, "6.16".into())]));
        assert_eq!(is(""), Ok(vec![]));
        assert!(is(">= new").is_err());
    }

    #[test]
    fn placeholders_are_filled_once() {
        let values = [("model", "{{op}}"), ("op", "conv"), ("none", "")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let values = BTreeMap::from(values);
        assert_eq!(fill("-m {{model}} {{ op }}", &values).as_deref(), Ok("-m {{op}} conv"));
        assert_eq!(fill("{{}} {{ {a} }}", &values).as_deref(), Ok("{{}} {{ {a} }}"));
        assert!(fill("{{other}}", &values).is_err_and(|why| why.contains("{{other}}")));
        assert!(fill("{{none}}", &values).is_err_and(|why| why.contains("no value")));
    }

    #[test]
    fn misspelled_names_get_a_suggestion() {
        assert_eq!(near("strateegy", ["phase", "strategy", "metric"]), Some("strategy"));
        assert_eq!(near("zzz", ["phase"]), None);
    }
}
