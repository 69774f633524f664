//! Breaks each kernel rule once and checks that the error names rule, file and line.

use roci_wgsl::rules::Rule;
use roci_wgsl::{Error, Source};

/// Checks that `text` breaks `rule` at the line marked with `// here`.
#[track_caller]
fn breaks(rule: Rule, text: &str) {
    let line = text.lines().position(|line| line.contains("// here")).map_or(1, |at| at as u32 + 1);
    let error = Source::parse("example.wgsl", text, &[]).expect_err("the rule is violated");
    match &error {
        Error::Rule { rule: got, line: at, .. } => assert_eq!((*got, *at), (rule, line), "{error}"),
        other => panic!("expected a violation of {rule}, got: {other}"),
    }
    let message = error.to_string();
    assert!(message.starts_with(&format!("example.wgsl:{line}: kernel rule `{rule}`: ")), "{message}");
}

#[track_caller]
fn holds(text: &str) {
    if let Err(error) = Source::parse("example.wgsl", text, &[]) {
        panic!("{error}");
    }
}

const BUFFER: &str = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;\n";

/// An entry point of 64 invocations with `body`, a buffer, constants and the usual built-ins.
fn kernel(body: &str) -> String {
    format!(
        "{BUFFER}struct Params {{ count: u32 }}
var<immediate> params: Params;
var<workgroup> memory: array<u32, 64>;
@compute @workgroup_size(64)
fn main(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {{
{body}
}}
"
    )
}

#[test]
fn enable_subgroups() {
    breaks(Rule::NoEnableSubgroups, "// a comment\nenable f16, subgroups; // here\n");
    holds("// enable subgroups;\n@compute @workgroup_size(1) fn main() {}");
}

#[test]
fn a_fragment_shader() {
    breaks(Rule::ComputeOnly, "@fragment fn main() {}\n");
}

#[test]
fn a_workgroup_pointer_as_argument() {
    breaks(
        Rule::NoWorkgroupPointers,
        "var<workgroup> memory: u32;
fn assign(p: ptr<workgroup, u32>) { *p = 1u; } // here
@compute @workgroup_size(1) fn main() { assign(&memory); }",
    );
}

#[test]
fn a_uniform_buffer() {
    breaks(
        Rule::StorageBuffersOnly,
        "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@group(0) @binding(1) var<uniform> x: vec4<u32>; // here
@compute @workgroup_size(1) fn main() { y[0] = x.x; }",
    );
}

#[test]
fn another_group() {
    breaks(
        Rule::GroupZero,
        "@group(1) @binding(0) var<storage, read_write> y: array<u32>; // here
@compute @workgroup_size(1) fn main() { y[0] = 1u; }",
    );
}

#[test]
fn a_gap_in_the_bindings() {
    breaks(
        Rule::DenseBindings,
        "@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>; // here
@compute @workgroup_size(1) fn main() { y[0] = x[0]; }",
    );
}

#[test]
fn two_constants_blocks() {
    // naga itself rejects two in one entry point, also by line; the rule is a fallback.
    let text = "struct A { v: u32 }
var<immediate> a: A;
var<immediate> b: A;
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn main() { y[0] = a.v + b.v; }";
    let error = Source::parse("example.wgsl", text, &[]).expect_err("two constants blocks");
    assert!(matches!(error, Error::Validate { .. } | Error::Rule { rule: Rule::OneConstantsBlock, .. }), "{error}");
    assert!(error.to_string().starts_with("example.wgsl:"), "{error}");
}

#[test]
fn constants_of_another_width() {
    let with = |member: &str| {
        format!(
            "enable f16;
struct Params {{ {member} }}
var<immediate> params: Params; // here
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn main() {{ y[0] = u32(params.v.x); }}"
        )
    };
    breaks(Rule::ConstantsOf32Bits, &with("v: vec2<f32>"));
    breaks(Rule::ConstantsOf32Bits, &with("v: array<vec4<u32>, 2>").replace(".v.x", ".v[0].x"));
    breaks(Rule::ConstantsOf32Bits, &with("v: u64").replace(".v.x", ".v"));
    breaks(Rule::ConstantsOf32Bits, &with("v: array<u32, 33>").replace(".v.x", ".v[0]"));
    breaks(
        Rule::ConstantsOf32Bits,
        &with("v: u32").replace("params: Params", "params: u32").replace("params.v.x", "params"),
    );
    holds(&with("v: array<u32, 32>").replace(".v.x", ".v[0]"));
}

#[test]
fn a_workgroup_that_is_too_large() {
    breaks(
        Rule::WorkgroupSize,
        &format!(
            "{BUFFER}@compute @workgroup_size(32, 33)
fn main() {{
    y[0] = 1u; // here
}}"
        ),
    );
}

#[test]
fn too_much_workgroup_memory() {
    breaks(
        Rule::WorkgroupMemory,
        &format!(
            "{BUFFER}var<workgroup> memory: array<u32, 4097>; // here
@compute @workgroup_size(1) fn main() {{ memory[0] = 1u; y[0] = memory[0]; }}"
        ),
    );
}

#[test]
fn a_barrier_after_a_divergent_return() {
    breaks(
        Rule::UniformControlFlow,
        &kernel("if id.x >= params.count { return; }\nmemory[lane] = 1u;\nworkgroupBarrier(); // here"),
    );
}

#[test]
fn a_subgroup_operation_in_a_divergent_branch() {
    breaks(Rule::UniformControlFlow, &kernel("if lane < 3u {\n y[id.x] = subgroupAdd(lane); // here\n}"));
}

#[test]
fn a_barrier_in_a_divergent_loop() {
    breaks(
        Rule::UniformControlFlow,
        &kernel("for (var i = lane; i < params.count; i += 64u) {\n workgroupBarrier(); // here\n}"),
    );
    breaks(Rule::UniformControlFlow, &kernel("loop {\n workgroupBarrier(); // here\n if y[lane] == 0u { break; }\n}"));
}

#[test]
fn a_barrier_in_a_divergent_call() {
    let text = kernel("if lane == 0u { wait(); }");
    breaks(Rule::UniformControlFlow, &format!("fn wait() {{\n workgroupBarrier(); // here\n}}\n{text}"));
}

#[test]
fn a_local_stored_in_a_divergent_branch() {
    breaks(
        Rule::UniformControlFlow,
        &kernel("var n = params.count;\nif lane == 0u { n = 1u; }\nif n > 3u {\n workgroupBarrier(); // here\n}"),
    );
}

#[test]
fn uniform_control_flow_is_accepted() {
    holds(&kernel(
        "for (var row = group.x; row < params.count; row += groups.x) {
    for (var c = lane; c < params.count; c += 64u) { if y[c] == 7u { break; } memory[lane] += y[c]; }
    workgroupBarrier();
    let all = subgroupAdd(memory[lane]);
    if lane == 0u { y[row] = all; }
    workgroupBarrier();
}",
    ));
    holds(&format!("fn wait(n: u32) {{ if n > 1u {{ workgroupBarrier(); }} }}\n{}", kernel("wait(params.count);")));
}

#[test]
fn array_length() {
    breaks(Rule::NoArrayLength, &kernel("if id.x < arrayLength(&y) { y[id.x] = 1u; } // here"));
    breaks(
        Rule::NoArrayLength,
        &format!(
            "fn size() -> u32 {{ return arrayLength(&y); }} // here
{}",
            kernel("y[id.x] = size();")
        ),
    );
    // Items that no entry point uses are removed before the check.
    holds(&format!("fn size() -> u32 {{ return arrayLength(&y); }}\n{}", kernel("y[id.x] = params.count;")));
}

#[test]
fn syntax_errors_have_file_line_and_carets() {
    let error = Source::parse("example.wgsl", "\nfn main( {}\n", &[]).expect_err("not WGSL");
    let message = error.to_string();
    assert!(message.starts_with("example.wgsl:2: not valid WGSL"), "{message}");
    assert!(message.contains("fn main( {}") && message.contains('^'), "{message}");
}

#[test]
fn type_errors_have_file_and_line() {
    let text = format!("{BUFFER}@compute @workgroup_size(1)\nfn main() {{\n    y[0] = 1.0f;\n}}");
    let message = Source::parse("example.wgsl", &text, &[]).expect_err("a float is not a u32").to_string();
    assert!(message.starts_with("example.wgsl:4: "), "{message}");
}

#[test]
fn eight_bit_and_double_types_do_not_exist() {
    for ty in ["u8", "f64"] {
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> y: array<{ty}>;
@compute @workgroup_size(1) fn main() {{ y[0] = y[1]; }}"
        );
        let error = Source::parse("example.wgsl", &text, &[]).expect_err(ty);
        assert!(matches!(error, Error::Parse { line: 1, .. } | Error::Validate { line: 1, .. }), "{error}");
    }
}

#[test]
fn overrides_must_fit_the_source() {
    let text = format!("override N: u32;\n{BUFFER}@compute @workgroup_size(1) fn main() {{ y[0] = N; }}");
    let missing = Source::parse("example.wgsl", &text, &[]).expect_err("N has no value").to_string();
    assert!(missing.contains('N') && missing.starts_with("example.wgsl: invalid override constants"), "{missing}");
    let unknown = Source::parse("example.wgsl", &text, &[("N", 1.0), ("M", 2.0)]).expect_err("no M").to_string();
    assert!(unknown.contains("'M'"), "{unknown}");
    assert!(Source::parse("example.wgsl", &text, &[("N", 1.0)]).is_ok());
}
