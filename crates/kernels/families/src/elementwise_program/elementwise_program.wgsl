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
const ROUND_F16 = 74u;
const ROUND_BF16 = 75u;
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

fn f32_word(v: f32) -> u32 {
    return bitcast<u32>(v);
}

fn bool_word(v: bool) -> u32 {
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
fn round_to_f16(v: u32) -> u32 {
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
    let significand = (m & 0x007fffffu) | 0x00800000u;
    let multiple = (significand + (1u << (shift - 1u)) - 1u + ((significand >> shift) & 1u)) >> shift;
    return sign | bitcast<u32>(f32(multiple) * 0.000000059604644775390625);
}

fn round_to_bf16(v: u32) -> u32 {
    if (v & 0x7fffffffu) > 0x7f800000u {
        return v;
    }
    return (v + 0x7fffu + ((v >> 16u) & 1u)) & 0xffff0000u;
}

fn sign_of(v: f32) -> f32 {
    let sign = select(select(0.0, 1.0, v > 0.0), -1.0, v < 0.0);
    return select(sign, v, is_nan(v));
}

fn abs_i32(v: u32) -> u32 {
    return select(v, 0u - v, v >= 0x80000000u);
}

// Rounds toward zero; division by zero gives zero. Works on magnitudes, so that the lowest integer
// divided by -1 needs no special case.
fn div_i32(p: u32, q: u32) -> u32 {
    let value = select(abs_i32(p) / max(abs_i32(q), 1u), 0u, q == 0u);
    return select(value, 0u - value, ((p ^ q) & 0x80000000u) != 0u);
}

fn pow_i32(base: u32, exponent: u32) -> u32 {
    if exponent >= 0x80000000u {
        let is_odd = (exponent & 1u) == 1u;
        let is_unit = base == 1u || base == 0xffffffffu;
        return select(0u, select(1u, base, is_odd), is_unit);
    }
    var value = 1u;
    var square = base;
    var remaining = exponent;
    while remaining != 0u {
        if (remaining & 1u) == 1u {
            value *= square;
        }
        square *= square;
        remaining = remaining >> 1u;
    }
    return value;
}

// Operations without an operand.
fn unary_op(op: u32, acc: u32) -> u32 {
    let p = bitcast<f32>(acc);
    let i = bitcast<i32>(acc);
    switch op {
        case NEG: { return acc ^ 0x80000000u; }
        case ABS: { return acc & 0x7fffffffu; }
        case SIGN: { return f32_word(sign_of(p)); }
        case CEIL: { return f32_word(ceil(p)); }
        case FLOOR: { return f32_word(floor(p)); }
        case ROUND: { return f32_word(round(p)); }
        case SQRT: { return f32_word(sqrt(p)); }
        case RECIPROCAL: { return f32_word(1.0 / p); }
        case EXP: { return f32_word(precise_exp(p)); }
        case LOG: { return f32_word(precise_log(p)); }
        case SIN: { return f32_word(shifted_sin(p, 0)); }
        case COS: { return f32_word(shifted_sin(p, 1)); }
        case TAN: { return f32_word(precise_tan(p)); }
        case ASIN: { return f32_word(precise_asin(p)); }
        case ACOS: { return f32_word(precise_acos(p)); }
        case ATAN: { return f32_word(precise_atan(p)); }
        case SINH: { return f32_word(precise_sinh(p)); }
        case COSH: { return f32_word(precise_cosh(p)); }
        case TANH: { return f32_word(precise_tanh(p)); }
        case ASINH: { return f32_word(precise_asinh(p)); }
        case ACOSH: { return f32_word(precise_acosh(p)); }
        case ATANH: { return f32_word(precise_atanh(p)); }
        case ERF: { return f32_word(erf(p)); }
        case SIGMOID: { return f32_word(sigmoid(p)); }
        case RELU: { return f32_word(relu(p)); }
        case GELU: { return f32_word(gelu(p)); }
        case SOFTPLUS: { return f32_word(softplus(p)); }
        case IS_NAN: { return bool_word(is_nan(p)); }
        case IS_POSITIVE_INFINITY: { return bool_word(acc == 0x7f800000u); }
        case IS_NEGATIVE_INFINITY: { return bool_word(acc == 0xff800000u); }
        case NEG_I32: { return 0u - acc; }
        case ABS_I32: { return abs_i32(acc); }
        case SIGN_I32: { return bitcast<u32>(clamp(i, -1, 1)); }
        case NOT: { return ~acc; }
        case IS_ZERO: { return bool_word(acc == 0u); }
        case F32_TO_I32: { return to_i32(p); }
        case F32_TO_U32: { return to_u32(p); }
        case I32_TO_F32: { return f32_word(f32(i)); }
        case U32_TO_F32: { return f32_word(f32(acc)); }
        case F32_TO_BOOL: { return bool_word((acc & 0x7fffffffu) != 0u); }
        case WORD_TO_BOOL: { return bool_word(acc != 0u); }
        case WRAP_I8: { return bitcast<u32>(bitcast<i32>(acc << 24u) >> 24u); }
        case WRAP_U8: { return acc & 0xffu; }
        case WRAP_I16: { return bitcast<u32>(bitcast<i32>(acc << 16u) >> 16u); }
        case WRAP_U16: { return acc & 0xffffu; }
        case ROUND_F16: { return round_to_f16(acc); }
        case ROUND_BF16: { return round_to_bf16(acc); }
        default: { return acc; }
    }
}

// Operations with the operand x; a select returns `alternative` if `acc` is 0.
fn binary_op(op: u32, acc: u32, x: u32, alternative: u32) -> u32 {
    let p = bitcast<f32>(acc);
    let q = bitcast<f32>(x);
    let i = bitcast<i32>(acc);
    let j = bitcast<i32>(x);
    switch op {
        case LOAD: { return x; }
        case SELECT: { return select(alternative, x, acc != 0u); }
        case ADD: { return f32_word(p + q); }
        case SUB: { return f32_word(p - q); }
        case RSUB: { return f32_word(q - p); }
        case MUL: { return f32_word(p * q); }
        case DIV: { return f32_word(p / q); }
        case RDIV: { return f32_word(q / p); }
        case POW: { return f32_word(precise_pow(p, q)); }
        case RPOW: { return f32_word(precise_pow(q, p)); }
        case MIN: { return f32_word(minimum(p, q)); }
        case MAX: { return f32_word(maximum(p, q)); }
        case FMOD: { return f32_word(fmod(p, q)); }
        case MODULO: { return f32_word(floor_mod(p, q)); }
        case LESS: { return bool_word(p < q); }
        case LESS_EQUAL: { return bool_word(p <= q); }
        case EQUAL: { return bool_word(p == q); }
        case GREATER: { return bool_word(p > q); }
        case GREATER_EQUAL: { return bool_word(p >= q); }
        case LEAKY: { return select(acc, f32_word(p * q), p < 0.0); }
        case ELU: { return select(acc, f32_word(q * expm1(p)), p < 0.0); }
        case THRESHOLD: { return select(0u, acc, p > q); }
        case ADD_I32: { return acc + x; }
        case SUB_I32: { return acc - x; }
        case MUL_I32: { return acc * x; }
        case DIV_I32: { return div_i32(acc, x); }
        case MOD_I32: { return select(acc - div_i32(acc, x) * x, 0u, x == 0u); }
        case MODULO_I32: {
            let remainder = select(acc - div_i32(acc, x) * x, 0u, x == 0u);
            return select(remainder, remainder + x, remainder != 0u && ((remainder ^ x) & 0x80000000u) != 0u);
        }
        case MIN_I32: { return bitcast<u32>(min(i, j)); }
        case MAX_I32: { return bitcast<u32>(max(i, j)); }
        case POW_I32: { return pow_i32(acc, x); }
        case LESS_I32: { return bool_word(i < j); }
        case LESS_EQUAL_I32: { return bool_word(i <= j); }
        case GREATER_I32: { return bool_word(i > j); }
        case GREATER_EQUAL_I32: { return bool_word(i >= j); }
        case DIV_U32: { return select(acc / max(x, 1u), 0u, x == 0u); }
        case MOD_U32: { return select(acc % max(x, 1u), 0u, x == 0u); }
        case MIN_U32: { return min(acc, x); }
        case MAX_U32: { return max(acc, x); }
        case LESS_U32: { return bool_word(acc < x); }
        case LESS_EQUAL_U32: { return bool_word(acc <= x); }
        case GREATER_U32: { return bool_word(acc > x); }
        case GREATER_EQUAL_U32: { return bool_word(acc >= x); }
        case EQUAL_WORD: { return bool_word(acc == x); }
        case AND: { return acc & x; }
        case OR: { return acc | x; }
        case XOR: { return acc ^ x; }
        case SHIFT_LEFT: { return select(0u, acc << (x & 31u), x < 32u); }
        case SHIFT_RIGHT: { return select(0u, acc >> (x & 31u), x < 32u); }
        default: { return acc; }
    }
}

// Offset of the element of an input that belongs to the output element at `at`.
fn input_offset(input: u32, at: vec4<u32>) -> u32 {
    let first = 4u * input;
    return at.x * params.strides[first] + at.y * params.strides[first + 1u] + at.z * params.strides[first + 2u]
        + at.w * params.strides[first + 3u];
}

fn coordinates(i: u32) -> vec4<u32> {
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
    let at = coordinates(i);
    var saved = vec4<u32>();
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
                case 0u: { x = a[input_offset(0u, at)]; }
                case 1u: { x = b[input_offset(1u, at)]; }
                case 2u: { x = c[input_offset(2u, at)]; }
                case 4u: { x = saved.x; }
                case 5u: { x = saved.y; }
                case 6u: { x = saved.z; }
                case 7u: { x = saved.w; }
                default: { x = params.immediates[operand & 7u]; }
            }
            acc = binary_op(op, acc, x, saved.w);
        } else if op == SAVE {
            switch operand & 3u {
                case 0u: { saved.x = acc; }
                case 1u: { saved.y = acc; }
                case 2u: { saved.z = acc; }
                default: { saved.w = acc; }
            }
        } else if op == COORDINATE {
            switch operand & 3u {
                case 0u: { acc = at.x; }
                case 1u: { acc = at.y; }
                case 2u: { acc = at.z; }
                default: { acc = at.w; }
            }
        } else {
            acc = unary_op(op, acc);
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
