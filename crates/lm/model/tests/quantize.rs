//! Quantized files are byte-identical to llama.cpp's. `scripts/make-quantize-fixtures` recorded
//! their sizes and hashes in `tests/data/quantized-files.txt` and generates the same models.

use std::num::NonZeroUsize;

use roci_gguf::{Gguf, Metadata, TensorInfo, Type, Value, Writer};
use roci_lm::quantize::{ImportanceMatrix, Options, Plan};

const HASHES: &str = include_str!("data/quantized-files.txt");

/// Name, architecture, layers, heads, heads of keys and values, experts, embedding, feed-forward,
/// output matrix, type.
type Shape = (&'static str, &'static str, u32, u32, u32, u32, u32, u32, bool, Type);

const MODELS: [Shape; 7] = [
    ("dense", "llama", 16, 8, 2, 0, 256, 512, true, Type::F32),
    ("tied", "llama", 12, 8, 8, 0, 256, 512, false, Type::F16),
    ("falcon", "falcon", 16, 8, 1, 0, 256, 512, true, Type::BF16),
    ("experts8", "llama", 16, 8, 2, 8, 256, 512, true, Type::F32),
    ("experts4", "qwen3moe", 8, 8, 4, 4, 256, 512, true, Type::F32),
    ("short", "llama", 8, 3, 3, 0, 96, 160, true, Type::F32),
    ("large", "qwen2", 80, 8, 1, 0, 256, 512, true, Type::F32),
];

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The next number of SplitMix64.
fn bits(seed: u64, at: u64) -> u64 {
    let z = (at + 1).wrapping_add(seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn value(seed: u64, at: u64) -> f32 {
    let word = bits(seed, at);
    let sum: i64 = (0..4).map(|part| (word >> (16 * part) & 0xffff) as i64).sum();
    (sum - 131_070) as f32 * 2f32.powi(-19)
}

fn weight(seed: u64, at: u64) -> f32 {
    let word = bits(seed, at);
    ((word & 0xffff) + 1) as f32 * 2f32.powi(-12 - (word >> 16 & 7) as i32)
}

fn tensors(shape: Shape) -> Vec<TensorInfo> {
    let (_, architecture, layers, _, _, experts, width, hidden, has_output, kind) = shape;
    let [width, hidden, experts] = [width, hidden, experts].map(u64::from);
    let is_falcon = architecture == "falcon";
    let mut tensors = Vec::new();
    let mut add = |name: &str, shape: &[u64], kind| tensors.push(TensorInfo::new(name, shape, kind).expect("a shape"));
    if has_output {
        add("output.weight", &[width, 3], kind);
    }
    add("output_norm.weight", &[width], Type::F32);
    for layer in 0..layers {
        let mut add = |name: &str, shape: &[u64], kind| add(&format!("blk.{layer}.{name}.weight"), shape, kind);
        add("ffn_norm", &[width], Type::F32);
        add("attn_norm", &[width], Type::F32);
        let projections: &[&str] = if is_falcon { &["attn_qkv"] } else { &["attn_v", "attn_q", "attn_k"] };
        projections.iter().for_each(|name| add(name, &[width, 2], kind));
        add("attn_output", &[width, 2], kind);
        if experts > 0 {
            add("ffn_gate_inp", &[width, experts], Type::F32);
            add("ffn_gate_exps", &[width, 2, experts], kind);
            add("ffn_up_exps", &[width, 2, experts], kind);
            add("ffn_down_exps", &[hidden, 2, experts], kind);
        } else {
            if !is_falcon {
                add("ffn_gate", &[width, 2], kind);
            }
            add("ffn_up", &[width, 2], kind);
            add("ffn_down", &[hidden, 2], kind);
        }
    }
    add("token_embd.weight", &[width, 3], kind);
    tensors
}

fn model(shape: Shape) -> Gguf {
    let (_, architecture, layers, heads, kv_heads, experts, width, hidden, ..) = shape;
    let key = |name: &str| format!("{architecture}.{name}");
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", architecture);
    metadata.insert("general.file_type", 0u32);
    metadata.insert(key("context_length"), 64u32);
    metadata.insert(key("embedding_length"), width);
    metadata.insert(key("block_count"), layers);
    metadata.insert(key("feed_forward_length"), hidden);
    metadata.insert(key("attention.head_count"), heads);
    metadata.insert(key("attention.head_count_kv"), kv_heads);
    metadata.insert(key("attention.layer_norm_rms_epsilon"), 2f32.powi(-17));
    metadata.insert(key("attention.layer_norm_epsilon"), 2f32.powi(-17));
    if experts > 0 {
        metadata.insert(key("expert_count"), experts);
        metadata.insert(key("expert_used_count"), 2u32);
    }
    metadata.insert("tokenizer.ggml.tokens", Value::from(vec!["<unk>", "a", "b"]));
    let tensors = tensors(shape);
    let mut writer = Writer::start(Vec::new(), &metadata, &tensors).expect("tables");
    for (number, tensor) in tensors.iter().enumerate() {
        let values: Vec<f32> = (0..tensor.values()).map(|at| value(number as u64, at)).collect();
        let mut bytes = Vec::new();
        tensor.kind().quantize(&values, &mut bytes).expect("they fit");
        writer.write(tensor.name(), &bytes).expect("in order");
    }
    Gguf::from_bytes(writer.finish().expect("complete")).expect("a model")
}

/// An importance matrix in the older format.
fn importance(shape: Shape) -> ImportanceMatrix {
    let tensors = tensors(shape);
    let is_entry = |tensor: &&TensorInfo| {
        let name = tensor.name();
        tensor.shape().len() > 1 && name != "token_embd.weight" && !name.contains("ffn_gate_inp")
    };
    let entries: Vec<_> = tensors.iter().filter(is_entry).collect();
    let mut bytes = (entries.len() as i32).to_le_bytes().to_vec();
    for (number, tensor) in entries.iter().enumerate() {
        let count = tensor.shape()[0] * tensor.shape().get(2).copied().unwrap_or(1);
        bytes.extend((tensor.name().len() as i32).to_le_bytes());
        bytes.extend(tensor.name().as_bytes());
        bytes.extend(1i32.to_le_bytes());
        bytes.extend((count as i32).to_le_bytes());
        bytes.extend((0..count).flat_map(|at| weight(1000 + number as u64, at).to_le_bytes()));
    }
    bytes.extend(7i32.to_le_bytes());
    bytes.extend(8i32.to_le_bytes());
    bytes.extend(b"text.txt");
    ImportanceMatrix::parse(bytes).expect("a matrix")
}

/// The new file for a line of the fixture.
fn quantized(file: &Gguf, matrix: &ImportanceMatrix, file_type: &str, options: &str) -> Vec<u8> {
    let options: Vec<_> = options.split(',').map(|option| option.split_once('=').unwrap_or((option, ""))).collect();
    let kind = |expected: &str| {
        let found = options.iter().find(|(name, _)| *name == expected);
        found.map(|(_, kind)| kind.parse::<Type>().expect("a type"))
    };
    let overrides = |name: &str| {
        let is_match = |pattern: &str| match pattern {
            "blk.[3-5].*ffn" => ["blk.3.ffn", "blk.4.ffn", "blk.5.ffn"].iter().any(|start| name.starts_with(start)),
            "output" | "embedding" => false,
            part => name.contains(part),
        };
        let found = options.iter().find(|(pattern, kind)| !kind.is_empty() && is_match(pattern));
        found.map(|(_, kind)| kind.parse().expect("a type"))
    };
    let has = |expected: &str| options.iter().any(|(name, _)| *name == expected);
    let options = Options {
        file_type: file_type.parse().expect("a file type"),
        output: kind("output"),
        embedding: kind("embedding"),
        overrides: &overrides,
        pure: has("pure"),
        allow_requantize: false,
        importance: has("importance").then_some((matrix, "imatrix.dat")),
    };
    let plan = Plan::new(file, &options).expect("a plan");
    let threads = NonZeroUsize::new(3).expect("not zero");
    let bytes = plan.write(Vec::new(), threads, |_, _| true).expect("it fits");
    assert_eq!(plan.bytes().expect("a size"), bytes.len() as u64);
    bytes
}

#[test]
fn quantized_files_are_those_of_llama_cpp() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for shape in MODELS {
        let (file, matrix) = (model(shape), importance(shape));
        for line in HASHES.lines() {
            let fields: Vec<_> = line.split(' ').collect();
            let [name, file_type, options, size, hash] = fields[..] else { panic!("{line}") };
            if name != shape.0 {
                continue;
            }
            let bytes = quantized(&file, &matrix, file_type, options);
            if bytes.len().to_string() != size || format!("{:016x}", fnv(&bytes)) != hash {
                wrong.push(format!("{name} {file_type} {options} ({} bytes, not {size})", bytes.len()));
            }
            seen += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {seen} files differ: {}", wrong.len(), wrong.join(", "));
    assert_eq!(seen, HASHES.lines().count());
    assert!(seen > 200, "{seen}");
}
