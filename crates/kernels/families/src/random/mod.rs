//! `random`: a counter-based random number generator.

use crate::cases;
use roci_tolerance::Tolerance;

use crate::cases::{COUNTS, Case, Element, case, untouched};
use crate::family::{constants, linear, plain, write};
use crate::shared::MATH;
use crate::{Family, Params};

constants! {
    /// `random`: Philox 4x32-10, which maps a counter and a key to four pseudorandom words.
    ///
    /// Elements `4 j` to `4 j + 3` come from `counter + j`. A later dispatch can continue the
    /// stream of an earlier one, and every device produces the same words.
    pub struct Random {
        /// Number of elements.
        pub count: u32,
        /// The key: low word, then high word.
        pub key: [u32; 2],
        /// The counter of the first four elements: low word, then high word. The upper two words of
        /// the 128-bit counter are 0.
        pub counter: [u32; 2],
        /// A [`RandomForm`]: how the words are converted.
        pub form: u32,
    }
}

/// The values that `random` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RandomForm {
    /// Raw 32-bit words.
    Words = 0,
    /// f32 with 24 random bits, uniform in [0, 1).
    Uniform = 1,
    /// Standard normal f32 by the Box-Muller transform.
    Normal = 2,
}

impl RandomForm {
    /// All forms, in the order of their codes.
    pub const ALL: &'static [RandomForm] = &[RandomForm::Words, RandomForm::Uniform, RandomForm::Normal];
}

impl Params for Random {
    fn grid(&self) -> [u32; 3] {
        linear(self.count.div_ceil(4))
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "random.wgsl",
    text: include_str!("random.wgsl"),
    entry: "random",
    aliases: MATH,
    variants: &[plain("random")],
    bindings: &[write("y")],
    constants: Random::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, _: &mut cases::Random) -> Vec<Case> {
    let make = |form: RandomForm, count: u32, counter| {
        let params = Random { count, key: [0x1234_5678, 9], counter, form: form as u32 };
        let (element, tolerance) = match form {
            RandomForm::Normal => (Element::F32, Tolerance::Close),
            RandomForm::Words | RandomForm::Uniform => (Element::Word, Tolerance::Exact),
        };
        case(
            params,
            vec![untouched(count as usize)],
            element,
            tolerance,
            format!("{count} by {form:?} from {counter:?}"),
        )
    };
    let mut cases = Vec::new();
    for &form in RandomForm::ALL {
        cases.extend(COUNTS.map(|count| make(form, count, [u32::MAX - 10, 3])));
        cases.push(make(form, 5000, [0; 2]).with_one_group());
    }
    cases
}
