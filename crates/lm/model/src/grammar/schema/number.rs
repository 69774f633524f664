//! Numbers, and integer ranges.

use super::{SchemaLocation, Writer, alternatives};
use crate::grammar::error::GrammarError;
use crate::json::Json;

/// Largest magnitude of integers without an explicit limit: 16 digits.
const DEFAULT_LIMIT: u64 = 9_999_999_999_999_999;
/// Limits of a larger magnitude are ignored.
const IGNORED_ABOVE: f64 = 9e18;

impl Writer<'_> {
    /// Any number. Ranges of fractional numbers have no short grammar.
    pub(super) fn number(&mut self, schema: &Json, location: &SchemaLocation) -> Result<String, GrammarError> {
        for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
            if limit(schema, keyword, location)?.is_some() {
                self.note(location, keyword);
            }
        }
        self.primitive("number")
    }

    pub(super) fn integer(&mut self, schema: &Json, location: &SchemaLocation) -> Result<String, GrammarError> {
        let lowest = [
            limit(schema, "minimum", location)?,
            limit(schema, "exclusiveMinimum", location)?.map(|n| n.floor() + 1.0),
        ];
        let highest =
            [limit(schema, "maximum", location)?, limit(schema, "exclusiveMaximum", location)?.map(|n| n.ceil() - 1.0)];
        let lowest = lowest.into_iter().flatten().map(f64::ceil).reduce(f64::max).filter(|n| *n > -IGNORED_ABOVE);
        let highest = highest.into_iter().flatten().map(f64::floor).reduce(f64::min).filter(|n| *n < IGNORED_ABOVE);
        if lowest.is_none() && highest.is_none() {
            return self.primitive("integer");
        }
        let lowest = lowest.map_or(-(DEFAULT_LIMIT as i64), |n| n as i64);
        let highest = highest.map_or((DEFAULT_LIMIT as i64).max(lowest), |n| n as i64);
        let lowest = lowest.min(if schema.get("minimum").is_none() && schema.get("exclusiveMinimum").is_none() {
            highest
        } else {
            lowest
        });
        if lowest > highest {
            return Err(location.wrong(format!("no integer is between {lowest} and {highest}")));
        }
        let mut bodies = Vec::new();
        if lowest < 0 {
            let (least, most) = ((-1).min(highest).unsigned_abs(), lowest.unsigned_abs());
            bodies.push(format!("\"-\" {}", between(least, most)));
        }
        if highest >= 0 {
            bodies.push(between(lowest.max(0) as u64, highest as u64));
        }
        Ok(alternatives(bodies))
    }
}

fn limit(schema: &Json, keyword: &str, location: &SchemaLocation) -> Result<Option<f64>, GrammarError> {
    match schema.get(keyword) {
        None => Ok(None),
        Some(Json::Number(number)) => Ok(number.as_f64()),
        Some(_) => Err(location.wrong(format!("`{keyword}` is not a number"))),
    }
}

/// The integers from `least` to `most`, by number of digits.
fn between(least: u64, most: u64) -> String {
    let mut bodies = Vec::new();
    let mut from = least;
    loop {
        let digits = from.to_string().len() as u32;
        let to = 10u64.checked_pow(digits).map_or(most, |next| most.min(next - 1));
        let text = |number: u64| number.to_string().into_bytes();
        bodies.push(same_length(&text(from), &text(to)));
        if to == most {
            return alternatives(bodies);
        }
        from = to + 1;
    }
}

/// The integers between two limits with the same number of digits.
fn same_length(least: &[u8], most: &[u8]) -> String {
    let (Some((&low, lows)), Some((&high, highs))) = (least.split_first(), most.split_first()) else {
        return String::new();
    };
    let all_low = lows.iter().all(|&digit| digit == b'0');
    let all_high = highs.iter().all(|&digit| digit == b'9');
    if low == high && !(all_low && all_high) {
        return format!("{} {}", digits(low, low), same_length(lows, highs));
    }
    let any = |first: u8, last: u8| match lows.len() {
        0 => digits(first, last),
        count => format!("{} [0-9]{{{count}}}", digits(first, last)),
    };
    // Leading digits that allow any remaining digits; the first and the last may restrict them.
    let (mut first, mut last) = (low, high);
    let mut bodies = Vec::new();
    if !all_low {
        bodies.push(format!("{} {}", digits(low, low), same_length(lows, &vec![b'9'; lows.len()])));
        first += 1;
    }
    if !all_high {
        bodies.push(format!("{} {}", digits(high, high), same_length(&vec![b'0'; highs.len()], highs)));
        last -= 1;
    }
    if first <= last {
        bodies.push(any(first, last));
    }
    alternatives(bodies)
}

fn digits(first: u8, last: u8) -> String {
    let (first, last) = (char::from(first), char::from(last));
    if first == last { format!("\"{first}\"") } else { format!("[{first}-{last}]") }
}
