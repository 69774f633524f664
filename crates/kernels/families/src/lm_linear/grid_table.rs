//! The products with few tokens and weights of IQ2 and IQ3 types, which stage the grid of the type in
//! workgroup memory.

use super::sources::{compact_variants, source};
use super::table::{MATVEC8, PRODUCT};
use crate::Family;

/// The kernel of a format whose grid has this many entries. The source has their number: naga does
/// not resolve overrides in the size of an array.
macro_rules! grid_family {
    ($base:ident, $prefix:literal, $others:tt, [$($file:literal),*], $size:literal, $format:literal, $id:literal) => {
        Family {
            aliases: concat!(
                source!($($file,)* "lm_weights_compact.wgsl", "lm_grid_workgroup.wgsl"),
                "const GRID_SIZE = ",
                $size,
                "u;\n"
            ),
            variants: &[compact_variants!(@one $prefix $format $id $others)],
            ..$base
        }
    };
}

/// Products with units of a group of 32 columns.
macro_rules! unit_family {
    ($prefix:literal, $x:literal, $codes:literal, $size:literal, $format:literal, $id:literal) => {
        grid_family!(PRODUCT, $prefix, [UNIT_VEC4S = 8], [$x, "lm_grid_units.wgsl", $codes], $size, $format, $id)
    };
}

/// Products with eight tokens. IQ3_S is not among them: with its grid in workgroup memory, the
/// compiler for RDNA2 takes twice the registers.
macro_rules! eight_family {
    ($size:literal, $format:literal, $id:literal) => {
        grid_family!(MATVEC8, "lm_matvec8_i8", [], ["lm_tiles.wgsl", "lm_compact_units.wgsl"], $size, $format, $id)
    };
}

pub(crate) const FAMILIES: &[Family] = &[
    unit_family!("lm_matvec", "lm_matvec_x_f32.wgsl", "lm_codes_pairs.wgsl", 256, "iq2_xxs", 22),
    unit_family!("lm_matvec", "lm_matvec_x_f32.wgsl", "lm_codes_pairs.wgsl", 512, "iq2_xs", 23),
    unit_family!("lm_matvec", "lm_matvec_x_f32.wgsl", "lm_codes_pairs.wgsl", 1024, "iq2_s", 24),
    unit_family!("lm_matvec", "lm_matvec_x_f32.wgsl", "lm_codes_triples.wgsl", 256, "iq3_xxs", 25),
    unit_family!("lm_matvec", "lm_matvec_x_f32.wgsl", "lm_codes_triples.wgsl", 512, "iq3_s", 26),
    unit_family!("lm_matvec_i8", "lm_matvec_x_i8.wgsl", "lm_codes_pairs.wgsl", 256, "iq2_xxs", 22),
    unit_family!("lm_matvec_i8", "lm_matvec_x_i8.wgsl", "lm_codes_pairs.wgsl", 512, "iq2_xs", 23),
    unit_family!("lm_matvec_i8", "lm_matvec_x_i8.wgsl", "lm_codes_pairs.wgsl", 1024, "iq2_s", 24),
    unit_family!("lm_matvec_i8", "lm_matvec_x_i8.wgsl", "lm_codes_triples.wgsl", 256, "iq3_xxs", 25),
    unit_family!("lm_matvec_i8", "lm_matvec_x_i8.wgsl", "lm_codes_triples.wgsl", 512, "iq3_s", 26),
    eight_family!(256, "iq2_xxs", 22),
    eight_family!(512, "iq2_xs", 23),
    eight_family!(1024, "iq2_s", 24),
    eight_family!(256, "iq3_xxs", 25),
];
