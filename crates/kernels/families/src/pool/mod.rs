//! `pool_*`: pooling over one to three spatial dimensions.

use roci_tolerance::Tolerance;

use crate::cases::window::{Window, windows};
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, linear, read, variants, write};
use crate::{Family, Params};

constants! {
    /// `pool_*`: one result per window position, over planes of up to three dimensions.
    ///
    /// `x` is `[planes, input]` and `y` is `[planes, output]`. Pad fewer than three dimensions with
    /// leading ones (and pads of 0). For a window entirely in the padding, the maximum is negative
    /// infinity, its index is that of the plane's start, and all other results are 0.
    pub struct Pool {
        /// Planes: batch size times channels.
        pub planes: u32,
        /// Spatial sizes of `x`, outermost first.
        pub input: [u32; 3],
        /// Spatial sizes of `y`.
        pub output: [u32; 3],
        /// Window sizes.
        pub kernel: [u32; 3],
        /// Stride of the window.
        pub stride: [u32; 3],
        /// Dilation of the window.
        pub dilation: [u32; 3],
        /// Leading padding; may be negative.
        pub pad: [i32; 3],
        /// Trailing padding that [`Pool::COUNT_PAD`] counts.
        pub pad_end: [i32; 3],
        /// Sum of [`Pool::COUNT_PAD`] and [`Pool::COLUMN_MAJOR`].
        pub flags: u32,
        /// The order p of `pool_lp`, from 1 to 128; not read by the other kernels.
        pub norm: u32,
    }
}

impl Pool {
    /// `pool_average` divides by the number of window elements within the padded input, not within
    /// `x`.
    pub const COUNT_PAD: u32 = 1;
    /// `pool_max_indices` counts positions within a plane in column-major order.
    pub const COLUMN_MAJOR: u32 = 2;
}

impl Params for Pool {
    fn grid(&self) -> [u32; 3] {
        linear(self.output.iter().fold(self.planes, |product, &size| product.saturating_mul(size)))
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "pool.wgsl",
    text: include_str!("pool.wgsl"),
    entry: "pool",
    variants: variants! {
        "pool_max": OP = 0;
        "pool_max_indices": OP = 1;
        "pool_average": OP = 2;
        "pool_lp": OP = 3;
    },
    bindings: &[read("x"), write("y")],
    constants: Pool::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(kernel: &str, random: &mut Random) -> Vec<Case> {
    let op = kernel.strip_prefix("pool_").unwrap_or(kernel);
    let (output, tolerance) = match op {
        "max" => (Element::F32, Tolerance::Exact),
        "max_indices" => (Element::Word, Tolerance::Exact),
        "average" => (Element::F32, Tolerance::Close),
        _ => (Element::F32, Tolerance::ManyUlps),
    };
    let mut make = |window: Window, planes: u32, flags: u32, norm: u32, more: u32| {
        let Window { input, kernel, stride, dilation, pad, pad_end } = window;
        // More windows than fit, as with ceil mode.
        let sizes = window.output().map(|size| if size > 1 { size + more } else { size });
        let problem = Pool { planes, input, output: sizes, kernel, stride, dilation, pad, pad_end, flags, norm };
        let count = input.iter().product::<u32>() * planes;
        let mut x = random.floats(count as usize, -2.0, 2.0);
        // Ties, and for the maximum also infinities and NaN.
        x.iter_mut().step_by(3).for_each(|x| *x = x.round());
        if op.starts_with("max") {
            x.iter_mut().skip(7).step_by(40).for_each(|x| *x = f32::NAN);
            x.iter_mut().skip(20).step_by(31).for_each(|x| *x = f32::NEG_INFINITY);
        }
        let y = untouched((sizes.iter().product::<u32>() * planes) as usize);
        let label = format!(
            "{planes} planes, {input:?} to {sizes:?} by {kernel:?}, steps of {stride:?}, flags {flags}, norm {norm}"
        );
        case(problem, vec![words(&x), y], output, tolerance, label)
    };
    let mut cases = Vec::new();
    for (index, window) in (0..).zip(windows()) {
        cases.push(make(window, 3, index % 4, 1 + index % 4, 0));
        cases.push(make(window, 2, (index + 1) % 4, 2, 1));
    }
    cases.push(make(Window::flat([7, 7], [7, 7], 1, 0), 0, 0, 2, 0));
    cases.push(make(Window::flat([20, 30], [3, 3], 2, 1), 4, 0, 2, 0).with_one_group());
    cases
}
