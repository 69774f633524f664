//! Minimal reader of ELF headers: ROCm libraries have gigabytes, and a few kilobytes are enough.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use roci_codeobj::Bundle;

use crate::root::Root;

/// Maximum size of a table in a library, in bytes.
const TABLE: usize = 1 << 20;
/// Bytes of a GPU code section that contain the table of its first bundle, compressed or not.
const BUNDLE_START: usize = 256 << 10;
/// `PT_GNU_STACK`.
const STACK: u64 = 0x6474_e551;

/// A 64-bit little-endian file.
pub(super) struct Elf {
    file: File,
    header: Vec<u8>,
}

impl Elf {
    pub(super) fn open(root: &Root, path: &str) -> Option<Self> {
        let file = root.open(path)?;
        let header = part(&file, 0, 64)?;
        header.starts_with(b"\x7fELF\x02\x01").then_some(Self { file, header })
    }

    /// The first bytes of a section.
    pub(super) fn section(&self, name: &str, limit: usize) -> Option<Vec<u8>> {
        let table = self.table(40, 58, 60)?;
        let strings = table.get(number(&self.header, 62, 2)? as usize)?;
        let (start, size) = (number(strings, 24, 8)?, number(strings, 32, 8)?);
        let names = part(&self.file, start, usize::try_from(size).ok()?.min(TABLE))?;
        let section = table.iter().find(|section| {
            let found = number(section, 0, 4).and_then(|at| names.get(at as usize..));
            found.and_then(|found| found.strip_prefix(name.as_bytes())).is_some_and(|rest| rest.first() == Some(&0))
        })?;
        let size = usize::try_from(number(section, 32, 8)?).ok()?;
        part(&self.file, number(section, 24, 8)?, size.min(limit))
    }

    /// Whether it requests an executable stack.
    pub(super) fn needs_executable_stack(&self) -> bool {
        let segments = self.table(32, 54, 56).unwrap_or_default();
        let stack = segments.iter().find(|segment| number(segment, 0, 4) == Some(STACK));
        stack.and_then(|stack| number(stack, 4, 4)).is_some_and(|flags| flags & 1 != 0)
    }

    /// Reads a table of the file: `place`, `size` and `count` are offsets of the header fields with
    /// its offset, entry size and entry count.
    fn table(&self, place: usize, size: usize, count: usize) -> Option<Vec<Vec<u8>>> {
        let field = |at, length| number(&self.header, at, length);
        let size = usize::try_from(field(size, 2)?).ok().filter(|size| *size > 0)?;
        let bytes = part(&self.file, field(place, 8)?, (size * usize::try_from(field(count, 2)?).ok()?).min(TABLE))?;
        Some(bytes.chunks_exact(size).map(<[u8]>::to_vec).collect())
    }
}

/// Targets of the GPU code in a library, from the table of its first bundle.
pub(super) fn code_targets(root: &Root, path: &str) -> BTreeSet<String> {
    let section = Elf::open(root, path).and_then(|elf| elf.section(".hip_fatbin", BUNDLE_START));
    let targets = Bundle::targets_at_start(&section.unwrap_or_default());
    targets.iter().map(|target| target.processor.name().to_owned()).collect()
}

/// A `modinfo` value of a kernel module, such as `srcversion`.
pub(super) fn modinfo(root: &Root, path: &str, name: &str) -> Option<String> {
    let section = Elf::open(root, path)?.section(".modinfo", TABLE)?;
    let text = String::from_utf8_lossy(&section).into_owned();
    text.split('\0').find_map(|entry| entry.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
}

fn part(file: &File, at: u64, size: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; size];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + size)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library with a stack segment and one section of GPU code.
    fn library(stack_flags: u32, code: &[u8]) -> Vec<u8> {
        const NAMES: &[u8] = b"\0.hip_fatbin\0.shstrtab\0";
        let (names_at, code_at) = (64 + 56, 64 + 56 + NAMES.len());
        let sections_at = code_at + code.len();
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.resize(64, 0);
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(32, &64_u64.to_le_bytes());
        put(40, &(sections_at as u64).to_le_bytes());
        for (at, value) in [(54, 56_u16), (56, 1), (58, 64), (60, 3), (62, 2)] {
            put(at, &value.to_le_bytes());
        }
        let mut segment = (STACK as u32).to_le_bytes().to_vec();
        segment.extend(stack_flags.to_le_bytes());
        segment.resize(56, 0);
        file.extend(segment);
        file.extend(NAMES);
        file.extend(code);
        for (name, at, size) in [(0, 0, 0), (1, code_at, code.len()), (13, names_at, NAMES.len())] {
            let mut section = (name as u32).to_le_bytes().to_vec();
            section.resize(24, 0);
            section.extend((at as u64).to_le_bytes());
            section.extend((size as u64).to_le_bytes());
            section.resize(64, 0);
            file.extend(section);
        }
        file
    }

    #[test]
    fn headers_give_the_stack_flag_and_targets() {
        let folder = tempfile::tempdir().expect("a folder");
        let id = b"hipv4-amdgcn-amd-amdhsa--gfx1012:xnack-";
        let mut code = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
        for value in [1, 4096, 1 << 20, id.len() as u64] {
            code.extend(u64::to_le_bytes(value));
        }
        code.extend(id);
        std::fs::write(folder.path().join("a.so"), library(7, &code)).expect("a file");
        std::fs::write(folder.path().join("b.so"), library(6, b"")).expect("a file");
        std::fs::write(folder.path().join("c.so"), "no library").expect("a file");
        let root = Root::at(folder.path());
        assert_eq!(code_targets(&root, "/a.so").into_iter().collect::<Vec<_>>(), ["gfx1012"]);
        assert!(code_targets(&root, "/b.so").is_empty() && code_targets(&root, "/c.so").is_empty());
        let executable = |path| Elf::open(&root, path).is_some_and(|elf| elf.needs_executable_stack());
        assert!(executable("/a.so") && !executable("/b.so") && !executable("/c.so"));
        assert!(root.unreadable().is_empty());
    }
}
