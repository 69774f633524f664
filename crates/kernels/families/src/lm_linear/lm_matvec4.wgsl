// y = W * x for a small batch of tokens; memory-bound: W is read once per four tokens.
//
// A workgroup of 128 computes eight rows: four teams of 32 invocations compute two rows each, and
// each invocation processes a group of 32 columns per step. Sums are reduced in workgroup memory at
// the end, without subgroups.

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

// Sums of two rows per invocation.
var<workgroup> partials: array<vec2<f32>, 128>;

// The eight vec4s of a row of x that a group of columns is multiplied with.
struct Eight {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
    e: vec4<f32>,
    f: vec4<f32>,
    g: vec4<f32>,
    h: vec4<f32>,
}

fn load_eight(at: u32) -> Eight {
    return Eight(x[at], x[at + 1u], x[at + 2u], x[at + 3u], x[at + 4u], x[at + 5u], x[at + 6u], x[at + 7u]);
}

// Sums of the first and of the last 16 columns of a group, for codes with an offset.
fn totals_of(v: Eight) -> vec2<f32> {
    if FORMAT == F32 || FORMAT == F16 || FORMAT == BF16 || FORMAT == Q8 || FORMAT == Q4_NL || FORMAT == Q4_E2M1 {
        return vec2<f32>();
    }
    let first = (v.a + v.b) + (v.c + v.d);
    let second = (v.e + v.f) + (v.g + v.h);
    return vec2<f32>((first.x + first.y) + (first.z + first.w), (second.x + second.y) + (second.z + second.w));
}

fn whole(four: vec4<u32>) -> vec4<f32> {
    return codes_of(0u, four.x, four.y, four.zw);
}

fn pair_dot(four: vec4<u32>, v: vec4<f32>, w: vec4<f32>) -> f32 {
    return dot(codes_of(0u, four.x, four.y, four.zw), v) + dot(codes_of(0u, four.z, four.w, four.xy), w);
}

fn word_dot(chunk: u32, word: u32, v: vec4<f32>) -> f32 {
    return dot(codes_of(chunk, word, word, vec2<u32>()), v);
}

// Codes of a group times x: the sums over the first and the last 16 columns.
fn products_of(group: u32, v: Eight) -> vec2<f32> {
    if FORMAT == F32 {
        let at = group * 8u;
        let first = (dot(whole(codes[at]), v.a) + dot(whole(codes[at + 1u]), v.b))
            + (dot(whole(codes[at + 2u]), v.c) + dot(whole(codes[at + 3u]), v.d));
        let second = (dot(whole(codes[at + 4u]), v.e) + dot(whole(codes[at + 5u]), v.f))
            + (dot(whole(codes[at + 6u]), v.g) + dot(whole(codes[at + 7u]), v.h));
        return vec2<f32>(first, second);
    }
    if FORMAT == F16 || FORMAT == BF16 {
        let at = group * 4u;
        let p = codes[at];
        let q = codes[at + 1u];
        let r = codes[at + 2u];
        let s = codes[at + 3u];
        return vec2<f32>(pair_dot(p, v.a, v.b) + pair_dot(q, v.c, v.d), pair_dot(r, v.e, v.f) + pair_dot(s, v.g, v.h));
    }
    if FORMAT == Q8 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        let p = codes[group * 2u];
        let q = codes[group * 2u + 1u];
        return vec2<f32>(
            (word_dot(0u, p.x, v.a) + word_dot(1u, p.y, v.b)) + (word_dot(2u, p.z, v.c) + word_dot(3u, p.w, v.d)),
            (word_dot(4u, q.x, v.e) + word_dot(5u, q.y, v.f)) + (word_dot(6u, q.z, v.g) + word_dot(7u, q.w, v.h)),
        );
    }
    let p = codes[group];
    return vec2<f32>(
        (word_dot(0u, p.x, v.a) + word_dot(1u, p.y, v.b)) + (word_dot(2u, p.z, v.c) + word_dot(3u, p.w, v.d)),
        (word_dot(4u, p.x, v.e) + word_dot(5u, p.y, v.f)) + (word_dot(6u, p.z, v.g) + word_dot(7u, p.w, v.h)),
    );
}

// A group of a row times x.
fn group_of(group: u32, v: Eight, totals: vec2<f32>) -> f32 {
    let products = products_of(group, v);
    let first = scale_of(group, 0u);
    if FORMAT == Q4_AFFINE16 || FORMAT == Q8_AFFINE16 {
        let second = scale_of(group, 1u);
        return (first.x * products.x + first.y * totals.x) + (second.x * products.y + second.y * totals.y);
    }
    return first.x * (products.x + products.y) + first.y * (totals.x + totals.y);
}

// Offset of a token's row of x in vec4s.
fn row_of(token: u32) -> u32 {
    return min(token, params.tokens - 1u) * (params.x_stride / 4u);
}

// Contribution of a group to the sums of two rows.
fn step(near: u32, far: u32, v: Eight) -> vec2<f32> {
    let totals = totals_of(v);
    return vec2<f32>(group_of(near, v, totals), group_of(far, v, totals));
}

// Reduces the sums of the teams and runs the epilogue of the tile.
fn meet(token: u32, tile: u32, lane: u32) {
    if lane < 4u && token < params.tokens {
        var sum = vec2<f32>();
        for (var i = 0u; i < 32u; i += 1u) {
            sum += partials[lane * 32u + i];
        }
        let row = tile + lane * 2u;
        if row < params.rows {
            if (params.flags & GATE) != 0u {
                finish_pair(token, row, sum);
            } else {
                finish(token, row, sum.x);
                if row + 1u < params.rows {
                    finish(token, row + 1u, sum.y);
                }
            }
        }
    }
}

@compute @workgroup_size(128)
fn lm_matvec4(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let width = params.columns / 32u;
    let token = group.y * 4u;
    let one = row_of(token);
    let two = row_of(token + 1u);
    let three = row_of(token + 2u);
    let four = row_of(token + 3u);
    for (var tile = group.x * 8u; tile < params.rows; tile += groups.x * 8u) {
        // Rows past the end are clamped to the last, and their results dropped.
        let row = tile + lane / 32u * 2u;
        let near = min(row, params.rows - 1u) * width;
        let far = min(row + 1u, params.rows - 1u) * width;
        var first = vec2<f32>();
        var second = vec2<f32>();
        var third = vec2<f32>();
        var fourth = vec2<f32>();
        for (var at = lane % 32u; at < width; at += 32u) {
            first += step(near + at, far + at, load_eight(one + at * 8u));
            second += step(near + at, far + at, load_eight(two + at * 8u));
            third += step(near + at, far + at, load_eight(three + at * 8u));
            fourth += step(near + at, far + at, load_eight(four + at * 8u));
        }
        partials[lane] = first;
        workgroupBarrier();
        meet(token, tile, lane);
        workgroupBarrier();
        partials[lane] = second;
        workgroupBarrier();
        meet(token + 1u, tile, lane);
        workgroupBarrier();
        partials[lane] = third;
        workgroupBarrier();
        meet(token + 2u, tile, lane);
        workgroupBarrier();
        partials[lane] = fourth;
        workgroupBarrier();
        meet(token + 3u, tile, lane);
        workgroupBarrier();
    }
}
