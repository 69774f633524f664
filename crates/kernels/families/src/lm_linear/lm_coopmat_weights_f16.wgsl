// Weights stored as f16, for `lm_matmul_coopmat.wgsl`; appended to its source.

alias Codes = vec4<f16>;

// Vec4s of rows 16 apart: eight invocations load one group.
struct Group {
    a: vec4<f16>,
    b: vec4<f16>,
    c: vec4<f16>,
    d: vec4<f16>,
    e: vec4<f16>,
    f: vec4<f16>,
    g: vec4<f16>,
    h: vec4<f16>,
}

fn four(row: u32, group: u32, part: u32) -> vec4<f16> {
    return codes[(min(row, params.rows - 1u) * (params.columns / 32u) + group) * 8u + part];
}

fn fetch_w(first: u32, group: u32, lane: u32) -> Group {
    // This format has no scales. Adds a zero that depends on the binding, to keep it in the
    // interface.
    let row = first + spread(lane / 8u) + u32(scale_of(0u, 0u).y);
    let part = lane % 8u;
    return Group(
        four(row, group, part),
        four(row + 16u, group, part),
        four(row + 32u, group, part),
        four(row + 48u, group, part),
        four(row + 64u, group, part),
        four(row + 80u, group, part),
        four(row + 96u, group, part),
        four(row + 112u, group, part),
    );
}

fn put_w(it: Group, base: u32, lane: u32) {
    let to = base + spread(lane / 8u) * PITCH + lane % 8u;
    w_tile[to] = it.a;
    w_tile[to + 160u] = it.b;
    w_tile[to + 320u] = it.c;
    w_tile[to + 480u] = it.d;
    w_tile[to + 640u] = it.e;
    w_tile[to + 800u] = it.f;
    w_tile[to + 960u] = it.g;
    w_tile[to + 1120u] = it.h;
}
