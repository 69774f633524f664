//! `fill`: writes one word many times.

use roci_tolerance::Tolerance;

use crate::cases::{COUNTS, Case, Element, Random, case, untouched};
use crate::family::{constants, linear, plain, write};
use crate::{Family, Params};

constants! {
    /// `fill`: `target[i] = value` for `i` in `offset .. offset + count`, in 32-bit words.
    pub struct Fill {
        /// Words to write.
        pub count: u32,
        /// Offset of the first word.
        pub offset: u32,
        /// The fill value.
        pub value: u32,
    }
}

impl Params for Fill {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "fill.wgsl",
    text: include_str!("fill.wgsl"),
    entry: "fill",
    variants: &[plain("fill")],
    bindings: &[write("target_words")],
    constants: Fill::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, _: &mut Random) -> Vec<Case> {
    let make = |count, offset| {
        let params = Fill { count, offset, value: 0xdead_beef };
        let buffers = vec![untouched((count + offset) as usize)];
        case(params, buffers, Element::Word, Tolerance::Exact, format!("{count} words from {offset}"))
    };
    let mut cases: Vec<_> = COUNTS.iter().flat_map(|&count| [make(count, 0), make(count, 3)]).collect();
    cases.push(make(1000, 5).with_one_group());
    cases
}
