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
