//! What is said about files, in the form that `--json` prints.

use std::path::Path;

use roci_codeobj::{Argument, CodeObject, Content, File, Found, Kernel, Place};
use roci_hal::Hint;
use serde::Serialize;

use super::disassemble::{Function, Line};
use super::error::ObjectsError;

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) schema: &'static str,
    pub(super) version: u32,
    pub(super) files: Vec<FileReport>,
}

#[derive(Serialize)]
pub(super) struct FileReport {
    pub(super) file: String,
    /// Null when it cannot be read.
    pub(super) kind: Option<&'static str>,
    pub(super) objects: Vec<ObjectReport>,
    pub(super) problems: Vec<ProblemReport>,
}

#[derive(Serialize)]
pub(super) struct ProblemReport {
    pub(super) error: String,
    pub(super) hint: Option<String>,
}

/// A piece of GPU code.
#[derive(Serialize)]
pub(super) struct ObjectReport {
    /// All of the place as text.
    pub(super) place: String,
    pub(super) member: Option<String>,
    pub(super) section: Option<String>,
    /// Bytes into the file (or the archive's member): of the code, or of the bundle that it is compressed in.
    pub(super) offset: u64,
    pub(super) bundle: Option<usize>,
    pub(super) entry: Option<usize>,
    /// What the bundle calls it.
    pub(super) entry_id: Option<String>,
    pub(super) compression: Option<&'static str>,
    pub(super) content: &'static str,
    pub(super) bytes: usize,
    pub(super) target: String,
    /// The chips that a generic target covers.
    pub(super) covers: Vec<&'static str>,
    /// Of the code object format; null for other code.
    pub(super) code_object_version: Option<u32>,
    pub(super) generic_version: Option<u8>,
    pub(super) kernels: Vec<KernelReport>,
    /// The file it was written to.
    pub(super) extracted: Option<String>,
    pub(super) disassembly: Option<Vec<FunctionReport>>,
}

#[derive(Serialize)]
pub(super) struct KernelReport {
    pub(super) name: String,
    pub(super) vgprs: u32,
    pub(super) agprs: u32,
    pub(super) sgprs: u32,
    pub(super) vgpr_spills: u32,
    pub(super) sgpr_spills: u32,
    pub(super) lds_bytes: u32,
    pub(super) scratch_bytes: u32,
    pub(super) kernarg_bytes: u64,
    pub(super) wave_size: u32,
    /// Null where the metadata does not say.
    pub(super) max_workgroup_size: Option<u32>,
    pub(super) required_workgroup_size: Option<[u32; 3]>,
    pub(super) dynamic_stack: bool,
    /// Address of the first instruction in the code object.
    pub(super) entry: u64,
    pub(super) code_bytes: Option<u64>,
    pub(super) arguments: Vec<Argument>,
}

#[derive(Serialize)]
pub(super) struct FunctionReport {
    pub(super) name: String,
    pub(super) address: u64,
    pub(super) lines: Vec<Line>,
}

impl FileReport {
    pub(super) fn new(path: &Path, kind: Option<&'static str>) -> Self {
        Self { file: path.display().to_string(), kind, objects: Vec::new(), problems: Vec::new() }
    }

    /// The file as people are told of it: what it is, and how much is in it.
    pub(super) fn headline(&self, file: &File) -> String {
        let count = file.found.iter().filter(|found| found.content == Content::CodeObject).count();
        let other = file.found.len() - count;
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let contents = match (count, other) {
            (0, 0) if file.problems.is_empty() => "no AMD code in it".into(),
            (0, 0) => "no AMD code in it that can be read".into(),
            (_, 0) => counted(count, "code object"),
            _ => format!("{}, {}", counted(count, "code object"), counted(other, "other piece")),
        };
        format!("{}: {}, {contents}", self.file, file.kind.describe())
    }
}

impl ProblemReport {
    pub(super) fn new(error: &ObjectsError) -> Self {
        Self { error: error.to_string(), hint: error.hint() }
    }
}

impl ObjectReport {
    /// `object` is `None` if the code is of another kind, or damaged.
    pub(super) fn new(found: &Found, object: Option<&CodeObject>) -> Self {
        let Place { member, section, offset, bundle, entry, compression } = found.place.clone();
        let target = object.map(CodeObject::target);
        Self {
            place: found.place.to_string(),
            member,
            section,
            offset,
            bundle,
            entry,
            entry_id: found.entry.as_ref().map(|entry| entry.id.clone()),
            compression: compression.map(|compression| compression.name()),
            content: found.content.describe(),
            bytes: found.bytes().len(),
            target: target.map_or_else(|| found.target(), |target| target.to_string()),
            covers: target.into_iter().flat_map(|target| target.processor.covers()).map(|chip| chip.name()).collect(),
            code_object_version: object.map(CodeObject::version),
            generic_version: object.map(CodeObject::generic_version).filter(|&version| version > 0),
            kernels: object.map(describe_kernels).unwrap_or_default(),
            extracted: None,
            disassembly: None,
        }
    }
}

fn describe_kernels(object: &CodeObject) -> Vec<KernelReport> {
    object.kernels().iter().map(|kernel| describe_kernel(object, kernel)).collect()
}

fn describe_kernel(object: &CodeObject, kernel: &Kernel) -> KernelReport {
    let (descriptor, processor) = (&kernel.descriptor, object.target().processor);
    let metadata = kernel.metadata.clone().unwrap_or_default();
    // What the metadata says is used; without it, what the descriptor makes the hardware give out.
    let used = |stated: u32, given: u32| if kernel.metadata.is_some() { stated } else { given };
    KernelReport {
        name: kernel.name.clone(),
        vgprs: used(metadata.vgpr_count, descriptor.vgprs(processor)),
        agprs: metadata.agpr_count,
        sgprs: used(metadata.sgpr_count, descriptor.sgprs(processor)),
        vgpr_spills: metadata.vgpr_spill_count,
        sgpr_spills: metadata.sgpr_spill_count,
        lds_bytes: descriptor.group_segment_fixed_size,
        scratch_bytes: descriptor.private_segment_fixed_size,
        kernarg_bytes: kernel.kernarg_size(),
        wave_size: descriptor.wave_size(),
        max_workgroup_size: Some(metadata.max_flat_workgroup_size).filter(|&size| size > 0),
        required_workgroup_size: metadata.reqd_workgroup_size,
        dynamic_stack: descriptor.uses_dynamic_stack() || metadata.uses_dynamic_stack,
        entry: kernel.entry,
        code_bytes: kernel.code_size,
        arguments: metadata.args,
    }
}

impl From<Function> for FunctionReport {
    fn from(function: Function) -> Self {
        Self { name: function.name, address: function.address, lines: function.lines }
    }
}
