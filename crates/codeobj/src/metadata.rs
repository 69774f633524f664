//! What the compiler says about kernels: the metadata note, a MessagePack map.
//!
//! Keys that are not known here are passed over, so that files of newer compilers can be read.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Error, ValueKind};

/// Most bytes of metadata: some libraries have thousands of kernels, with a few KiB each.
const MAX_SIZE: usize = 64 << 20;
/// How deep maps and lists may be nested: the metadata of every version needs 5.
const MAX_DEPTH: usize = 24;

/// The metadata of a code object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Its version: 1.0 for code object version 3, 1.1 for 4, 1.2 for 5 and 6.
    #[serde(rename = "amdhsa.version")]
    pub version: Vec<u32>,
    /// The full target id; since code object version 4.
    #[serde(rename = "amdhsa.target")]
    pub target: Option<String>,
    /// Formats of `printf`, each `id:argument count:sizes…:format`.
    #[serde(rename = "amdhsa.printf")]
    pub printf: Vec<String>,
    /// The kernels.
    #[serde(rename = "amdhsa.kernels")]
    pub kernels: Vec<KernelMetadata>,
}

/// The metadata of a kernel.
///
/// Some keys must be there, as the format asks: empty maps could otherwise take hundreds of times their size in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct KernelMetadata {
    /// The name in the source, mangled.
    #[serde(rename(deserialize = ".name"))]
    pub name: String,
    /// The symbol of the descriptor: the name with `.kd` behind it.
    #[serde(rename(deserialize = ".symbol"))]
    pub symbol: String,
    /// Source language, such as `OpenCL C`.
    #[serde(rename(deserialize = ".language"), default)]
    pub language: Option<String>,
    /// Version of the source language.
    #[serde(rename(deserialize = ".language_version"), default)]
    pub language_version: Vec<u32>,
    /// The arguments, the hidden ones last.
    #[serde(rename(deserialize = ".args"), default)]
    pub args: Vec<Argument>,
    /// The only work-group size that the kernel works with.
    #[serde(rename(deserialize = ".reqd_workgroup_size"), default)]
    pub reqd_workgroup_size: Option<[u32; 3]>,
    /// A work-group size that the author recommends.
    #[serde(rename(deserialize = ".workgroup_size_hint"), default)]
    pub workgroup_size_hint: Option<[u32; 3]>,
    /// Bytes of arguments.
    #[serde(rename(deserialize = ".kernarg_segment_size"))]
    pub kernarg_segment_size: u64,
    /// Alignment of the arguments.
    #[serde(rename(deserialize = ".kernarg_segment_align"), default)]
    pub kernarg_segment_align: u64,
    /// Bytes of LDS that the kernel uses by itself.
    #[serde(rename(deserialize = ".group_segment_fixed_size"), default)]
    pub group_segment_fixed_size: u64,
    /// Bytes of scratch a lane.
    #[serde(rename(deserialize = ".private_segment_fixed_size"), default)]
    pub private_segment_fixed_size: u64,
    /// Lanes of a wave.
    #[serde(rename(deserialize = ".wavefront_size"))]
    pub wavefront_size: u32,
    /// Scalar registers used.
    #[serde(rename(deserialize = ".sgpr_count"), default)]
    pub sgpr_count: u32,
    /// Vector registers used.
    #[serde(rename(deserialize = ".vgpr_count"), default)]
    pub vgpr_count: u32,
    /// Accumulation registers used.
    #[serde(rename(deserialize = ".agpr_count"), default)]
    pub agpr_count: u32,
    /// Scalar registers that did not fit and went to memory.
    #[serde(rename(deserialize = ".sgpr_spill_count"), default)]
    pub sgpr_spill_count: u32,
    /// Vector registers that did not fit and went to scratch.
    #[serde(rename(deserialize = ".vgpr_spill_count"), default)]
    pub vgpr_spill_count: u32,
    /// Most work-items in a work-group.
    #[serde(rename(deserialize = ".max_flat_workgroup_size"), default)]
    pub max_flat_workgroup_size: u32,
    /// `normal`, `init` or `fini`; nothing means `normal`.
    #[serde(rename(deserialize = ".kind"), default)]
    pub kind: Option<String>,
    /// The stack grows at run time.
    #[serde(rename(deserialize = ".uses_dynamic_stack"), default, deserialize_with = "flag")]
    pub uses_dynamic_stack: bool,
    /// Work-groups span both compute units of a work-group processor.
    #[serde(rename(deserialize = ".workgroup_processor_mode"), default, deserialize_with = "flag")]
    pub workgroup_processor_mode: bool,
    /// All work-groups of a launch have the same size.
    #[serde(rename(deserialize = ".uniform_work_group_size"), default, deserialize_with = "flag")]
    pub uniform_work_group_size: bool,
}

/// An argument of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Argument {
    /// The name in the source, where the compiler keeps it.
    #[serde(rename(deserialize = ".name"), default)]
    pub name: Option<String>,
    /// The type in the source, where the compiler keeps it.
    #[serde(rename(deserialize = ".type_name"), default)]
    pub type_name: Option<String>,
    /// Where it starts in the argument block.
    #[serde(rename(deserialize = ".offset"))]
    pub offset: u64,
    /// Bytes it takes.
    #[serde(rename(deserialize = ".size"))]
    pub size: u64,
    /// What it is.
    #[serde(rename(deserialize = ".value_kind"))]
    pub value_kind: ValueKind,
    /// Alignment of what a `dynamic_shared_pointer` points to.
    #[serde(rename(deserialize = ".pointee_align"), default)]
    pub pointee_align: Option<u64>,
    /// What a pointer points into: `global`, `constant`, `local`, `generic`, `region` or `private`.
    #[serde(rename(deserialize = ".address_space"), default)]
    pub address_space: Option<String>,
    /// What the source says: `read_only`, `write_only` or `read_write`.
    #[serde(rename(deserialize = ".access"), default)]
    pub access: Option<String>,
    /// What the code does, in the same words.
    #[serde(rename(deserialize = ".actual_access"), default)]
    pub actual_access: Option<String>,
    /// Declared `const`.
    #[serde(rename(deserialize = ".is_const"), default, deserialize_with = "flag")]
    pub is_const: bool,
    /// Declared `restrict`.
    #[serde(rename(deserialize = ".is_restrict"), default, deserialize_with = "flag")]
    pub is_restrict: bool,
    /// Declared `volatile`.
    #[serde(rename(deserialize = ".is_volatile"), default, deserialize_with = "flag")]
    pub is_volatile: bool,
    /// Declared `pipe`.
    #[serde(rename(deserialize = ".is_pipe"), default, deserialize_with = "flag")]
    pub is_pipe: bool,
}

impl Metadata {
    /// Reads the contents of the note.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MAX_SIZE {
            return Err(Error::Metadata(format!("it takes {} bytes, more than {MAX_SIZE}", bytes.len())));
        }
        let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
        reader.set_max_depth(MAX_DEPTH);
        Self::deserialize(&mut reader).map_err(|error| Error::Metadata(error.to_string()))
    }
}

/// A truth value; assemblers let people write 0 and 1 too.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Bool(bool),
        Number(u64),
    }
    Ok(match Flag::deserialize(deserializer)? {
        Flag::Bool(value) => value,
        Flag::Number(value) => value != 0,
    })
}
