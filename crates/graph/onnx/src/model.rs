//! An imported model.

use std::ops::RangeInclusive;
use std::path::Path;

use prost::Message;
use roci_graph::Graph;

use crate::proto::ModelProto;
use crate::{Error, import};

/// Operator set versions whose test cases pass. Older and newer versions are read by the same
/// rules, without checking for changes.
pub const OPSETS: RangeInclusive<i64> = 6..=26;

/// An imported model.
#[derive(Debug)]
#[non_exhaustive]
pub struct Model {
    /// The model's main graph.
    pub graph: Graph,
    /// The version of ONNX's own operator set that the model declares.
    pub opset: i64,
    /// The producer's name and version.
    pub producer: String,
    /// The metadata properties, in order.
    pub metadata: Vec<(String, String)>,
}

impl Model {
    /// Reads a file and its external data.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|error| Error::File { path: path.to_owned(), error })?;
        Self::from_bytes(&bytes, path.parent())
    }

    /// Reads a model; `folder` is the folder of its external data.
    pub fn from_bytes(bytes: &[u8], folder: Option<&Path>) -> Result<Self, Error> {
        Self::with_inputs(bytes, folder, &[])
    }

    /// Reads a model. The names in `inputs` are inputs even if the model has a default for them.
    pub fn with_inputs(bytes: &[u8], folder: Option<&Path>, inputs: &[&str]) -> Result<Self, Error> {
        let proto = ModelProto::decode(bytes).map_err(|error| Error::Protobuf(error.to_string()))?;
        let graph = import::import(&proto, folder, inputs)?;
        let opset = proto.opset_import.iter().find(|one| one.domain.is_empty() || one.domain == "ai.onnx");
        let producer = format!("{} {}", proto.producer_name, proto.producer_version).trim().to_owned();
        let metadata = proto.metadata_props.into_iter().map(|one| (one.key, one.value)).collect();
        Ok(Self { graph, opset: opset.map_or(1, |one| one.version), producer, metadata })
    }
}
