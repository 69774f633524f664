// Flash attention of many tokens over the paged KV cache, on matrix units: products in f16, sums in
// f32. The cache is f16; heads are `LENGTH` long, 64 or 128. Needs subgroups of 32.
//
// A workgroup handles up to 64 rows: tokens of one sequence times the query heads that share a KV
// head. Two subgroups share 16 rows: each multiplies them with half of the 64 current keys, and the
// weights with half of the columns of the values. The operands of the next product are loaded while
// the current one runs.
//
// Accumulators in matrix units cannot be rescaled row by row when a row's maximum grows. Weights
// may be relative to any score near the maximum, so the sums pass through workgroup memory for
// rescaling only after it has grown by more than `SLACK`.

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
// Pitches in vec4s: rows of the tile and of the weights are padded by 8 elements against bank
// conflicts. Four invocations read each row of the scores.
const PITCH = 34u;
const W_PITCH = 18u;
const S_PITCH = 20u;
const LEAST = -3.0e38;
// e^10 is a third of the largest f16.
const SLACK = 10.0;

// First the queries, then the current keys or values.
var<workgroup> tile: array<vec4<f16>, 2176>;
// Scores, 64 per row.
var<workgroup> scores: array<vec4<f32>, 1280>;
var<workgroup> weights: array<vec4<f16>, 1152>;
// Row offsets of the current 64 keys and values, and of the next 64.
var<workgroup> lines: array<u32, 128>;
// Factors that rescale the sums; `raised[0]` is set if any factor is not one. The size of every
// variable is a multiple of 16 bytes, because matrix loads are 16 bytes wide and drivers may place
// variables next to each other.
var<workgroup> factors: array<f32, 64>;
var<workgroup> raised: array<u32, 4>;

// The range of keys that a row attends to.
struct View {
    begin: u32,
    end: u32,
}

// Vec4s that an invocation loads for the tile.
struct Brought {
    a: vec4<f16>,
    b: vec4<f16>,
    c: vec4<f16>,
    d: vec4<f16>,
    e: vec4<f16>,
    f: vec4<f16>,
    g: vec4<f16>,
    h: vec4<f16>,
}

// Four final scores: soft-capped, or the lowest value where the row does not attend to the key.
fn seen(four: vec4<f32>, position: u32, view: View) -> vec4<f32> {
    var v = four * params.scale;
    if params.soft_cap > 0.0 {
        // Clamped, because tanh overflows on some drivers.
        v = params.soft_cap * tanh(clamp(v / params.soft_cap, vec4<f32>(-15.0), vec4<f32>(15.0)));
    }
    let at = vec4<u32>(position) + vec4<u32>(0u, 1u, 2u, 3u);
    let inside = (at >= vec4<u32>(view.begin)) & (at < vec4<u32>(view.end));
    return select(vec4<f32>(LEAST), v, inside);
}

fn greatest_of(v: vec4<f32>) -> f32 {
    return max(max(v.x, v.y), max(v.z, v.w));
}

fn total_of(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

fn weight_of(score: vec4<f32>, top: f32) -> vec4<f32> {
    return select(vec4<f32>(), exp(score - top), score > vec4<f32>(LEAST));
}

// Row offset of a key.
fn line_of(position: u32, table: u32, head: u32) -> u32 {
    let page = inputs[table + position / params.page];
    return ((page * params.page + position % params.page) * params.kv_heads + head) * (LENGTH / 4u);
}


fn keys_at(first: u32, column: u32) -> Brought {
    let apart = 1024u / LENGTH;
    var brought: Brought;
    brought.a = keys[lines[first + 0u * apart] + column];
    brought.b = keys[lines[first + 1u * apart] + column];
    brought.c = keys[lines[first + 2u * apart] + column];
    brought.d = keys[lines[first + 3u * apart] + column];
    if LENGTH > 64u {
        brought.e = keys[lines[first + 4u * apart] + column];
        brought.f = keys[lines[first + 5u * apart] + column];
        brought.g = keys[lines[first + 6u * apart] + column];
        brought.h = keys[lines[first + 7u * apart] + column];
    }
    return brought;
}

fn values_at(first: u32, column: u32) -> Brought {
    let apart = 1024u / LENGTH;
    var brought: Brought;
    brought.a = values[lines[first + 0u * apart] + column];
    brought.b = values[lines[first + 1u * apart] + column];
    brought.c = values[lines[first + 2u * apart] + column];
    brought.d = values[lines[first + 3u * apart] + column];
    if LENGTH > 64u {
        brought.e = values[lines[first + 4u * apart] + column];
        brought.f = values[lines[first + 5u * apart] + column];
        brought.g = values[lines[first + 6u * apart] + column];
        brought.h = values[lines[first + 7u * apart] + column];
    }
    return brought;
}

fn put_tile(brought: Brought, row: u32, column: u32) {
    let apart = 1024u / LENGTH;
    let at = row * PITCH + column;
    tile[at + 0u * apart * PITCH] = brought.a;
    tile[at + 1u * apart * PITCH] = brought.b;
    tile[at + 2u * apart * PITCH] = brought.c;
    tile[at + 3u * apart * PITCH] = brought.d;
    if LENGTH > 64u {
        tile[at + 4u * apart * PITCH] = brought.e;
        tile[at + 5u * apart * PITCH] = brought.f;
        tile[at + 6u * apart * PITCH] = brought.g;
        tile[at + 7u * apart * PITCH] = brought.h;
    }
}

fn half_words(v: vec2<f32>) -> u32 {
    return pack2x16float(clamp(v, vec2<f32>(-65504.0), vec2<f32>(65504.0)));
}

// Writes 16 elements of a row. 64 are in workgroup memory: 32 of each half of the columns.
fn put(turn: u32, row: u32, at: u32, total: f32, part: u32) {
    let column = part / 2u * (LENGTH / 2u) + turn * 32u + part % 2u * 16u;
    for (var i = 0u; i < 4u; i += 1u) {
        let v = scores[row * S_PITCH + part * 4u + i] / total;
        let to = at + column + i * 4u;
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

@compute @workgroup_size(256)
fn lm_flash_attention(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
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
    // Whole tiles that contain a key to which some row attends.
    var begin = 0u;
    if params.window != 0u && first_position + 1u > params.window {
        begin = (first_position + 1u - params.window) / KEYS * KEYS;
    }
    let end = select(begin, last_position + 1u, rows > 0u);

    let fours = LENGTH / 4u;
    let bring_row = lane / fours;
    let bring_column = lane % fours;
    if lane < 2u * KEYS {
        lines[lane] = line_of(min(begin + lane, last_position), table, group.y);
    }
    if lane == 0u {
        raised[0] = 0u;
    }
    for (var i = lane; i < ROWS * fours; i += 256u) {
        let row = near + min(i / fours, last_row);
        let at = (first_token + row / shared_by) * params.q_stride + (group.y * shared_by + row % shared_by) * LENGTH + i % fours * 4u;
        tile[i / fours * PITCH + i % fours] = vec4<f16>(vec4<f32>(q[at], q[at + 1u], q[at + 2u], q[at + 3u]));
    }
    workgroupBarrier();
    var brought = keys_at(bring_row, bring_column);
    // Sixteen rows per two subgroups.
    let own = lane / 64u * 16u;
    let side = lane / 32u % 2u;
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

    // Four invocations per row of scores; each reads every fourth vec4.
    let row = own + lane % 64u / 4u;
    let part = lane % 4u;
    let row_token = first_token + (near + min(row, last_row)) / shared_by;
    let position = inputs[row_token];
    var view = View(0u, position + 1u);
    if params.window != 0u && position + 1u > params.window {
        view.begin = position + 1u - params.window;
    }
    let from_score = row * S_PITCH + part;
    let to_weight = row * W_PITCH + part;
    let key_from = side * 32u * PITCH;
    let value_from = side * (LENGTH / 8u);
    let to_score = own * S_PITCH + side * 8u;
    var top = LEAST;
    var total = 0.0;
    var o0 = coop_mat16x16<f32, C>();
    var o1 = coop_mat16x16<f32, C>();
    var o2 = coop_mat16x16<f32, C>();
    var o3 = coop_mat16x16<f32, C>();
    // Which half of `lines` belongs to the current keys.
    var slot = 0u;
    for (var first = begin; first < end; first += KEYS) {
        put_tile(brought, bring_row, bring_column);
        brought = values_at(slot + bring_row, bring_column);
        workgroupBarrier();
        var s0 = coop_mat16x16<f32, C>();
        var s1 = coop_mat16x16<f32, C>();
        s0 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 0u * PITCH + 0u], PITCH), s0);
        s1 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 16u * PITCH + 0u], PITCH), s1);
        s0 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 0u * PITCH + 4u], PITCH), s0);
        s1 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 16u * PITCH + 4u], PITCH), s1);
        s0 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 0u * PITCH + 8u], PITCH), s0);
        s1 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 16u * PITCH + 8u], PITCH), s1);
        s0 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 0u * PITCH + 12u], PITCH), s0);
        s1 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 16u * PITCH + 12u], PITCH), s1);
        if LENGTH > 64u {
            s0 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 0u * PITCH + 16u], PITCH), s0);
            s1 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 16u * PITCH + 16u], PITCH), s1);
            s0 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 0u * PITCH + 20u], PITCH), s0);
            s1 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 16u * PITCH + 20u], PITCH), s1);
            s0 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 0u * PITCH + 24u], PITCH), s0);
            s1 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 16u * PITCH + 24u], PITCH), s1);
            s0 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 0u * PITCH + 28u], PITCH), s0);
            s1 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[key_from + 16u * PITCH + 28u], PITCH), s1);
        }
        coopStoreT(s0, &scores[to_score], S_PITCH);
        coopStoreT(s1, &scores[to_score + 4u], S_PITCH);
        workgroupBarrier();
        put_tile(brought, bring_row, bring_column);
        brought = keys_at(64u - slot + bring_row, bring_column);
        let a = seen(scores[from_score], first + part * 4u, view);
        let b = seen(scores[from_score + 4u], first + part * 4u + 16u, view);
        let c = seen(scores[from_score + 8u], first + part * 4u + 32u, view);
        let d = seen(scores[from_score + 12u], first + part * 4u + 48u, view);
        var most = max(max(greatest_of(a), greatest_of(b)), max(greatest_of(c), greatest_of(d)));
        most = max(most, subgroupShuffleXor(most, 1u));
        most = max(most, subgroupShuffleXor(most, 2u));
        if most > top + SLACK {
            let factor = exp(top - most);
            total *= factor;
            factors[row] = factor;
            if top > LEAST {
                // All writers store the same value.
                raised[0] = 1u;
            }
            top = most;
        } else {
            factors[row] = 1.0;
        }
        let e = weight_of(a, top);
        let f = weight_of(b, top);
        let g = weight_of(c, top);
        let h = weight_of(d, top);
        total += (total_of(e) + total_of(f)) + (total_of(g) + total_of(h));
        weights[to_weight] = vec4<f16>(e);
        weights[to_weight + 4u] = vec4<f16>(f);
        weights[to_weight + 8u] = vec4<f16>(g);
        weights[to_weight + 12u] = vec4<f16>(h);
        // Needs a barrier before and after.
        if workgroupUniformLoad(&raised[0]) != 0u {
            coopStoreT(o0, &scores[to_score], S_PITCH);
            coopStoreT(o1, &scores[to_score + 4u], S_PITCH);
            workgroupBarrier();
            for (var i = 0u; i < 16u; i += 4u) {
                scores[from_score + i] *= factors[row];
            }
            workgroupBarrier();
            o0 = coopLoadT<coop_mat16x16<f32, C>>(&scores[to_score], S_PITCH);
            o1 = coopLoadT<coop_mat16x16<f32, C>>(&scores[to_score + 4u], S_PITCH);
            if LENGTH > 64u {
                workgroupBarrier();
                coopStoreT(o2, &scores[to_score], S_PITCH);
                coopStoreT(o3, &scores[to_score + 4u], S_PITCH);
                workgroupBarrier();
                for (var i = 0u; i < 16u; i += 4u) {
                    scores[from_score + i] *= factors[row];
                }
                workgroupBarrier();
                o2 = coopLoadT<coop_mat16x16<f32, C>>(&scores[to_score], S_PITCH);
                o3 = coopLoadT<coop_mat16x16<f32, C>>(&scores[to_score + 4u], S_PITCH);
            }
        }
        if lane == 0u {
            raised[0] = 0u;
        }
        if lane < KEYS {
            lines[slot + lane] = line_of(min(first + 2u * KEYS + lane, last_position), table, group.y);
        }
        slot = 64u - slot;
        let p0 = coopLoadT<coop_mat16x16<f16, A>>(&weights[own * W_PITCH + 0u], W_PITCH);
        let p1 = coopLoadT<coop_mat16x16<f16, A>>(&weights[own * W_PITCH + 4u], W_PITCH);
        let p2 = coopLoadT<coop_mat16x16<f16, A>>(&weights[own * W_PITCH + 8u], W_PITCH);
        let p3 = coopLoadT<coop_mat16x16<f16, A>>(&weights[own * W_PITCH + 12u], W_PITCH);
        o0 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 0u * PITCH + 0u], PITCH), o0);
        o0 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 16u * PITCH + 0u], PITCH), o0);
        o0 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 32u * PITCH + 0u], PITCH), o0);
        o0 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 48u * PITCH + 0u], PITCH), o0);
        o1 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 0u * PITCH + 4u], PITCH), o1);
        o1 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 16u * PITCH + 4u], PITCH), o1);
        o1 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 32u * PITCH + 4u], PITCH), o1);
        o1 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 48u * PITCH + 4u], PITCH), o1);
        if LENGTH > 64u {
            o2 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 0u * PITCH + 8u], PITCH), o2);
            o2 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 16u * PITCH + 8u], PITCH), o2);
            o2 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 32u * PITCH + 8u], PITCH), o2);
            o2 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 48u * PITCH + 8u], PITCH), o2);
            o3 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 0u * PITCH + 12u], PITCH), o3);
            o3 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 16u * PITCH + 12u], PITCH), o3);
            o3 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 32u * PITCH + 12u], PITCH), o3);
            o3 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[value_from + 48u * PITCH + 12u], PITCH), o3);
        }
        workgroupBarrier();
    }
    total += subgroupShuffleXor(total, 1u);
    total += subgroupShuffleXor(total, 2u);
    let head = group.y * shared_by + (first_row + row) % shared_by;
    let at = row_token * params.y_stride + head * LENGTH;
    coopStoreT(o0, &scores[to_score], S_PITCH);
    coopStoreT(o1, &scores[to_score + 4u], S_PITCH);
    workgroupBarrier();
    if row < rows {
        put(0u, row, at, total, part);
    }
    if LENGTH > 64u {
        workgroupBarrier();
        coopStoreT(o2, &scores[to_score], S_PITCH);
        coopStoreT(o3, &scores[to_score + 4u], S_PITCH);
        workgroupBarrier();
        if row < rows {
            put(1u, row, at, total, part);
        }
    }
}
