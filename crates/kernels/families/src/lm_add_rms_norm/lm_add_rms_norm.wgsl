// Adds the partial sums of a product to the residual stream, normalizes the rows, and writes them
// as f16 for the next product on matrix units. Fuses `lm_moe_combine`, `lm_rms_norm` and
// `lm_cast_f16`. One workgroup per row.

struct Params {
    rows: u32,
    columns: u32,
    x_stride: u32,
    used: u32,
    part_stride: u32,
    epsilon: f32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> parts: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<vec2<u32>>;

var<workgroup> sums: array<f32, 256>;

// Four vec4s, 256 apart.
struct Sixteen {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

// Indices past the end are clamped to the last.
fn places(at: u32, last: u32) -> vec4<u32> {
    return min(vec4<u32>(at, at + 256u, at + 512u, at + 768u), vec4<u32>(last));
}

fn of_row(at: vec4<u32>) -> Sixteen {
    return Sixteen(x[at.x], x[at.y], x[at.z], x[at.w]);
}

fn square(v: vec4<f32>, counts: bool) -> f32 {
    return select(0.0, dot(v, v), counts);
}

fn half_of(v: vec4<f32>, factor: vec4<f32>, scale: f32) -> vec2<u32> {
    let largest = vec4<f32>(65504.0);
    let it = clamp(v * scale * factor, -largest, largest);
    return vec2<u32>(pack2x16float(it.xy), pack2x16float(it.zw));
}

@compute @workgroup_size(256)
fn lm_add_rms_norm(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = min(group.x, params.rows - 1u);
    let fours = params.columns / 4u;
    let base = row * (params.x_stride / 4u);
    var squares = 0.0;
    for (var at = lane; at < fours; at += 1024u) {
        let place = places(at, fours - 1u);
        var it = of_row(place + vec4<u32>(base));
        let counts = vec4<u32>(at, at + 256u, at + 512u, at + 768u) < vec4<u32>(fours);
        if params.used != 0u {
            for (var i = 0u; i < params.used; i += 1u) {
                let part = place + vec4<u32>((row * params.used + i) * (params.part_stride / 4u));
                let a = parts[part.x];
                let b = parts[part.y];
                let c = parts[part.z];
                let d = parts[part.w];
                it = Sixteen(it.a + a, it.b + b, it.c + c, it.d + d);
            }
            x[base + at] = it.a;
            if counts.y {
                x[base + at + 256u] = it.b;
            }
            if counts.z {
                x[base + at + 512u] = it.c;
            }
            if counts.w {
                x[base + at + 768u] = it.d;
            }
        }
        squares += (square(it.a, true) + square(it.b, counts.y)) + (square(it.c, counts.z) + square(it.d, counts.w));
    }
    sums[lane] = squares;
    workgroupBarrier();
    for (var step = 128u; step > 0u; step = step / 2u) {
        if lane < step {
            sums[lane] += sums[lane + step];
        }
        workgroupBarrier();
    }
    let scale = 1.0 / sqrt(sums[0] / f32(params.columns) + params.epsilon);
    // No barrier: each invocation reads only what it has written.
    for (var at = lane; at < fours; at += 1024u) {
        let place = places(at, fours - 1u);
        let it = of_row(place + vec4<u32>(base));
        let near = half_of(it.a, weight[place.x], scale);
        let b = half_of(it.b, weight[place.y], scale);
        let c = half_of(it.c, weight[place.z], scale);
        let d = half_of(it.d, weight[place.w], scale);
        y[base + at] = near;
        if at + 256u < fours {
            y[base + at + 256u] = b;
        }
        if at + 512u < fours {
            y[base + at + 512u] = c;
        }
        if at + 768u < fours {
            y[base + at + 768u] = d;
        }
    }
}
