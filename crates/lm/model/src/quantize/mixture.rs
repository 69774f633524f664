//! Which type each tensor gets: llama.cpp's mixtures by kind of tensor and layer.

use roci_gguf::{Error, Metadata, TensorInfo, Type, Value};

use super::{FileType, Options};

/// Roles of tensors, as far as mixtures distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Output,
    Embedding,
    /// Attention's value projection, or a fused one that contains it.
    Value,
    Key,
    AttentionOutput,
    Up,
    Gate,
    Down,
    Other,
}

/// Substrings of tensor names, in the order in which they are matched.
const ROLES: [(&str, Role); 9] = [
    ("attn_qkv.weight", Role::Value),
    ("attn_kv_b.weight", Role::Value),
    ("attn_v.weight", Role::Value),
    ("attn_k.weight", Role::Key),
    ("attn_q.weight", Role::Other),
    ("attn_output.weight", Role::AttentionOutput),
    ("ffn_up", Role::Up),
    ("ffn_gate", Role::Gate),
    ("ffn_down", Role::Down),
];

/// Substrings of the names of tensors that are not quantized: norms, routers, and others that are
/// small or sensitive.
const UNQUANTIZED: [&str; 37] = [
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
    "position_embd.weight",
    "token_types.weight",
];

/// Whether a tensor is a weight matrix to quantize, which those in [`UNQUANTIZED`] are not.
pub(super) fn is_quantizable(tensor: &TensorInfo) -> bool {
    let name = tensor.name();
    let is_number = !matches!(tensor.kind(), Type::I8 | Type::I16 | Type::I32 | Type::I64) && tensor.values() > 0;
    let is_matrix = tensor.shape().iter().skip(1).any(|size| *size != 1);
    is_number && is_matrix && name.ends_with("weight") && !UNQUANTIZED.iter().any(|part| name.contains(part))
}

/// The token embedding, which is also the output matrix in models without one.
pub(super) fn is_embedding(name: &str) -> bool {
    ["token_embd.weight", "per_layer_token_embd.weight"].contains(&name)
}

fn role(name: &str) -> Role {
    match name {
        "output.weight" => Role::Output,
        name if is_embedding(name) => Role::Embedding,
        name => ROLES.iter().find(|(part, _)| name.contains(part)).map_or(Role::Other, |(_, role)| *role),
    }
}

/// Layer of a tensor, from `blk.N.` at the start of its name.
pub(super) fn layer(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("blk.")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// The hyperparameters that mixtures depend on. Missing ones are 0.
struct Model {
    architecture: String,
    layers: usize,
    experts: u32,
    /// Query heads per key-value head of the first layer.
    heads_per_kv_head: u32,
    /// llama.cpp's size class "70B", whose value projections are small.
    is_70b: bool,
}

impl Model {
    fn new(metadata: &Metadata) -> Result<Self, Error> {
        let architecture = metadata.get::<&str>("general.architecture")?.unwrap_or_default().to_owned();
        let key = |key: &str| format!("{architecture}.{key}");
        let layers = metadata.get::<u32>(&key("block_count"))?.unwrap_or(0);
        let experts = metadata.get::<u32>(&key("expert_count"))?.unwrap_or(0);
        // A single number, or one per layer.
        let first = |key: &str| match metadata.value(key) {
            Some(Value::Array(_)) => Ok(metadata.expect::<Vec<u32>>(key)?.first().copied()),
            _ => metadata.get::<u32>(key),
        };
        let heads = first(&key("attention.head_count"))?.unwrap_or(0);
        let kv_heads = first(&key("attention.head_count_kv"))?.unwrap_or(heads);
        let is_70b = match architecture.as_str() {
            "llama" | "llama-embed" => layers == 80 && experts != 8 && heads != kv_heads,
            "deci" | "olmo" | "qwen2" => layers == 80,
            "jais2" => layers == 68,
            _ => false,
        };
        let heads_per_kv_head = heads.checked_div(kv_heads).unwrap_or(0);
        Ok(Self { layers: layers as usize, experts, heads_per_kv_head, is_70b, architecture })
    }
}

/// Selects types. Tensors must come in the order of the new file: some types depend on how many
/// tensors of a role came before.
pub(super) struct Mixture<'a> {
    options: &'a Options<'a>,
    model: Model,
    /// Whether the token embedding is also the output matrix.
    is_tied: bool,
    /// Number of value projections.
    values: usize,
    values_seen: usize,
    downs_seen: usize,
}

impl<'a> Mixture<'a> {
    pub(super) fn new<'b>(
        options: &'a Options<'a>,
        metadata: &Metadata,
        names: impl Iterator<Item = &'b str> + Clone,
    ) -> Result<Self, Error> {
        let is_tied = !names.clone().any(|name| role(name) == Role::Output);
        let values = names.filter(|name| role(name) == Role::Value).count();
        let model = Model::new(metadata)?;
        Ok(Self { options, model, is_tied, values, values_seen: 0, downs_seen: 0 })
    }

    /// The type of a quantizable tensor, regardless of the length of its rows.
    pub(super) fn choose(&mut self, tensor: &TensorInfo, default: Type) -> Type {
        let role = role(tensor.name());
        let given = match role {
            Role::Embedding => self.options.embedding,
            Role::Output => self.options.output,
            _ => None,
        };
        if let Some(kind) = given.or_else(|| (self.options.overrides)(tensor.name())) {
            return kind;
        }
        if self.options.pure || !default.is_quantized() {
            return default;
        }
        let is_moe_file = self.options.file_type == FileType::MXFP4_MOE;
        match role {
            Role::Output | Role::Embedding if role == Role::Output || self.is_tied => {
                self.options.output.unwrap_or_else(|| self.output(tensor, default))
            }
            _ if is_moe_file => self.with_experts_in_mxfp4(tensor, role),
            Role::Value => {
                self.values_seen += 1;
                self.value(default, self.values_seen - 1)
            }
            Role::Key if self.model.experts == 8 => Type::Q8_0,
            Role::Down => {
                self.downs_seen += 1;
                let layer = layer(tensor.name()).filter(|_| self.model.experts > 1);
                self.down(default, layer.map_or(self.downs_seen - 1, |layer| layer as usize))
            }
            Role::AttentionOutput => self.attention_output(default),
            _ => default,
        }
    }

    fn is_falcon(&self) -> bool {
        self.model.architecture == "falcon"
    }

    /// The output matrix.
    fn output(&self, tensor: &TensorInfo, default: Type) -> Type {
        let row = tensor.shape().first().copied().unwrap_or(0);
        let fits = row.is_multiple_of(default.block_size() as u64);
        let is_moe_file = self.options.file_type == FileType::MXFP4_MOE;
        if is_moe_file || self.is_falcon() || !fits || default == Type::Q8_0 { Type::Q8_0 } else { Type::Q6_K }
    }

    /// `MXFP4_MOE`: matrices of experts have three dimensions.
    fn with_experts_in_mxfp4(&self, tensor: &TensorInfo, role: Role) -> Type {
        let is_stacked = tensor.shape().get(2).is_some_and(|count| *count > 1);
        // This architecture has other three-dimensional matrices.
        let is_other = self.model.architecture == "bailingmoe3" && !matches!(role, Role::Up | Role::Gate | Role::Down);
        if is_stacked && !is_other { Type::MXFP4 } else { Type::Q8_0 }
    }

    fn value(&self, default: Type, at: usize) -> Type {
        use FileType::{IQ4_NL, IQ4_XS, Q2_K, Q2_K_S, Q3_K_L, Q3_K_M, Q4_K_M, Q4_K_S, Q5_K_M};
        let is_shared = self.model.heads_per_kv_head >= 4;
        let kind = match self.options.file_type {
            Q2_K | Q2_K_S if is_shared => Type::Q4_K,
            Q2_K => Type::Q3_K,
            Q3_K_M if at >= 2 => Type::Q4_K,
            Q3_K_M | Q3_K_L => Type::Q5_K,
            IQ4_NL | IQ4_XS if is_shared => Type::Q5_K,
            Q4_K_M | Q5_K_M if has_more_bits(at, self.values) => Type::Q6_K,
            Q4_K_S if at < 4 => Type::Q5_K,
            _ => default,
        };
        match kind {
            _ if self.model.experts == 8 => Type::Q8_0,
            Type::Q3_K | Type::Q4_K if self.model.is_70b => Type::Q5_K,
            kind => kind,
        }
    }

    fn down(&self, default: Type, at: usize) -> Type {
        use FileType::{IQ4_NL, IQ4_XS, Q2_K, Q2_K_S, Q3_K_L, Q3_K_M, Q4_0, Q4_K_M, Q4_K_S, Q5_0, Q5_K_M};
        let layers = self.model.layers;
        let (is_early, is_first) = (at < layers / 8, at < layers / 16);
        let more = has_more_bits(at, layers);
        let has_importance = self.options.importance.is_some();
        match self.options.file_type {
            Q2_K => Type::Q3_K,
            Q2_K_S if is_early => Type::Q4_K,
            Q3_K_M if is_first => Type::Q5_K,
            Q3_K_M if !self.is_falcon() || more => Type::Q4_K,
            Q3_K_L if self.is_falcon() => Type::Q4_K,
            Q3_K_L => Type::Q5_K,
            Q4_K_M if self.is_falcon() && !is_first && more => Type::Q5_K,
            Q4_K_M if self.is_falcon() && !is_first => Type::Q4_K,
            Q4_K_M if self.is_falcon() || more => Type::Q6_K,
            IQ4_NL | IQ4_XS if is_early && !has_importance => Type::Q5_K,
            Q5_K_M if more => Type::Q6_K,
            Q4_K_S if is_early && !self.is_falcon() => Type::Q5_K,
            Q4_0 if is_early && has_importance => Type::Q4_1,
            Q5_0 if is_early && has_importance => Type::Q5_1,
            _ => default,
        }
    }

    fn attention_output(&self, default: Type) -> Type {
        use FileType::{IQ4_NL, IQ4_XS, Q2_K, Q3_K_L, Q3_K_M, Q3_K_S, Q4_K_M, Q4_K_S};
        let has_eight_experts = self.model.experts == 8;
        match self.options.file_type {
            Q3_K_L if self.is_falcon() => Type::Q4_K,
            _ if self.is_falcon() => default,
            Q2_K | Q3_K_S | Q3_K_M | IQ4_NL | IQ4_XS | Q4_K_S | Q4_K_M if has_eight_experts => Type::Q5_K,
            _ if has_eight_experts => default,
            Q2_K => Type::Q3_K,
            Q3_K_M => Type::Q4_K,
            Q3_K_L => Type::Q5_K,
            _ => default,
        }
    }
}

/// Whether a layer gets a larger type: the first and last eighth, and every third between.
fn has_more_bits(layer: usize, layers: usize) -> bool {
    layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2
}

/// The replacement for a type whose blocks do not fit the rows.
pub(super) fn fallback(kind: Type, row: u64) -> Type {
    let fits = |kind: Type| row.is_multiple_of(kind.block_size() as u64);
    if fits(kind) {
        return kind;
    }
    let smaller_blocks = match kind {
        Type::IQ4_XS => Type::IQ4_NL,
        Type::Q2_K | Type::Q3_K => Type::Q4_0,
        Type::Q4_K => Type::Q5_0,
        Type::Q5_K => Type::Q5_1,
        Type::Q6_K => Type::Q8_0,
        _ => Type::F16,
    };
    if fits(smaller_blocks) { smaller_blocks } else { Type::F16 }
}
