//! `lm_cast_f16`: conversion of f32 to f16.

use roci_tolerance::Tolerance;

use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_cast_f16`: f32 to f16, two values per word. Values out of range saturate to the largest
    /// finite f16.
    pub struct LmCastF16 {
        /// Words of the output.
        pub words: u32,
    }
}

impl Params for LmCastF16 {
    fn grid(&self) -> [u32; 3] {
        [self.words.div_ceil(256).min(MAX_GROUPS), 1, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_cast_f16.wgsl",
    text: include_str!("lm_cast_f16.wgsl"),
    entry: "lm_cast_f16",
    variants: &[plain("lm_cast_f16")],
    bindings: &[read("x"), write("y")],
    constants: LmCastF16::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |words_of: u32| {
        let x = words(&random.floats(2 * words_of as usize, -70000.0, 70000.0));
        let buffers = vec![x, untouched(words_of as usize)];
        case(LmCastF16 { words: words_of }, buffers, Element::Word, Tolerance::Exact, format!("{words_of} words"))
    };
    vec![make(1), make(300), make(700).with_one_group()]
}
