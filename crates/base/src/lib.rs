//! Support code that is not part of the HAL: environment variables, error hints, the on-disk cache,
//! locks, panics, PCI addresses, sysfs and process exit.

#![deny(unsafe_code)]

pub mod cache;
pub mod env;
pub mod exit;
mod hint;
pub mod panics;
mod pci;
mod renamed_key;
pub mod sync;
pub mod sysfs;

pub use hint::Hint;
pub use pci::PciAddress;
