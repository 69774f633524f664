// y = W * x for one token with float weights; memory-bound: W is read once.
//
// A workgroup of 128 computes eight consecutive rows. An invocation loads one uvec4 of each row per
// step, 128 apart, so that the loads of the workgroup coalesce, and the next ones are prefetched. x
// is read through the caches. RMS norm may be fused, which saves a dispatch; the sums are
// multiplied by the inverse root mean square at the end.

// Number of vec4s of x that one uvec4 of weights is multiplied with.
override FOURS: u32;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> experts: array<u32>;
@group(0) @binding(5) var<storage, read> norm: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

const ROWS = 8u;
const LANES = 128u;

// The sums of eight rows per invocation, followed by their sums of squares of x. Rows are padded by
// four against bank conflicts.
var<workgroup> partials: array<f32, 1188>;
var<workgroup> fewer: array<f32, 144>;

// A uvec4 of each row.
struct Eight {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
    e: vec4<u32>,
    f: vec4<u32>,
    g: vec4<u32>,
    h: vec4<u32>,
}

// The elements of x that a uvec4 of weights is multiplied with.
struct Part {
    low: vec4<f32>,
    high: vec4<f32>,
    squares: f32,
}

// Rows past the end are clamped to the last, and their results dropped; so are units past the end
// of a row.
fn code_at(row: u32, unit: u32, first_row: u32, units: u32) -> vec4<u32> {
    return codes[(first_row + min(row, params.rows - 1u)) * units + unit];
}

fn hold(tile: u32, at: u32, first_row: u32, units: u32) -> Eight {
    let unit = min(at, units - 1u);
    return Eight(
        code_at(tile, unit, first_row, units),
        code_at(tile + 1u, unit, first_row, units),
        code_at(tile + 2u, unit, first_row, units),
        code_at(tile + 3u, unit, first_row, units),
        code_at(tile + 4u, unit, first_row, units),
        code_at(tile + 5u, unit, first_row, units),
        code_at(tile + 6u, unit, first_row, units),
        code_at(tile + 7u, unit, first_row, units),
    );
}

// Zero past the end of x.
fn part_of(start: u32, at: u32, units: u32) -> Part {
    let near = min(at, units - 1u) * FOURS;
    let far = near + FOURS - 1u;
    var low = select(vec4<f32>(), x[start + near], at < units);
    var high = select(vec4<f32>(), x[start + far], at < units);
    var squares = 0.0;
    if (params.flags & NORM) != 0u {
        squares = dot(low, low) + select(0.0, dot(high, high), FOURS == 2u);
        low *= norm[near];
        high *= norm[far];
    }
    return Part(low, high, squares);
}

fn times(code: vec4<u32>, part: Part) -> f32 {
    if FORMAT == F32 {
        return dot(codes_of(0u, code.x, code.y, code.zw), part.low);
    }
    let low = dot(codes_of(0u, code.x, code.y, code.zw), part.low);
    return low + dot(codes_of(0u, code.z, code.w, code.xy), part.high);
}

fn total(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

// The total of 16 invocations for a row.
fn sum_of(row: u32) -> f32 {
    var sum = vec4<f32>();
    for (var i = row * 16u; i < row * 16u + 16u; i += 4u) {
        sum += vec4<f32>(fewer[i], fewer[i + 1u], fewer[i + 2u], fewer[i + 3u]);
    }
    return total(sum);
}

@compute @workgroup_size(128)
fn lm_matvec_float(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let token = group.y;
    let units = params.columns / 4u / FOURS;
    var first_row = 0u;
    if params.experts != 0u {
        first_row = min(experts[token], params.experts - 1u) * params.rows;
    }
    let start = min(token, params.tokens - 1u) / params.sharing * (params.x_stride / 4u);
    // These formats have no scales. Multiplies by a one that depends on the binding, to keep it in
    // the interface.
    let one = scale_from(scale_words(0u), 0u).x;
    var held = hold(group.x * ROWS, lane, first_row, units);
    var part_held = part_of(start, lane, units);
    for (var tile = group.x * ROWS; tile < params.rows; tile += groups.x * ROWS) {
        var low = vec4<f32>();
        var high = vec4<f32>();
        var squares = 0.0;
        for (var at = lane; at < units + lane; at += LANES) {
            let now = held;
            let part = part_held;
            // Prefetches the next units: the rest of these rows, or the next ones.
            let on = at + LANES < units + lane;
            let from_tile = select(tile + groups.x * ROWS, tile, on);
            let from_at = select(lane, at + LANES, on);
            held = hold(from_tile, from_at, first_row, units);
            part_held = part_of(start, from_at, units);
            low += vec4<f32>(times(now.a, part), times(now.b, part), times(now.c, part), times(now.d, part));
            high += vec4<f32>(times(now.e, part), times(now.f, part), times(now.g, part), times(now.h, part));
            squares += part.squares;
        }
        for (var i = 0u; i < 4u; i += 1u) {
            partials[i * 132u + lane] = low[i];
            partials[(i + 4u) * 132u + lane] = high[i];
        }
        partials[1056u + lane] = squares;
        workgroupBarrier();
        // Sixteen invocations per row; the first sixteen also reduce the squares.
        let from_row = lane / 16u * 132u + lane % 16u;
        fewer[lane] = ((partials[from_row] + partials[from_row + 16u]) + (partials[from_row + 32u] + partials[from_row + 48u]))
            + ((partials[from_row + 64u] + partials[from_row + 80u]) + (partials[from_row + 96u] + partials[from_row + 112u]));
        if lane < 16u {
            let behind = 1056u + lane;
            fewer[128u + lane] = ((partials[behind] + partials[behind + 16u]) + (partials[behind + 32u] + partials[behind + 48u]))
                + ((partials[behind + 64u] + partials[behind + 80u]) + (partials[behind + 96u] + partials[behind + 112u]));
        }
        workgroupBarrier();
        if lane < ROWS && tile + lane < params.rows {
            var factor = one;
            if (params.flags & NORM) != 0u {
                factor = one / sqrt(sum_of(8u) / f32(params.model_columns) + params.epsilon);
            }
            let sum = sum_of(lane) * factor;
            if (params.flags & GATE) == 0u {
                finish(token, tile + lane, sum);
            } else if lane % 2u == 0u {
                finish_pair(token, tile + lane, vec2<f32>(sum, sum_of(lane + 1u) * factor));
            }
        }
    }
}
