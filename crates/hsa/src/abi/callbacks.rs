//! Functions that the runtime calls. Parameters are `Option<…>` of these, since C may pass null.

use super::*;

/// Gets one agent of an iteration.
pub type AgentCallback = unsafe extern "C" fn(agent: Agent, data: *mut c_void) -> Status;
/// Gets one cache of an iteration.
pub type CacheCallback = unsafe extern "C" fn(cache: Cache, data: *mut c_void) -> Status;
/// Gets one region of an iteration.
pub type RegionCallback = unsafe extern "C" fn(region: Region, data: *mut c_void) -> Status;
/// Gets one memory pool of an iteration.
pub type MemoryPoolCallback = unsafe extern "C" fn(pool: MemoryPool, data: *mut c_void) -> Status;
/// Gets one instruction set architecture of an iteration.
pub type IsaCallback = unsafe extern "C" fn(isa: Isa, data: *mut c_void) -> Status;
/// Gets one loaded code object of an iteration.
pub type LoadedCodeObjectCallback =
    unsafe extern "C" fn(executable: Executable, loaded: LoadedCodeObject, data: *mut c_void) -> Status;
/// Gets one executable of an iteration.
pub type ExecutableCallback = unsafe extern "C" fn(executable: Executable, data: *mut c_void) -> Status;
/// Is told that a queue failed.
pub type QueueErrorCallback = unsafe extern "C" fn(status: Status, source: *mut Queue, data: *mut c_void);
/// Is told of a fault of a device.
pub type SystemEventCallback = unsafe extern "C" fn(event: *const Event, data: *mut c_void) -> Status;
/// Is told that a signal meets its condition; returns whether it wants to be told again.
pub type SignalHandler = unsafe extern "C" fn(value: SignalValue, argument: *mut c_void) -> bool;
/// Allocates memory for an answer.
pub type Allocate = unsafe extern "C" fn(size: usize) -> *mut c_void;
/// Gets one wavefront of an iteration.
pub type WavefrontCallback = unsafe extern "C" fn(wavefront: Wavefront, data: *mut c_void) -> Status;
/// Gets one symbol of an executable.
pub type ExecutableSymbolCallback =
    unsafe extern "C" fn(executable: Executable, symbol: ExecutableSymbol, data: *mut c_void) -> Status;
/// Gets one symbol of an executable that an agent has.
pub type AgentSymbolCallback =
    unsafe extern "C" fn(executable: Executable, agent: Agent, symbol: ExecutableSymbol, data: *mut c_void) -> Status;
/// Gets one symbol of a code object.
pub type CodeSymbolCallback =
    unsafe extern "C" fn(code_object: CodeObject, symbol: CodeSymbol, data: *mut c_void) -> Status;
/// Allocates memory for the bytes of a code object.
pub type SerializeAllocate = unsafe extern "C" fn(size: usize, data: CallbackData, address: *mut *mut c_void) -> Status;
/// Gets one module of an iteration.
pub type ModuleCallback = unsafe extern "C" fn(program: ExtProgram, module: ExtModule, data: *mut c_void) -> Status;
/// Is told that memory is about to be freed.
pub type DeallocationCallback = unsafe extern "C" fn(ptr: *mut c_void, user_data: *mut c_void);
/// Is called once, on a thread of the runtime.
pub type AsyncFunction = unsafe extern "C" fn(argument: *mut c_void);
