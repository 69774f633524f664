//! `cast_*`: conversions between f32 and f16.

use roci_tolerance::Tolerance;

use crate::cases::{Case, Element, Random, case, halves, untouched, words};
use crate::family::{constants, linear, plain, read, write};
use crate::{Family, Params};

constants! {
    /// `cast_f32_to_f16` and `cast_f16_to_f32`: float conversions.
    #[derive(Eq)]
    pub struct Cast {
        /// Elements, an even number.
        pub count: u32,
    }
}

impl Params for Cast {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

const CAST: Family = Family {
    file: "cast.wgsl",
    text: include_str!("cast.wgsl"),
    entry: "cast_elements",
    variants: &[],
    bindings: &[read("x"), write("y")],
    constants: Cast::CONSTANTS,
    cases,
    ..Family::DEFAULT
};

pub(crate) const FAMILIES: &[Family] = &[
    Family { aliases: "alias From = f32;\nalias To = f16;", variants: &[plain("cast_f32_to_f16")], ..CAST },
    Family { aliases: "alias From = f16;\nalias To = f32;", variants: &[plain("cast_f16_to_f32")], ..CAST },
];

fn cases(kernel: &str, random: &mut Random) -> Vec<Case> {
    let narrows = kernel == "cast_f32_to_f16";
    let mut make = |count: u32| {
        let mut x = random.floats(count as usize, -9.0, 9.0);
        // Above the maximum, below the minimum, and halfway between two values.
        let special = [1e6, -65519.0, 1e-9, 6e-8, 3.3e-8, 1.000_488_3, f32::INFINITY, -0.0];
        x.iter_mut().zip(special).for_each(|(x, special)| *x = special);
        let (from, to, size) = match narrows {
            true => (words(&x), Element::F16, count as usize / 2),
            false => (halves(&x), Element::F32, count as usize),
        };
        let buffers = vec![from, untouched(size)];
        case(Cast { count }, buffers, to, Tolerance::Exact, format!("{count} elements"))
    };
    let mut cases: Vec<_> = [0, 2, 8, 254, 256, 258, 1000].map(&mut make).into();
    cases.push(make(1000).with_one_group());
    cases
}
