//! Layouts, constants and prototypes against the C headers of the HSA runtime, by a C compiler.
//!
//! What we have and these headers lack must be on a list here, so that a typing error is not taken for something new;
//! what the headers have in a family of constants that we cover must be ours.

mod constants;
mod headers;
mod prototypes;
mod structs;

use headers::Headers;
use roci_testkit::{require, tools};

/// The headers and a C compiler, if both are there.
fn headers() -> Option<Headers> {
    let compiler = require("clang", tools::clang())?;
    require("hsa-headers", Headers::find(compiler.path().to_owned()))
}
