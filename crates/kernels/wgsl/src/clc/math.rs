//! WGSL's built-in functions.
//!
//! Each maps to one of three things: a function that accepts both scalars and vectors (the OpenCL
//! library or clang's elementwise built-ins), a scalar function of the prelude that is called per
//! lane, or a small generated function made of operators.

use naga::common::wgsl::TryToWgsl as _;
use naga::{Expression, Handle, MathFunction, Scalar, ScalarKind};

use super::error::Error;
use super::functions::Body;
use super::types::{LANES, Leaf, c_scalar, wgsl_scalar};
use super::writer::{Parameter, Writer};

impl Body<'_, '_> {
    pub(super) fn math(
        &mut self,
        fun: MathFunction,
        arguments: &[Handle<Expression>],
        whole: Handle<Expression>,
    ) -> Result<String, Error> {
        let mut texts = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            let text = self.expression(argument)?;
            texts.push(super::statements::bare(&text).to_owned());
        }
        match fun {
            MathFunction::Transpose | MathFunction::Determinant => {
                let inner = self.inner(arguments[0]);
                let text = texts.swap_remove(0);
                let done = match fun {
                    MathFunction::Transpose => self.writer.transpose(inner, text),
                    _ => self.writer.determinant(inner, text),
                };
                return done.ok_or_else(|| Error::Invalid("a matrix was expected".to_owned()));
            }
            MathFunction::Outer | MathFunction::Inverse => return self.unsupported(wgsl_function(fun), whole),
            MathFunction::Modf | MathFunction::Frexp => return self.decompose(fun, arguments[0], &texts[0], whole),
            _ => {}
        }
        let own = self.leaf(arguments[0])?;
        // The last argument of `mix` may be a scalar even if the others are vectors.
        if fun == MathFunction::Mix {
            let last = self.leaf(arguments[2])?;
            texts[2] = self.writer.widened(own, last, texts[2].clone());
        }
        let leaf = self.writer.computed(own);
        match leaf.scalar.kind {
            _ if fun == MathFunction::Dot => Ok(self.writer.dot(leaf, texts[0].clone(), texts[1].clone())),
            ScalarKind::Float => self.float_math(fun, leaf, texts, whole),
            _ => self.integer_math(fun, leaf, texts, whole),
        }
    }

    fn float_math(
        &mut self,
        fun: MathFunction,
        leaf: Leaf,
        texts: Vec<String>,
        whole: Handle<Expression>,
    ) -> Result<String, Error> {
        let writer = &mut self.writer;
        if let Some(name) = writer.element_wise(fun) {
            return Ok(format!("{name}({})", texts.join(", ")));
        }
        if let Some(name) = prelude_float(fun) {
            return Ok(writer.through_f32(name, leaf, texts));
        }
        if let Some(name) = packing(fun) {
            let text = writer.as_f32(leaf, texts[0].clone());
            return Ok(format!("{name}({text})"));
        }
        let one = writer.splat_number(leaf, "1");
        let zero = writer.splat_number(leaf, "0");
        let [min, max] = writer.float_limits();
        Ok(match fun {
            MathFunction::Clamp => format!("{min}({max}({}, {}), {})", texts[0], texts[1], texts[2]),
            MathFunction::Saturate => format!("{min}({max}({}, {zero}), {one})", texts[0]),
            MathFunction::Fract => writer.of_operators("fract", leaf, leaf, &texts, |writer| {
                let floor = writer.element_wise(MathFunction::Floor).unwrap_or("floor");
                format!("a - {floor}(a)")
            }),
            MathFunction::Mix => writer.of_operators("mix", leaf, leaf, &texts, |_| format!("a * ({one} - c) + b * c")),
            MathFunction::Step => {
                writer.of_operators("step", leaf, leaf, &texts, |_| format!("(a <= b) ? {one} : {zero}"))
            }
            MathFunction::QuantizeToF16 => {
                let text = writer.as_f32(leaf, texts[0].clone());
                writer.quantize_f16(leaf, text)
            }
            MathFunction::Ldexp => {
                let parameters = [Parameter::lanes("float"), Parameter::lanes("int")];
                let name = if writer.is_amdgcn() { "__builtin_ldexpf" } else { "ldexp" };
                let arguments = [writer.as_f32(leaf, texts[0].clone()), texts[1].clone()];
                let text = writer.call_by_lane(name, "float", leaf.size, &parameters, &arguments);
                writer.f32_as(leaf, text)
            }
            MathFunction::Length | MathFunction::Distance | MathFunction::Normalize => {
                writer.lengths(fun, leaf, &texts)
            }
            MathFunction::Cross | MathFunction::FaceForward | MathFunction::Reflect | MathFunction::Refract => {
                writer.geometry(fun, leaf, &texts)
            }
            _ => return self.unsupported(wgsl_function(fun), whole),
        })
    }

    fn integer_math(
        &mut self,
        fun: MathFunction,
        leaf: Leaf,
        texts: Vec<String>,
        whole: Handle<Expression>,
    ) -> Result<String, Error> {
        let writer = &mut self.writer;
        let c_type = c_scalar(leaf.scalar);
        let (min, max) = if writer.is_amdgcn() {
            ("__builtin_elementwise_min", "__builtin_elementwise_max")
        } else {
            ("min", "max")
        };
        let same = |writer: &mut Writer<'_>, name: &str, count: usize| {
            let name = format!("roci_{name}_{}", wgsl_scalar(leaf.scalar));
            writer.call_by_lane(&name, c_type, leaf.size, &vec![Parameter::lanes(c_type); count], &texts)
        };
        if let Some(name) = packing(fun) {
            return Ok(format!("{name}({})", texts[0]));
        }
        Ok(match fun {
            MathFunction::Abs if !leaf.is_signed() => super::statements::closed(&texts[0]),
            MathFunction::Abs => same(writer, "abs", 1),
            MathFunction::Sign => same(writer, "sign", 1),
            MathFunction::Min => format!("{min}({}, {})", texts[0], texts[1]),
            MathFunction::Max => format!("{max}({}, {})", texts[0], texts[1]),
            MathFunction::Clamp => format!("{min}({max}({}, {}), {})", texts[0], texts[1], texts[2]),
            MathFunction::CountOneBits => same(writer, "count_ones", 1),
            MathFunction::CountLeadingZeros => same(writer, "leading_zeros", 1),
            MathFunction::CountTrailingZeros => same(writer, "trailing_zeros", 1),
            MathFunction::ReverseBits => same(writer, "reverse_bits", 1),
            MathFunction::FirstLeadingBit => same(writer, "first_leading_bit", 1),
            MathFunction::FirstTrailingBit => same(writer, "first_trailing_bit", 1),
            MathFunction::ExtractBits | MathFunction::InsertBits => {
                let mut parameters = vec![Parameter::lanes(c_type)];
                let name = if fun == MathFunction::ExtractBits {
                    "extract_bits"
                } else {
                    parameters.push(Parameter::lanes(c_type));
                    "insert_bits"
                };
                parameters.extend([Parameter::whole("uint"); 2]);
                let name = format!("roci_{name}_{}", wgsl_scalar(leaf.scalar));
                writer.call_by_lane(&name, c_type, leaf.size, &parameters, &texts)
            }
            MathFunction::Dot4I8Packed | MathFunction::Dot4U8Packed => {
                let signed = fun == MathFunction::Dot4I8Packed;
                writer.packed_dot(signed, &texts)
            }
            _ => return self.unsupported(wgsl_function(fun), whole),
        })
    }

    /// `modf` and `frexp`, which return structs.
    fn decompose(
        &mut self,
        fun: MathFunction,
        argument: Handle<Expression>,
        text: &str,
        whole: Handle<Expression>,
    ) -> Result<String, Error> {
        let leaf = self.leaf(argument)?;
        let result = self.type_of(whole);
        let writer = &mut self.writer;
        let ty = writer.register(leaf);
        let wide = writer.as_f32(leaf, "a".to_owned());
        let float = [Parameter::lanes("float")];
        let (first, second, name) = if fun == MathFunction::Modf {
            let whole = writer.element_wise(MathFunction::Trunc).unwrap_or("trunc");
            (format!("a - {whole}(a)"), format!("{whole}(a)"), "modf")
        } else {
            let mantissa =
                writer.call_by_lane("roci_frexp_fraction", "float", leaf.size, &float, std::slice::from_ref(&wide));
            let exponent = writer.call_by_lane("roci_frexp_exponent", "int", leaf.size, &float, &[wide]);
            (writer.f32_as(leaf, mantissa), exponent, "frexp")
        };
        let first = writer.stored(leaf, first);
        let second_leaf = if fun == MathFunction::Modf { leaf } else { leaf.with(Scalar::I32) };
        let second = writer.stored(second_leaf, second);
        let function = format!("roci_{name}_{ty}");
        let body = format!("    return ({result}){{{first}, {second}}};\n");
        writer.generate(&function, format!("ROCI_FN {result} {function}({ty} a) {{\n{body}}}\n"));
        Ok(format!("{function}({text})"))
    }
}

impl Writer<'_> {
    /// The C name of a float function that accepts scalars and vectors.
    pub(super) fn element_wise(&self, fun: MathFunction) -> Option<&'static str> {
        let (opencl, amdgcn) = match fun {
            MathFunction::Abs => ("fabs", "__builtin_elementwise_abs"),
            MathFunction::Min => ("fmin", "__builtin_elementwise_minnum"),
            MathFunction::Max => ("fmax", "__builtin_elementwise_maxnum"),
            MathFunction::Ceil => ("ceil", "__builtin_elementwise_ceil"),
            MathFunction::Floor => ("floor", "__builtin_elementwise_floor"),
            MathFunction::Round => ("rint", "__builtin_elementwise_roundeven"),
            MathFunction::Trunc => ("trunc", "__builtin_elementwise_trunc"),
            MathFunction::Fma => ("fma", "__builtin_elementwise_fma"),
            MathFunction::Sqrt => ("sqrt", "__builtin_elementwise_sqrt"),
            MathFunction::Exp => ("exp", "__builtin_elementwise_exp"),
            MathFunction::Exp2 => ("exp2", "__builtin_elementwise_exp2"),
            MathFunction::Log => ("log", "__builtin_elementwise_log"),
            MathFunction::Log2 => ("log2", "__builtin_elementwise_log2"),
            MathFunction::Cos => ("cos", ""),
            MathFunction::Cosh => ("cosh", ""),
            MathFunction::Sin => ("sin", ""),
            MathFunction::Sinh => ("sinh", ""),
            MathFunction::Tan => ("tan", ""),
            MathFunction::Tanh => ("tanh", ""),
            MathFunction::Acos => ("acos", ""),
            MathFunction::Asin => ("asin", ""),
            MathFunction::Atan => ("atan", ""),
            MathFunction::Atan2 => ("atan2", ""),
            MathFunction::Asinh => ("asinh", ""),
            MathFunction::Acosh => ("acosh", ""),
            MathFunction::Atanh => ("atanh", ""),
            MathFunction::Pow => ("pow", ""),
            MathFunction::InverseSqrt => ("rsqrt", ""),
            MathFunction::Sign => ("sign", ""),
            _ => return None,
        };
        let name = if self.is_amdgcn() { amdgcn } else { opencl };
        (!name.is_empty()).then_some(name)
    }

    fn float_limits(&self) -> [&'static str; 2] {
        match self.is_amdgcn() {
            true => ["__builtin_elementwise_minnum", "__builtin_elementwise_maxnum"],
            false => ["fmin", "fmax"],
        }
    }

    /// Calls a prelude function that exists only for f32, with conversions around it.
    fn through_f32(&mut self, name: &str, leaf: Leaf, texts: Vec<String>) -> String {
        let arguments: Vec<String> = texts.into_iter().map(|text| self.as_f32(leaf, text)).collect();
        let parameters = vec![Parameter::lanes("float"); arguments.len()];
        let text = self.call_by_lane(name, "float", leaf.size, &parameters, &arguments);
        self.f32_as(leaf, text)
    }

    /// Generates, once per type, a function with a single `return` and parameters `a`, `b`, `c` of
    /// type `leaf`.
    fn of_operators(
        &mut self,
        name: &str,
        leaf: Leaf,
        result: Leaf,
        arguments: &[String],
        body: impl FnOnce(&mut Self) -> String,
    ) -> String {
        let ty = self.register(leaf);
        let function = format!("roci_{name}_{ty}");
        let text = body(self);
        let parameters: Vec<String> =
            ["a", "b", "c"][..arguments.len()].iter().map(|letter| format!("{ty} {letter}")).collect();
        let result = self.register(result);
        let text = format!("ROCI_FN {result} {function}({}) {{\n    return {text};\n}}\n", parameters.join(", "));
        self.generate(&function, text);
        format!("{function}({})", arguments.join(", "))
    }

    /// Dot product; integer arithmetic wraps.
    pub(super) fn dot(&mut self, leaf: Leaf, a: String, b: String) -> String {
        let leaf = self.computed(leaf);
        self.of_operators("dot", leaf, leaf.component(), &[a, b], |writer| {
            let component = leaf.component();
            let terms: Vec<String> = LANES[..leaf.lanes()]
                .iter()
                .map(|lane| {
                    let a = writer.as_unsigned(component, format!("a.{lane}"));
                    let b = writer.as_unsigned(component, format!("b.{lane}"));
                    format!("{a} * {b}")
                })
                .collect();
            let sum = terms.join(" + ");
            if leaf.is_float() { sum } else { writer.unsigned_as(component, sum) }
        })
    }

    fn lengths(&mut self, fun: MathFunction, leaf: Leaf, texts: &[String]) -> String {
        let sqrt = if self.is_amdgcn() { "__builtin_elementwise_sqrt" } else { "sqrt" };
        let abs = if self.is_amdgcn() { "__builtin_elementwise_abs" } else { "fabs" };
        let length = |writer: &mut Self, of: &str| match leaf.is_vector() {
            true => format!("{sqrt}({})", writer.dot(leaf, of.to_owned(), of.to_owned())),
            false => format!("{abs}({of})"),
        };
        match fun {
            MathFunction::Length => {
                self.of_operators("length", leaf, leaf.component(), texts, |writer| length(writer, "a"))
            }
            MathFunction::Distance => {
                self.of_operators("distance", leaf, leaf.component(), texts, |writer| length(writer, "(a - b)"))
            }
            _ => self.of_operators("normalize", leaf, leaf, texts, |writer| format!("a / {}", length(writer, "a"))),
        }
    }

    fn geometry(&mut self, fun: MathFunction, leaf: Leaf, texts: &[String]) -> String {
        let (one, zero, two) = (
            self.splat_number(leaf.component(), "1"),
            self.splat_number(leaf, "0"),
            self.splat_number(leaf.component(), "2"),
        );
        let dot = |writer: &mut Self, a: &str, b: &str| writer.dot(leaf, a.to_owned(), b.to_owned());
        match fun {
            MathFunction::Cross => {
                self.of_operators("cross", leaf, leaf, texts, |_| "a.yzx * b.zxy - a.zxy * b.yzx".to_owned())
            }
            MathFunction::FaceForward => self.of_operators("face_forward", leaf, leaf, texts, |writer| {
                format!("{} < 0.0f ? a : -a", dot(writer, "b", "c"))
            }),
            MathFunction::Reflect => self.of_operators("reflect", leaf, leaf, texts, |writer| {
                format!("a - {two} * {} * b", dot(writer, "b", "a"))
            }),
            _ => {
                // The last argument is a scalar, so the signature differs.
                let (ty, scalar) = (self.register(leaf), self.register(leaf.component()));
                let sqrt = if self.is_amdgcn() { "__builtin_elementwise_sqrt" } else { "sqrt" };
                let cosine = dot(self, "b", "a");
                let name = format!("roci_refract_{ty}");
                let text = format!(
                    "ROCI_FN {ty} {name}({ty} a, {ty} b, {scalar} c) {{\n    \
                     const {scalar} d = {cosine};\n    \
                     const {scalar} k = {one} - c * c * ({one} - d * d);\n    \
                     return k < 0.0f ? {zero} : c * a - (c * d + {sqrt}(k)) * b;\n}}\n"
                );
                self.generate(&name, text);
                format!("{name}({})", texts.join(", "))
            }
        }
    }

    fn packed_dot(&mut self, signed: bool, texts: &[String]) -> String {
        let arguments = texts.join(", ");
        let kind = if signed { "i8" } else { "u8" };
        if !self.options.integer_dot {
            return format!("roci_dot4_{kind}({arguments})");
        }
        if !self.is_amdgcn() {
            self.extensions.insert("cl_khr_integer_dot_product");
        }
        format!("roci_native_dot4_{kind}({arguments})")
    }
}

/// Scalar f32 functions that the prelude defines for dialects without a built-in.
fn prelude_float(fun: MathFunction) -> Option<&'static str> {
    Some(match fun {
        MathFunction::Cos => "roci_cos",
        MathFunction::Cosh => "roci_cosh",
        MathFunction::Sin => "roci_sin",
        MathFunction::Sinh => "roci_sinh",
        MathFunction::Tan => "roci_tan",
        MathFunction::Tanh => "roci_tanh",
        MathFunction::Acos => "roci_acos",
        MathFunction::Asin => "roci_asin",
        MathFunction::Atan => "roci_atan",
        MathFunction::Atan2 => "roci_atan2",
        MathFunction::Asinh => "roci_asinh",
        MathFunction::Acosh => "roci_acosh",
        MathFunction::Atanh => "roci_atanh",
        MathFunction::Pow => "roci_pow",
        MathFunction::InverseSqrt => "roci_inverse_sqrt",
        MathFunction::Sign => "roci_sign_f32",
        MathFunction::Radians => "roci_radians",
        MathFunction::Degrees => "roci_degrees",
        MathFunction::SmoothStep => "roci_smooth_step",
        _ => return None,
    })
}

/// A function's name in WGSL. The two that WGSL does not have use their GLSL names.
fn wgsl_function(fun: MathFunction) -> &'static str {
    fun.try_to_wgsl().unwrap_or(if fun == MathFunction::Outer { "outerProduct" } else { "inverse" })
}

/// Pack and unpack functions; their types are fixed.
fn packing(fun: MathFunction) -> Option<&'static str> {
    Some(match fun {
        MathFunction::Pack4x8snorm => "roci_pack4x8snorm",
        MathFunction::Pack4x8unorm => "roci_pack4x8unorm",
        MathFunction::Pack2x16snorm => "roci_pack2x16snorm",
        MathFunction::Pack2x16unorm => "roci_pack2x16unorm",
        MathFunction::Pack2x16float => "roci_pack2x16float",
        MathFunction::Pack4xI8 => "roci_pack4xI8",
        MathFunction::Pack4xU8 => "roci_pack4xU8",
        MathFunction::Pack4xI8Clamp => "roci_pack4xI8Clamp",
        MathFunction::Pack4xU8Clamp => "roci_pack4xU8Clamp",
        MathFunction::Unpack4x8snorm => "roci_unpack4x8snorm",
        MathFunction::Unpack4x8unorm => "roci_unpack4x8unorm",
        MathFunction::Unpack2x16snorm => "roci_unpack2x16snorm",
        MathFunction::Unpack2x16unorm => "roci_unpack2x16unorm",
        MathFunction::Unpack2x16float => "roci_unpack2x16float",
        MathFunction::Unpack4xI8 => "roci_unpack4xI8",
        MathFunction::Unpack4xU8 => "roci_unpack4xU8",
        _ => return None,
    })
}
