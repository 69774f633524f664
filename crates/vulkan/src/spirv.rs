//! What a SPIR-V module says of itself: enough to refuse what a device cannot run before its compiler sees it.

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
/// 16-bit values between the stages of drawing. naga asks for it wherever there are such values at all, and many devices,
/// NVIDIA's among them, do not have it; kernels have no such stages.
const STORAGE_INPUT_OUTPUT_16: u32 = 4436;
const BUILT_IN: u32 = 11;
const NUM_WORKGROUPS: u32 = 24;

/// Matrices that a sub-group holds together.
const COOPERATIVE_MATRIX: u32 = 6022;

/// A module's outline.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// Major and minor version.
    pub(crate) version: (u32, u32),
    /// What it needs, by number.
    pub(crate) capabilities: Vec<u32>,
    /// Its kernels.
    pub(crate) entries: Vec<Entry>,
    /// Whether it asks how many workgroups there are. Where it does, a grid must run in one piece.
    pub(crate) counts_groups: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Invocations of a workgroup, where they are fixed.
    pub(crate) size: Option<[u32; 3]>,
    id: u32,
}

/// Reads a module; the text says what is wrong with it.
pub(crate) fn read(words: &[u32]) -> Result<Outline, String> {
    if words.first() != Some(&MAGIC) || words.len() < HEADER {
        return Err("it is no SPIR-V".to_owned());
    }
    let mut outline = Outline { version: (words[1] >> 16 & 255, words[1] >> 8 & 255), ..Outline::default() };
    let mut at = HEADER;
    let mut in_function = false;
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        let Some(instruction) = words.get(at..at + length).filter(|instruction| !instruction.is_empty()) else {
            return Err(format!("the instruction at word {at} leaves the module"));
        };
        let operation = words[at] & 0xffff;
        outline.note(operation, &instruction[1..]);
        in_function = operation == OP_FUNCTION || in_function && operation != OP_FUNCTION_END;
        at += length;
    }
    if in_function { Err("its last function has no end".to_owned()) } else { Ok(outline) }
}

/// A whole module without what it asks for and, being kernels alone, cannot use.
pub(crate) fn without_needless(words: &[u32]) -> Vec<u32> {
    let needless = [2 << 16 | OP_CAPABILITY, STORAGE_INPUT_OUTPUT_16];
    let mut kept = words[..HEADER].to_vec();
    let mut at = HEADER;
    while let Some(instruction) = words.get(at..).and_then(|rest| rest.get(..(rest.first()? >> 16) as usize)) {
        if instruction != needless {
            kept.extend(instruction);
        }
        at += instruction.len();
    }
    kept
}

impl Outline {
    /// Whether it works on matrix units.
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

/// A string, which ends with a zero byte.
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
    fn a_module_is_outlined() {
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
    fn what_kernels_cannot_use_is_left_out() {
        let plain = [instruction(OP_CAPABILITY, &[1]), instruction(OP_DECORATE, &[3, BUILT_IN, 26])];
        let asking = [plain[0].clone(), instruction(OP_CAPABILITY, &[STORAGE_INPUT_OUTPUT_16]), plain[1].clone()];
        assert_eq!(without_needless(&module(&asking)), module(&plain));
        assert_eq!(read(&module(&asking)).expect("a module").capabilities, [1]);
    }

    #[test]
    fn what_is_no_module_is_refused_wherever_it_ends() {
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
