//! Dates in reports.

use jiff::Timestamp;

/// Formats milliseconds since 1970 as `2026-11-17 09:30 UTC`. Years before -9999 and after 9999 are
/// clamped.
pub(super) fn utc(milliseconds: i64) -> String {
    let limit = if milliseconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let time = Timestamp::from_millisecond(milliseconds).unwrap_or(limit);
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_become_dates() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(-1), "1969-12-31 23:59 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(utc(1_794_907_800_000), "2026-11-17 09:30 UTC");
        assert!(utc(i64::MIN).ends_with("UTC") && utc(i64::MAX).ends_with("UTC"));
    }
}
