//! Kernels that move words by indices from other buffers.

use super::{Constants, Family, LINEAR, WORDS, params, plain, read, write};
use std::mem::{offset_of, size_of};

/// What the kernels that read by indices share.
const TAKE: Family = Family {
    file: "take.wgsl",
    text: include_str!("../../wgsl/take.wgsl"),
    entry: "take",
    aliases: WORDS,
    variants: &[plain("take")],
    bindings: &[read("x"), read("index"), write("y")],
    constants: constants!(Take: outer axis inner count),
    workgroup: LINEAR,
    in_place: false,
    matrix: false,
};

/// What the kernels that write by indices share.
const SCATTER: Family = Family { bindings: &[read("index"), read("updates"), write("y")], ..TAKE };

pub(super) static FAMILIES: &[Family] = &[
    TAKE,
    Family {
        file: "take_elements.wgsl",
        text: include_str!("../../wgsl/take_elements.wgsl"),
        entry: "take_elements",
        variants: &[plain("take_elements")],
        constants: constants!(TakeElements: count shape strides axis axis_stride),
        ..TAKE
    },
    Family {
        file: "take_nd.wgsl",
        text: include_str!("../../wgsl/take_nd.wgsl"),
        entry: "take_nd",
        variants: &[plain("take_nd")],
        constants: constants!(TakeNd: batches count slice depth sizes strides batch_stride),
        ..TAKE
    },
    Family {
        file: "scatter_elements.wgsl",
        text: include_str!("../../wgsl/scatter_elements.wgsl"),
        entry: "scatter_elements",
        variants: &[plain("scatter_elements")],
        constants: constants!(
            ScatterElements: lines shape strides update_strides axis axis_stride steps step_stride combine numbers apart
        ),
        ..SCATTER
    },
    Family {
        file: "scatter_nd.wgsl",
        text: include_str!("../../wgsl/scatter_nd.wgsl"),
        entry: "scatter_nd",
        variants: &[plain("scatter_nd")],
        constants: constants!(ScatterNd: count slice depth sizes strides combine numbers apart),
        ..SCATTER
    },
    Family {
        file: "resample.wgsl",
        text: include_str!("../../wgsl/resample.wgsl"),
        entry: "resample",
        variants: &[plain("resample")],
        bindings: &[read("x"), read("index"), read("weight"), write("y")],
        constants: constants!(Resample: outer axis inner count taps),
        ..TAKE
    },
];
