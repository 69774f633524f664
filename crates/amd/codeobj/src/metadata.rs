//! Kernel metadata: a MessagePack map in an ELF note.
//!
//! Unknown keys are ignored, so that output of newer compilers can be read.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Error, ValueKind};

/// Size limit in bytes. Some libraries have thousands of kernels with a few KiB each.
const MAX_SIZE: usize = 64 << 20;
/// Nesting limit of maps and arrays. Real metadata needs 5 levels.
const MAX_DEPTH: usize = 24;

/// The metadata of a code object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Metadata {
    /// Metadata version: 1.0 for code object version 3, 1.1 for 4, 1.2 for 5 and 6.
    #[serde(rename = "amdhsa.version")]
    pub version: Vec<u32>,
    /// Full target ID; since code object version 4.
    #[serde(rename = "amdhsa.target")]
    pub target: Option<String>,
    /// `printf` format strings, each `id:argument count:sizes…:format`.
    #[serde(rename = "amdhsa.printf")]
    pub printf: Vec<String>,
    /// One entry per kernel.
    #[serde(rename = "amdhsa.kernels")]
    pub kernels: Vec<KernelMetadata>,
}

/// The metadata of a kernel.
///
/// The keys that the format requires have no default: empty maps could otherwise expand to hundreds
/// of times their size in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct KernelMetadata {
    /// Mangled name.
    #[serde(rename(deserialize = ".name"))]
    pub name: String,
    /// Symbol of the descriptor: the name with the suffix `.kd`.
    #[serde(rename(deserialize = ".symbol"))]
    pub symbol: String,
    /// Source language, such as `OpenCL C`.
    #[serde(rename(deserialize = ".language"), default)]
    pub language: Option<String>,
    /// Version of the source language.
    #[serde(rename(deserialize = ".language_version"), default)]
    pub language_version: Vec<u32>,
    /// Arguments, explicit ones before hidden ones.
    #[serde(rename(deserialize = ".args"), default)]
    pub args: Vec<Argument>,
    /// Required work-group size (`reqd_work_group_size`).
    #[serde(rename(deserialize = ".reqd_workgroup_size"), default)]
    pub reqd_workgroup_size: Option<[u32; 3]>,
    /// Recommended work-group size.
    #[serde(rename(deserialize = ".workgroup_size_hint"), default)]
    pub workgroup_size_hint: Option<[u32; 3]>,
    /// Size of the kernarg segment in bytes.
    #[serde(rename(deserialize = ".kernarg_segment_size"))]
    pub kernarg_segment_size: u64,
    /// Alignment of the kernarg segment in bytes.
    #[serde(rename(deserialize = ".kernarg_segment_align"), default)]
    pub kernarg_segment_align: u64,
    /// Statically allocated LDS in bytes.
    #[serde(rename(deserialize = ".group_segment_fixed_size"), default)]
    pub group_segment_fixed_size: u64,
    /// Scratch memory per work-item in bytes.
    #[serde(rename(deserialize = ".private_segment_fixed_size"), default)]
    pub private_segment_fixed_size: u64,
    /// Lanes per wavefront.
    #[serde(rename(deserialize = ".wavefront_size"))]
    pub wavefront_size: u32,
    /// SGPRs used.
    #[serde(rename(deserialize = ".sgpr_count"), default)]
    pub sgpr_count: u32,
    /// VGPRs used.
    #[serde(rename(deserialize = ".vgpr_count"), default)]
    pub vgpr_count: u32,
    /// Accumulation VGPRs used.
    #[serde(rename(deserialize = ".agpr_count"), default)]
    pub agpr_count: u32,
    /// Number of spilled SGPRs.
    #[serde(rename(deserialize = ".sgpr_spill_count"), default)]
    pub sgpr_spill_count: u32,
    /// Number of spilled VGPRs.
    #[serde(rename(deserialize = ".vgpr_spill_count"), default)]
    pub vgpr_spill_count: u32,
    /// Maximum number of work-items in a work-group.
    #[serde(rename(deserialize = ".max_flat_workgroup_size"), default)]
    pub max_flat_workgroup_size: u32,
    /// `normal`, `init` or `fini`; absent means `normal`.
    #[serde(rename(deserialize = ".kind"), default)]
    pub kind: Option<String>,
    /// The stack size is not known at compile time.
    #[serde(rename(deserialize = ".uses_dynamic_stack"), default, deserialize_with = "flag")]
    pub uses_dynamic_stack: bool,
    /// Work-groups span both compute units of a work-group processor.
    #[serde(rename(deserialize = ".workgroup_processor_mode"), default, deserialize_with = "flag")]
    pub workgroup_processor_mode: bool,
    /// All work-groups of a dispatch have the same size.
    #[serde(rename(deserialize = ".uniform_work_group_size"), default, deserialize_with = "flag")]
    pub uniform_work_group_size: bool,
}

/// A kernel argument, as the code object's metadata describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Argument {
    /// Name in the source, if the compiler kept it.
    #[serde(rename(deserialize = ".name"), default)]
    pub name: Option<String>,
    /// Type in the source, if the compiler kept it.
    #[serde(rename(deserialize = ".type_name"), default)]
    pub type_name: Option<String>,
    /// Byte offset in the kernarg segment.
    #[serde(rename(deserialize = ".offset"))]
    pub offset: u64,
    /// Size in bytes.
    #[serde(rename(deserialize = ".size"))]
    pub size: u64,
    /// What the dispatcher passes: a value, a pointer, or a hidden argument (`.value_kind`).
    #[serde(rename(deserialize = ".value_kind"))]
    pub value_kind: ValueKind,
    /// Alignment in bytes of the memory that a `dynamic_shared_pointer` points to.
    #[serde(rename(deserialize = ".pointee_align"), default)]
    pub pointee_align: Option<u64>,
    /// Address space of a pointer: `global`, `constant`, `local`, `generic`, `region` or `private`.
    #[serde(rename(deserialize = ".address_space"), default)]
    pub address_space: Option<String>,
    /// Declared access: `read_only`, `write_only` or `read_write`.
    #[serde(rename(deserialize = ".access"), default)]
    pub access: Option<String>,
    /// Access by the code, with the same values as `access`.
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
    /// Parses the contents of the metadata note.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MAX_SIZE {
            return Err(Error::Metadata(format!("its size is {} bytes; the limit is {MAX_SIZE}", bytes.len())));
        }
        let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
        reader.set_max_depth(MAX_DEPTH);
        Self::deserialize(&mut reader).map_err(|error| Error::Metadata(error.to_string()))
    }
}

/// Deserializes a Boolean. Hand-written assembly may use 0 and 1.
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
