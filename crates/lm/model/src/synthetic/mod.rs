//! Small models with random weights: one per architecture, RoPE variant and weight type.
//!
//! Engines are tested with them against [`reference`](mod@crate::reference), and the reference
//! against llama.cpp, whose logits for these files are in `tests/data/llama.cpp`. Files are
//! reproducible byte for byte.

mod adapted;
mod architectures;
mod encoder;
mod fill;
mod gemma;
mod hybrid;
mod latent;
mod list;
mod mixtures;
mod positions;
mod recipe;
mod recurrent;
mod vocabulary;

use roci_gguf::{Error, Gguf, Metadata, Type, Value, Writer};

use crate::architecture::blocks::NormSpan;
use crate::sample::Random;
pub use adapted::{AdaptedCase, AdapterRecipe, adapted};
pub use architectures::architectures;
pub use encoder::{EncoderRecipe, embedders};
pub use gemma::{Gemma, StreamRecipe};
pub use hybrid::{Hybrid, HybridLayers, Projections};
pub use latent::LatentRecipe;
pub use recipe::{Mixture, Recipe, RopeRecipe};
pub use recurrent::{Recurrent, RecurrentBlock, ScanNorms};

/// A synthetic model.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the model, and of the file with llama.cpp's logits.
    pub name: String,
    /// Sizes and features.
    pub recipe: Recipe,
    /// Context length in tokens.
    pub context: u32,
    /// Length in tokens of the recorded sequence.
    pub recorded: usize,
    /// Additional metadata, which overrides that of the recipe.
    pub metadata: Vec<(String, Value)>,
}

impl Case {
    fn new(name: &str, recipe: Recipe) -> Self {
        Self { name: name.to_owned(), recipe, context: 256, recorded: 16, metadata: Vec::new() }
    }

    /// The bytes of the GGUF file.
    ///
    /// # Errors
    /// If the recipe is invalid, such as rows that are not a multiple of the block size.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let metadata = self.recipe.metadata(&self.name).into_iter().chain(self.metadata.clone());
        let metadata: Metadata = metadata.collect();
        let tensors = self.recipe.tensors()?;
        let infos: Vec<_> = tensors.iter().map(|(info, _)| info.clone()).collect();
        let mut writer = Writer::start(Vec::new(), &metadata, &infos)?;
        for (number, (info, fill)) in tensors.iter().enumerate() {
            let random = Random::new(number as u64 + 1);
            writer.write(info.name(), &fill.bytes(info.kind(), info.values() as usize, random)?)?;
        }
        writer.finish()
    }

    /// Opens the GGUF file.
    ///
    /// # Errors
    /// Those of [`bytes`](Self::bytes).
    pub fn open(&self) -> Result<Gguf, Error> {
        Gguf::from_bytes(self.bytes()?)
    }

    /// A pseudorandom sequence of this many tokens.
    pub fn tokens(&self, count: usize) -> Vec<u32> {
        let random = Random::new(0);
        (0..count as u64).map(|at| (random.bits(at) % self.recipe.vocabulary as u64) as u32).collect()
    }
}

/// Models with recurrent blocks: gated delta nets, short convolutions or state spaces, most of them
/// beside attention.
///
/// Their recorded sequences are longer than 64 tokens, which llama.cpp may compute in chunks of
/// that length.
pub fn hybrids() -> Vec<Case> {
    let hybrid = |projections, sections| Hybrid {
        layers: HybridLayers::Interval(4),
        kernel: 4,
        heads: 4,
        key_heads: 2,
        length: 16,
        projections,
        sections,
        shared_feed_forward: 48,
    };
    let recipe = |architecture, hybrid| Recipe {
        architecture,
        layers: 4,
        head: 32,
        head_norms: Some(NormSpan::Head),
        hybrid: Some(hybrid),
        ..Recipe::default()
    };
    let case = |name, recipe| Case { recorded: 80, ..Case::new(name, recipe) };
    let next = |projections| recipe("qwen3next", hybrid(projections, None));
    let separate = |sections| hybrid(Projections::Separate, Some(sections));
    let delta_nets = vec![
        case("qwen3next", Recipe { experts: Some((8, 3)), ..next(Projections::Fused) }),
        case("qwen3next-grouped", Recipe { experts: Some((4, 2)), ..next(Projections::Grouped) }),
        case("qwen35", recipe("qwen35", separate([3, 3, 2, 0]))),
        case(
            "qwen35-sections",
            recipe(
                "qwen35",
                Hybrid {
                    layers: HybridLayers::Listed(vec![false, true, true, false]),
                    kernel: 3,
                    key_heads: 4,
                    ..separate([2, 2, 2, 2])
                },
            ),
        ),
        case("qwen35moe", Recipe { experts: Some((8, 3)), tied: false, ..recipe("qwen35moe", separate([3, 3, 2, 0])) }),
    ];
    [delta_nets, recurrent::recurrent()].concat()
}

/// A model with a tokenizer of all bytes and letters, which generates random text.
pub fn talking() -> Case {
    let recipe = Recipe { vocabulary: vocabulary::count(), ..Recipe::default() };
    Case { metadata: vocabulary::metadata(), ..Case::new("talking", recipe) }
}

/// Two models per weight type: one with embeddings of the type, and one with all matrices of the
/// type. Two more have a scale for each matrix.
pub fn types() -> Vec<Case> {
    let whole = |kind: &Type| matches!(kind, Type::F64 | Type::I8 | Type::I16 | Type::I32 | Type::I64);
    let wide = || Recipe { embedding: 256, head: 64, feed_forward: 256, vocabulary: 32, ..Recipe::default() };
    let cases = |embedding_kind: Type| {
        let name = embedding_kind.name().to_lowercase();
        let looked_up = Recipe { embedding_kind, layers: 1, tied: false, ..wide() };
        let multiplied = Recipe { kind: embedding_kind, ..looked_up.clone() };
        [Case::new(&format!("rows-{name}"), looked_up), Case::new(&format!("type-{name}"), multiplied)]
    };
    let scaled = |experts| Recipe { kind: Type::NVFP4, scaled: true, layers: 1, tied: false, experts, ..wide() };
    let scales = [Case::new("type-scales", scaled(None)), Case::new("type-scales-experts", scaled(Some((4, 2))))];
    Type::all().filter(|kind| !whole(kind)).flat_map(cases).chain(scales).collect()
}

/// The same as [`talking`] with short convolutions, with state spaces beside attention, and with
/// layers of a single block.
pub fn talking_recurrent() -> Vec<Case> {
    let of = |architecture: &str| {
        let case = recurrent::recurrent().into_iter().find(|case| case.name == architecture);
        case.map(|Case { recipe, metadata, .. }| {
            let recipe = Recipe { vocabulary: vocabulary::count(), ..recipe };
            let metadata = vocabulary::metadata().into_iter().chain(metadata).collect();
            Case { metadata, ..Case::new(&format!("talking-{architecture}"), recipe) }
        })
    };
    ["lfm2", "granitehybrid", "nemotron_h", "jamba", "rwkv7", "rwkv6"].into_iter().filter_map(of).collect()
}

/// The same as [`talking`] with per-layer embeddings, windows, and layers that share keys and values.
pub fn talking_gemma() -> Case {
    let gemma = Gemma::small();
    let recipe = Recipe {
        architecture: "gemma4",
        layers: gemma.windows.len(),
        head: 32,
        post_norms: true,
        head_norms: Some(NormSpan::Head),
        window: Some(5),
        gemma: Some(gemma),
        ..talking().recipe
    };
    Case { metadata: vocabulary::metadata(), ..Case::new("talking-gemma", recipe) }
}

/// The same as [`talking`] with multi-head latent attention.
pub fn talking_latent() -> Case {
    let recipe = Recipe { architecture: "deepseek2", latent: Some(LatentRecipe::small()), ..talking().recipe };
    Case { metadata: vocabulary::metadata(), ..Case::new("talking-latent", recipe) }
}

/// The same as [`talking`] with gated delta nets in half of the layers.
pub fn talking_hybrid() -> Case {
    let hybrid = Hybrid {
        layers: HybridLayers::Interval(2),
        kernel: 4,
        heads: 4,
        key_heads: 2,
        length: 8,
        projections: Projections::Separate,
        sections: Some([2, 1, 1, 0]),
        shared_feed_forward: 32,
    };
    let recipe =
        Recipe { architecture: "qwen35", head_norms: Some(NormSpan::Head), hybrid: Some(hybrid), ..talking().recipe };
    Case { metadata: vocabulary::metadata(), ..Case::new("talking-hybrid", recipe) }
}

/// The same as [`talking_hybrid`], with a prediction head.
pub fn talking_predicting() -> Case {
    let hybrid = talking_hybrid();
    let recipe = Recipe { predicting: true, ..hybrid.recipe };
    Case { metadata: hybrid.metadata, ..Case::new("talking-predicting", recipe) }
}
