//! Stub.
pub mod native;
pub mod params;
