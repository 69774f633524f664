//! PCI addresses, which identify a card across drivers.

use std::fmt;
use std::str::FromStr;

/// `domain:bus:device.function`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PciAddress {
    /// Domain (segment).
    pub domain: u32,
    /// Bus number.
    pub bus: u8,
    /// Device number, 0 to 31.
    pub device: u8,
    /// Function number, 0 to 7.
    pub function: u8,
}

impl FromStr for PciAddress {
    type Err = ();

    /// Accepts `0000:03:00.0` and, for domain 0, `03:00.0`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (rest, function) = text.rsplit_once('.').ok_or(())?;
        let mut fields = rest.rsplit(':');
        let device = hex(fields.next(), 2)?;
        let bus = hex(fields.next(), 2)?;
        let domain = fields.next().map_or(Ok(0), |domain| hex(Some(domain), 8))?;
        let function = hex(Some(function), 1)?;
        if fields.next().is_some() || device > 31 || function > 7 {
            return Err(());
        }
        let byte = |value: u32| u8::try_from(value).map_err(|_| ());
        Ok(Self { domain, bus: byte(bus)?, device: byte(device)?, function: byte(function)? })
    }
}

/// Parses a hexadecimal field of one to `longest` digits.
fn hex(field: Option<&str>, longest: usize) -> Result<u32, ()> {
    let field = field.ok_or(())?;
    // `from_str_radix` alone would accept a sign.
    if field.is_empty() || field.len() > longest || !field.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(());
    }
    u32::from_str_radix(field, 16).map_err(|_| ())
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{}", self.domain, self.bus, self.device, self.function)
    }
}
