//! The table agrees with the WGSL, and the WGSL agrees with the Rust structs.

use naga::{AddressSpace, StorageAccess, TypeInner};
use roci_hal::Access;
use roci_kernels::clc::{Argument, Options};
use roci_kernels::{KernelSpec, find, kernels, opencl_c};

/// Members of the constants block with their offsets, and its size, from the IR.
fn constants_of(module: &naga::Module) -> Option<(Vec<(String, usize)>, usize)> {
    let (_, variable) = module.global_variables.iter().find(|(_, one)| one.space == AddressSpace::Immediate)?;
    let TypeInner::Struct { ref members, span } = module.types[variable.ty].inner else {
        return None;
    };
    let named = members.iter().map(|member| (member.name.clone().unwrap_or_default(), member.offset as usize));
    Some((named.collect(), span as usize))
}

/// Buffers of the IR by binding number: name and access.
fn bindings_of(module: &naga::Module) -> Vec<(u32, String, Access)> {
    let mut bindings: Vec<_> = module
        .global_variables
        .iter()
        .filter_map(|(_, variable)| {
            let AddressSpace::Storage { access } = variable.space else {
                return None;
            };
            let access = if access.contains(StorageAccess::STORE) { Access::ReadWrite } else { Access::Read };
            Some((variable.binding?.binding, variable.name.clone()?, access))
        })
        .collect();
    bindings.sort_by_key(|binding| binding.0);
    bindings
}

fn each(check: impl Fn(&KernelSpec, &naga::Module)) {
    for kernel in kernels() {
        let compiled = kernel.module().unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
        check(kernel, &compiled.module);
    }
}

#[test]
fn names_are_unique_and_found() {
    for kernel in kernels() {
        assert_eq!(kernels().iter().filter(|other| other.name() == kernel.name()).count(), 1, "{}", kernel.name());
        assert_eq!(find(kernel.name()).expect("the table has the kernel").name(), kernel.name());
    }
}

#[test]
fn an_unknown_name_suggests_a_similar_one() {
    let error = find("unary_expo").expect_err("no such kernel").to_string();
    assert!(error.contains("unary_expo") && error.contains("`unary_exp`"), "{error}");
}

#[test]
fn each_file_has_one_entry_point_with_the_kernels_name_and_workgroup() {
    each(|kernel, module| {
        let [entry_point] = &module.entry_points[..] else {
            panic!("{}: {} entry points", kernel.name(), module.entry_points.len());
        };
        assert_eq!(entry_point.name, kernel.name());
        assert_eq!(entry_point.workgroup_size, kernel.workgroup(), "{}", kernel.name());
    });
}

#[test]
fn bindings_match_the_sources() {
    each(|kernel, module| {
        let want: Vec<_> = kernel.bindings().iter().map(|one| (one.name.to_owned(), one.access)).collect();
        let got = bindings_of(module);
        let numbers: Vec<_> = got.iter().map(|binding| binding.0).collect();
        assert_eq!(numbers, (0..want.len() as u32).collect::<Vec<_>>(), "{}", kernel.name());
        let got: Vec<_> = got.into_iter().map(|(_, name, access)| (name, access)).collect();
        assert_eq!(got, want, "{}", kernel.name());
    });
}

/// Drivers place workgroup variables back to back and load matrices 16 bytes at a time. A variable
/// of an odd number of words between them gives wrong results on a real GPU, but not on a software
/// rasterizer.
#[test]
fn workgroup_variables_of_matrix_kernels_are_multiples_of_16_bytes() {
    each(|kernel, module| {
        for (_, variable) in module.global_variables.iter() {
            if kernel.needs_matrix() && variable.space == AddressSpace::WorkGroup {
                let size = module.types[variable.ty].inner.size(module.to_ctx());
                assert!(size.is_multiple_of(16), "{}: {:?} has {size} bytes", kernel.name(), variable.name);
            }
        }
    });
}

#[test]
fn constants_have_the_layout_of_the_rust_struct() {
    each(|kernel, module| {
        let (members, size) = constants_of(module).unwrap_or_else(|| panic!("{}: no constants", kernel.name()));
        let want: Vec<_> = kernel.constants().members.iter().map(|&(name, at)| (name.to_owned(), at)).collect();
        assert_eq!(members, want, "{}", kernel.name());
        assert_eq!(size, kernel.constants().size, "{}", kernel.name());
    });
}

#[test]
fn a_variant_has_no_code_of_another() {
    let compiled = find("unary_neg").expect("in the table").module().expect("valid");
    let text = format!("{:?}", compiled.module);
    assert!(!text.contains("Tanh") && !text.contains("Switch"), "{text}");
}

#[test]
fn opencl_c_takes_the_bindings_in_order_and_then_the_constants() {
    for kernel in kernels().iter().filter(|kernel| !kernel.needs_matrix()) {
        for options in [Options::opencl(), Options::amdgcn()] {
            let output = opencl_c(kernel, &options).unwrap();
            let [entry_point] = &output.entry_points[..] else { panic!("{}: one entry point", kernel.name()) };
            assert_eq!(entry_point.name, kernel.name());
            let mut expected: Vec<_> = (0..)
                .zip(kernel.bindings())
                .map(|(binding, spec)| Argument::Binding { group: 0, binding, writable: spec.access.writes() })
                .collect();
            expected.push(Argument::Constants { size: u32::try_from(kernel.constants().size).unwrap() });
            assert_eq!(entry_point.arguments, expected, "{}", kernel.name());
        }
    }
}
