//! Processors: chips, and generic targets that each cover several chips.

use std::fmt;

/// A chip or a generic target, identified by its number in the ELF header (`EF_AMDGPU_MACH`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Processor(u8);

/// An entry of the processor table.
struct Row {
    number: u8,
    name: &'static str,
    features: Features,
}

/// Target features that code for a processor can specify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Features {
    None,
    Xnack,
    SrameccXnack,
}

const fn row(number: u8, name: &'static str, features: Features) -> Row {
    Row { number, name, features }
}

/// LLVM 22's processors, two that it removed (gfx940, gfx941) and those added by its successor.
const TABLE: [Row; 60] = {
    use Features::{None, SrameccXnack, Xnack};
    [
        row(0x20, "gfx600", None),
        row(0x21, "gfx601", None),
        row(0x3a, "gfx602", None),
        row(0x22, "gfx700", None),
        row(0x23, "gfx701", None),
        row(0x24, "gfx702", None),
        row(0x25, "gfx703", None),
        row(0x26, "gfx704", None),
        row(0x3b, "gfx705", None),
        row(0x28, "gfx801", Xnack),
        row(0x29, "gfx802", None),
        row(0x2a, "gfx803", None),
        row(0x3c, "gfx805", None),
        row(0x2b, "gfx810", Xnack),
        row(0x2c, "gfx900", Xnack),
        row(0x2d, "gfx902", Xnack),
        row(0x2e, "gfx904", Xnack),
        row(0x2f, "gfx906", SrameccXnack),
        row(0x30, "gfx908", SrameccXnack),
        row(0x31, "gfx909", Xnack),
        row(0x3f, "gfx90a", SrameccXnack),
        row(0x32, "gfx90c", Xnack),
        row(0x40, "gfx940", SrameccXnack),
        row(0x4b, "gfx941", SrameccXnack),
        row(0x4c, "gfx942", SrameccXnack),
        row(0x4f, "gfx950", SrameccXnack),
        row(0x33, "gfx1010", Xnack),
        row(0x34, "gfx1011", Xnack),
        row(0x35, "gfx1012", Xnack),
        row(0x42, "gfx1013", Xnack),
        row(0x36, "gfx1030", None),
        row(0x37, "gfx1031", None),
        row(0x38, "gfx1032", None),
        row(0x39, "gfx1033", None),
        row(0x3e, "gfx1034", None),
        row(0x3d, "gfx1035", None),
        row(0x45, "gfx1036", None),
        row(0x41, "gfx1100", None),
        row(0x46, "gfx1101", None),
        row(0x47, "gfx1102", None),
        row(0x44, "gfx1103", None),
        row(0x43, "gfx1150", None),
        row(0x4a, "gfx1151", None),
        row(0x55, "gfx1152", None),
        row(0x58, "gfx1153", None),
        row(0x5d, "gfx1170", None),
        row(0x5e, "gfx1171", None),
        row(0x5c, "gfx1172", None),
        row(0x48, "gfx1200", None),
        row(0x4e, "gfx1201", None),
        row(0x49, "gfx1250", SrameccXnack),
        row(0x5a, "gfx1251", SrameccXnack),
        row(0x50, "gfx1310", None),
        row(0x51, "gfx9-generic", Xnack),
        row(0x5f, "gfx9-4-generic", SrameccXnack),
        row(0x52, "gfx10-1-generic", Xnack),
        row(0x53, "gfx10-3-generic", None),
        row(0x54, "gfx11-generic", None),
        row(0x59, "gfx12-generic", None),
        row(0x5b, "gfx12-5-generic", SrameccXnack),
    ]
};

impl Processor {
    /// The processor with this `EF_AMDGPU_MACH` number.
    pub fn from_number(number: u8) -> Option<Self> {
        TABLE.iter().find(|row| row.number == number).map(|row| Self(row.number))
    }

    /// The processor with this name, such as `gfx1010` or `gfx10-1-generic`.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| Self(row.number))
    }

    /// All known processors by generation; generic targets last.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| Self(row.number))
    }

    /// `EF_AMDGPU_MACH` number.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Name as spelled by LLVM and ROCm.
    pub fn name(self) -> &'static str {
        self.row().map_or("unknown", |row| row.name)
    }

    /// Whether it is a generic target.
    pub fn is_generic(self) -> bool {
        self.name().ends_with("-generic")
    }

    /// Major version: 10 for gfx1030 and for gfx10-3-generic, 9 for gfx90a.
    pub fn generation(self) -> u32 {
        let name = self.name().trim_start_matches("gfx");
        let digits = match name.split_once('-') {
            Some((generation, _)) => generation,
            // The last two characters are the minor version and the stepping, which may be a
            // letter.
            None => name.get(..name.len().saturating_sub(2)).unwrap_or_default(),
        };
        digits.parse().unwrap_or_default()
    }

    /// Whether target IDs can specify `xnack`: retry of memory accesses after a page fault.
    pub fn supports_xnack(self) -> bool {
        self.row().is_some_and(|row| row.features != Features::None)
    }

    /// Whether target IDs can specify `sramecc`: error correction of on-chip memory.
    pub fn supports_sramecc(self) -> bool {
        self.row().is_some_and(|row| row.features == Features::SrameccXnack)
    }

    /// The chips that code for this generic target runs on. Empty for a chip.
    pub fn covers(self) -> impl Iterator<Item = Self> {
        let names: &[&str] = match self.name() {
            "gfx9-generic" => &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"],
            "gfx9-4-generic" => &["gfx942", "gfx950"],
            "gfx10-1-generic" => &["gfx1010", "gfx1011", "gfx1012", "gfx1013"],
            "gfx10-3-generic" => &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"],
            "gfx11-generic" => {
                &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"]
            }
            "gfx12-generic" => &["gfx1200", "gfx1201"],
            "gfx12-5-generic" => &["gfx1250", "gfx1251"],
            _ => &[],
        };
        names.iter().copied().filter_map(Self::from_name)
    }

    /// The generic target that covers this chip, if any.
    pub fn generic(self) -> Option<Self> {
        Self::all().find(|generic| generic.covers().any(|chip| chip == self))
    }

    fn row(self) -> Option<&'static Row> {
        TABLE.iter().find(|row| row.number == self.0)
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique() {
        for (index, row) in TABLE.iter().enumerate() {
            for other in &TABLE[index + 1..] {
                assert!(row.number != other.number && row.name != other.name, "{} and {}", row.name, other.name);
            }
            assert_eq!(Processor::from_name(row.name), Processor::from_number(row.number));
        }
    }

    #[test]
    fn generations_are_read_from_names() {
        let generation = |name| Processor::from_name(name).expect(name).generation();
        assert_eq!((generation("gfx600"), generation("gfx90a"), generation("gfx1013")), (6, 9, 10));
        assert_eq!((generation("gfx9-4-generic"), generation("gfx11-generic"), generation("gfx1250")), (9, 11, 12));
    }

    #[test]
    fn every_generic_target_covers_chips_of_its_generation() {
        for generic in Processor::all().filter(|one| one.is_generic()) {
            assert!(generic.covers().count() >= 2, "{generic}");
            for chip in generic.covers() {
                assert_eq!(chip.generation(), generic.generation(), "{generic} and {chip}");
                assert_eq!(chip.generic(), Some(generic));
            }
        }
        assert_eq!(
            Processor::from_name("gfx1013").and_then(Processor::generic).map(Processor::name),
            Some("gfx10-1-generic")
        );
        assert_eq!(Processor::from_name("gfx90a").and_then(Processor::generic), None);
    }
}
