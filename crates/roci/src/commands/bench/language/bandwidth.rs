//! Measures memory bandwidth, which limits decode.

use std::time::Duration;

use roci_hal::Device;
use roci_probe::WorkAmount;
use roci_probe::bench::{Benchmark, BenchmarkSizes, measure};

use crate::error::CliError;
use crate::interrupt;

/// Bytes per second of the faster streaming kernel: `sum` only reads, `copy` reads and writes. The
/// buffer has about the size of the weights that a token reads, so that it fits into the same
/// caches. The inner error is a wrong result.
pub(super) fn bandwidth(device: &Device, bytes: u64, timeout: Duration) -> Result<Result<f64, String>, CliError> {
    let sizes = BenchmarkSizes::streaming(device.info(), bytes);
    let mut best: f64 = 0.0;
    for benchmark in [Benchmark::Sum, Benchmark::Copy] {
        let seconds = match measure(benchmark, &sizes, device, timeout, &interrupt::requested)? {
            Ok(seconds) => seconds,
            Err(wrong) => return Ok(Err(format!("{}: {wrong}", benchmark.name()))),
        };
        if let Some(WorkAmount::Bytes(bytes)) = benchmark.work(&sizes) {
            best = best.max(bytes as f64 / seconds);
        }
    }
    Ok(Ok(best))
}
