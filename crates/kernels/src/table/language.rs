//! Kernels of language models.

use super::{Binding, Constants, Family, LINEAR, Variant, params, plain, read, write};
use std::mem::{offset_of, size_of};

/// What products of weights share: how weights lie in memory, and what is done with the sums.
const SHARED: &str = concat!(include_str!("../../wgsl/lm_weights.wgsl"), include_str!("../../wgsl/lm_end.wgsl"));

/// What products with several tokens bind.
const SEVERAL: &[Binding] = &[read("codes"), read("scales"), read("x"), read("bias"), write("y")];

/// `x` as it is.
const PLAIN: &str = concat!(
    include_str!("../../wgsl/lm_x_f32.wgsl"),
    include_str!("../../wgsl/lm_weights.wgsl"),
    include_str!("../../wgsl/lm_end.wgsl")
);

/// `x` as bytes.
const BYTES: &str = concat!(
    include_str!("../../wgsl/lm_x_i8.wgsl"),
    include_str!("../../wgsl/lm_weights.wgsl"),
    include_str!("../../wgsl/lm_end.wgsl")
);

/// What products with one token bind, and what all share.
const PRODUCT: Family = Family {
    file: "lm_matvec.wgsl",
    text: include_str!("../../wgsl/lm_matvec.wgsl"),
    entry: "lm_matvec",
    aliases: SHARED,
    variants: &[],
    bindings: &[read("codes"), read("scales"), read("x"), read("bias"), read("experts"), read("norm"), write("y")],
    constants: constants!(
        LmLinear: rows columns tokens x_stride y_stride y_offset flags experts sharing model_columns epsilon
    ),
    workgroup: [128, 1, 1],
    in_place: false,
    matrix: false,
};

/// Products with many tokens on matrix units. Formats that take many registers to decode are left out: beside the sums of a tile there are few, and spilled
/// ones cost more than matrix units give.
const MATRIX: Family = Family {
    file: "lm_matrix.wgsl",
    text: include_str!("../../wgsl/lm_matrix.wgsl"),
    entry: "lm_matrix",
    aliases: concat!(
        include_str!("../../wgsl/lm_matrix_codes.wgsl"),
        include_str!("../../wgsl/lm_weights.wgsl"),
        include_str!("../../wgsl/lm_end.wgsl")
    ),
    bindings: SEVERAL,
    matrix: true,
    ..PRODUCT
};

/// What kernels share that look at single values.
const SIMPLE: Family = Family {
    file: "lm_gate.wgsl",
    text: include_str!("../../wgsl/lm_gate.wgsl"),
    entry: "lm_gate",
    aliases: "",
    variants: &[plain("lm_gate")],
    bindings: &[read("x"), write("y")],
    constants: constants!(LmGate: tokens width x_stride y_stride gelu),
    workgroup: LINEAR,
    in_place: false,
    matrix: false,
};

/// Attention of many tokens.
const ATTENTION: Family = Family {
    file: "lm_attention.wgsl",
    text: include_str!("../../wgsl/lm_attention.wgsl"),
    entry: "lm_attention",
    bindings: &[read("inputs"), read("q"), read("keys"), read("values"), write("y")],
    constants: constants!(
        LmAttention: tokens blocks block heads kv_heads key_length value_length q_stride y_stride page splits scale soft_cap window packed
    ),
    workgroup: [128, 1, 1],
    ..SIMPLE
};

/// Attention of one token of each text, with what comes before it.
const ATTEND: Family = Family {
    file: "lm_attend.wgsl",
    text: include_str!("../../wgsl/lm_attend.wgsl"),
    entry: "lm_attend",
    bindings: &[
        read("inputs"),
        read("norms"),
        read("rotations"),
        read("qkv"),
        write("keys"),
        write("values"),
        write("y"),
    ],
    constants: constants!(
        LmAttend: tokens heads kv_heads key_length value_length pairs flags stride y_stride page splits scale soft_cap window epsilon
    ),
    workgroup: [128, 1, 1],
    ..SIMPLE
};

pub(super) static FAMILIES: &[Family] = &[
    Family {
        file: "lm_plain.wgsl",
        text: include_str!("../../wgsl/lm_plain.wgsl"),
        entry: "lm_plain",
        variants: variants! {
            "lm_matvec_f32": FORMAT = 0, FOURS = 1;
            "lm_matvec_f16": FORMAT = 1, FOURS = 2;
            "lm_matvec_bf16": FORMAT = 2, FOURS = 2;
        },
        ..PRODUCT
    },
    Family {
        aliases: PLAIN,
        variants: variants! {
            "lm_matvec_q4": FORMAT = 3, FOURS = 8;
            "lm_matvec_q4_pairs": FORMAT = 4, FOURS = 8;
            "lm_matvec_q4_halves": FORMAT = 5, FOURS = 8;
            "lm_matvec_q4_curve": FORMAT = 6, FOURS = 8;
            "lm_matvec_q4_float": FORMAT = 7, FOURS = 8;
            "lm_matvec_q8": FORMAT = 8, FOURS = 4;
            "lm_matvec_q8_halves": FORMAT = 9, FOURS = 4;
            "lm_matvec_q4_super": FORMAT = 10, FOURS = 8;
            "lm_matvec_q8_wide": FORMAT = 11, FOURS = 4;
        },
        ..PRODUCT
    },
    Family {
        aliases: BYTES,
        variants: variants! {
            "lm_dot_q4": FORMAT = 3, FOURS = 8;
            "lm_dot_q4_pairs": FORMAT = 4, FOURS = 8;
            "lm_dot_q4_halves": FORMAT = 5, FOURS = 8;
            "lm_dot_q8": FORMAT = 8, FOURS = 4;
            "lm_dot_q8_halves": FORMAT = 9, FOURS = 4;
            "lm_dot_q4_super": FORMAT = 10, FOURS = 8;
            "lm_dot_q8_wide": FORMAT = 11, FOURS = 4;
        },
        ..PRODUCT
    },
    Family {
        file: "lm_matvec4.wgsl",
        text: include_str!("../../wgsl/lm_matvec4.wgsl"),
        entry: "lm_matvec4",
        bindings: SEVERAL,
        variants: variants! {
            "lm_matvec4_f32": FORMAT = 0;
            "lm_matvec4_f16": FORMAT = 1;
            "lm_matvec4_bf16": FORMAT = 2;
            "lm_matvec4_q4": FORMAT = 3;
            "lm_matvec4_q4_pairs": FORMAT = 4;
            "lm_matvec4_q4_halves": FORMAT = 5;
            "lm_matvec4_q4_curve": FORMAT = 6;
            "lm_matvec4_q4_float": FORMAT = 7;
            "lm_matvec4_q8": FORMAT = 8;
            "lm_matvec4_q8_halves": FORMAT = 9;
            "lm_matvec4_q4_super": FORMAT = 10;
            "lm_matvec4_q8_wide": FORMAT = 11;
        },
        ..PRODUCT
    },
    Family {
        file: "lm_matmul.wgsl",
        text: include_str!("../../wgsl/lm_matmul.wgsl"),
        entry: "lm_matmul",
        variants: variants! {
            "lm_matmul_f32": FORMAT = 0;
            "lm_matmul_f16": FORMAT = 1;
            "lm_matmul_bf16": FORMAT = 2;
            "lm_matmul_q4": FORMAT = 3;
            "lm_matmul_q4_pairs": FORMAT = 4;
            "lm_matmul_q4_halves": FORMAT = 5;
            "lm_matmul_q4_curve": FORMAT = 6;
            "lm_matmul_q4_float": FORMAT = 7;
            "lm_matmul_q8": FORMAT = 8;
            "lm_matmul_q8_halves": FORMAT = 9;
            "lm_matmul_q4_super": FORMAT = 10;
            "lm_matmul_q8_wide": FORMAT = 11;
        },
        bindings: SEVERAL,
        workgroup: LINEAR,
        ..PRODUCT
    },
    Family {
        aliases: concat!(
            include_str!("../../wgsl/lm_matrix_f16.wgsl"),
            include_str!("../../wgsl/lm_weights.wgsl"),
            include_str!("../../wgsl/lm_end.wgsl")
        ),
        variants: variants! {
            "lm_matrix_f16": FORMAT = 1;
        },
        ..MATRIX
    },
    Family {
        variants: variants! {
            "lm_matrix_q4": FORMAT = 3;
            "lm_matrix_q4_pairs": FORMAT = 4;
            "lm_matrix_q4_halves": FORMAT = 5;
            "lm_matrix_q8": FORMAT = 8;
            "lm_matrix_q8_halves": FORMAT = 9;
            "lm_matrix_q4_super": FORMAT = 10;
            "lm_matrix_q8_wide": FORMAT = 11;
        },
        ..MATRIX
    },
    Family {
        file: "lm_embed.wgsl",
        text: include_str!("../../wgsl/lm_embed.wgsl"),
        entry: "lm_embed",
        aliases: include_str!("../../wgsl/lm_weights.wgsl"),
        variants: variants! {
            "lm_embed_f32": FORMAT = 0;
            "lm_embed_f16": FORMAT = 1;
            "lm_embed_bf16": FORMAT = 2;
            "lm_embed_q4": FORMAT = 3;
            "lm_embed_q8": FORMAT = 8;
        },
        bindings: &[read("inputs"), read("codes"), read("scales"), write("y")],
        constants: constants!(LmEmbed: tokens columns rows first y_stride factor),
        ..SIMPLE
    },
    Family {
        file: "lm_half.wgsl",
        text: include_str!("../../wgsl/lm_half.wgsl"),
        entry: "lm_half",
        variants: &[plain("lm_half")],
        constants: constants!(LmHalf: words),
        ..SIMPLE
    },
    Family {
        file: "lm_sum_norm.wgsl",
        text: include_str!("../../wgsl/lm_sum_norm.wgsl"),
        entry: "lm_sum_norm",
        variants: &[plain("lm_sum_norm")],
        bindings: &[read("parts"), read("weight"), write("x"), write("y")],
        constants: constants!(LmSumNorm: rows columns x_stride used part_stride epsilon),
        ..SIMPLE
    },
    Family {
        file: "lm_norm.wgsl",
        text: include_str!("../../wgsl/lm_norm.wgsl"),
        entry: "lm_norm",
        variants: &[plain("lm_norm")],
        bindings: &[read("x"), read("weight"), read("inputs"), write("y")],
        constants: constants!(LmNorm: rows columns x_stride y_stride epsilon flags first),
        ..SIMPLE
    },
    Family {
        file: "lm_heads.wgsl",
        text: include_str!("../../wgsl/lm_heads.wgsl"),
        entry: "lm_heads",
        variants: variants! {
            "lm_heads_f16": CACHE = 0;
            "lm_heads_q8": CACHE = 1;
        },
        bindings: &[
            read("inputs"),
            read("norms"),
            read("rotations"),
            read("parts"),
            write("qkv"),
            write("keys"),
            write("values"),
        ],
        constants: constants!(
            LmHeads: tokens heads kv_heads key_length value_length pairs flags stride page epsilon used part_stride
        ),
        workgroup: [64, 1, 1],
        ..SIMPLE
    },
    Family {
        aliases: include_str!("../../wgsl/lm_cache_f16.wgsl"),
        variants: &[plain("lm_attention_f16")],
        ..ATTENTION
    },
    Family { aliases: include_str!("../../wgsl/lm_cache_q8.wgsl"), variants: &[plain("lm_attention_q8")], ..ATTENTION },
    Family {
        file: "lm_flash.wgsl",
        text: include_str!("../../wgsl/lm_flash.wgsl"),
        entry: "lm_flash",
        variants: variants! {
            "lm_flash_64": LENGTH = 64;
            "lm_flash_128": LENGTH = 128;
        },
        matrix: true,
        workgroup: [256, 1, 1],
        ..ATTENTION
    },
    Family { aliases: include_str!("../../wgsl/lm_keep_f16.wgsl"), variants: &[plain("lm_attend_f16")], ..ATTEND },
    Family { aliases: include_str!("../../wgsl/lm_keep_q8.wgsl"), variants: &[plain("lm_attend_q8")], ..ATTEND },
    Family {
        file: "lm_join.wgsl",
        text: include_str!("../../wgsl/lm_join.wgsl"),
        entry: "lm_join",
        variants: &[plain("lm_join")],
        constants: constants!(LmJoin: tokens heads value_length splits y_stride),
        workgroup: [64, 1, 1],
        ..SIMPLE
    },
    SIMPLE,
    Family {
        file: "lm_route.wgsl",
        text: include_str!("../../wgsl/lm_route.wgsl"),
        entry: "lm_route",
        variants: &[plain("lm_route")],
        bindings: &[read("x"), write("chosen"), write("shares")],
        constants: constants!(LmRoute: tokens experts used stride),
        workgroup: [64, 1, 1],
        ..SIMPLE
    },
    Family {
        file: "lm_mix.wgsl",
        text: include_str!("../../wgsl/lm_mix.wgsl"),
        entry: "lm_mix",
        variants: &[plain("lm_mix")],
        bindings: &[read("x"), read("shares"), write("y")],
        constants: constants!(LmMix: tokens columns used x_stride y_stride add),
        ..SIMPLE
    },
];
