//! Random encodings: every opcode of every format, with fields that are likely to be valid.

use roci_isa::{Chip, Family};

/// Pseudorandom numbers and choices, determined by a seed.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    pub(crate) fn word(&mut self) -> u32 {
        self.0.u32(..)
    }

    /// True with a probability of `percent`.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.0.u64(..100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.usize(..from.len())]
    }
}

/// A format: name, fixed bits, lowest bit of the opcode field, number of opcodes.
pub(crate) struct Format {
    pub(crate) name: &'static str,
    bits: u32,
    opcode_at: u32,
    opcodes: u32,
    words: usize,
}

const fn format(name: &'static str, bits: u32, opcode_at: u32, opcodes: u32, words: usize) -> Format {
    Format { name, bits, opcode_at, opcodes, words }
}

/// All formats, and one for words without a format.
pub(crate) const FORMATS: [Format; 16] = [
    format("SOP2", 0x8000_0000, 23, 96, 1),
    format("SOPK", 0xb000_0000, 23, 29, 1),
    format("SOP1", 0xbe80_0000, 8, 256, 1),
    format("SOPC", 0xbf00_0000, 16, 128, 1),
    format("SOPP", 0xbf80_0000, 16, 128, 1),
    format("SMEM", 0xf400_0000, 18, 256, 2),
    format("VOP2", 0x0000_0000, 25, 62, 1),
    format("VOP1", 0x7e00_0000, 9, 256, 1),
    format("VOPC", 0x7c00_0000, 17, 256, 1),
    format("VOP3", 0xd400_0000, 16, 1024, 2),
    format("VOP3P", 0xcc00_0000, 16, 128, 2),
    format("VOPD", 0xc800_0000, 17, 512, 2),
    format("DS", 0xd800_0000, 18, 256, 2),
    format("FLAT", 0xdc00_0000, 18, 128, 2),
    format("MUBUF", 0xe000_0000, 18, 256, 2),
    format("any", 0, 0, 1, 0),
];

/// Source encodings with a special meaning.
const SPECIAL: [u32; 16] = [255, 255, 250, 249, 233, 234, 254, 253, 124, 125, 126, 127, 106, 107, 240, 248];
/// Literals that equal or nearly equal inline constants.
const LITERALS: [u32; 14] = [
    0,
    1,
    64,
    65,
    0xffff_ffff,
    0xffff_fff0,
    0x3f00_0000,
    0xbf80_0000,
    0x3e22_f983,
    0x3800,
    0x3118,
    0x3fe0_0000,
    0x3f00,
    0x1234_3800,
];

/// Encoding number `index`: five words, of which the instruction uses the first ones.
pub(crate) fn encoding(random: &mut Random, format: &Format, chip: Chip, index: usize) -> [u8; 20] {
    let mut bits = random.next();
    for percent in [40, 20] {
        if random.chance(percent) {
            bits &= random.next();
        }
    }
    let (mut first, mut second) = (bits as u32, (bits >> 32) as u32);
    let mut third = match random.next() % 3 {
        0 => random.pick(&LITERALS),
        1 => random.word() & 0xffff,
        _ => random.word(),
    };
    if format.words > 0 {
        let opcode_bits = (format.opcodes - 1).ilog2() + 1;
        let fixed = fixed_bits(format.name);
        first = first & !(fixed | ((1 << opcode_bits) - 1) << format.opcode_at) | format.bits;
        first |= (index as u32 % format.opcodes) << format.opcode_at;
        if format.name == "MUBUF" && chip.family() == Family::Gfx10 {
            let opcode = index as u32 % format.opcodes;
            first = first & !(0xff << 18) | (opcode & 0x7f) << 18 | opcode >> 7 << 25;
        }
    }
    shape(random, format.name, chip.family(), &mut first, &mut second, &mut third);
    let words = match format.words {
        1 => [first, third, second, random.word(), random.word()],
        _ => [first, second, third, random.word(), random.word()],
    };
    let mut bytes = [0; 20];
    bytes.chunks_exact_mut(4).zip(words).for_each(|(target, word)| target.copy_from_slice(&word.to_le_bytes()));
    bytes
}

/// The bits that identify the format.
fn fixed_bits(name: &str) -> u32 {
    match name {
        "SOP2" => 0xc000_0000,
        "SOPK" => 0xf000_0000,
        "SOP1" | "SOPC" | "SOPP" | "VOP3P" => 0xff80_0000,
        "VOP1" | "VOPC" => 0xfe00_0000,
        "VOP2" => 0x8000_0000,
        _ => 0xfc00_0000,
    }
}

/// Sets fields to values that random bits would rarely hit.
fn shape(random: &mut Random, name: &str, family: Family, first: &mut u32, second: &mut u32, third: &mut u32) {
    match name {
        "SOP1" | "SOP2" | "SOPC" if random.chance(30) => *first = *first & !0xff | random.pick(&SPECIAL) & 0xff,
        "VOP1" | "VOP2" | "VOPC" => {
            if random.chance(40) {
                *first = *first & !0x1ff | random.pick(&SPECIAL);
            }
            if *first & 0x1ff == 249 && random.chance(80) {
                let masks = [0xff, 0xffff, 0x80ff_00ff, 0x38ff_18ff, 0x3838_38ff, 0x38f8_f8ff, 0xffff_ffff];
                let parts = [0x0006_0600, 0x0606_0600, 0x0504_0200, 0x0606_0000];
                *third = random.pick(&parts) | random.word() & random.pick(&masks);
            }
            if *first & 0x1ff == 250 && random.chance(70) {
                *third &= !0x00f0_0000;
            }
        }
        "VOP3" | "VOP3P" | "VOPD" => {
            for (shift, percent) in [(0, 40), (9, 20), (18, 20)] {
                if random.chance(percent) && (name != "VOPD" || shift == 0) {
                    *second = *second & !(0x1ff << shift) | random.pick(&SPECIAL) << shift;
                }
            }
            if name == "VOP3" {
                if random.chance(50) {
                    *first &= !0xff00;
                }
                if random.chance(30) {
                    *second &= 0x07ff_ffff;
                }
                if random.chance(30) {
                    *first = *first & !0xff | 126;
                }
            }
        }
        "DS" if random.chance(80) => {
            let used = [0xff, 0xffff, 0xff00_00ff, 0xff00_ffff, 0x00ff_ffff, 0xffff_ffff, 0xff00_0000];
            *second &= random.pick(&used);
        }
        "FLAT" => {
            if random.chance(60) {
                *second = *second & !0x00ff_0000 | if family == Family::Gfx10 { 0x7d } else { 0x7c } << 16;
            }
            if family == Family::Gfx10 && random.chance(70) {
                *first &= !(1 << 13);
            }
        }
        _ => {}
    }
}
