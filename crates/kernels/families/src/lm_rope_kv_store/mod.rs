//! `lm_rope_kv_store_*`: rotary position embedding, and stores to the KV cache.

use roci_tolerance::Tolerance;

use crate::cases::lm::{in_turn, inputs, quarters, whole};
use crate::cases::lm_images::rope_sections;
use crate::cases::{Case, Element, Random, case, untouched};
use crate::family::{constants, read, variants, write};
use crate::{Family, Params};

constants! {
    /// `lm_rope_kv_store`: normalizes and rotates query and key heads, and stores keys and values
    /// in the KV cache.
    pub struct LmRopeKvStore {
        /// Number of tokens.
        pub tokens: u32,
        /// Number of query heads.
        pub heads: u32,
        /// Number of KV heads.
        pub kv_heads: u32,
        /// Size of a query or key head.
        pub key_length: u32,
        /// Size of a value head.
        pub value_length: u32,
        /// Rotated pairs per head.
        pub pairs: u32,
        /// Sum of [`Self::NORMS`], [`Self::INTERLEAVED`], [`Self::AFTER_ROPE`],
        /// [`Self::EACH_HEAD`], [`Self::CENTERED`], [`Self::VALUE_NORMS`] and
        /// [`Self::VALUES_IN_KEYS`]; others are ignored. The upper 16 bits ([`Self::OFFSET_SHIFT`]) are the offset of M-RoPE data in `inputs`:
        /// the section of each pair, then the positions of all tokens in each of three sections.
        /// With 0, all pairs rotate by the token's position in its sequence.
        pub flags: u32,
        /// Row stride of `qkv` in floats. A row holds queries, then keys, then values.
        pub stride: u32,
        /// Tokens per KV page.
        pub page: u32,
        /// Added to the mean square.
        pub epsilon: f32,
        /// Rows of `parts` summed per token; consecutive. 0 reads `qkv` instead.
        pub used: u32,
        /// Row stride of `parts` in floats.
        pub part_stride: u32,
        /// Attention temperature: queries are multiplied by `1 + scale * ln(1 + floor((position +
        /// offset) / interval))`.
        pub temperature_scale: f32,
        /// Interval of the attention temperature in positions; 0 disables it.
        pub temperature_interval: u32,
        /// Offset of the attention temperature in positions.
        pub temperature_offset: u32,
    }
}

impl LmRopeKvStore {
    /// Normalizes queries and keys. `norms` has the query weights, then the key weights.
    pub const NORMS: u32 = 1;
    /// Rotates adjacent elements (interleaved) instead of the two halves of a head.
    pub const INTERLEAVED: u32 = 2;
    /// Shift of the offset of rotary positions in [`flags`](Self::flags).
    pub const OFFSET_SHIFT: u32 = 16;
    /// With [`Self::NORMS`], multiplies by the weights after rotation, which must keep the mean
    /// square.
    pub const AFTER_ROPE: u32 = 4;
    /// Only for `lm_decode_attention_*`: in `norms`, attention sinks follow the weights of the
    /// norms.
    pub const SINKS: u32 = 8;
    /// With [`Self::NORMS`], every query and key head has its own weights; query heads come first.
    pub const EACH_HEAD: u32 = 16;
    /// With [`Self::NORMS`], layer norm: subtracts the mean of a head. Not with
    /// [`Self::AFTER_ROPE`].
    pub const CENTERED: u32 = 32;
    /// RMS norm of each value head, without weights.
    pub const VALUE_NORMS: u32 = 64;
    /// Only for `lm_decode_attention_*`: the KV cache already has the keys and values of all tokens.
    pub const SHARED: u32 = 128;
    /// There are no value heads: values are a part of the keys. Only for `lm_rope_kv_store_*`.
    pub const VALUES_IN_KEYS: u32 = 256;
    /// Maximum head size.
    pub const LONGEST: u32 = 576;
    /// Tokens per workgroup.
    pub const TOKENS_PER_GROUP: u32 = 4;
}

impl Params for LmRopeKvStore {
    fn grid(&self) -> [u32; 3] {
        let stored = if self.flags & Self::VALUES_IN_KEYS == 0 { 2 } else { 1 };
        [self.heads + stored * self.kv_heads, self.tokens.div_ceil(Self::TOKENS_PER_GROUP), 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_rope_kv_store.wgsl",
    text: include_str!("lm_rope_kv_store.wgsl"),
    entry: "lm_rope_kv_store",
    variants: variants! {
        "lm_rope_kv_store_f16": CACHE = 0;
        "lm_rope_kv_store_q8": CACHE = 1;
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
    constants: LmRopeKvStore::CONSTANTS,
    workgroup: [64, 1, 1],
    cases: with_images,
    ..Family::DEFAULT
}];

fn with_images(kernel: &str, random: &mut Random) -> Vec<Case> {
    let cases = cases(kernel, random);
    let with_images: Vec<Case> = cases.iter().take(2).map(rope_sections).collect();
    cases.into_iter().chain(with_images).collect()
}

fn cases(kernel: &str, random: &mut Random) -> Vec<Case> {
    let bytes = kernel == "lm_rope_kv_store_q8";
    let mut make = |length: u32, flags: u32, used: u32| {
        // More tokens than one workgroup processes, so that the second workgroup is partial.
        let positions = [0, 5, 17, 9, 30, 2];
        let params = LmRopeKvStore {
            tokens: 6,
            heads: 4,
            kv_heads: 2,
            key_length: length,
            value_length: length,
            pairs: length / 2 - length / 8,
            flags,
            stride: 8 * length + 3,
            page: 8,
            epsilon: 0.0,
            used,
            part_stride: 8 * length + 16,
            temperature_scale: 0.5,
            // Higher than any position, so queries are exact.
            temperature_interval: 64,
            temperature_offset: 1,
        };
        let qkv = whole(random, 6 * params.stride);
        let parts = whole(random, 6 * used.max(1) * params.part_stride);
        let rotations = quarters(32, params.pairs);
        let line = if bytes { length / 4 + length / 32 } else { length / 2 };
        let cache = (8 * 8 * 2 * line) as usize;
        let mut values = untouched(cache);
        // Packed bytes cannot be compared as floats.
        values.fill(0);
        let inputs = inputs(&positions, 1, in_turn);
        let buffers = vec![inputs, vec![0; 4], rotations, parts, qkv, untouched(cache), values];
        case(
            params,
            buffers,
            Element::Word,
            Tolerance::Exact,
            format!("heads of {length}, flags {flags}, {used} parts"),
        )
    };
    vec![
        make(32, 0, 0),
        make(64, LmRopeKvStore::INTERLEAVED, 3),
        make(128, 0, 0),
        make(576, LmRopeKvStore::VALUES_IN_KEYS, 0),
    ]
}
