//! `unary_*`: a function of each element.

use roci_tolerance::Tolerance;

use crate::cases::{COUNTS, Case, Element, Random, case, untouched, words};
use crate::family::{constants, linear, read, variants, write};
use crate::shared::MATH;
use crate::{Family, Params};

constants! {
    /// `unary_*`: `y[i] = f(x[i])`.
    pub struct Unary {
        /// Number of elements.
        pub count: u32,
    }
}

impl Params for Unary {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "unary.wgsl",
    text: include_str!("unary.wgsl"),
    entry: "unary",
    aliases: MATH,
    variants: variants! {
        "unary_neg": OP = 0;
        "unary_abs": OP = 1;
        "unary_exp": OP = 2;
        "unary_log": OP = 3;
        "unary_sqrt": OP = 4;
        "unary_rsqrt": OP = 5;
        "unary_relu": OP = 6;
        "unary_sigmoid": OP = 7;
        "unary_tanh": OP = 8;
        "unary_gelu": OP = 9;
        "unary_silu": OP = 10;
        "unary_sin": OP = 11;
        "unary_cos": OP = 12;
    },
    bindings: &[read("x"), write("y")],
    constants: Unary::CONSTANTS,
    in_place: true,
    cases,
    ..Family::DEFAULT
}];

/// Input range, additional special inputs, and tolerance.
fn unary_domain(op: &str) -> (f32, f32, &'static [f32], Tolerance) {
    const INFINITE: &[f32] = &[0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY];
    const ALL: &[f32] = &[0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE];
    match op {
        "neg" | "abs" => (-9.0, 9.0, ALL, Tolerance::Exact),
        "relu" => (-9.0, 9.0, ALL, Tolerance::Exact),
        "exp" => (-80.0, 80.0, INFINITE, Tolerance::FewUlps),
        "log" => (1e-3, 1e6, &[0.0, 1.0, f32::INFINITY], Tolerance::FewUlps),
        "sqrt" => (0.0, 1e6, &[0.0, 4.0, f32::INFINITY], Tolerance::FewUlps),
        "rsqrt" => (1e-3, 1e6, &[4.0, f32::INFINITY], Tolerance::FewUlps),
        "sigmoid" => (-20.0, 20.0, INFINITE, Tolerance::ManyUlps),
        "tanh" => (-12.0, 12.0, INFINITE, Tolerance::ManyUlps),
        "silu" => (-20.0, 20.0, &[0.0, f32::INFINITY], Tolerance::ManyUlps),
        "gelu" => (-9.0, 9.0, &[0.0, f32::INFINITY], Tolerance::Close),
        "sin" | "cos" => {
            const FAR: &[f32] = &[0.0, -0.0, 1.5707964, 100.0, -1000.0, 5000.0, 1e5, -3e9, f32::MAX, f32::INFINITY];
            (-10.0, 10.0, FAR, Tolerance::Close)
        }
        _ => (-9.0, 9.0, &[], Tolerance::Exact),
    }
}

fn cases(kernel: &str, random: &mut Random) -> Vec<Case> {
    let op = kernel.strip_prefix("unary_").unwrap_or(kernel);
    let (low, high, special, tolerance) = unary_domain(op);
    let mut make = |count: u32| {
        let mut x = random.floats(count as usize, low, high);
        x.iter_mut().rev().zip(special).for_each(|(x, &special)| *x = special);
        let buffers = vec![words(&x), untouched(count as usize)];
        case(Unary { count }, buffers, Element::F32, tolerance, format!("{count} elements"))
    };
    let mut cases: Vec<_> = COUNTS.iter().map(|&count| make(count)).collect();
    cases.push(make(1000).with_one_group());
    cases
}
