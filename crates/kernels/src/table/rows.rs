//! Kernels that look at whole rows or lines.

use super::{Constants, Family, LINEAR, Variant, WORDS, params, plain, read, write};
use std::mem::{offset_of, size_of};

/// What the reductions of all element types share.
const REDUCE: Family = Family {
    file: "reduce.wgsl",
    text: include_str!("../../wgsl/reduce.wgsl"),
    entry: "reduce",
    aliases: "",
    variants: &[],
    bindings: &[read("x"), write("y")],
    constants: constants!(Reduce: outer axis inner),
    workgroup: LINEAR,
    in_place: false,
    matrix: false,
};

/// What the kernels that normalise share.
const NORMALIZE: Family = Family {
    file: "normalize.wgsl",
    text: include_str!("../../wgsl/normalize.wgsl"),
    entry: "normalize_rows",
    aliases: include_str!("../../wgsl/rows.wgsl"),
    variants: &[plain("normalize_rows")],
    constants: constants!(Normalize: rows columns epsilon centred),
    in_place: true,
    ..REDUCE
};

pub(super) static FAMILIES: &[Family] = &[
    Family {
        aliases: concat!(include_str!("../../wgsl/words.wgsl"), "alias Element = f32;"),
        variants: variants! {
            "reduce_sum": OP = 0, NUMBERS = 0;
            "reduce_prod": OP = 3, NUMBERS = 0;
        },
        ..REDUCE
    },
    Family {
        aliases: concat!(include_str!("../../wgsl/words.wgsl"), "alias Element = u32;"),
        variants: variants! {
            "reduce_max": OP = 1, NUMBERS = 0;
            "reduce_min": OP = 2, NUMBERS = 0;
            "reduce_sum_i32": OP = 0, NUMBERS = 1;
            "reduce_max_i32": OP = 1, NUMBERS = 1;
            "reduce_min_i32": OP = 2, NUMBERS = 1;
            "reduce_prod_i32": OP = 3, NUMBERS = 1;
            "reduce_max_u32": OP = 1, NUMBERS = 2;
            "reduce_min_u32": OP = 2, NUMBERS = 2;
        },
        ..REDUCE
    },
    Family {
        file: "softmax.wgsl",
        text: include_str!("../../wgsl/softmax.wgsl"),
        entry: "softmax",
        variants: variants! {
            "softmax": LOGARITHM = 0;
            "log_softmax": LOGARITHM = 1;
        },
        constants: constants!(Softmax: rows columns),
        in_place: true,
        ..REDUCE
    },
    Family {
        file: "arg_reduce.wgsl",
        text: include_str!("../../wgsl/arg_reduce.wgsl"),
        entry: "arg_reduce",
        aliases: WORDS,
        variants: variants! {
            "arg_max": SMALLEST = 0;
            "arg_min": SMALLEST = 1;
        },
        constants: constants!(ArgReduce: outer axis inner numbers last),
        ..REDUCE
    },
    Family {
        file: "scan.wgsl",
        text: include_str!("../../wgsl/scan.wgsl"),
        entry: "scan",
        aliases: WORDS,
        variants: variants! {
            "scan_sum": COMBINE = 1;
            "scan_prod": COMBINE = 2;
        },
        constants: constants!(Scan: outer axis inner numbers exclusive reverse),
        in_place: true,
        ..REDUCE
    },
    NORMALIZE,
    Family {
        file: "moments.wgsl",
        text: include_str!("../../wgsl/moments.wgsl"),
        entry: "moments",
        variants: &[plain("moments")],
        bindings: &[read("x"), write("mean"), write("inverse")],
        in_place: false,
        ..NORMALIZE
    },
    Family {
        file: "top_k.wgsl",
        text: include_str!("../../wgsl/top_k.wgsl"),
        entry: "top_k",
        aliases: WORDS,
        variants: &[plain("top_k")],
        bindings: &[read("x"), write("values"), write("indices")],
        constants: constants!(TopK: rows columns k numbers largest),
        ..REDUCE
    },
];
