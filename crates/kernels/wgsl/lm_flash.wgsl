// Queries of many tokens against the keys and values in the pages of their text, on matrix units: products in f16, sums in f32. Keys and values
// are kept as 16-bit floats; heads are `LENGTH` long, 64 or 128. Needs sub-groups of 32.
//
// A workgroup of 128 has up to 64 rows: tokens of one text times the heads of queries that share a head of keys; a sub-group has 16 of them. It
// takes 64 keys at a time, twice: first the greatest score of each row is found, then weights and sums. Sums on matrix units cannot be
// multiplied row by row, as they would have to be if the greatest score were carried along.

enable f16;
enable wgpu_cooperative_matrix;

override LENGTH: u32;

struct Params {
    tokens: u32,
    blocks: u32,
    block: u32,
    heads: u32,
    kv_heads: u32,
    key_length: u32,
    value_length: u32,
    q_stride: u32,
    y_stride: u32,
    page: u32,
    splits: u32,
    scale: f32,
    soft_cap: f32,
    window: u32,
    packed: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> keys: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read> values: array<vec4<f16>>;
@group(0) @binding(4) var<storage, read_write> y: array<u32>;

const ROWS = 64u;
const KEYS = 64u;
// Fours between rows of the tile and of the weights: 8 elements more than a row has, so that rows start in different memory banks.
const PITCH = 34u;
const W_PITCH = 18u;
const S_PITCH = 17u;
const LEAST = -3.0e38;

// Queries at first, then the keys or values at hand.
var<workgroup> tile: array<vec4<f16>, 2176>;
// Scores, 64 for each row.
var<workgroup> scores: array<vec4<f32>, 1088>;
var<workgroup> weights: array<vec4<f16>, 1152>;
var<workgroup> lines: array<u32, 64>;

// What a row sees: keys from here to there.
struct View {
    begin: u32,
    end: u32,
}

// A four of scores as they are weighed: capped, and the least where the row does not see the key.
fn seen(four: vec4<f32>, position: u32, view: View) -> vec4<f32> {
    var v = four * params.scale;
    if params.soft_cap > 0.0 {
        // Limited, since some drivers' tanh overflows.
        v = params.soft_cap * tanh(clamp(v / params.soft_cap, vec4<f32>(-15.0), vec4<f32>(15.0)));
    }
    let at = vec4<u32>(position) + vec4<u32>(0u, 1u, 2u, 3u);
    let inside = (at >= vec4<u32>(view.begin)) & (at < vec4<u32>(view.end));
    return select(vec4<f32>(LEAST), v, inside);
}

fn greatest_of(v: vec4<f32>) -> f32 {
    return max(max(v.x, v.y), max(v.z, v.w));
}

// Where the lines of 64 keys and values begin.
fn find(first: u32, end: u32, table: u32, head: u32, lane: u32) {
    if lane < KEYS {
        let position = min(first + lane, end - 1u);
        let page = inputs[table + position / params.page];
        lines[lane] = ((page * params.page + position % params.page) * params.kv_heads + head) * (LENGTH / 4u);
    }
}

fn line_of(i: u32) -> u32 {
    return lines[i / (LENGTH / 4u)] + i % (LENGTH / 4u);
}

fn place(i: u32) -> u32 {
    return i / (LENGTH / 4u) * PITCH + i % (LENGTH / 4u);
}

// Brings the keys to the tile, eight fours at a time on their way together.
fn bring_keys(lane: u32) {
    for (var i = lane; i < KEYS * (LENGTH / 4u); i += 1024u) {
        let v0 = keys[line_of(i + 0u)];
        let v1 = keys[line_of(i + 128u)];
        let v2 = keys[line_of(i + 256u)];
        let v3 = keys[line_of(i + 384u)];
        let v4 = keys[line_of(i + 512u)];
        let v5 = keys[line_of(i + 640u)];
        let v6 = keys[line_of(i + 768u)];
        let v7 = keys[line_of(i + 896u)];
        tile[place(i + 0u)] = v0;
        tile[place(i + 128u)] = v1;
        tile[place(i + 256u)] = v2;
        tile[place(i + 384u)] = v3;
        tile[place(i + 512u)] = v4;
        tile[place(i + 640u)] = v5;
        tile[place(i + 768u)] = v6;
        tile[place(i + 896u)] = v7;
    }
}

// Brings the values to the tile, eight fours at a time on their way together.
fn bring_values(lane: u32) {
    for (var i = lane; i < KEYS * (LENGTH / 4u); i += 1024u) {
        let v0 = values[line_of(i + 0u)];
        let v1 = values[line_of(i + 128u)];
        let v2 = values[line_of(i + 256u)];
        let v3 = values[line_of(i + 384u)];
        let v4 = values[line_of(i + 512u)];
        let v5 = values[line_of(i + 640u)];
        let v6 = values[line_of(i + 768u)];
        let v7 = values[line_of(i + 896u)];
        tile[place(i + 0u)] = v0;
        tile[place(i + 128u)] = v1;
        tile[place(i + 256u)] = v2;
        tile[place(i + 384u)] = v3;
        tile[place(i + 512u)] = v4;
        tile[place(i + 640u)] = v5;
        tile[place(i + 768u)] = v6;
        tile[place(i + 896u)] = v7;
    }
}

fn half_words(v: vec2<f32>) -> u32 {
    return pack2x16float(clamp(v, vec2<f32>(-65504.0), vec2<f32>(65504.0)));
}

// Writes a part of the sums, of which each sub-group has put 64 columns to workgroup memory.
fn put(four: u32, own: u32, first_token: u32, first_row: u32, rows: u32, group: vec3<u32>, total: f32, lane: u32) {
    let shared_by = params.heads / params.kv_heads;
    let row = own + lane % 32u / 2u;
    if row < rows {
        let token = first_token + (first_row + row) / shared_by;
        let head = group.y * shared_by + (first_row + row) % shared_by;
        let at = token * params.y_stride + head * LENGTH + four * 4u + lane % 2u * 32u;
        for (var i = 0u; i < 8u; i += 1u) {
            let v = scores[row * S_PITCH + lane % 2u * 8u + i] / total;
            let to = at + i * 4u;
            if params.packed != 0u {
                y[to / 2u] = half_words(v.xy);
                y[to / 2u + 1u] = half_words(v.zw);
            } else {
                y[to] = bitcast<u32>(v.x);
                y[to + 1u] = bitcast<u32>(v.y);
                y[to + 2u] = bitcast<u32>(v.z);
                y[to + 3u] = bitcast<u32>(v.w);
            }
        }
    }
}

@compute @workgroup_size(128)
fn lm_flash(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let shared_by = params.heads / params.kv_heads;
    let groups = (params.block * shared_by + ROWS - 1u) / ROWS;
    let block = group.x / groups;
    let first_token = inputs[2u * params.tokens + 2u * block];
    let count = inputs[2u * params.tokens + 2u * block + 1u];
    let first_row = group.x % groups * ROWS;
    let rows = min(count * shared_by - min(first_row, count * shared_by), ROWS);
    let last_row = max(rows, 1u) - 1u;
    let table = inputs[params.tokens + first_token];
    let near = min(first_row, count * shared_by - 1u);
    let last_position = inputs[first_token + (near + last_row) / shared_by];
    let first_position = inputs[first_token + near / shared_by];
    // Whole tiles of keys, of which some row sees at least one.
    var begin = 0u;
    if params.window != 0u && first_position + 1u > params.window {
        begin = (first_position + 1u - params.window) / KEYS * KEYS;
    }
    let end = select(begin, last_position + 1u, rows > 0u);

    let fours = LENGTH / 4u;
    for (var i = lane; i < ROWS * fours; i += 128u) {
        let row = near + min(i / fours, last_row);
        let at = (first_token + row / shared_by) * params.q_stride + (group.y * shared_by + row % shared_by) * LENGTH + i % fours * 4u;
        tile[i / fours * PITCH + i % fours] = vec4<f16>(vec4<f32>(q[at], q[at + 1u], q[at + 2u], q[at + 3u]));
    }
    workgroupBarrier();
    let own = lane / 32u * 16u;
    let q_from = own * PITCH;
    let q0 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_from + 0u], PITCH);
    let q1 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_from + 4u], PITCH);
    let q2 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_from + 8u], PITCH);
    let q3 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_from + 12u], PITCH);
    let q4 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_from + 16u], PITCH);
    let q5 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_from + 20u], PITCH);
    let q6 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_from + 24u], PITCH);
    let q7 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_from + 28u], PITCH);
    workgroupBarrier();

    // Two invocations have a row of scores, each every other four of it.
    let row = own + lane % 32u / 2u;
    let position = inputs[first_token + (near + min(row, last_row)) / shared_by];
    var view = View(0u, position + 1u);
    if params.window != 0u && position + 1u > params.window {
        view.begin = position + 1u - params.window;
    }
    let from_score = row * S_PITCH + lane % 2u;
    var top = LEAST;
    for (var first = begin; first < end; first += KEYS) {
        find(first, end, table, group.y, lane);
        workgroupBarrier();
        bring_keys(lane);
        workgroupBarrier();
        var s0 = coop_mat16x16<f32, C>();
        var s1 = coop_mat16x16<f32, C>();
        var s2 = coop_mat16x16<f32, C>();
        var s3 = coop_mat16x16<f32, C>();
        s0 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 0u], PITCH), s0);
        s1 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 0u], PITCH), s1);
        s2 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 0u], PITCH), s2);
        s3 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 0u], PITCH), s3);
        s0 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 4u], PITCH), s0);
        s1 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 4u], PITCH), s1);
        s2 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 4u], PITCH), s2);
        s3 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 4u], PITCH), s3);
        s0 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 8u], PITCH), s0);
        s1 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 8u], PITCH), s1);
        s2 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 8u], PITCH), s2);
        s3 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 8u], PITCH), s3);
        s0 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 12u], PITCH), s0);
        s1 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 12u], PITCH), s1);
        s2 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 12u], PITCH), s2);
        s3 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 12u], PITCH), s3);
        if LENGTH > 64u {
            s0 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 16u], PITCH), s0);
            s1 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 16u], PITCH), s1);
            s2 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 16u], PITCH), s2);
            s3 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 16u], PITCH), s3);
            s0 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 20u], PITCH), s0);
            s1 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 20u], PITCH), s1);
            s2 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 20u], PITCH), s2);
            s3 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 20u], PITCH), s3);
            s0 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 24u], PITCH), s0);
            s1 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 24u], PITCH), s1);
            s2 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 24u], PITCH), s2);
            s3 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 24u], PITCH), s3);
            s0 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 28u], PITCH), s0);
            s1 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 28u], PITCH), s1);
            s2 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 28u], PITCH), s2);
            s3 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 28u], PITCH), s3);
        }
        coopStoreT(s0, &scores[own * S_PITCH + 0u], S_PITCH);
        coopStoreT(s1, &scores[own * S_PITCH + 4u], S_PITCH);
        coopStoreT(s2, &scores[own * S_PITCH + 8u], S_PITCH);
        coopStoreT(s3, &scores[own * S_PITCH + 12u], S_PITCH);
        workgroupBarrier();
        for (var i = 0u; i < 16u; i += 2u) {
            top = max(top, greatest_of(seen(scores[from_score + i], first + (lane % 2u + i) * 4u, view)));
        }
    }
    // The other half of the row's keys: by way of what is free now.
    workgroupBarrier();
    scores[lane].x = top;
    workgroupBarrier();
    top = max(top, scores[lane ^ 1u].x);
    workgroupBarrier();

    var o0 = coop_mat16x16<f32, C>();
    var o1 = coop_mat16x16<f32, C>();
    var o2 = coop_mat16x16<f32, C>();
    var o3 = coop_mat16x16<f32, C>();
    var o4 = coop_mat16x16<f32, C>();
    var o5 = coop_mat16x16<f32, C>();
    var o6 = coop_mat16x16<f32, C>();
    var o7 = coop_mat16x16<f32, C>();
    var total = 0.0;
    for (var first = begin; first < end; first += KEYS) {
        find(first, end, table, group.y, lane);
        workgroupBarrier();
        bring_keys(lane);
        workgroupBarrier();
        var s0 = coop_mat16x16<f32, C>();
        var s1 = coop_mat16x16<f32, C>();
        var s2 = coop_mat16x16<f32, C>();
        var s3 = coop_mat16x16<f32, C>();
        s0 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 0u], PITCH), s0);
        s1 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 0u], PITCH), s1);
        s2 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 0u], PITCH), s2);
        s3 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 0u], PITCH), s3);
        s0 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 4u], PITCH), s0);
        s1 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 4u], PITCH), s1);
        s2 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 4u], PITCH), s2);
        s3 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 4u], PITCH), s3);
        s0 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 8u], PITCH), s0);
        s1 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 8u], PITCH), s1);
        s2 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 8u], PITCH), s2);
        s3 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 8u], PITCH), s3);
        s0 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 12u], PITCH), s0);
        s1 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 12u], PITCH), s1);
        s2 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 12u], PITCH), s2);
        s3 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 12u], PITCH), s3);
        if LENGTH > 64u {
            s0 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 16u], PITCH), s0);
            s1 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 16u], PITCH), s1);
            s2 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 16u], PITCH), s2);
            s3 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 16u], PITCH), s3);
            s0 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 20u], PITCH), s0);
            s1 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 20u], PITCH), s1);
            s2 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 20u], PITCH), s2);
            s3 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 20u], PITCH), s3);
            s0 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 24u], PITCH), s0);
            s1 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 24u], PITCH), s1);
            s2 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 24u], PITCH), s2);
            s3 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 24u], PITCH), s3);
            s0 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 28u], PITCH), s0);
            s1 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 28u], PITCH), s1);
            s2 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 28u], PITCH), s2);
            s3 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 28u], PITCH), s3);
        }
        coopStoreT(s0, &scores[own * S_PITCH + 0u], S_PITCH);
        coopStoreT(s1, &scores[own * S_PITCH + 4u], S_PITCH);
        coopStoreT(s2, &scores[own * S_PITCH + 8u], S_PITCH);
        coopStoreT(s3, &scores[own * S_PITCH + 12u], S_PITCH);
        workgroupBarrier();
        bring_values(lane);
        for (var i = 0u; i < 16u; i += 2u) {
            let score = seen(scores[from_score + i], first + (lane % 2u + i) * 4u, view);
            let weight = select(vec4<f32>(), exp(score - top), score > vec4<f32>(LEAST));
            total += (weight.x + weight.y) + (weight.z + weight.w);
            weights[row * W_PITCH + lane % 2u + i] = vec4<f16>(weight);
        }
        workgroupBarrier();
        let p0 = coopLoadT<coop_mat16x16<f16, A>>(&weights[own * W_PITCH + 0u], W_PITCH);
        let p1 = coopLoadT<coop_mat16x16<f16, A>>(&weights[own * W_PITCH + 4u], W_PITCH);
        let p2 = coopLoadT<coop_mat16x16<f16, A>>(&weights[own * W_PITCH + 8u], W_PITCH);
        let p3 = coopLoadT<coop_mat16x16<f16, A>>(&weights[own * W_PITCH + 12u], W_PITCH);
        o0 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 0u], PITCH), o0);
        o0 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 0u], PITCH), o0);
        o0 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 0u], PITCH), o0);
        o0 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 0u], PITCH), o0);
        o1 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 4u], PITCH), o1);
        o1 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 4u], PITCH), o1);
        o1 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 4u], PITCH), o1);
        o1 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 4u], PITCH), o1);
        o2 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 8u], PITCH), o2);
        o2 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 8u], PITCH), o2);
        o2 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 8u], PITCH), o2);
        o2 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 8u], PITCH), o2);
        o3 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 12u], PITCH), o3);
        o3 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 12u], PITCH), o3);
        o3 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 12u], PITCH), o3);
        o3 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 12u], PITCH), o3);
        if LENGTH > 64u {
            o4 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 16u], PITCH), o4);
            o4 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 16u], PITCH), o4);
            o4 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 16u], PITCH), o4);
            o4 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 16u], PITCH), o4);
            o5 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 20u], PITCH), o5);
            o5 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 20u], PITCH), o5);
            o5 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 20u], PITCH), o5);
            o5 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 20u], PITCH), o5);
            o6 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 24u], PITCH), o6);
            o6 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 24u], PITCH), o6);
            o6 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 24u], PITCH), o6);
            o6 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 24u], PITCH), o6);
            o7 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[0u * PITCH + 28u], PITCH), o7);
            o7 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[16u * PITCH + 28u], PITCH), o7);
            o7 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[32u * PITCH + 28u], PITCH), o7);
            o7 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[48u * PITCH + 28u], PITCH), o7);
        }
        workgroupBarrier();
    }
    scores[lane].x = total;
    workgroupBarrier();
    total += scores[lane ^ 1u].x;
    workgroupBarrier();
    coopStoreT(o0, &scores[own * S_PITCH + 0u], S_PITCH);
    coopStoreT(o1, &scores[own * S_PITCH + 4u], S_PITCH);
    coopStoreT(o2, &scores[own * S_PITCH + 8u], S_PITCH);
    coopStoreT(o3, &scores[own * S_PITCH + 12u], S_PITCH);
    workgroupBarrier();
    put(0u, own, first_token, first_row, rows, group, total, lane);
    workgroupBarrier();
    if LENGTH > 64u {
        coopStoreT(o4, &scores[own * S_PITCH + 0u], S_PITCH);
        coopStoreT(o5, &scores[own * S_PITCH + 4u], S_PITCH);
        coopStoreT(o6, &scores[own * S_PITCH + 8u], S_PITCH);
        coopStoreT(o7, &scores[own * S_PITCH + 12u], S_PITCH);
        workgroupBarrier();
        put(16u, own, first_token, first_row, rows, group, total, lane);
    }
}
