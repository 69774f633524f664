//! Comparison of fact values, which are text.

use std::cmp::Ordering;

/// Whether two values are equal as text or as integers, decimal or hexadecimal.
pub(crate) fn equal(a: &str, b: &str) -> bool {
    a == b || matches!((whole(a), whole(b)), (Some(a), Some(b)) if a == b)
}

/// Compares versions, numbers and sizes; `None` if a value is none of these.
pub fn compare(a: &str, b: &str) -> Option<Ordering> {
    let (a, b) = (numbers(a)?, numbers(b)?);
    let length = a.len().max(b.len());
    let padded = |numbers: &[u64]| (0..length).map(|at| numbers.get(at).copied().unwrap_or(0)).collect::<Vec<_>>();
    Some(padded(&a).cmp(&padded(&b)))
}

fn whole(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// An integer, or a size with a unit.
pub(crate) fn number(text: &str) -> Option<u64> {
    whole(text.trim()).or_else(|| size(text.trim()))
}

/// The numbers at the start of a version; a size is one number.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let text = text.trim();
    if let Some(number) = number(text) {
        return Some(vec![number]);
    }
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let mut numbers = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let Ok(number) = rest[..end].parse() else { break };
        numbers.push(number);
        match rest[end..].strip_prefix(['.', '-']) {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    (!numbers.is_empty()).then_some(numbers)
}

/// A size with a unit, in bytes: `1.5 GiB`.
fn size(text: &str) -> Option<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let (number, shift) = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))?;
    let number: f64 = number.trim().parse().ok()?;
    (number >= 0.0).then(|| (number * 2f64.powi(*shift)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_hexadecimal_numbers_compare_equal() {
        assert!(equal("0x83", "131"));
        assert!(equal("radeonsi", "radeonsi"));
        assert!(!equal("10.3.0", "10.3"), "a version is text unless it is compared");
        assert!(!equal("1", "true"));
    }

    #[test]
    fn versions_are_ordered_numerically() {
        let order = |a, b| compare(a, b).expect("both are versions");
        assert_eq!(order("6.18.4-arch1", "6.18.4"), Ordering::Equal);
        assert_eq!(order("6.9", "6.10"), Ordering::Less);
        assert_eq!(order("6.18.3-200.fc43.x86_64", "6.18.4"), Ordering::Less);
        assert_eq!(order("25.1", "25.1.0"), Ordering::Equal);
        assert_eq!(order("0x83", "0x80"), Ordering::Greater);
        assert_eq!(order("536870912", "1GiB"), Ordering::Less);
        assert_eq!(compare("auto", "6"), None);
    }
}
