// y[o, i] = the r of the largest or smallest x[o, r, i]; the override selects which.
//
// With few elements after the axis, one workgroup computes one output. With many, one invocation
// does, so that reads of adjacent invocations coalesce. In both cases the workgroups stride over
// the outputs.

override SMALLEST: u32;

// Minimum number of elements after the axis for which adjacent invocations fill a cache line.
const COLUMNS = 32u;

struct Params {
    outer: u32,
    axis: u32,
    inner: u32,
    numbers: u32,
    last: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

var<workgroup> ranks: array<u32, 256>;
var<workgroup> indices: array<u32, 256>;

fn rank(word: u32) -> u32 {
    if SMALLEST == 1u {
        return descending_key(word, params.numbers);
    }
    return ascending_key(word, params.numbers);
}

// Whether the candidate at `index` is better than the one at `best_index`.
fn is_better(rank: u32, index: u32, best_rank: u32, best_index: u32) -> bool {
    let earlier = select((index < best_index), (index > best_index), params.last != 0u);
    return rank > best_rank || (rank == best_rank && earlier);
}

@compute @workgroup_size(256)
fn arg_reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let outputs = params.outer * params.inner;
    if params.inner >= COLUMNS {
        for (var output = group.x * 256u + lane; output < outputs; output += groups.x * 256u) {
            let start = (output / params.inner) * params.axis * params.inner + output % params.inner;
            var best = rank(x[start]);
            var index = 0u;
            for (var r = 1u; r < params.axis; r += 1u) {
                let candidate = rank(x[start + r * params.inner]);
                if is_better(candidate, r, best, index) {
                    best = candidate;
                    index = r;
                }
            }
            y[output] = index;
        }
        return;
    }
    for (var output = group.x; output < outputs; output += groups.x) {
        let start = (output / params.inner) * params.axis * params.inner + output % params.inner;
        // Lanes past the axis repeat its first element.
        var index = select(0u, lane, lane < params.axis);
        var best = rank(x[start + index * params.inner]);
        for (var r = lane + 256u; r < params.axis; r += 256u) {
            let candidate = rank(x[start + r * params.inner]);
            if is_better(candidate, r, best, index) {
                best = candidate;
                index = r;
            }
        }
        ranks[lane] = best;
        indices[lane] = index;
        workgroupBarrier();
        for (var step = 128u; step > 0u; step = step / 2u) {
            if lane < step && is_better(ranks[lane + step], indices[lane + step], ranks[lane], indices[lane]) {
                ranks[lane] = ranks[lane + step];
                indices[lane] = indices[lane + step];
            }
            workgroupBarrier();
        }
        if lane == 0u {
            y[output] = indices[0];
        }
        workgroupBarrier();
    }
}
