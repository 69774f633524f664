// Weights stored as f16, for `lm_matmul_coopmat.wgsl`; appended to its source.

alias Codes = vec4<f16>;

// Vec4s of rows 16 apart: eight invocations load one group.
struct WElements {
    a: vec4<f16>,
    b: vec4<f16>,
    c: vec4<f16>,
    d: vec4<f16>,
    e: vec4<f16>,
    f: vec4<f16>,
    g: vec4<f16>,
    h: vec4<f16>,
}

fn load_vec4(row: u32, group: u32, column: u32) -> vec4<f16> {
    return codes[(min(row, params.rows - 1u) * (params.columns / 32u) + group) * 8u + column];
}

fn load_w(first: u32, group: u32, lane: u32) -> WElements {
    // This format has no scales. Adds a zero that depends on the binding, to keep it in the
    // interface.
    let row = first + swizzled_row(lane / 8u) + u32(load_scale(0u, 0u).y);
    let column = lane % 8u;
    return WElements(
        load_vec4(row, group, column),
        load_vec4(row + 16u, group, column),
        load_vec4(row + 32u, group, column),
        load_vec4(row + 48u, group, column),
        load_vec4(row + 64u, group, column),
        load_vec4(row + 80u, group, column),
        load_vec4(row + 96u, group, column),
        load_vec4(row + 112u, group, column),
    );
}

fn store_w(elements: WElements, base: u32, lane: u32) {
    let to = base + swizzled_row(lane / 8u) * PITCH + lane % 8u;
    w_tile[to] = elements.a;
    w_tile[to + 160u] = elements.b;
    w_tile[to + 320u] = elements.c;
    w_tile[to + 480u] = elements.d;
    w_tile[to + 640u] = elements.e;
    w_tile[to + 800u] = elements.f;
    w_tile[to + 960u] = elements.g;
    w_tile[to + 1120u] = elements.h;
}
