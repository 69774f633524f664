//! House rules: what a WGSL kernel must keep to so that every target can run it.
//!
//! Vulkan, OpenCL and amdgcn agree on less than WGSL has. Each rule is checked over naga's IR (one over the text, since
//! naga refuses it without saying what to do), and breaking it is an error that names rule, file and line.

use naga::valid::{GlobalUse, ModuleInfo};
use naga::{
    AddressSpace, Expression, Function, GlobalVariable, Handle, Module, Scalar, ScalarKind, ShaderStage, Span, Type,
    TypeInner,
};

/// Bytes of constants that Vulkan guarantees.
pub const MAX_CONSTANTS: u32 = 128;
/// Invocations of a workgroup that all targets have.
pub const MAX_WORKGROUP: u32 = 1024;
/// Bytes of workgroup memory that Vulkan guarantees.
pub const MAX_WORKGROUP_MEMORY: u32 = 16_384;
/// Bytes of workgroup memory that every device with matrix units known to us has.
pub const MAX_WORKGROUP_MEMORY_OF_MATRIX: u32 = 49_152;

/// A rule broken, where, and what to do.
pub(crate) type Broken = (Rule, Option<Span>, String);

/// The rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// No `enable subgroups;`: naga 30 refuses the line, and the operations work without it.
    NoEnableSubgroups,
    /// Every entry point is a compute shader.
    ComputeOnly,
    /// No pointer to workgroup memory crosses a function call.
    NoWorkgroupPointers,
    /// Resources are storage buffers, nothing else.
    StorageBuffersOnly,
    /// Buffers are in group 0.
    GroupZero,
    /// The bindings an entry point uses are 0, 1, 2 and so on without a gap or a repetition.
    DenseBindings,
    /// At most one `var<immediate>` an entry point.
    OneConstantsBlock,
    /// The constants block is a struct of 32-bit scalars and arrays of them, at most 128 bytes.
    ConstantsOf32Bits,
    /// No `arrayLength`: kernels in OpenCL C and amdgcn are given pointers alone.
    NoArrayLength,
    /// At most 1024 invocations a workgroup.
    WorkgroupSize,
    /// At most 16 KiB of workgroup memory; 48 KiB in a kernel for matrix units.
    WorkgroupMemory,
    /// Barriers and sub-group operations run where all invocations of the workgroup run.
    UniformControlFlow,
}

impl Rule {
    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Rule::NoEnableSubgroups => "no-enable-subgroups",
            Rule::ComputeOnly => "compute-only",
            Rule::NoWorkgroupPointers => "no-workgroup-pointers",
            Rule::StorageBuffersOnly => "storage-buffers-only",
            Rule::GroupZero => "group-zero",
            Rule::DenseBindings => "dense-bindings",
            Rule::OneConstantsBlock => "one-constants-block",
            Rule::ConstantsOf32Bits => "constants-of-32-bits",
            Rule::NoArrayLength => "no-array-length",
            Rule::WorkgroupSize => "workgroup-size",
            Rule::WorkgroupMemory => "workgroup-memory",
            Rule::UniformControlFlow => "uniform-control-flow",
        }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The rule about the text.
pub(crate) fn check_text(text: &str) -> Result<(), Broken> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or(line);
        if code.trim_start().starts_with("enable") && code.contains("subgroups") {
            let span = Span::new(start, start + code.len() as u32);
            let message = "drop `subgroups` from this line; the sub-group operations work without it".to_owned();
            return Err((Rule::NoEnableSubgroups, Some(span), message));
        }
        start += line.len() as u32;
    }
    Ok(())
}

/// The rules that naga's validation would answer less helpfully; `module` is parsed only.
pub(crate) fn check_functions(module: &Module) -> Result<(), Broken> {
    for entry_point in &module.entry_points {
        if entry_point.stage != ShaderStage::Compute {
            let message =
                format!("`{}` is a {:?} shader; only compute shaders run here", entry_point.name, entry_point.stage);
            return Err((Rule::ComputeOnly, None, message));
        }
    }
    for (handle, function) in module.functions.iter() {
        for argument in &function.arguments {
            let workgroup = match module.types[argument.ty].inner {
                TypeInner::Pointer { space, .. } | TypeInner::ValuePointer { space, .. } => {
                    matches!(space, AddressSpace::WorkGroup)
                }
                _ => false,
            };
            if workgroup {
                let message = format!(
                    "`{}` takes a pointer to workgroup memory; let it index a module-scope variable",
                    function.name.as_deref().unwrap_or("?"),
                );
                return Err((Rule::NoWorkgroupPointers, Some(module.functions.get_span(handle)), message));
            }
        }
    }
    Ok(())
}

/// The rules about what each entry point uses; `module` is valid, and holds no overrides.
pub(crate) fn check_module(module: &Module, info: &ModuleInfo) -> Result<(), Broken> {
    for (handle, variable) in module.global_variables.iter() {
        check_variable(module, handle, variable)?;
    }
    let functions = module.functions.iter().map(|(_, function)| function);
    for function in functions.chain(module.entry_points.iter().map(|entry_point| &entry_point.function)) {
        check_lengths(function)?;
    }
    for (index, entry_point) in module.entry_points.iter().enumerate() {
        let size = entry_point.workgroup_size;
        let invocations = size.iter().fold(1u32, |product, &one| product.saturating_mul(one));
        if invocations > MAX_WORKGROUP {
            let message = format!("`{}` has workgroups of {size:?}; {MAX_WORKGROUP} is the most", entry_point.name);
            return Err((Rule::WorkgroupSize, first_span(&entry_point.function.body), message));
        }
        let uses = info.get_entry_point(index);
        let used = module.global_variables.iter().filter(|&(handle, _)| uses[handle] != GlobalUse::empty());
        check_uses(module, &entry_point.name, &used.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn check_lengths(function: &Function) -> Result<(), Broken> {
    let length = function.expressions.iter().find(|(_, expression)| matches!(expression, Expression::ArrayLength(_)));
    length.map_or(Ok(()), |(handle, _)| {
        let message =
            "`arrayLength` has no answer in OpenCL; let the constants block say how long the array is".to_owned();
        Err((Rule::NoArrayLength, Some(function.expressions.get_span(handle)), message))
    })
}

/// The rules about all module-scope variables that one entry point uses.
fn check_uses(module: &Module, name: &str, used: &[(Handle<GlobalVariable>, &GlobalVariable)]) -> Result<(), Broken> {
    let mut blocks = used.iter().filter(|(_, variable)| variable.space == AddressSpace::Immediate);
    if let (Some(_), Some(&(second, _))) = (blocks.next(), blocks.next()) {
        let message = format!("`{name}` has two; put all constants in one struct");
        return Err((Rule::OneConstantsBlock, Some(module.global_variables.get_span(second)), message));
    }
    let mut bindings: Vec<_> = used
        .iter()
        .filter_map(|&(handle, variable)| variable.binding.as_ref().map(|at| (at.binding, handle)))
        .collect();
    bindings.sort_by_key(|&(binding, _)| binding);
    for (want, &(binding, handle)) in bindings.iter().enumerate() {
        if binding as usize != want {
            let message =
                format!("`{name}` uses @binding({binding}) where @binding({want}) is next; count from 0 without gaps");
            return Err((Rule::DenseBindings, Some(module.global_variables.get_span(handle)), message));
        }
    }
    let mut memory = used.iter().filter(|(_, variable)| variable.space == AddressSpace::WorkGroup);
    let bytes: u32 = memory.clone().map(|(_, variable)| module.types[variable.ty].inner.size(module.to_ctx())).sum();
    let matrix = module.types.iter().any(|(_, ty)| matches!(ty.inner, TypeInner::CooperativeMatrix { .. }));
    let most = if matrix { MAX_WORKGROUP_MEMORY_OF_MATRIX } else { MAX_WORKGROUP_MEMORY };
    if bytes > most {
        let span = memory.next_back().map(|&(handle, _)| module.global_variables.get_span(handle));
        let message = format!("`{name}` uses {bytes} bytes of workgroup memory; {most} is the most");
        return Err((Rule::WorkgroupMemory, span, message));
    }
    Ok(())
}

fn check_variable(module: &Module, handle: Handle<GlobalVariable>, variable: &GlobalVariable) -> Result<(), Broken> {
    let broken = |rule, message: String| Err((rule, Some(module.global_variables.get_span(handle)), message));
    let name = variable.name.as_deref().unwrap_or("?");
    match variable.space {
        AddressSpace::Storage { .. } => match variable.binding {
            Some(at) if at.group == 0 => Ok(()),
            Some(at) => broken(Rule::GroupZero, format!("`{name}` is in @group({}); all buffers go in 0", at.group)),
            None => broken(Rule::GroupZero, format!("`{name}` has no @group(0) @binding(n)")),
        },
        AddressSpace::Immediate => match constants_problem(module, variable.ty) {
            None => Ok(()),
            Some(problem) => broken(Rule::ConstantsOf32Bits, format!("`{name}` {problem}")),
        },
        AddressSpace::WorkGroup | AddressSpace::Private => Ok(()),
        _ => broken(
            Rule::StorageBuffersOnly,
            format!("`{name}` is neither `var<storage>`, `var<immediate>`, `var<workgroup>` nor `var<private>`"),
        ),
    }
}

fn constants_problem(module: &Module, ty: Handle<Type>) -> Option<String> {
    let TypeInner::Struct { ref members, span } = module.types[ty].inner else {
        return Some("is not a struct".to_owned());
    };
    if span > MAX_CONSTANTS {
        return Some(format!("takes {span} bytes; {MAX_CONSTANTS} is the most"));
    }
    let is_word = |ty: Handle<Type>| {
        matches!(
            module.types[ty].inner,
            TypeInner::Scalar(Scalar { kind: ScalarKind::Sint | ScalarKind::Uint | ScalarKind::Float, width: 4 })
        )
    };
    let wrong = members.iter().find(|member| match module.types[member.ty].inner {
        TypeInner::Array { base, .. } => !is_word(base),
        _ => !is_word(member.ty),
    })?;
    Some(format!(
        "has a member `{}` that is neither u32, i32, f32 nor an array of them",
        wrong.name.as_deref().unwrap_or("?")
    ))
}

fn first_span(block: &naga::Block) -> Option<Span> {
    block.span_iter().map(|(_, &span)| span).next()
}
