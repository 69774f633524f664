// y = W * x for one token; memory-bound: W is read once. The form of x (f32, or q8 for integer dot
// products) defines `X_TILE_SIZE`, `x_tile`, `load_x_tile`, `x_tile_index` and `unit_dot`.
//
// A workgroup of 128 computes eight rows: four teams of 32 invocations compute two rows each. An
// invocation has two units of each row in flight, 32 apart, so that the loads of a team coalesce.
// More of them take registers that more workgroups need. The first loads are issued before x is
// staged. Sums are reduced in workgroup memory, without subgroups. x passes through workgroup
// memory, where RMS norm may be fused to save a dispatch; the sums are multiplied by the inverse
// root mean square at the end. A part of x in workgroup memory has a multiple of 64 units.

// Number of vec4s of x that one unit of codes is multiplied with.
override UNIT_VEC4S: u32;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<Codes>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> experts: array<u32>;
@group(0) @binding(5) var<storage, read> norm: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

// Sums of two rows per invocation; then the totals of eight invocations.
var<workgroup> partials: array<vec2<f32>, 128>;
var<workgroup> reduced: array<vec2<f32>, 32>;
// Partial sums of squares of x, 16 of them.
var<workgroup> squares: array<vec4<f32>, 4>;

// A unit of codes of each of two rows, as loaded, with the words of their scales; the loads are in
// flight.
struct TwoRows {
    row0: vec4<u32>,
    row1: vec4<u32>,
    scale0: vec2<u32>,
    scale1: vec2<u32>,
}

// Index of the group of 32 columns that contains a unit.
fn group_of(unit: u32) -> u32 {
    return unit * UNIT_VEC4S / 8u;
}

// Past the end of a row its last unit is loaded again, and ignored.
fn load_rows(rows: vec2<u32>, at: u32, end: u32) -> TwoRows {
    let unit = rows + vec2<u32>(min(at, end - 1u));
    return TwoRows(load_unit(unit.x), load_unit(unit.y), scale_words(group_of(unit.x)), scale_words(group_of(unit.y)));
}

fn masked_square(v: vec4<f32>, i: u32, count: u32) -> f32 {
    return select(0.0, dot(v, v), i < count);
}

fn sum_components(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

// Contribution of a unit to the sums of two rows.
fn two_row_dot(pair: TwoRows, unit: u32, at: u32) -> vec2<f32> {
    return vec2<f32>(unit_dot(pair.row0, pair.scale0, unit, at), unit_dot(pair.row1, pair.scale1, unit, at));
}

// Offsets of an invocation's two rows. Rows past the end are clamped to the last, and their results
// dropped.
fn row_offsets(tile: u32, first_row: u32, units: u32, lane: u32) -> vec2<u32> {
    let row = vec2<u32>(tile + lane / 32u * 2u) + vec2<u32>(0u, 1u);
    return (vec2<u32>(first_row) + min(row, vec2<u32>(params.rows - 1u))) * vec2<u32>(units);
}

@compute @workgroup_size(128)
fn lm_matvec(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let token = group.y;
    let row_vec4s = params.columns / 4u;
    let units = row_vec4s / UNIT_VEC4S;
    let team_lane = lane % 32u;
    var first_row = 0u;
    if params.experts != 0u {
        first_row = min(experts[token], params.experts - 1u) * params.rows;
    }
    let x_row = min(token, params.tokens - 1u) / params.sharing * (params.x_stride / 4u);
    var factor = 1.0;
    var next_rows = row_offsets(group.x * 8u, first_row, units, lane);
    var next0 = load_rows(next_rows, team_lane, units);
    var next1 = load_rows(next_rows, team_lane + 32u, units);
    let grid = load_grid(lane);
    for (var tile = group.x * 8u; tile < params.rows; tile += groups.x * 8u) {
        let rows = next_rows;
        next_rows = row_offsets(tile + groups.x * 8u, first_row, units, lane);
        let is_first = tile == group.x * 8u;
        var sums = vec2<f32>();
        for (var start = 0u; start < row_vec4s; start += X_TILE_SIZE) {
            let count = min(row_vec4s - start, X_TILE_SIZE);
            // If x fits, all of it is staged once.
            if is_first || row_vec4s > X_TILE_SIZE {
                var square_sum = load_x_tile(x_row, start, count, lane);
                if (params.flags & NORM) != 0u && is_first && start == 0u {
                    for (var i = count + lane; i < row_vec4s; i += 128u) {
                        let v = x[x_row + i];
                        square_sum += dot(v, v);
                    }
                    partials[lane].x = square_sum;
                }
                if is_first && start == 0u {
                    stage_grid(grid, lane);
                }
                workgroupBarrier();
                if (params.flags & NORM) != 0u && is_first && start == 0u {
                    if lane < 16u {
                        let low = (partials[lane].x + partials[lane + 16u].x) + (partials[lane + 32u].x + partials[lane + 48u].x);
                        let high = (partials[lane + 64u].x + partials[lane + 80u].x) + (partials[lane + 96u].x + partials[lane + 112u].x);
                        squares[lane / 4u][lane % 4u] = low + high;
                    }
                    workgroupBarrier();
                }
            }
            let source = start / UNIT_VEC4S;
            let end = source + count / UNIT_VEC4S;
            for (var at = source + team_lane; at < end; at += 64u) {
                // Prefetches the next units: the rest of these rows, or the next ones.
                let same_rows = at + 64u < units;
                let load_from = select(next_rows, rows, same_rows);
                let load_at = select(team_lane, at + 64u, same_rows);
                let current0 = next0;
                next0 = load_rows(load_from, load_at, units);
                sums += two_row_dot(current0, at, x_tile_index(at - source));
                let current1 = next1;
                next1 = load_rows(load_from, load_at + 32u, units);
                if at + 32u < end {
                    sums += two_row_dot(current1, at + 32u, x_tile_index(at + 32u - source));
                }
            }
            if row_vec4s > X_TILE_SIZE {
                workgroupBarrier();
            }
        }
        if is_first && (params.flags & NORM) != 0u {
            let mean = sum_components((squares[0] + squares[1]) + (squares[2] + squares[3])) / f32(params.model_columns);
            factor = 1.0 / sqrt(mean + params.epsilon);
        }
        partials[lane] = sums;
        workgroupBarrier();
        if lane < 32u {
            let at = lane / 8u * 32u + lane % 8u;
            reduced[lane] = (partials[at] + partials[at + 8u]) + (partials[at + 16u] + partials[at + 24u]);
        }
        workgroupBarrier();
        if lane < 4u {
            let at = lane * 8u;
            let low = (reduced[at] + reduced[at + 1u]) + (reduced[at + 2u] + reduced[at + 3u]);
            let sum = (low + (reduced[at + 4u] + reduced[at + 5u]) + (reduced[at + 6u] + reduced[at + 7u])) * factor;
            let first = tile + lane * 2u;
            if first < params.rows {
                if (params.flags & GATE) != 0u {
                    epilogue_gated(token, first, first_row, sum);
                } else {
                    epilogue(token, first, first_row, sum.x);
                    if first + 1u < params.rows {
                        epilogue(token, first + 1u, first_row, sum.y);
                    }
                }
            }
        }
    }
}
