//! What agents there are and what they are like: the figures of the real chips, of the host, and of the links between them.

mod answer;
mod chips;
mod cpu;
mod gpu;
mod host;
mod isas;
mod links;
mod pools;
mod visible;

pub(crate) use answer::Answer;
pub(crate) use chips::{Properties, properties};
pub(crate) use cpu::cpu;
pub(crate) use gpu::gpu;
pub(crate) use host::{Cache, host};
pub(crate) use isas::{compatible, isa, isa_of_name, isas};
pub(crate) use links::between;
pub(crate) use pools::{pool, region};
pub(crate) use visible::visible;

use roci_emu::Chip;
use roci_hsa::abi::Extension;

/// Most work-items of a workgroup, and of each of its dimensions.
pub(crate) const WORKGROUP: u32 = 1024;
/// Most work-items of a grid in each dimension.
pub(crate) const GRID: [u32; 3] = [i32::MAX as u32, u16::MAX as u32, u16::MAX as u32];
/// Most fine barriers of a workgroup.
pub(crate) const FBARRIERS: u32 = 32;

/// The id of a GPU by its chip and its place in the machine. It is the same in every process, so that lists of devices stay
/// right.
pub(crate) fn uuid(chip: Chip, place: u32) -> String {
    // FNV-1a: short, and spread well enough that the first digits tell GPUs apart.
    let bytes = chip.name().bytes().chain(place.to_le_bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("GPU-{hash:016x}")
}

/// The extensions, a bit each: the loader's table, times of dispatches and copies, and those besides.
pub(crate) fn extensions(besides: &[Extension]) -> Answer {
    let mut bits = [0_u8; 128];
    for extension in [Extension::AMD_LOADER, Extension::AMD_PROFILER].iter().chain(besides) {
        bits[usize::from(extension.0 / 8)] |= 1 << (extension.0 % 8);
    }
    bits.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_stay() {
        let mut ids: Vec<String> = Vec::new();
        for chip in Chip::ALL {
            ids.extend((0..64).map(|place| uuid(chip, place)));
        }
        for id in &ids {
            let digits = id.strip_prefix("GPU-").expect("the prefix");
            assert!(digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
        // Scripts of users hold ids.
        assert_eq!(uuid(Chip::Gfx1010, 0), "GPU-8ad12c276e8e7350");
    }
}
