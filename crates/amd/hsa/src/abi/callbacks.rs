//! Callbacks. Parameters are `Option<…>` of these, since C may pass null.

use super::*;

/// Called for each agent of an iteration.
pub type AgentCallback = unsafe extern "C" fn(agent: Agent, data: *mut c_void) -> Status;
/// Called for each cache of an iteration.
pub type CacheCallback = unsafe extern "C" fn(cache: Cache, data: *mut c_void) -> Status;
/// Called for each region of an iteration.
pub type RegionCallback = unsafe extern "C" fn(region: Region, data: *mut c_void) -> Status;
/// Called for each memory pool of an iteration.
pub type MemoryPoolCallback = unsafe extern "C" fn(pool: MemoryPool, data: *mut c_void) -> Status;
/// Called for each ISA of an iteration.
pub type IsaCallback = unsafe extern "C" fn(isa: Isa, data: *mut c_void) -> Status;
/// Called for each loaded code object of an iteration.
pub type LoadedCodeObjectCallback =
    unsafe extern "C" fn(executable: Executable, loaded: LoadedCodeObject, data: *mut c_void) -> Status;
/// Called for each executable of an iteration.
pub type ExecutableCallback = unsafe extern "C" fn(executable: Executable, data: *mut c_void) -> Status;
/// Called when a queue fails.
pub type QueueErrorCallback = unsafe extern "C" fn(status: Status, source: *mut Queue, data: *mut c_void);
/// Called on a fault of a device.
pub type SystemEventCallback = unsafe extern "C" fn(event: *const Event, data: *mut c_void) -> Status;
/// Called when a signal meets its condition; stays registered as long as it returns true.
pub type SignalHandler = unsafe extern "C" fn(value: SignalValue, argument: *mut c_void) -> bool;
/// Allocates memory for a result.
pub type Allocate = unsafe extern "C" fn(size: usize) -> *mut c_void;
/// Called for each wavefront of an iteration.
pub type WavefrontCallback = unsafe extern "C" fn(wavefront: Wavefront, data: *mut c_void) -> Status;
/// Called for each symbol of an executable.
pub type ExecutableSymbolCallback =
    unsafe extern "C" fn(executable: Executable, symbol: ExecutableSymbol, data: *mut c_void) -> Status;
/// Called for each symbol of an executable on an agent.
pub type AgentSymbolCallback =
    unsafe extern "C" fn(executable: Executable, agent: Agent, symbol: ExecutableSymbol, data: *mut c_void) -> Status;
/// Called for each symbol of a code object.
pub type CodeSymbolCallback =
    unsafe extern "C" fn(code_object: CodeObject, symbol: CodeSymbol, data: *mut c_void) -> Status;
/// Allocates memory for a serialized code object.
pub type SerializeAllocate = unsafe extern "C" fn(size: usize, data: CallbackData, address: *mut *mut c_void) -> Status;
/// Called for each module of an iteration.
pub type ModuleCallback = unsafe extern "C" fn(program: ExtProgram, module: ExtModule, data: *mut c_void) -> Status;
/// Called before memory is freed.
pub type DeallocationCallback = unsafe extern "C" fn(ptr: *mut c_void, user_data: *mut c_void);
/// Called once, on a thread of the runtime.
pub type AsyncFunction = unsafe extern "C" fn(argument: *mut c_void);
