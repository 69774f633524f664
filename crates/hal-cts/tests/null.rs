//! The null driver passes every case that needs no computation.

use std::process::ExitCode;

use roci_hal::Registry;
use roci_hal::null::NullDriver;
use roci_hal_cts::Backend;

fn main() -> ExitCode {
    let open = |timeout| Registry::new().with(NullDriver::new(1)).open(&"null".parse()?, timeout);
    roci_hal_cts::main(vec![Backend::new("null", open)])
}
