//! Memory images of code objects: segments laid out, relocations applied.

use crate::{CodeObject, LoadError, Relocation, Segment};

/// Size limit of a memory image, in bytes.
pub(crate) const MAX_IMAGE: u64 = 1 << 30;

impl CodeObject<'_> {
    /// Size of the memory image in bytes: the end of the last segment.
    pub fn image_size(&self) -> u64 {
        self.segments().iter().map(|segment| segment.address + segment.size).max().unwrap_or(0)
    }

    /// The memory image for load address `base`: byte `i` belongs at `base + i`. Gaps between
    /// segments are zero.
    pub fn load_image(&self, base: u64) -> Result<Vec<u8>, LoadError> {
        self.load_image_with(base, |_| None)
    }

    /// Like [`load_image`](Self::load_image); `resolve` returns the addresses of symbols defined
    /// elsewhere.
    pub fn load_image_with(
        &self,
        base: u64,
        mut resolve: impl FnMut(&str) -> Option<u64>,
    ) -> Result<Vec<u8>, LoadError> {
        let size = self.image_size();
        let length = usize::try_from(size).ok().filter(|_| size <= MAX_IMAGE).ok_or(LoadError::TooLarge(size))?;
        let mut image = vec![0; length];
        let mut end = 0;
        let mut segments: Vec<&Segment> = self.segments().iter().collect();
        segments.sort_by_key(|segment| segment.address);
        for segment in segments {
            if segment.address < end {
                return Err(LoadError::Overlap(segment.address));
            }
            end = segment.address + segment.size;
            let start = segment.address as usize;
            image[start..start + segment.data.len()].copy_from_slice(segment.data);
        }
        for relocation in self.relocations() {
            let symbol = self.symbol_value(relocation, base, &mut resolve)?;
            apply(&mut image, relocation, base, symbol)?;
        }
        Ok(image)
    }

    fn symbol_value(
        &self,
        relocation: &Relocation,
        base: u64,
        resolve: &mut impl FnMut(&str) -> Option<u64>,
    ) -> Result<u64, LoadError> {
        let Some(symbol) = relocation.symbol.and_then(|index| self.symbols().get(index)) else { return Ok(0) };
        match symbol.address {
            Some(address) => Ok(base.wrapping_add(address)),
            None => match resolve(symbol.name) {
                Some(address) => Ok(address),
                None if symbol.weak => Ok(0),
                None => Err(LoadError::Undefined(symbol.name.to_owned())),
            },
        }
    }
}

/// Applies one relocation; `symbol` is the absolute address of its symbol.
fn apply(image: &mut [u8], relocation: &Relocation, base: u64, symbol: u64) -> Result<(), LoadError> {
    let target = symbol.wrapping_add_signed(relocation.addend);
    let relative = target.wrapping_sub(base.wrapping_add(relocation.address));
    // The names are LLVM's `R_AMDGPU_*`. The linker resolves GOT relocations (7 to 9).
    let (value, size) = match relocation.kind {
        0 => return Ok(()),                                     // NONE
        1 | 6 => (target, 4),                                   // ABS32_LO, ABS32
        2 => (target >> 32, 4),                                 // ABS32_HI
        3 => (target, 8),                                       // ABS64
        4 | 10 => (relative, 4),                                // REL32, REL32_LO
        5 => (relative, 8),                                     // REL64
        11 => (relative >> 32, 4),                              // REL32_HI
        13 => (base.wrapping_add_signed(relocation.addend), 8), // RELATIVE64
        kind => return Err(LoadError::Relocation { address: relocation.address, kind }),
    };
    let slot =
        usize::try_from(relocation.address).ok().and_then(|start| image.get_mut(start..start.checked_add(size)?));
    slot.ok_or(LoadError::Outside(relocation.address))?.copy_from_slice(&value.to_le_bytes()[..size]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(kind: u32, addend: i64) -> Vec<u8> {
        let mut image = vec![0xaa; 24];
        let relocation = Relocation { address: 8, kind, symbol: Some(1), addend };
        apply(&mut image, &relocation, 0x7_0000_1000, 0x8_0000_0010).expect("a kind that loaders apply");
        assert!(image[..8].iter().chain(&image[16..]).all(|&byte| byte == 0xaa));
        image[8..16].to_vec()
    }

    fn word(value: u32) -> Vec<u8> {
        [value.to_le_bytes(), [0xaa; 4]].concat()
    }

    #[test]
    fn every_kind_has_its_formula() {
        assert_eq!(applied(0, 4), [0xaa; 8]);
        assert_eq!(applied(1, 4), word(0x14));
        assert_eq!(applied(2, 4), word(8));
        assert_eq!(applied(3, -1), 0x8_0000_000f_u64.to_le_bytes());
        assert_eq!(applied(4, 0), word(0xffff_f008));
        assert_eq!(applied(5, 0), 0xffff_f008_u64.to_le_bytes());
        assert_eq!(applied(10, 0), word(0xffff_f008));
        assert_eq!(applied(11, 0x1000), word(1));
        assert_eq!(applied(13, 0x20), 0x7_0000_1020_u64.to_le_bytes());
    }

    #[test]
    fn unsupported_and_out_of_range_relocations_are_errors() {
        let at = |address, kind| {
            let relocation = Relocation { address, kind, symbol: None, addend: 0 };
            apply(&mut [0; 16], &relocation, 0, 0)
        };
        assert_eq!(at(0, 8), Err(LoadError::Relocation { address: 0, kind: 8 }));
        assert_eq!(at(12, 3), Err(LoadError::Outside(12)));
        assert_eq!(at(u64::MAX, 1), Err(LoadError::Outside(u64::MAX)));
    }
}
