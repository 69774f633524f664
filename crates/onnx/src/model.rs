//! A model: a graph with what is known of it.

use std::ops::RangeInclusive;
use std::path::Path;

use prost::Message;
use roci_graph::Graph;

use crate::proto::ModelProto;
use crate::{Error, import};

/// The versions of ONNX's own operations whose test cases were run. Older and newer ones are read by the same rules, and what
/// they changed is not known.
pub const OPSETS: RangeInclusive<i64> = 6..=26;

/// A model that was read.
#[derive(Debug)]
pub struct Model {
    /// The graph.
    pub graph: Graph,
    /// The version of ONNX's own operations that the model names.
    pub opset: i64,
    /// Who made it.
    pub producer: String,
    /// What else it says, in its order.
    pub metadata: Vec<(String, String)>,
}

impl Model {
    /// Reads a file, and those that it refers to.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|error| Error::File { path: path.to_owned(), error })?;
        Self::from_bytes(&bytes, path.parent())
    }

    /// Reads a model; `folder` is where files lie that it may refer to.
    pub fn from_bytes(bytes: &[u8], folder: Option<&Path>) -> Result<Self, Error> {
        Self::with_given(bytes, folder, &[])
    }

    /// The same; inputs of these names are inputs even where the model has a constant for them, which stands for them
    /// otherwise.
    pub fn with_given(bytes: &[u8], folder: Option<&Path>, given: &[&str]) -> Result<Self, Error> {
        let proto = ModelProto::decode(bytes).map_err(|error| Error::Protobuf(error.to_string()))?;
        let graph = import::import(&proto, folder, given)?;
        let opset = proto.opset_import.iter().find(|one| one.domain.is_empty() || one.domain == "ai.onnx");
        let producer = format!("{} {}", proto.producer_name, proto.producer_version).trim().to_owned();
        let metadata = proto.metadata_props.into_iter().map(|one| (one.key, one.value)).collect();
        Ok(Self { graph, opset: opset.map_or(1, |one| one.version), producer, metadata })
    }
}
