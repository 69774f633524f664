//! How fast a device reads its memory: what limits how fast it writes tokens.

use std::time::Duration;

use roci_hal::Device;

use crate::commands::bench::measure::measure;
use crate::commands::bench::problems::{Problem, Sizes, Work};
use crate::error::CliError;

/// Bytes in a second, by the faster of the kernels that stream: `sum` only reads, `copy` reads and writes. The buffer is about as large as
/// what is read for a token, so that a cache that holds the model holds it too. Otherwise what is wrong with a result.
pub(super) fn bandwidth(device: &Device, bytes: u64, timeout: Duration) -> Result<Result<f64, String>, CliError> {
    let sizes = Sizes::streaming(device.info(), bytes);
    let mut best: f64 = 0.0;
    for problem in [Problem::Sum, Problem::Copy] {
        let seconds = match measure(problem, &sizes, device, timeout)? {
            Ok(seconds) => seconds,
            Err(wrong) => return Ok(Err(format!("{}: {wrong}", problem.name()))),
        };
        if let Work::Bytes(bytes) = problem.work(&sizes) {
            best = best.max(bytes as f64 / seconds);
        }
    }
    Ok(Ok(best))
}
