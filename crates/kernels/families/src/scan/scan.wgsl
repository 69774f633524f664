// y[o, r, i] = the sum or product of x[o, s, i] over s <= r; the override selects which.
//
// With few elements after the axis, one workgroup scans a line in steps of 256. With many, one
// invocation does, so that reads of adjacent invocations coalesce. In both cases the workgroups
// stride over the lines.

override COMBINE: u32;

// Minimum number of elements after the axis for which adjacent invocations fill a cache line.
const COLUMNS = 32u;

struct Params {
    outer: u32,
    axis: u32,
    inner: u32,
    numbers: u32,
    exclusive: u32,
    reverse: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

var<workgroup> prefixes: array<u32, 256>;

fn identity() -> u32 {
    if COMBINE == COMBINE_MUL {
        return select(1u, 0x3f800000u, params.numbers == WORDS_F32);
    }
    return 0u;
}

fn fold(p: u32, q: u32) -> u32 {
    return combine_words(p, q, COMBINE, params.numbers);
}

// Offset of the element at `step`, in elements along the axis.
fn axis_index(step: u32) -> u32 {
    return select(step, params.axis - 1u - step, params.reverse != 0u);
}

@compute @workgroup_size(256)
fn scan(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let lines = params.outer * params.inner;
    let exclusive = params.exclusive != 0u;
    if params.inner >= COLUMNS {
        for (var line = group.x * 256u + lane; line < lines; line += groups.x * 256u) {
            let start = (line / params.inner) * params.axis * params.inner + line % params.inner;
            var preceding = identity();
            for (var step = 0u; step < params.axis; step += 1u) {
                let at = start + axis_index(step) * params.inner;
                let inclusive = fold(preceding, x[at]);
                y[at] = select(inclusive, preceding, exclusive);
                preceding = inclusive;
            }
        }
        return;
    }
    for (var line = group.x; line < lines; line += groups.x) {
        let start = (line / params.inner) * params.axis * params.inner + line % params.inner;
        var carry = identity();
        for (var block = 0u; block < params.axis; block += 256u) {
            let step = block + lane;
            let at = start + axis_index(step) * params.inner;
            var prefix = identity();
            if step < params.axis {
                prefix = x[at];
            }
            prefixes[lane] = prefix;
            workgroupBarrier();
            for (var distance = 1u; distance < 256u; distance = distance * 2u) {
                var other = identity();
                if lane >= distance {
                    other = prefixes[lane - distance];
                }
                workgroupBarrier();
                prefix = fold(other, prefix);
                prefixes[lane] = prefix;
                workgroupBarrier();
            }
            var preceding = carry;
            if lane > 0u {
                preceding = fold(carry, prefixes[lane - 1u]);
            }
            if step < params.axis {
                y[at] = select(fold(carry, prefix), preceding, exclusive);
            }
            carry = fold(carry, prefixes[255]);
            workgroupBarrier();
        }
    }
}
