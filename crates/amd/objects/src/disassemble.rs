//! Disassembles the functions of a code object.

use std::collections::BTreeMap;

use roci_codeobj::{CodeObject, SymbolKind};
use roci_isa::{Chip, Fields, Instruction, WaveSize};
use serde::Serialize;

/// A function and its instructions.
#[derive(Clone, Debug, Serialize)]
pub struct Function {
    /// Symbol of the function.
    pub name: String,
    /// Address in the code object.
    pub address: u64,
    /// Instructions in order.
    pub lines: Vec<InstructionLine>,
}

/// A line of a disassembly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstructionLine {
    /// Address in the code object.
    pub address: u64,
    /// The encoding.
    pub words: Vec<u32>,
    /// The text that LLVM prints.
    pub text: String,
    /// The target of a branch, as function and offset.
    pub target: Option<String>,
}

/// The location of a function.
struct Extent<'a> {
    name: &'a str,
    start: u64,
    end: u64,
}

/// One decoded instruction.
struct Decoded {
    size: usize,
    text: String,
    /// The target address of a branch.
    target: Option<u64>,
}

/// The functions of `object`, or only `kernel`; `None` if its target is not supported.
pub fn disassemble(object: &CodeObject, kernel: Option<&str>) -> Option<Vec<Function>> {
    let chip = chip(object)?;
    let extents = extents(object);
    let entry = kernel.map(|name| object.kernel(name).map(|kernel| kernel.entry));
    let selected = extents.iter().filter(|extent| entry.is_none_or(|entry| entry == Some(extent.start)));
    let functions = selected.map(|extent| {
        let code = object.data_at(extent.start, extent.end - extent.start).unwrap_or_default();
        let wave_size = wave_size(object, extent.start);
        let decode = |bytes: &[u8], address| decode(chip, wave_size, bytes, address);
        let lines = lines(code, extent.start, &extents, decode);
        Function { name: extent.name.to_owned(), address: extent.start, lines }
    });
    Some(functions.collect())
}

/// The chip whose instruction set the code uses; a generic target's is that of any chip that it
/// covers.
fn chip(object: &CodeObject) -> Option<Chip> {
    let processor = object.target().processor;
    let known = |name: &str| name.parse().ok();
    known(processor.name()).or_else(|| processor.covers().find_map(|chip| known(chip.name())))
}

/// The wave size of the function at `address`. A function without a kernel descriptor uses the wave
/// size of the kernels.
fn wave_size(object: &CodeObject, address: u64) -> WaveSize {
    let kernels = object.kernels();
    let own = kernels.iter().find(|kernel| kernel.entry == address).or(kernels.first());
    match own.map(|kernel| kernel.descriptor.wave_size()) {
        Some(64) => WaveSize::Wave64,
        _ => WaveSize::Wave32,
    }
}

/// All functions by address. They do not overlap, so that their total size is at most that of the
/// file.
fn extents<'a>(object: &'a CodeObject) -> Vec<Extent<'a>> {
    let local = object.local_symbols();
    let symbols = if local.is_empty() { object.symbols() } else { local };
    let named = symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Function);
    let named = named.filter_map(|symbol| Some((symbol.address?, (symbol.name, symbol.size))));
    let kernels = object
        .kernels()
        .iter()
        .map(|kernel| (kernel.entry, (kernel.name.as_str(), kernel.code_size.unwrap_or_default())));
    // Of several symbols at one address, a kernel's is preferred.
    let starts: BTreeMap<u64, (&str, u64)> = named.chain(kernels).collect();
    let code_end = |start: u64| {
        let code = object.segments().iter().filter(|segment| segment.executable);
        code.map(|segment| (segment.address, segment.address + segment.data.len() as u64))
            .find_map(|(from, to)| (from..to).contains(&start).then_some(to))
    };
    let mut extents = Vec::new();
    let mut next = starts.keys().copied().skip(1);
    for (&start, &(name, size)) in &starts {
        let next = next.next().unwrap_or(u64::MAX);
        let stated = if size > 0 { start.saturating_add(size) } else { u64::MAX };
        if let Some(end) = code_end(start) {
            extents.push(Extent { name, start, end: end.min(next).min(stated) });
        }
    }
    extents
}

/// Disassembles instruction by instruction. Invalid words and trailing bytes are shown as data.
fn lines(
    code: &[u8],
    start: u64,
    extents: &[Extent],
    decode: impl Fn(&[u8], u64) -> Option<Decoded>,
) -> Vec<InstructionLine> {
    let mut lines = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let rest = &code[at..];
        let address = start + at as u64;
        let decoded = decode(rest, address).filter(|decoded| decoded.size > 0 && decoded.size <= rest.len());
        let (size, text, target) = match decoded {
            Some(decoded) => (decoded.size, decoded.text, decoded.target),
            None => match rest.first_chunk() {
                Some(word) => (4, format!(".long 0x{:08x}", u32::from_le_bytes(*word)), None),
                None => {
                    let bytes: Vec<_> = rest.iter().map(|byte| format!("0x{byte:02x}")).collect();
                    (rest.len(), format!(".byte {}", bytes.join(", ")), None)
                }
            },
        };
        let words = rest[..size].as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        lines.push(InstructionLine { address, words, text, target: target.map(|target| label(target, extents)) });
        at += size;
    }
    lines
}

/// An address as a function and an offset.
fn label(address: u64, extents: &[Extent]) -> String {
    let before = extents.partition_point(|extent| extent.start <= address);
    match before.checked_sub(1).and_then(|index| extents.get(index)) {
        Some(extent) if extent.start == address => extent.name.to_owned(),
        Some(extent) => format!("{}+0x{:x}", extent.name, address - extent.start),
        None => format!("0x{address:x}"),
    }
}

/// Decodes the instruction that starts `bytes`.
fn decode(chip: Chip, wave: WaveSize, bytes: &[u8], address: u64) -> Option<Decoded> {
    let instruction = roci_isa::decode(chip, wave, bytes).ok()?;
    let size = usize::from(instruction.size);
    Some(Decoded { size, text: instruction.text(chip, wave), target: target(&instruction, address) })
}

/// The target of a branch at `address`.
fn target(instruction: &Instruction, address: u64) -> Option<u64> {
    let Fields::Scalar { simm, .. } = instruction.fields else { return None };
    let name = instruction.op.name();
    let branches = ["s_branch", "s_cbranch_", "s_call_"].iter().any(|start| name.starts_with(start));
    let relative = branches && !["s_cbranch_g_fork", "s_cbranch_join"].contains(&name);
    let words = i64::from(simm.cast_signed());
    relative.then(|| address.wrapping_add(u64::from(instruction.size)).wrapping_add_signed(4 * words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_words_are_shown_as_data() {
        let extents = [Extent { name: "f", start: 0x100, end: 0x110 }];
        let decode = |bytes: &[u8], address| {
            (bytes[0] == 1).then(|| Decoded { size: 8, text: "s_branch 1".into(), target: Some(address + 8) })
        };
        let code = [2, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 7, 8];
        let lines = lines(&code, 0x100, &extents, decode);
        let shown: Vec<_> = lines.iter().map(|line| (line.address, line.text.as_str(), line.words.len())).collect();
        let expected = [(0x100, ".long 0x00000002", 1), (0x104, "s_branch 1", 2), (0x10c, ".long 0x00000001", 1)];
        assert_eq!(shown[..3], expected, "an instruction that is cut off is data too");
        assert_eq!(shown[3..], [(0x110, ".byte 0x07, 0x08", 0)]);
        assert_eq!(lines[1].target.as_deref(), Some("f+0xc"));
    }

    #[test]
    fn labels_are_functions_and_offsets() {
        let extents = [Extent { name: "f", start: 16, end: 32 }, Extent { name: "g", start: 32, end: 64 }];
        let label = |address| label(address, &extents);
        assert_eq!((label(16), label(28), label(32), label(8)), ("f".into(), "f+0xc".into(), "g".into(), "0x8".into()));
    }
}
