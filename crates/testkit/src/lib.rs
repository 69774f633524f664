//! Stub.
pub mod opencl;
