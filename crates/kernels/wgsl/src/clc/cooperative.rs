//! Cooperative matrices on WMMA (gfx11, wave32).

use naga::common::wgsl::ToWgsl as _;
use naga::{CooperativeData, CooperativeRole, CooperativeSize, Expression, Handle, Scalar, Span, TypeInner};

use super::error::Error;
use super::functions::{Body, c_space};
use super::types::wgsl_scalar;
use super::writer::Writer;
use super::{Dialect, Matrix, Subgroups};

impl Writer<'_> {
    /// Rejects cooperative matrices that the target does not support.
    pub(super) fn check_cooperative(
        &self,
        columns: CooperativeSize,
        rows: CooperativeSize,
        scalar: Scalar,
        role: CooperativeRole,
        span: Span,
    ) -> Result<(), Error> {
        let construct =
            format!("coop_mat{}x{}<{}, {}>", columns as u8, rows as u8, wgsl_scalar(scalar), role.to_wgsl());
        let wave32 = matches!(self.options.subgroups, Subgroups::Native { size: 32 });
        if self.options.matrix != Matrix::Wmma || self.options.dialect != Dialect::AmdGcn || !wave32 {
            return Err(self.unsupported(&construct, "needs matrix instructions, which the target lacks", span));
        }
        let sixteen = columns == CooperativeSize::Sixteen && rows == CooperativeSize::Sixteen;
        let known = scalar == Scalar::F16 || (scalar == Scalar::F32 && role == CooperativeRole::C);
        if sixteen && known { Ok(()) } else { Err(self.unsupported(&construct, "is not a shape of WMMA", span)) }
    }

    /// The fragment of a matrix that one work-item holds: a whole row or column of A and B, half a
    /// column of C.
    pub(super) fn cooperative_type(&mut self, scalar: Scalar, role: CooperativeRole) -> String {
        match (role, scalar) {
            (CooperativeRole::C, Scalar::F32) => "float8",
            (CooperativeRole::C, _) => "half8",
            _ => "half16",
        }
        .to_owned()
    }
}

impl Body<'_, '_> {
    /// The name of the prelude's load or store function, and its first arguments.
    fn cooperative_access(
        &mut self,
        verb: &str,
        inner: &TypeInner,
        data: &CooperativeData,
    ) -> Result<(String, String), Error> {
        let &TypeInner::CooperativeMatrix { columns, rows, scalar, role } = inner else {
            return Err(Error::Invalid("a cooperative matrix was expected".to_owned()));
        };
        self.writer.check_cooperative(columns, rows, scalar, role, self.span(data.pointer))?;
        let place = self.place(data.pointer)?;
        let (pointee, space) = self.pointee(data.pointer)?;
        // WGSL counts strides in pointees, which may be vectors, also of wider scalars. The prelude
        // counts elements.
        let width = match pointee {
            TypeInner::Vector { size, scalar: stored } => size as u8 * stored.width / scalar.width,
            TypeInner::Scalar(stored) => stored.width / scalar.width,
            _ => 1,
        };
        let stride = self.expression(data.stride)?;
        let space = c_space(space);
        let major = if data.row_major { "rows" } else { "columns" };
        let name = format!("roci_wmma_{verb}_{role:?}_{}_{space}_{major}", wgsl_scalar(scalar)).to_lowercase();
        if width == 1 {
            return Ok((name, format!("&{place}, {stride}")));
        }
        let element = if scalar == Scalar::F32 { "float" } else { "half" };
        Ok((name, format!("({space} {element} *)&{place}, {stride} * {width}u")))
    }

    pub(super) fn cooperative_load(
        &mut self,
        _role: CooperativeRole,
        data: &CooperativeData,
        whole: Handle<Expression>,
    ) -> Result<String, Error> {
        let (name, arguments) = self.cooperative_access("load", self.inner(whole), data)?;
        Ok(format!("{name}({arguments})"))
    }

    pub(super) fn cooperative_store(
        &mut self,
        target: Handle<Expression>,
        data: &CooperativeData,
        _span: Span,
    ) -> Result<(), Error> {
        let (name, arguments) = self.cooperative_access("store", self.inner(target), data)?;
        let value = self.expression(target)?;
        self.line(&format!("{name}({arguments}, {value});"));
        Ok(())
    }

    pub(super) fn cooperative_multiply_add(
        &mut self,
        a: Handle<Expression>,
        b: Handle<Expression>,
        c: Handle<Expression>,
    ) -> Result<String, Error> {
        let wide = matches!(self.inner(c), TypeInner::CooperativeMatrix { scalar: Scalar::F32, .. });
        let (a, b, c) = (self.expression(a)?, self.expression(b)?, self.expression(c)?);
        let name = if wide { "roci_wmma_multiply_add_f32" } else { "roci_wmma_multiply_add_f16" };
        Ok(format!("{name}({a}, {b}, {c})"))
    }
}
