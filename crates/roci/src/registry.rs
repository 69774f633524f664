//! The drivers of this binary: the one place above them that knows their names.

use roci_cpu::CpuDriver;
use roci_hal::driver::Driver;
use roci_hal::null::NullDriver;
use roci_hal::uri::Item;
use roci_hal::{DeviceUri, PhysicalInfo, Registry};

/// All drivers, in the order in which `auto` prefers them.
pub(crate) fn registry() -> Registry {
    Registry::new().with(CpuDriver::new()).with(NullDriver::new(1))
}

/// The URI that opens the device with this ordinal again: the most stable one there is.
pub(crate) fn device_uri(driver: &dyn Driver, ordinal: u32, info: &PhysicalInfo, alone: bool) -> Option<DeviceUri> {
    let base = DeviceUri::driver(driver.scheme())?;
    let item = match &info.target {
        Some(target) if driver.made_to_order() => Item::Target(target.clone()),
        _ => info.item(ordinal),
    };
    // An ordinal says nothing when there is no second device.
    let needless = alone && matches!(item, Item::Ordinal(_));
    Some(if needless { base } else { base.select(vec![item]) })
}
