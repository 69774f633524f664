//! Symbols: the kernels and variables of an executable.

use std::collections::HashMap;

use roci_codeobj::{self as codeobj, CodeObject, KernelDescriptor};
use roci_hsa::abi::{
    Agent, ExecutableSymbol, ExecutableSymbolInfo, SymbolKind, SymbolLinkage, VariableAllocation, VariableSegment,
};

use super::new_handle;
use crate::topology::Answer;

/// The alignment of arguments that every kernel can rely on.
const KERNARG_ALIGNMENT: u64 = 16;
/// Attributes that the headers do not list among those of executables, but that libraries answer: lanes of a wave, and bytes
/// and alignment of the descriptor.
const WAVEFRONT_SIZE: ExecutableSymbolInfo = ExecutableSymbolInfo(19);
const KERNEL_OBJECT_SIZE: ExecutableSymbolInfo = ExecutableSymbolInfo(100);
const KERNEL_OBJECT_ALIGNMENT: ExecutableSymbolInfo = ExecutableSymbolInfo(101);

/// A kernel or a variable on one agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    handle: u64,
    name: String,
    agent: Agent,
    /// Of the variable, or of the kernel's descriptor.
    address: u64,
    linkage: SymbolLinkage,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Kernel { descriptor: KernelDescriptor, kernarg_size: u64, kernarg_alignment: u64 },
    Variable { size: u64, alignment: u64, constant: bool, allocation: VariableAllocation, segment: VariableSegment },
}

impl Symbol {
    /// A variable that the client has: for one agent, or for the whole program if that is null.
    pub(super) fn defined(name: &str, agent: Agent, segment: VariableSegment, address: u64) -> Self {
        let allocation = if agent.is_null() { VariableAllocation::PROGRAM } else { VariableAllocation::AGENT };
        // Nobody says how large it is.
        let kind = Kind::Variable { size: 0, alignment: 0, constant: false, allocation, segment };
        Self { handle: new_handle(), name: name.to_owned(), agent, address, linkage: SymbolLinkage::PROGRAM, kind }
    }

    /// The kernels (as `name.kd`) and variables that a code object defines, loaded at an address.
    pub(super) fn of(object: &CodeObject<'_>, agent: Agent, base: u64) -> Vec<Self> {
        let kernels: HashMap<u64, &codeobj::Kernel> =
            object.kernels().iter().map(|kernel| (kernel.descriptor_address, kernel)).collect();
        let symbol = |symbol: &codeobj::Symbol<'_>| {
            let address = symbol.address?;
            let kind = match kernels.get(&address).filter(|_| symbol.name.ends_with(".kd")) {
                Some(kernel) => Kind::kernel(kernel),
                None => Kind::variable(object, symbol, address),
            };
            // Others may override a weak symbol: it is not the program's.
            let linkage = if symbol.weak { SymbolLinkage::MODULE } else { SymbolLinkage::PROGRAM };
            let address = base.wrapping_add(address);
            Some(Self { handle: new_handle(), name: symbol.name.to_owned(), agent, address, linkage, kind })
        };
        names(object).filter_map(symbol).collect()
    }

    /// Its handle.
    pub(crate) fn handle(&self) -> ExecutableSymbol {
        ExecutableSymbol { handle: self.handle }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where it is.
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// An attribute.
    pub(crate) fn info(&self, attribute: ExecutableSymbolInfo) -> Option<Answer> {
        use ExecutableSymbolInfo as Info;
        let own = match &self.kind {
            Kind::Kernel { descriptor, kernarg_size, kernarg_alignment } => match attribute {
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
            Kind::Variable { size, alignment, constant, allocation, segment } => match attribute {
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
            Info::NAME_LENGTH => Some(Answer::length(&self.name)),
            Info::NAME => Some(Answer::characters(&self.name)),
            // Modules are HSAIL's: machine code has none.
            Info::MODULE_NAME_LENGTH => Some(0_u32.into()),
            Info::MODULE_NAME => Some(Answer::characters("")),
            Info::LINKAGE => Some(self.linkage.0.into()),
            Info::IS_DEFINITION => Some(true.into()),
            Info::KERNEL_CALL_CONVENTION => Some(0_u32.into()),
            Info::AGENT => Some(self.agent.handle.into()),
            // Libraries answer both for either kind, and so clients ask for either.
            Info::VARIABLE_ADDRESS | Info::KERNEL_OBJECT => Some(self.address.into()),
            _ => None,
        };
        own.or_else(common)
    }
}

impl Kind {
    fn kernel(kernel: &codeobj::Kernel) -> Self {
        let stated = kernel.metadata.as_ref().map_or(0, |metadata| metadata.kernarg_segment_align);
        Self::Kernel {
            descriptor: kernel.descriptor,
            kernarg_size: kernel.kernarg_size(),
            kernarg_alignment: stated.max(KERNARG_ALIGNMENT),
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
            // Constants are in global memory too on these chips; whether one is constant is another attribute.
            segment: VariableSegment::GLOBAL,
        }
    }
}

/// The symbols of a code object that an executable has: what it defines for others, other than code.
pub(super) fn names<'a, 'data>(
    object: &'a CodeObject<'data>,
) -> impl Iterator<Item = &'a codeobj::Symbol<'data>> + use<'a, 'data> {
    let defines = |symbol: &&codeobj::Symbol<'_>| {
        symbol.kind == codeobj::SymbolKind::Object && symbol.address.is_some() && !symbol.name.is_empty()
    };
    object.symbols().iter().filter(defines)
}

/// A number of 32 bits; what is larger no chip has.
fn word(number: u64) -> Answer {
    u32::try_from(number).unwrap_or(u32::MAX).into()
}
