//! The Khronos validator accepts the SPIR-V of every kernel.

use roci_kernels::{Source, SpirvOptions, kernels, spirv};
use roci_testkit::{require, tools};

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn spirv_val_accepts_every_kernel() {
    let Some(validator) = require("spirv-val", tools::spirv_val()) else { return };
    // Older versions reject the capability's number.
    let knows_matrices = {
        let capability = [0x0723_0203, 0x0001_0300, 0, 1, 0, 0x0002_0011, 6022];
        validator
            .accepts(&["-"], &bytes(&capability))
            .map_or_else(|error| !error.to_string().contains("operand: 6022"), |()| true)
    };
    let mut failures = Vec::new();
    let lowered = |size| SpirvOptions { emulated_subgroups: Some(size), ..SpirvOptions::default() };
    let checked = SpirvOptions { bounds_checks: true, names: false, ..SpirvOptions::default() };
    for kernel in kernels() {
        for options in [SpirvOptions::default(), checked, lowered(8), lowered(32)] {
            if kernel.needs_matrix() && options.emulated_subgroups.is_some() {
                continue;
            }
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
fn the_validator_rejects_invalid_modules() {
    let Some(validator) = require("spirv-val", tools::spirv_val()) else { return };
    let mut words = spirv(&kernels()[0], &SpirvOptions::default()).expect("valid");
    words.truncate(words.len() - 1);
    assert!(validator.accepts(&["--target-env", "vulkan1.1", "-"], &bytes(&words)).is_err());
}

#[test]
fn several_entry_points_share_one_module() {
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn first() { y[0] = 1u; }
@compute @workgroup_size(1) fn second() { y[0] = 2u; }";
    let compiled = Source::parse("two.wgsl", text, &[]).expect("valid");
    let words = compiled.spirv(&SpirvOptions::default()).expect("SPIR-V can express it");
    let entry_points = |words: &[u32]| {
        // The first word of an instruction has its length in the upper half and its opcode in the
        // lower half.
        let (mut at, mut count) = (5, 0);
        while at < words.len() {
            count += usize::from(words[at] & 0xffff == 15);
            at += (words[at] >> 16) as usize;
        }
        count
    };
    assert_eq!(entry_points(&words), 2);
}

/// The capabilities that a module declares, by number.
fn capabilities(words: &[u32]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut at = 5;
    while at < words.len() {
        if words[at] & 0xffff == 17 {
            found.push(words[at + 1]);
        }
        at += (words[at] >> 16) as usize;
    }
    found
}

#[test]
fn emulation_removes_all_subgroup_operations() {
    // GroupNonUniform and its extensions.
    let asks = |words: &[u32]| capabilities(words).iter().any(|capability| (61..=68).contains(capability));
    for kernel in kernels().iter().filter(|kernel| !kernel.needs_matrix()) {
        let native = spirv(kernel, &SpirvOptions::default()).expect("SPIR-V can express it");
        let options = SpirvOptions { emulated_subgroups: Some(32), ..SpirvOptions::default() };
        let lowered = spirv(kernel, &options).expect("SPIR-V can express it");
        assert!(!asks(&lowered), "{}", kernel.name());
        // A kernel without subgroup operations does not change.
        assert_eq!(asks(&native), native != lowered, "{}", kernel.name());
    }
}

#[test]
fn errors_name_the_operation_that_cannot_be_emulated() {
    let refused = |text: &str, size| {
        let compiled = Source::parse("some.wgsl", text, &[]).expect("valid");
        compiled.without_subgroups(size).map(drop).expect_err("refused").to_string()
    };
    let entry = "@compute @workgroup_size(64) fn main";
    let odd = refused(&format!("{entry}() {{ subgroupBarrier(); }}"), 24);
    assert!(odd.contains("some.wgsl: kernel `main`") && odd.contains("a subgroup size of 24"), "{odd}");
    let text = format!(
        "struct In {{ @builtin(subgroup_id) id: u32 }}
        @group(0) @binding(0) var<storage, read_write> y: array<u32>;
        {entry}(in: In) {{ y[0] = in.id; }}"
    );
    assert!(refused(&text, 8).contains("kernel `main` cannot be lowered to emulated subgroups: it has"));
    let matrix = kernels().iter().find(|kernel| kernel.needs_matrix()).expect("a kernel on matrix units");
    let message = matrix.module().expect("valid").without_subgroups(32).map(drop).expect_err("refused").to_string();
    assert!(message.contains(matrix.name()) && message.contains("matrices"), "{message}");
    // Workgroup memory that leaves no room for the emulation.
    let text = format!(
        "var<workgroup> all: array<u32, 4096>;
        @group(0) @binding(0) var<storage, read_write> y: array<u32>;
        {entry}(@builtin(local_invocation_index) i: u32) {{ all[i] = i; y[i] = subgroupAdd(all[63u - i]); }}"
    );
    assert!(refused(&text, 8).contains("`main` uses 16640 bytes of workgroup memory"));
}
