// Embedding rows of the tokens as f32. An invocation writes four elements; columns past the last
// are zero.

struct Params {
    tokens: u32,
    columns: u32,
    rows: u32,
    first: u32,
    y_stride: u32,
    factor: f32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> codes: array<u32>;
@group(0) @binding(2) var<storage, read> scales: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;

fn load_embedding(row: u32, column: u32) -> vec4<f32> {
    let chunk = column % 8u;
    let group = row * (params.columns / 32u) + column / 8u;
    // Float formats have a scale of one.
    let scale = load_scale(group, 0u);
    if FORMAT == F32 {
        let at = group * 32u + chunk * 4u;
        return decode_codes(0u, codes[at], codes[at + 1u], vec2<u32>(codes[at + 2u], codes[at + 3u])) * scale.x;
    }
    if FORMAT == F16 || FORMAT == BF16 {
        let at = group * 16u + chunk * 2u;
        return decode_codes(0u, codes[at], codes[at + 1u], vec2<u32>()) * scale.x;
    }
    let at = select(group * 4u + chunk % 4u, group * 8u + chunk, FORMAT == Q8);
    return decode_codes(chunk, codes[at], 0u, vec2<u32>()) * scale.x + vec4<f32>(scale.y);
}

@compute @workgroup_size(256)
fn lm_embed(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let column = group.x * 256u + lane;
    if column * 4u >= params.y_stride {
        return;
    }
    var v = vec4<f32>();
    if column * 4u < params.columns {
        let row = min(inputs[params.first + group.y], params.rows - 1u);
        v = load_embedding(row, column) * params.factor;
    }
    y[group.y * (params.y_stride / 4u) + column] = v;
}
