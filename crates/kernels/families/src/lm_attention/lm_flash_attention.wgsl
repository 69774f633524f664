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
// rescaling only after it has grown by more than `RESCALE_THRESHOLD`.

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
    sinks: u32,
    chunk: u32,
    own: u32,
    after: u32,
    alibi_heads: u32,
    alibi: f32,
    values_in_keys: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> keys: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read> values: array<vec4<f16>>;
@group(0) @binding(4) var<storage, read> sinks: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<u32>;

const ROWS = 64u;
const KEYS = 64u;
// Pitches in vec4s: rows of the tile and of the weights are padded by 8 elements against bank
// conflicts. Four invocations read each row of the scores.
const PITCH = 34u;
const W_PITCH = 18u;
const S_PITCH = 20u;
const LOWEST = -3.0e38;
// e^10 is a third of the largest f16.
const RESCALE_THRESHOLD = 10.0;

// First the queries, then the current keys or values.
var<workgroup> tile: array<vec4<f16>, 2176>;
// Scores, 64 per row.
var<workgroup> scores: array<vec4<f32>, 1280>;
var<workgroup> weights: array<vec4<f16>, 1152>;
// Rows of the current 64 keys and values in the KV cache, and of the next 64.
var<workgroup> cache_rows: array<u32, 128>;
// Factors that rescale the sums; `raised[0]` is set if any factor is not one. The size of every
// variable is a multiple of 16 bytes, because matrix loads are 16 bytes wide and drivers may place
// variables next to each other.
var<workgroup> rescale: array<f32, 64>;
var<workgroup> needs_rescale: array<u32, 4>;

// The keys that a row attends to.
struct KeyRange {
    begin: u32,
    end: u32,
}

// The vec4s of the tile that an invocation loads.
struct TileElements {
    a: vec4<f16>,
    b: vec4<f16>,
    c: vec4<f16>,
    d: vec4<f16>,
    e: vec4<f16>,
    f: vec4<f16>,
    g: vec4<f16>,
    h: vec4<f16>,
}

// Four soft-capped scores; the lowest value where the key is masked for the row.
fn masked_scores(products: vec4<f32>, position: u32, visible: KeyRange) -> vec4<f32> {
    var v = products * params.scale;
    if params.soft_cap > 0.0 {
        // Clamped, because tanh overflows on some drivers.
        v = params.soft_cap * tanh(clamp(v / params.soft_cap, vec4<f32>(-15.0), vec4<f32>(15.0)));
    }
    let at = vec4<u32>(position) + vec4<u32>(0u, 1u, 2u, 3u);
    let is_visible = (at >= vec4<u32>(visible.begin)) & (at < vec4<u32>(visible.end));
    return select(vec4<f32>(LOWEST), v, is_visible);
}

fn max_component(v: vec4<f32>) -> f32 {
    return max(max(v.x, v.y), max(v.z, v.w));
}

fn sum_components(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

fn softmax_weights(score: vec4<f32>, row_max: f32) -> vec4<f32> {
    return select(vec4<f32>(), exp(score - row_max), score > vec4<f32>(LOWEST));
}

// Offset of a key in the KV cache, in vec4s.
fn cache_row_of(position: u32, table: u32, head: u32) -> u32 {
    let page = inputs[table + position / params.page];
    return ((page * params.page + position % params.page) * params.kv_heads + head) * (LENGTH / 4u);
}

fn load_keys(first: u32, column: u32) -> TileElements {
    let row_step = 1024u / LENGTH;
    var elements: TileElements;
    elements.a = keys[cache_rows[first + 0u * row_step] + column];
    elements.b = keys[cache_rows[first + 1u * row_step] + column];
    elements.c = keys[cache_rows[first + 2u * row_step] + column];
    elements.d = keys[cache_rows[first + 3u * row_step] + column];
    if LENGTH > 64u {
        elements.e = keys[cache_rows[first + 4u * row_step] + column];
        elements.f = keys[cache_rows[first + 5u * row_step] + column];
        elements.g = keys[cache_rows[first + 6u * row_step] + column];
        elements.h = keys[cache_rows[first + 7u * row_step] + column];
    }
    return elements;
}

fn load_values(first: u32, column: u32) -> TileElements {
    let row_step = 1024u / LENGTH;
    var elements: TileElements;
    elements.a = values[cache_rows[first + 0u * row_step] + column];
    elements.b = values[cache_rows[first + 1u * row_step] + column];
    elements.c = values[cache_rows[first + 2u * row_step] + column];
    elements.d = values[cache_rows[first + 3u * row_step] + column];
    if LENGTH > 64u {
        elements.e = values[cache_rows[first + 4u * row_step] + column];
        elements.f = values[cache_rows[first + 5u * row_step] + column];
        elements.g = values[cache_rows[first + 6u * row_step] + column];
        elements.h = values[cache_rows[first + 7u * row_step] + column];
    }
    return elements;
}

fn store_tile(elements: TileElements, row: u32, column: u32) {
    let row_step = 1024u / LENGTH;
    let at = row * PITCH + column;
    tile[at + 0u * row_step * PITCH] = elements.a;
    tile[at + 1u * row_step * PITCH] = elements.b;
    tile[at + 2u * row_step * PITCH] = elements.c;
    tile[at + 3u * row_step * PITCH] = elements.d;
    if LENGTH > 64u {
        tile[at + 4u * row_step * PITCH] = elements.e;
        tile[at + 5u * row_step * PITCH] = elements.f;
        tile[at + 6u * row_step * PITCH] = elements.g;
        tile[at + 7u * row_step * PITCH] = elements.h;
    }
}

fn pack_f16(v: vec2<f32>) -> u32 {
    return pack2x16float(clamp(v, vec2<f32>(-65504.0), vec2<f32>(65504.0)));
}

// Writes 16 elements of a row. Each pass has 64 of them in workgroup memory: 32 of each half of the
// columns.
fn store_output(pass_index: u32, row: u32, at: u32, weight_sum: f32, quarter: u32) {
    let column = quarter / 2u * (LENGTH / 2u) + pass_index * 32u + quarter % 2u * 16u;
    for (var i = 0u; i < 4u; i += 1u) {
        let v = scores[row * S_PITCH + quarter * 4u + i] / weight_sum;
        let to = at + column + i * 4u;
        if params.packed != 0u {
            y[to / 2u] = pack_f16(v.xy);
            y[to / 2u + 1u] = pack_f16(v.zw);
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
    let gqa_ratio = params.heads / params.kv_heads;
    let groups_per_block = (params.block * gqa_ratio + ROWS - 1u) / ROWS;
    let block = group.x / groups_per_block;
    let first_token = inputs[2u * params.tokens + 2u * block];
    let count = inputs[2u * params.tokens + 2u * block + 1u];
    let first_row = group.x % groups_per_block * ROWS;
    let rows = min(count * gqa_ratio - min(first_row, count * gqa_ratio), ROWS);
    let last_row = max(rows, 1u) - 1u;
    let table = inputs[params.tokens + first_token];
    let base_row = min(first_row, count * gqa_ratio - 1u);
    let last_position = inputs[first_token + (base_row + last_row) / gqa_ratio];
    let first_position = inputs[first_token + base_row / gqa_ratio];
    // Whole tiles that contain a key to which some row attends.
    var begin = 0u;
    if params.window != 0u && first_position + 1u > params.window {
        begin = (first_position + 1u - params.window) / KEYS * KEYS;
    }
    if params.chunk != 0u {
        // Avoids a division by zero in kernels that are specialized to this constant.
        begin = max(begin, first_position / max(params.chunk, 1u) * params.chunk / KEYS * KEYS);
    }
    let end = select(begin, last_position + 1u, rows > 0u);

    let row_vec4s = LENGTH / 4u;
    let load_row = lane / row_vec4s;
    let load_column = lane % row_vec4s;
    if lane < 2u * KEYS {
        cache_rows[lane] = cache_row_of(min(begin + lane, last_position), table, group.y);
    }
    if lane == 0u {
        needs_rescale[0] = 0u;
    }
    for (var i = lane; i < ROWS * row_vec4s; i += 256u) {
        let row = base_row + min(i / row_vec4s, last_row);
        let at = (first_token + row / gqa_ratio) * params.q_stride + (group.y * gqa_ratio + row % gqa_ratio) * LENGTH + i % row_vec4s * 4u;
        tile[i / row_vec4s * PITCH + i % row_vec4s] = vec4<f16>(vec4<f32>(q[at], q[at + 1u], q[at + 2u], q[at + 3u]));
    }
    workgroupBarrier();
    var next_elements = load_keys(load_row, load_column);
    // Sixteen rows per two subgroups.
    let tile_row = lane / 64u * 16u;
    let column_half = lane / 32u % 2u;
    let q_start = tile_row * PITCH;
    let q0 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_start + 0u], PITCH);
    let q1 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_start + 4u], PITCH);
    let q2 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_start + 8u], PITCH);
    let q3 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_start + 12u], PITCH);
    let q4 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_start + 16u], PITCH);
    let q5 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_start + 20u], PITCH);
    let q6 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_start + 24u], PITCH);
    let q7 = coopLoadT<coop_mat16x16<f16, A>>(&tile[q_start + 28u], PITCH);
    workgroupBarrier();

    // Four invocations per row of scores; each reads every fourth vec4.
    let row = tile_row + lane % 64u / 4u;
    let quarter = lane % 4u;
    let row_token = first_token + (base_row + min(row, last_row)) / gqa_ratio;
    let position = inputs[row_token];
    var visible = KeyRange(0u, position + 1u);
    if params.window != 0u && position + 1u > params.window {
        visible.begin = position + 1u - params.window;
    }
    if params.chunk != 0u {
        visible.begin = max(visible.begin, position / max(params.chunk, 1u) * params.chunk);
    }
    let score_at = row * S_PITCH + quarter;
    let weight_at = row * W_PITCH + quarter;
    let k_start = column_half * 32u * PITCH;
    let v_start = column_half * (LENGTH / 8u);
    let score_start = tile_row * S_PITCH + column_half * 8u;
    let head = group.y * gqa_ratio + (first_row + row) % gqa_ratio;
    var row_max = LOWEST;
    var weight_sum = 0.0;
    // An attention sink is a key whose value is zero. The sums of the four invocations are added.
    if params.sinks != 0u {
        row_max = sinks[head];
        weight_sum = select(0.0, 1.0, quarter == 0u);
    }
    var o0 = coop_mat16x16<f32, C>();
    var o1 = coop_mat16x16<f32, C>();
    var o2 = coop_mat16x16<f32, C>();
    var o3 = coop_mat16x16<f32, C>();
    // Which half of `cache_rows` belongs to the current keys.
    var slot = 0u;
    for (var first = begin; first < end; first += KEYS) {
        store_tile(next_elements, load_row, load_column);
        next_elements = load_values(slot + load_row, load_column);
        workgroupBarrier();
        var s0 = coop_mat16x16<f32, C>();
        var s1 = coop_mat16x16<f32, C>();
        s0 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 0u * PITCH + 0u], PITCH), s0);
        s1 = coopMultiplyAdd(q0, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 16u * PITCH + 0u], PITCH), s1);
        s0 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 0u * PITCH + 4u], PITCH), s0);
        s1 = coopMultiplyAdd(q1, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 16u * PITCH + 4u], PITCH), s1);
        s0 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 0u * PITCH + 8u], PITCH), s0);
        s1 = coopMultiplyAdd(q2, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 16u * PITCH + 8u], PITCH), s1);
        s0 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 0u * PITCH + 12u], PITCH), s0);
        s1 = coopMultiplyAdd(q3, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 16u * PITCH + 12u], PITCH), s1);
        if LENGTH > 64u {
            s0 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 0u * PITCH + 16u], PITCH), s0);
            s1 = coopMultiplyAdd(q4, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 16u * PITCH + 16u], PITCH), s1);
            s0 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 0u * PITCH + 20u], PITCH), s0);
            s1 = coopMultiplyAdd(q5, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 16u * PITCH + 20u], PITCH), s1);
            s0 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 0u * PITCH + 24u], PITCH), s0);
            s1 = coopMultiplyAdd(q6, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 16u * PITCH + 24u], PITCH), s1);
            s0 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 0u * PITCH + 28u], PITCH), s0);
            s1 = coopMultiplyAdd(q7, coopLoad<coop_mat16x16<f16, B>>(&tile[k_start + 16u * PITCH + 28u], PITCH), s1);
        }
        coopStoreT(s0, &scores[score_start], S_PITCH);
        coopStoreT(s1, &scores[score_start + 4u], S_PITCH);
        workgroupBarrier();
        store_tile(next_elements, load_row, load_column);
        next_elements = load_keys(64u - slot + load_row, load_column);
        let a = masked_scores(scores[score_at], first + quarter * 4u, visible);
        let b = masked_scores(scores[score_at + 4u], first + quarter * 4u + 16u, visible);
        let c = masked_scores(scores[score_at + 8u], first + quarter * 4u + 32u, visible);
        let d = masked_scores(scores[score_at + 12u], first + quarter * 4u + 48u, visible);
        var tile_max = max(max(max_component(a), max_component(b)), max(max_component(c), max_component(d)));
        tile_max = max(tile_max, subgroupShuffleXor(tile_max, 1u));
        tile_max = max(tile_max, subgroupShuffleXor(tile_max, 2u));
        if tile_max > row_max + RESCALE_THRESHOLD {
            let scale = exp(row_max - tile_max);
            weight_sum *= scale;
            rescale[row] = scale;
            if row_max > LOWEST {
                // All writers store the same value.
                needs_rescale[0] = 1u;
            }
            row_max = tile_max;
        } else {
            rescale[row] = 1.0;
        }
        let e = softmax_weights(a, row_max);
        let f = softmax_weights(b, row_max);
        let g = softmax_weights(c, row_max);
        let h = softmax_weights(d, row_max);
        weight_sum += (sum_components(e) + sum_components(f)) + (sum_components(g) + sum_components(h));
        weights[weight_at] = vec4<f16>(e);
        weights[weight_at + 4u] = vec4<f16>(f);
        weights[weight_at + 8u] = vec4<f16>(g);
        weights[weight_at + 12u] = vec4<f16>(h);
        // Needs a barrier before and after.
        if workgroupUniformLoad(&needs_rescale[0]) != 0u {
            coopStoreT(o0, &scores[score_start], S_PITCH);
            coopStoreT(o1, &scores[score_start + 4u], S_PITCH);
            workgroupBarrier();
            for (var i = 0u; i < 16u; i += 4u) {
                scores[score_at + i] *= rescale[row];
            }
            workgroupBarrier();
            o0 = coopLoadT<coop_mat16x16<f32, C>>(&scores[score_start], S_PITCH);
            o1 = coopLoadT<coop_mat16x16<f32, C>>(&scores[score_start + 4u], S_PITCH);
            if LENGTH > 64u {
                workgroupBarrier();
                coopStoreT(o2, &scores[score_start], S_PITCH);
                coopStoreT(o3, &scores[score_start + 4u], S_PITCH);
                workgroupBarrier();
                for (var i = 0u; i < 16u; i += 4u) {
                    scores[score_at + i] *= rescale[row];
                }
                workgroupBarrier();
                o2 = coopLoadT<coop_mat16x16<f32, C>>(&scores[score_start], S_PITCH);
                o3 = coopLoadT<coop_mat16x16<f32, C>>(&scores[score_start + 4u], S_PITCH);
            }
        }
        if lane == 0u {
            needs_rescale[0] = 0u;
        }
        if lane < KEYS {
            cache_rows[slot + lane] = cache_row_of(min(first + 2u * KEYS + lane, last_position), table, group.y);
        }
        slot = 64u - slot;
        let p0 = coopLoadT<coop_mat16x16<f16, A>>(&weights[tile_row * W_PITCH + 0u], W_PITCH);
        let p1 = coopLoadT<coop_mat16x16<f16, A>>(&weights[tile_row * W_PITCH + 4u], W_PITCH);
        let p2 = coopLoadT<coop_mat16x16<f16, A>>(&weights[tile_row * W_PITCH + 8u], W_PITCH);
        let p3 = coopLoadT<coop_mat16x16<f16, A>>(&weights[tile_row * W_PITCH + 12u], W_PITCH);
        o0 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 0u * PITCH + 0u], PITCH), o0);
        o0 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 16u * PITCH + 0u], PITCH), o0);
        o0 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 32u * PITCH + 0u], PITCH), o0);
        o0 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 48u * PITCH + 0u], PITCH), o0);
        o1 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 0u * PITCH + 4u], PITCH), o1);
        o1 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 16u * PITCH + 4u], PITCH), o1);
        o1 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 32u * PITCH + 4u], PITCH), o1);
        o1 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 48u * PITCH + 4u], PITCH), o1);
        if LENGTH > 64u {
            o2 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 0u * PITCH + 8u], PITCH), o2);
            o2 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 16u * PITCH + 8u], PITCH), o2);
            o2 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 32u * PITCH + 8u], PITCH), o2);
            o2 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 48u * PITCH + 8u], PITCH), o2);
            o3 = coopMultiplyAdd(p0, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 0u * PITCH + 12u], PITCH), o3);
            o3 = coopMultiplyAdd(p1, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 16u * PITCH + 12u], PITCH), o3);
            o3 = coopMultiplyAdd(p2, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 32u * PITCH + 12u], PITCH), o3);
            o3 = coopMultiplyAdd(p3, coopLoadT<coop_mat16x16<f16, B>>(&tile[v_start + 48u * PITCH + 12u], PITCH), o3);
        }
        workgroupBarrier();
    }
    weight_sum += subgroupShuffleXor(weight_sum, 1u);
    weight_sum += subgroupShuffleXor(weight_sum, 2u);
    let at = row_token * params.y_stride + head * LENGTH;
    coopStoreT(o0, &scores[score_start], S_PITCH);
    coopStoreT(o1, &scores[score_start + 4u], S_PITCH);
    workgroupBarrier();
    if row < rows {
        store_output(0u, row, at, weight_sum, quarter);
    }
    if LENGTH > 64u {
        workgroupBarrier();
        coopStoreT(o2, &scores[score_start], S_PITCH);
        coopStoreT(o3, &scores[score_start + 4u], S_PITCH);
        workgroupBarrier();
        if row < rows {
            store_output(1u, row, at, weight_sum, quarter);
        }
    }
}
