// Mean and reciprocal standard deviation of a row of `x`, computed by one workgroup; appended to
// the source of the kernels that use it.

var<workgroup> sums: array<f32, 256>;

// The sum of `value` over the workgroup.
fn workgroup_sum(value: f32, lane: u32) -> f32 {
    sums[lane] = value;
    workgroupBarrier();
    for (var step = 128u; step > 0u; step = step / 2u) {
        if lane < step {
            sums[lane] += sums[lane + step];
        }
        workgroupBarrier();
    }
    let result = sums[0];
    workgroupBarrier();
    return result;
}

// Elements of a row that are summed before they are added to the total, so that long rows keep
// their precision. Compensated summation is not an option: some drivers optimize it away.
const BLOCK = 8192u;

struct Moments {
    // The mean in two parts: the second corrects the rounding error of the first.
    mean: f32,
    correction: f32,
    inverse_std: f32,
}

fn row_moments(start: u32, lane: u32) -> Moments {
    var mean = 0.0;
    if params.centered != 0u {
        var sum = 0.0;
        for (var block = lane; block < params.columns; block += BLOCK) {
            var block_sum = 0.0;
            for (var c = block; c < min(block + BLOCK, params.columns); c += 256u) {
                block_sum += x[start + c];
            }
            sum += block_sum;
        }
        mean = workgroup_sum(sum, lane) / f32(params.columns);
    }
    var sum = 0.0;
    var squares = 0.0;
    for (var block = lane; block < params.columns; block += BLOCK) {
        var block_sum = 0.0;
        var block_squares = 0.0;
        for (var c = block; c < min(block + BLOCK, params.columns); c += 256u) {
            let deviation = x[start + c] - mean;
            block_sum += deviation;
            block_squares += deviation * deviation;
        }
        sum += block_sum;
        squares += block_squares;
    }
    var correction = 0.0;
    if params.centered != 0u {
        correction = workgroup_sum(sum, lane) / f32(params.columns);
    }
    let variance = workgroup_sum(squares, lane) / f32(params.columns) - correction * correction;
    // Rounding may give a negative variance. Tests the bits, because compilers turn max() into a
    // comparison that loses NaN.
    let bits = bitcast<u32>(variance);
    let clamped = select(variance, 0.0, bits > 0x80000000u && bits <= 0xff800000u);
    return Moments(mean, correction, 1.0 / sqrt(clamped + params.epsilon));
}
