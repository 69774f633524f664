//! Atomics: the OpenCL 1.2 functions, or clang's scoped built-ins on amdgcn. All are relaxed, as in
//! WGSL.

use naga::{AddressSpace, AtomicFunction, Expression, Handle, Scalar, ScalarKind};

use super::error::Error;
use super::functions::{Body, c_space};
use super::types::{Leaf, c_scalar, wgsl_scalar};

impl Body<'_, '_> {
    pub(super) fn atomic_load(&mut self, scalar: Scalar, space: AddressSpace, place: &str) -> String {
        let pointer = pointer(scalar, space, place);
        match (self.writer.is_amdgcn(), scalar.kind) {
            // clang's atomic load and store accept only integers.
            (true, ScalarKind::Float) => {
                let bits = pointer_to("uint", space, place);
                format!("as_float(__scoped_atomic_load_n({bits}, {}))", order(space))
            }
            (true, _) => format!("__scoped_atomic_load_n({pointer}, {})", order(space)),
            (false, _) => format!("(*{pointer})"),
        }
    }

    pub(super) fn atomic_store(&mut self, scalar: Scalar, space: AddressSpace, place: &str, value: &str) -> String {
        let pointer = pointer(scalar, space, place);
        match (self.writer.is_amdgcn(), scalar.kind) {
            (true, ScalarKind::Float) => {
                let bits = pointer_to("uint", space, place);
                format!("__scoped_atomic_store_n({bits}, as_uint({value}), {});", order(space))
            }
            (true, _) => format!("__scoped_atomic_store_n({pointer}, {value}, {});", order(space)),
            (false, _) => format!("*{pointer} = {value};"),
        }
    }

    pub(super) fn atomic(
        &mut self,
        at: Handle<Expression>,
        fun: AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<(), Error> {
        let place = self.place(at)?;
        let (inner, space) = self.pointee(at)?;
        let Some(Leaf { scalar, .. }) = Leaf::of(&inner) else {
            return Err(Error::Invalid("an atomic that is not scalar".to_owned()));
        };
        let operand = self.expression(value)?;
        let pointer = pointer(scalar, space, &place);
        if let AtomicFunction::Exchange { compare: Some(compare) } = fun {
            return self.compare_exchange(scalar, space, &pointer, compare, &operand, result);
        }
        let text = match (self.writer.is_amdgcn(), scalar.kind) {
            (true, ScalarKind::Float) if matches!(fun, AtomicFunction::Exchange { .. }) => {
                let bits = amdgcn(fun, &pointer_to("uint", space, &place), &format!("as_uint({operand})"), space);
                format!("as_float({bits})")
            }
            (true, _) => amdgcn(fun, &pointer, &operand, space),
            (false, ScalarKind::Float) => match fun {
                AtomicFunction::Add => format!("roci_atomic_add_f32_{}({pointer}, {operand})", c_space(space)),
                AtomicFunction::Subtract => format!("roci_atomic_add_f32_{}({pointer}, -{operand})", c_space(space)),
                AtomicFunction::Exchange { .. } => format!("atomic_xchg({pointer}, {operand})"),
                // naga's validation rejects every other operation on it.
                _ => return Err(Error::Invalid("an atomic<f32> supports only add and exchange".to_owned())),
            },
            (false, _) => {
                let prefix = self.prefix(scalar);
                format!("{prefix}_{}({pointer}, {operand})", opencl(fun))
            }
        };
        match result {
            Some(result) => self.declare(result, &text),
            None => self.line(&format!("{text};")),
        }
        Ok(())
    }

    fn compare_exchange(
        &mut self,
        scalar: Scalar,
        space: AddressSpace,
        pointer: &str,
        compare: Handle<Expression>,
        value: &str,
        result: Option<Handle<Expression>>,
    ) -> Result<(), Error> {
        let compare = self.expression(compare)?;
        let text = match self.writer.is_amdgcn() {
            true => {
                let name = format!("roci_compare_exchange_{}_{}", wgsl_scalar(scalar), c_space(space));
                format!("{name}({pointer}, {compare}, {value})")
            }
            false => format!("{}_cmpxchg({pointer}, {compare}, {value})", self.prefix(scalar)),
        };
        let Some(result) = result else {
            self.line(&format!("{text};"));
            return Ok(());
        };
        let name = self.fresh_name(result);
        let old = format!("_e{}_old", result.index());
        let ty = self.type_of(result);
        self.line(&format!("const {} {old} = {text};", c_scalar(scalar)));
        self.line(&format!("const {ty} {name} = {{{old}, {old} == {compare}}};"));
        self.variables.insert(result, name);
        Ok(())
    }

    /// Prefix of the function names: `atom` for 64 bits, which also needs an extension.
    fn prefix(&mut self, scalar: Scalar) -> &'static str {
        if scalar.width != 8 {
            return "atomic";
        }
        self.writer.extensions.insert("cl_khr_int64_base_atomics");
        self.writer.extensions.insert("cl_khr_int64_extended_atomics");
        "atom"
    }
}

fn pointer(scalar: Scalar, space: AddressSpace, place: &str) -> String {
    pointer_to(c_scalar(scalar), space, place)
}

fn pointer_to(c_type: &str, space: AddressSpace, place: &str) -> String {
    format!("(volatile {} {c_type} *)&{place}", c_space(space))
}

/// Memory order and scope arguments of clang's scoped atomics.
fn order(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::WorkGroup => "__ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP",
        _ => "__ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE",
    }
}

fn opencl(fun: AtomicFunction) -> &'static str {
    match fun {
        AtomicFunction::Add => "add",
        AtomicFunction::Subtract => "sub",
        AtomicFunction::And => "and",
        AtomicFunction::ExclusiveOr => "xor",
        AtomicFunction::InclusiveOr => "or",
        AtomicFunction::Min => "min",
        AtomicFunction::Max => "max",
        AtomicFunction::Exchange { .. } => "xchg",
    }
}

fn amdgcn(fun: AtomicFunction, pointer: &str, operand: &str, space: AddressSpace) -> String {
    let name = match fun {
        AtomicFunction::Exchange { .. } => "exchange_n".to_owned(),
        _ => format!("fetch_{}", opencl(fun)),
    };
    format!("__scoped_atomic_{name}({pointer}, {operand}, {})", order(space))
}
