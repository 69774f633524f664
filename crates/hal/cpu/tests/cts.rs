//! The CPU driver against the conformance suite: on all cores, on one worker, on more workers than
//! cores, and as one logical device of two physical ones.

use std::process::ExitCode;
use std::time::Duration;

use roci_cpu::CpuDriver;
use roci_hal::{Device, Error, Registry};
use roci_hal_cts::{Backend, Tag};

fn main() -> ExitCode {
    let backend = |uri: &'static str, devices: u8| {
        let open = move |timeout: Option<Duration>| -> Result<Device, Error> {
            Registry::new().with(CpuDriver::split(devices)).open(&uri.parse()?, timeout)
        };
        Backend::new(uri, open).tags(&[Tag::Dispatch, Tag::Hang, Tag::Bounds])
    };
    roci_hal_cts::main(vec![
        backend("cpu", 1),
        backend("cpu?threads=1", 1),
        backend("cpu?threads=8", 1),
        backend("cpu://0,1", 2),
    ])
}
