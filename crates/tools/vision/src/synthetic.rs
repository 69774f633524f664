//! Small towers with random weights: one per projector type and variant.
//!
//! The files are reproducible byte for byte. Tests compare the rows of [`image`] with llama.cpp's
//! rows in `tests/data/llama.cpp`.

use roci_gguf::{Error, Gguf, Metadata, TensorInfo, Type, Value, Writer};

/// A synthetic tower.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the tower, and of the file with llama.cpp's rows.
    pub name: &'static str,
    /// Embedding length of the language model.
    pub embedding: usize,
    /// Layers whose features are added after layers of the language model.
    pub deepstack: usize,
    /// Width and height of the recorded image.
    pub size: (usize, usize),
    metadata: Vec<(&'static str, Value)>,
    tensors: Vec<(String, Vec<usize>, Fill)>,
}

/// Distribution of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fill {
    /// Uniform around 0, scaled so that products keep the magnitude of their input.
    Matrix,
    /// Around 1.
    Norm,
    /// Around 0.
    Bias,
    /// This value.
    Value(f32),
}

/// Sizes of a tower.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    width: usize,
    heads: usize,
    hidden: usize,
    layers: usize,
    patch: usize,
    image: usize,
    merged: usize,
}

const SIZES: Sizes = Sizes { width: 32, heads: 2, hidden: 48, layers: 2, patch: 4, image: 32, merged: 2 };
const EMBEDDING: usize = 64;

/// All synthetic towers.
pub fn towers() -> Vec<Case> {
    let qwen = Sizes { image: 56, patch: 14, width: 32, ..SIZES };
    vec![
        gemma("gemma3", SIZES, (32, 32)),
        gemma("gemma3-resized", Sizes { merged: 4, heads: 4, ..SIZES }, (45, 29)),
        qwen2("qwen2vl", qwen, (84, 56)),
        qwen25("qwen2.5vl", Sizes { layers: 4, ..qwen }, (196, 140)),
        qwen25("qwen2.5vl-resized", Sizes { layers: 3, heads: 4, ..qwen }, (130, 150)),
        qwen3("qwen3vl", Sizes { image: 64, patch: 16, ..qwen }, (160, 96), &[]),
        qwen3("qwen3vl-deepstack", Sizes { image: 64, patch: 16, layers: 4, ..qwen }, (96, 96), &[0, 2]),
        pixtral("pixtral", Sizes { merged: 1, patch: 8, heads: 2, ..SIZES }, (48, 32), false),
        pixtral("pixtral-merged", Sizes { merged: 2, patch: 8, heads: 4, ..SIZES }, (70, 50), true),
        smolvlm("smolvlm", Sizes { image: 16, ..SIZES }, (40, 20), 48),
        gemma4("gemma4v", Sizes { merged: 3, ..SIZES }, (108, 96), false),
        gemma4("gemma4v-resized", Sizes { merged: 3, layers: 1, ..SIZES }, (130, 90), true),
        gemma4_layerless("gemma4uv", Sizes { merged: 3, ..SIZES }, (130, 90)),
        internvl("internvl", Sizes { image: 16, ..SIZES }, (60, 25), 6),
        internvl("internvl-overview", Sizes { image: 16, layers: 1, ..SIZES }, (13, 16), 12),
    ]
}

/// A reproducible image of this size, as rows of red, green and blue.
pub fn image(width: usize, height: usize) -> Vec<[u8; 3]> {
    let level = |x: usize, y: usize, channel: usize| {
        let wave = ((x * (3 + channel) + y * (5 - channel)) * 7 + (x * y) / (3 + channel)) % 256;
        (wave / 2 + 40 * channel) as u8
    };
    (0..height).flat_map(|y| (0..width).map(move |x| [0, 1, 2].map(|channel| level(x, y, channel)))).collect()
}

impl Case {
    fn new(name: &'static str, projector: &str, sizes: Sizes, size: (usize, usize)) -> Self {
        let word = |value: usize| Value::U32(value as u32);
        let metadata = vec![
            ("general.architecture", Value::from("clip")),
            ("clip.has_vision_encoder", Value::Bool(true)),
            ("clip.projector_type", Value::from(projector)),
            ("clip.vision.embedding_length", word(sizes.width)),
            ("clip.vision.feed_forward_length", word(sizes.hidden)),
            ("clip.vision.block_count", word(sizes.layers)),
            ("clip.vision.projection_dim", word(EMBEDDING)),
            ("clip.vision.attention.head_count", word(sizes.heads)),
            ("clip.vision.attention.layer_norm_epsilon", Value::F32(1e-6)),
            ("clip.vision.image_size", word(sizes.image)),
            ("clip.vision.patch_size", word(sizes.patch)),
            ("clip.vision.image_mean", Value::from(vec![0.5f32, 0.4, 0.45])),
            ("clip.vision.image_std", Value::from(vec![0.5f32, 0.25, 0.3])),
        ];
        Self { name, embedding: EMBEDDING, deepstack: 0, size, metadata, tensors: Vec::new() }
    }

    fn set(&mut self, key: &'static str, value: Value) {
        self.metadata.push((key, value));
    }

    fn tensor(&mut self, name: impl Into<String>, shape: &[usize], fill: Fill) {
        self.tensors.push((name.into(), shape.to_vec(), fill));
    }

    fn linear(&mut self, name: &str, inputs: usize, outputs: usize, bias: bool) {
        self.tensor(format!("{name}.weight"), &[inputs, outputs], Fill::Matrix);
        if bias {
            self.tensor(format!("{name}.bias"), &[outputs], Fill::Bias);
        }
    }

    fn norm(&mut self, name: &str, width: usize, bias: bool) {
        self.tensor(format!("{name}.weight"), &[width], Fill::Norm);
        if bias {
            self.tensor(format!("{name}.bias"), &[width], Fill::Bias);
        }
    }

    /// The tensors of the layers. `biased`: norms and products have biases; `gated`: feed-forward
    /// has a gate; `fused`: one matrix for queries, keys and values.
    fn layers(&mut self, sizes: Sizes, norm_bias: bool, bias: bool, gated: bool, fused: bool) {
        let Sizes { width, hidden, .. } = sizes;
        for index in 0..sizes.layers {
            let name = |what: &str| format!("v.blk.{index}.{what}");
            self.norm(&name("ln1"), width, norm_bias);
            self.norm(&name("ln2"), width, norm_bias);
            if fused {
                self.linear(&name("attn_qkv"), width, 3 * width, bias);
            } else {
                for what in ["attn_q", "attn_k", "attn_v"] {
                    self.linear(&name(what), width, width, bias);
                }
            }
            self.linear(&name("attn_out"), width, width, bias);
            self.linear(&name("ffn_up"), width, hidden, bias);
            if gated {
                self.linear(&name("ffn_gate"), width, hidden, bias);
            }
            self.linear(&name("ffn_down"), hidden, width, bias);
        }
    }

    fn patches(&mut self, sizes: Sizes, second: bool, bias: bool) {
        let shape = [sizes.patch, sizes.patch, 3, sizes.width];
        self.tensor("v.patch_embd.weight", &shape, Fill::Matrix);
        if second {
            self.tensor("v.patch_embd.weight.1", &shape, Fill::Matrix);
        }
        if bias {
            self.tensor("v.patch_embd.bias", &[sizes.width], Fill::Bias);
        }
    }

    /// The bytes of the GGUF file.
    ///
    /// # Errors
    /// If a tensor is invalid; a bug.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let metadata: Metadata = self.metadata.iter().cloned().collect();
        let info = |(name, shape, _): &(String, Vec<usize>, Fill)| {
            let shape: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
            TensorInfo::new(name.clone(), &shape, Type::F32)
        };
        let infos = self.tensors.iter().map(info).collect::<Result<Vec<_>, _>>()?;
        let mut writer = Writer::start(Vec::new(), &metadata, &infos)?;
        for (number, (info, (_, shape, fill))) in infos.iter().zip(&self.tensors).enumerate() {
            let inputs: usize = shape[..shape.len() - 1].iter().product();
            let values = (0..info.values()).map(|at| fill.value(number as u64, at, inputs));
            let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
            writer.write(info.name(), &bytes)?;
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

    /// The same tower with another value of a key.
    pub fn with(mut self, key: &'static str, value: Value) -> Self {
        self.metadata.retain(|(known, _)| *known != key);
        self.metadata.push((key, value));
        self
    }

    /// The same tower without a tensor.
    pub fn without(mut self, tensor: &str) -> Self {
        self.tensors.retain(|(name, ..)| name != tensor);
        self
    }
}

impl Fill {
    fn value(self, tensor: u64, at: u64, inputs: usize) -> f32 {
        // SplitMix64.
        let mut bits = (tensor << 40 | at).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let even = ((bits ^ bits >> 31) >> 40) as f32 / (1u32 << 23) as f32 - 1.0;
        match self {
            Self::Matrix => even * (3.0 / inputs as f32).sqrt(),
            Self::Norm => 1.0 + 0.25 * even,
            Self::Bias => 0.5 * even,
            Self::Value(value) => value,
        }
    }
}

fn gemma(name: &'static str, sizes: Sizes, size: (usize, usize)) -> Case {
    let mut case = siglip(name, "gemma3", sizes, size);
    case.tensor("mm.soft_emb_norm.weight", &[sizes.width], Fill::Norm);
    case.tensor("mm.input_projection.weight", &[EMBEDDING, sizes.width], Fill::Matrix);
    case
}

fn siglip(name: &'static str, projector: &str, sizes: Sizes, size: (usize, usize)) -> Case {
    let mut case = Case::new(name, projector, sizes, size);
    case.set("clip.use_gelu", Value::Bool(true));
    case.set("clip.vision.projector.scale_factor", Value::U32(sizes.merged as u32));
    case.patches(sizes, false, true);
    let patches = (sizes.image / sizes.patch).pow(2);
    case.tensor("v.position_embd.weight", &[sizes.width, patches], Fill::Bias);
    case.layers(sizes, true, true, false, false);
    case.norm("v.post_ln", sizes.width, true);
    case
}

fn smolvlm(name: &'static str, sizes: Sizes, size: (usize, usize), longest: u32) -> Case {
    let mut case = siglip(name, "idefics3", sizes, size);
    case.set("clip.vision.preproc_image_size", Value::U32(longest));
    let joined = sizes.width * sizes.merged * sizes.merged;
    case.linear("mm.model.fc", joined, EMBEDDING, false);
    case
}

fn internvl(name: &'static str, sizes: Sizes, size: (usize, usize), tiles: u32) -> Case {
    let mut case = Case::new(name, "internvl", sizes, size);
    case.set("clip.use_gelu", Value::Bool(true));
    case.set("clip.vision.projector.scale_factor", Value::U32(sizes.merged as u32));
    case.set("clip.vision.preproc_min_tiles", Value::U32(1));
    case.set("clip.vision.preproc_max_tiles", Value::U32(tiles));
    case.patches(sizes, false, true);
    let patches = (sizes.image / sizes.patch).pow(2);
    case.tensor("v.class_embd", &[sizes.width], Fill::Bias);
    case.tensor("v.position_embd.weight", &[sizes.width, patches + 1], Fill::Bias);
    case.layers(sizes, true, true, false, false);
    for index in 0..sizes.layers {
        for what in ["attn_q_norm", "attn_k_norm", "ls1", "ls2"] {
            case.tensor(format!("v.blk.{index}.{what}.weight"), &[sizes.width], Fill::Norm);
        }
    }
    let joined = sizes.width * sizes.merged * sizes.merged;
    case.norm("mm.model.mlp.0", joined, true);
    case.linear("mm.model.mlp.1", joined, EMBEDDING, true);
    case.linear("mm.model.mlp.3", EMBEDDING, EMBEDDING, true);
    case
}

fn gemma4(name: &'static str, sizes: Sizes, size: (usize, usize), clamped: bool) -> Case {
    let mut case = Case::new(name, "gemma4v", sizes, size);
    let head = sizes.width / sizes.heads;
    case.tensor("v.patch_embd.weight", &[sizes.patch, sizes.patch, 3, sizes.width], Fill::Matrix);
    case.tensor("v.position_embd.weight", &[sizes.width, 200, 2], Fill::Bias);
    case.layers(sizes, false, false, true, false);
    for index in 0..sizes.layers {
        let name = |what: &str| format!("v.blk.{index}.{what}");
        case.tensor(name("attn_q_norm.weight"), &[head], Fill::Norm);
        case.tensor(name("attn_k_norm.weight"), &[head], Fill::Norm);
        case.tensor(name("attn_post_norm.weight"), &[sizes.width], Fill::Norm);
        case.tensor(name("ffn_post_norm.weight"), &[sizes.width], Fill::Norm);
        case.tensor(name("out_scale.weight"), &[1], Fill::Norm);
        for (what, bound, value) in [
            ("attn_q", "input_max", 0.5),
            ("attn_v", "output_min", -0.25),
            ("ffn_down", "input_min", -0.125),
            ("ffn_down", "output_max", 0.75),
        ] {
            if clamped {
                case.tensor(name(&format!("{what}.{bound}")), &[1], Fill::Value(value));
            }
        }
    }
    if clamped {
        case.tensor("v.std_bias", &[sizes.width], Fill::Bias);
        case.tensor("v.std_scale", &[sizes.width], Fill::Norm);
    }
    case.linear("mm.input_projection", sizes.width, EMBEDDING, false);
    case
}

fn gemma4_layerless(name: &'static str, sizes: Sizes, size: (usize, usize)) -> Case {
    let mut case = Case::new(name, "gemma4uv", Sizes { heads: 0, layers: 0, hidden: 0, ..sizes }, size);
    let pixels = 3 * (sizes.patch * sizes.merged).pow(2);
    case.linear("v.patch_embd", pixels, sizes.width, true);
    case.norm("v.patch_norm.1", pixels, true);
    case.norm("v.patch_norm.2", sizes.width, true);
    case.norm("v.patch_norm.3", sizes.width, true);
    case.tensor("v.position_embd.weight", &[sizes.width, 200, 2], Fill::Bias);
    case.linear("mm.input_projection", sizes.width, EMBEDDING, false);
    case
}

/// The tensors that the mergers of all Qwen towers have.
fn qwen_merger(case: &mut Case, sizes: Sizes) {
    let joined = sizes.width * sizes.merged * sizes.merged;
    case.linear("mm.0", joined, joined, true);
    case.linear("mm.2", joined, EMBEDDING, true);
}

fn qwen2(name: &'static str, sizes: Sizes, size: (usize, usize)) -> Case {
    let mut case = Case::new(name, "qwen2vl_merger", sizes, size);
    case.patches(sizes, true, false);
    case.layers(sizes, true, true, false, false);
    case.norm("v.post_ln", sizes.width, true);
    qwen_merger(&mut case, sizes);
    case
}

fn qwen25(name: &'static str, sizes: Sizes, size: (usize, usize)) -> Case {
    let mut case = Case::new(name, "qwen2.5vl_merger", sizes, size);
    case.set("clip.use_silu", Value::Bool(true));
    case.set("clip.vision.n_wa_pattern", Value::U32(2));
    case.patches(sizes, true, false);
    case.layers(sizes, false, true, true, false);
    case.norm("v.post_ln", sizes.width, false);
    qwen_merger(&mut case, sizes);
    case
}

fn qwen3(name: &'static str, sizes: Sizes, size: (usize, usize), deepstack: &[usize]) -> Case {
    let mut case = Case::new(name, "qwen3vl_merger", sizes, size);
    case.set("clip.use_gelu", Value::Bool(true));
    case.set("clip.vision.spatial_merge_size", Value::U32(sizes.merged as u32));
    case.patches(sizes, true, true);
    let patches = (sizes.image / sizes.patch).pow(2);
    case.tensor("v.position_embd.weight", &[sizes.width, patches], Fill::Bias);
    case.layers(sizes, true, true, false, true);
    case.norm("v.post_ln", sizes.width, true);
    qwen_merger(&mut case, sizes);
    case.deepstack = deepstack.len();
    let joined = sizes.width * sizes.merged * sizes.merged;
    for layer in deepstack {
        case.norm(&format!("v.deepstack.{layer}.norm"), joined, true);
        case.linear(&format!("v.deepstack.{layer}.fc1"), joined, joined, true);
        case.linear(&format!("v.deepstack.{layer}.fc2"), joined, EMBEDDING, true);
    }
    case
}

fn pixtral(name: &'static str, sizes: Sizes, size: (usize, usize), merger: bool) -> Case {
    let mut case = Case::new(name, "pixtral", sizes, size);
    case.set("clip.use_silu", Value::Bool(true));
    case.set("clip.vision.spatial_merge_size", Value::U32(sizes.merged as u32));
    case.patches(sizes, false, false);
    case.norm("v.pre_ln", sizes.width, false);
    case.layers(sizes, false, false, true, false);
    if merger {
        case.tensor("mm.input_norm.weight", &[sizes.width], Fill::Norm);
        case.linear("mm.patch_merger", sizes.width * sizes.merged * sizes.merged, sizes.width, false);
    }
    case.linear("mm.1", sizes.width, EMBEDDING, !merger);
    case.linear("mm.2", EMBEDDING, EMBEDDING, !merger);
    case.tensor("v.token_embd.img_break", &[EMBEDDING], Fill::Bias);
    case
}
