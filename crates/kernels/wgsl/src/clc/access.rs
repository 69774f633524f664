//! Memory accesses through pointers, and access to parts of values.

use naga::proc::NameKey;
use naga::{AddressSpace, Expression, Handle, Type, TypeInner};

use super::error::Error;
use super::functions::{Body, Owner, c_space};
use super::types::{LANES, Leaf};

/// Index into a composite: constant or dynamic.
#[derive(Debug, Clone, Copy)]
pub(super) enum Index {
    Constant(u32),
    Dynamic(Handle<Expression>),
}

impl<'a> Body<'_, 'a> {
    /// The pointee type and its address space.
    pub(super) fn pointee(&self, pointer: Handle<Expression>) -> Result<(TypeInner, AddressSpace), Error> {
        match *self.inner(pointer) {
            TypeInner::Pointer { base, space } => Ok((self.writer.module.types[base].inner.clone(), space)),
            TypeInner::ValuePointer { size: Some(size), scalar, space } => {
                Ok((TypeInner::Vector { size, scalar }, space))
            }
            TypeInner::ValuePointer { size: None, scalar, space } => Ok((TypeInner::Scalar(scalar), space)),
            _ => Err(Error::Invalid("a pointer was expected".to_owned())),
        }
    }

    /// The C lvalue that a pointer refers to. For a run-time array, the address of its first
    /// element.
    pub(super) fn place(&mut self, pointer: Handle<Expression>) -> Result<String, Error> {
        match self.function.expressions[pointer] {
            Expression::GlobalVariable(handle) => {
                let global = &self.writer.module.global_variables[handle];
                let name = self.writer.names[&NameKey::GlobalVariable(handle)].clone();
                let bound = matches!(global.space, AddressSpace::Storage { .. } | AddressSpace::Uniform);
                let direct = if bound {
                    self.writer.is_runtime_array(global.ty)
                } else {
                    matches!(self.owner, Owner::EntryPoint(_))
                };
                Ok(if direct { name } else { format!("(*{name})") })
            }
            Expression::LocalVariable(handle) => Ok(self.local_name(handle)),
            Expression::FunctionArgument(index) => Ok(format!("(*{})", self.argument_name(index))),
            Expression::Access { base, index } => self.part_of_place(base, Index::Dynamic(index)),
            Expression::AccessIndex { base, index } => self.part_of_place(base, Index::Constant(index)),
            _ => self.unsupported("pointer", pointer),
        }
    }

    fn part_of_place(&mut self, base: Handle<Expression>, index: Index) -> Result<String, Error> {
        let place = self.place(base)?;
        let (inner, space) = self.pointee(base)?;
        let handle = match *self.inner(base) {
            TypeInner::Pointer { base, .. } => Some(base),
            _ => None,
        };
        if let (TypeInner::Struct { members, .. }, Index::Constant(index)) = (&inner, index)
            && let Some(member) = members.get(index as usize)
            && self.writer.is_runtime_array(member.ty)
            && let TypeInner::Array { base: element, .. } = self.writer.module.types[member.ty].inner
        {
            let element = self.writer.element_type(element);
            let space = c_space(space);
            let offset = member.offset;
            return Ok(format!("(({space} {element} *)(({space} uchar *)&{place} + {offset}))"));
        }
        if let (Some(leaf), Index::Dynamic(index)) = (Leaf::of(&inner), index) {
            let index = self.index(Index::Dynamic(index))?;
            let scalar = self.writer.memory_scalar(leaf);
            return Ok(format!("(({} {scalar} *)&{place})[{index}]", c_space(space)));
        }
        self.part(&place, &inner, handle, index)
    }

    /// Lvalue of one component, element or member, in memory form.
    fn part(
        &mut self,
        whole: &str,
        inner: &TypeInner,
        handle: Option<Handle<Type>>,
        index: Index,
    ) -> Result<String, Error> {
        match (inner, handle, index) {
            (TypeInner::Struct { .. }, Some(handle), Index::Constant(index)) => {
                Ok(format!("{whole}.{}", self.writer.names[&NameKey::StructMember(handle, index)]))
            }
            (TypeInner::Vector { .. }, _, Index::Constant(index)) => {
                let lane = LANES.get(index as usize).ok_or_else(|| Error::Invalid("no such component".to_owned()))?;
                Ok(format!("{whole}.{lane}"))
            }
            (&TypeInner::Array { base, .. }, _, index) => {
                let suffix = self.writer.element_suffix(&self.writer.module.types[base].inner);
                let index = self.index(index)?;
                let runtime = handle.is_some_and(|handle| self.writer.is_runtime_array(handle));
                let member = if runtime { "" } else { ".e" };
                Ok(format!("{whole}{member}[{index}]{suffix}"))
            }
            (&TypeInner::Matrix { rows, scalar, .. }, _, index) => {
                let suffix = self.writer.element_suffix(&TypeInner::Vector { size: rows, scalar });
                let index = self.index(index)?;
                Ok(format!("{whole}.c[{index}]{suffix}"))
            }
            _ => Err(Error::Invalid("member access to a value that is not a composite".to_owned())),
        }
    }

    fn index(&mut self, index: Index) -> Result<String, Error> {
        match index {
            Index::Constant(index) => Ok(index.to_string()),
            Index::Dynamic(handle) => {
                let text = self.expression(handle)?;
                Ok(super::statements::bare(&text).to_owned())
            }
        }
    }

    /// One component, element or member of a value, in register form.
    pub(super) fn part_of_value(
        &mut self,
        whole: Handle<Expression>,
        index: Index,
        part: &TypeInner,
    ) -> Result<String, Error> {
        let text = self.expression(whole)?;
        let inner = self.inner(whole);
        if let Some(leaf) = Leaf::of(inner) {
            let text = match index {
                Index::Constant(_) => self.part(&text, inner, None, index)?,
                Index::Dynamic(_) => self.component_at(leaf, &text, index)?,
            };
            return Ok(if leaf.is_bool() { format!("({text} != 0)") } else { text });
        }
        let handle = self.info[whole].ty.handle();
        let text = self.part(&text, inner, handle, index)?;
        Ok(match Leaf::of(part) {
            Some(leaf) => self.writer.loaded(leaf, text),
            None => text,
        })
    }

    /// A component selected at run time. Compiles to comparisons: indexing would spill the vector
    /// to scratch memory on a GPU.
    fn component_at(&mut self, leaf: Leaf, vector: &str, index: Index) -> Result<String, Error> {
        let index = self.index(index)?;
        let ty = self.writer.register(leaf);
        let scalar = ty.trim_end_matches(leaf.lane_suffix());
        let name = format!("roci_component_of_{ty}");
        let mut choice = format!("v.{}", LANES[leaf.lanes() - 1]);
        for lane in (0..leaf.lanes() - 1).rev() {
            choice = format!("i == {lane}u ? v.{} : {choice}", LANES[lane]);
        }
        self.writer.generate(&name, format!("ROCI_FN {scalar} {name}({ty} v, uint i) {{\n    return {choice};\n}}\n"));
        Ok(format!("{name}({vector}, {index})"))
    }

    /// Loads the pointee and converts it to register form.
    pub(super) fn load(&mut self, pointer: Handle<Expression>) -> Result<String, Error> {
        let place = self.place(pointer)?;
        let (inner, space) = self.pointee(pointer)?;
        if let TypeInner::Atomic(scalar) = inner {
            return Ok(self.atomic_load(scalar, space, &place));
        }
        // A boolean vector is stored in memory as integers.
        if let (TypeInner::Scalar(scalar), true) = (&inner, self.is_component(pointer))
            && scalar.kind == naga::ScalarKind::Bool
        {
            return Ok(format!("({place} != 0)"));
        }
        Ok(match Leaf::of(&inner) {
            Some(leaf) => self.writer.loaded(leaf, place),
            None => place,
        })
    }

    /// Whether a pointer refers to a single component of a vector.
    pub(super) fn is_component(&self, pointer: Handle<Expression>) -> bool {
        let (Expression::Access { base, .. } | Expression::AccessIndex { base, .. }) =
            self.function.expressions[pointer]
        else {
            return false;
        };
        matches!(self.pointee(base), Ok((TypeInner::Vector { .. }, _)))
    }
}

impl Body<'_, '_> {
    /// Lvalue for a store to one component. In work-group memory it goes through a pointer to the
    /// component: a C assignment to a vector component may write back the whole vector, which races
    /// with other work-items.
    pub(super) fn component_place(
        &mut self,
        pointer: Handle<Expression>,
        place: String,
        space: AddressSpace,
    ) -> Result<String, Error> {
        let Expression::AccessIndex { base, index } = self.function.expressions[pointer] else { return Ok(place) };
        let (inner, _) = self.pointee(base)?;
        let shared = matches!(space, AddressSpace::WorkGroup | AddressSpace::Storage { .. });
        match Leaf::of(&inner) {
            Some(leaf) if shared && leaf.lanes() != 3 => {
                let scalar = self.writer.memory_scalar(leaf);
                let vector = self.place(base)?;
                Ok(format!("(({} {scalar} *)&{vector})[{index}]", c_space(space)))
            }
            _ => Ok(place),
        }
    }
}
