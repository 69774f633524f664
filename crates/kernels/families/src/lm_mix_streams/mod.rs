//! `lm_mix_streams`: several residual streams.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_mix_streams`: with `w[k] = tanh(scale * scores[t, k])`, predicts all streams `x[i]`:
    ///
    /// ```text
    /// x[i] = x[i] + sum over j of dot(coefficients[4 i + j], w) * x[j]
    /// ```
    ///
    /// or corrects them by what the active one has become, and writes a plane behind them:
    ///
    /// ```text
    /// x[i] = x[i] + (dot(coefficients[i], w) + 1) * (state - x[a])
    /// x[streams] = x[a] * factor per column
    /// ```
    pub struct LmMixStreams {
        /// Tokens.
        pub tokens: u32,
        /// Columns of a stream.
        pub columns: u32,
        /// Streams: at most [`Self::MOST`].
        pub streams: u32,
        /// Index `a` of the active stream.
        pub active_stream: u32,
        /// Row stride of the streams and of `state` in floats.
        pub stride: u32,
        /// Floats from a stream to the next one.
        pub plane: u32,
        /// Row stride of `scores` in floats.
        pub scores_stride: u32,
        /// Factor of the scores.
        pub scale: f32,
        /// 1 to correct, 0 to predict.
        pub correct: u32,
    }
}

impl LmMixStreams {
    /// Maximum number of streams.
    pub const MOST: u32 = 4;
}

impl Params for LmMixStreams {
    fn grid(&self) -> [u32; 3] {
        [self.columns.div_ceil(256).min(MAX_GROUPS), self.tokens, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_mix_streams.wgsl",
    text: include_str!("lm_mix_streams.wgsl"),
    entry: "lm_mix_streams",
    variants: &[plain("lm_mix_streams")],
    bindings: &[read("scores"), read("coefficients"), read("state"), write("streams")],
    constants: LmMixStreams::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, columns: u32, streams: u32, active_stream: u32, correct: u32| {
        let stride = columns + 3;
        let params = LmMixStreams {
            tokens,
            columns,
            streams,
            active_stream,
            stride,
            plane: (tokens + 1) * stride,
            scores_stride: streams + 2,
            scale: 0.25,
            correct,
        };
        let mut floats = |count: u32, limit: f32| words(&random.floats(count as usize, -limit, limit));
        let scores = floats(tokens * params.scores_stride, 9.0);
        // Rows of coefficients, then the factors of the columns.
        let rows = if correct == 0 { 16 } else { 4 };
        let coefficients = floats(4 * rows + columns.next_multiple_of(4), 1.0);
        let state = floats(tokens * stride, 2.0);
        let planes = floats((streams + 1) * params.plane, 2.0);
        let buffers = vec![scores, coefficients, state, planes];
        let label = format!("{tokens} x {columns}, stream {active_stream} of {streams}, correct {correct}");
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![
        make(1, 1, 1, 0, 0),
        make(3, 300, 4, 0, 0),
        make(2, 70, 3, 2, 0),
        make(3, 300, 4, 0, 1),
        make(2, 65, 3, 1, 1),
        make(2, 30, 4, 2, 1),
        make(1, 8, 4, 3, 1),
    ]
}
