//! Tests that no modifier is ignored: each bit that the decoder reads must change the result, or
//! the instruction must fault.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use roci_codeobj::KernelDescriptor;
use roci_isa::{Chip, Family, Fields, Instruction, LaneControl, Operand, SdwaPart, Valu, WaveSize, decode};

use crate::engine::{Machine, StopReason, Worker};
use crate::fault::Fault;
use crate::lanes::Level;
use crate::launch::{ClockSource, Launch};
use crate::memory::{Memory, MemoryView};
use crate::mode::Mode;
use crate::program::{DecodeOptions, DecodedProgram, LoadedCode};
use crate::row::LANES;
use crate::wave::{Wave, scalar};

/// VGPRs of the test kernels: enough for three matrices and a result.
const REGISTERS: u16 = 64;
/// First registers of the result and of the sources.
const DST: u32 = 40;
const A: u32 = 10;
const B: u32 = 20;
const C: u32 = 30;
/// SGPRs used as sources and as second destination.
const SCALAR: u32 = 20;
const MODES: [Mode; 2] = [Mode::DEFAULT, Mode(0x100)];
/// Number of random inputs before a modifier counts as ignored.
const TRIES: u64 = 40;

/// Operations whose result does not depend on the sign of a source (bit i: source i).
const EVEN: &[(&str, u8)] = &[
    ("v_cmp_o_", 3),
    ("v_cmp_u_", 3),
    ("v_cmpx_o_", 3),
    ("v_cmpx_u_", 3),
    ("v_frexp_exp", 1),
    ("v_cos", 1),
    ("v_trig_preop", 1),
    // Each face has one coordinate, and the sign of the quotient follows from its operands.
    ("v_cubesc", 2),
    ("v_cubetc", 1),
    ("v_div_fixup", 1),
    ("v_div_scale", 4),
    // The operand is a class mask, not a number.
    ("v_cmp_class", 2),
    ("v_cmpx_class", 2),
];

/// Removes modifiers that legitimately have no effect. Two encodings are equivalent if the rest is
/// equal.
fn normalized(name: &str, valu: &Valu) -> Valu {
    let mut valu = *valu;
    let starts = |starts: &str| name.starts_with(starts);
    // Halves may be selected by the operand or by `op_sel`. Modifiers of missing sources have no
    // meaning.
    for (index, source) in valu.src.iter_mut().enumerate() {
        if let Operand::VgprHalf { index, high: false } = *source {
            *source = Operand::Vgpr(index);
        }
        if *source == Operand::None {
            let others = !(1 << index);
            (valu.neg, valu.abs) = (valu.neg & others, valu.abs & others);
            (valu.op_sel, valu.op_sel_hi) = (valu.op_sel & (others | 8), valu.op_sel_hi & others);
        }
    }
    if let Operand::VgprHalf { index, high: false } = valu.dst {
        valu.dst = Operand::Vgpr(index);
    }
    for (_, sources) in EVEN.iter().filter(|(name, _)| starts(name)) {
        (valu.neg, valu.abs) = (valu.neg & !sources, valu.abs & !sources);
    }
    // The clamp bit of comparisons enables exceptions; results between 0 and 1 do not change.
    valu.clamp &= !starts("v_cmp") && !starts("v_trig_preop");
    if let LaneControl::Sdwa(sdwa) = &mut valu.lanes {
        // Padding and sign extension of a whole register have no effect. For 16 bits, the lower
        // half is the whole.
        let part = |part| if part == SdwaPart::Word(0) { SdwaPart::Dword } else { part };
        (sdwa.dst, sdwa.src) = (part(sdwa.dst), sdwa.src.map(part));
        // The lowest bytes of small f32 values are zero.
        let zero = ["v_cvt_f32_ubyte", "v_cvt_f32_f16", "v_cvt_off"].iter().any(|name| starts(name));
        if sdwa.dst == SdwaPart::Dword || zero && sdwa.dst_unused == 1 {
            sdwa.dst_unused = 0;
        }
        for source in 0..2 {
            sdwa.sext[source] &= sdwa.src[source] != SdwaPart::Dword;
        }
        // Shift amounts and some other sources use only a few bits.
        let few = ["v_cvt_f32_ubyte0", "v_cvt_off", "v_ctz_i32"].iter().any(|name| starts(name));
        sdwa.sext[0] &= !few && !name.contains("rev_");
    }
    valu
}

/// Operations that ignore their first source: some comparisons, and `v_mbcnt_hi` in wave32.
fn constant(name: &str) -> bool {
    let test = name.strip_prefix("v_cmp_").or_else(|| name.strip_prefix("v_cmpx_")).unwrap_or_default();
    ["f_", "t_", "tru_"].iter().any(|constant| test.starts_with(constant)) || name == "v_mbcnt_hi_u32_b32"
}

/// An instruction without and with a modifier.
type InstructionPair = [Vec<u32>; 2];

/// Sets or clears each bit of a modifier field, one at a time.
fn bits(words: &[u32], word: usize, range: std::ops::Range<u32>) -> impl Iterator<Item = InstructionPair> + '_ {
    range.map(move |bit| {
        let mut modified = words.to_vec();
        modified[word] ^= 1 << bit;
        [words.to_vec(), modified]
    })
}

/// Instructions in VOP3 and VOP3P encodings.
fn long() -> Vec<InstructionPair> {
    let mut all = Vec::new();
    let (vector, constant) = (|register: u32| 256 + register, 128);
    for sources in [
        [vector(A), vector(B), vector(C)],
        [vector(A), vector(B), SCALAR],
        [vector(A), vector(B), constant],
        [vector(A), SCALAR, SCALAR + 1],
        [vector(A), constant, constant],
    ] {
        let second = sources[0] | sources[1] << 9 | sources[2] << 18;
        for opcode in 0..1024 {
            // Second destination: bits 8 to 14.
            for flags in [0, SCALAR << 8] {
                let words = [0xd400_0000 | opcode << 16 | flags | DST, second];
                all.extend(bits(&words, 0, 8..16));
                all.extend(bits(&words, 1, 27..32));
                let moved = |field: u32, word: u32| vec![words[0], second & !0x1ff | field, word];
                all.push([words.to_vec(), moved(250, DPP16)]);
                all.push([words.to_vec(), moved(233, DPP8)]);
                all.extend(bits(&moved(250, DPP16), 0, 8..16));
            }
        }
        for opcode in 0..128 {
            let words = [0xcc00_4000 | opcode << 16 | DST, second | 3 << 27];
            all.extend(bits(&words, 0, 8..16));
            all.extend(bits(&words, 1, 27..32));
            let moved = |field: u32, word: u32| vec![words[0], words[1] & !0x1ff | field, word];
            all.push([words.to_vec(), moved(250, DPP16)]);
            all.push([words.to_vec(), moved(233, DPP8)]);
        }
    }
    all
}

/// Reversed quads, register A, all rows and banks.
const DPP16: u32 = 0xff00_1b00 | A;
/// Reversed groups of eight lanes.
const DPP8: u32 = 0o01_234_567 << 8 | A;
/// Register A with full dwords for all operands.
const SDWA: u32 = 6 << 24 | 6 << 16 | 6 << 8 | A;

/// Instructions in VOP1, VOP2 and VOPC encodings, with DPP and SDWA.
fn short() -> Vec<InstructionPair> {
    let mut all = Vec::new();
    let one = (0..256).map(|opcode| 0x7e00_0000 | DST << 17 | opcode << 9);
    let two = (0..63).map(|opcode| opcode << 25 | DST << 17 | B << 9);
    let compare = (0..256).map(|opcode| 0x7c00_0000 | opcode << 17 | B << 9);
    for (first, unary) in one.map(|first| (first, true)).chain(two.chain(compare).map(|first| (first, false))) {
        let plain = vec![first | (256 + A)];
        all.push([plain.clone(), vec![first | 250, DPP16]]);
        all.push([plain.clone(), vec![first | 233, DPP8]]);
        all.extend(bits(&[first | 250, DPP16], 1, 20..24));
        let sdwa = if unary { SDWA & 0xff_ffff } else { SDWA };
        all.extend(bits(&[first | 249, sdwa], 1, 8..32));
        // Selections: byte 1 with and without sign extension; the unused part of the destination.
        for source in [16, 24] {
            let byte = sdwa & !(7 << source) | 1 << source;
            all.push([vec![first | 249, sdwa], vec![first | 249, byte]]);
            all.push([vec![first | 249, byte], vec![first | 249, byte | 8 << source]]);
        }
        let byte = sdwa & !(7 << 8) | 1 << 8;
        all.push([vec![first | 249, sdwa], vec![first | 249, byte]]);
        all.extend(bits(&[first | 249, byte], 1, 11..13));
    }
    all
}

/// Registers and SGPRs after execution, or the fault.
type RunResult = Result<(Vec<u32>, Vec<u32>, bool), Fault>;

struct Bench {
    chip: Chip,
    launch: Launch,
    worker: Worker,
    wave: Wave,
}

impl Bench {
    fn new(chip: Chip) -> Self {
        let descriptor = KernelDescriptor::parse(&[0; KernelDescriptor::SIZE]);
        let launch = Launch {
            chip,
            wave_size: WaveSize::Wave32,
            descriptor,
            grid: [32, 1, 1],
            block: [32, 1, 1],
            kernarg: 0,
            packet: 0,
            queue: 0,
            id: 0,
            lds: 0,
            private: 0,
            clock: ClockSource::Since(Instant::now()),
            cooperative: false,
            grid_sync: Default::default(),
        };
        let worker = Worker::new(MemoryView::new(&Memory::new().into()), Level::best());
        Self { chip, launch, worker, wave: Wave::new(WaveSize::Wave32, usize::from(REGISTERS)) }
    }

    fn program(&self, words: &[u32]) -> DecodedProgram {
        let end = if self.chip.family() == Family::Gfx10 { 0xbf81_0000u32 } else { 0xbfb0_0000 };
        let bytes = words.iter().chain([&end]).flat_map(|word| word.to_le_bytes()).collect();
        let code = Arc::new(LoadedCode { base: 0x1000, bytes });
        let target = DecodeOptions { chip: self.chip, wave: WaveSize::Wave32, registers: REGISTERS, keep_all: false };
        DecodedProgram::new(&code, target, self.worker.level, &[0x1000])
    }

    /// Executes a program on input number `number`.
    fn run(&mut self, program: &DecodedProgram, number: u64, mode: Mode) -> RunResult {
        let mut random = crate::lanes::testing::Random::new(number);
        // The second source is often the first with other signs; some inputs are NaN.
        let alike = number % 3 == 1;
        for row in 0..usize::from(REGISTERS) {
            let values: [u32; LANES] = std::array::from_fn(|_| {
                let bits = random.next();
                let word = bits as u32;
                // Values near one as f32, f16, bf16 or the upper half of f64; random bits; small
                // integers.
                match number % 7 {
                    0 => word & 0x83ff_ffff | 0x3c00_0000,
                    1 => word & 0x87ff_87ff | 0x3800_3800,
                    2 if row % 2 == 1 => word & 0x803f_ffff | 0x3fc0_0000,
                    3 => word & 0x1f,
                    // Bytes of all ones or zeros, and accumulators close to overflow.
                    4 => [0, !0, 0xffff, 0xffff_0000, 0xff00, 0x00ff_00ff][word as usize % 6],
                    5 if row >= C as usize => !0 - (word & 0xff),
                    6 if row >= C as usize => 0x7fff_ffff - (word & 0xff),
                    _ => word,
                }
            });
            self.wave.row(0, row).assign(&values);
            if alike {
                let first =
                    self.wave.row(0, if (B as usize..C as usize).contains(&row) { row - 10 } else { row }).get(0);
                let signed = values.map(|value| first & 0x7fff_7fff | value & 0x8000_8000);
                self.wave.row(0, row).assign(&signed);
            }
            if number % 7 == 3 {
                self.wave.row(0, row).set(row % LANES, [0x7fc0_0000, 0x7e00_7e00, 0x7ff8_0000][row % 3]);
            }
        }
        for register in 0..108 {
            self.wave.scalars[register] = random.next() as u32;
        }
        self.wave.scalars[usize::from(scalar::M0)] = 1;
        // Inactive lanes do not contribute to others.
        self.wave.scalars[usize::from(scalar::EXEC)] = if number % 4 == 3 { 0x0ff0_55aa } else { !0 };
        self.wave.set_mode(mode);
        (self.wave.scc, self.wave.next, self.wave.run, self.wave.budget) = (false, 0, 0, 1000);
        self.worker.runs = vec![0; program.len() + 1];
        let exit = Machine::new(&mut self.wave, &mut [], &mut self.worker, program, &self.launch).run();
        match exit {
            StopReason::Ended => {
                let rows = (0..usize::from(REGISTERS)).flat_map(|row| self.wave.row(0, row).array()).collect();
                Ok((rows, self.wave.scalars[..128].to_vec(), self.wave.scc))
            }
            StopReason::Fault(fault) => Err(fault),
            other => panic!("one instruction should end: {other:?}"),
        }
    }

    /// Whether a modifier changes the result or causes a fault.
    fn matters(&mut self, pair: &InstructionPair) -> bool {
        let [base, modified] = pair.each_ref().map(|words| self.program(words));
        (0..TRIES).flat_map(|number| MODES.map(|mode| (number, mode))).any(|(number, mode)| {
            let (base, modified) = (self.run(&base, number, mode), self.run(&modified, number, mode));
            base.is_err() || modified != base
        })
    }
}

fn read(chip: Chip, words: &[u32]) -> Option<(Instruction, Valu)> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let instruction = decode(chip, WaveSize::Wave32, &bytes).ok()?;
    let Fields::Vector(valu) = instruction.fields else { return None };
    (usize::from(instruction.size) == bytes.len()).then_some((instruction, valu))
}

/// The number of modifiers tried, and the texts of instructions that ignore one.
fn dropped(chip: Chip) -> (usize, BTreeSet<String>) {
    let mut bench = Bench::new(chip);
    let (mut count, mut silent) = (0, BTreeSet::new());
    let mut forms = HashMap::new();
    for pair in long().into_iter().chain(short()) {
        let (Some((base, plain)), Some((other, modified))) = (read(chip, &pair[0]), read(chip, &pair[1])) else {
            continue;
        };
        let name = other.op.name();
        // One operand form per operation is enough; DPP and SDWA forms count separately.
        let key = (name, plain.encoding as u8, plain.lanes == LaneControl::None);
        if !forms.contains_key(&key) && bench.run(&bench.program(&pair[0]), 0, MODES[0]).is_ok() {
            forms.insert(key, plain.src);
        }
        let Some(form) = forms.get(&key).copied() else { continue };
        if base.op != other.op
            || form != plain.src
            || constant(name)
            || normalized(name, &plain) == normalized(name, &modified)
        {
            continue;
        }
        count += 1;
        if !bench.matters(&pair) {
            silent.insert(format!("{} | {}", other.text(chip, WaveSize::Wave32), base.text(chip, WaveSize::Wave32)));
        }
    }
    (count, silent)
}

#[test]
fn every_decoded_modifier_has_an_effect() {
    let mut all = Vec::new();
    for chip in [Chip::Gfx1010, Chip::Gfx1030, Chip::Gfx1100, Chip::Gfx1151] {
        let (count, silent) = dropped(chip);
        assert!(count > 2_000, "{chip}: only {count}");
        all.extend(silent.into_iter().map(|text| format!("{chip}: {text}")));
    }
    assert!(all.is_empty(), "{}:\n{}", all.len(), all.join("\n"));
}
