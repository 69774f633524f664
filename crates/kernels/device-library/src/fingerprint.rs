//! A content fingerprint that is stable across machines and versions of Rust.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// A 64-bit FNV-1a hash. It detects changes but is not cryptographic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Hashes `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mix = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_fnv_1a_and_round_trip() {
        // Published FNV-1a test vectors.
        assert_eq!(Fingerprint::of(b"").to_string(), "cbf29ce484222325");
        assert_eq!(Fingerprint::of(b"foobar").to_string(), "85944171f73967e8");
        assert_eq!("85944171f73967e8".parse(), Ok(Fingerprint::of(b"foobar")));
    }
}
