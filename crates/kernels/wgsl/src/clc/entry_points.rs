//! Entry points: kernel parameters, work-group memory, and built-in values.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use naga::common::wgsl::TryToWgsl as _;
use naga::proc::NameKey;
use naga::{AddressSpace, Binding, BuiltIn, GlobalVariable, Handle, ShaderStage, StorageAccess, TypeInner};

use super::analysis::{Uses, is_subgroup};
use super::error::Error;
use super::functions::{Body, Owner};
use super::types::{LANES, Leaf};
use super::writer::Writer;
use super::{Argument, EntryInfo, text};

/// Name prefix of the kernel parameter that a copied constants block is read from.
const CONSTANTS_PREFIX: &str = "roci_given_";

/// Declarations of a kernel's parameters, and their description for the host.
type Parameters = (Vec<String>, Vec<Argument>);

impl<'a> Writer<'a> {
    pub(super) fn entry_point(&mut self, index: usize) -> Result<(String, EntryInfo), Error> {
        let module = self.module;
        let entry_point = &module.entry_points[index];
        if entry_point.stage != ShaderStage::Compute {
            let stage = wgsl_stage(entry_point.stage);
            let find = |source: &str| text::stage_line(source, stage, &entry_point.name);
            return Err(self.unsupported_by_text(&format!("@{stage}"), find));
        }
        let uses = self.uses_of(&entry_point.function);
        let (parameters, arguments) = self.kernel_parameters(&uses)?;
        let size = entry_point.workgroup_size;

        let info = self.info.get_entry_point(index);
        let mut body = Body::new(self, Owner::EntryPoint(index), &entry_point.function, info);
        let built_ins = body.kernel_arguments(&entry_point.name, size)?;
        body.declare_locals()?;
        body.block(&entry_point.function.body)?;
        let code = body.finish();

        let mut text =
            format!("\nkernel __attribute__((reqd_work_group_size({}, {}, {})))\n", size[0], size[1], size[2]);
        let name = self.names[&NameKey::EntryPoint(index as u16)].clone();
        let _ = writeln!(text, "void {name}({}) {{", parameters.join(", "));
        text.push_str(&self.work_group_memory(&uses, size)?);
        text.push_str(&code);
        text.push_str("}\n");
        let info = EntryInfo {
            entry_point: entry_point.name.clone(),
            name,
            workgroup_size: size,
            arguments,
            uses_subgroups: uses.subgroups || built_ins.iter().any(|&built_in| is_subgroup(built_in)),
        };
        Ok((text, info))
    }

    /// Parameters in order: bindings by group and number, the constants block, the array lengths.
    fn kernel_parameters(&mut self, uses: &Uses) -> Result<Parameters, Error> {
        let module = self.module;
        let slot = |handle: Handle<GlobalVariable>| {
            let binding = module.global_variables[handle].binding;
            binding.map_or((u32::MAX, u32::MAX), |binding| (binding.group, binding.binding))
        };
        let mut bound: Vec<_> = uses.globals.iter().copied().filter(|&handle| is_bound(module, handle)).collect();
        bound.sort_by_key(|&handle| slot(handle));
        let mut parameters = Vec::new();
        let mut arguments = Vec::new();
        for &handle in &bound {
            let global = &module.global_variables[handle];
            if let TypeInner::Array { base, stride, .. } = module.types[global.ty].inner {
                self.check_stride(global.ty, base, stride)?;
            }
            parameters.push(self.global_parameter(handle));
            let (group, binding) = slot(handle);
            let writable = matches!(global.space, AddressSpace::Storage { access }
                if access.contains(StorageAccess::STORE));
            arguments.push(Argument::Binding { group, binding, writable });
        }
        for &handle in &uses.globals {
            let global = &module.global_variables[handle];
            if global.space == AddressSpace::Immediate {
                let ty = self.memory_type(global.ty);
                let given = if self.options.copies_constants { CONSTANTS_PREFIX } else { "" };
                parameters.push(format!("{ty} {given}{}", self.names[&NameKey::GlobalVariable(handle)]));
                arguments.push(Argument::Constants { size: self.layouter[global.ty].size });
            }
        }
        for handle in bound.into_iter().filter(|handle| uses.lengths.contains(handle)) {
            parameters.push(format!("uint {}", self.length_name(handle)));
            let (group, binding) = slot(handle);
            let (offset, stride) = self.runtime_array(handle)?;
            arguments.push(Argument::ArrayLength { group, binding, offset, stride });
        }
        Ok((parameters, arguments))
    }

    /// Byte offset and stride of the run-time array in a binding.
    fn runtime_array(&self, handle: Handle<GlobalVariable>) -> Result<(u32, u32), Error> {
        let types = &self.module.types;
        let stride = |ty| match types[ty].inner {
            TypeInner::Array { stride, .. } => Ok(stride),
            _ => Err(Error::Invalid("the length of a value that is not an array".to_owned())),
        };
        let ty = self.module.global_variables[handle].ty;
        match types[ty].inner {
            TypeInner::Struct { ref members, .. } => match members.last() {
                Some(member) => Ok((member.offset, stride(member.ty)?)),
                None => Err(Error::Invalid("a struct without members".to_owned())),
            },
            _ => Ok((0, stride(ty)?)),
        }
    }

    /// Declares work-group and private variables. Clears the work-group memory if the options ask
    /// for it.
    fn work_group_memory(&mut self, uses: &Uses, size: [u32; 3]) -> Result<String, Error> {
        let mut text = String::new();
        let mut shared = Vec::new();
        let module = self.module;
        for &handle in &uses.globals {
            let global = &module.global_variables[handle];
            let name = self.names[&NameKey::GlobalVariable(handle)].clone();
            match global.space {
                AddressSpace::WorkGroup => {
                    let ty = self.memory_type(global.ty);
                    let _ = writeln!(text, "    local {ty} {name};");
                    shared.push(name);
                }
                AddressSpace::Immediate if self.options.copies_constants => {
                    let ty = self.memory_type(global.ty);
                    let _ = writeln!(text, "    {ty} {name} = {CONSTANTS_PREFIX}{name};");
                }
                AddressSpace::Private => {
                    let ty = self.memory_type(global.ty);
                    let value = match global.init {
                        Some(init) => {
                            let value = self.constant_value(init)?;
                            match Leaf::of(&module.types[global.ty].inner) {
                                Some(leaf) => self.stored(leaf, value),
                                None => value,
                            }
                        }
                        None => self.zero_initializer(&module.types[global.ty].inner),
                    };
                    let _ = writeln!(text, "    {ty} {name} = {value};");
                }
                _ => {}
            }
        }
        let count: u32 = size.iter().product();
        if uses.subgroups && self.emulates_subgroups() {
            let word = if self.wide_subgroups { "ulong" } else { "uint" };
            let index = self.local_index(size);
            let _ = writeln!(text, "    local {word} roci_sg_scratch[{count}];");
            let _ = writeln!(
                text,
                "    const roci_subgroup roci_sg_value = {{(local uint *)roci_sg_scratch, {index}, {count}u}};\n    \
                 private const roci_subgroup *const roci_sg = &roci_sg_value;"
            );
        }
        if self.options.zero_workgroup_memory && !shared.is_empty() {
            for name in shared {
                let index = self.local_index(size);
                let _ = writeln!(
                    text,
                    "    for (uint i = {index}; i < sizeof({name}); i += {count}u) {{\n        \
                     ((local uchar *)&{name})[i] = 0;\n    }}"
                );
            }
            text.push_str("    roci_barrier_workgroup();\n");
        }
        Ok(text)
    }

    /// The built-in value bound to an argument. Kernels accept no other kind of argument.
    fn only_built_in(&self, binding: Option<&Binding>, owner: text::Owner<'_>) -> Result<BuiltIn, Error> {
        match binding {
            Some(&Binding::BuiltIn(built_in)) => Ok(built_in),
            Some(Binding::Location { .. }) => {
                Err(self
                    .unsupported_by_text("@location", |source| text::attribute_line(source, owner, "location", None)))
            }
            None => Err(Error::Invalid("an entry point argument without a binding".to_owned())),
        }
    }

    fn local_id(&self, axis: usize, size: [u32; 3]) -> String {
        match (size[axis], self.is_amdgcn()) {
            (1, _) => "0u".to_owned(),
            (_, true) => format!("__builtin_amdgcn_workitem_id_{}()", LANES[axis]),
            (_, false) => format!("(uint)get_local_id({axis})"),
        }
    }

    fn group_id(&self, axis: usize) -> String {
        match self.is_amdgcn() {
            true => format!("__builtin_amdgcn_workgroup_id_{}()", LANES[axis]),
            false => format!("(uint)get_group_id({axis})"),
        }
    }

    /// The local invocation index; the x axis varies fastest.
    fn local_index(&self, size: [u32; 3]) -> String {
        let mut terms = Vec::new();
        let mut stride = 1;
        for axis in 0..3 {
            if size[axis] > 1 {
                let id = self.local_id(axis, size);
                terms.push(if stride == 1 { id } else { format!("{id} * {stride}u") });
            }
            stride *= size[axis];
        }
        if terms.is_empty() { "0u".to_owned() } else { terms.join(" + ") }
    }

    fn built_in(&mut self, built_in: BuiltIn, size: [u32; 3], owner: text::Owner<'_>) -> Result<String, Error> {
        let count: u32 = size.iter().product();
        let width = self.options.subgroups.size();
        let index = self.local_index(size);
        let by_wave = self.is_amdgcn() || self.emulates_subgroups();
        let three = |part: &dyn Fn(usize) -> String| format!("(uint3)({}, {}, {})", part(0), part(1), part(2));
        if is_subgroup(built_in) && !by_wave {
            self.extensions.insert("cl_khr_subgroups");
        }
        Ok(match built_in {
            BuiltIn::LocalInvocationId => three(&|axis| self.local_id(axis, size)),
            BuiltIn::WorkGroupId => three(&|axis| self.group_id(axis)),
            BuiltIn::GlobalInvocationId if !self.is_amdgcn() => three(&|axis| format!("(uint)get_global_id({axis})")),
            BuiltIn::GlobalInvocationId => three(&|axis| match size[axis] {
                1 => self.group_id(axis),
                _ => format!("{} * {}u + {}", self.group_id(axis), size[axis], self.local_id(axis, size)),
            }),
            BuiltIn::LocalInvocationIndex => index,
            BuiltIn::WorkGroupSize => three(&|axis| format!("{}u", size[axis])),
            BuiltIn::NumWorkGroups if !self.is_amdgcn() => three(&|axis| format!("(uint)get_num_groups({axis})")),
            BuiltIn::NumWorkGroups => {
                three(&|axis| format!("__builtin_amdgcn_grid_size_{}() / {}u", LANES[axis], size[axis]))
            }
            BuiltIn::SubgroupSize => format!("{width}u"),
            BuiltIn::NumSubgroups if by_wave => format!("{}u", count.div_ceil(width)),
            BuiltIn::NumSubgroups => "get_num_sub_groups()".to_owned(),
            BuiltIn::SubgroupId if by_wave => format!("({index}) / {width}u"),
            BuiltIn::SubgroupId => "get_sub_group_id()".to_owned(),
            BuiltIn::SubgroupInvocationId if self.emulates_subgroups() => format!("({index}) % {width}u"),
            BuiltIn::SubgroupInvocationId if self.is_amdgcn() => "roci_lane()".to_owned(),
            BuiltIn::SubgroupInvocationId => "get_sub_group_local_id()".to_owned(),
            other => {
                let name = other.to_wgsl_for_diagnostics();
                let find = |source: &str| text::attribute_line(source, owner, "builtin", Some(&name));
                return Err(self.unsupported_by_text(&format!("@builtin({name})"), find));
            }
        })
    }
}

impl Body<'_, '_> {
    /// Declares the entry point's arguments, all of which are built-in values.
    fn kernel_arguments(&mut self, function: &str, size: [u32; 3]) -> Result<BTreeSet<BuiltIn>, Error> {
        let mut built_ins = BTreeSet::new();
        for (index, argument) in (0u32..).zip(&self.function.arguments) {
            let name = self.argument_name(index);
            let module = self.writer.module;
            let inner = &module.types[argument.ty].inner;
            if let Some(ref binding) = argument.binding {
                let owner = text::Owner::Function(function);
                let built_in = self.writer.only_built_in(Some(binding), owner)?;
                built_ins.insert(built_in);
                let value = self.writer.built_in(built_in, size, owner)?;
                let ty = self.writer.value_type(inner, Some(argument.ty));
                self.line(&format!("const {ty} {name} = {value};"));
                continue;
            }
            let TypeInner::Struct { ref members, .. } = *inner else {
                return Err(Error::Invalid("an entry point argument without a binding".to_owned()));
            };
            let owner = text::Owner::Struct(module.types[argument.ty].name.as_deref().unwrap_or_default());
            let mut parts = Vec::new();
            for member in members {
                let built_in = self.writer.only_built_in(member.binding.as_ref(), owner)?;
                built_ins.insert(built_in);
                let value = self.writer.built_in(built_in, size, owner)?;
                parts.push(match Leaf::of(&module.types[member.ty].inner) {
                    Some(leaf) => self.writer.stored(leaf, value),
                    None => value,
                });
            }
            let ty = self.writer.memory_type(argument.ty);
            let value = self.writer.braces(argument.ty, &parts);
            self.line(&format!("const {ty} {name} = {value};"));
        }
        Ok(built_ins)
    }
}

/// A stage's attribute without its `@`.
fn wgsl_stage(stage: ShaderStage) -> &'static str {
    match stage {
        ShaderStage::Vertex => "vertex",
        ShaderStage::Task => "task",
        ShaderStage::Mesh => "mesh",
        ShaderStage::Fragment => "fragment",
        ShaderStage::Compute => "compute",
        ShaderStage::RayGeneration => "ray_generation",
        ShaderStage::Miss => "miss",
        ShaderStage::AnyHit => "any_hit",
        ShaderStage::ClosestHit => "closest_hit",
    }
}

fn is_bound(module: &naga::Module, handle: Handle<GlobalVariable>) -> bool {
    matches!(module.global_variables[handle].space, AddressSpace::Storage { .. } | AddressSpace::Uniform)
}
