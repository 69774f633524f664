//! `lm_decode_attention_*`, `lm_decode_attention4_*` and `lm_decode_attention_subgroups_*`: attention
//! of one token per sequence, fused with RoPE and the store to the KV cache.

mod cases;

use crate::cases::lm_images::decode_sections;
use crate::cases::{Case, Random};
use crate::family::{constants, plain, read, variants, write};
use crate::{Family, LmAttention, LmRopeKvStore, Params};

constants! {
    /// `lm_decode_attention_*`: single-token attention. Fuses [`LmRopeKvStore`] and [`LmAttention`]
    /// for one token per sequence. The queries in `qkv` are not modified.
    pub struct LmDecodeAttention {
        /// Tokens, each of a different sequence.
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
        /// Flags of [`LmRopeKvStore`].
        pub flags: u32,
        /// Row stride of `qkv` in floats. A row holds queries, then keys, then values.
        pub stride: u32,
        /// Row stride of `y` in values; used with one split.
        pub y_stride: u32,
        /// Tokens per KV page.
        pub page: u32,
        /// Number of splits of the keys of a sequence.
        pub splits: u32,
        /// Multiplier of the scores.
        pub scale: f32,
        /// Soft cap `c`: a score `s` becomes `c * tanh(s / c)`. 0 disables it.
        pub soft_cap: f32,
        /// Sliding window in tokens; 0 for full attention.
        pub window: u32,
        /// Added to the mean square of a head.
        pub epsilon: f32,
        /// As in [`LmRopeKvStore`].
        pub temperature_scale: f32,
        /// As in [`LmRopeKvStore`].
        pub temperature_interval: u32,
        /// As in [`LmRopeKvStore`].
        pub temperature_offset: u32,
        /// As in [`LmAttention`].
        pub chunk: u32,
        /// Rows of `qkv` that are summed per token; consecutive.
        pub parts: u32,
        /// 1 writes `y` as f16, two values per word. Only with one split.
        pub packed: u32,
    }
}

impl LmDecodeAttention {
    /// Maximum query heads per workgroup of `lm_decode_attention4_*` and
    /// `lm_decode_attention_subgroups_*`. They share the keys and values that it reads.
    pub const HEADS: u32 = 4;

    /// Fuses both kernels for a batch of one token per sequence. `None` for unsupported head sizes.
    pub fn of(heads: &LmRopeKvStore, attention: &LmAttention) -> Option<Self> {
        let fits =
            heads.key_length <= 256 && heads.key_length.is_multiple_of(32) && heads.value_length == heads.key_length;
        (fits && attention.alibi_heads == 0).then_some(Self {
            tokens: heads.tokens,
            heads: heads.heads,
            kv_heads: attention.kv_heads,
            key_length: heads.key_length,
            value_length: heads.value_length,
            pairs: heads.pairs,
            flags: heads.flags,
            stride: if heads.used == 0 { heads.stride } else { heads.part_stride },
            y_stride: attention.y_stride,
            page: heads.page,
            splits: attention.splits,
            scale: attention.scale,
            soft_cap: attention.soft_cap,
            window: attention.window,
            epsilon: heads.epsilon,
            temperature_scale: heads.temperature_scale,
            temperature_interval: heads.temperature_interval,
            temperature_offset: heads.temperature_offset,
            chunk: attention.chunk,
            parts: heads.used.max(1),
            packed: attention.packed,
        })
    }

    /// The kernel for these heads that needs subgroups and an f16 cache. Its blocks of four keys do
    /// not cross pages.
    pub fn subgroup_kernel(&self) -> Option<&'static str> {
        match self.key_length {
            64 if self.page.is_multiple_of(4) => Some("lm_decode_attention_subgroups_64"),
            128 if self.page.is_multiple_of(4) => Some("lm_decode_attention_subgroups_128"),
            _ => None,
        }
    }

    /// Workgroup counts of `lm_decode_attention4_*` and `lm_decode_attention_subgroups_*`. Each
    /// workgroup computes up to [`HEADS`](Self::HEADS) query heads of a KV head.
    pub fn grouped_grid(&self) -> [u32; 3] {
        let groups = (self.heads / self.kv_heads.max(1)).div_ceil(Self::HEADS);
        [self.tokens, self.kv_heads * groups, self.splits]
    }

    /// The RoPE and KV-store kernel that this one includes, for rows without parts.
    pub fn heads(&self) -> LmRopeKvStore {
        LmRopeKvStore {
            tokens: self.tokens,
            heads: self.heads,
            kv_heads: if self.flags & LmRopeKvStore::SHARED == 0 { self.kv_heads } else { 0 },
            key_length: self.key_length,
            value_length: self.value_length,
            pairs: self.pairs,
            flags: self.flags,
            stride: self.stride,
            page: self.page,
            epsilon: self.epsilon,
            used: 0,
            part_stride: 0,
            temperature_scale: self.temperature_scale,
            temperature_interval: self.temperature_interval,
            temperature_offset: self.temperature_offset,
        }
    }

    /// The attention kernel that this one includes.
    pub fn attention(&self) -> LmAttention {
        LmAttention {
            tokens: self.tokens,
            blocks: self.tokens,
            block: 1,
            heads: self.heads,
            kv_heads: self.kv_heads,
            key_length: self.key_length,
            value_length: self.value_length,
            q_stride: self.stride,
            y_stride: self.y_stride,
            page: self.page,
            splits: self.splits,
            scale: self.scale,
            soft_cap: self.soft_cap,
            window: self.window,
            sinks: u32::from(self.flags & LmRopeKvStore::SINKS != 0),
            chunk: self.chunk,
            packed: self.packed,
            ..LmAttention::default()
        }
    }
}

impl Params for LmDecodeAttention {
    fn grid(&self) -> [u32; 3] {
        [self.tokens, self.heads, self.splits]
    }
}

fn with_images(kernel: &str, random: &mut Random) -> Vec<Case> {
    let cases = cases::of(kernel, random);
    let with_images: Vec<Case> = cases.iter().take(2).map(decode_sections).collect();
    cases.into_iter().chain(with_images).collect()
}

fn grouped(kernel: &str, random: &mut Random) -> Vec<Case> {
    let grid = |case: Case| {
        let params: LmDecodeAttention = bytemuck::pod_read_unaligned(&case.constants);
        Case { grid: params.grouped_grid(), ..case }
    };
    with_images(kernel, random).into_iter().map(grid).collect()
}

fn by_subgroups(kernel: &str, random: &mut Random) -> Vec<Case> {
    let fits = |case: &Case| {
        let params: LmDecodeAttention = bytemuck::pod_read_unaligned(&case.constants);
        params.subgroup_kernel() == Some(kernel)
    };
    grouped(kernel, random).into_iter().filter(fits).collect()
}

const ATTENTION: Family = Family {
    file: "lm_decode_attention.wgsl",
    text: include_str!("lm_decode_attention.wgsl"),
    entry: "lm_decode_attention",
    variants: &[],
    bindings: &[
        read("inputs"),
        read("norms"),
        read("rotations"),
        read("qkv"),
        write("keys"),
        write("values"),
        write("y"),
    ],
    constants: LmDecodeAttention::CONSTANTS,
    workgroup: [128, 1, 1],
    cases: with_images,
    ..Family::DEFAULT
};

const GROUPED: Family = Family {
    file: "lm_decode_attention4.wgsl",
    text: include_str!("lm_decode_attention4.wgsl"),
    entry: "lm_decode_attention4",
    cases: grouped,
    ..ATTENTION
};

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        aliases: include_str!("lm_kv_store_f16.wgsl"),
        variants: &[plain("lm_decode_attention_f16")],
        ..ATTENTION
    },
    Family { aliases: include_str!("lm_kv_store_q8.wgsl"), variants: &[plain("lm_decode_attention_q8")], ..ATTENTION },
    Family { aliases: include_str!("lm_kv_store_f16.wgsl"), variants: &[plain("lm_decode_attention4_f16")], ..GROUPED },
    Family { aliases: include_str!("lm_kv_store_q8.wgsl"), variants: &[plain("lm_decode_attention4_q8")], ..GROUPED },
    Family {
        file: "lm_decode_attention_subgroups.wgsl",
        text: include_str!("lm_decode_attention_subgroups.wgsl"),
        entry: "lm_decode_attention_subgroups",
        variants: variants! {
            "lm_decode_attention_subgroups_64": LENGTH = 64;
            "lm_decode_attention_subgroups_128": LENGTH = 128;
        },
        min_subgroup: 32,
        cases: by_subgroups,
        ..ATTENTION
    },
];
