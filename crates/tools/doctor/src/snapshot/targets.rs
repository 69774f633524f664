//! Chips by PCI ID and target. Target names and generic targets come from `roci_codeobj`.

use roci_codeobj::Processor;

/// Properties of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// `gfx1010`.
    pub name: &'static str,
    /// `RDNA1`.
    pub family: &'static str,
    /// Whether it shares memory with the CPU.
    pub apu: bool,
    /// PCI device IDs; the list may be incomplete.
    pub devices: &'static [u16],
    /// Product names.
    pub sold_as: &'static str,
}

const fn target(
    name: &'static str,
    family: &'static str,
    apu: bool,
    devices: &'static [u16],
    sold_as: &'static str,
) -> Target {
    Target { name, family, apu, devices, sold_as }
}

/// All targets, oldest first.
pub(crate) static TARGETS: &[Target] = &[
    target("gfx803", "GCN4", false, &[0x67df, 0x67ef, 0x67ff, 0x699f], "RX 470 to 590, RX 550, RX 560"),
    target("gfx900", "GCN5", false, &[0x687f, 0x6860], "Vega 56, Vega 64, MI25"),
    target("gfx902", "GCN5", true, &[0x15dd, 0x15d8], "Ryzen 2000 to 3000 with Vega graphics"),
    target("gfx909", "GCN5", true, &[], "Athlon and Ryzen 3000 with Vega 3 graphics (Raven 2)"),
    target("gfx906", "GCN5", false, &[0x66af, 0x66a1], "Radeon VII, MI50, MI60"),
    target("gfx908", "CDNA", false, &[0x738c, 0x738e], "MI100"),
    target("gfx90a", "CDNA", false, &[0x7408, 0x740c, 0x740f], "MI210, MI250"),
    target("gfx942", "CDNA", false, &[0x74a1], "MI300"),
    target("gfx90c", "GCN5", true, &[0x1636, 0x164c, 0x1638, 0x15e7], "Ryzen 4000 to 5000 with Vega graphics"),
    target(
        "gfx1010",
        "RDNA1",
        false,
        &[0x731f, 0x7312, 0x7310, 0x7319, 0x731b, 0x731e],
        "RX 5600 XT, RX 5700, RX 5700 XT",
    ),
    target("gfx1011", "RDNA1", false, &[0x7360, 0x7362], "Radeon Pro 5600M, V520"),
    target("gfx1012", "RDNA1", false, &[0x7340, 0x7341, 0x7347, 0x734f], "RX 5300, RX 5500, RX 5500 XT"),
    target("gfx1013", "RDNA1", true, &[0x13fe, 0x13db, 0x13f9, 0x13fa, 0x13fb, 0x13fc, 0x143f], "BC-250"),
    target("gfx1030", "RDNA2", false, &[0x73bf], "RX 6800, RX 6900"),
    target("gfx1031", "RDNA2", false, &[0x73df], "RX 6700, RX 6750"),
    target("gfx1032", "RDNA2", false, &[0x73ff, 0x73ef], "RX 6600, RX 6650"),
    target("gfx1033", "RDNA2", true, &[0x163f, 0x1435], "Steam Deck"),
    target("gfx1034", "RDNA2", false, &[0x743f, 0x7422], "RX 6400, RX 6500"),
    target("gfx1035", "RDNA2", true, &[0x1681, 0x164d], "Radeon 660M, 680M"),
    target("gfx1036", "RDNA2", true, &[0x164e, 0x13c0], "Ryzen 7000 and 9000 desktop graphics"),
    target("gfx1100", "RDNA3", false, &[0x744c, 0x7448], "RX 7900"),
    target("gfx1101", "RDNA3", false, &[0x747e, 0x7470], "RX 7700 XT, RX 7800 XT"),
    target("gfx1102", "RDNA3", false, &[0x7480], "RX 7600"),
    target("gfx1103", "RDNA3", true, &[0x15bf, 0x15c8, 0x1900, 0x1901], "Radeon 740M, 760M, 780M"),
    target("gfx1150", "RDNA3.5", true, &[0x150e], "Radeon 880M, 890M"),
    target("gfx1151", "RDNA3.5", true, &[0x1586], "Radeon 8050S, 8060S (Strix Halo)"),
    target("gfx1152", "RDNA3.5", true, &[0x1114], "Radeon 840M, 860M"),
    target("gfx1153", "RDNA3.5", true, &[], "Radeon 820M"),
    target("gfx1200", "RDNA4", false, &[0x7590], "RX 9060"),
    target("gfx1201", "RDNA4", false, &[0x7550, 0x7551], "RX 9070"),
];

impl Target {
    /// Finds a target by name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Finds the target of an AMD device ID.
    pub fn of_device(device: u16) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.devices.contains(&device))
    }

    /// The generic target that covers it.
    pub fn generic(&self) -> Option<&'static str> {
        Some(Processor::from_name(self.name)?.generic()?.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_a_known_code_object_target() {
        for target in TARGETS {
            assert!(Processor::from_name(target.name).is_some(), "{}", target.name);
            let others = TARGETS.iter().filter(|other| other.name != target.name);
            let mut devices = others.flat_map(|other| other.devices);
            assert!(devices.all(|device| !target.devices.contains(device)), "{}", target.name);
        }
        assert_eq!(Target::by_name("gfx1013").and_then(Target::generic), Some("gfx10-1-generic"));
    }
}
