// y = W * x for one token with float weights; memory-bound: W is read once.
//
// A workgroup of 128 computes eight consecutive rows. An invocation loads one uvec4 of each row per
// step, 128 apart, so that the loads of the workgroup coalesce, and the next ones are prefetched. x
// is read through the caches. RMS norm may be fused, which saves a dispatch; the sums are
// multiplied by the inverse root mean square at the end.
//
// Matrices of few rows, such as the routers of experts, have a workgroup per row instead: eight rows
// each would leave most of a GPU idle.

// Number of vec4s of x that one uvec4 of weights is multiplied with.
override UNIT_VEC4S: u32;

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
// Maximum number of rows with a workgroup each.
const FEW_ROWS = 512u;

// The sums of eight rows per invocation, followed by their sums of squares of x. Rows are padded by
// four against bank conflicts.
var<workgroup> partials: array<f32, 1188>;
var<workgroup> reduced: array<f32, 144>;

// A uvec4 of each row.
struct EightRows {
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
struct XUnit {
    low: vec4<f32>,
    high: vec4<f32>,
    squares: f32,
}

// Rows past the end are clamped to the last, and their results dropped; so are units past the end
// of a row.
fn load_codes(row: u32, unit: u32, first_row: u32, units: u32) -> vec4<u32> {
    return codes[(first_row + min(row, params.rows - 1u)) * units + unit];
}

fn load_rows(tile: u32, at: u32, first_row: u32, units: u32) -> EightRows {
    let unit = min(at, units - 1u);
    return EightRows(
        load_codes(tile, unit, first_row, units),
        load_codes(tile + 1u, unit, first_row, units),
        load_codes(tile + 2u, unit, first_row, units),
        load_codes(tile + 3u, unit, first_row, units),
        load_codes(tile + 4u, unit, first_row, units),
        load_codes(tile + 5u, unit, first_row, units),
        load_codes(tile + 6u, unit, first_row, units),
        load_codes(tile + 7u, unit, first_row, units),
    );
}

// Zero past the end of x.
fn load_x(start: u32, at: u32, units: u32) -> XUnit {
    let low_at = min(at, units - 1u) * UNIT_VEC4S;
    let high_at = low_at + UNIT_VEC4S - 1u;
    var low = select(vec4<f32>(), x[start + low_at], at < units);
    var high = select(vec4<f32>(), x[start + high_at], at < units);
    var squares = 0.0;
    if (params.flags & NORM) != 0u {
        squares = dot(low, low) + select(0.0, dot(high, high), UNIT_VEC4S == 2u);
        low *= norm[low_at];
        high *= norm[high_at];
    }
    return XUnit(low, high, squares);
}

fn unit_dot(code: vec4<u32>, v: XUnit) -> f32 {
    if FORMAT == F32 {
        return dot(decode_codes(0u, code.x, code.y, code.zw), v.low);
    }
    let low = dot(decode_codes(0u, code.x, code.y, code.zw), v.low);
    return low + dot(decode_codes(0u, code.z, code.w, code.xy), v.high);
}

// The dot product and the sum of squares of an invocation's units of a row, four of which are in
// flight.
fn row_dot(row: u32, start: u32, lane: u32, first_row: u32, units: u32) -> vec2<f32> {
    var sum = vec2<f32>();
    for (var at = lane; at < units; at += 4u * LANES) {
        let last = units - 1u;
        let c0 = load_codes(row, at, first_row, units);
        let c1 = load_codes(row, min(at + LANES, last), first_row, units);
        let c2 = load_codes(row, min(at + 2u * LANES, last), first_row, units);
        let c3 = load_codes(row, min(at + 3u * LANES, last), first_row, units);
        let x0 = load_x(start, at, units);
        let x1 = load_x(start, at + LANES, units);
        let x2 = load_x(start, at + 2u * LANES, units);
        let x3 = load_x(start, at + 3u * LANES, units);
        sum.x += (unit_dot(c0, x0) + unit_dot(c1, x1)) + (unit_dot(c2, x2) + unit_dot(c3, x3));
        sum.y += (x0.squares + x1.squares) + (x2.squares + x3.squares);
    }
    return sum;
}

fn sum_components(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

// The total of 16 invocations for a row.
fn reduce_row(row: u32) -> f32 {
    var sum = vec4<f32>();
    for (var i = row * 16u; i < row * 16u + 16u; i += 4u) {
        sum += vec4<f32>(reduced[i], reduced[i + 1u], reduced[i + 2u], reduced[i + 3u]);
    }
    return sum_components(sum);
}

@compute @workgroup_size(128)
fn lm_matvec_float(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let token = group.y;
    let units = params.columns / 4u / UNIT_VEC4S;
    var first_row = 0u;
    if params.experts != 0u {
        first_row = min(experts[token], params.experts - 1u) * params.rows;
    }
    let start = min(token, params.tokens - 1u) / params.sharing * (params.x_stride / 4u);
    // These formats have no scales. Multiplies by a one that depends on the binding, to keep it in
    // the interface.
    let one = decode_scale(scale_words(0u), 0u).x;
    let has_few_rows = params.rows <= FEW_ROWS && (params.flags & GATE) == 0u;
    let rows = select(ROWS, 1u, has_few_rows);
    var next_rows = EightRows();
    var next_x = XUnit();
    if !has_few_rows {
        next_rows = load_rows(group.x * ROWS, lane, first_row, units);
        next_x = load_x(start, lane, units);
    }
    for (var tile = group.x * rows; tile < params.rows; tile += groups.x * rows) {
        var low = vec4<f32>();
        var high = vec4<f32>();
        var squares = 0.0;
        if has_few_rows {
            let sum = row_dot(tile, start, lane, first_row, units);
            low.x = sum.x;
            squares = sum.y;
        }
        let end = select(units + lane, 0u, has_few_rows);
        for (var at = lane; at < end; at += LANES) {
            let w = next_rows;
            let v = next_x;
            // Prefetches the next units: the rest of these rows, or the next ones.
            let same_rows = at + LANES < units + lane;
            let load_tile = select(tile + groups.x * ROWS, tile, same_rows);
            let load_at = select(lane, at + LANES, same_rows);
            next_rows = load_rows(load_tile, load_at, first_row, units);
            next_x = load_x(start, load_at, units);
            low += vec4<f32>(unit_dot(w.a, v), unit_dot(w.b, v), unit_dot(w.c, v), unit_dot(w.d, v));
            high += vec4<f32>(unit_dot(w.e, v), unit_dot(w.f, v), unit_dot(w.g, v), unit_dot(w.h, v));
            squares += v.squares;
        }
        for (var i = 0u; i < 4u; i += 1u) {
            partials[i * 132u + lane] = low[i];
            partials[(i + 4u) * 132u + lane] = high[i];
        }
        partials[1056u + lane] = squares;
        workgroupBarrier();
        // Sixteen invocations per row; the first sixteen also reduce the squares.
        let row_at = lane / 16u * 132u + lane % 16u;
        reduced[lane] = ((partials[row_at] + partials[row_at + 16u]) + (partials[row_at + 32u] + partials[row_at + 48u]))
            + ((partials[row_at + 64u] + partials[row_at + 80u]) + (partials[row_at + 96u] + partials[row_at + 112u]));
        if lane < 16u {
            let base = 1056u + lane;
            reduced[128u + lane] = ((partials[base] + partials[base + 16u]) + (partials[base + 32u] + partials[base + 48u]))
                + ((partials[base + 64u] + partials[base + 80u]) + (partials[base + 96u] + partials[base + 112u]));
        }
        workgroupBarrier();
        if lane < rows && tile + lane < params.rows {
            var factor = one;
            if (params.flags & NORM) != 0u {
                factor = one / sqrt(reduce_row(8u) / f32(params.model_columns) + params.epsilon);
            }
            let sum = reduce_row(lane) * factor;
            if (params.flags & GATE) == 0u {
                epilogue(token, tile + lane, first_row, sum);
            } else if lane % 2u == 0u {
                epilogue_gated(token, tile + lane, first_row, vec2<f32>(sum, reduce_row(lane + 1u) * factor));
            }
        }
    }
}
