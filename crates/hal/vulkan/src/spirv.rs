//! Minimal SPIR-V parser: enough to reject modules that a device cannot run before its compiler
//! sees them.

/// The first word of every module.
const MAGIC: u32 = 0x0723_0203;
const HEADER: usize = 5;
const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
const OP_CAPABILITY: u32 = 17;
const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_END: u32 = 56;
const OP_DECORATE: u32 = 71;
const OP_MEMBER_DECORATE: u32 = 72;
const GL_COMPUTE: u32 = 5;
const LOCAL_SIZE: u32 = 17;
/// 16-bit values in the interface between graphics stages. naga declares it for every module with
/// 16-bit values; many devices, such as NVIDIA's, lack it, and compute kernels have no such
/// interface.
const STORAGE_INPUT_OUTPUT_16: u32 = 4436;
const BUILT_IN: u32 = 11;
const NUM_WORKGROUPS: u32 = 24;

/// Cooperative matrices, held by a subgroup.
const COOPERATIVE_MATRIX: u32 = 6022;

/// Version, capabilities and entry points of a module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ModuleInfo {
    /// Major and minor version.
    pub(crate) version: (u32, u32),
    /// Required capabilities, by number.
    pub(crate) capabilities: Vec<u32>,
    pub(crate) entries: Vec<Entry>,
    /// Whether it reads `NumWorkgroups`. If so, a grid must run as one dispatch.
    pub(crate) counts_groups: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Workgroup size, if fixed.
    pub(crate) size: Option<[u32; 3]>,
    id: u32,
}

/// Parses a module; the error describes what is malformed.
pub(crate) fn read(words: &[u32]) -> Result<ModuleInfo, String> {
    if words.first() != Some(&MAGIC) || words.len() < HEADER {
        return Err("it is not SPIR-V".to_owned());
    }
    let mut outline = ModuleInfo { version: (words[1] >> 16 & 255, words[1] >> 8 & 255), ..ModuleInfo::default() };
    let mut at = HEADER;
    let mut in_function = false;
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        let Some(instruction) = words.get(at..at + length).filter(|instruction| !instruction.is_empty()) else {
            return Err(format!("the instruction at word {at} extends past the end of the module"));
        };
        let operation = words[at] & 0xffff;
        outline.note(operation, &instruction[1..]);
        in_function = operation == OP_FUNCTION || in_function && operation != OP_FUNCTION_END;
        at += length;
    }
    if in_function { Err("its last function has no OpFunctionEnd".to_owned()) } else { Ok(outline) }
}

/// Removes capabilities that are declared but cannot be used by compute kernels.
pub(crate) fn without_unused_capabilities(words: &[u32]) -> Vec<u32> {
    let needless = [2 << 16 | OP_CAPABILITY, STORAGE_INPUT_OUTPUT_16];
    let mut output = words[..HEADER].to_vec();
    let mut at = HEADER;
    while let Some(instruction) = words.get(at..).and_then(|rest| rest.get(..(rest.first()? >> 16) as usize)) {
        if instruction != needless {
            output.extend(instruction);
        }
        at += instruction.len();
    }
    output
}

impl ModuleInfo {
    /// Whether it uses cooperative matrices.
    pub(crate) fn uses_matrices(&self) -> bool {
        self.capabilities.contains(&COOPERATIVE_MATRIX)
    }

    fn note(&mut self, operation: u32, operands: &[u32]) {
        match (operation, operands) {
            (OP_CAPABILITY, [STORAGE_INPUT_OUTPUT_16]) => {}
            (OP_CAPABILITY, [capability]) => self.capabilities.push(*capability),
            (OP_ENTRY_POINT, [GL_COMPUTE, id, rest @ ..]) => {
                self.entries.push(Entry { name: text(rest), size: None, id: *id });
            }
            (OP_EXECUTION_MODE, [id, LOCAL_SIZE, x, y, z]) => {
                for entry in self.entries.iter_mut().filter(|entry| entry.id == *id) {
                    entry.size = Some([*x, *y, *z]);
                }
            }
            (OP_DECORATE, [_, BUILT_IN, NUM_WORKGROUPS]) | (OP_MEMBER_DECORATE, [_, _, BUILT_IN, NUM_WORKGROUPS]) => {
                self.counts_groups = true;
            }
            _ => {}
        }
    }
}

/// Decodes a NUL-terminated string literal.
fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(operation: u32, operands: &[u32]) -> Vec<u32> {
        let mut words = vec![(operands.len() as u32 + 1) << 16 | operation];
        words.extend(operands);
        words
    }

    fn module(instructions: &[Vec<u32>]) -> Vec<u32> {
        let mut words = vec![MAGIC, 0x0001_0300, 0, 100, 0];
        words.extend(instructions.concat());
        words
    }

    #[test]
    fn a_module_is_parsed() {
        let name = u32::from_le_bytes(*b"spin");
        let words = module(&[
            instruction(OP_CAPABILITY, &[1]),
            instruction(OP_CAPABILITY, &[61]),
            instruction(OP_ENTRY_POINT, &[GL_COMPUTE, 7, name, 0, 3]),
            instruction(OP_EXECUTION_MODE, &[7, LOCAL_SIZE, 4, 2, 1]),
            instruction(OP_DECORATE, &[3, BUILT_IN, NUM_WORKGROUPS]),
        ]);
        let outline = read(&words).expect("a module");
        assert_eq!(outline.version, (1, 3));
        assert_eq!(outline.capabilities, [1, 61]);
        assert_eq!(outline.entries, [Entry { name: "spin".into(), size: Some([4, 2, 1]), id: 7 }]);
        assert!(outline.counts_groups);
        assert!(!read(&module(&[instruction(OP_DECORATE, &[3, BUILT_IN, 26])])).expect("a module").counts_groups);
    }

    #[test]
    fn unused_capabilities_are_removed() {
        let plain = [instruction(OP_CAPABILITY, &[1]), instruction(OP_DECORATE, &[3, BUILT_IN, 26])];
        let asking = [plain[0].clone(), instruction(OP_CAPABILITY, &[STORAGE_INPUT_OUTPUT_16]), plain[1].clone()];
        assert_eq!(without_unused_capabilities(&module(&asking)), module(&plain));
        assert_eq!(read(&module(&asking)).expect("a module").capabilities, [1]);
    }

    #[test]
    fn truncated_modules_are_rejected() {
        assert!(read(&[]).is_err());
        assert!(read(&[1, 2, 3, 4, 5]).is_err());
        let whole = module(&[instruction(OP_ENTRY_POINT, &[GL_COMPUTE, 7, 0x6e69_7073])]);
        for length in 0..whole.len() {
            let verdict = read(&whole[..length]);
            assert!(verdict.is_err() || length == HEADER, "{length}: {verdict:?}");
        }
        let function = instruction(OP_FUNCTION, &[1, 2, 0, 3]);
        assert!(read(&module(std::slice::from_ref(&function))).is_err(), "a function without an end");
        assert!(read(&module(&[function, instruction(OP_FUNCTION_END, &[])])).is_ok());
        assert!(read(&module(&[vec![0]])).is_err(), "an instruction of no words never ends");
    }
}
