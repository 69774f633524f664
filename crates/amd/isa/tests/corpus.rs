//! Encodings from LLVM's own tests, if the corpus is next to the checkout.
//!
//! The corpus has the output of LLVM's *assembler*. The disassembler prints some instructions
//! differently (`null` for a zero offset, a half without its suffix, …); for such lines its output
//! is the reference.

#[path = "support/oracle.rs"]
mod oracle;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use oracle::{Answer, ask, hex};
use roci_isa::{Chip, DecodeError, WaveSize, decode};
use roci_testkit::tools::Tool;
use roci_testkit::{absent, note, require, tools};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/models/amdgpu/amdgpu-mc-shared.tsv.xz");

/// Lines that differ from the assembler's text, to be checked against the disassembler: bytes, its
/// text, ours.
type AssemblerMismatches = BTreeMap<(Chip, u32), Vec<(Vec<u8>, String, String)>>;

#[test]
fn the_encodings_of_llvms_tests_decode_as_in_llvm() {
    let Some(rows) = rows() else { return };
    let (mut same, mut graphics, mut whole_registers) = (0, 0, 0);
    let mut mismatches = AssemblerMismatches::new();
    for row in rows.lines().filter(|row| !row.starts_with('#')) {
        let fields: Vec<&str> = row.split('\t').collect();
        let [chip, attributes, assembly, printed, bytes, _file] = fields[..] else { panic!("six columns: {row}") };
        // To a disassembler gfx1151 equals gfx1150.
        let chip = if chip == "gfx1150" { "gfx1151" } else { chip };
        let Ok(chip) = chip.parse::<Chip>() else { continue };
        let printed = if printed == "=" { assembly } else { printed };
        let bytes: Vec<u8> = (0..bytes.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&bytes[at..at + 2], 16).expect("hexadecimal"))
            .collect();
        for attributes in attributes.split('|') {
            if attributes.contains("-real-true16") {
                whole_registers += 1;
                continue;
            }
            let both = attributes.contains("size32") && attributes.contains("size64");
            let wide = attributes.contains("size64") && !both;
            let wave = if wide { WaveSize::Wave64 } else { WaveSize::Wave32 };
            let text = match decode(chip, wave, &bytes) {
                Ok(instruction) if usize::from(instruction.size) == bytes.len() => instruction.text(chip, wave),
                Ok(instruction) => format!("{} ({} bytes)", instruction.text(chip, wave), instruction.size),
                Err(DecodeError::Graphics { .. }) => {
                    graphics += 1;
                    continue;
                }
                Err(error) => error.to_string(),
            };
            if text == printed.trim() {
                same += 1;
            } else {
                let list = mismatches.entry((chip, oracle::lanes(wave))).or_default();
                list.push((bytes.clone(), printed.to_owned(), text));
            }
        }
    }
    let other: usize = mismatches.values().map(Vec::len).sum();
    note(&format!(
        "LLVM's tests: {same} encodings as its assembler prints them, {other} otherwise, \
         {graphics} graphics instructions, {whole_registers} without true16 not tried"
    ));
    assert!(same > 40_000, "the collection has more than {same} lines for these chips");
    assert!(other * 25 < same, "{other} of {same} differ: too many for quirks of the assembler");
    if let Some(tool) = require("llvm-22", tools::llvm_mc()) {
        compare_with_disassembler(&tool, &mismatches);
    }
}

fn compare_with_disassembler(tool: &Tool, mismatches: &AssemblerMismatches) {
    for ((chip, lanes), list) in mismatches {
        let wave = if *lanes == 64 { WaveSize::Wave64 } else { WaveSize::Wave32 };
        let encodings: Vec<&[u8]> = list.iter().map(|(bytes, ..)| &bytes[..]).collect();
        for ((bytes, printed, ours), answer) in list.iter().zip(ask(tool, *chip, wave, &encodings)) {
            let theirs = Answer::Lines(vec![ours.clone()]);
            assert_eq!(answer, theirs, "{chip} {wave:?} {}: the assembler prints `{printed}`", hex(bytes));
        }
    }
}

/// The lines of the corpus, if it and the program to decompress it are available.
fn rows() -> Option<String> {
    if !Path::new(FILE).exists() {
        absent("the collection of LLVM's test encodings (amdgpu-mc-shared.tsv.xz); its test does nothing");
        return None;
    }
    let xz = match Tool::find(&["xz"]) {
        Ok(xz) => xz,
        Err(error) => {
            absent(&format!("xz, which unpacks the collection of LLVM's test encodings: {error}"));
            return None;
        }
    };
    let output = Command::new(xz.path()).args(["-dc", FILE]).output().expect("xz starts");
    assert!(output.status.success(), "xz unpacks {FILE}");
    Some(String::from_utf8(output.stdout).expect("text"))
}
