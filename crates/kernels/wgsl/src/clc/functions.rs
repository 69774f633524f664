//! Functions: their signatures, and the state kept while a body is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use naga::proc::NameKey;
use naga::valid::FunctionInfo;
use naga::{AddressSpace, Expression, Function, GlobalVariable, Handle, LocalVariable, Span, StorageAccess, TypeInner};

use super::analysis::Uses;
use super::error::{Error, OUTSIDE};
use super::types::Leaf;
use super::writer::Writer;

/// The function whose body is being written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner {
    /// Index of an entry point.
    EntryPoint(usize),
    Function(Handle<Function>),
}

/// Writes the body of one function.
#[derive(Debug)]
pub(super) struct Body<'w, 'a> {
    pub(super) writer: &'w mut Writer<'a>,
    pub(super) owner: Owner,
    pub(super) function: &'a Function,
    pub(super) info: &'a FunctionInfo,
    /// Expressions already assigned to a C variable.
    pub(super) variables: BTreeMap<Handle<Expression>, String>,
    pub(super) out: String,
    pub(super) depth: usize,
    /// One entry per enclosing loop: the label before its continuing block, if a `continue` has to
    /// jump there.
    pub(super) labels: Vec<Option<String>>,
}

impl<'w, 'a> Body<'w, 'a> {
    pub(super) fn new(
        writer: &'w mut Writer<'a>,
        owner: Owner,
        function: &'a Function,
        info: &'a FunctionInfo,
    ) -> Self {
        Body {
            writer,
            owner,
            function,
            info,
            variables: BTreeMap::new(),
            out: String::new(),
            depth: 1,
            labels: Vec::new(),
        }
    }

    pub(super) fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// The finished source, without the final `return` that naga appends.
    pub(super) fn finish(self) -> String {
        match self.out.strip_suffix("    return;\n") {
            Some(shorter) => shorter.to_owned(),
            None => self.out,
        }
    }

    pub(super) fn inner(&self, handle: Handle<Expression>) -> &'a TypeInner {
        self.info[handle].ty.inner_with(&self.writer.module.types)
    }

    /// The type of an expression that must be a scalar or vector; an error if it is neither.
    pub(super) fn leaf(&self, handle: Handle<Expression>) -> Result<Leaf, Error> {
        Leaf::of(self.inner(handle)).ok_or_else(|| Error::Invalid("a scalar or vector was expected".to_owned()))
    }

    pub(super) fn span(&self, handle: Handle<Expression>) -> Span {
        self.function.expressions.get_span(handle)
    }

    pub(super) fn unsupported<T>(&self, construct: &str, handle: Handle<Expression>) -> Result<T, Error> {
        Err(self.writer.unsupported(construct, OUTSIDE, self.span(handle)))
    }

    pub(super) fn local_name(&self, local: Handle<LocalVariable>) -> String {
        let key = match self.owner {
            Owner::EntryPoint(index) => NameKey::EntryPointLocal(index as u16, local),
            Owner::Function(function) => NameKey::FunctionLocal(function, local),
        };
        self.writer.names[&key].clone()
    }

    pub(super) fn argument_name(&self, index: u32) -> String {
        let key = match self.owner {
            Owner::EntryPoint(entry_point) => NameKey::EntryPointArgument(entry_point as u16, index),
            Owner::Function(function) => NameKey::FunctionArgument(function, index),
        };
        self.writer.names[&key].clone()
    }

    /// Declares local variables, zero-initialized unless they have an initializer.
    pub(super) fn declare_locals(&mut self) -> Result<(), Error> {
        for (handle, local) in self.function.local_variables.iter() {
            let name = self.local_name(handle);
            let inner = &self.writer.module.types[local.ty].inner;
            if let (TypeInner::CooperativeMatrix { .. }, None) = (inner, local.init) {
                let ty = self.writer.value_type(inner, Some(local.ty));
                self.line(&format!("{ty} {name} = ({ty})(0);"));
                continue;
            }
            let ty = self.writer.memory_type(local.ty);
            let value = match local.init {
                Some(init) => {
                    let text = self.expression(init)?;
                    Leaf::of(inner).map_or(text.clone(), |leaf| self.writer.stored(leaf, text))
                }
                None => self.writer.zero_initializer(inner),
            };
            self.line(&format!("{ty} {name} = {value};"));
        }
        Ok(())
    }
}

/// The OpenCL C qualifier of an address space.
pub(super) fn c_space(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::WorkGroup => "local",
        AddressSpace::Storage { .. } | AddressSpace::Uniform => "global",
        _ => "private",
    }
}

impl<'a> Writer<'a> {
    /// Writes one function. Every global it uses becomes a parameter, because OpenCL C has no
    /// module-scope variables for bindings or work-group memory.
    pub(super) fn function(&mut self, handle: Handle<Function>) -> Result<String, Error> {
        let module = self.module;
        let function = &module.functions[handle];
        let mut parameters = Vec::new();
        for (index, argument) in (0u32..).zip(&function.arguments) {
            let name = self.names[&NameKey::FunctionArgument(handle, index)].clone();
            let inner = &module.types[argument.ty].inner;
            parameters.push(match *inner {
                TypeInner::Pointer { base, space } => {
                    let ty = self.memory_type(base);
                    format!("{} {ty} *{name}", c_space(space))
                }
                TypeInner::ValuePointer { size, scalar, space } => {
                    let ty = self.memory(Leaf { scalar, size });
                    format!("{} {ty} *{name}", c_space(space))
                }
                _ => format!("{} {name}", self.value_type(inner, Some(argument.ty))),
            });
        }
        let uses = self.uses[handle.index()].clone();
        parameters.extend(uses.globals.iter().map(|&global| self.global_parameter(global)));
        parameters.extend(uses.lengths.iter().map(|&global| format!("uint {}", self.length_name(global))));
        if uses.subgroups && self.emulates_subgroups() {
            parameters.push("private const roci_subgroup *roci_sg".to_owned());
        }
        let result = match function.result {
            Some(ref result) => self.value_type(&module.types[result.ty].inner, Some(result.ty)),
            None => "void".to_owned(),
        };
        let name = self.names[&NameKey::Function(handle)].clone();
        let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        let mut body = Body::new(self, Owner::Function(handle), function, &self.info[handle]);
        body.declare_locals()?;
        body.block(&function.body)?;
        Ok(format!("\nROCI_FN {result} {name}({parameters}) {{\n{}}}\n", body.finish()))
    }

    /// The parameter declaration for a global variable, in functions and in kernels.
    pub(super) fn global_parameter(&mut self, handle: Handle<GlobalVariable>) -> String {
        let global = &self.module.global_variables[handle];
        let ty = match self.module.types[global.ty].inner {
            TypeInner::Array { base, .. } if self.is_runtime_array(global.ty) => self.element_type(base),
            _ => self.memory_type(global.ty),
        };
        let readonly = match global.space {
            AddressSpace::Storage { access } => !access.contains(StorageAccess::STORE),
            AddressSpace::Uniform | AddressSpace::Immediate => true,
            _ => false,
        };
        let name = &self.names[&NameKey::GlobalVariable(handle)];
        let mut text = String::new();
        let constness = if readonly { "const " } else { "" };
        let _ = write!(text, "{} {constness}{ty} *{name}", c_space(global.space));
        text
    }

    pub(super) fn length_name(&self, handle: Handle<GlobalVariable>) -> String {
        format!("roci_length_of_{}", self.names[&NameKey::GlobalVariable(handle)])
    }

    /// The arguments a caller passes for the globals in `uses`.
    pub(super) fn passed_on(&self, uses: &Uses, owner: Owner) -> Vec<String> {
        let mut arguments = Vec::new();
        for &global in &uses.globals {
            let name = &self.names[&NameKey::GlobalVariable(global)];
            let held = !matches!(
                self.module.global_variables[global].space,
                AddressSpace::Storage { .. } | AddressSpace::Uniform
            );
            let by_address = held && matches!(owner, Owner::EntryPoint(_));
            arguments.push(if by_address { format!("&{name}") } else { name.clone() });
        }
        arguments.extend(uses.lengths.iter().map(|&global| self.length_name(global)));
        if uses.subgroups && self.emulates_subgroups() {
            arguments.push("roci_sg".to_owned());
        }
        arguments
    }
}
