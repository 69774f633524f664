//! Attributes, and the enumerations of their values and of arguments.

mod agent;
mod code_object;
mod executable;
mod isa;
mod memory;
mod queue;
mod system;

pub use agent::*;
pub use code_object::*;
pub use executable::*;
pub use isa::*;
pub use memory::*;
pub use queue::*;
pub use system::*;

use super::{ConstantTable, PacketType, Status};

/// All enumerations of this crate, for programs that compare or list them.
pub const TABLES: &[ConstantTable] = &[
    Status::TABLE,
    PacketType::TABLE,
    AccessPermission::TABLE,
    AgentFeature::TABLE,
    AgentInfo::TABLE,
    AgentMemoryPoolInfo::TABLE,
    CacheInfo::TABLE,
    CodeObjectInfo::TABLE,
    CodeObjectStorageType::TABLE,
    CodeObjectType::TABLE,
    CodeSymbolInfo::TABLE,
    CoherencyType::TABLE,
    DeviceType::TABLE,
    Endianness::TABLE,
    EventType::TABLE,
    ExceptionPolicy::TABLE,
    ExecutableInfo::TABLE,
    ExecutableState::TABLE,
    ExecutableSymbolInfo::TABLE,
    Extension::TABLE,
    ExtProgramInfo::TABLE,
    FenceScope::TABLE,
    FloatRoundingMode::TABLE,
    FlushMode::TABLE,
    FpType::TABLE,
    HwExceptionResetCause::TABLE,
    HwExceptionResetType::TABLE,
    IommuVersion::TABLE,
    IsaInfo::TABLE,
    LinkInfoType::TABLE,
    LoadedCodeObjectInfo::TABLE,
    LoadedCodeObjectKind::TABLE,
    MachineModel::TABLE,
    MemoryFaultReason::TABLE,
    MemoryPoolAccess::TABLE,
    MemoryPoolFlag::TABLE,
    MemoryPoolGlobalFlag::TABLE,
    MemoryPoolInfo::TABLE,
    MemoryPoolLocation::TABLE,
    MemoryProperty::TABLE,
    MemoryType::TABLE,
    PointerType::TABLE,
    Profile::TABLE,
    QueueFeature::TABLE,
    QueueInfo::TABLE,
    QueuePriority::TABLE,
    QueueType::TABLE,
    RegionGlobalFlag::TABLE,
    RegionInfo::TABLE,
    RoundMethod::TABLE,
    Segment::TABLE,
    SignalAttribute::TABLE,
    SignalCondition::TABLE,
    SvmAttribute::TABLE,
    SvmModel::TABLE,
    SymbolKind::TABLE,
    SymbolLinkage::TABLE,
    SystemInfo::TABLE,
    VariableAllocation::TABLE,
    VariableSegment::TABLE,
    WaitState::TABLE,
    WavefrontInfo::TABLE,
];
