//! Products of matrices, layers that are such products, and attention.

use super::{Constants, Family, LINEAR, params, plain, read, write};
use std::mem::{offset_of, size_of};

/// What the products of all element types share.
const MATMUL: Family = Family {
    file: "matmul.wgsl",
    text: include_str!("../../wgsl/matmul.wgsl"),
    entry: "matmul",
    aliases: "",
    variants: &[],
    bindings: &[read("a"), read("b"), write("c")],
    constants: constants!(Matmul: m n k lda ldb ldc batches batch_a batch_b batch_c),
    workgroup: LINEAR,
    in_place: false,
    matrix: false,
};

/// What the products of large matrices share.
const MATMUL_LARGE: Family =
    Family { file: "matmul_large.wgsl", text: include_str!("../../wgsl/matmul_large.wgsl"), ..MATMUL };

/// What the products with a vector share.
const MATVEC: Family = Family {
    file: "matvec.wgsl",
    text: include_str!("../../wgsl/matvec.wgsl"),
    entry: "matvec",
    bindings: &[read("a"), read("x"), write("y")],
    constants: constants!(Matvec: m k lda),
    ..MATMUL
};

/// What the layers share, in the small tiles of the general product.
const LAYER: Family = Family {
    bindings: &[read("a"), read("b"), read("bias"), write("y")],
    constants: constants!(Linear: m n k lda ldb ldc batches batch_a batch_b batch_c flags low high),
    ..MATMUL
};

/// The same in the large tiles.
const LAYER_LARGE: Family = Family { file: MATMUL_LARGE.file, text: MATMUL_LARGE.text, ..LAYER };

/// The same of one row.
const LAYER_ROW: Family = Family {
    file: MATVEC.file,
    text: MATVEC.text,
    entry: MATVEC.entry,
    bindings: &[read("a"), read("x"), read("bias"), write("y")],
    ..LAYER
};

/// What a product is of, one by one or four at a time: what is left and what is right; then how it ends. Sums are f32.
macro_rules! ones {
    ($left:literal, $right:literal, $end:expr) => {
        concat!(
            "alias Element = ",
            $left,
            ";\nalias Weight = ",
            $right,
            ";\nalias Sum = f32;\nalias Bits = u32;\n",
            $end
        )
    };
}
macro_rules! fours {
    ($left:literal, $right:literal, $end:expr) => {
        concat!(
            "alias Element = vec4<",
            $left,
            ">;\nalias Weight = vec4<",
            $right,
            ">;\nalias Sum = vec4<f32>;\nalias Bits = vec4<u32>;\n",
            $end
        )
    };
}
macro_rules! plain_end {
    () => {
        include_str!("../../wgsl/matmul_end.wgsl")
    };
}
macro_rules! vector_end {
    () => {
        include_str!("../../wgsl/matvec_end.wgsl")
    };
}
macro_rules! layer_end {
    ($each:literal) => {
        concat!(
            "fn each(v: Sum) -> Sum {\n    return ",
            $each,
            ";\n}\n",
            include_str!("../../wgsl/linear_end.wgsl"),
            include_str!("../../wgsl/math.wgsl")
        )
    };
}
macro_rules! one_end {
    () => {
        layer_end!("function_of(v)")
    };
}
macro_rules! four_end {
    () => {
        layer_end!("Sum(function_of(v.x), function_of(v.y), function_of(v.z), function_of(v.w))")
    };
}

pub(super) static FAMILIES: &[Family] = &[
    Family { aliases: ones!("f32", "f32", plain_end!()), variants: &[plain("matmul_f32")], ..MATMUL },
    Family { aliases: ones!("f16", "f16", plain_end!()), variants: &[plain("matmul_f16")], ..MATMUL },
    Family { aliases: fours!("f32", "f32", plain_end!()), variants: &[plain("matmul_large_f32")], ..MATMUL_LARGE },
    Family { aliases: fours!("f16", "f16", plain_end!()), variants: &[plain("matmul_large_f16")], ..MATMUL_LARGE },
    Family {
        file: "matmul_matrix.wgsl",
        text: include_str!("../../wgsl/matmul_matrix.wgsl"),
        variants: &[plain("matmul_matrix_f16")],
        matrix: true,
        ..MATMUL
    },
    Family { aliases: ones!("f32", "f32", vector_end!()), variants: &[plain("matvec_f32")], ..MATVEC },
    Family { aliases: ones!("f16", "f32", vector_end!()), variants: &[plain("matvec_f16")], ..MATVEC },
    Family { aliases: ones!("f32", "f32", one_end!()), variants: &[plain("linear_f32")], ..LAYER },
    Family { aliases: ones!("f32", "f16", one_end!()), variants: &[plain("linear_f16")], ..LAYER },
    Family { aliases: fours!("f32", "f32", four_end!()), variants: &[plain("linear_large_f32")], ..LAYER_LARGE },
    Family { aliases: fours!("f32", "f16", four_end!()), variants: &[plain("linear_large_f16")], ..LAYER_LARGE },
    Family { aliases: ones!("f32", "f32", one_end!()), variants: &[plain("linear_row_f32")], ..LAYER_ROW },
    Family { aliases: ones!("f16", "f32", one_end!()), variants: &[plain("linear_row_f16")], ..LAYER_ROW },
    Family {
        file: "attention.wgsl",
        text: include_str!("../../wgsl/attention.wgsl"),
        entry: "attention",
        variants: &[plain("attention")],
        bindings: &[read("q"), read("k"), read("v"), read("mask"), write("y")],
        constants: constants!(
            Attention: batch heads shared_by rows keys size width past q k v y mask scale flags
        ),
        ..MATMUL
    },
];
