//! `copy`: copies words.

use roci_tolerance::Tolerance;

use crate::cases::{COUNTS, Case, Element, Random, case, untouched};
use crate::family::{constants, linear, plain, read, write};
use crate::{Family, Params};

constants! {
    /// `copy`: `target[target_offset + i] = source[source_offset + i]`, in 32-bit words.
    pub struct Copy {
        /// Words to copy.
        pub count: u32,
        /// Offset of the first word read.
        pub source_offset: u32,
        /// Offset of the first word written.
        pub target_offset: u32,
    }
}

impl Params for Copy {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "copy.wgsl",
    text: include_str!("copy.wgsl"),
    entry: "copy",
    variants: &[plain("copy")],
    bindings: &[read("source_words"), write("target_words")],
    constants: Copy::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |count, source_offset, target_offset| {
        let params = Copy { count, source_offset, target_offset };
        let source = (0..count + source_offset).map(|_| random.word()).collect();
        let buffers = vec![source, untouched((count + target_offset) as usize)];
        let label = format!("{count} words from {source_offset} to {target_offset}");
        case(params, buffers, Element::Word, Tolerance::Exact, label)
    };
    let mut cases: Vec<_> = COUNTS.iter().flat_map(|&count| [make(count, 0, 0), make(count, 2, 7)]).collect();
    cases.push(make(1000, 1, 2).with_one_group());
    cases
}
