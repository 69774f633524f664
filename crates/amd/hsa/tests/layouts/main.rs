//! Compares layouts, constants and prototypes with the C headers of the HSA runtime by a C
//! compiler.
//!
//! Items that the installed headers lack must be on a list here, so a typo is not taken for a newer
//! item. Constants of a covered type that the headers have must exist here.

mod constants;
mod headers;
mod prototypes;
mod structs;

use headers::Headers;
use roci_testkit::{require, tools};

/// The headers and a C compiler, if both are installed.
fn headers() -> Option<Headers> {
    let compiler = require("clang", tools::clang())?;
    require("hsa-headers", Headers::find(compiler.path().to_owned()))
}
