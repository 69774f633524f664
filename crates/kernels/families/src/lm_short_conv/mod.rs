//! `lm_short_conv`: causal convolution of each channel over the most recent tokens.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, NO_STATE, Params};

constants! {
    /// `lm_short_conv`: `y[t, c] = sum over k of weights[c, k] * x[t + k + 1 - taps, c]`, plus a
    /// bias, then an activation. With gates, one multiplies `x` and the other the result.
    ///
    /// The state has the inputs before the first token of a sequence; without a state they are
    /// zero. The state of a slot is `taps - 1` rows of `channels` floats, oldest first. Biases
    /// follow the weights. With several copies, the weights of all copies come before the biases.
    pub struct LmShortConv {
        /// Number of sequences.
        pub sequences: u32,
        /// First word of `inputs` that describes the sequences.
        pub first: u32,
        /// Number of channels.
        pub channels: u32,
        /// Tokens that an output depends on, including its own; at least 1.
        pub taps: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Column of the first channel in `x`.
        pub x_offset: u32,
        /// Column of the first channel's input gate in `x`.
        pub input_gates_offset: u32,
        /// Column of the first channel's output gate in `x`.
        pub output_gates_offset: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Workgroups that share the tokens of a sequence.
        pub splits: u32,
        /// Sum of [`Self::SILU`], [`Self::BIAS`], [`Self::GATED`], [`Self::SHIFT`] and
        /// [`Self::KEEP`].
        pub flags: u32,
        /// Sets of weights, each of which computes a plane of `y`; at least 1.
        pub copies: u32,
        /// Floats from a plane of `y` to the next one.
        pub plane: u32,
    }
}

impl LmShortConv {
    /// Tokens per workgroup in sequences of average length.
    pub const TOKENS_PER_SPLIT: u32 = 16;
    /// SiLU of the results.
    pub const SILU: u32 = 1;
    /// A bias per channel.
    pub const BIAS: u32 = 2;
    /// Gates of inputs and results.
    pub const GATED: u32 = 4;
    /// Two taps whose weights depend on the token: `y[t] = x[t] + (x[t - 1] - x[t]) * y[t]`. No
    /// weights are read, and of the other flags only [`Self::KEEP`] has an effect.
    pub const SHIFT: u32 = 8;
    /// Does not write the state.
    pub const KEEP: u32 = 16;

    /// The number of splits for this number of tokens in all sequences.
    pub fn splits(tokens: u32, sequences: u32) -> u32 {
        tokens.div_ceil(sequences.max(1)).div_ceil(Self::TOKENS_PER_SPLIT).max(1)
    }
}

impl Params for LmShortConv {
    fn grid(&self) -> [u32; 3] {
        [self.channels.div_ceil(256), self.sequences, self.splits]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_short_conv.wgsl",
    text: include_str!("lm_short_conv.wgsl"),
    entry: "lm_short_conv",
    variants: &[plain("lm_short_conv")],
    bindings: &[read("inputs"), read("x"), read("weights"), write("states"), write("y")],
    constants: LmShortConv::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    // Sequences: first token, tokens, slot to read, slot to write. The second one continues from
    // its own slot, the third one from another slot, the last one has fewer tokens than the state
    // has rows.
    let sequences = [[0, 1, NO_STATE, 3], [1, 21, 1, 1], [22, 5, 0, 4], [27, 2, 2, 2]];
    let tokens = 29;
    let mut make = |sequences: &[[u32; 4]], channels: u32, taps: u32, splits: u32, flags: u32, copies: u32| {
        let params = LmShortConv {
            sequences: sequences.len() as u32,
            first: 3,
            channels,
            taps,
            x_stride: 3 * channels + 2,
            x_offset: channels + 1,
            input_gates_offset: 1,
            output_gates_offset: 2 * channels + 2,
            y_stride: channels + 1,
            splits,
            flags,
            copies,
            plane: tokens * (channels + 1) + 3,
        };
        let inputs = [7; 3].into_iter().chain(sequences.iter().copied().flatten()).collect();
        let mut floats = |count: u32| words(&random.floats(count as usize, -2.0, 2.0));
        let (x, weights) = (floats(tokens * params.x_stride), floats(copies * channels * (taps + 1)));
        let states = floats((5 * (taps - 1) * channels).max(4));
        let buffers = vec![inputs, x, weights, states, untouched((copies * params.plane) as usize)];
        let label =
            format!("{} x {channels}, {taps} taps, {splits} splits, flags {flags}, copies {copies}", sequences.len());
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![
        make(&sequences[1..2], 1, 2, 1, 0, 1),
        make(&sequences, 300, 4, 1, 1, 1),
        make(&sequences, 257, 4, 3, 1, 1),
        // More splits than tokens.
        make(&sequences, 64, 3, 30, 0, 1),
        make(&sequences, 64, 1, 2, 0, 1),
        make(&sequences, 100, 4, 2, LmShortConv::SILU | LmShortConv::BIAS, 1),
        make(&sequences, 70, 3, 3, LmShortConv::GATED, 1),
        make(&sequences, 72, 2, 2, 0, 6),
        make(&sequences, 40, 3, 1, LmShortConv::BIAS, 2),
        make(&sequences, 72, 2, 1, LmShortConv::KEEP, 1),
        make(&sequences, 40, 2, 3, LmShortConv::SHIFT, 5),
    ]
}
