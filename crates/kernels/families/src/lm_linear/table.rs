//! The kernels of products with weights, and the source files of each.

use super::{LmLinear, cases};
use crate::family::{read, variants, write};
use crate::{Family, LINEAR_WORKGROUP};

/// Source of a product with weights: these files (a kind of kernel, its weight decoding) and the
/// epilogue.
macro_rules! source {
    ($($file:literal),*) => { concat!($(include_str!($file),)* include_str!("lm_linear_epilogue.wgsl")) };
}

/// The variants of a kernel for all compact formats, in the order of [`WeightFormat`].
macro_rules! compact_variants {
    ($prefix:literal $(, $key:ident = $value:literal)*) => {
        compact_variants!(@list $prefix [$($key = $value),*];
            "q5_0" 11, "q5_1" 12, "q5_k" 13, "q6_k" 14, "q2_k" 15, "q3_k" 16, "tq2_0" 17, "q2_0" 18, "q1_0" 19,
            "iq1_s" 20, "iq1_m" 21, "iq2_xxs" 22, "iq2_xs" 23, "iq2_s" 24, "iq3_xxs" 25, "iq3_s" 26)
    };
    (@list $prefix:literal $others:tt; $($format:literal $id:literal),*) => {
        &[$(compact_variants!(@one $prefix $format $id $others)),*]
    };
    (@one $prefix:literal $format:literal $id:literal [$($key:ident = $value:literal),*]) => {
        crate::Variant {
            name: concat!($prefix, "_", $format),
            overrides: &[("FORMAT", $id as f64) $(, (stringify!($key), $value as f64))*],
        }
    };
}

/// The variants of a kernel whose unit is half a group, for the compact formats without a grid that
/// the kernel stages, in the order of [`WeightFormat`].
macro_rules! half_group_variants {
    ($prefix:literal) => {
        compact_variants!(@list $prefix [UNIT_VEC4S = 4];
            "q5_0" 11, "q5_1" 12, "q5_k" 13, "q6_k" 14, "q2_k" 15, "q3_k" 16, "tq2_0" 17, "q2_0" 18, "q1_0" 19,
            "iq1_s" 20, "iq1_m" 21)
    };
}

/// `lm_matvec_*` with a grid of this many entries in workgroup memory. The source has their number:
/// naga does not resolve overrides in the size of an array.
macro_rules! grid_family {
    ($x:literal, $codes:literal, $size:literal, $prefix:literal, $format:literal, $id:literal) => {
        Family {
            aliases: concat!(
                source!($x, "lm_weights_compact.wgsl", "lm_grid_units.wgsl", $codes, "lm_grid_workgroup.wgsl"),
                "const GRID_SIZE = ",
                $size,
                "u;\n"
            ),
            variants: &[compact_variants!(@one $prefix $format $id [UNIT_VEC4S = 8])],
            ..PRODUCT
        }
    };
}

/// The variants of a kernel for the quantized formats of `lm_weights.wgsl`, in the order of
/// [`WeightFormat`].
macro_rules! quantized_variants {
    ($prefix:literal) => {
        compact_variants!(@list $prefix [];
            "q4" 3, "q4_affine" 4, "nvfp4" 5, "q4_nl" 6, "q4_e2m1" 7, "q8" 8, "iq4_xs" 9, "q4_superblock" 10)
    };
}

/// The variants of a kernel for the quantized formats of `lm_weights.wgsl` with four bits per code,
/// in the order of [`WeightFormat`].
macro_rules! nibble_variants {
    ($prefix:literal) => {
        compact_variants!(@list $prefix [];
            "q4" 3, "q4_affine" 4, "nvfp4" 5, "q4_nl" 6, "q4_e2m1" 7, "iq4_xs" 9, "q4_superblock" 10)
    };
}

/// Bindings of products with several tokens.
const BATCH_BINDINGS: &[crate::Binding] = &[read("codes"), read("scales"), read("x"), read("bias"), write("y")];

/// Bindings of products with several tokens, in tiles that may each have an expert.
const TILE_BINDINGS: &[crate::Binding] =
    &[read("codes"), read("scales"), read("x"), read("bias"), read("tiles"), write("y")];

/// Common part of products with weights; the bindings are those of the single-token variants.
const PRODUCT: Family = Family {
    file: "lm_matvec.wgsl",
    text: include_str!("lm_matvec.wgsl"),
    entry: "lm_matvec",
    variants: &[],
    bindings: &[read("codes"), read("scales"), read("x"), read("bias"), read("experts"), read("norm"), write("y")],
    constants: LmLinear::CONSTANTS,
    workgroup: [128, 1, 1],
    cases: cases::of,
    ..Family::DEFAULT
};

const MATVEC4: Family = Family {
    file: "lm_matvec4.wgsl",
    text: include_str!("lm_matvec4.wgsl"),
    entry: "lm_matvec4",
    bindings: BATCH_BINDINGS,
    ..PRODUCT
};

const MATMUL: Family = Family {
    file: "lm_matmul.wgsl",
    text: include_str!("lm_matmul.wgsl"),
    entry: "lm_matmul",
    bindings: TILE_BINDINGS,
    workgroup: [LINEAR_WORKGROUP, 1, 1],
    ..PRODUCT
};

/// Products with many tokens on matrix units.
const MATMUL_COOPMAT: Family = Family {
    file: "lm_matmul_coopmat.wgsl",
    text: include_str!("lm_matmul_coopmat.wgsl"),
    entry: "lm_matmul_coopmat",
    bindings: BATCH_BINDINGS,
    matrix: true,
    ..PRODUCT
};

/// Products with eight tokens by packed dot products.
const MATVEC8: Family = Family {
    file: "lm_matvec8_i8.wgsl",
    text: include_str!("lm_matvec8_i8.wgsl"),
    entry: "lm_matvec8_i8",
    bindings: TILE_BINDINGS,
    ..PRODUCT
};

/// Products with up to 16 tokens on matrix units.
const MATMUL_COOPMAT16: Family = Family { workgroup: [128, 1, 1], ..MATMUL_COOPMAT32 };

/// Products with up to 32 tokens on matrix units.
const MATMUL_COOPMAT32: Family = Family {
    file: "lm_matmul_coopmat32.wgsl",
    text: include_str!("lm_matmul_coopmat32.wgsl"),
    entry: "lm_matmul_coopmat32",
    bindings: TILE_BINDINGS,
    workgroup: [256, 1, 1],
    ..MATMUL_COOPMAT
};

/// The same for codes of whole bytes.
const MATMUL_COOPMAT32_NARROW: Family = Family { workgroup: [128, 1, 1], ..MATMUL_COOPMAT32 };

/// Products with up to 32 tokens on matrix units, for codes of four bits.
const MATMUL_COOPMAT_NIBBLES: Family = Family {
    file: "lm_matmul_coopmat_nibbles.wgsl",
    text: include_str!("lm_matmul_coopmat_nibbles.wgsl"),
    entry: "lm_matmul_coopmat_nibbles",
    ..MATMUL_COOPMAT32_NARROW
};

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        file: "lm_matvec_float.wgsl",
        text: include_str!("lm_matvec_float.wgsl"),
        entry: "lm_matvec_float",
        aliases: source!("lm_weights.wgsl"),
        variants: variants! {
            "lm_matvec_f32": FORMAT = 0, UNIT_VEC4S = 1;
            "lm_matvec_f16": FORMAT = 1, UNIT_VEC4S = 2;
            "lm_matvec_bf16": FORMAT = 2, UNIT_VEC4S = 2;
        },
        ..PRODUCT
    },
    Family {
        aliases: source!("lm_matvec_x_f32.wgsl", "lm_weights.wgsl", "lm_units.wgsl", "lm_grid_none.wgsl"),
        variants: variants! {
            "lm_matvec_q4": FORMAT = 3, UNIT_VEC4S = 8;
            "lm_matvec_q4_affine": FORMAT = 4, UNIT_VEC4S = 8;
            "lm_matvec_nvfp4": FORMAT = 5, UNIT_VEC4S = 8;
            "lm_matvec_q4_nl": FORMAT = 6, UNIT_VEC4S = 8;
            "lm_matvec_q4_e2m1": FORMAT = 7, UNIT_VEC4S = 8;
            "lm_matvec_q8": FORMAT = 8, UNIT_VEC4S = 4;
            "lm_matvec_iq4_xs": FORMAT = 9, UNIT_VEC4S = 8;
            "lm_matvec_q4_superblock": FORMAT = 10, UNIT_VEC4S = 8;
        },
        ..PRODUCT
    },
    Family {
        aliases: source!(
            "lm_matvec_x_f32.wgsl",
            "lm_weights_compact.wgsl",
            "lm_compact_units.wgsl",
            "lm_grid_global.wgsl",
            "lm_grid_none.wgsl"
        ),
        variants: half_group_variants!("lm_matvec"),
        ..PRODUCT
    },
    grid_family!("lm_matvec_x_f32.wgsl", "lm_codes_pairs.wgsl", 256, "lm_matvec", "iq2_xxs", 22),
    grid_family!("lm_matvec_x_f32.wgsl", "lm_codes_pairs.wgsl", 512, "lm_matvec", "iq2_xs", 23),
    grid_family!("lm_matvec_x_f32.wgsl", "lm_codes_pairs.wgsl", 1024, "lm_matvec", "iq2_s", 24),
    grid_family!("lm_matvec_x_f32.wgsl", "lm_codes_triples.wgsl", 256, "lm_matvec", "iq3_xxs", 25),
    grid_family!("lm_matvec_x_f32.wgsl", "lm_codes_triples.wgsl", 512, "lm_matvec", "iq3_s", 26),
    Family {
        aliases: source!(
            "lm_matvec_x_i8.wgsl",
            "lm_weights.wgsl",
            "lm_units.wgsl",
            "lm_nibbles_iq4.wgsl",
            "lm_grid_none.wgsl"
        ),
        variants: variants! {
            "lm_matvec_i8_q4_nl": FORMAT = 6, UNIT_VEC4S = 8;
            "lm_matvec_i8_iq4_xs": FORMAT = 9, UNIT_VEC4S = 8;
        },
        ..PRODUCT
    },
    Family {
        aliases: source!(
            "lm_matvec_x_i8.wgsl",
            "lm_weights.wgsl",
            "lm_units.wgsl",
            "lm_nibbles.wgsl",
            "lm_grid_none.wgsl"
        ),
        variants: variants! {
            "lm_matvec_i8_q4": FORMAT = 3, UNIT_VEC4S = 8;
            "lm_matvec_i8_q4_affine": FORMAT = 4, UNIT_VEC4S = 8;
            "lm_matvec_i8_nvfp4": FORMAT = 5, UNIT_VEC4S = 8;
            "lm_matvec_i8_q4_e2m1": FORMAT = 7, UNIT_VEC4S = 8;
            "lm_matvec_i8_q8": FORMAT = 8, UNIT_VEC4S = 4;
            "lm_matvec_i8_q4_superblock": FORMAT = 10, UNIT_VEC4S = 8;
        },
        ..PRODUCT
    },
    Family {
        aliases: source!(
            "lm_matvec_x_i8.wgsl",
            "lm_weights_compact.wgsl",
            "lm_compact_units.wgsl",
            "lm_grid_global.wgsl",
            "lm_grid_none.wgsl"
        ),
        variants: half_group_variants!("lm_matvec_i8"),
        ..PRODUCT
    },
    grid_family!("lm_matvec_x_i8.wgsl", "lm_codes_pairs.wgsl", 256, "lm_matvec_i8", "iq2_xxs", 22),
    grid_family!("lm_matvec_x_i8.wgsl", "lm_codes_pairs.wgsl", 512, "lm_matvec_i8", "iq2_xs", 23),
    grid_family!("lm_matvec_x_i8.wgsl", "lm_codes_pairs.wgsl", 1024, "lm_matvec_i8", "iq2_s", 24),
    grid_family!("lm_matvec_x_i8.wgsl", "lm_codes_triples.wgsl", 256, "lm_matvec_i8", "iq3_xxs", 25),
    grid_family!("lm_matvec_x_i8.wgsl", "lm_codes_triples.wgsl", 512, "lm_matvec_i8", "iq3_s", 26),
    Family {
        aliases: source!("lm_matvec4_floats.wgsl", "lm_weights.wgsl", "lm_units.wgsl"),
        variants: variants! {
            "lm_matvec4_f32": FORMAT = 0;
            "lm_matvec4_f16": FORMAT = 1;
            "lm_matvec4_bf16": FORMAT = 2;
        },
        ..MATVEC4
    },
    Family {
        aliases: source!("lm_matvec4_codes.wgsl", "lm_weights.wgsl", "lm_units.wgsl"),
        variants: quantized_variants!("lm_matvec4"),
        ..MATVEC4
    },
    Family {
        aliases: source!(
            "lm_matvec4_codes.wgsl",
            "lm_weights_compact.wgsl",
            "lm_compact_units.wgsl",
            "lm_grid_global.wgsl"
        ),
        variants: compact_variants!("lm_matvec4"),
        ..MATVEC4
    },
    Family {
        aliases: source!("lm_tiles.wgsl", "lm_weights.wgsl", "lm_units.wgsl"),
        variants: quantized_variants!("lm_matvec8_i8"),
        ..MATVEC8
    },
    Family {
        aliases: source!("lm_tiles.wgsl", "lm_weights_compact.wgsl", "lm_compact_units.wgsl", "lm_grid_global.wgsl"),
        variants: compact_variants!("lm_matvec8_i8"),
        ..MATVEC8
    },
    Family {
        aliases: source!("lm_tiles.wgsl", "lm_chunks.wgsl", "lm_weights.wgsl"),
        variants: variants! {
            "lm_matmul_f32": FORMAT = 0;
            "lm_matmul_f16": FORMAT = 1;
            "lm_matmul_bf16": FORMAT = 2;
            "lm_matmul_q4": FORMAT = 3;
            "lm_matmul_q4_affine": FORMAT = 4;
            "lm_matmul_nvfp4": FORMAT = 5;
            "lm_matmul_q4_nl": FORMAT = 6;
            "lm_matmul_q4_e2m1": FORMAT = 7;
            "lm_matmul_q8": FORMAT = 8;
            "lm_matmul_iq4_xs": FORMAT = 9;
            "lm_matmul_q4_superblock": FORMAT = 10;
        },
        ..MATMUL
    },
    Family {
        aliases: source!("lm_tiles.wgsl", "lm_weights_compact.wgsl", "lm_compact_units.wgsl", "lm_grid_global.wgsl"),
        variants: compact_variants!("lm_matmul"),
        ..MATMUL
    },
    Family {
        aliases: source!("lm_coopmat_weights_f16.wgsl", "lm_weights.wgsl", "lm_linear_epilogue_vec4.wgsl"),
        variants: variants! {
            "lm_matmul_coopmat_f16": FORMAT = 1;
        },
        ..MATMUL_COOPMAT
    },
    Family {
        aliases: source!(
            "lm_coopmat_weights_quantized.wgsl",
            "lm_weights.wgsl",
            "lm_units.wgsl",
            "lm_linear_epilogue_vec4.wgsl"
        ),
        variants: quantized_variants!("lm_matmul_coopmat"),
        ..MATMUL_COOPMAT
    },
    Family {
        aliases: source!(
            "lm_coopmat_weights_quantized.wgsl",
            "lm_weights_compact.wgsl",
            "lm_compact_units.wgsl",
            "lm_grid_global.wgsl",
            "lm_linear_epilogue_vec4.wgsl"
        ),
        variants: compact_variants!("lm_matmul_coopmat"),
        ..MATMUL_COOPMAT
    },
    Family {
        aliases: source!(
            "lm_coopmat32_tile16.wgsl",
            "lm_tiles.wgsl",
            "lm_coopmat32_weights_f16.wgsl",
            "lm_weights.wgsl",
            "lm_linear_epilogue_vec4.wgsl"
        ),
        variants: variants! {
            "lm_matmul_coopmat16_f16": FORMAT = 1;
        },
        ..MATMUL_COOPMAT16
    },
    Family {
        aliases: source!(
            "lm_coopmat32_tile16.wgsl",
            "lm_tiles.wgsl",
            "lm_coopmat32_weights_quantized.wgsl",
            "lm_weights.wgsl",
            "lm_units.wgsl",
            "lm_linear_epilogue_vec4.wgsl"
        ),
        variants: variants! {
            "lm_matmul_coopmat16_q8": FORMAT = 8;
        },
        ..MATMUL_COOPMAT16
    },
    Family {
        aliases: source!(
            "lm_coopmat_nibbles_tile16.wgsl",
            "lm_tiles.wgsl",
            "lm_coopmat32_weights_quantized.wgsl",
            "lm_weights.wgsl",
            "lm_units.wgsl",
            "lm_linear_epilogue_vec4.wgsl"
        ),
        variants: nibble_variants!("lm_matmul_coopmat16"),
        ..MATMUL_COOPMAT_NIBBLES
    },
    Family {
        aliases: source!(
            "lm_coopmat32_tile16.wgsl",
            "lm_tiles.wgsl",
            "lm_coopmat32_weights_quantized.wgsl",
            "lm_weights_compact.wgsl",
            "lm_compact_units.wgsl",
            "lm_grid_global.wgsl",
            "lm_linear_epilogue_vec4.wgsl"
        ),
        variants: compact_variants!("lm_matmul_coopmat16"),
        ..MATMUL_COOPMAT16
    },
    Family {
        aliases: source!(
            "lm_coopmat32_tile32.wgsl",
            "lm_tiles.wgsl",
            "lm_coopmat32_weights_f16.wgsl",
            "lm_weights.wgsl",
            "lm_linear_epilogue_vec4.wgsl"
        ),
        variants: variants! {
            "lm_matmul_coopmat32_f16": FORMAT = 1;
        },
        ..MATMUL_COOPMAT32
    },
    Family {
        aliases: source!(
            "lm_coopmat_nibbles_tile32.wgsl",
            "lm_tiles.wgsl",
            "lm_coopmat32_weights_quantized.wgsl",
            "lm_weights.wgsl",
            "lm_units.wgsl",
            "lm_linear_epilogue_vec4.wgsl"
        ),
        variants: nibble_variants!("lm_matmul_coopmat32"),
        ..MATMUL_COOPMAT_NIBBLES
    },
    Family {
        aliases: source!(
            "lm_coopmat32_tile32.wgsl",
            "lm_tiles.wgsl",
            "lm_coopmat32_weights_quantized.wgsl",
            "lm_weights_compact.wgsl",
            "lm_compact_units.wgsl",
            "lm_grid_global.wgsl",
            "lm_linear_epilogue_vec4.wgsl"
        ),
        variants: compact_variants!("lm_matmul_coopmat32"),
        ..MATMUL_COOPMAT32
    },
    Family {
        aliases: source!(
            "lm_coopmat32_tile32_narrow.wgsl",
            "lm_tiles.wgsl",
            "lm_coopmat32_weights_quantized.wgsl",
            "lm_weights.wgsl",
            "lm_units.wgsl",
            "lm_linear_epilogue_vec4.wgsl"
        ),
        variants: variants! {
            "lm_matmul_coopmat32_q8": FORMAT = 8;
        },
        ..MATMUL_COOPMAT32_NARROW
    },
];
