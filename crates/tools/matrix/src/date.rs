//! Dates as text.

use jiff::Timestamp;

/// Formats seconds since 1970 as `2026-11-17 09:30 UTC`.
pub(crate) fn utc(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%d %H:%M UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_in_utc() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(utc(1_794_907_800), "2026-11-17 09:30 UTC");
        assert!(utc(u64::MAX).starts_with("9999-12-3"));
    }
}
