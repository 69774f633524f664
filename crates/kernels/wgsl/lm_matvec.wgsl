// y = W * x for one or a few tokens. W is read once for `TOGETHER` tokens, and that is what takes the time.
//
// A workgroup of 128 computes eight rows: four teams of 32 invocations have two rows each, and each invocation takes a group of 32
// columns a step. No sub-groups: the sums meet in workgroup memory once.

override TOGETHER: u32;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> experts: array<u32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

// For each invocation the sums of two rows of up to four tokens.
var<workgroup> partials: array<vec2<f32>, 512>;

// The codes of a group, in as many fours of words as its format has.
struct Block {
    v: array<vec4<u32>, 8>,
}

fn load_block(group: u32) -> Block {
    var block = Block();
    if FORMAT == F32 {
        for (var i = 0u; i < 8u; i += 1u) {
            block.v[i] = codes[group * 8u + i];
        }
    } else if FORMAT == F16 || FORMAT == BF16 {
        for (var i = 0u; i < 4u; i += 1u) {
            block.v[i] = codes[group * 4u + i];
        }
    } else if FORMAT == Q8 || FORMAT == Q8_HALVES || FORMAT == Q8_WIDE {
        block.v[0] = codes[group * 2u];
        block.v[1] = codes[group * 2u + 1u];
    } else {
        block.v[0] = codes[group];
    }
    return block;
}

// Four codes of a group.
fn chunk_of(block: Block, chunk: u32) -> vec4<f32> {
    if FORMAT == F32 {
        let four = block.v[chunk];
        return codes_of(chunk, four.x, four.y, four.zw);
    }
    if FORMAT == F16 || FORMAT == BF16 {
        let four = block.v[chunk / 2u];
        let two = select(four.xy, four.zw, chunk % 2u == 1u);
        return codes_of(chunk, two.x, two.y, two);
    }
    if FORMAT == Q8 || FORMAT == Q8_HALVES || FORMAT == Q8_WIDE {
        let word = block.v[chunk / 4u][chunk % 4u];
        return codes_of(chunk, word, word, vec2<u32>());
    }
    let word = block.v[0][chunk % 4u];
    return codes_of(chunk, word, word, vec2<u32>());
}

@compute @workgroup_size(128)
fn lm_matvec(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let width = params.columns / 32u;
    let token = group.y * TOGETHER;
    let last = params.tokens - 1u;
    var first_row = 0u;
    if params.experts != 0u {
        first_row = min(experts[token], params.experts - 1u) * params.rows;
    }
    for (var tile = group.x * 8u; tile < params.rows; tile += groups.x * 8u) {
        // Rows and tokens behind the last are read as the last, and dropped at the end.
        let row = tile + lane / 32u * 2u;
        let near = (first_row + min(row, params.rows - 1u)) * width;
        let far = (first_row + min(row + 1u, params.rows - 1u)) * width;
        var sums = array<vec2<f32>, 4>();
        for (var at = lane % 32u; at < width; at += 32u) {
            let near_block = load_block(near + at);
            let far_block = load_block(far + at);
            for (var half = 0u; half < 2u; half += 1u) {
                var products = array<vec2<f32>, 4>();
                var totals = array<f32, 4>();
                for (var i = 0u; i < 4u; i += 1u) {
                    let chunk = half * 4u + i;
                    let a = chunk_of(near_block, chunk);
                    let b = chunk_of(far_block, chunk);
                    for (var t = 0u; t < TOGETHER; t += 1u) {
                        let base = min(token + t, last) / params.sharing * (params.x_stride / 4u);
                        let v = x[base + at * 8u + chunk];
                        products[t] += vec2<f32>(dot(a, v), dot(b, v));
                        totals[t] += (v.x + v.y) + (v.z + v.w);
                    }
                }
                let s = scale_of(near + at, half);
                let r = scale_of(far + at, half);
                for (var t = 0u; t < TOGETHER; t += 1u) {
                    sums[t] += vec2<f32>(s.x, r.x) * products[t] + vec2<f32>(s.y, r.y) * totals[t];
                }
            }
        }
        for (var t = 0u; t < TOGETHER; t += 1u) {
            partials[t * 128u + lane] = sums[t];
        }
        workgroupBarrier();
        if lane < TOGETHER * 4u && token + lane / 4u <= last {
            let to = token + lane / 4u;
            let team = lane % 4u;
            var sum = vec2<f32>();
            for (var i = 0u; i < 32u; i += 1u) {
                sum += partials[lane / 4u * 128u + team * 32u + i];
            }
            let result = tile + team * 2u;
            if result < params.rows {
                if (params.flags & GATE) != 0u {
                    finish_pair(to, result, sum);
                } else {
                    finish(to, result, sum.x);
                    if result + 1u < params.rows {
                        finish(to, result + 1u, sum.y);
                    }
                }
            }
        }
        workgroupBarrier();
    }
}
