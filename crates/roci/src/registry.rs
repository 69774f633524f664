//! The drivers of this binary: the one place above them that knows their names.

use roci_cpu::CpuDriver;
use roci_hal::Registry;
use roci_hal::null::NullDriver;

/// All drivers, in the order in which `auto` prefers them.
pub(crate) fn registry() -> Registry {
    Registry::new().with(CpuDriver::new()).with(NullDriver::new(1))
}
