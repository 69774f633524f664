// y[o, i] = fold over r of x[o, r, i]; the overrides select the fold and the element type.
//
// Sums and products of f32 are folded as f32, everything else as words. Ordered types are mapped to
// words of the same order, in which NaN is last, so that it wins.
//
// With few elements after the axis, one workgroup computes one output. With many, one invocation
// does, so that reads of adjacent invocations coalesce. In both cases the workgroups stride over
// the outputs.

override OP: u32;
override NUMBERS: u32;

const SUM = 0u;
const MAX = 1u;
const MIN = 2u;
const PROD = 3u;

// Minimum number of elements after the axis for which adjacent invocations fill a cache line.
const COLUMNS = 32u;

struct Params {
    outer: u32,
    axis: u32,
    inner: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<Element>;
@group(0) @binding(1) var<storage, read_write> y: array<Element>;

// One partial result per subgroup; 256 suffice for subgroups of one invocation.
var<workgroup> partials: array<Element, 256>;

// Both extrema are the maximum of their mapped words; over no elements, both are the lowest word.
fn identity() -> Element {
    if OP == PROD {
        return Element(1);
    }
    if OP == SUM {
        return Element(0);
    }
    if NUMBERS == WORDS_F32 {
        // The mapped word of minus infinity.
        return Element(0x007fffff);
    }
    return Element(0);
}

fn to_key(value: Element) -> Element {
    if OP == MAX {
        return Element(ascending_key(u32(value), NUMBERS));
    }
    if OP == MIN {
        return Element(descending_key(u32(value), NUMBERS));
    }
    return value;
}

fn from_key(value: Element) -> Element {
    if OP == MAX {
        return Element(from_sort_key(u32(value), NUMBERS));
    }
    if OP == MIN {
        return Element(from_sort_key(~u32(value), NUMBERS));
    }
    return value;
}

fn fold(p: Element, q: Element) -> Element {
    if OP == SUM {
        return p + q;
    }
    if OP == PROD {
        return p * q;
    }
    return max(p, q);
}

@compute @workgroup_size(256)
fn reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
    let outputs = params.outer * params.inner;
    if params.inner >= COLUMNS {
        for (var output = group.x * 256u + lane; output < outputs; output += groups.x * 256u) {
            let start = (output / params.inner) * params.axis * params.inner + output % params.inner;
            var result = identity();
            for (var r = 0u; r < params.axis; r += 1u) {
                result = fold(result, to_key(x[start + r * params.inner]));
            }
            y[output] = from_key(result);
        }
        return;
    }
    for (var output = group.x; output < outputs; output += groups.x) {
        let start = (output / params.inner) * params.axis * params.inner + output % params.inner;
        var partial = identity();
        for (var r = lane; r < params.axis; r += 256u) {
            partial = fold(partial, to_key(x[start + r * params.inner]));
        }
        var subgroup_result: Element;
        if OP == SUM {
            subgroup_result = subgroupAdd(partial);
        } else if OP == PROD {
            subgroup_result = subgroupMul(partial);
        } else {
            subgroup_result = subgroupMax(partial);
        }
        if subgroup_lane == 0u {
            partials[subgroup] = subgroup_result;
        }
        workgroupBarrier();
        if lane == 0u {
            var result = partials[0];
            for (var i = 1u; i < subgroups; i += 1u) {
                result = fold(result, partials[i]);
            }
            y[output] = from_key(result);
        }
        workgroupBarrier();
    }
}
