//! Every code object holds exactly the kernels of the table, and its descriptors and metadata agree
//! with the table.

use naga::AddressSpace;
use naga::proc::Layouter;
use roci_codeobj::{CodeObject, Kernel, SymbolKind, ValueKind};
use roci_device_build::TARGETS;
use roci_device_library::DeviceLibrary;
use roci_kernels::params::WeightFormat;
use roci_kernels::{KernelSpec, kernels};

/// Bytes of a device pointer.
const POINTER: u64 = 8;

fn for_each_object(check: impl Fn(&CodeObject)) {
    let library = DeviceLibrary::embedded_whole().expect("the embedded library is valid");
    assert_eq!(library.targets().map(|target| target.to_string()).collect::<Vec<_>>(), TARGETS);
    for object in &library.archive().objects {
        let code = CodeObject::parse(&object.bytes).expect("the object is a code object");
        assert_eq!(code.target(), object.target);
        check(&code);
    }
}

/// Matrix kernels exist only for targets with matrix units.
fn belongs(spec: &KernelSpec, code: &CodeObject<'_>) -> bool {
    !spec.needs_matrix() || code.target().processor.generation() == 11
}

#[test]
fn objects_have_exactly_the_kernels_of_the_table() {
    for_each_object(|code| {
        let target = code.target();
        let table: Vec<&str> = kernels().iter().filter(|one| belongs(one, code)).map(KernelSpec::name).collect();
        let names: Vec<&str> = code.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, table, "{target}");
        assert!(code.kernels().iter().all(|kernel| kernel.metadata.is_some()), "{target}");
        // clang also emits each kernel's body as a function that is never called.
        let functions: Vec<&str> =
            code.symbols().iter().filter(|one| one.kind == SymbolKind::Function).map(|one| one.name).collect();
        assert_eq!(functions.len(), table.len(), "{target}: {functions:?}");
        assert!(code.local_symbols().is_empty(), "{target}: symbols are stripped");
        assert!(code.relocations().is_empty(), "{target}: no relocations");
    });
}

#[test]
fn code_object_versions_are_those_that_runtimes_load() {
    for_each_object(|code| {
        let generic = code.target().processor.is_generic();
        assert_eq!(code.version(), if generic { 6 } else { 5 }, "{}", code.target());
        assert_eq!(code.generic_version() > 0, generic, "{}", code.target());
    });
}

#[test]
fn descriptors_and_metadata_match_the_table() {
    for spec in kernels() {
        let lds = workgroup_memory(spec);
        for_each_object(|code| {
            if !belongs(spec, code) {
                return;
            }
            let context = format!("{} for {}", spec.name(), code.target());
            let kernel = code.kernel(spec.name()).expect(&context);
            check_arguments(spec, kernel, &context);
            check_resources(spec, kernel, lds, &code.target().to_string());
            let wave = if code.target().processor.generation() < 10 { 64 } else { 32 };
            assert_eq!(kernel.descriptor.wave_size(), wave, "{context}");
        });
    }
}

/// A pointer per binding, then the constants block by value. All further arguments are hidden; the
/// launch fills them in.
fn check_arguments(spec: &KernelSpec, kernel: &Kernel, context: &str) {
    let metadata = kernel.metadata.as_ref().expect(context);
    let (hidden, given): (Vec<_>, Vec<_>) = metadata.args.iter().partition(|one| one.value_kind.is_hidden());
    let bindings = spec.bindings().len();
    let constants = spec.constants().size as u64;
    assert_eq!(given.len(), bindings + 1, "{context}");
    for (index, argument) in given[..bindings].iter().enumerate() {
        assert_eq!((argument.offset, argument.size), (index as u64 * POINTER, POINTER), "{context}: argument {index}");
        assert_eq!(argument.value_kind, ValueKind::GlobalBuffer, "{context}: argument {index}");
    }
    let block = given[bindings];
    assert_eq!((block.offset, block.size), (bindings as u64 * POINTER, constants), "{context}: the constants block");
    assert_eq!(block.value_kind, ValueKind::ByValue, "{context}: the constants block");
    let end = block.offset + constants;
    assert!(hidden.iter().all(|argument| argument.offset >= end), "{context}: hidden arguments come last");
    assert!(metadata.kernarg_segment_size >= end, "{context}");
    assert_eq!(u64::from(kernel.descriptor.kernarg_size), metadata.kernarg_segment_size, "{context}");
}

/// Targets without instructions for packed dot products.
const NO_PACKED_DOT: [&str; 4] = ["gfx1010", "gfx1013", "gfx10-1-generic", "gfx9-generic"];

fn check_resources(spec: &KernelSpec, kernel: &Kernel, lds: u64, target: &str) {
    let context = format!("{} for {target}", spec.name());
    let context = context.as_str();
    let metadata = kernel.metadata.as_ref().expect(context);
    let descriptor = &kernel.descriptor;
    assert_eq!(metadata.reqd_workgroup_size, Some(spec.workgroup()), "{context}");
    assert_eq!(metadata.group_segment_fixed_size, lds, "{context}: work-group memory");
    assert_eq!(u64::from(descriptor.group_segment_fixed_size), lds, "{context}: work-group memory");
    assert_eq!(metadata.wavefront_size, descriptor.wave_size(), "{context}");
    assert_eq!(u64::from(descriptor.private_segment_fixed_size), metadata.private_segment_fixed_size, "{context}");
    // The accumulators of a matrix tile take half of the registers, so a few addresses may be
    // spilled.
    let large = spec.name().strip_prefix("lm_matmul_coopmat_");
    let format = WeightFormat::ALL.into_iter().find(|format| Some(format.name()) == large);
    // Without instructions for packed dot products, each takes many registers. Language models use
    // other kernels on these targets.
    let emulates_dots = spec.name().starts_with("lm_matvec8_i8_") && NO_PACKED_DOT.contains(&target);
    let most = match format {
        _ if emulates_dots => u32::MAX,
        // `fits_large_tile` excludes these kernels from language models.
        Some(format) if !format.fits_large_tile() => u32::MAX,
        _ if spec.needs_matrix() => 26,
        _ => 0,
    };
    let spilled = (metadata.vgpr_spill_count, metadata.sgpr_spill_count);
    assert!(spilled.0 <= most && spilled.1 == 0, "{context}: registers are spilled: {spilled:?}");
    assert!(kernel.code_size.is_some_and(|size| size > 0), "{context}");
}

/// Bytes of work-group memory that the WGSL source declares, including alignment padding.
fn workgroup_memory(spec: &KernelSpec) -> u64 {
    let module = spec.module().expect("it is valid").module;
    let mut layouter = Layouter::default();
    layouter.update(module.to_ctx()).expect("the types have a layout");
    let shared = module.global_variables.iter().filter(|(_, global)| global.space == AddressSpace::WorkGroup);
    shared.map(|(_, global)| u64::from(layouter[global.ty].size)).sum()
}
