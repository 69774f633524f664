//! Model descriptions: their contents, and files that are rejected.

mod blocks;
mod descriptions;
mod gemma;
mod latent;
mod recurrent;
mod reference;
mod rejection;

use roci_gguf::{Gguf, Metadata, TensorInfo, Type, Value, Writer};
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{Attention, DeltaNet, FeedForward, Norm};
use roci_lm::synthetic::{Case, architectures, embedders, hybrids};

pub(crate) fn case(name: &str) -> Case {
    let mut cases = architectures().into_iter().chain(hybrids()).chain(embedders());
    cases.find(|case| case.name == name).unwrap_or_else(|| panic!("unknown case {name}"))
}

pub(crate) fn model(name: &str) -> Model {
    let case = case(name);
    Model::new(&case.open().expect("the synthetic file is valid"), Some(case.context))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn attention(model: &Model, layer: usize) -> &Attention {
    model.layers[layer].attention().expect("the layer has attention")
}

pub(crate) fn delta_net(model: &Model, layer: usize) -> &DeltaNet {
    model.layers[layer].delta_net().expect("the layer is a gated delta net")
}

pub(crate) fn feed_forward(model: &Model, layer: usize) -> &FeedForward {
    model.layers[layer].feed_forward.as_ref().expect("the layer has feed-forward")
}

pub(crate) fn norm_tensor(norm: &Option<Norm>) -> &str {
    norm.as_ref().and_then(|norm| norm.weight.as_ref()).map_or("", |weight| &weight.tensor)
}

/// The file of a case with a changed key and a changed tensor shape; an empty shape omits the
/// tensor.
pub(crate) fn changed(name: &str, key: &str, value: Option<Value>, tensor: &str, shape: &[u64]) -> Gguf {
    let file = case(name).open().expect("the synthetic file is valid");
    let mut metadata = Metadata::new();
    for (other, old) in file.metadata().iter().filter(|(other, _)| *other != key) {
        metadata.insert(other, old.clone());
    }
    if let Some(value) = value {
        metadata.insert(key, value);
    }
    let infos = file.tensors().filter_map(|old| match old.info().name() == tensor {
        true if shape.is_empty() => None,
        true => Some(TensorInfo::new(tensor, shape, Type::F32).expect("the shape is valid")),
        false => Some(old.info().clone()),
    });
    let infos: Vec<TensorInfo> = infos.collect();
    let mut writer = Writer::start(Vec::new(), &metadata, &infos).expect("the write succeeds");
    for info in &infos {
        // RoPE factors must not be 0.
        let kept =
            file.tensor(info.name()).filter(|old| info.name() != tensor && old.info().name() == "rope_freqs.weight");
        let bytes = kept.map_or_else(|| vec![0; info.byte_len() as usize], |old| old.bytes().to_vec());
        writer.write(info.name(), &bytes).expect("the write succeeds");
    }
    Gguf::from_bytes(writer.finish().expect("the file is complete")).expect("the file is valid")
}

/// The file of a case with one more tensor, a copy of another.
pub(crate) fn renamed(name: &str, copied: &str, tensor: &str) -> Gguf {
    let file = case(name).open().expect("the synthetic file is valid");
    let infos = file.tensors().map(|old| old.info().clone());
    let shape = file.tensor(copied).expect("the file has the tensor").info().shape().to_vec();
    let more = TensorInfo::new(tensor, &shape, Type::F32).expect("the shape is valid");
    let infos: Vec<TensorInfo> = infos.chain([more]).collect();
    let mut writer = Writer::start(Vec::new(), file.metadata(), &infos).expect("the write succeeds");
    for info in &infos {
        writer.write(info.name(), &vec![0; info.byte_len() as usize]).expect("the write succeeds");
    }
    Gguf::from_bytes(writer.finish().expect("the file is complete")).expect("the file is valid")
}

pub(crate) fn refused(file: &Gguf) -> String {
    let error = Model::new(file, None).expect_err("the file is invalid");
    assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{error}");
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}
