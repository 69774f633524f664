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
var<workgroup> totals: array<vec4<f32>, 4>;

// Four vec4s, 256 apart.
struct RowElements {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

// Indices past the end are clamped to the last.
fn clamped_indices(at: u32, last: u32) -> vec4<u32> {
    return min(vec4<u32>(at, at + 256u, at + 512u, at + 768u), vec4<u32>(last));
}

fn load_row(at: vec4<u32>) -> RowElements {
    return RowElements(x[at.x], x[at.y], x[at.z], x[at.w]);
}

fn masked_square(v: vec4<f32>, is_valid: bool) -> f32 {
    return select(0.0, dot(v, v), is_valid);
}

fn normalized_f16(v: vec4<f32>, weights: vec4<f32>, scale: f32) -> vec2<u32> {
    let f16_max = vec4<f32>(65504.0);
    let normalized = clamp(v * scale * weights, -f16_max, f16_max);
    return vec2<u32>(pack2x16float(normalized.xy), pack2x16float(normalized.zw));
}

@compute @workgroup_size(256)
fn lm_add_rms_norm(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = min(group.x, params.rows - 1u);
    let vec4s = params.columns / 4u;
    let base = row * (params.x_stride / 4u);
    // The first values that the second pass reads: loaded early, or still in registers.
    let first = clamped_indices(lane, vec4s - 1u);
    let weights = RowElements(weight[first.x], weight[first.y], weight[first.z], weight[first.w]);
    var kept: RowElements;
    var squares = 0.0;
    for (var at = lane; at < vec4s; at += 1024u) {
        let indices = clamped_indices(at, vec4s - 1u);
        var v = load_row(indices + vec4<u32>(base));
        let in_row = vec4<u32>(at, at + 256u, at + 512u, at + 768u) < vec4<u32>(vec4s);
        if params.used != 0u {
            for (var i = 0u; i < params.used; i += 1u) {
                let part = indices + vec4<u32>((row * params.used + i) * (params.part_stride / 4u));
                let a = parts[part.x];
                let b = parts[part.y];
                let c = parts[part.z];
                let d = parts[part.w];
                v = RowElements(v.a + a, v.b + b, v.c + c, v.d + d);
            }
            x[base + at] = v.a;
            if in_row.y {
                x[base + at + 256u] = v.b;
            }
            if in_row.z {
                x[base + at + 512u] = v.c;
            }
            if in_row.w {
                x[base + at + 768u] = v.d;
            }
        }
        if at == lane {
            kept = v;
        }
        squares += (masked_square(v.a, true) + masked_square(v.b, in_row.y))
            + (masked_square(v.c, in_row.z) + masked_square(v.d, in_row.w));
    }
    sums[lane] = squares;
    workgroupBarrier();
    if lane < 16u {
        var sum = 0.0;
        for (var i = 0u; i < 16u; i += 1u) {
            sum += sums[lane + 16u * i];
        }
        totals[lane / 4u][lane % 4u] = sum;
    }
    workgroupBarrier();
    let total = (totals[0] + totals[1]) + (totals[2] + totals[3]);
    let scale = 1.0 / sqrt(((total.x + total.y) + (total.z + total.w)) / f32(params.columns) + params.epsilon);
    // No barrier: each invocation reads only what it has written.
    for (var at = lane; at < vec4s; at += 1024u) {
        var v = kept;
        var w = weights;
        if at != lane {
            let indices = clamped_indices(at, vec4s - 1u);
            v = load_row(indices + vec4<u32>(base));
            w = RowElements(weight[indices.x], weight[indices.y], weight[indices.z], weight[indices.w]);
        }
        let a = normalized_f16(v.a, w.a, scale);
        let b = normalized_f16(v.b, w.b, scale);
        let c = normalized_f16(v.c, w.c, scale);
        let d = normalized_f16(v.d, w.d, scale);
        y[base + at] = a;
        if at + 256u < vec4s {
            y[base + at + 256u] = b;
        }
        if at + 512u < vec4s {
            y[base + at + 512u] = c;
        }
        if at + 768u < vec4s {
            y[base + at + 768u] = d;
        }
    }
}
