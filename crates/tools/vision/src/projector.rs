//! The features of each projector type: one table row per type.

/// How a norm is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NormKind {
    /// Subtracts the mean.
    Layer,
    Rms,
}

/// Rotary position embedding of queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rope {
    None,
    /// Pairs are elements of the two halves of a head. The first half of the pairs is rotated by
    /// the patch's row and the second by its column, both with the same frequencies.
    Halves,
    /// Pairs are adjacent elements. The first half of the pairs is rotated by the row with the
    /// even-numbered frequencies, the second half by the column with the odd-numbered ones.
    Adjacent,
    /// Each half of a head has pairs of elements of its own halves. The first half is rotated by the
    /// column and the second by the line, both with the same frequencies.
    Quarters,
}

/// Learned position embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Learned {
    None,
    /// For a fixed grid.
    Fixed,
    /// For a square grid, interpolated to that of the image.
    Interpolated,
    /// The sum of one for the column and one for the line.
    Axes,
}

/// How the target size of an image is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// The square size in the file.
    Square,
    /// Multiples of a merged square near the image's size, within this range of rows.
    Dynamic { min: u32, max: u32 },
    /// Tiles of the file's square and an overview. The longest side gets the length of the file, the
    /// other one follows from the aspect ratio. Then both are stretched to whole tiles.
    LongestSide,
    /// Tiles of the file's square and an overview, in the grid that loses least of the image. An
    /// image that is not larger than a tile is an overview alone.
    BestGrid,
}

/// The filter that resizes images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// Triangular.
    Linear,
    /// Cubic, with the coefficient -0.5.
    Cubic,
    /// Windowed sine, over three zeros to each side.
    Lanczos,
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
    /// The product with the square root of the width, the offsets and factors of the file, RMS norm
    /// without weights, and a product with `mm.input_projection.weight`.
    Standardized,
    /// RMS norm without weights, then a product with `mm.input_projection.weight`.
    PlainNorm,
    /// Two products with GELU between them: `mm.{0}` and `mm.{1}`.
    Mlp(u32, u32),
    /// A product with `mm.model.fc`.
    Linear,
    /// Layer norm and two products with GELU between them: `mm.model.mlp.0`, `.1` and `.3`.
    NormMlp,
}

/// Positions of an image's rows in the language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Positions {
    /// Consecutive positions; a row attends to those before it.
    Causal,
    /// Consecutive positions; rows of the image attend to each other in the layers of the language
    /// model that allow it.
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
    /// Width and layers of towers whose norms subtract no mean, if others do.
    pub(crate) rms_sizes: Option<(usize, usize)>,
    /// Whether the embedding `v.class_embd` follows those of the patches, until the last layer.
    pub(crate) class: bool,
    pub(crate) rope: Rope,
    /// Base of the rotations' frequencies.
    pub(crate) rope_base: f64,
    /// Whether values have an RMS norm without weights, and attention scores no scale.
    pub(crate) normed_values: bool,
    /// Whether channels are from -1 to 1 after normalization to 0 to 1.
    pub(crate) centered: bool,
    pub(crate) learned: Learned,
    pub(crate) size: Size,
    pub(crate) filter: Filter,
    pub(crate) merge: Merge,
    /// Default side of a merged square in patches.
    pub(crate) merged: u32,
    /// Whether a merged square is a single patch, and there are no layers: layer norms surround the
    /// product with the patches.
    pub(crate) layerless: bool,
    pub(crate) head: Head,
    /// Whether some layers attend within windows: the key `clip.vision.n_wa_pattern` is required.
    pub(crate) windows: bool,
    /// Whether the embedding `v.token_embd.img_break` follows each line of the grid except the
    /// last.
    pub(crate) line_breaks: bool,
    pub(crate) positions: Positions,
    /// Text before and after an image.
    pub(crate) around: [&'static str; 2],
    /// Text before a tile, with `ROW` and `COLUMN` in the place of its numbers from 1 on.
    pub(crate) tile: &'static str,
    /// Text after each line of tiles but the last.
    pub(crate) line_end: &'static str,
    /// Text before and after the overview that follows the tiles.
    pub(crate) overview: [&'static str; 2],
}

const SIGLIP: Projector = Projector {
    name: "gemma3",
    norm: NormKind::Layer,
    rms_sizes: None,
    class: false,
    rope: Rope::None,
    rope_base: 10000.0,
    normed_values: false,
    centered: false,
    learned: Learned::Fixed,
    size: Size::Square,
    filter: Filter::Linear,
    merge: Merge::Mean,
    merged: 4,
    layerless: false,
    head: Head::Norm,
    windows: false,
    line_breaks: false,
    positions: Positions::Bidirectional,
    around: ["<start_of_image>", "<end_of_image>"],
    tile: "",
    line_end: "",
    overview: ["", ""],
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
    ..SIGLIP
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
        ..SIGLIP
    },
    Projector {
        name: "idefics3",
        size: Size::LongestSide,
        filter: Filter::Lanczos,
        merge: Merge::Concatenate,
        merged: 1,
        head: Head::Linear,
        positions: Positions::Causal,
        around: ["", ""],
        tile: "<fake_token_around_image><row_ROW_col_COLUMN>",
        line_end: "\n",
        overview: ["\n\n<fake_token_around_image><global-img>", "<fake_token_around_image>"],
        ..SIGLIP
    },
    Projector {
        name: "internvl",
        rms_sizes: Some((3200, 45)),
        class: true,
        size: Size::BestGrid,
        filter: Filter::Cubic,
        merge: Merge::Concatenate,
        merged: 1,
        head: Head::NormMlp,
        positions: Positions::Causal,
        around: ["<img>", "</img>"],
        ..SIGLIP
    },
    Projector {
        name: "gemma4v",
        norm: NormKind::Rms,
        rope: Rope::Quarters,
        rope_base: 100.0,
        normed_values: true,
        centered: true,
        learned: Learned::Axes,
        size: Size::Dynamic { min: 70, max: 1120 },
        filter: Filter::Cubic,
        merged: 3,
        head: Head::Standardized,
        around: ["<|image>", "<image|>"],
        ..SIGLIP
    },
    Projector {
        name: "gemma4uv",
        learned: Learned::Axes,
        size: Size::Dynamic { min: 70, max: 1120 },
        filter: Filter::Cubic,
        merge: Merge::Concatenate,
        merged: 3,
        layerless: true,
        head: Head::PlainNorm,
        around: ["<|image>", "<image|>"],
        ..SIGLIP
    },
];

/// The names of all supported projector types.
pub fn projector_types() -> impl Iterator<Item = &'static str> {
    PROJECTORS.iter().map(|projector| projector.name)
}
