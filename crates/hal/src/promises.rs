//! What the crate promises of its types, held when it is compiled: they go to any thread, traits serve as `dyn`, and
//! handles are cheap to clone.

use crate::buffer::{Buffer, BufferRange};
use crate::command::{Command, Dispatch, Operand, Recording};
use crate::command_buffer::CommandBuffer;
use crate::deadline::Deadline;
use crate::device::Device;
use crate::driver::{
    Batch, BatchFault, BoundRange, BufferBackend, CommandsBackend, Completion, DeviceBackend, Driver,
    ExecutableBackend, OpenRequest, Parameter,
};
use crate::env::Variable;
use crate::error::{Error, Hint, InFlight, Loss, LossReason};
use crate::executable::{Access, Code, CodeFormat, EntryPoint, Executable, ExecutableSource, Kernel};
use crate::host_memory::HostMemory;
use crate::info::{Capabilities, DeviceInfo, DeviceKind, PhysicalInfo, QueueInfo};
use crate::mapping::{Mapping, ReadMapping};
use crate::memory::{BufferDesc, MemoryType};
use crate::native::{NativeBinding, NativeEntry, NativeKernel, NativeLaunch};
use crate::null::NullDriver;
use crate::profile::{Clock, Operation, Profile, Record, Span};
use crate::queue::{Download, Queue, Submit};
use crate::recorder::{Binding, Recorder};
use crate::registry::{Choice, Enumeration, Registry};
use crate::semaphore::{Point, Semaphore};
use crate::uri::{DeviceUri, Item, Known, PciAddress, Selection, UriError, UriReason};

/// Any thread may hold it, and several may use it at once. As a bound of `dyn Trait` it also says that there is one.
const fn shared<T: Send + Sync + ?Sized>() {}

/// Callers keep copies of it.
const fn handle<T: Send + Sync + Clone + 'static>() {}

/// It passes through `?` into any error type of a caller's.
const fn error<T: std::error::Error + Send + Sync + 'static>() {}

macro_rules! all {
    ($check:ident: $($of:ty),+ $(,)?) => { $($check::<$of>();)+ };
}

const _: () = {
    all!(shared: dyn Driver, dyn DeviceBackend, dyn BufferBackend, dyn ExecutableBackend, dyn CommandsBackend);
    all!(shared: dyn NativeKernel, dyn Hint + Send + Sync);
    all!(shared: OpenRequest<'static>, Batch, Completion, BatchFault, Recording, Command, Dispatch, Operand);
    all!(shared: Recorder, Mapping, ReadMapping, Submit, Download, Registry, Enumeration, Choice, NullDriver, HostMemory);
    all!(shared: NativeBinding, NativeLaunch<'static>, NativeEntry, Variable, Known);
    all!(shared: DeviceInfo, PhysicalInfo, QueueInfo, Capabilities);
    all!(handle: Device, Queue, Buffer, BufferRange, BoundRange, Executable, Kernel, CommandBuffer, Semaphore);
    all!(handle: Binding, Point, Code, ExecutableSource, EntryPoint, Loss, InFlight, LossReason);
    all!(handle: DeviceUri, Selection, Item, PciAddress, BufferDesc, MemoryType, DeviceKind, Deadline, Parameter);
    all!(handle: Access, CodeFormat, UriReason, Profile, Record, Operation, Span, Clock);
    all!(error: Error, UriError);
};
