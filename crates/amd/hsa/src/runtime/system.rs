//! Attributes and extensions of the system.

#![expect(unsafe_code, reason = "calls the library")]

use std::time::Duration;

use super::attribute::{self, Value};
use super::{Error, Runtime, check};
use crate::abi::*;
use crate::c_string;

impl Runtime {
    /// Attribute as `V`; [`SystemInfo`] documents the type of each.
    pub fn get<V: Value>(&self, attribute: SystemInfo) -> Result<V, Error> {
        // SAFETY: the buffer is larger than every attribute.
        attribute::get("hsa_system_get_info", |value| unsafe { (self.api().hsa_system_get_info)(attribute, value) })
    }

    /// Major and minor version of the HSA specification.
    pub fn version(&self) -> Result<(u16, u16), Error> {
        Ok((self.get(SystemInfo::VERSION_MAJOR)?, self.get(SystemInfo::VERSION_MINOR)?))
    }

    /// Version string of the library.
    pub fn build_version(&self) -> Result<String, Error> {
        let address: usize = self.get(SystemInfo::BUILD_VERSION)?;
        // SAFETY: the value is the address of a static string of the library.
        let version = unsafe { c_string::copy(std::ptr::with_exposed_provenance(address)) };
        version.ok_or(Error::InvalidResult { call: "hsa_system_get_info", what: "no string" })
    }

    /// Current system clock in ticks.
    pub fn timestamp(&self) -> Result<u64, Error> {
        self.get(SystemInfo::TIMESTAMP)
    }

    /// System clock ticks per second.
    pub fn timestamp_frequency(&self) -> Result<u64, Error> {
        let frequency = self.get(SystemInfo::TIMESTAMP_FREQUENCY)?;
        if frequency == 0 {
            return Err(Error::InvalidResult { call: "hsa_system_get_info", what: "a clock of 0 Hz" });
        }
        Ok(frequency)
    }

    /// Converts a duration to ticks of a clock of `frequency` Hz, saturating.
    pub fn ticks(duration: Duration, frequency: u64) -> u64 {
        u64::try_from(duration.as_nanos().saturating_mul(u128::from(frequency)) / 1_000_000_000).unwrap_or(u64::MAX)
    }

    /// Minor version of an extension, if the library supports this major version.
    pub fn extension(&self, extension: Extension, major: u16) -> Result<Option<u16>, Error> {
        let (mut minor, mut supported) = (0, false);
        let get = self.api().hsa_system_major_extension_supported;
        // SAFETY: both results are valid for the writes.
        let status = unsafe { get(extension, major, &raw mut minor, &raw mut supported) };
        check("hsa_system_major_extension_supported", status)?;
        Ok(supported.then_some(minor))
    }

    /// Function table of AMD's loader extension; functions that the library lacks are `None`.
    pub fn loader_table(&self) -> Result<LoaderTable1_03, Error> {
        let mut table = LoaderTable1_03::default();
        let get = self.api().hsa_system_get_major_extension_table;
        // SAFETY: the library writes at most the passed size, and the table has the layout of the
        // extension.
        let status = unsafe { get(Extension::AMD_LOADER, 1, size_of::<LoaderTable1_03>(), (&raw mut table).cast()) };
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
