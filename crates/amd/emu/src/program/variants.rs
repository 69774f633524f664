//! Lane functions that depend on more than the mnemonic: the family, signedness modifiers, the wave
//! size.
//!
//! Their names in the tables have a suffix after `@`.

use roci_isa::{Family, Valu, WaveSize};

use crate::lanes::{LaneOp, find};
use crate::program::DecodeOptions;

/// Whether the function depends on more than the mnemonic.
pub(super) fn depends(name: &str) -> bool {
    ["00", "gfx10", "gfx11", "64.0"].iter().any(|variant| find(&format!("{name}@{variant}")).is_some())
}

/// The functions of an instruction for lanes 0 to 31 and 32 to 63.
pub(super) fn find_variant(name: &str, target: &DecodeOptions, valu: &Valu) -> Option<[LaneOp; 2]> {
    let family = match target.chip.family() {
        Family::Gfx10 => "gfx10",
        Family::Gfx11 => "gfx11",
    };
    let signs = format!("{name}@{}{}", valu.neg & 1, valu.neg >> 1 & 1);
    let high = if valu.op_sel & 4 != 0 { "@hi" } else { "" };
    let both = |name: &str| find(name).map(|op| [op; 2]);
    if target.wave == WaveSize::Wave64 {
        for base in [name, &signs] {
            let halves = [0, 1].map(|half| find(&format!("{base}@64.{half}{high}")));
            if let [Some(low), Some(high)] = halves {
                return Some([low, high]);
            }
        }
    }
    both(&signs)
        .or_else(|| both(&format!("{name}@{family}")))
        .or_else(|| both(&format!("{name}{high}")))
        .or_else(|| both(name))
}
