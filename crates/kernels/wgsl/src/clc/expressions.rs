//! Expressions as C text. Compound expressions are parenthesized.

use naga::{Expression, Handle, RelationalFunction, ScalarKind, SwizzleComponent, Type, VectorSize};

use super::access::Index;
use super::analysis::length_of;
use super::error::Error;
use super::functions::Body;
use super::types::{LANES, Leaf};
use super::writer::{Parameter, Writer};

impl Body<'_, '_> {
    /// An expression's value in register form: its name if it was assigned to a variable.
    pub(super) fn expression(&mut self, handle: Handle<Expression>) -> Result<String, Error> {
        match self.variables.get(&handle) {
            Some(name) => Ok(name.clone()),
            None => self.inline_expression(handle),
        }
    }

    /// Writes the expression inline even if it has a variable.
    pub(super) fn inline_expression(&mut self, handle: Handle<Expression>) -> Result<String, Error> {
        let expression = &self.function.expressions[handle];
        match *expression {
            Expression::Literal(literal) => self.writer.literal(literal, self.span(handle)),
            Expression::Constant(constant) => self.writer.constant(constant),
            Expression::ZeroValue(ty) => Ok(self.writer.zero(ty)),
            Expression::Compose { ty, ref components } => self.compose(ty, components),
            Expression::Access { base, index } => self.part_of_value(base, Index::Dynamic(index), self.inner(handle)),
            Expression::AccessIndex { base, index } => {
                self.part_of_value(base, Index::Constant(index), self.inner(handle))
            }
            Expression::Splat { size, value } => {
                let leaf = self.leaf(value)?;
                let text = self.expression(value)?;
                Ok(self.writer.splat(leaf, size, text))
            }
            Expression::Swizzle { size, vector, pattern } => {
                let text = self.expression(vector)?;
                Ok(format!("{text}.{}", swizzle(size, pattern)))
            }
            Expression::FunctionArgument(index) => Ok(self.argument_name(index)),
            Expression::Load { pointer } => self.load(pointer),
            Expression::Unary { op, expr } => self.unary(op, expr),
            Expression::Binary { op, left, right } => self.binary(op, left, right, handle),
            Expression::Select { condition, accept, reject } => self.select(condition, accept, reject),
            Expression::Relational { fun, argument } => self.relational(fun, argument),
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let arguments: Vec<_> = [Some(arg), arg1, arg2, arg3].into_iter().flatten().collect();
                self.math(fun, &arguments, handle)
            }
            Expression::As { expr, kind, convert } => self.convert(expr, kind, convert),
            Expression::ArrayLength(array) => match length_of(self.function, array) {
                Some(global) => Ok(self.writer.length_name(global)),
                None => self.unsupported("arrayLength", handle),
            },
            Expression::CooperativeLoad { role, ref data, .. } => self.cooperative_load(role, data, handle),
            Expression::CooperativeMultiplyAdd { a, b, c } => self.cooperative_multiply_add(a, b, c),
            Expression::GlobalVariable(_) | Expression::LocalVariable(_) => {
                Err(Error::Invalid("a pointer where a value was expected".to_owned()))
            }
            Expression::Override(_) => Err(Error::Override { name: String::new(), line: None }),
            Expression::ImageSample { .. } => self.unsupported("textureSample", handle),
            Expression::ImageLoad { .. } => self.unsupported("textureLoad", handle),
            Expression::ImageQuery { .. } => self.unsupported("textureDimensions", handle),
            Expression::Derivative { .. } => self.unsupported("dpdx", handle),
            Expression::RayQueryVertexPositions { .. }
            | Expression::RayQueryProceedResult
            | Expression::RayQueryGetIntersection { .. } => self.unsupported("ray_query", handle),
            Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. }
            | Expression::SubgroupBallotResult
            | Expression::SubgroupOperationResult { .. } => {
                Err(Error::Invalid("a result is used before its statement".to_owned()))
            }
        }
    }

    fn compose(&mut self, ty: Handle<Type>, components: &[Handle<Expression>]) -> Result<String, Error> {
        let mut parts = Vec::with_capacity(components.len());
        for &component in components {
            let leaf = Leaf::of(self.inner(component));
            parts.push((leaf, self.expression(component)?));
        }
        let inner = &self.writer.module.types[ty].inner;
        if let Some(leaf) = Leaf::of(inner) {
            return Ok(self.writer.compose_vector(leaf, parts));
        }
        if let naga::TypeInner::Matrix { rows, scalar, .. } = *inner {
            parts = self.writer.columns(rows, scalar, parts);
        }
        let mut stored = Vec::with_capacity(parts.len());
        for (leaf, text) in parts {
            stored.push(match leaf {
                Some(leaf) => self.writer.stored(leaf, text),
                None => text,
            });
        }
        let name = self.writer.memory_type(ty);
        Ok(format!("(({name}){})", self.writer.braces(ty, &stored)))
    }

    fn select(
        &mut self,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) -> Result<String, Error> {
        let mask = self.leaf(condition)?;
        let condition = self.expression(condition)?;
        let leaf = Leaf::of(self.inner(accept));
        let accept = self.expression(accept)?;
        let reject = self.expression(reject)?;
        let condition = match leaf {
            Some(leaf) if mask.is_vector() => self.writer.mask_for(leaf, condition),
            _ => condition,
        };
        Ok(format!("({condition} ? {accept} : {reject})"))
    }

    fn relational(&mut self, fun: RelationalFunction, argument: Handle<Expression>) -> Result<String, Error> {
        let leaf = self.leaf(argument)?;
        let text = self.expression(argument)?;
        let (all, any) = (fun == RelationalFunction::All, fun == RelationalFunction::Any);
        if !leaf.is_vector() && (all || any) {
            return Ok(text);
        }
        if all || any {
            let (name, operator) = if all { ("all", " & ") } else { ("any", " | ") };
            let size = leaf.lane_suffix();
            let lanes: Vec<String> = LANES[..leaf.lanes()].iter().map(|lane| format!("v.{lane}")).collect();
            let joined = lanes.join(operator);
            let function = format!("ROCI_FN bool roci_{name}{size}(int{size} v) {{\n    return ({joined}) != 0;\n}}\n");
            self.writer.generate(&format!("roci_{name}{size}"), function);
            return Ok(format!("roci_{name}{size}({text})"));
        }
        let function = if fun == RelationalFunction::IsNan { "roci_is_nan" } else { "roci_is_inf" };
        let text = self.writer.as_f32(leaf, text);
        if !leaf.is_vector() {
            return Ok(format!("({function}({text}) != 0)"));
        }
        Ok(self.writer.call_by_lane(function, "int", leaf.size, &[Parameter::lanes("float")], &[text]))
    }
}

impl Writer<'_> {
    /// A vector with one scalar in every component.
    pub(super) fn splat(&self, leaf: Leaf, size: VectorSize, text: String) -> String {
        let vector = Leaf { size: Some(size), ..leaf };
        let text = if leaf.is_bool() { format!("-(int){text}") } else { text };
        format!("(({})({text}))", self.register(vector))
    }

    /// A vector composed of scalars and vectors.
    pub(super) fn compose_vector(&self, leaf: Leaf, parts: Vec<(Option<Leaf>, String)>) -> String {
        let parts: Vec<String> = parts
            .into_iter()
            .map(|(part, text)| match part {
                Some(part) if part.is_bool() && !part.is_vector() => format!("-(int){text}"),
                _ => super::statements::bare(&text).to_owned(),
            })
            .collect();
        format!("(({})({}))", self.register(leaf), parts.join(", "))
    }

    /// Converts a boolean vector to the mask that `select` needs for vectors of `leaf`.
    pub(super) fn mask_for(&self, leaf: Leaf, mask: String) -> String {
        let computed = self.computed(leaf);
        let target = match computed.scalar.width {
            _ if computed.scalar.kind == ScalarKind::Bool => return mask,
            2 => "short",
            8 => "long",
            _ => return mask,
        };
        self.convert_vector(&format!("{target}{}", leaf.lane_suffix()), mask)
    }

    /// `convert_TYPE` between vectors with the same number of components.
    pub(super) fn convert_vector(&self, target: &str, text: String) -> String {
        if self.is_amdgcn() {
            format!("__builtin_convertvector({text}, {target})")
        } else {
            format!("convert_{target}({text})")
        }
    }
}

fn swizzle(size: VectorSize, pattern: [SwizzleComponent; 4]) -> String {
    pattern[..size as usize].iter().map(|&component| LANES[component as usize]).collect()
}
