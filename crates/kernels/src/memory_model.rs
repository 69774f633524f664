//! Accesses that other invocations see, in modules of Vulkan's memory model.
//!
//! Matrix units come with that model, in which a load or a store is an invocation's own affair unless it says otherwise, and barriers order what they
//! say they make available and visible. naga says neither; a driver may then keep in a register across a barrier what another invocation has
//! written since.

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
/// Make available and make visible.
const BOTH_WAYS: u32 = 0x6000;
const HEADER: usize = 5;

/// Says of each access to memory that invocations share that they do, and of barriers that they pass it on. Modules of another memory model are left as
/// they are.
pub(crate) fn share_accesses(words: Vec<u32>) -> Vec<u32> {
    let Some(facts) = Facts::of(&words) else { return words };
    let Some(bound) = words.get(3).copied() else { return words };
    let mut changed: Vec<u32> = words[..HEADER].to_vec();
    // Barriers' constants, and what takes their places.
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
        // Where the pointer is, and how many words there are without one that says more about the access.
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

/// What is said about a module's ids.
#[derive(Default)]
struct Facts {
    /// Storage classes of types of pointers.
    classes: HashMap<u32, u32>,
    /// Pointers into memory that invocations share and may write.
    shared: HashSet<u32>,
    /// Variables that nobody writes.
    constant: HashSet<u32>,
    /// Types and values of constants of one word.
    constants: HashMap<u32, (u32, u32)>,
}

impl Facts {
    /// Those of a module of Vulkan's memory model.
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

/// The instructions of a module that a compiler has just written.
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

    /// A module, by hand: a word of workgroup memory and one of an invocation's own, a load and a store of each, and a barrier. It is not whole, but has
    /// all that is looked at.
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
    fn what_invocations_share_is_said_to_be_shared() {
        let changed = share_accesses(module(3));
        let bound = changed[3];
        assert_eq!(bound, 21, "a constant more");
        let has = |words: &[u32]| changed.windows(words.len()).any(|window| window == words);
        assert!(has(&[4 << 16 | 43, 1, 20, 264 | 0x6000, 5 << 16 | 54]), "in front of the function: {changed:x?}");
        assert!(has(&[5 << 16 | 61, 1, 10, 5, 0x20]), "the load of workgroup memory: {changed:x?}");
        assert!(has(&[4 << 16 | 62, 5, 11, 0x20]), "the store to it: {changed:x?}");
        assert!(has(&[3 << 16 | 62, 9, 10]) && has(&[4 << 16 | 61, 1, 11, 9]), "an invocation's own: {changed:x?}");
        assert!(has(&[4 << 16 | 224, 12, 12, 20]), "the barrier: {changed:x?}");
        assert_eq!(changed.len(), module(3).len() + 4 + 2, "and nothing else");
    }

    #[test]
    fn other_memory_models_are_left_alone() {
        assert_eq!(share_accesses(module(1)), module(1));
        assert_eq!(share_accesses(Vec::new()), Vec::<u32>::new());
    }
}
