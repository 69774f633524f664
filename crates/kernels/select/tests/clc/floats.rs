//! f32: operators, conversions and the function library.

use roci_testkit::Tolerance;

use super::case::Case;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = [exact(), conversions()].concat();
    cases.extend(library());
    cases.extend(geometry());
    cases
}

/// `fn f(a: f32, i: u32) -> f32` with results near `want`.
fn near(name: &'static str, body: &str, inputs: &[f32], want: impl Fn(f64) -> f64, tolerance: Tolerance) -> Case {
    let wants: Vec<f32> = inputs.iter().map(|&input| want(f64::from(input)) as f32).collect();
    let pairs: Vec<(f32, f32)> = inputs.iter().map(|&input| (input, 0.0)).collect();
    let mut case = Case::map(name, "f32", "", body, &pairs);
    case.buffers.truncate(1);
    case.writes_near(&wants, tolerance)
}

/// `fn f(a: f32, i: u32) -> f32` with exact results.
fn map_f32(name: &'static str, body: &str, pairs: &[(f32, f32)]) -> Case {
    Case::map(name, "f32", "", body, pairs)
}

fn exact() -> Vec<Case> {
    vec![
        map_f32(
            "rounding",
            "return floor(a) + ceil(a) * 10.0 + round(a) * 100.0 + trunc(a) * 1000.0;",
            &[
                (2.5, 2.0 + 30.0 + 200.0 + 2000.0),
                (-1.5, -2.0 - 10.0 - 200.0 - 1000.0),
                (3.75, 3.0 + 40.0 + 400.0 + 3000.0),
            ],
        ),
        map_f32(
            "fract_sign_step",
            "return fract(a) + sign(a) * 10.0 + step(1.0, a) * 100.0;",
            &[(2.25, 0.25 + 10.0 + 100.0), (-0.25, 0.75 - 10.0), (1.0, 110.0), (0.0, 0.0)],
        ),
        map_f32(
            "clamps",
            "return clamp(a, -1.0, 2.0) + saturate(a) * 10.0 + min(a, 0.5) * 100.0 + max(a, 0.5) * 1000.0;",
            &[(3.0, 2.0 + 10.0 + 50.0 + 3000.0), (-4.0, -1.0 - 400.0 + 500.0), (0.25, 0.25 + 2.5 + 25.0 + 500.0)],
        ),
        map_f32("remainder", "return a % 3.0;", &[(7.5, 1.5), (-7.5, -1.5), (2.0, 2.0)]),
        map_f32(
            "mix_and_fma",
            "return mix(1.0, 5.0, a) + fma(a, 2.0, 1.0) * 100.0 + abs(-a);",
            &[(0.0, 101.0), (1.0, 5.0 + 300.0 + 1.0), (0.5, 3.0 + 200.0 + 0.5)],
        ),
        map_f32("modf", "let r = modf(a); return r.fract + r.whole * 10.0;", &[(2.75, 20.75), (-1.5, -10.5)]),
        map_f32(
            "frexp_and_ldexp",
            "let r = frexp(a); return ldexp(r.fract, r.exp + 1) + f32(r.exp) * 100.0;",
            &[(6.0, 12.0 + 300.0), (0.5, 1.0), (0.15625, 0.3125 - 200.0)],
        ),
        map_f32(
            "modf_vector",
            "let r = modf(vec3<f32>(a, 2.5, -3.25)); let e = frexp(vec2<f32>(a, 8.0));
             return dot(r.fract, vec3<f32>(1.0, 2.0, 4.0)) + r.whole.y * 10.0 + f32(e.exp.y) * 100.0;",
            &[(1.25, 0.25 + 1.0 - 1.0 + 20.0 + 400.0)],
        ),
        map_f32("quantize", "return quantizeToF16(a);", &[(1.0004, 1.0), (1.001, 1.000_976_6), (0.1, 0.099_975_586)]),
        map_f32("negative_literals", "return -(-1.5) - -a - 1e-3 * 0.0;", &[(2.0, 3.5)]),
    ]
}

fn conversions() -> Vec<Case> {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> input: array<f32>;
        @group(0) @binding(1) var<storage, read_write> signed: array<i32>;
        @group(0) @binding(2) var<storage, read_write> unsigned: array<u32>;
        @group(0) @binding(3) var<storage, read_write> bits: array<vec2<u32>>;
        @compute @workgroup_size(6)
        fn main(@builtin(local_invocation_index) i: u32) {
            let a = input[i];
            signed[i] = i32(a);
            unsigned[i] = vec3<u32>(vec3<f32>(a)).y;
            bits[i] = vec2<u32>(bitcast<u32>(a), u32(f32(bitcast<u32>(a) >> 8u)));
        }";
    let inputs = [1.75f32, -1.75, 3e9, -3e9, 1e20, 0.0];
    let bits: Vec<[u32; 2]> = inputs.iter().map(|v| [v.to_bits(), v.to_bits() >> 8]).collect();
    vec![
        Case::new("saturating_conversions", wgsl)
            .reads(&inputs)
            .writes(&[], &[1i32, -1, 2_147_483_520, i32::MIN, 2_147_483_520, 0])
            .writes(&[], &[1u32, 0, 3_000_000_000, 0, 4_294_967_040, 0])
            .writes(&[], &bits.concat()),
    ]
}

fn library() -> Vec<Case> {
    let angles = [-3.0f32, -1.5, -0.3, 0.0, 0.25, 1.0, 2.0, 3.1, 10.0];
    let small = [-0.99f32, -0.5, -0.01, 0.0, 0.3, 0.75, 0.999];
    let positive = [0.01f32, 0.5, 1.0, 1.5, 2.0, 10.0, 1000.0];
    let any = [-10.0f32, -2.0, -0.5, 0.0, 0.1, 1.0, 3.0, 20.0];
    let few = Tolerance::FewUlps;
    let close = Tolerance::Close;
    vec![
        near("sin", "return sin(a);", &angles, f64::sin, close),
        near("cos", "return cos(a);", &angles, f64::cos, close),
        near("tan", "return tan(a);", &small, f64::tan, few),
        near("asin", "return asin(a);", &small, f64::asin, few),
        near("acos", "return acos(a);", &small, f64::acos, few),
        near("atan", "return atan(a);", &any, f64::atan, few),
        near("atan2", "return atan2(a, -0.7);", &any, |v| v.atan2(f64::from(-0.7f32)), few),
        near("sinh", "return sinh(a);", &any, f64::sinh, few),
        near("cosh", "return cosh(a);", &any, f64::cosh, few),
        near("tanh", "return tanh(a);", &any, f64::tanh, few),
        near("asinh", "return asinh(a);", &any, f64::asinh, few),
        near("acosh", "return acosh(a);", &[1.0, 1.5, 2.0, 30.0], f64::acosh, few),
        near("atanh", "return atanh(a);", &small, f64::atanh, few),
        near("exp", "return exp(a);", &any, f64::exp, few),
        near("exp2", "return exp2(a);", &any, f64::exp2, few),
        near("log", "return log(a);", &positive, f64::ln, few),
        near("log2", "return log2(a);", &positive, f64::log2, few),
        near("pow", "return pow(a, 2.7);", &positive, |v| v.powf(f64::from(2.7f32)), few),
        near("sqrt", "return sqrt(a);", &positive, f64::sqrt, few),
        near("inverse_sqrt", "return inverseSqrt(a);", &positive, |v| 1.0 / v.sqrt(), few),
        near("radians_and_degrees", "return radians(a) + degrees(a);", &any, |v| v.to_radians() + v.to_degrees(), few),
        near(
            "smoothstep",
            "return smoothstep(-1.0, 2.0, a);",
            &any,
            |v| {
                let t = ((v + 1.0) / 3.0).clamp(0.0, 1.0);
                t * t * (3.0 - 2.0 * t)
            },
            few,
        ),
        near(
            "library_on_vectors",
            "let v = vec3<f32>(a, a * 0.5, 1.0); let s = exp(v) + sin(v) * tanh(v) + pow(v, vec3<f32>(1.5)) + sign(v); return s.x + s.y * 10.0 + s.z;",
            &positive[..4],
            |v| {
                let f = |v: f64| v.exp() + v.sin() * v.tanh() + v.powf(1.5) + v.signum();
                f(v) + f(v * 0.5) * 10.0 + f(1.0)
            },
            close,
        ),
    ]
}

fn geometry() -> Vec<Case> {
    vec![
        near(
            "lengths",
            "let v = vec3<f32>(a, 2.0, -1.0); return length(v) + distance(v, vec3<f32>(1.0)) * 10.0 + length(-a);",
            &[2.0, -3.0],
            |a| (a * a + 5.0).sqrt() + ((a - 1.0) * (a - 1.0) + 1.0 + 4.0).sqrt() * 10.0 + a.abs(),
            Tolerance::FewUlps,
        ),
        near(
            "normalize_and_cross",
            "let n = normalize(vec2<f32>(a, 4.0)); let c = cross(vec3<f32>(a, 2.0, 3.0), vec3<f32>(4.0, 5.0, 6.0)); return n.x + n.y * 10.0 + c.x + c.y * 100.0 + c.z * 1000.0;",
            &[3.0],
            |a| 0.6 + 8.0 - 3.0 + (12.0 - 6.0 * a) * 100.0 + (5.0 * a - 8.0) * 1000.0,
            Tolerance::FewUlps,
        ),
        near(
            "reflect_refract_face_forward",
            "let n = vec2<f32>(0.0, 1.0); let r = reflect(vec2<f32>(a, -1.0), n); let f = faceForward(n, vec2<f32>(a, 1.0), n); let q = refract(vec2<f32>(0.6, -0.8), n, 0.5); return r.x + r.y * 10.0 + f.y * 100.0 + q.x * 1000.0;",
            &[0.5],
            |a| a + 10.0 - 100.0 + 300.0,
            Tolerance::FewUlps,
        ),
    ]
}
