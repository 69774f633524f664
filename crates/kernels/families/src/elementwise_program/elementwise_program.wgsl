// y[i] = the result of a small program over a[...], b[...] and c[...], for a row-major output of
// four dimensions. `params::ElementwiseProgram` documents the programs. Operations with an operand
// have codes from LOAD on. Most functions are in math.wgsl.

const END = 0u;
const SAVE = 1u;
const COORDINATE = 2u;
const NEG = 8u;
const ABS = 9u;
const SIGN = 10u;
const CEIL = 11u;
const FLOOR = 12u;
const ROUND = 13u;
const SQRT = 14u;
const RECIPROCAL = 15u;
const EXP = 16u;
const LOG = 17u;
const SIN = 18u;
const COS = 19u;
const TAN = 20u;
const ASIN = 21u;
const ACOS = 22u;
const ATAN = 23u;
const SINH = 24u;
const COSH = 25u;
const TANH = 26u;
const ASINH = 27u;
const ACOSH = 28u;
const ATANH = 29u;
const ERF = 30u;
const SIGMOID = 31u;
const RELU = 32u;
const GELU = 33u;
const SOFTPLUS = 34u;
const IS_NAN = 35u;
const IS_POSITIVE_INFINITY = 36u;
const IS_NEGATIVE_INFINITY = 37u;
const NEG_I32 = 48u;
const ABS_I32 = 49u;
const SIGN_I32 = 50u;
const NOT = 51u;
const IS_ZERO = 52u;
const F32_TO_I32 = 64u;
const F32_TO_U32 = 65u;
const I32_TO_F32 = 66u;
const U32_TO_F32 = 67u;
const F32_TO_BOOL = 68u;
const WORD_TO_BOOL = 69u;
const WRAP_I8 = 70u;
const WRAP_U8 = 71u;
const WRAP_I16 = 72u;
const WRAP_U16 = 73u;
const THROUGH_F16 = 74u;
const THROUGH_BF16 = 75u;
const LOAD = 128u;
const SELECT = 129u;
const ADD = 130u;
const SUB = 131u;
const RSUB = 132u;
const MUL = 133u;
const DIV = 134u;
const RDIV = 135u;
const POW = 136u;
const RPOW = 137u;
const MIN = 138u;
const MAX = 139u;
const FMOD = 140u;
const MODULO = 141u;
const LESS = 142u;
const LESS_EQUAL = 143u;
const EQUAL = 144u;
const GREATER = 145u;
const GREATER_EQUAL = 146u;
const LEAKY = 147u;
const ELU = 148u;
const THRESHOLD = 149u;
const ADD_I32 = 160u;
const SUB_I32 = 161u;
const MUL_I32 = 162u;
const DIV_I32 = 163u;
const MOD_I32 = 164u;
const MODULO_I32 = 165u;
const MIN_I32 = 166u;
const MAX_I32 = 167u;
const POW_I32 = 168u;
const LESS_I32 = 169u;
const LESS_EQUAL_I32 = 170u;
const GREATER_I32 = 171u;
const GREATER_EQUAL_I32 = 172u;
const DIV_U32 = 176u;
const MOD_U32 = 177u;
const MIN_U32 = 178u;
const MAX_U32 = 179u;
const LESS_U32 = 180u;
const LESS_EQUAL_U32 = 181u;
const GREATER_U32 = 182u;
const GREATER_EQUAL_U32 = 183u;
const EQUAL_WORD = 184u;
const AND = 185u;
const OR = 186u;
const XOR = 187u;
const SHIFT_LEFT = 188u;
const SHIFT_RIGHT = 189u;

struct Params {
    count: u32,
    shape: array<u32, 3>,
    strides: array<u32, 12>,
    program: array<u32, 8>,
    immediates: array<u32, 8>,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read> c: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<u32>;

fn word(v: f32) -> u32 {
    return bitcast<u32>(v);
}

fn truth(v: bool) -> u32 {
    return select(0u, 1u, v);
}

fn to_i32(v: f32) -> u32 {
    if is_nan(v) {
        return 0u;
    }
    if v >= 2147483648.0 {
        return 0x7fffffffu;
    }
    if v <= -2147483648.0 {
        return 0x80000000u;
    }
    return bitcast<u32>(i32(v));
}

fn to_u32(v: f32) -> u32 {
    if is_nan(v) || v <= 0.0 {
        return 0u;
    }
    if v >= 4294967296.0 {
        return 0xffffffffu;
    }
    return u32(v);
}

// In integer arithmetic: devices choose the rounding of f16, and may flush subnormals.
fn through_f16(v: u32) -> u32 {
    let sign = v & 0x80000000u;
    let m = v & 0x7fffffffu;
    if m >= 0x7f800000u {
        return v;
    }
    if m >= 0x477ff000u {
        return sign | 0x7f800000u;
    }
    if m >= 0x38800000u {
        return sign | ((m + 0xfffu + ((m >> 13u) & 1u)) & 0xffffe000u);
    }
    // Multiples of 2^-24.
    let shift = 126u - (m >> 23u);
    if shift > 25u {
        return sign;
    }
    let digits = (m & 0x007fffffu) | 0x00800000u;
    let steps = (digits + (1u << (shift - 1u)) - 1u + ((digits >> shift) & 1u)) >> shift;
    return sign | bitcast<u32>(f32(steps) * 0.000000059604644775390625);
}

fn through_bf16(v: u32) -> u32 {
    if (v & 0x7fffffffu) > 0x7f800000u {
        return v;
    }
    return (v + 0x7fffu + ((v >> 16u) & 1u)) & 0xffff0000u;
}

fn sign_of(v: f32) -> f32 {
    let one = select(select(0.0, 1.0, v > 0.0), -1.0, v < 0.0);
    return select(one, v, is_nan(v));
}

fn absolute(v: u32) -> u32 {
    return select(v, 0u - v, v >= 0x80000000u);
}

// Rounds toward zero; division by zero gives zero. Works on magnitudes, so that the lowest integer
// divided by -1 needs no special case.
fn divided(p: u32, q: u32) -> u32 {
    let value = select(absolute(p) / max(absolute(q), 1u), 0u, q == 0u);
    return select(value, 0u - value, ((p ^ q) & 0x80000000u) != 0u);
}

fn integer_power(base: u32, exponent: u32) -> u32 {
    if exponent >= 0x80000000u {
        let odd = (exponent & 1u) == 1u;
        let one = base == 1u || base == 0xffffffffu;
        return select(0u, select(1u, base, odd), one);
    }
    var value = 1u;
    var square = base;
    var rest = exponent;
    while rest != 0u {
        if (rest & 1u) == 1u {
            value *= square;
        }
        square *= square;
        rest = rest >> 1u;
    }
    return value;
}

// Operations without an operand.
fn alone(op: u32, acc: u32) -> u32 {
    let p = bitcast<f32>(acc);
    let i = bitcast<i32>(acc);
    switch op {
        case NEG: { return acc ^ 0x80000000u; }
        case ABS: { return acc & 0x7fffffffu; }
        case SIGN: { return word(sign_of(p)); }
        case CEIL: { return word(ceil(p)); }
        case FLOOR: { return word(floor(p)); }
        case ROUND: { return word(round(p)); }
        case SQRT: { return word(sqrt(p)); }
        case RECIPROCAL: { return word(1.0 / p); }
        case EXP: { return word(exponential(p)); }
        case LOG: { return word(logarithm(p)); }
        case SIN: { return word(wave(p, 0)); }
        case COS: { return word(wave(p, 1)); }
        case TAN: { return word(slope(p)); }
        case ASIN: { return word(arc_sine(p)); }
        case ACOS: { return word(arc_cosine(p)); }
        case ATAN: { return word(arc_tangent(p)); }
        case SINH: { return word(hyperbolic_sine(p)); }
        case COSH: { return word(hyperbolic_cosine(p)); }
        case TANH: { return word(tangent(p)); }
        case ASINH: { return word(area_sine(p)); }
        case ACOSH: { return word(area_cosine(p)); }
        case ATANH: { return word(area_tangent(p)); }
        case ERF: { return word(error_function(p)); }
        case SIGMOID: { return word(sigmoid(p)); }
        case RELU: { return word(rectified(p)); }
        case GELU: { return word(gelu(p)); }
        case SOFTPLUS: { return word(softplus(p)); }
        case IS_NAN: { return truth(is_nan(p)); }
        case IS_POSITIVE_INFINITY: { return truth(acc == 0x7f800000u); }
        case IS_NEGATIVE_INFINITY: { return truth(acc == 0xff800000u); }
        case NEG_I32: { return 0u - acc; }
        case ABS_I32: { return absolute(acc); }
        case SIGN_I32: { return bitcast<u32>(clamp(i, -1, 1)); }
        case NOT: { return ~acc; }
        case IS_ZERO: { return truth(acc == 0u); }
        case F32_TO_I32: { return to_i32(p); }
        case F32_TO_U32: { return to_u32(p); }
        case I32_TO_F32: { return word(f32(i)); }
        case U32_TO_F32: { return word(f32(acc)); }
        case F32_TO_BOOL: { return truth((acc & 0x7fffffffu) != 0u); }
        case WORD_TO_BOOL: { return truth(acc != 0u); }
        case WRAP_I8: { return bitcast<u32>(bitcast<i32>(acc << 24u) >> 24u); }
        case WRAP_U8: { return acc & 0xffu; }
        case WRAP_I16: { return bitcast<u32>(bitcast<i32>(acc << 16u) >> 16u); }
        case WRAP_U16: { return acc & 0xffffu; }
        case THROUGH_F16: { return through_f16(acc); }
        case THROUGH_BF16: { return through_bf16(acc); }
        default: { return acc; }
    }
}

// Operations with the operand x; `other` is the alternative of a select.
fn joined(op: u32, acc: u32, x: u32, other: u32) -> u32 {
    let p = bitcast<f32>(acc);
    let q = bitcast<f32>(x);
    let i = bitcast<i32>(acc);
    let j = bitcast<i32>(x);
    switch op {
        case LOAD: { return x; }
        case SELECT: { return select(other, x, acc != 0u); }
        case ADD: { return word(p + q); }
        case SUB: { return word(p - q); }
        case RSUB: { return word(q - p); }
        case MUL: { return word(p * q); }
        case DIV: { return word(p / q); }
        case RDIV: { return word(q / p); }
        case POW: { return word(power(p, q)); }
        case RPOW: { return word(power(q, p)); }
        case MIN: { return word(smaller(p, q)); }
        case MAX: { return word(larger(p, q)); }
        case FMOD: { return word(remainder(p, q)); }
        case MODULO: { return word(modulo(p, q)); }
        case LESS: { return truth(p < q); }
        case LESS_EQUAL: { return truth(p <= q); }
        case EQUAL: { return truth(p == q); }
        case GREATER: { return truth(p > q); }
        case GREATER_EQUAL: { return truth(p >= q); }
        case LEAKY: { return select(acc, word(p * q), p < 0.0); }
        case ELU: { return select(acc, word(q * exponential_less_one(p)), p < 0.0); }
        case THRESHOLD: { return select(0u, acc, p > q); }
        case ADD_I32: { return acc + x; }
        case SUB_I32: { return acc - x; }
        case MUL_I32: { return acc * x; }
        case DIV_I32: { return divided(acc, x); }
        case MOD_I32: { return select(acc - divided(acc, x) * x, 0u, x == 0u); }
        case MODULO_I32: {
            let rest = select(acc - divided(acc, x) * x, 0u, x == 0u);
            return select(rest, rest + x, rest != 0u && ((rest ^ x) & 0x80000000u) != 0u);
        }
        case MIN_I32: { return bitcast<u32>(min(i, j)); }
        case MAX_I32: { return bitcast<u32>(max(i, j)); }
        case POW_I32: { return integer_power(acc, x); }
        case LESS_I32: { return truth(i < j); }
        case LESS_EQUAL_I32: { return truth(i <= j); }
        case GREATER_I32: { return truth(i > j); }
        case GREATER_EQUAL_I32: { return truth(i >= j); }
        case DIV_U32: { return select(acc / max(x, 1u), 0u, x == 0u); }
        case MOD_U32: { return select(acc % max(x, 1u), 0u, x == 0u); }
        case MIN_U32: { return min(acc, x); }
        case MAX_U32: { return max(acc, x); }
        case LESS_U32: { return truth(acc < x); }
        case LESS_EQUAL_U32: { return truth(acc <= x); }
        case GREATER_U32: { return truth(acc > x); }
        case GREATER_EQUAL_U32: { return truth(acc >= x); }
        case EQUAL_WORD: { return truth(acc == x); }
        case AND: { return acc & x; }
        case OR: { return acc | x; }
        case XOR: { return acc ^ x; }
        case SHIFT_LEFT: { return select(0u, acc << (x & 31u), x < 32u); }
        case SHIFT_RIGHT: { return select(0u, acc >> (x & 31u), x < 32u); }
        default: { return acc; }
    }
}

// Offset in input `which` of the output element at `at`.
fn place(which: u32, at: vec4<u32>) -> u32 {
    let first = 4u * which;
    return at.x * params.strides[first] + at.y * params.strides[first + 1u] + at.z * params.strides[first + 2u]
        + at.w * params.strides[first + 3u];
}

fn position(i: u32) -> vec4<u32> {
    // Shortcuts for shapes with leading dimensions of one: divisions are slow, and the branch is
    // uniform.
    if params.shape[2] >= params.count {
        return vec4<u32>(0u, 0u, 0u, i);
    }
    let rows = i / params.shape[2];
    let planes = rows / params.shape[1];
    return vec4<u32>(planes / params.shape[0], planes % params.shape[0], rows % params.shape[1], i % params.shape[2]);
}

fn value_at(i: u32) -> u32 {
    let at = position(i);
    var kept = vec4<u32>();
    var acc = 0u;
    for (var step = 0u; step < 16u; step += 1u) {
        let instruction = params.program[step / 2u] >> (16u * (step & 1u));
        let op = instruction & 0xffu;
        let operand = (instruction >> 8u) & 15u;
        if op == END {
            break;
        }
        if op >= LOAD {
            var x = 0u;
            switch operand {
                case 0u: { x = a[place(0u, at)]; }
                case 1u: { x = b[place(1u, at)]; }
                case 2u: { x = c[place(2u, at)]; }
                case 4u: { x = kept.x; }
                case 5u: { x = kept.y; }
                case 6u: { x = kept.z; }
                case 7u: { x = kept.w; }
                default: { x = params.immediates[operand & 7u]; }
            }
            acc = joined(op, acc, x, kept.w);
        } else if op == SAVE {
            switch operand & 3u {
                case 0u: { kept.x = acc; }
                case 1u: { kept.y = acc; }
                case 2u: { kept.z = acc; }
                default: { kept.w = acc; }
            }
        } else if op == COORDINATE {
            switch operand & 3u {
                case 0u: { acc = at.x; }
                case 1u: { acc = at.y; }
                case 2u: { acc = at.z; }
                default: { acc = at.w; }
            }
        } else {
            acc = alone(op, acc);
        }
    }
    return acc;
}

@compute @workgroup_size(256)
fn elementwise_program(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.count; i += groups.x * 256u) {
        y[i] = value_at(i);
    }
}
