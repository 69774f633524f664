// y = W * x for one token; memory-bound: W is read once. The form of x (f32, or q8 for integer dot
// products) defines `STAGED`, `staged`, `stage`, `place` and `unit_of`.
//
// A workgroup of 128 computes eight rows: four teams of 32 invocations compute two rows each. An
// invocation loads three uvec4s of each row per step, 32 apart, so that the loads of a team
// coalesce. The first loads are issued before x is staged. Sums are reduced in workgroup memory,
// without subgroups. x passes through workgroup memory, where RMS norm may be fused to save a
// dispatch; the sums are multiplied by the inverse root mean square at the end.

// Number of vec4s of x that one uvec4 of codes is multiplied with: one unit.
override FOURS: u32;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> experts: array<u32>;
@group(0) @binding(5) var<storage, read> norm: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

// Sums of two rows per invocation; then the totals of eight invocations.
var<workgroup> partials: array<vec2<f32>, 128>;
var<workgroup> fewer: array<vec2<f32>, 32>;
// Partial sums of squares of x, 16 of them.
var<workgroup> squares: array<vec4<f32>, 4>;

// A uvec4 of codes of each of two rows, with the words of their scales, being loaded.
struct Held {
    near: vec4<u32>,
    far: vec4<u32>,
    near_scale: vec2<u32>,
    far_scale: vec2<u32>,
}

// Index of the group of 32 columns that contains a unit.
fn group_of(unit: u32) -> u32 {
    return unit * FOURS / 8u;
}

// Past the end of a row its last unit is loaded again, and ignored.
fn hold(rows: vec2<u32>, at: u32, end: u32) -> Held {
    let unit = rows + vec2<u32>(min(at, end - 1u));
    return Held(codes[unit.x], codes[unit.y], scale_words(group_of(unit.x)), scale_words(group_of(unit.y)));
}

fn square(v: vec4<f32>, i: u32, count: u32) -> f32 {
    return select(0.0, dot(v, v), i < count);
}

fn total(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

// Contribution of a unit to the sums of two rows.
fn both_of(it: Held, unit: u32, at: u32) -> vec2<f32> {
    return vec2<f32>(unit_of(it.near, it.near_scale, unit, at), unit_of(it.far, it.far_scale, unit, at));
}

// Offsets of an invocation's two rows. Rows past the end are clamped to the last, and their results
// dropped.
fn rows_of(tile: u32, first_row: u32, units: u32, lane: u32) -> vec2<u32> {
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
    let fours = params.columns / 4u;
    let units = fours / FOURS;
    let own = lane % 32u;
    var first_row = 0u;
    if params.experts != 0u {
        first_row = min(experts[token], params.experts - 1u) * params.rows;
    }
    let only = min(token, params.tokens - 1u) / params.sharing * (params.x_stride / 4u);
    var factor = 1.0;
    var next_rows = rows_of(group.x * 8u, first_row, units, lane);
    var held0 = hold(next_rows, own, units);
    var held1 = hold(next_rows, own + 32u, units);
    var held2 = hold(next_rows, own + 64u, units);
    for (var tile = group.x * 8u; tile < params.rows; tile += groups.x * 8u) {
        let rows = next_rows;
        next_rows = rows_of(tile + groups.x * 8u, first_row, units, lane);
        let is_first = tile == group.x * 8u;
        var sums = vec2<f32>();
        for (var start = 0u; start < fours; start += STAGED) {
            let count = min(fours - start, STAGED);
            // If x fits, all of it is staged once.
            if is_first || fours > STAGED {
                var mine = stage(only, start, count, lane);
                if (params.flags & NORM) != 0u && is_first && start == 0u {
                    for (var i = count + lane; i < fours; i += 128u) {
                        let v = x[only + i];
                        mine += dot(v, v);
                    }
                    partials[lane].x = mine;
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
            let source = start / FOURS;
            let end = source + count / FOURS;
            for (var at = source + own; at < end; at += 96u) {
                let now0 = held0;
                let now1 = held1;
                let now2 = held2;
                // Prefetches the next units: the rest of these rows, or the next ones.
                let on = at + 96u < units;
                let from_rows = select(next_rows, rows, on);
                let from_at = select(own, at + 96u, on);
                held0 = hold(from_rows, from_at, units);
                held1 = hold(from_rows, from_at + 32u, units);
                held2 = hold(from_rows, from_at + 64u, units);
                sums += both_of(now0, at, place(at - source));
                if at + 32u < end {
                    sums += both_of(now1, at + 32u, place(at + 32u - source));
                }
                if at + 64u < end {
                    sums += both_of(now2, at + 64u, place(at + 64u - source));
                }
            }
            if fours > STAGED {
                workgroupBarrier();
            }
        }
        if is_first && (params.flags & NORM) != 0u {
            let mean = total((squares[0] + squares[1]) + (squares[2] + squares[3])) / f32(params.model_columns);
            factor = 1.0 / sqrt(mean + params.epsilon);
        }
        partials[lane] = sums;
        workgroupBarrier();
        if lane < 32u {
            let at = lane / 8u * 32u + lane % 8u;
            fewer[lane] = (partials[at] + partials[at + 8u]) + (partials[at + 16u] + partials[at + 24u]);
        }
        workgroupBarrier();
        if lane < 4u {
            let at = lane * 8u;
            let low = (fewer[at] + fewer[at + 1u]) + (fewer[at + 2u] + fewer[at + 3u]);
            let sum = (low + (fewer[at + 4u] + fewer[at + 5u]) + (fewer[at + 6u] + fewer[at + 7u])) * factor;
            let first = tile + lane * 2u;
            if first < params.rows {
                if (params.flags & GATE) != 0u {
                    finish_pair(token, first, sum);
                } else {
                    finish(token, first, sum.x);
                    if first + 1u < params.rows {
                        finish(token, first + 1u, sum.y);
                    }
                }
            }
        }
    }
}
