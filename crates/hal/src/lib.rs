//! Stub.
pub mod native;
