//! The system as a whole.

#![expect(unsafe_code, reason = "calls the library")]

use std::time::Duration;

use super::attribute::{self, Value};
use super::{Error, Runtime, check};
use crate::abi::*;
use crate::text;

impl Runtime {
    /// An attribute, read as `V`.
    pub fn get<V: Value>(&self, attribute: SystemInfo) -> Result<V, Error> {
        // SAFETY: the room is larger than every answer.
        attribute::get("hsa_system_get_info", |value| unsafe { (self.api().hsa_system_get_info)(attribute, value) })
    }

    /// Major and minor version of the specification that the library follows.
    pub fn version(&self) -> Result<(u16, u16), Error> {
        Ok((self.get(SystemInfo::VERSION_MAJOR)?, self.get(SystemInfo::VERSION_MINOR)?))
    }

    /// The library's own version, as it words it.
    pub fn build_version(&self) -> Result<String, Error> {
        let address: usize = self.get(SystemInfo::BUILD_VERSION)?;
        // SAFETY: the answer is the address of a text that the library keeps.
        let text = unsafe { text::copy(std::ptr::with_exposed_provenance(address)) };
        text.ok_or(Error::Answer { call: "hsa_system_get_info", what: "no text" })
    }

    /// The clock now, in ticks.
    pub fn timestamp(&self) -> Result<u64, Error> {
        self.get(SystemInfo::TIMESTAMP)
    }

    /// Ticks of the clock in a second.
    pub fn timestamp_frequency(&self) -> Result<u64, Error> {
        let frequency = self.get(SystemInfo::TIMESTAMP_FREQUENCY)?;
        if frequency == 0 {
            return Err(Error::Answer { call: "hsa_system_get_info", what: "a clock of 0 Hz" });
        }
        Ok(frequency)
    }

    /// A duration in ticks of a clock of `frequency` Hz, at most the longest that waits take.
    pub fn ticks(duration: Duration, frequency: u64) -> u64 {
        u64::try_from(duration.as_nanos().saturating_mul(u128::from(frequency)) / 1_000_000_000).unwrap_or(u64::MAX)
    }

    /// Whether the library has this major version of an extension, and then its minor version.
    pub fn extension(&self, extension: Extension, major: u16) -> Result<Option<u16>, Error> {
        let (mut minor, mut supported) = (0, false);
        let ask = self.api().hsa_system_major_extension_supported;
        // SAFETY: both answers have their places.
        let status = unsafe { ask(extension, major, &raw mut minor, &raw mut supported) };
        check("hsa_system_major_extension_supported", status)?;
        Ok(supported.then_some(minor))
    }

    /// The table of AMD's loader; slots that the library does not know are `None`.
    pub fn loader_table(&self) -> Result<LoaderTable1_03, Error> {
        let mut table = LoaderTable1_03::default();
        let ask = self.api().hsa_system_get_major_extension_table;
        // SAFETY: the library writes at most the bytes of this table, whose layout is the extension's.
        let status = unsafe { ask(Extension::AMD_LOADER, 1, size_of::<LoaderTable1_03>(), (&raw mut table).cast()) };
        check("hsa_system_get_major_extension_table", status)?;
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_become_ticks_without_overflow() {
        assert_eq!(Runtime::ticks(Duration::from_micros(5), 100_000_000), 500);
        assert_eq!(Runtime::ticks(Duration::ZERO, 100_000_000), 0);
        assert_eq!(Runtime::ticks(Duration::MAX, u64::MAX), u64::MAX);
    }
}
