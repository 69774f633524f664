// y = random words by Philox 4x32-10, or random floats derived from them: elements 4 j to 4 j + 3
// use the counter + j and the key.

const WORDS = 0u;
const UNIFORM = 1u;
const NORMAL = 2u;

struct Params {
    count: u32,
    key: array<u32, 2>,
    counter: array<u32, 2>,
    form: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> y: array<u32>;

fn philox(start: vec4<u32>, start_key: vec2<u32>) -> vec4<u32> {
    var v = start;
    var key = start_key;
    for (var round_index = 0u; round_index < 10u; round_index += 1u) {
        let first = mul_wide(v.x, 0xd2511f53u);
        let second = mul_wide(v.z, 0xcd9e8d57u);
        v = vec4<u32>(second.y ^ v.y ^ key.x, second.x, first.y ^ v.w ^ key.y, first.x);
        key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    }
    return v;
}

fn unit_interval(v: u32) -> f32 {
    return f32(v >> 8u) * 0.000000059604644775390625;
}

// Two normally distributed numbers (mean 0, standard deviation 1) from two words, by Box-Muller.
fn normals(p: u32, q: u32) -> vec2<u32> {
    // Fractions from above zero to 1, whose logarithms are finite.
    let radius = sqrt(-2.0 * precise_log(f32((p >> 8u) + 1u) * 0.000000059604644775390625));
    let angle = 6.28318531 * unit_interval(q);
    return bitcast<vec2<u32>>(radius * vec2<f32>(shifted_sin(angle, 1), shifted_sin(angle, 0)));
}

@compute @workgroup_size(256)
fn random(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let blocks = params.count / 4u + select(0u, 1u, (params.count & 3u) != 0u);
    for (var i = id.x; i < blocks; i += groups.x * 256u) {
        let low = params.counter[0] + i;
        let high = params.counter[1] + select(0u, 1u, low < i);
        var words = philox(vec4<u32>(low, high, 0u, 0u), vec2<u32>(params.key[0], params.key[1]));
        switch params.form {
            case UNIFORM: {
                let pair = vec2<f32>(unit_interval(words.x), unit_interval(words.y));
                words = bitcast<vec4<u32>>(vec4<f32>(pair, unit_interval(words.z), unit_interval(words.w)));
            }
            case NORMAL: { words = vec4<u32>(normals(words.x, words.y), normals(words.z, words.w)); }
            default: {}
        }
        for (var j = 0u; j < 4u && 4u * i + j < params.count; j += 1u) {
            y[4u * i + j] = words[j];
        }
    }
}
