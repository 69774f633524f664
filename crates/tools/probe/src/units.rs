//! Formats numbers with units.

/// Bytes in binary units.
pub fn bytes(count: u64) -> String {
    let steps = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match steps.iter().find(|(_, step)| count >= *step) {
        Some((unit, step)) => format!("{:.1} {unit}", count as f64 / *step as f64),
        None => format!("{count} B"),
    }
}

/// A count with a decimal prefix: 4.11 G.
pub fn count(number: u64) -> String {
    let steps = [("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)];
    match steps.iter().find(|(_, step)| number as f64 >= *step) {
        Some((unit, step)) => format!("{:.2} {unit}", number as f64 / step),
        None => number.to_string(),
    }
}

/// Seconds, milliseconds or microseconds, with one to three digits before the point.
pub fn seconds(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{:.1} us", seconds * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_at_their_thresholds() {
        assert_eq!([bytes(1023), bytes(1024), bytes(3 << 29)], ["1023 B", "1.0 KiB", "1.5 GiB"]);
        assert_eq!([count(999), count(1000), count(4_111_000_000)], ["999", "1.00 k", "4.11 G"]);
        assert_eq!([seconds(2.5), seconds(0.0123), seconds(0.000_004_5)], ["2.50 s", "12.30 ms", "4.5 us"]);
    }
}
