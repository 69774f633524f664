//! The kernels of products with weights, and the source files of each, except those of
//! `grid_table.rs`.

use super::sources::{compact_variants, gridless_variants, nibble_variants, quantized_variants, source};
use super::{LmLinear, cases};
use crate::family::{read, variants, write};
use crate::{Family, LINEAR_WORKGROUP};

/// Bindings of products with several tokens.
const BATCH_BINDINGS: &[crate::Binding] = &[read("codes"), read("scales"), read("x"), read("bias"), write("y")];

/// Bindings of products with several tokens, in tiles that may each have an expert.
const TILE_BINDINGS: &[crate::Binding] =
    &[read("codes"), read("scales"), read("x"), read("bias"), read("tiles"), write("y")];

/// Common part of products with weights; the bindings are those of the single-token variants.
pub(super) const PRODUCT: Family = Family {
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
pub(super) const MATVEC8: Family = Family {
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
        variants: gridless_variants!("lm_matvec"[UNIT_VEC4S = 4]),
        ..PRODUCT
    },
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
        variants: gridless_variants!("lm_matvec_i8"[UNIT_VEC4S = 4]),
        ..PRODUCT
    },
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
        aliases: source!("lm_tiles.wgsl", "lm_weights.wgsl", "lm_units.wgsl", "lm_grid_none.wgsl"),
        variants: quantized_variants!("lm_matvec8_i8"),
        ..MATVEC8
    },
    Family {
        aliases: source!(
            "lm_tiles.wgsl",
            "lm_weights_compact.wgsl",
            "lm_compact_units.wgsl",
            "lm_grid_global.wgsl",
            "lm_grid_none.wgsl"
        ),
        variants: gridless_variants!("lm_matvec8_i8" []),
        ..MATVEC8
    },
    Family {
        aliases: source!(
            "lm_tiles.wgsl",
            "lm_weights_compact.wgsl",
            "lm_compact_units.wgsl",
            "lm_grid_global.wgsl",
            "lm_grid_none.wgsl"
        ),
        variants: variants! {
            "lm_matvec8_i8_iq3_s": FORMAT = 26;
        },
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
