//! Kernel rules: restrictions on WGSL kernels so that every target can run them.
//!
//! Vulkan, OpenCL and amdgcn support a common subset of WGSL. Each rule is checked on naga's IR,
//! except one that is checked on the source, because naga's own error does not say how to fix it.
//! An error names the rule, the file and the line.

use naga::valid::{GlobalUse, ModuleInfo};
use naga::{
    AddressSpace, Expression, Function, GlobalVariable, Handle, Module, Scalar, ScalarKind, ShaderStage, Span, Type,
    TypeInner,
};

/// Bytes of push constants that Vulkan guarantees.
pub const MAX_CONSTANTS: u32 = 128;
/// Invocations in a workgroup that all targets support.
pub const MAX_WORKGROUP: u32 = 1024;
/// Bytes of workgroup memory that Vulkan guarantees.
pub const MAX_WORKGROUP_MEMORY: u32 = 16_384;
/// Bytes of workgroup memory on every known device with matrix units.
pub const MAX_WORKGROUP_MEMORY_OF_MATRIX: u32 = 49_152;

/// A violation: the rule, its location, and how to fix it.
pub(crate) type Violation = (Rule, Option<Span>, String);

/// The rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// No `enable subgroups;`: naga 30 rejects the directive, and the operations work without it.
    NoEnableSubgroups,
    /// Every entry point is a compute shader.
    ComputeOnly,
    /// No pointer to workgroup memory is passed to a function.
    NoWorkgroupPointers,
    /// All resources are storage buffers.
    StorageBuffersOnly,
    /// All buffers are in group 0.
    GroupZero,
    /// The bindings that an entry point uses are numbered 0, 1, 2, … without gaps or duplicates.
    DenseBindings,
    /// At most one `var<immediate>` per entry point.
    OneConstantsBlock,
    /// The constants block is a struct of 32-bit scalars and arrays of them, at most 128 bytes.
    ConstantsOf32Bits,
    /// No `arrayLength`: kernels in OpenCL C and amdgcn get pointers without lengths.
    NoArrayLength,
    /// At most 1024 invocations per workgroup.
    WorkgroupSize,
    /// At most 16 KiB of workgroup memory; 48 KiB in a kernel for matrix units.
    WorkgroupMemory,
    /// Barriers and subgroup operations are in uniform control flow of the workgroup.
    UniformControlFlow,
}

impl Rule {
    /// Name of the rule in messages.
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

/// Checks the rule that applies to the source.
pub(crate) fn check_text(text: &str) -> Result<(), Violation> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or(line);
        if code.trim_start().starts_with("enable") && code.contains("subgroups") {
            let span = Span::new(start, start + code.len() as u32);
            let message = "remove `subgroups` from this line; subgroup operations work without it".to_owned();
            return Err((Rule::NoEnableSubgroups, Some(span), message));
        }
        start += line.len() as u32;
    }
    Ok(())
}

/// Checks rules for which naga's validation has less helpful messages. `module` is parsed but not
/// validated.
pub(crate) fn check_functions(module: &Module) -> Result<(), Violation> {
    for entry_point in &module.entry_points {
        if entry_point.stage != ShaderStage::Compute {
            let message = format!(
                "`{}` is a {:?} shader; only compute shaders are supported",
                entry_point.name, entry_point.stage
            );
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
                    "`{}` takes a pointer to workgroup memory; pass an index into a module-scope variable instead",
                    function.name.as_deref().unwrap_or("?"),
                );
                return Err((Rule::NoWorkgroupPointers, Some(module.functions.get_span(handle)), message));
            }
        }
    }
    Ok(())
}

/// Checks the rules about what each entry point uses. `module` is validated and has no overrides.
pub(crate) fn check_module(module: &Module, info: &ModuleInfo) -> Result<(), Violation> {
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
            let message = format!(
                "`{}` has workgroups of {size:?}; the maximum is {MAX_WORKGROUP} invocations",
                entry_point.name
            );
            return Err((Rule::WorkgroupSize, first_span(&entry_point.function.body), message));
        }
        let uses = info.get_entry_point(index);
        let used = module.global_variables.iter().filter(|&(handle, _)| uses[handle] != GlobalUse::empty());
        check_uses(module, &entry_point.name, &used.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn check_lengths(function: &Function) -> Result<(), Violation> {
    let length = function.expressions.iter().find(|(_, expression)| matches!(expression, Expression::ArrayLength(_)));
    length.map_or(Ok(()), |(handle, _)| {
        let message = "`arrayLength` is not available in OpenCL; pass the length in the constants block".to_owned();
        Err((Rule::NoArrayLength, Some(function.expressions.get_span(handle)), message))
    })
}

/// Checks the rules about the module-scope variables of one entry point.
fn check_uses(
    module: &Module,
    name: &str,
    used: &[(Handle<GlobalVariable>, &GlobalVariable)],
) -> Result<(), Violation> {
    let mut blocks = used.iter().filter(|(_, variable)| variable.space == AddressSpace::Immediate);
    if let (Some(_), Some(&(second, _))) = (blocks.next(), blocks.next()) {
        let message = format!("`{name}` has two `var<immediate>`; put all constants in one struct");
        return Err((Rule::OneConstantsBlock, Some(module.global_variables.get_span(second)), message));
    }
    let mut bindings: Vec<_> = used
        .iter()
        .filter_map(|&(handle, variable)| variable.binding.as_ref().map(|at| (at.binding, handle)))
        .collect();
    bindings.sort_by_key(|&(binding, _)| binding);
    for (want, &(binding, handle)) in bindings.iter().enumerate() {
        if binding as usize != want {
            let message = format!(
                "`{name}` uses @binding({binding}) where @binding({want}) is expected; number bindings from 0 without gaps"
            );
            return Err((Rule::DenseBindings, Some(module.global_variables.get_span(handle)), message));
        }
    }
    let mut memory = used.iter().filter(|(_, variable)| variable.space == AddressSpace::WorkGroup);
    let bytes: u32 = memory.clone().map(|(_, variable)| module.types[variable.ty].inner.size(module.to_ctx())).sum();
    let matrix = module.types.iter().any(|(_, ty)| matches!(ty.inner, TypeInner::CooperativeMatrix { .. }));
    let most = if matrix { MAX_WORKGROUP_MEMORY_OF_MATRIX } else { MAX_WORKGROUP_MEMORY };
    if bytes > most {
        let span = memory.next_back().map(|&(handle, _)| module.global_variables.get_span(handle));
        let message = format!("`{name}` uses {bytes} bytes of workgroup memory; the maximum is {most}");
        return Err((Rule::WorkgroupMemory, span, message));
    }
    Ok(())
}

fn check_variable(module: &Module, handle: Handle<GlobalVariable>, variable: &GlobalVariable) -> Result<(), Violation> {
    let violation = |rule, message: String| Err((rule, Some(module.global_variables.get_span(handle)), message));
    let name = variable.name.as_deref().unwrap_or("?");
    match variable.space {
        AddressSpace::Storage { .. } => match variable.binding {
            Some(at) if at.group == 0 => Ok(()),
            Some(at) => violation(
                Rule::GroupZero,
                format!("`{name}` is in @group({}); all buffers must be in group 0", at.group),
            ),
            None => violation(Rule::GroupZero, format!("`{name}` has no @group(0) @binding(n)")),
        },
        AddressSpace::Immediate => match constants_problem(module, variable.ty) {
            None => Ok(()),
            Some(problem) => violation(Rule::ConstantsOf32Bits, format!("`{name}` {problem}")),
        },
        AddressSpace::WorkGroup | AddressSpace::Private => Ok(()),
        _ => violation(
            Rule::StorageBuffersOnly,
            format!("`{name}` is not a `var<storage>`, `var<immediate>`, `var<workgroup>` or `var<private>`"),
        ),
    }
}

fn constants_problem(module: &Module, ty: Handle<Type>) -> Option<String> {
    let TypeInner::Struct { ref members, span } = module.types[ty].inner else {
        return Some("is not a struct".to_owned());
    };
    if span > MAX_CONSTANTS {
        return Some(format!("has {span} bytes; the maximum is {MAX_CONSTANTS}"));
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
