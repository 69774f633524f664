//! The Khronos validator accepts the SPIR-V of every kernel.

use roci_kernels::{Source, SpirvOptions, kernels, spirv};
use roci_testkit::{require, tools};

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn spirv_val_accepts_every_kernel() {
    let Some(validator) = require("spirv-val", tools::spirv_val()) else { return };
    // Older ones call the capability's number invalid.
    let knows_matrices = {
        let capability = [0x0723_0203, 0x0001_0300, 0, 1, 0, 0x0002_0011, 6022];
        validator
            .accepts(&["-"], &bytes(&capability))
            .map_or_else(|error| !error.to_string().contains("operand: 6022"), |()| true)
    };
    let mut failures = Vec::new();
    for kernel in kernels() {
        for options in [SpirvOptions::default(), SpirvOptions { bounds_checks: true, names: false }] {
            let words = spirv(kernel, &options).unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
            if kernel.needs_matrix() && !knows_matrices {
                roci_testkit::skipped(kernel.name(), "this spirv-val is older than cooperative matrices");
                continue;
            }
            if let Err(error) = validator.accepts(&["--target-env", "vulkan1.1", "-"], &bytes(&words)) {
                failures.push(format!("{} with {options:?}: {error}", kernel.name()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_validator_can_say_no() {
    let Some(validator) = require("spirv-val", tools::spirv_val()) else { return };
    let mut words = spirv(&kernels()[0], &SpirvOptions::default()).expect("valid");
    words.truncate(words.len() - 1);
    assert!(validator.accepts(&["--target-env", "vulkan1.1", "-"], &bytes(&words)).is_err());
}

#[test]
fn several_entry_points_go_into_one_module() {
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn first() { y[0] = 1u; }
@compute @workgroup_size(1) fn second() { y[0] = 2u; }";
    let compiled = Source::parse("two.wgsl", text, &[]).expect("valid");
    let words = compiled.spirv(&SpirvOptions::default()).expect("expressible");
    let entry_points = |words: &[u32]| {
        // An instruction is its length in the upper half of its first word and its number in the lower.
        let (mut at, mut count) = (5, 0);
        while at < words.len() {
            count += usize::from(words[at] & 0xffff == 15);
            at += (words[at] >> 16) as usize;
        }
        count
    };
    assert_eq!(entry_points(&words), 2);
}
