// y = W * x for a small batch of tokens by packed 8-bit dot products. x is quantized by
// `lm_quantize_i8`. Memory-bound: W is read once per eight tokens, and the workgroups of the next
// eight tokens follow at once, while it is in a cache.
//
// A workgroup of 128 has teams of 32, 64 or 128 invocations, each of which computes four rows. Each
// invocation processes a group of 32 columns per step. Codes become signed bytes once for all
// tokens. Sums are reduced in workgroup memory at the end, without subgroups. Larger teams give
// matrices with few rows more workgroups.
//
// A branch per token would make the loads of x wait for each other. Tokens past the end repeat the
// last one; their sums are not stored.

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<Codes>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> tiles: array<u32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

// Tokens of a tile.
const TOKENS = 8u;

// Sums of four rows of four tokens per invocation, and then of eight invocations.
var<workgroup> partials: array<vec4<f32>, 512>;
var<workgroup> reduced: array<vec4<f32>, 128>;

// A group of a row: codes as signed bytes, scale and offset of its halves.
struct RowGroup {
    low: vec4<u32>,
    high: vec4<u32>,
    low_scale: vec2<f32>,
    high_scale: vec2<f32>,
}

// A group of each of four rows.
struct FourRows {
    a: RowGroup,
    b: RowGroup,
    c: RowGroup,
    d: RowGroup,
}

// Four-bit codes, one per byte, as signed bytes.
fn signed_bytes(nibbles: u32) -> u32 {
    if has_codebook() {
        return pack4xI8(vec4<i32>(decode_codes(0u, nibbles, nibbles, vec2<u32>())));
    }
    return nibbles;
}

fn signed_vec4(nibbles: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(
        signed_bytes(nibbles.x),
        signed_bytes(nibbles.y),
        signed_bytes(nibbles.z),
        signed_bytes(nibbles.w),
    );
}

fn load_group(group: u32) -> RowGroup {
    let words = scale_words(group);
    var loaded: RowGroup;
    if has_byte_codes() {
        loaded.low = expand_unit(load_unit(group * 2u));
        loaded.high = expand_unit(load_unit(group * 2u + 1u));
    } else {
        let packed = load_unit(group);
        let mask = vec4<u32>(0x0f0f0f0fu);
        loaded.low = signed_vec4(packed & mask);
        loaded.high = signed_vec4((packed >> vec4<u32>(4u)) & mask);
    }
    loaded.low_scale = decode_scale(words, 0u);
    loaded.high_scale = decode_scale(words, 1u);
    return loaded;
}

fn dot_i8(a: vec4<u32>, b: vec4<u32>) -> i32 {
    return (dot4I8Packed(a.x, b.x) + dot4I8Packed(a.y, b.y)) + (dot4I8Packed(a.z, b.z) + dot4I8Packed(a.w, b.w));
}

// A group of a row times x; `x_scale` has the scale of x and its sums over the halves.
fn group_dot(row: RowGroup, low: vec4<u32>, high: vec4<u32>, x_scale: vec4<f32>) -> f32 {
    if has_half_scales() {
        let products = row.low_scale.x * f32(dot_i8(row.low, low)) + row.high_scale.x * f32(dot_i8(row.high, high));
        return x_scale.x * products + (row.low_scale.y * x_scale.y + row.high_scale.y * x_scale.z);
    }
    let products = x_scale.x * row.low_scale.x * f32(dot_i8(row.low, low) + dot_i8(row.high, high));
    if !has_offset() {
        return products;
    }
    return products + row.low_scale.y * (x_scale.y + x_scale.z);
}

// A group of four rows times x.
fn four_dots(rows: FourRows, at: u32) -> vec4<f32> {
    let low = x[at];
    let high = x[at + 1u];
    let x_scale = bitcast<vec4<f32>>(x[at + 2u]);
    return vec4<f32>(
        group_dot(rows.a, low, high, x_scale),
        group_dot(rows.b, low, high, x_scale),
        group_dot(rows.c, low, high, x_scale),
        group_dot(rows.d, low, high, x_scale),
    );
}

// Invocations that share four rows.
fn team_size() -> u32 {
    return 32u << (params.flags / TEAMS % 4u);
}

// Adds up the sums of eight invocations.
fn reduce(lane: u32) {
    let at = lane / 32u * 128u + lane / 8u % 4u * 32u + lane % 8u;
    reduced[lane] = (partials[at] + partials[at + 8u]) + (partials[at + 16u] + partials[at + 24u]);
}

// Adds up what `reduce` leaves and applies the epilogue to the tile, for four tokens. `matrix` is
// the first row of the expert's matrix, or 0.
fn store(group: vec3<u32>, first_place: u32, matrix: u32, lane: u32) {
    let team = team_size();
    let token = tile_token(group.x, first_place + lane / 8u % 4u);
    let pair = lane % 8u;
    let row = group.y * (512u / team) + pair * 2u;
    if lane < 32u && pair < 256u / team && token < params.tokens && row < params.rows {
        // Of each 32 invocations, eight sums are left.
        let start = lane / 8u * 32u + pair / 2u * (team / 4u);
        var sum = vec4<f32>();
        for (var at = start; at < start + team / 4u; at += 8u) {
            let low = (reduced[at] + reduced[at + 1u]) + (reduced[at + 2u] + reduced[at + 3u]);
            let high = (reduced[at + 4u] + reduced[at + 5u]) + (reduced[at + 6u] + reduced[at + 7u]);
            sum += low + high;
        }
        let sums = select(sum.xy, sum.zw, pair % 2u == 1u);
        if (params.flags & GATE) != 0u {
            epilogue_gated(token, row, matrix, sums);
        } else {
            epilogue(token, row, matrix, sums.x);
            if row + 1u < params.rows {
                epilogue(token, row + 1u, matrix, sums.y);
            }
        }
    }
}

@compute @workgroup_size(128)
fn lm_matvec8_i8(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let groups_per_row = params.columns / 32u;
    let matrix = tile_first_row(group.x);
    var count = 0u;
    for (var place = 0u; place < TOKENS; place += 1u) {
        count += select(0u, 1u, tile_token(group.x, place) < params.tokens);
    }
    let team = team_size();
    let first_row = group.y * (512u / team) + lane / team * 4u;
    // Rows past the end are clamped to the last, and their results dropped.
    let rows = vec4<u32>(first_row) + vec4<u32>(0u, 1u, 2u, 3u);
    let starts = (vec4<u32>(matrix) + min(rows, vec4<u32>(params.rows - 1u))) * vec4<u32>(groups_per_row);
    // Length of a row of x, in uvec4s.
    let pitch = groups_per_row * 3u;
    let x0 = tile_x_row(group.x, 0u) * pitch;
    let x1 = tile_x_row(group.x, 1u) * pitch;
    let x2 = tile_x_row(group.x, 2u) * pitch;
    let x3 = tile_x_row(group.x, 3u) * pitch;
    let x4 = tile_x_row(group.x, 4u) * pitch;
    let x5 = tile_x_row(group.x, 5u) * pitch;
    let x6 = tile_x_row(group.x, 6u) * pitch;
    let x7 = tile_x_row(group.x, 7u) * pitch;
    // A tile without a token has no columns.
    let end = select(0u, groups_per_row, count > 0u);
    var sums0 = vec4<f32>();
    var sums1 = vec4<f32>();
    var sums2 = vec4<f32>();
    var sums3 = vec4<f32>();
    var sums4 = vec4<f32>();
    var sums5 = vec4<f32>();
    var sums6 = vec4<f32>();
    var sums7 = vec4<f32>();
    stage_grid(load_grid(lane), lane);
    grid_barrier();
    for (var at = lane % team; at < end; at += team) {
        let four = FourRows(
            load_group(starts.x + at),
            load_group(starts.y + at),
            load_group(starts.z + at),
            load_group(starts.w + at),
        );
        let x_at = at * 3u;
        sums0 += four_dots(four, x0 + x_at);
        sums1 += four_dots(four, x1 + x_at);
        if count > 2u {
            sums2 += four_dots(four, x2 + x_at);
            sums3 += four_dots(four, x3 + x_at);
        }
        if count > 4u {
            sums4 += four_dots(four, x4 + x_at);
            sums5 += four_dots(four, x5 + x_at);
            sums6 += four_dots(four, x6 + x_at);
            sums7 += four_dots(four, x7 + x_at);
        }
    }
    partials[lane] = sums0;
    partials[lane + 128u] = sums1;
    partials[lane + 256u] = sums2;
    partials[lane + 384u] = sums3;
    workgroupBarrier();
    reduce(lane);
    workgroupBarrier();
    store(group, 0u, matrix, lane);
    // Also runs without a fifth token: PoCL miscompiles a barrier in a branch.
    partials[lane] = sums4;
    partials[lane + 128u] = sums5;
    partials[lane + 256u] = sums6;
    partials[lane + 384u] = sums7;
    workgroupBarrier();
    reduce(lane);
    workgroupBarrier();
    store(group, 4u, matrix, lane);
}
