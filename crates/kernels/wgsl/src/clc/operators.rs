//! Unary and binary operators, with WGSL's results where C leaves them undefined.

use naga::{BinaryOperator, Expression, Handle, Literal, Scalar, ScalarKind, TypeInner, UnaryOperator};

use super::error::Error;
use super::functions::Body;
use super::types::{Leaf, c_scalar, unsigned, wgsl_scalar};
use super::writer::{Parameter, Writer};

impl Body<'_, '_> {
    pub(super) fn unary(&mut self, op: UnaryOperator, operand: Handle<Expression>) -> Result<String, Error> {
        let leaf = self.leaf(operand)?;
        let text = self.expression(operand)?;
        Ok(match op {
            UnaryOperator::Negate if leaf.is_float() => format!("(-{text})"),
            UnaryOperator::Negate => {
                let text = self.writer.as_unsigned(leaf, text);
                self.writer.unsigned_as(leaf, format!("-{text}"))
            }
            UnaryOperator::LogicalNot if leaf.is_vector() => format!("(~{text})"),
            UnaryOperator::LogicalNot => format!("(!{text})"),
            UnaryOperator::BitwiseNot => self.writer.narrowed(leaf, format!("~{text}")),
        })
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
        whole: Handle<Expression>,
    ) -> Result<String, Error> {
        let (left_inner, right_inner) = (self.inner(left), self.inner(right));
        let a = self.expression(left)?;
        let b = self.expression(right)?;
        if let TypeInner::Matrix { .. } | TypeInner::CooperativeMatrix { .. } = left_inner {
            return self.matrix_binary(op, left_inner, right_inner, [a, b], whole);
        }
        if let TypeInner::Matrix { .. } | TypeInner::CooperativeMatrix { .. } = right_inner {
            return self.matrix_binary(op, left_inner, right_inner, [a, b], whole);
        }
        let (left_leaf, right_leaf) = (self.leaf(left)?, self.leaf(right)?);
        let size = left_leaf.size.or(right_leaf.size);
        let leaf = self.writer.computed(Leaf { size, ..left_leaf });
        match op {
            BinaryOperator::Equal
            | BinaryOperator::NotEqual
            | BinaryOperator::Less
            | BinaryOperator::LessEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterEqual => Ok(self.writer.comparison(op, leaf, &a, &b)),
            BinaryOperator::LogicalAnd | BinaryOperator::LogicalOr => Ok(format!("({a} {} {b})", symbol(op))),
            BinaryOperator::And | BinaryOperator::InclusiveOr | BinaryOperator::ExclusiveOr => {
                Ok(self.writer.bitwise(op, leaf, &a, &b))
            }
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => {
                let amount = self.shift_amount(leaf, right, b);
                Ok(self.writer.shift(op, leaf, a, &amount))
            }
            BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Multiply => {
                let a = self.writer.scalar_operand(leaf, left_leaf, a);
                let b = self.writer.scalar_operand(leaf, right_leaf, b);
                Ok(self.writer.arithmetic(op, leaf, a, b))
            }
            BinaryOperator::Divide | BinaryOperator::Modulo if leaf.is_float() => {
                let a = self.writer.widened(leaf, left_leaf, a);
                let b = self.writer.widened(leaf, right_leaf, b);
                Ok(self.writer.float_division(op, leaf, a, b))
            }
            BinaryOperator::Divide | BinaryOperator::Modulo => {
                let plain = self.divides_safely(right);
                let a = self.writer.widened(leaf, left_leaf, a);
                let b = self.writer.widened(leaf, right_leaf, b);
                Ok(self.writer.integer_division(op, leaf, a, b, plain))
            }
        }
    }

    /// The literal that an expression resolves to through constants and splats.
    fn literal_behind(&self, handle: Handle<Expression>) -> Option<Literal> {
        match self.function.expressions[handle] {
            Expression::Literal(literal) => Some(literal),
            Expression::Splat { value, .. } => self.literal_behind(value),
            Expression::Constant(constant) => {
                let module = self.writer.module;
                match module.global_expressions[module.constants[constant].init] {
                    Expression::Literal(literal) => Some(literal),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether division by this expression can neither trap nor overflow.
    fn divides_safely(&self, divisor: Handle<Expression>) -> bool {
        match self.literal_behind(divisor) {
            Some(Literal::U32(value)) => value != 0,
            Some(Literal::U64(value)) => value != 0,
            Some(Literal::I32(value)) => value != 0 && value != -1,
            Some(Literal::I64(value)) => value != 0 && value != -1,
            _ => false,
        }
    }

    /// A shift amount masked to below the bit width, in a type that C accepts together with `leaf`.
    fn shift_amount(&mut self, leaf: Leaf, amount: Handle<Expression>, text: String) -> String {
        let bits = u32::from(leaf.scalar.width) * 8;
        let masked = match self.literal_behind(amount) {
            Some(Literal::U32(value)) if value < bits => text,
            _ => format!("({text} & {}u)", bits - 1),
        };
        if leaf.is_vector() && leaf.scalar.width != 4 {
            let target = leaf.with(unsigned(leaf.scalar));
            self.writer.convert_vector(&self.writer.register(target), masked)
        } else {
            masked
        }
    }
}

impl Writer<'_> {
    /// Splats a scalar to the size of `leaf` if the other operand is a vector.
    pub(super) fn widened(&self, leaf: Leaf, own: Leaf, text: String) -> String {
        match (leaf.size, own.size) {
            (Some(size), None) => self.splat(own, size, text),
            _ => text,
        }
    }

    /// Reinterprets an integer as unsigned.
    pub(super) fn as_unsigned(&self, leaf: Leaf, text: String) -> String {
        if !leaf.is_signed() {
            return text;
        }
        let target = self.register(leaf.with(unsigned(leaf.scalar)));
        if leaf.is_vector() { format!("as_{target}({text})") } else { format!("({target}){text}") }
    }

    /// Reinterprets an unsigned integer as `leaf`.
    pub(super) fn unsigned_as(&self, leaf: Leaf, text: String) -> String {
        match (leaf.is_signed() || leaf.scalar.width == 2, leaf.is_vector()) {
            (false, _) => format!("({text})"),
            (true, true) => format!("as_{}({text})", self.register(leaf)),
            (true, false) => format!("(({})({text}))", c_scalar(leaf.scalar)),
        }
    }

    /// Undoes C's integer promotion of 16-bit scalars.
    pub(super) fn narrowed(&self, leaf: Leaf, text: String) -> String {
        match leaf.scalar.width == 2 && !leaf.is_vector() && !leaf.is_float() {
            true => format!("(({})({text}))", c_scalar(leaf.scalar)),
            false => format!("({text})"),
        }
    }

    fn arithmetic(&self, op: BinaryOperator, leaf: Leaf, a: String, b: String) -> String {
        let symbol = symbol(op);
        if leaf.is_float() {
            return format!("({a} {symbol} {b})");
        }
        // Signed overflow is undefined in C and wraps in WGSL. 16-bit operands would be promoted to
        // signed int.
        let wide = if leaf.scalar.width == 2 && !leaf.is_vector() { "(uint)" } else { "" };
        let operand = |text: String| format!("{wide}{}", self.as_unsigned(leaf, text));
        let sum = format!("{} {symbol} {}", operand(a), operand(b));
        self.unsigned_as(leaf, sum)
    }

    /// A scalar operand next to a vector: C widens floats implicitly, bit casts need equal sizes.
    fn scalar_operand(&self, leaf: Leaf, own: Leaf, text: String) -> String {
        if leaf.is_float() { text } else { self.widened(leaf, own, text) }
    }

    fn comparison(&self, op: BinaryOperator, leaf: Leaf, a: &str, b: &str) -> String {
        let text = format!("({a} {} {b})", symbol(op));
        if leaf.is_vector() && !leaf.is_bool() && leaf.scalar.width != 4 {
            // A vector comparison yields integers as wide as its operands.
            self.convert_vector(&format!("int{}", leaf.lane_suffix()), text)
        } else {
            text
        }
    }

    fn bitwise(&self, op: BinaryOperator, leaf: Leaf, a: &str, b: &str) -> String {
        let symbol = match op {
            _ if !leaf.is_bool() || leaf.is_vector() => symbol(op),
            BinaryOperator::And => "&&",
            BinaryOperator::InclusiveOr => "||",
            _ => "!=",
        };
        self.narrowed(leaf, format!("{a} {symbol} {b}"))
    }

    fn shift(&self, op: BinaryOperator, leaf: Leaf, a: String, amount: &str) -> String {
        match op {
            BinaryOperator::ShiftLeft => {
                let a = self.as_unsigned(leaf, a);
                self.unsigned_as(leaf, format!("{a} << {amount}"))
            }
            _ => self.narrowed(leaf, format!("{a} >> {amount}")),
        }
    }

    fn float_division(&mut self, op: BinaryOperator, leaf: Leaf, a: String, b: String) -> String {
        if op == BinaryOperator::Divide {
            return format!("({a} / {b})");
        }
        if !self.is_amdgcn() {
            return format!("fmod({a}, {b})");
        }
        let arguments = [self.as_f32(leaf, a), self.as_f32(leaf, b)];
        let parameters = [Parameter::lanes("float"); 2];
        let text = self.call_by_lane("__builtin_fmodf", "float", leaf.size, &parameters, &arguments);
        self.f32_as(leaf, text)
    }

    fn integer_division(&mut self, op: BinaryOperator, leaf: Leaf, a: String, b: String, plain: bool) -> String {
        if plain {
            return self.narrowed(leaf, format!("{a} {} {b}", symbol(op)));
        }
        let name = if op == BinaryOperator::Divide { "div" } else { "mod" };
        let c_type = c_scalar(leaf.scalar);
        let function = format!("roci_{name}_{}", wgsl_scalar(leaf.scalar));
        self.call_by_lane(&function, c_type, leaf.size, &[Parameter::lanes(c_type); 2], &[a, b])
    }

    /// Converts a float of any width to f32.
    pub(super) fn as_f32(&self, leaf: Leaf, text: String) -> String {
        match (self.computed(leaf).scalar == Scalar::F16, leaf.is_vector()) {
            (false, _) => text,
            (true, false) => format!("(float){}", super::statements::closed(&text)),
            (true, true) => self.convert_vector(&format!("float{}", leaf.lane_suffix()), text),
        }
    }

    /// Converts f32 to the float type of `leaf`.
    pub(super) fn f32_as(&self, leaf: Leaf, text: String) -> String {
        match (self.computed(leaf).scalar == Scalar::F16, leaf.is_vector()) {
            (false, _) => text,
            (true, false) => format!("((half){text})"),
            (true, true) => self.convert_vector(&format!("half{}", leaf.lane_suffix()), text),
        }
    }
}

pub(super) fn symbol(op: BinaryOperator) -> &'static str {
    match op {
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::Equal => "==",
        BinaryOperator::NotEqual => "!=",
        BinaryOperator::Less => "<",
        BinaryOperator::LessEqual => "<=",
        BinaryOperator::Greater => ">",
        BinaryOperator::GreaterEqual => ">=",
        BinaryOperator::And => "&",
        BinaryOperator::ExclusiveOr => "^",
        BinaryOperator::InclusiveOr => "|",
        BinaryOperator::LogicalAnd => "&&",
        BinaryOperator::LogicalOr => "||",
        BinaryOperator::ShiftLeft => "<<",
        BinaryOperator::ShiftRight => ">>",
    }
}

/// Scalar kinds that are integers in C.
pub(super) fn is_integer(kind: ScalarKind) -> bool {
    matches!(kind, ScalarKind::Sint | ScalarKind::Uint)
}
