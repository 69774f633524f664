//! The report on a file, as `roci objects --json` prints it.

use std::path::Path;

use roci_base::{Hint, renamed_key};
use roci_codeobj::{Argument, CodeObject, DeviceImage, File, ImageKind, ImageLocation, Kernel};
use serde::Serialize;

use super::disassemble::Function;
use super::error::ObjectError;

renamed_key!(location: "location", formerly "place");

/// The AMD GPU code in a file.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// Path of the file.
    pub file: String,
    /// Format of the file; null if it cannot be read.
    pub kind: Option<&'static str>,
    /// Code objects, in the order of the file.
    pub objects: Vec<ObjectReport>,
    /// Parts that could not be analyzed.
    pub problems: Vec<ProblemReport>,
}

/// A non-fatal error.
#[derive(Clone, Debug, Serialize)]
pub struct ProblemReport {
    /// What went wrong, in one line.
    pub error: String,
    /// The remedy.
    pub hint: Option<String>,
}

/// A code object.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectReport {
    /// The location as text.
    #[serde(flatten, serialize_with = "location::serialize")]
    pub location: String,
    /// Member of an archive.
    pub member: Option<String>,
    /// Section of a program or library.
    pub section: Option<String>,
    /// Byte offset in the file, or in the archive member, of the code or of the compressed bundle
    /// that contains it.
    pub offset: u64,
    /// Index of the bundle in the section.
    pub bundle: Option<usize>,
    /// Index of the entry in the bundle.
    pub entry: Option<usize>,
    /// The entry's name in the bundle.
    pub entry_id: Option<String>,
    /// Compression of the bundle.
    pub compression: Option<&'static str>,
    /// Kind of code.
    pub content: &'static str,
    /// Size of the code, decompressed.
    pub bytes: usize,
    /// Target that the code is for.
    pub target: String,
    /// The chips that a generic target covers.
    pub covers: Vec<&'static str>,
    /// Version of the code object format; null for other code.
    pub code_object_version: Option<u32>,
    /// Version of the generic target.
    pub generic_version: Option<u8>,
    /// Kernels of the code object.
    pub kernels: Vec<KernelReport>,
    /// The extracted file.
    pub extracted: Option<String>,
    /// Disassembled functions, if requested.
    pub disassembly: Option<Vec<Function>>,
}

/// A kernel and its resource usage.
#[derive(Clone, Debug, Serialize)]
pub struct KernelReport {
    /// Name in the code object's metadata.
    pub name: String,
    /// Vector registers.
    pub vgprs: u32,
    /// Accumulation registers.
    pub agprs: u32,
    /// Scalar registers.
    pub sgprs: u32,
    /// Spilled vector registers.
    pub vgpr_spills: u32,
    /// Spilled scalar registers.
    pub sgpr_spills: u32,
    /// Static LDS of a workgroup.
    pub lds_bytes: u32,
    /// Scratch memory of a work-item.
    pub scratch_bytes: u32,
    /// Size of the kernel arguments.
    pub kernarg_bytes: u64,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Maximum number of work-items in a workgroup; null if the metadata lacks it.
    pub max_workgroup_size: Option<u32>,
    /// The only supported workgroup size; null if the kernel supports any.
    pub required_workgroup_size: Option<[u32; 3]>,
    /// Whether the size of the stack is unknown at compile time.
    pub dynamic_stack: bool,
    /// Address of the first instruction in the code object.
    pub entry: u64,
    /// Size of the code; null if the symbol has no size.
    pub code_bytes: Option<u64>,
    /// Explicit and hidden arguments.
    pub arguments: Vec<Argument>,
}

impl FileReport {
    /// A file without objects.
    pub fn new(path: &Path) -> Self {
        Self { file: path.display().to_string(), kind: None, objects: Vec::new(), problems: Vec::new() }
    }

    /// The file's format and number of code objects, as text.
    pub fn headline(&self, file: &File) -> String {
        let count = file.images.iter().filter(|image| image.kind == ImageKind::CodeObject).count();
        let other = file.images.len() - count;
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let contents = match (count, other) {
            (0, 0) if file.problems.is_empty() => "no AMD GPU code".into(),
            (0, 0) => "no readable AMD GPU code".into(),
            (_, 0) => counted(count, "code object"),
            _ => format!("{}, {}", counted(count, "code object"), counted(other, "other image")),
        };
        format!("{}: {}, {contents}", self.file, file.kind.describe())
    }
}

impl ProblemReport {
    /// The message and the hint of an error.
    pub fn new(error: &ObjectError) -> Self {
        Self { error: error.to_string(), hint: error.hint() }
    }
}

impl ObjectReport {
    /// Describes an image. `object` is `None` if the code is damaged or not a code object.
    pub fn new(image: &DeviceImage, object: Option<&CodeObject>) -> Self {
        let ImageLocation { member, section, offset, bundle, entry, compression } = image.location.clone();
        let target = object.map(CodeObject::target);
        Self {
            location: image.location.to_string(),
            member,
            section,
            offset,
            bundle,
            entry,
            entry_id: image.entry.as_ref().map(|entry| entry.id.clone()),
            compression: compression.map(|compression| compression.name()),
            content: image.kind.describe(),
            bytes: image.bytes().len(),
            target: target.map_or_else(|| image.target(), |target| target.to_string()),
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
    // From the metadata; without it, the allocation in the kernel descriptor.
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

/// Escapes control characters of a name from a file, which could move the cursor or change colors.
pub fn escaped(name: &str) -> String {
    if name.chars().any(char::is_control) { name.escape_debug().to_string() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escaped("_Z5scalePf"), "_Z5scalePf");
        assert_eq!(escaped("red\u{1b}[31m\nnext"), "red\\u{1b}[31m\\nnext");
    }
}
