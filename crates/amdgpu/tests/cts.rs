//! The driver against the conformance suite, on emulated chips: each by itself, and two as one logical device.

mod emulated;

use std::process::ExitCode;
use std::time::Duration;

use emulated::driver;
use roci_emu::Chip;
use roci_hal::{Device, Error, Registry};
use roci_hal_cts::{Backend, Tag};

fn main() -> ExitCode {
    let backend = |uri: String| {
        let name = uri.clone();
        let open = move |timeout: Option<Duration>| -> Result<Device, Error> {
            Registry::new().with(driver()).open(&uri.parse()?, timeout)
        };
        Backend::new(name, open).tags(&[Tag::Dispatch, Tag::Hang, Tag::Bounds])
    };
    let mut backends: Vec<_> = Chip::ALL.iter().map(|chip| backend(format!("emu://{chip}"))).collect();
    backends.push(backend("emu://gfx1010,gfx1010".to_owned()));
    roci_hal_cts::main(backends)
}
