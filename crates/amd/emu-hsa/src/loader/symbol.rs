//! Symbols of executables and code objects: kernels and variables.

use std::collections::HashMap;

use roci_codeobj::{self as codeobj, CodeObject, KernelDescriptor};
use roci_hsa::abi::{
    Agent, ExecutableSymbol, ExecutableSymbolInfo, SymbolKind, SymbolLinkage, VariableAllocation, VariableSegment,
};

use crate::handle::new_handle;
use crate::topology::AttributeValue;

/// Minimum alignment of the kernarg segment.
const MIN_KERNARG_ALIGNMENT: u64 = 16;
/// Attributes that AMD's runtime supports although its headers do not list them for executable
/// symbols: wave size, and size and alignment of the kernel descriptor.
const WAVEFRONT_SIZE: ExecutableSymbolInfo = ExecutableSymbolInfo(19);
const KERNEL_OBJECT_SIZE: ExecutableSymbolInfo = ExecutableSymbolInfo(100);
const KERNEL_OBJECT_ALIGNMENT: ExecutableSymbolInfo = ExecutableSymbolInfo(101);

/// A kernel or a variable on one agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    handle: u64,
    name: String,
    agent: Agent,
    /// Address of the variable or of the kernel descriptor.
    address: u64,
    linkage: SymbolLinkage,
    kind: SymbolDetails,
}

#[derive(Debug, PartialEq, Eq)]
enum SymbolDetails {
    Kernel { descriptor: KernelDescriptor, kernarg_size: u64, kernarg_alignment: u64 },
    Variable { size: u64, alignment: u64, constant: bool, allocation: VariableAllocation, segment: VariableSegment },
}

impl Symbol {
    /// A variable that the client defines, for an agent or for the program if the agent is null.
    pub(super) fn defined(name: &str, agent: Agent, segment: VariableSegment, address: u64) -> Self {
        let allocation = if agent.is_null() { VariableAllocation::PROGRAM } else { VariableAllocation::AGENT };
        // The client does not pass a size.
        let kind = SymbolDetails::Variable { size: 0, alignment: 0, constant: false, allocation, segment };
        Self { handle: new_handle(), name: name.to_owned(), agent, address, linkage: SymbolLinkage::PROGRAM, kind }
    }

    /// Kernels (as `name.kd`) and variables of a code object that is loaded at `base`.
    pub(super) fn from_code_object(object: &CodeObject<'_>, agent: Agent, base: u64) -> Vec<Self> {
        let kernels: HashMap<u64, &codeobj::Kernel> =
            object.kernels().iter().map(|kernel| (kernel.descriptor_address, kernel)).collect();
        let symbol = |symbol: &codeobj::Symbol<'_>| {
            let address = symbol.address?;
            let kind = match kernels.get(&address).filter(|_| symbol.name.ends_with(".kd")) {
                Some(kernel) => SymbolDetails::kernel(kernel),
                None => SymbolDetails::variable(object, symbol, address),
            };
            // Another definition may override a weak symbol, so it has module linkage.
            let linkage = if symbol.weak { SymbolLinkage::MODULE } else { SymbolLinkage::PROGRAM };
            let address = base.wrapping_add(address);
            Some(Self { handle: new_handle(), name: symbol.name.to_owned(), agent, address, linkage, kind })
        };
        exported_objects(object).filter_map(symbol).collect()
    }

    pub(crate) fn handle(&self) -> ExecutableSymbol {
        ExecutableSymbol { handle: self.handle }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// Attribute; `None` if unknown.
    pub(crate) fn info(&self, attribute: ExecutableSymbolInfo) -> Option<AttributeValue> {
        use ExecutableSymbolInfo as Info;
        let own = match &self.kind {
            SymbolDetails::Kernel { descriptor, kernarg_size, kernarg_alignment } => match attribute {
                Info::TYPE => Some(SymbolKind::KERNEL.0.into()),
                Info::KERNEL_KERNARG_SEGMENT_SIZE => Some(word(*kernarg_size)),
                Info::KERNEL_KERNARG_SEGMENT_ALIGNMENT => Some(word(*kernarg_alignment)),
                Info::KERNEL_GROUP_SEGMENT_SIZE => Some(descriptor.group_segment_fixed_size.into()),
                Info::KERNEL_PRIVATE_SEGMENT_SIZE => Some(descriptor.private_segment_fixed_size.into()),
                Info::KERNEL_DYNAMIC_CALLSTACK => Some(descriptor.uses_dynamic_stack().into()),
                WAVEFRONT_SIZE => Some(descriptor.wave_size().into()),
                KERNEL_OBJECT_SIZE | KERNEL_OBJECT_ALIGNMENT => Some((KernelDescriptor::SIZE as u32).into()),
                _ => None,
            },
            SymbolDetails::Variable { size, alignment, constant, allocation, segment } => match attribute {
                Info::TYPE => Some(SymbolKind::VARIABLE.0.into()),
                Info::VARIABLE_ALLOCATION => Some(allocation.0.into()),
                Info::VARIABLE_SEGMENT => Some(segment.0.into()),
                Info::VARIABLE_ALIGNMENT => Some(word(*alignment)),
                Info::VARIABLE_SIZE => Some(word(*size)),
                Info::VARIABLE_IS_CONST => Some((*constant).into()),
                _ => None,
            },
        };
        let common = || match attribute {
            Info::NAME_LENGTH => Some(AttributeValue::length(&self.name)),
            Info::NAME => Some(AttributeValue::characters(&self.name)),
            // Only HSAIL has modules.
            Info::MODULE_NAME_LENGTH => Some(0_u32.into()),
            Info::MODULE_NAME => Some(AttributeValue::characters("")),
            Info::LINKAGE => Some(self.linkage.0.into()),
            Info::IS_DEFINITION => Some(true.into()),
            Info::KERNEL_CALL_CONVENTION => Some(0_u32.into()),
            Info::AGENT => Some(self.agent.handle.into()),
            // AMD's runtime accepts both for either kind, and clients rely on it.
            Info::VARIABLE_ADDRESS | Info::KERNEL_OBJECT => Some(self.address.into()),
            _ => None,
        };
        own.or_else(common)
    }
}

impl SymbolDetails {
    fn kernel(kernel: &codeobj::Kernel) -> Self {
        let stated = kernel.metadata.as_ref().map_or(0, |metadata| metadata.kernarg_segment_align);
        Self::Kernel {
            descriptor: kernel.descriptor,
            kernarg_size: kernel.kernarg_size(),
            kernarg_alignment: stated.max(MIN_KERNARG_ALIGNMENT),
        }
    }

    fn variable(object: &CodeObject<'_>, symbol: &codeobj::Symbol<'_>, address: u64) -> Self {
        let holds =
            |segment: &&codeobj::Segment<'_>| (segment.address..segment.address + segment.size).contains(&address);
        let segment = object.segments().iter().find(holds);
        Self::Variable {
            size: symbol.size,
            alignment: symbol.alignment,
            constant: segment.is_some_and(|segment| !segment.writable),
            allocation: VariableAllocation::AGENT,
            // Constants are in the global segment too; `VARIABLE_IS_CONST` distinguishes them.
            segment: VariableSegment::GLOBAL,
        }
    }
}

/// Data symbols that a code object defines and exports.
pub(super) fn exported_objects<'a, 'data>(
    object: &'a CodeObject<'data>,
) -> impl Iterator<Item = &'a codeobj::Symbol<'data>> + use<'a, 'data> {
    let defines = |symbol: &&codeobj::Symbol<'_>| {
        symbol.kind == codeobj::SymbolKind::Object && symbol.address.is_some() && !symbol.name.is_empty()
    };
    object.symbols().iter().filter(defines)
}

/// A 32-bit value, saturating; real values are far smaller.
fn word(number: u64) -> AttributeValue {
    u32::try_from(number).unwrap_or(u32::MAX).into()
}
