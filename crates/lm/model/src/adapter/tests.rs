//! What is refused, and why.

use super::*;
use crate::synthetic::{AdapterRecipe, Case, adapted, architectures};
use roci_gguf::{Metadata, Value, Writer};

/// A tensor of a file to write: name, shape and values.
type Written = (String, Vec<u64>, Type);

const RECIPE: AdapterRecipe = AdapterRecipe { rank: 4, alpha: 8.0, kind: Type::F32, ends: false, seed: 1 };

fn base(name: &str) -> (Gguf, Model) {
    let case: Case = architectures().into_iter().find(|case| case.name == name).expect("the case exists");
    let file = case.open().expect("the file is valid");
    let model = Model::new(&file, Some(case.context)).expect("the architecture is supported");
    (file, model)
}

/// The error of a file with these keys and tensors of zeros, as an adapter of a model.
fn refused(model: &str, keys: &[(&str, Value)], tensors: &[Written]) -> String {
    let (file, model) = base(model);
    let defaults = [("general.type", "adapter"), ("general.architecture", "llama"), ("adapter.type", "lora")];
    let mut metadata: Metadata =
        defaults.map(|(key, value)| (key.to_owned(), Value::from(value))).into_iter().collect();
    for (key, value) in keys {
        metadata.insert(*key, value.clone());
    }
    let infos: Vec<TensorInfo> = tensors
        .iter()
        .map(|(name, shape, kind)| TensorInfo::new(name.clone(), shape, *kind).expect("the shape is valid"))
        .collect();
    let mut writer = Writer::start(Vec::new(), &metadata, &infos).expect("the header is written");
    for info in &infos {
        writer.write(info.name(), &vec![0; info.byte_len() as usize]).expect("the tensor is written");
    }
    let adapter = Gguf::from_bytes(writer.finish().expect("the file is complete")).expect("the file is valid");
    let error = Adapter::new(adapter, &file, &model).expect_err("the adapter does not fit");
    assert!(error.hint().is_some() || matches!(error, AdapterError::File(_)), "{error}");
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

fn pair(target: &str, a: [u64; 2], b: [u64; 2]) -> Vec<Written> {
    let one = |end: &str, shape: [u64; 2]| (format!("{target}.lora_{end}"), shape.to_vec(), Type::F32);
    vec![one("a", a), one("b", b)]
}

#[test]
fn adapters_of_every_kind_are_read() {
    for case in adapted() {
        let file = case.base.open().expect("the file is valid");
        let model = Model::new(&file, Some(case.base.context)).expect("the architecture is supported");
        for (recipe, _) in &case.adapters {
            let bytes = recipe.bytes(&file, &model).expect("the recipe is valid");
            let adapter = Adapter::new(Gguf::from_bytes(bytes).expect("the file is valid"), &file, &model);
            let adapter = adapter.expect("the adapter fits");
            assert!(adapter.tensors().all(|tensor| adapter.rank(tensor) == Some(recipe.rank)), "{}", case.name);
        }
    }
}

#[test]
fn b_contains_alpha_and_rank() {
    let (file, model) = base("llama");
    let read = |alpha: f32| {
        let bytes = AdapterRecipe { alpha, ..RECIPE }.bytes(&file, &model).expect("the recipe is valid");
        let adapter = Adapter::new(Gguf::from_bytes(bytes).expect("the file is valid"), &file, &model);
        adapter.expect("the adapter fits").b("blk.0.attn_q.weight").expect("the adapter has the tensor")
    };
    let doubled: Vec<f32> = read(0.0).iter().map(|value| value * 2.0).collect();
    assert_eq!(read(8.0), doubled);
}

#[test]
fn other_files_are_refused() {
    let query = pair("blk.0.attn_q.weight", [64, 4], [4, 64]);
    let says = |keys: &[(&str, Value)], text: &str| {
        let error = refused("llama", keys, &query);
        assert!(error.contains(text), "{error}");
    };
    says(&[("general.type", Value::from("model"))], "`general.type` is `model`, expected `adapter`");
    says(&[("adapter.type", Value::from("control_vector"))], "`adapter.type` is `control_vector`, expected `lora`");
    says(&[("general.architecture", Value::from("qwen2"))], "for the architecture `qwen2`, but the model is `llama`");
    says(&[("adapter.lora.alpha", Value::from(f32::NAN))], "`adapter.lora.alpha` is NaN");
    says(&[("adapter.lora.alpha", Value::from("x"))], "adapter.lora.alpha");
    says(&[(INVOCATION_TOKENS, Value::from(vec![1u32, 2]))], INVOCATION_TOKENS);
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let says = |tensors: &[Written], text: &str| {
        let error = refused("llama", &[], tensors);
        assert!(error.contains(text), "{error}");
    };
    says(&[], "the file has none");
    says(&pair("blk.9.attn_q.weight", [64, 4], [4, 64]), "the model has no tensor of this name");
    says(&pair("blk.0.attn_q.weight", [64, 4], [4, 64])[..1], "its `.lora_b` is missing");
    says(&pair("blk.0.attn_q.weight", [64, 4], [4, 64])[1..], "its `.lora_a` is missing");
    says(&pair("blk.0.attn_q.weight", [32, 4], [4, 64]), "expected [64, 4]");
    says(&pair("blk.0.attn_q.weight", [64, 4], [4, 96]), "expected [4, 64]");
    says(&pair("blk.0.attn_q.weight", [64, 4], [8, 64]), "expected [64, 8]");
    says(&pair("blk.0.attn_q.weight", [64, 5000], [5000, 64]), "its rank is 5000");
    says(&pair("blk.0.attn_norm.weight", [64, 4], [4, 1]), "adapters of tensors of this kind are not supported");
    says(&pair("token_embd.weight", [4, 96], [4, 64]), "embeddings that are also the output matrix");
    says(&[("blk.0.attn_q.weight".to_owned(), vec![64, 64], Type::F32)], "neither `.lora_a` nor `.lora_b`");
    let mut integers = pair("blk.0.attn_q.weight", [64, 4], [4, 64]);
    integers[0].2 = Type::I32;
    says(&integers, "it has type I32");
}

#[test]
fn adapters_of_experts_are_refused_by_name() {
    let mut experts = pair("blk.0.ffn_up_exps.weight", [64, 4], [4, 96]);
    experts.iter_mut().for_each(|(_, shape, _)| shape.push(4));
    let error = refused("llama-experts", &[], &experts);
    assert!(error.contains("`blk.0.ffn_up_exps.weight`: adapters of experts are not supported"), "{error}");
}
