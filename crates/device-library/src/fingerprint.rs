//! A fingerprint of a text, the same on every machine and with every version of Rust.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// The 64-bit FNV-1a hash of a text. It notices change, not malice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of some bytes.
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
    fn it_is_fnv_1a_and_reads_what_it_prints() {
        // From the list of test vectors of the hash's authors.
        assert_eq!(Fingerprint::of(b"").to_string(), "cbf29ce484222325");
        assert_eq!(Fingerprint::of(b"foobar").to_string(), "85944171f73967e8");
        assert_eq!("85944171f73967e8".parse(), Ok(Fingerprint::of(b"foobar")));
    }
}
