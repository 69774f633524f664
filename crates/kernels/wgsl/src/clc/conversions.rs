//! Conversions between scalar kinds, and bit casts.

use naga::{Expression, Handle, Scalar, ScalarKind};

use super::error::Error;
use super::functions::Body;
use super::operators::is_integer;
use super::types::{Leaf, c_scalar, wgsl_scalar};
use super::writer::{Parameter, Writer};

impl Body<'_, '_> {
    /// `kind(value)` if a width is given, otherwise a bit cast.
    pub(super) fn convert(
        &mut self,
        value: Handle<Expression>,
        kind: ScalarKind,
        width: Option<u8>,
    ) -> Result<String, Error> {
        let inner = self.inner(value);
        let text = self.expression(value)?;
        if let naga::TypeInner::Matrix { columns, rows, scalar } = *inner {
            let target = Scalar { kind, width: width.unwrap_or(scalar.width) };
            return Ok(self.writer.convert_matrix(columns, rows, scalar, target, text));
        }
        let from = self.leaf(value)?;
        let Some(width) = width else { return Ok(self.writer.bitcast(from, kind, text)) };
        Ok(self.writer.convert_leaf(from, Scalar { kind, width }, text))
    }
}

impl Writer<'_> {
    fn bitcast(&mut self, from: Leaf, kind: ScalarKind, text: String) -> String {
        if kind == from.scalar.kind {
            return text;
        }
        if from.scalar.width == 2 && self.options.lowers_f16() && (from.is_float() || kind == ScalarKind::Float) {
            return self.bitcast_lowered_f16(from, kind, text);
        }
        let target = from.with(Scalar { kind, width: from.scalar.width });
        format!("as_{}({})", self.register(target), super::statements::bare(&text))
    }

    pub(super) fn convert_leaf(&mut self, from: Leaf, to: Scalar, text: String) -> String {
        let target = from.with(to);
        if from.scalar == to {
            return text;
        }
        if to.kind == ScalarKind::Bool {
            let zero = self.zero_leaf(from);
            let text = format!("({text} != {zero})");
            let wide = from.is_vector() && self.computed(from).scalar.width != 4;
            return if wide { self.convert_vector(&self.register(target), text) } else { text };
        }
        if from.is_bool() {
            return self.bool_as_number(target, text);
        }
        if from.is_float() && is_integer(to.kind) {
            return self.float_to_integer(from, to, text);
        }
        if to == Scalar::F16 && self.options.lowers_f16() {
            let wide = self.plain(from, from.with(Scalar::F32), text);
            return self.quantize_f16(from, wide);
        }
        self.plain(from, target, text)
    }

    /// The conversion by C's own rules.
    fn plain(&self, from: Leaf, target: Leaf, text: String) -> String {
        let (source, name) = (self.register(from), self.register(target));
        if source == name {
            text
        } else if target.is_vector() {
            self.convert_vector(&name, text)
        } else {
            format!("(({name}){text})")
        }
    }

    fn bool_as_number(&self, target: Leaf, text: String) -> String {
        let one = self.splat_number(target.component(), "1");
        let zero = self.splat_number(target.component(), "0");
        if target.is_vector() {
            // True is -1 in a C vector.
            self.convert_vector(&self.register(target), format!("(-{text})"))
        } else {
            self.narrowed(target, format!("{text} ? {one} : {zero}"))
        }
    }

    /// Truncates toward zero and saturates, as WGSL requires.
    fn float_to_integer(&mut self, from: Leaf, to: Scalar, text: String) -> String {
        // An f16 source needs the smaller range of f16.
        let source = if from.scalar == Scalar::F16 { "f16" } else { "f32" };
        let text = self.as_f32(from, text);
        let name = format!("roci_{source}_to_{}", wgsl_scalar(to));
        self.call_by_lane(&name, c_scalar(to), from.size, &[Parameter::lanes("float")], &[text])
    }
}
