//! Sampled encodings of every format, opcode, chip and wavefront size, compared with LLVM's
//! disassembler: the text must be equal, and invalid encodings must be invalid for both.
//! `ROCI_ISA_SAMPLES=10000000` sets the number of samples.

#[path = "support/oracle.rs"]
mod oracle;
#[path = "support/sample.rs"]
mod sample;

use std::collections::BTreeMap;

use oracle::{Answer, ask, hex};
use roci_isa::{Chip, DecodeError, Family, Fields, Instruction, LaneControl, Op, Operand, WaveSize, decode};
use roci_testkit::tools::Tool;
use roci_testkit::{isa_samples, note, random_run, require, tools};
use sample::{FORMATS, Random};

/// Default number of samples.
const SAMPLES: usize = 200_000;

#[derive(Default)]
struct Count {
    total: usize,
    same: usize,
    valid: usize,
    graphics: usize,
    crashes: usize,
    wrong: BTreeMap<&'static str, usize>,
    failures: Vec<String>,
}

#[test]
fn sampled_encodings_decode_as_in_llvm() {
    let Some(tool) = require("llvm-22", tools::llvm_mc()) else { return };
    let combinations = FORMATS.len() * Chip::ALL.len() * 2;
    let each = isa_samples().unwrap_or(SAMPLES).div_ceil(combinations);
    let mut random = Random::new(random_run().seed.unwrap_or(1));
    let mut count = Count::default();
    for chip in Chip::ALL {
        for wave in [WaveSize::Wave32, WaveSize::Wave64] {
            compare(&tool, &mut random, chip, wave, each, &mut count);
        }
    }
    let Count { total, same, valid, graphics, crashes, wrong, failures } = count;
    note(&format!(
        "{total} encodings: LLVM's text for {same} ({valid} instructions), {graphics} graphics instructions, \
         {crashes} crash LLVM, LLVM is wrong for {wrong:?}"
    ));
    assert!(
        failures.is_empty(),
        "{} differ, among them:\n{}",
        failures.len(),
        failures[..failures.len().min(40)].join("\n")
    );
    assert!(valid > total / 5, "the samples are mostly nonsense: {valid} of {total} are instructions");
}

fn compare(tool: &Tool, random: &mut Random, chip: Chip, wave: WaveSize, each: usize, count: &mut Count) {
    // Start at a random opcode, so that few samples still reach all opcodes.
    let begin = random.next() as usize % 1024;
    let formats = FORMATS.iter().filter(|format| format.name != "VOPD" || chip.family() == Family::Gfx11);
    let samples: Vec<[u8; 20]> = formats
        .flat_map(|format| (0..each).map(move |index| (format, begin + index)))
        .map(|(format, index)| sample::encoding(random, format, chip, index))
        .collect();
    count.total += samples.len();
    let ours: Vec<_> = samples.iter().map(|bytes| decode(chip, wave, bytes)).collect();
    // LLVM gets exactly the bytes that our decoder consumed and must consume the same.
    let encodings: Vec<&[u8]> = samples
        .iter()
        .zip(&ours)
        .map(|(bytes, decoded)| decoded.map_or(&bytes[..], |instruction| &bytes[..instruction.size.into()]))
        .collect();
    for ((bytes, decoded), answer) in encodings.iter().zip(ours).zip(ask(tool, chip, wave, &encodings)) {
        let text = match decoded {
            Ok(instruction) => instruction.text(chip, wave),
            Err(DecodeError::Graphics { .. }) => {
                count.graphics += 1;
                continue;
            }
            Err(_) => "(invalid)".to_owned(),
        };
        let theirs = match answer {
            Answer::Crash => {
                count.crashes += 1;
                continue;
            }
            Answer::Invalid => "(invalid)".to_owned(),
            Answer::Lines(lines) => lines.join("; "),
        };
        if text == theirs {
            count.same += 1;
            count.valid += usize::from(decoded.is_ok());
        } else if let Some(why) = decoded
            .map_or_else(|_| llvm_accepts_wrongly(bytes, &theirs), |instruction| llvm_is_wrong(&instruction, &text))
        {
            *count.wrong.entry(why).or_default() += 1;
        } else {
            count.failures.push(format!("{chip} {wave:?} {}: `{theirs}` here `{text}`", hex(bytes)));
        }
    }
}

/// Why LLVM accepts an invalid encoding, if the reason is known.
fn llvm_accepts_wrongly(bytes: &[u8], theirs: &str) -> Option<&'static str> {
    // In gfx9 the upper nine bits of VOP3P had this value. LLVM tries its gfx9 table for these
    // operations on all later chips.
    let of_gfx9 = bytes[3] == 0xd3 && bytes[2] & 0x80 != 0;
    (of_gfx9 && theirs.starts_with("v_fma_mix")).then_some("the encoding that mixed operations had on gfx9")
}

/// Why LLVM's text is wrong, if the reason is known: it mistakes some literals for inline
/// constants.
fn llvm_is_wrong(instruction: &Instruction, text: &str) -> Option<&'static str> {
    let always_literal = matches!(
        instruction.op,
        Op::VFmamkF32 | Op::VFmaakF32 | Op::VFmamkF16 | Op::VFmaakF16 | Op::VMadmkF32 | Op::VMadakF32
    ) || matches!(instruction.op, Op::SFmaakF32 | Op::SFmamkF32);
    let small = |operands: &[Operand]| operands.iter().any(|operand| matches!(operand, Operand::Literal(128..=255)));
    match instruction.fields {
        Fields::Scalar { src, .. } if always_literal && small(&src) => {
            Some("a literal of 128 to 255 that always follows")
        }
        Fields::Dual { x, y } if small(&x.src) || small(&y.src) => Some("a literal of 128 to 255 that always follows"),
        Fields::Vector(valu) => match valu.lanes {
            _ if always_literal && small(&valu.src) => Some("a literal of 128 to 255 that always follows"),
            LaneControl::Dpp8 { lanes: 128..=255, .. } => Some("selectors of DPP8 that make a number of 128 to 255"),
            LaneControl::Dpp16(_) if text.starts_with("v_fma_mix") => Some("the control of a mixed operation with DPP"),
            LaneControl::Dpp16(_) | LaneControl::Dpp8 { .. }
                if (text.starts_with("v_fmac_f16_e64_dpp") || text.starts_with("v_fmac_f32_e64_dpp"))
                    && matches!(valu.src[1], Operand::Integer(_) | Operand::Float(_)) =>
            {
                Some("a constant as second source of `v_fmac_f16_e64_dpp` and `v_fmac_f32_e64_dpp`")
            }
            _ => None,
        },
        _ => None,
    }
}
