//! Asks LLVM's disassembler about many encodings.

use std::fmt::Write as _;
use std::process::Command;

use roci_isa::{Chip, WaveSize};
use roci_testkit::tools::Tool;

/// LLVM's answer for one encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Disassembled lines; one, if all bytes are a single instruction.
    Lines(Vec<String>),
    /// Not an instruction.
    Invalid,
    /// LLVM crashed.
    Crash,
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("to a string");
        text
    })
}

pub(crate) const fn lanes(wave: WaveSize) -> u32 {
    match wave {
        WaveSize::Wave32 => 32,
        WaveSize::Wave64 => 64,
    }
}

/// LLVM's answers, in order. A marker with its number follows each encoding, so that a wrong length
/// is noticed.
pub(crate) fn ask(tool: &Tool, chip: Chip, wave: WaveSize, encodings: &[&[u8]]) -> Vec<Answer> {
    const CHUNK: usize = 20_000;
    encodings.chunks(CHUNK).flat_map(|chunk| ask_chunk(tool, chip, wave, chunk)).collect()
}

fn ask_chunk(tool: &Tool, chip: Chip, wave: WaveSize, encodings: &[&[u8]]) -> Vec<Answer> {
    const MARKER: u32 = 0x5000_0000;
    // `s_mov_b32 s0, literal`, whose opcode differs between the families.
    let marker = if chip.name().starts_with("gfx10") { "0xff,0x03,0x80,0xbe" } else { "0xff,0x00,0x80,0xbe" };
    let mut input = String::new();
    for (number, bytes) in encodings.iter().enumerate() {
        let list = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:#04x}")).collect::<Vec<_>>().join(",");
        let number = (MARKER + number as u32).to_le_bytes();
        writeln!(input, "[{}]\n[{marker},{}]", list(bytes), list(&number)).expect("to a string");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("encodings.txt");
    std::fs::write(&file, input).expect("a writable temporary folder");
    let output = Command::new(tool.path())
        .args(["-triple=amdgcn-amd-amdhsa", "-disassemble"])
        .arg(format!("-mcpu={chip}"))
        .arg(format!("-mattr=+wavefrontsize{}", lanes(wave)))
        .arg(&file)
        .output()
        .expect("llvm-mc starts");
    if output.status.code().is_none() {
        // Killed by a signal: LLVM crashed on one of the encodings. Bisect to find it.
        if let [_] = encodings {
            return vec![Answer::Crash];
        }
        let (left, right) = encodings.split_at(encodings.len() / 2);
        return [ask_chunk(tool, chip, wave, left), ask_chunk(tool, chip, wave, right)].concat();
    }
    let mut answers = Vec::with_capacity(encodings.len());
    let mut lines = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines().map(str::trim) {
        let number = line.strip_prefix("s_mov_b32 s0, 0x").and_then(|number| u32::from_str_radix(number, 16).ok());
        if number == Some(MARKER + answers.len() as u32) {
            let lines = std::mem::take(&mut lines);
            answers.push(if lines.is_empty() { Answer::Invalid } else { Answer::Lines(lines) });
        } else if !line.is_empty() {
            lines.push(line.to_owned());
        }
    }
    assert_eq!(
        answers.len(),
        encodings.len(),
        "LLVM printed an error, or its output is incomplete: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    answers
}
