//! Marks accesses to shared memory in modules that use the Vulkan memory model.
//!
//! Cooperative matrices require that memory model. In it, loads and stores are private to an
//! invocation unless marked otherwise, and barriers order only the accesses that they make
//! available and visible. naga emits neither marking, so a driver may keep a value in a register
//! across a barrier although another invocation has overwritten it in memory.

use std::collections::{HashMap, HashSet};

const OP_MEMORY_MODEL: u32 = 14;
const OP_TYPE_POINTER: u32 = 32;
const OP_CONSTANT: u32 = 43;
const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_PARAMETER: u32 = 55;
const OP_VARIABLE: u32 = 59;
const OP_LOAD: u32 = 61;
const OP_STORE: u32 = 62;
const OP_ACCESS_CHAIN: u32 = 65;
const OP_IN_BOUNDS_ACCESS_CHAIN: u32 = 66;
const OP_CONTROL_BARRIER: u32 = 224;
const OP_MEMORY_BARRIER: u32 = 225;
const OP_DECORATE: u32 = 71;
const OP_MATRIX_LOAD: u32 = 4457;
const OP_MATRIX_STORE: u32 = 4458;

const MODEL_VULKAN: u32 = 3;
const CLASS_WORKGROUP: u32 = 4;
const CLASS_STORAGE: u32 = 12;
const NON_WRITABLE: u32 = 24;
const NON_PRIVATE: u32 = 0x20;
/// `MakeAvailable | MakeVisible` memory semantics.
const BOTH_WAYS: u32 = 0x6000;
const HEADER: usize = 5;

/// Marks each access to shared memory as non-private, and each barrier as making memory available
/// and visible. Modules of another memory model are unchanged.
pub(crate) fn share_accesses(words: Vec<u32>) -> Vec<u32> {
    let Some(facts) = ModuleFacts::of(&words) else { return words };
    let Some(bound) = words.get(3).copied() else { return words };
    let mut changed: Vec<u32> = words[..HEADER].to_vec();
    // Semantics constants of barriers, and their replacements.
    let mut semantics: Vec<(u32, u32)> = Vec::new();
    for one in instructions(&words) {
        if one.code == OP_CONTROL_BARRIER || one.code == OP_MEMORY_BARRIER {
            let id = one.words[one.words.len() - 1];
            if !semantics.iter().any(|(old, _)| *old == id) && facts.constants.contains_key(&id) {
                semantics.push((id, bound + semantics.len() as u32));
            }
        }
    }
    changed[3] = bound + semantics.len() as u32;
    let mut in_functions = false;
    for one in instructions(&words) {
        if one.code == OP_FUNCTION && !in_functions {
            in_functions = true;
            for (old, new) in &semantics {
                let (kind, value) = facts.constants[old];
                changed.extend([4 << 16 | OP_CONSTANT, kind, *new, value | BOTH_WAYS]);
            }
        }
        // Word index of the pointer, and the instruction's word count without memory operands.
        let access = match one.code {
            OP_LOAD => Some((3, 4)),
            OP_STORE => Some((1, 3)),
            OP_MATRIX_LOAD => Some((3, 6)),
            OP_MATRIX_STORE => Some((1, 5)),
            _ => None,
        };
        let from = changed.len();
        changed.extend_from_slice(one.words);
        match access {
            Some((pointer, bare)) if one.words.len() == bare && facts.shared.contains(&one.words[pointer]) => {
                changed.push(NON_PRIVATE);
                changed[from] += 1 << 16;
            }
            _ => {}
        }
        if let (OP_CONTROL_BARRIER | OP_MEMORY_BARRIER, Some(last)) = (one.code, changed.last_mut())
            && let Some((_, new)) = semantics.iter().find(|(old, _)| old == last)
        {
            *last = *new;
        }
    }
    changed
}

/// What the pass needs to know about a module's ids.
#[derive(Default)]
struct ModuleFacts {
    /// Storage class by pointer type.
    classes: HashMap<u32, u32>,
    /// Pointers into shared, writable memory.
    shared: HashSet<u32>,
    /// Variables decorated with `NonWritable`.
    constant: HashSet<u32>,
    /// Type and value of single-word constants.
    constants: HashMap<u32, (u32, u32)>,
}

impl ModuleFacts {
    /// Collects them; `None` unless the module uses the Vulkan memory model.
    fn of(words: &[u32]) -> Option<Self> {
        let mut facts = Self::default();
        let mut vulkan = false;
        for Instruction { code, words } in instructions(words) {
            match (code, words) {
                (OP_MEMORY_MODEL, [_, _, model]) => vulkan = *model == MODEL_VULKAN,
                (OP_TYPE_POINTER, [_, id, class, _]) => {
                    facts.classes.insert(*id, *class);
                }
                (OP_CONSTANT, [_, kind, id, value]) => {
                    facts.constants.insert(*id, (*kind, *value));
                }
                (OP_DECORATE, [_, id, NON_WRITABLE]) => {
                    facts.constant.insert(*id);
                }
                (OP_VARIABLE | OP_FUNCTION_PARAMETER, [_, kind, id, ..]) => {
                    let class = facts.classes.get(kind);
                    if matches!(class, Some(&(CLASS_WORKGROUP | CLASS_STORAGE))) && !facts.constant.contains(id) {
                        facts.shared.insert(*id);
                    }
                }
                (OP_ACCESS_CHAIN | OP_IN_BOUNDS_ACCESS_CHAIN, [_, _, id, base, ..]) if facts.shared.contains(base) => {
                    facts.shared.insert(*id);
                }
                _ => {}
            }
        }
        vulkan.then_some(facts)
    }
}

struct Instruction<'a> {
    code: u32,
    words: &'a [u32],
}

/// The instructions of a module, which must be well formed.
fn instructions(words: &[u32]) -> impl Iterator<Item = Instruction<'_>> {
    let mut rest = words.get(HEADER..).unwrap_or(&[]);
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let (words, behind) = rest.split_at_checked((first >> 16).max(1) as usize)?;
        rest = behind;
        Some(Instruction { code: first & 0xffff, words })
    })
}

#[cfg(test)]
mod tests {
    use super::share_accesses;

    /// A handwritten module: one word of workgroup memory and one private word, a load and a store
    /// of each, and a barrier. It is incomplete but has everything that the pass reads.
    fn module(model: u32) -> Vec<u32> {
        let head = [0x0723_0203, 0x0001_0300, 0, 20, 0];
        let op = |words: &[u32]| [&[(words.len() as u32) << 16 | words[0]], &words[1..]].concat();
        let body = [
            op(&[14, 0, model]),
            op(&[21, 1, 32, 0]),
            op(&[32, 2, 4, 1]),
            op(&[32, 3, 7, 1]),
            op(&[43, 1, 4, 264]),
            op(&[59, 2, 5, 4]),
            op(&[54, 6, 7, 0, 8]),
            op(&[59, 3, 9, 7]),
            op(&[61, 1, 10, 5]),
            op(&[62, 9, 10]),
            op(&[61, 1, 11, 9]),
            op(&[62, 5, 11]),
            op(&[224, 12, 12, 4]),
            op(&[56]),
        ];
        [&head[..], &body.concat()].concat()
    }

    #[test]
    fn shared_variables_are_marked_non_private() {
        let changed = share_accesses(module(3));
        let bound = changed[3];
        assert_eq!(bound, 21, "one more constant");
        let has = |words: &[u32]| changed.windows(words.len()).any(|window| window == words);
        assert!(has(&[4 << 16 | 43, 1, 20, 264 | 0x6000, 5 << 16 | 54]), "before the function: {changed:x?}");
        assert!(has(&[5 << 16 | 61, 1, 10, 5, 0x20]), "the load of workgroup memory: {changed:x?}");
        assert!(has(&[4 << 16 | 62, 5, 11, 0x20]), "the store to it: {changed:x?}");
        assert!(
            has(&[3 << 16 | 62, 9, 10]) && has(&[4 << 16 | 61, 1, 11, 9]),
            "private accesses are unchanged: {changed:x?}"
        );
        assert!(has(&[4 << 16 | 224, 12, 12, 20]), "the barrier: {changed:x?}");
        assert_eq!(changed.len(), module(3).len() + 4 + 2, "nothing else has changed");
    }

    #[test]
    fn other_memory_models_are_unchanged() {
        assert_eq!(share_accesses(module(1)), module(1));
        assert_eq!(share_accesses(Vec::new()), Vec::<u32>::new());
    }
}
