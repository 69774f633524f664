//! `lm_embed_*`: rows of an embedding matrix.

use roci_tolerance::Tolerance;

use crate::cases::lm::weights;
use crate::cases::{Case, Element, Random, case, untouched};
use crate::family::{constants, read, variants, write};
use crate::{Family, Params, WeightFormat};

constants! {
    /// `lm_embed_*`: `y[t, c] = weight[inputs[first + t], c] * factor`, for formats that decode
    /// exactly to f32.
    pub struct LmEmbed {
        /// Number of tokens.
        pub tokens: u32,
        /// Columns, a multiple of 32.
        pub columns: u32,
        /// Rows of the matrix: the vocabulary size.
        pub rows: u32,
        /// The first word of `inputs` that is a token id.
        pub first: u32,
        /// Row stride of `y` in floats, a multiple of 4. The padding of a row is zero.
        pub y_stride: u32,
        /// Multiplier of the embedding.
        pub factor: f32,
    }
}

impl LmEmbed {
    /// The kernel for a weight format.
    pub fn kernel(format: WeightFormat) -> Option<&'static str> {
        Some(match format {
            WeightFormat::F32 => "lm_embed_f32",
            WeightFormat::F16 => "lm_embed_f16",
            WeightFormat::Bf16 => "lm_embed_bf16",
            WeightFormat::Q4 => "lm_embed_q4",
            WeightFormat::Q8 => "lm_embed_q8",
            _ => return None,
        })
    }
}

impl Params for LmEmbed {
    fn grid(&self) -> [u32; 3] {
        [self.y_stride.div_ceil(1024), self.tokens, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_embed.wgsl",
    text: include_str!("lm_embed.wgsl"),
    entry: "lm_embed",
    aliases: include_str!("../lm_linear/lm_weights.wgsl"),
    variants: variants! {
        "lm_embed_f32": FORMAT = 0;
        "lm_embed_f16": FORMAT = 1;
        "lm_embed_bf16": FORMAT = 2;
        "lm_embed_q4": FORMAT = 3;
        "lm_embed_q8": FORMAT = 8;
    },
    bindings: &[read("inputs"), read("codes"), read("scales"), write("y")],
    constants: LmEmbed::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(kernel: &str, random: &mut Random) -> Vec<Case> {
    let Some(format) = WeightFormat::ALL.into_iter().find(|format| LmEmbed::kernel(*format) == Some(kernel)) else {
        return Vec::new();
    };
    let mut make = |tokens: u32, columns: u32, behind: u32| {
        let rows = 9;
        let (codes, scales) = weights(random, format, rows as usize * columns as usize / 32);
        let params = LmEmbed { tokens, columns, rows, first: 3, y_stride: columns + behind, factor: 0.5 };
        let inputs = [7; 3].into_iter().chain((0..tokens).map(|token| token * 5 % rows)).collect();
        let buffers = vec![inputs, codes, scales, untouched((tokens * params.y_stride) as usize)];
        case(params, buffers, Element::F32, Tolerance::Exact, format!("{tokens} x {columns}, {behind} behind them"))
    };
    vec![make(1, 32, 0), make(3, 96, 4), make(5, 1056, 32)]
}
