//! The CPU driver against the conformance suite: on all cores, on one worker, and on more workers than cores.

use std::process::ExitCode;
use std::time::Duration;

use roci_cpu::CpuDriver;
use roci_hal::{Device, Error, Registry};
use roci_hal_cts::{Backend, Tag};

fn main() -> ExitCode {
    let backend = |uri: &'static str| {
        let open = move |timeout: Option<Duration>| -> Result<Device, Error> {
            Registry::new().with(CpuDriver::new()).open(&uri.parse()?, timeout)
        };
        Backend::new(uri, open).tags(&[Tag::Dispatch, Tag::Hang, Tag::Bounds])
    };
    roci_hal_cts::main(vec![backend("cpu"), backend("cpu?threads=1"), backend("cpu?threads=8")])
}
