//! No modifier is dropped: whatever the decoder reads of an instruction changes its result, or it is not run at all.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use roci_codeobj::KernelDescriptor;
use roci_isa::{Chip, Family, Fields, Instruction, LaneControl, Operand, SdwaPart, Valu, WaveSize, decode};

use crate::engine::{Exit, Machine, Worker};
use crate::fault::Fault;
use crate::lanes::Level;
use crate::launch::{Clock, Launch};
use crate::memory::{Memory, Window};
use crate::mode::Mode;
use crate::program::{Code, Program, Target};
use crate::row::LANES;
use crate::wave::{Wave, scalar};

/// Vector registers of a kernel, enough for three matrices and a result.
const REGISTERS: u16 = 64;
/// The first registers of the result and of the sources.
const DST: u32 = 40;
const A: u32 = 10;
const B: u32 = 20;
const C: u32 = 30;
/// Scalar registers in the place of sources and of a second result.
const SCALAR: u32 = 20;
const MODES: [Mode; 2] = [Mode::DEFAULT, Mode(0x100)];
/// Sources that are tried before a modifier counts as dropped.
const TRIES: u64 = 40;

/// Operations whose result is the same of both signs of a source (bit i: source i).
const EVEN: &[(&str, u8)] = &[
    ("v_cmp_o_", 3),
    ("v_cmp_u_", 3),
    ("v_cmpx_o_", 3),
    ("v_cmpx_u_", 3),
    ("v_frexp_exp", 1),
    ("v_cos", 1),
    ("v_trig_preop", 1),
    // Of a direction one coordinate goes with each face, and the quotient's sign is that of its parts.
    ("v_cubesc", 2),
    ("v_cubetc", 1),
    ("v_div_fixup", 1),
    ("v_div_scale", 4),
    // A mask of classes, not a number.
    ("v_cmp_class", 2),
    ("v_cmpx_class", 2),
];

/// What may be read and yet change nothing: two forms that look alike when what does not matter is taken away.
fn essence(name: &str, valu: &Valu) -> Valu {
    let mut valu = *valu;
    let starts = |starts: &str| name.starts_with(starts);
    // Halves may be written as such or by `op_sel`; modifiers of sources that are not there mean nothing.
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
    // The clamp of comparisons asks for exceptions; what is between 0 and 1 stays.
    valu.clamp &= !starts("v_cmp") && !starts("v_trig_preop");
    if let LaneControl::Sdwa(sdwa) = &mut valu.lanes {
        // What whole registers leave, and their sign; of 16 bits the lower half is the whole.
        let part = |part| if part == SdwaPart::Word(0) { SdwaPart::Dword } else { part };
        (sdwa.dst, sdwa.src) = (part(sdwa.dst), sdwa.src.map(part));
        // The lowest bytes of small numbers as f32 are zero.
        let zero = ["v_cvt_f32_ubyte", "v_cvt_f32_f16", "v_cvt_off"].iter().any(|name| starts(name));
        if sdwa.dst == SdwaPart::Dword || zero && sdwa.dst_unused == 1 {
            sdwa.dst_unused = 0;
        }
        for source in 0..2 {
            sdwa.sext[source] &= sdwa.src[source] != SdwaPart::Dword;
        }
        // The amounts of shifts are a few bits, as is what these look at.
        let few = ["v_cvt_f32_ubyte0", "v_cvt_off", "v_ctz_i32"].iter().any(|name| starts(name));
        sdwa.sext[0] &= !few && !name.contains("rev_");
    }
    valu
}

/// What does not look at its first source: some comparisons, and the count of lanes beyond 32 in waves of 32 lanes.
fn constant(name: &str) -> bool {
    let test = name.strip_prefix("v_cmp_").or_else(|| name.strip_prefix("v_cmpx_")).unwrap_or_default();
    ["f_", "t_", "tru_"].iter().any(|constant| test.starts_with(constant)) || name == "v_mbcnt_hi_u32_b32"
}

/// An instruction without and with a modifier.
type Pair = [Vec<u32>; 2];

/// Each bit of a modifier in the words of an instruction, one at a time, if it is set or cleared.
fn bits(words: &[u32], word: usize, range: std::ops::Range<u32>) -> impl Iterator<Item = Pair> + '_ {
    range.map(move |bit| {
        let mut modified = words.to_vec();
        modified[word] ^= 1 << bit;
        [words.to_vec(), modified]
    })
}

/// Instructions as VOP3 and VOP3P.
fn long() -> Vec<Pair> {
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
            // The second result of those that have one: bits 8 to 14.
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

/// Quads reversed, of register A, all rows and banks.
const DPP16: u32 = 0xff00_1b00 | A;
/// The same in groups of eight.
const DPP8: u32 = 0o01_234_567 << 8 | A;
/// Register A and all of it, as is the other source.
const SDWA: u32 = 6 << 24 | 6 << 16 | 6 << 8 | A;

/// The same as VOP1, VOP2 and VOPC, with DPP and SDWA.
fn short() -> Vec<Pair> {
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
        // Parts: the second byte, with and without its sign; what is left of the result.
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

/// What an instruction leaves: registers and scalars, or why it was not run.
type Outcome = Result<(Vec<u32>, Vec<u32>, bool), Fault>;

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
            clock: Clock::Since(Instant::now()),
            cooperative: false,
            grid_sync: Default::default(),
        };
        let worker = Worker::new(Window::new(&Memory::new().into()), Level::best());
        Self { chip, launch, worker, wave: Wave::new(WaveSize::Wave32, usize::from(REGISTERS)) }
    }

    fn program(&self, words: &[u32]) -> Program {
        let end = if self.chip.family() == Family::Gfx10 { 0xbf81_0000u32 } else { 0xbfb0_0000 };
        let bytes = words.iter().chain([&end]).flat_map(|word| word.to_le_bytes()).collect();
        let code = Arc::new(Code { base: 0x1000, bytes });
        let target = Target { chip: self.chip, wave: WaveSize::Wave32, registers: REGISTERS, keep_all: false };
        Program::new(&code, target, self.worker.level, &[0x1000])
    }

    /// Runs a program on sources of this number.
    fn run(&mut self, program: &Program, number: u64, mode: Mode) -> Outcome {
        let mut random = crate::lanes::testing::Random(number);
        // The second source often is the first, with other signs; some are not numbers.
        let alike = number % 3 == 1;
        for row in 0..usize::from(REGISTERS) {
            let values: [u32; LANES] = std::array::from_fn(|_| {
                let bits = random.next();
                let word = bits as u32;
                // Numbers near one as f32, f16, bf16 or the upper half of f64; any bits; small integers.
                match number % 7 {
                    0 => word & 0x83ff_ffff | 0x3c00_0000,
                    1 => word & 0x87ff_87ff | 0x3800_3800,
                    2 if row % 2 == 1 => word & 0x803f_ffff | 0x3fc0_0000,
                    3 => word & 0x1f,
                    // Bytes that are all ones or zero, and accumulators about to overflow.
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
        // Lanes that are off give others nothing.
        self.wave.scalars[usize::from(scalar::EXEC)] = if number % 4 == 3 { 0x0ff0_55aa } else { !0 };
        self.wave.set_mode(mode);
        (self.wave.scc, self.wave.next, self.wave.run, self.wave.budget) = (false, 0, 0, 1000);
        self.worker.runs = vec![0; program.len() + 1];
        let exit = Machine::new(&mut self.wave, &mut [], &mut self.worker, program, &self.launch).run();
        match exit {
            Exit::Ended => {
                let rows = (0..usize::from(REGISTERS)).flat_map(|row| self.wave.row(0, row).array()).collect();
                Ok((rows, self.wave.scalars[..128].to_vec(), self.wave.scc))
            }
            Exit::Fault(fault) => Err(fault),
            other => panic!("one instruction should end: {other:?}"),
        }
    }

    /// Whether a modifier changes what an instruction does, or keeps it from running.
    fn matters(&mut self, pair: &Pair) -> bool {
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

/// How many modifiers were tried, and the texts of instructions whose modifier changes nothing.
fn dropped(chip: Chip) -> (usize, BTreeSet<String>) {
    let mut bench = Bench::new(chip);
    let (mut count, mut silent) = (0, BTreeSet::new());
    let mut forms = HashMap::new();
    for pair in long().into_iter().chain(short()) {
        let (Some((base, plain)), Some((other, modified))) = (read(chip, &pair[0]), read(chip, &pair[1])) else {
            continue;
        };
        let name = other.op.name();
        // The first form of operands that an operation runs with is enough; a DPP or SDWA form is one of its own.
        let key = (name, plain.encoding as u8, plain.lanes == LaneControl::None);
        if !forms.contains_key(&key) && bench.run(&bench.program(&pair[0]), 0, MODES[0]).is_ok() {
            forms.insert(key, plain.src);
        }
        let Some(form) = forms.get(&key).copied() else { continue };
        if base.op != other.op
            || form != plain.src
            || constant(name)
            || essence(name, &plain) == essence(name, &modified)
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
fn every_modifier_that_is_read_matters() {
    let mut all = Vec::new();
    for chip in [Chip::Gfx1010, Chip::Gfx1030, Chip::Gfx1100, Chip::Gfx1151] {
        let (count, silent) = dropped(chip);
        assert!(count > 2_000, "{chip}: only {count}");
        all.extend(silent.into_iter().map(|text| format!("{chip}: {text}")));
    }
    assert!(all.is_empty(), "{}:\n{}", all.len(), all.join("\n"));
}
