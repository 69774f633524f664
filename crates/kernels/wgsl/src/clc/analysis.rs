//! Analysis before writing: rejects unsupported types, and collects what each function uses,
//! including through its callees.

use std::collections::BTreeSet;

use naga::common::wgsl::address_space_str;
use naga::{
    AddressSpace, Block, BuiltIn, Expression, Function, GlobalVariable, Handle, ImageClass, ImageDimension, Scalar,
    ScalarKind, Span, Statement, Type, TypeInner,
};

use super::error::{Error, OUTSIDE};
use super::writer::Writer;

/// What a function and its callees use apart from their arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct Uses {
    pub(super) globals: BTreeSet<Handle<GlobalVariable>>,
    /// Bindings whose `arrayLength` is taken.
    pub(super) lengths: BTreeSet<Handle<GlobalVariable>>,
    /// Functions called, directly or indirectly.
    pub(super) functions: BTreeSet<Handle<Function>>,
    /// Subgroup operations or built-in values.
    pub(super) subgroups: bool,
}

impl Writer<'_> {
    /// Collects the uses of every function. The arena stores callees before callers, so one pass is
    /// enough.
    pub(super) fn analyze(&mut self) {
        for (_, function) in self.module.functions.iter() {
            let uses = self.uses_of(function);
            self.uses.push(uses);
        }
    }

    pub(super) fn uses_of(&self, function: &Function) -> Uses {
        let mut uses = Uses::default();
        for (_, expression) in function.expressions.iter() {
            match *expression {
                Expression::GlobalVariable(handle) => {
                    uses.globals.insert(handle);
                }
                Expression::ArrayLength(array) => {
                    if let Some(global) = length_of(function, array) {
                        uses.lengths.insert(global);
                    }
                }
                _ => {}
            }
        }
        self.scan(&function.body, &mut uses);
        uses
    }

    fn scan(&self, block: &Block, uses: &mut Uses) {
        for statement in block {
            match *statement {
                Statement::Block(ref block) => self.scan(block, uses),
                Statement::If { ref accept, ref reject, .. } => {
                    self.scan(accept, uses);
                    self.scan(reject, uses);
                }
                Statement::Switch { ref cases, .. } => cases.iter().for_each(|case| self.scan(&case.body, uses)),
                Statement::Loop { ref body, ref continuing, .. } => {
                    self.scan(body, uses);
                    self.scan(continuing, uses);
                }
                Statement::Call { function, .. } => {
                    let callee = &self.uses[function.index()];
                    uses.globals.extend(&callee.globals);
                    uses.lengths.extend(&callee.lengths);
                    uses.functions.extend(&callee.functions);
                    uses.functions.insert(function);
                    uses.subgroups |= callee.subgroups;
                }
                Statement::SubgroupBallot { .. }
                | Statement::SubgroupGather { .. }
                | Statement::SubgroupCollectiveOperation { .. } => uses.subgroups = true,
                _ => {}
            }
        }
    }

    /// Rejects types, variables and constants that kernels do not support.
    pub(super) fn check(&self) -> Result<(), Error> {
        if let Some((handle, constant)) = self.module.overrides.iter().next() {
            let name = constant.name.clone().or(constant.id.map(|id| format!("@id({id})"))).unwrap_or_default();
            return Err(Error::Override { name, line: self.line(self.module.overrides.get_span(handle)) });
        }
        for (handle, global) in self.module.global_variables.iter() {
            let span = self.module.global_variables.get_span(handle);
            self.check_type(global.ty, span)?;
            match global.space {
                AddressSpace::Private
                | AddressSpace::WorkGroup
                | AddressSpace::Uniform
                | AddressSpace::Storage { .. }
                | AddressSpace::Immediate => {}
                space => {
                    let construct =
                        address_space_str(space).0.map_or("var".to_owned(), |space| format!("var<{space}>"));
                    return Err(self.unsupported(&construct, OUTSIDE, span));
                }
            }
        }
        for (handle, _) in self.module.types.iter() {
            self.check_type(handle, self.module.types.get_span(handle))?;
        }
        Ok(())
    }

    fn check_type(&self, handle: Handle<Type>, span: Span) -> Result<(), Error> {
        let refuse = |construct: &str| Err(self.unsupported(construct, OUTSIDE, span));
        match self.module.types[handle].inner {
            TypeInner::Scalar(scalar)
            | TypeInner::Vector { scalar, .. }
            | TypeInner::Matrix { scalar, .. }
            | TypeInner::Atomic(scalar) => match scalar {
                Scalar { kind: ScalarKind::Float, width: 8 } => refuse("f64"),
                _ => Ok(()),
            },
            TypeInner::Image { dim, class, .. } => refuse(&image_name(dim, class)),
            TypeInner::Sampler { .. } => refuse("sampler"),
            TypeInner::AccelerationStructure { .. } => refuse("acceleration_structure"),
            TypeInner::RayQuery { .. } => refuse("ray_query"),
            TypeInner::BindingArray { .. } => refuse("binding_array"),
            TypeInner::Array { base, .. } => self.check_type(base, span),
            TypeInner::CooperativeMatrix { columns, rows, scalar, role } => {
                self.check_cooperative(columns, rows, scalar, role, span)
            }
            TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } | TypeInner::Struct { .. } => Ok(()),
        }
    }
}

/// The binding whose run-time array the pointer `array` refers to.
pub(super) fn length_of(function: &Function, array: Handle<Expression>) -> Option<Handle<GlobalVariable>> {
    match function.expressions[array] {
        Expression::GlobalVariable(handle) => Some(handle),
        Expression::AccessIndex { base, .. } => length_of(function, base),
        _ => None,
    }
}

/// Whether a built-in value belongs to subgroups.
pub(super) fn is_subgroup(built_in: BuiltIn) -> bool {
    matches!(
        built_in,
        BuiltIn::NumSubgroups | BuiltIn::SubgroupId | BuiltIn::SubgroupSize | BuiltIn::SubgroupInvocationId
    )
}

fn image_name(dim: ImageDimension, class: ImageClass) -> String {
    let dim = match dim {
        ImageDimension::D1 => "1d",
        ImageDimension::D2 => "2d",
        ImageDimension::D3 => "3d",
        ImageDimension::Cube => "cube",
    };
    match class {
        ImageClass::Sampled { .. } => format!("texture_{dim}"),
        ImageClass::Depth { .. } => format!("texture_depth_{dim}"),
        ImageClass::External => "texture_external".to_owned(),
        ImageClass::Storage { .. } => format!("texture_storage_{dim}"),
    }
}
