//! Compares every field of a code object with `llvm-readelf` and `llvm-objdump`, for every
//! processor that LLVM knows.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use roci_codeobj::{CodeObject, KernelDescriptor, Processor, SymbolKind, UserSgpr};
use roci_testkit::require;
use roci_testkit::tools::Tool;
use serde_json::Value;

/// Standard output of an LLVM program.
fn llvm(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(format!("{program}-22")).args(arguments).output().expect("it was found");
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Whether LLVM 22's compiler, linker and tools are installed.
fn llvm_is_installed() -> bool {
    let all = |programs: &[&str]| programs.iter().try_for_each(|program| Tool::find(&[program]).map(drop));
    let clang = require("clang", all(&["clang-22"]));
    let lld = require("lld-22", all(&["ld.lld-22"]));
    let llvm = require("llvm-22", all(&["llvm-mc-22", "llvm-readelf-22", "llvm-objdump-22", "llc-22"]));
    clang.and(lld).and(llvm).is_some()
}

fn readelf(path: &Path) -> Value {
    let options = ["--elf-output-style=JSON", "-h", "--dyn-symbols", "--relocations", "--notes"];
    let text = llvm("llvm-readelf", &[&options[..], &[path.to_str().expect("a plain name")]].concat());
    let value: Value = serde_json::from_str(&text).expect("JSON");
    value[0].clone()
}

/// A kernel or an argument as readelf prints it: keys without the leading dot, values as text.
type Fields = Vec<(String, String)>;

/// Parses the kernels and their arguments from readelf's YAML. Handles only the layout that LLVM
/// prints: kernels at indent two, their keys at four, arguments and their keys at six and eight.
fn kernels(yaml: &str) -> Vec<(Fields, Vec<Fields>)> {
    let mut kernels: Vec<(Fields, Vec<Fields>)> = Vec::new();
    let mut list = String::new();
    let section = yaml.split_once("amdhsa.kernels:\n").map_or("", |(_, rest)| rest);
    for line in section.lines().take_while(|line| line.starts_with(' ')) {
        let key = line.trim_start_matches([' ', '-']);
        let indent = line.len() - key.len();
        if line.starts_with("  - ") {
            kernels.push(Default::default());
        }
        let (kernel, arguments) = kernels.last_mut().expect("the first line starts a kernel");
        let field = key.split_once(':').map(|(name, value)| {
            let value = value.trim().trim_matches(['\'', '"']);
            (name.trim_start_matches('.').to_owned(), value.to_owned())
        });
        match (indent, field) {
            (4, Some((name, value))) => {
                list = name.clone();
                kernel.extend((!value.is_empty()).then_some((name, value)));
            }
            (8, Some(field)) if list == "args" => {
                if line.starts_with("      - ") {
                    arguments.push(Vec::new());
                }
                arguments.last_mut().expect("the first line starts an argument").push(field);
            }
            // An item of a list of numbers, such as the required work-group size.
            (8, None) => kernel.push((list.clone(), key.to_owned())),
            _ => panic!("a line that this test does not understand: {line}"),
        }
    }
    kernels
}

/// Compares our fields with readelf's.
fn assert_fields(ours: &Value, theirs: &Fields, what: &str) {
    for (name, text) in theirs {
        // Not parsed: nothing uses it.
        if name == "device_enqueue_symbol" {
            continue;
        }
        let value = &ours[name.as_str()];
        let same = match value {
            Value::Bool(value) => (*value && text == "1") || *text == value.to_string(),
            Value::String(value) => value == text,
            Value::Number(value) => value.to_string() == *text,
            Value::Array(values) => values.iter().any(|value| value.as_u64() == text.parse().ok()),
            _ => false,
        };
        assert!(same, "{what}: `{name}` is {value}, readelf says {text}");
    }
}

/// Compares all fields of a code object.
fn compare(path: &Path) {
    let what = path.file_name().expect("a file").to_string_lossy();
    let theirs = readelf(path);
    let bytes = std::fs::read(path).expect("it was written");
    let ours = CodeObject::parse(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));

    let header = &theirs["ElfHeader"];
    assert_eq!(header["Ident"]["ABIVersion"], ours.version() - 2, "{what}");
    assert_eq!(header["Flags"]["Value"], ours.flags(), "{what}");
    let names: Vec<_> = header["Flags"]["Flags"].as_array().expect("a list").iter().map(|flag| &flag["Name"]).collect();
    let mach = ours.target().processor.name().to_uppercase().replace('-', "_");
    assert!(names.contains(&&Value::from(format!("EF_AMDGPU_MACH_AMDGCN_{mach}"))), "{what}: {names:?}");

    let symbols = theirs["DynamicSymbols"].as_array().expect("a list");
    assert_eq!(symbols.len(), ours.symbols().len(), "{what}");
    for (symbol, ours) in symbols.iter().map(|symbol| &symbol["Symbol"]).zip(ours.symbols()) {
        assert_eq!(symbol["Name"]["Name"], ours.name, "{what}");
        assert_eq!(
            (&symbol["Value"], &symbol["Size"]),
            (&ours.address.unwrap_or(0).into(), &ours.size.into()),
            "{what}"
        );
        assert_eq!(symbol["Type"]["Name"] == "Function", ours.kind == SymbolKind::Function, "{what}");
        assert_eq!(symbol["Section"]["Name"] == "Undefined", ours.address.is_none(), "{what}");
    }
    let sections = theirs["Relocations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let relocations = sections.iter().flat_map(|section| section["Relocs"].as_array().into_iter().flatten());
    let relocations: Vec<_> = relocations.map(|one| &one["Relocation"]).collect();
    assert_eq!(relocations.len(), ours.relocations().len(), "{what}");
    for (theirs, ours) in relocations.iter().zip(ours.relocations()) {
        assert_eq!((&theirs["Offset"], &theirs["Type"]["Value"]), (&ours.address.into(), &ours.kind.into()), "{what}");
        assert_eq!(theirs["Addend"].as_u64(), Some(ours.addend as u64), "{what}");
    }
    let notes = theirs["NoteSections"].as_array().map(Vec::as_slice).unwrap_or_default();
    let yaml = notes.iter().find_map(|section| section["NoteSection"]["Notes"][0]["AMDGPU Metadata"].as_str());
    let kernels = kernels(yaml.unwrap_or_default());
    assert_eq!(kernels.len(), ours.kernels().len(), "{what}");
    let directives = if kernels.is_empty() { HashMap::new() } else { directives(path) };
    for ((fields, arguments), kernel) in kernels.iter().zip(ours.kernels()) {
        let metadata = kernel.metadata.as_ref().expect("clang writes it");
        assert_fields(&serde_json::to_value(metadata).expect("JSON"), fields, &what);
        assert_eq!(arguments.len(), metadata.args.len(), "{what}");
        for (fields, argument) in arguments.iter().zip(&metadata.args) {
            assert_fields(&serde_json::to_value(argument).expect("JSON"), fields, &what);
        }
        // Different parts of the compiler write the descriptor and the metadata.
        let descriptor = &kernel.descriptor;
        assert_eq!(u64::from(descriptor.group_segment_fixed_size), metadata.group_segment_fixed_size, "{what}");
        assert_eq!(u64::from(descriptor.private_segment_fixed_size), metadata.private_segment_fixed_size, "{what}");
        assert_eq!(u64::from(descriptor.kernarg_size), metadata.kernarg_segment_size, "{what}");
        assert_eq!(descriptor.wave_size(), metadata.wavefront_size, "{what}");
        assert_eq!(descriptor.uses_dynamic_stack(), metadata.uses_dynamic_stack, "{what}");
        let directives = &directives[&kernel.name];
        assert_descriptor(descriptor, ours.target().processor, directives, &what);
        assert!(metadata.vgpr_count <= descriptor.vgprs(ours.target().processor), "{what}");
        assert!(metadata.sgpr_count <= descriptor.sgprs(ours.target().processor), "{what}");
    }
}

/// Kernel descriptors as objdump disassembles them: kernel, assembler directive without `.amdhsa_`,
/// value.
fn directives(path: &Path) -> HashMap<String, HashMap<String, u32>> {
    let text = llvm("llvm-objdump", &["-D", "-j", ".rodata", path.to_str().expect("a plain name")]);
    let mut kernels: HashMap<String, HashMap<String, u32>> = HashMap::new();
    let mut name = String::new();
    for line in text.lines().filter_map(|line| line.trim().strip_prefix(".amdhsa_")) {
        match line.split_once(' ').expect("a directive has a value") {
            ("kernel", kernel) => name = kernel.to_owned(),
            (directive, value) => {
                let value = value.parse().expect("a number");
                kernels.entry(name.clone()).or_default().insert(directive.to_owned(), value);
            }
        }
    }
    kernels
}

fn assert_descriptor(ours: &KernelDescriptor, processor: Processor, theirs: &HashMap<String, u32>, what: &str) {
    let [x, y, z] = ours.workgroup_ids();
    let user = |register| u32::from(ours.user_sgprs().any(|one| one == register));
    let exception = |bit: u32| u32::from(ours.exceptions() >> bit & 1);
    let known = [
        ("group_segment_fixed_size", ours.group_segment_fixed_size),
        ("private_segment_fixed_size", ours.private_segment_fixed_size),
        ("kernarg_size", ours.kernarg_size),
        ("accum_offset", ours.accumulator_offset()),
        ("next_free_vgpr", ours.vgprs(processor)),
        ("float_round_mode_32", ours.round_f32()),
        ("float_round_mode_16_64", ours.round_f16_f64()),
        ("float_denorm_mode_32", ours.denormals_f32()),
        ("float_denorm_mode_16_64", ours.denormals_f16_f64()),
        ("dx10_clamp", ours.dx10_clamp().into()),
        ("ieee_mode", ours.ieee_mode().into()),
        ("fp16_overflow", ours.fp16_overflow().into()),
        ("workgroup_processor_mode", ours.wgp_mode().into()),
        ("memory_ordered", ours.mem_ordered().into()),
        ("forward_progress", ours.forward_progress().into()),
        ("enable_private_segment", ours.private_segment().into()),
        ("system_sgpr_private_segment_wavefront_offset", ours.private_segment().into()),
        ("system_sgpr_workgroup_id_x", x.into()),
        ("system_sgpr_workgroup_id_y", y.into()),
        ("system_sgpr_workgroup_id_z", z.into()),
        ("system_sgpr_workgroup_info", ours.workgroup_info().into()),
        ("system_vgpr_workitem_id", ours.workitem_ids() - 1),
        ("exception_fp_ieee_invalid_op", exception(0)),
        ("exception_fp_denorm_src", exception(1)),
        ("exception_fp_ieee_div_zero", exception(2)),
        ("exception_fp_ieee_overflow", exception(3)),
        ("exception_fp_ieee_underflow", exception(4)),
        ("exception_fp_ieee_inexact", exception(5)),
        ("exception_int_div_zero", exception(6)),
        ("user_sgpr_private_segment_buffer", user(UserSgpr::PrivateSegmentBuffer)),
        ("user_sgpr_dispatch_ptr", user(UserSgpr::DispatchPointer)),
        ("user_sgpr_queue_ptr", user(UserSgpr::QueuePointer)),
        ("user_sgpr_kernarg_segment_ptr", user(UserSgpr::KernargPointer)),
        ("user_sgpr_dispatch_id", user(UserSgpr::DispatchId)),
        ("user_sgpr_flat_scratch_init", user(UserSgpr::FlatScratchInit)),
        ("user_sgpr_private_segment_size", user(UserSgpr::PrivateSegmentSize)),
        ("wavefront_size32", (ours.wave_size() == 32).into()),
        ("uses_dynamic_stack", ours.uses_dynamic_stack().into()),
    ];
    // objdump omits fields that a processor does not have.
    let compared = known.iter().filter_map(|(name, ours)| Some((name, ours, theirs.get(*name)?)));
    let mut count = 0;
    for (name, ours, theirs) in compared {
        assert_eq!(ours, theirs, "{what}: {name}");
        count += 1;
    }
    assert!(count >= 25, "{what}: only {count} fields of {theirs:?}");
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

#[test]
fn the_committed_objects_match_readelf() {
    if !llvm_is_installed() {
        return;
    }
    for name in ["gfx1010-v6.co", "gfx1100-v5.co", "gfx90a-v4.co", "gfx10-1-generic-v6.co"] {
        compare(&fixtures().join(name));
    }
}

#[test]
fn compiled_objects_match_readelf() {
    if !llvm_is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = fixtures().join("kernels.cl");
    let targets = ["gfx803", "gfx906:xnack+", "gfx942", "gfx1013", "gfx1030", "gfx1151", "gfx1200", "gfx11-generic"];
    for target in targets {
        let kinds = [("4", "-O0"), ("5", "-O3"), ("6", "-O2")];
        // Generic targets need version 6.
        for (version, level) in kinds.into_iter().filter(|kind| kind.0 == "6" || !target.ends_with("generic")) {
            let path = folder.path().join(format!("{}-v{version}{level}.co", target.replace(':', "_")));
            let (cpu, version) = (format!("-mcpu={target}"), format!("-mcode-object-version={version}"));
            let files = [source.to_str().expect("a plain name"), "-o", path.to_str().expect("a plain name")];
            let options =
                ["-target", "amdgcn-amd-amdhsa", &cpu, &version, level, "-nogpulib", "-x", "cl", "-cl-std=CL2.0"];
            llvm("clang", &[&options[..], &files].concat());
            compare(&path);
        }
    }
}

#[test]
fn every_llvm_processor_has_its_number() {
    if !llvm_is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain name").to_owned();
    let (source, object, linked) = (path("empty.s"), path("empty.o"), path("empty.co"));
    std::fs::write(&source, ".text\ns_endpgm\n").expect("the folder is writable");
    let help =
        Command::new("llc-22").args(["-mtriple=amdgcn-amd-amdhsa", "-mcpu=help"]).output().expect("it was found");
    let help = String::from_utf8_lossy(&help.stderr).into_owned();
    let cpus = help.split_once("Available features").map_or("", |(cpus, _)| cpus).lines();
    let cpus: Vec<_> =
        cpus.filter_map(|line| line.split_whitespace().next()).filter(|cpu| cpu.starts_with("gfx")).collect();
    assert!(cpus.len() > 50, "{help}");
    for cpu in cpus {
        let processor = Processor::from_name(cpu).unwrap_or_else(|| panic!("{cpu} is not in our table"));
        let version = if processor.is_generic() { 6 } else { 5 };
        let arguments =
            ["-triple=amdgcn-amd-amdhsa", &format!("-mcpu={cpu}"), &format!("--amdhsa-code-object-version={version}")];
        llvm("llvm-mc", &[&arguments[..], &["-filetype=obj", &source, "-o", &object]].concat());
        llvm("ld.lld", &["-shared", &object, "-o", &linked]);
        let bytes = std::fs::read(&linked).expect("it was written");
        let ours = CodeObject::parse(&bytes).expect(cpu);
        assert_eq!((ours.target().processor, ours.target().to_string().as_str()), (processor, cpu));
        assert_eq!(ours.flags() >> 8 & 3 != 0, processor.supports_xnack(), "{cpu}");
        assert_eq!(ours.flags() >> 10 & 3 != 0, processor.supports_sramecc(), "{cpu}");
        assert_eq!(ours.generic_version(), u8::from(processor.is_generic()), "{cpu}");
        compare(Path::new(&linked));
    }
}
