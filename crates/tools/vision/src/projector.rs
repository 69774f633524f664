//! The features of each projector type: one table row per type.

/// How a norm is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NormKind {
    /// Subtracts the mean.
    Layer,
    Rms,
}

/// Rotary position embedding of queries and keys. The base is 10000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rope {
    None,
    /// Pairs are elements of the two halves of a head. The first half of the pairs is rotated by
    /// the patch's row and the second by its column, both with the same frequencies.
    Halves,
    /// Pairs are adjacent elements. The first half of the pairs is rotated by the row with the
    /// even-numbered frequencies, the second half by the column with the odd-numbered ones.
    Adjacent,
}

/// Learned position embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Learned {
    None,
    /// For a fixed grid.
    Fixed,
    /// For a square grid, interpolated to that of the image.
    Interpolated,
}

/// How the target size of an image is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// The square size in the file.
    Square,
    /// Multiples of a merged square near the image's size, within this range of rows.
    Dynamic { min: u32, max: u32 },
}

/// The filter that resizes images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// Triangular.
    Linear,
    /// Cubic, with the coefficient -0.5.
    Cubic,
}

/// How a square of patches becomes one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Their mean.
    Mean,
    /// Concatenated, patch by patch.
    Concatenate,
    /// RMS norm, concatenated channel by channel, and a product; none without
    /// `mm.patch_merger.weight`.
    Product,
}

/// How merged rows become embeddings of the language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// RMS norm and a product with `mm.input_projection.weight`, which is stored transposed.
    Norm,
    /// Two products with GELU between them: `mm.{0}` and `mm.{1}`.
    Mlp(u32, u32),
}

/// Positions of an image's rows in the language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Positions {
    /// Consecutive positions; a row attends to those before it.
    Causal,
    /// Consecutive positions; all rows of the image attend to each other.
    Bidirectional,
    /// Three rotary positions (M-RoPE): the position of the image, and the line and column in its
    /// grid. The next position after the image is that of the image plus the larger side of the
    /// grid.
    Grid,
}

/// A projector type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Projector {
    /// `clip.projector_type`.
    pub(crate) name: &'static str,
    pub(crate) norm: NormKind,
    pub(crate) rope: Rope,
    pub(crate) learned: Learned,
    pub(crate) size: Size,
    pub(crate) filter: Filter,
    pub(crate) merge: Merge,
    /// Default side of a merged square in patches.
    pub(crate) merged: u32,
    pub(crate) head: Head,
    /// Whether some layers attend within windows: the key `clip.vision.n_wa_pattern` is required.
    pub(crate) windows: bool,
    /// Whether the embedding `v.token_embd.img_break` follows each line of the grid except the
    /// last.
    pub(crate) line_breaks: bool,
    pub(crate) positions: Positions,
    /// Text before and after an image.
    pub(crate) around: [&'static str; 2],
}

const SIGLIP: Projector = Projector {
    name: "gemma3",
    norm: NormKind::Layer,
    rope: Rope::None,
    learned: Learned::Fixed,
    size: Size::Square,
    filter: Filter::Linear,
    merge: Merge::Mean,
    merged: 4,
    head: Head::Norm,
    windows: false,
    line_breaks: false,
    positions: Positions::Bidirectional,
    around: ["<start_of_image>", "<end_of_image>"],
};

const QWEN: Projector = Projector {
    name: "qwen2vl_merger",
    norm: NormKind::Layer,
    rope: Rope::Halves,
    learned: Learned::None,
    size: Size::Dynamic { min: 8, max: 4096 },
    filter: Filter::Cubic,
    merge: Merge::Concatenate,
    merged: 2,
    head: Head::Mlp(0, 2),
    windows: false,
    line_breaks: false,
    positions: Positions::Grid,
    around: ["<|vision_start|>", "<|vision_end|>"],
};

/// All projector types. Sources: llama.cpp's `tools/mtmd`, and the configurations of published
/// models.
pub(crate) const PROJECTORS: &[Projector] = &[
    SIGLIP,
    QWEN,
    Projector { name: "qwen2.5vl_merger", norm: NormKind::Rms, windows: true, ..QWEN },
    Projector { name: "qwen3vl_merger", learned: Learned::Interpolated, ..QWEN },
    Projector {
        name: "pixtral",
        norm: NormKind::Rms,
        rope: Rope::Adjacent,
        learned: Learned::None,
        size: Size::Dynamic { min: 8, max: 1024 },
        filter: Filter::Cubic,
        merge: Merge::Product,
        merged: 1,
        head: Head::Mlp(1, 2),
        windows: false,
        line_breaks: true,
        positions: Positions::Causal,
        around: ["", "[IMG_END]"],
    },
];

/// The names of all supported projector types.
pub fn projector_types() -> impl Iterator<Item = &'static str> {
    PROJECTORS.iter().map(|projector| projector.name)
}
