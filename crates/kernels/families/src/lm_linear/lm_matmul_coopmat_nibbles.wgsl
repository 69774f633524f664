// The product of `lm_matmul_coopmat32.wgsl` for formats of four bits, with longer reads of W.
//
// A workgroup of 128 computes TOKENS x 64 rows. A step has GROUPS groups of 32 columns, which as many
// adjacent invocations load, so that each row of W is read in runs of 16 * GROUPS bytes. The step
// has GROUPS / 2 parts of 64 columns: a part takes WORDS words of codes of each group, and
// dequantizes them to f16 in workgroup memory. x of the whole step is there too, in the same order.
//
// A word has four columns in its low nibbles and four in its high nibbles, 16 columns further on. So
// a part has these eight columns per word. Four adjacent columns are stored in the order 0, 2, 1, 3,
// as in `lm_matmul_coopmat32.wgsl`. Sums do not depend on the order.
//
// `lm_coopmat32_weights_quantized.wgsl` has the dequantization, and the files of tiles the loads of
// x. The next step is loaded while this one is multiplied.

enable f16;
enable wgpu_cooperative_matrix;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<Codes>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> tiles: array<u32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

const ROWS = 64u;
// Pitch of rows of the tiles in vec4s: padded by 8 elements against bank conflicts.
const PITCH = 18u;
// Sixteen rows.
const SIXTEEN = 288u;
// Subgroups along the rows; the two halves of a part are multiplied by different subgroups.
const ROW_SUBGROUPS = 2u;
// Words of a group per part.
const WORDS = 8u / GROUPS;
// Rows between those that an invocation loads.
const ROWS_APART = 128u / GROUPS;
// Vec4s of x in a part, padded against bank conflicts.
const X_PART = TOKENS * PITCH + 4u;

var<workgroup> x_tile: array<vec4<f16>, GROUPS / 2u * X_PART>;
var<workgroup> w_tile: array<vec4<f16>, ROWS * PITCH>;
// Two result matrices per subgroup.
var<workgroup> result: array<vec4<f32>, 512>;

// Index of the vec4 of x that an invocation stores, for the first of its tokens.
fn x_index(lane: u32) -> u32 {
    let vec = lane % (GROUPS * 8u);
    let within = vec / 8u * (2u * WORDS) + vec % WORDS * 2u + vec % 8u / 4u;
    return vec % 4u / WORDS * X_PART + lane / (GROUPS * 8u) * PITCH + within;
}

// The codes of a group and the words of its scales.
struct Group {
    codes: vec4<u32>,
    scales: vec2<u32>,
}

// The groups of an invocation; `c` and `d` only with eight groups per step.
struct StepGroups {
    a: Group,
    b: Group,
    c: Group,
    d: Group,
}

fn load_group(matrix: u32, row: u32, group: u32) -> Group {
    let at = group_index(matrix, row, group);
    return Group(load_unit(at), scale_words(at));
}

fn load_groups(matrix: u32, first_row: u32, step: u32, lane: u32) -> StepGroups {
    let row = first_row + lane / GROUPS;
    let group = step * GROUPS + lane % GROUPS;
    var groups: StepGroups;
    groups.a = load_group(matrix, row, group);
    groups.b = load_group(matrix, row + ROWS_APART, group);
    if GROUPS == 8u {
        groups.c = load_group(matrix, row + 2u * ROWS_APART, group);
        groups.d = load_group(matrix, row + 3u * ROWS_APART, group);
    }
    return groups;
}

// Scales and offsets of the halves of a group; the order depends on the invocation.
struct HalfScales {
    first: vec2<f32>,
    second: vec2<f32>,
}

struct StepScales {
    a: HalfScales,
    b: HalfScales,
    c: HalfScales,
    d: HalfScales,
}

fn half_scales(words: vec2<u32>, odd: u32) -> HalfScales {
    return HalfScales(decode_scale(words, odd), decode_scale(words, 1u - odd));
}

fn step_scales(groups: StepGroups, odd: u32) -> StepScales {
    return StepScales(
        half_scales(groups.a.scales, odd),
        half_scales(groups.b.scales, odd),
        half_scales(groups.c.scales, odd),
        half_scales(groups.d.scales, odd),
    );
}

// Stores eight weights. Some invocations store the high nibbles first, to avoid bank conflicts.
fn store_word(word: u32, s: HalfScales, to: u32, odd: u32) {
    w_tile[to + odd] = dequantize(odd * 4u, word, s.first);
    w_tile[to + 1u - odd] = dequantize(4u - odd * 4u, word, s.second);
}

fn store_words(codes: vec4<u32>, s: HalfScales, to: u32, odd: u32) {
    store_word(codes.x, s, to, odd);
    if WORDS == 2u {
        store_word(codes.y, s, to + 2u, odd);
    }
}

// Stores the first WORDS words of each group.
fn store_part(groups: StepGroups, s: StepScales, odd: u32, lane: u32) {
    let to = lane / GROUPS * PITCH + lane % GROUPS * (2u * WORDS);
    store_words(groups.a.codes, s.a, to, odd);
    store_words(groups.b.codes, s.b, to + ROWS_APART * PITCH, odd);
    if GROUPS == 8u {
        store_words(groups.c.codes, s.c, to + 2u * ROWS_APART * PITCH, odd);
        store_words(groups.d.codes, s.d, to + 3u * ROWS_APART * PITCH, odd);
    }
}

fn next_words(codes: vec4<u32>) -> vec4<u32> {
    if WORDS == 2u {
        return codes.zwxy;
    }
    return codes.yzwx;
}

fn next_part(in: StepGroups) -> StepGroups {
    var groups = in;
    groups.a.codes = next_words(groups.a.codes);
    groups.b.codes = next_words(groups.b.codes);
    if GROUPS == 8u {
        groups.c.codes = next_words(groups.c.codes);
        groups.d.codes = next_words(groups.d.codes);
    }
    return groups;
}

// Adds up the sums of sixteen tokens of the two subgroups that share rows; each invocation has two
// times four adjacent rows. `matrix` is the first row of the expert's matrix, or 0.
fn reduce_and_store(group: vec3<u32>, first_place: u32, matrix: u32, lane: u32) {
    for (var unit = lane; unit < ROWS * 4u; unit += ROWS * 2u) {
        let place = unit / (ROWS / 4u);
        let vec = unit % (ROWS / 4u);
        let at = vec / 8u * 128u + vec / 4u % 2u * 64u + place * 4u + vec % 4u;
        let token = tile_token(group.x, first_place + place);
        let row = group.y * ROWS + vec * 4u;
        if token < params.tokens && row < params.rows {
            let sums = result[at] + result[at + 128u * ROW_SUBGROUPS];
            let splits = select(params.sharing, 1u, params.experts != 0u);
            epilogue_vec4(token * splits + group.z, row, matrix, sums);
        }
    }
}

@compute @workgroup_size(128)
fn lm_matmul_coopmat_nibbles(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // The columns may be split over workgroups, in whole steps; each writes its partial sums as a
    // separate row.
    let steps = (params.columns + 32u * GROUPS - 1u) / (32u * GROUPS);
    let splits = select(params.sharing, 1u, params.experts != 0u);
    let steps_per_split = (steps + splits - 1u) / splits;
    let first_step = min(group.z * steps_per_split, steps);
    var end = min(first_step + steps_per_split, steps);
    if params.experts != 0u {
        // A tile without a pair has no steps. `tiles` is read here, because the kernel rules
        // count results of functions as different between invocations.
        end = select(first_step, end, tiles[group.x * (TOKENS + 1u) + 1u] < params.tokens);
    }
    let matrix = tile_first_row(group.x);
    let x_rows = x_rows_of(group.x, lane);
    let first_row = group.y * ROWS;
    let odd = lane / 8u % 2u;

    // The tile of this subgroup.
    let subgroup = lane / 32u;
    let x_start = subgroup / ROW_SUBGROUPS * 8u;
    let w_start = subgroup % ROW_SUBGROUPS * 2u * SIXTEEN + x_start;
    var s00 = coop_mat16x16<f32, C>();
    var s01 = coop_mat16x16<f32, C>();
    var s10 = coop_mat16x16<f32, C>();
    var s11 = coop_mat16x16<f32, C>();

    // After the last step there is nothing to prefetch; loading the last one again is harmless.
    let last = max(end, 1u) - 1u;
    var w_next = load_groups(matrix, first_row, min(first_step, last), lane);
    var x_next = load_x(x_rows, min(first_step, last), lane);
    for (var step = first_step; step < end; step += 1u) {
        var groups = w_next;
        let s = step_scales(groups, odd);
        workgroupBarrier();
        store_x(x_next, lane);
        w_next = load_groups(matrix, first_row, min(step + 1u, last), lane);
        x_next = load_x(x_rows, min(step + 1u, last), lane);
        for (var part = 0u; part < GROUPS / 2u; part += 1u) {
            workgroupBarrier();
            store_part(groups, s, odd, lane);
            groups = next_part(groups);
            workgroupBarrier();
            let x_at = part * X_PART + x_start;
            let w00 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start], PITCH);
            let w01 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + 4u], PITCH);
            let w10 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + SIXTEEN], PITCH);
            let w11 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + SIXTEEN + 4u], PITCH);
            let x00 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_at], PITCH);
            let x01 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_at + 4u], PITCH);
            s00 = coopMultiplyAdd(x00, w00, s00);
            s01 = coopMultiplyAdd(x00, w10, s01);
            s00 = coopMultiplyAdd(x01, w01, s00);
            s01 = coopMultiplyAdd(x01, w11, s01);
            if TOKENS == 32u {
                let x10 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_at + SIXTEEN], PITCH);
                let x11 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_at + SIXTEEN + 4u], PITCH);
                s10 = coopMultiplyAdd(x10, w00, s10);
                s11 = coopMultiplyAdd(x10, w10, s11);
                s10 = coopMultiplyAdd(x11, w01, s10);
                s11 = coopMultiplyAdd(x11, w11, s11);
            }
        }
    }

    let to = subgroup * 128u;
    coopStoreT(s00, &result[to], 4u);
    coopStoreT(s01, &result[to + 64u], 4u);
    workgroupBarrier();
    reduce_and_store(group, 0u, matrix, lane);
    if TOKENS == 32u {
        workgroupBarrier();
        coopStoreT(s10, &result[to], 4u);
        coopStoreT(s11, &result[to + 64u], 4u);
        workgroupBarrier();
        reduce_and_store(group, 16u, matrix, lane);
    }
}
