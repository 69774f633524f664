//! Compile-time checks of the public types: thread safety, object safety of traits, and `Clone` on
//! handles.

use crate::buffer::{Buffer, BufferRange};
use crate::command::{Command, Dispatch, Operand, Recording};
use crate::command_buffer::CommandBuffer;
use crate::deadline::Deadline;
use crate::device::Device;
use crate::driver::{
    Batch, BatchFault, BoundRange, BufferBackend, CommandsBackend, Completion, DeviceBackend, Driver,
    ExecutableBackend, OpenRequest, Parameter,
};
use crate::error::{DeviceLoss, DeviceLossReason, Error, InFlight};
use crate::executable::{Access, Code, CodeFormat, EntryPoint, Executable, ExecutableSource, Kernel};
use crate::host_memory::HostMemory;
use crate::info::{Capabilities, DeviceInfo, DeviceKind, PhysicalInfo, QueueInfo};
use crate::mapping::{Mapping, ReadMapping};
use crate::memory::{BufferDesc, MemoryType};
use crate::native::{NativeBinding, NativeEntry, NativeKernel, NativeLaunch};
use crate::null::NullDriver;
use crate::profile::{Clock, CommandKind, CommandRecord, CommandTiming, Profile};
use crate::queue::{Download, Queue, Submit};
use crate::recorder::{Binding, Recorder};
use crate::registry::{AutoChoice, Enumeration, Registry};
use crate::semaphore::{Point, Semaphore};
use crate::uri::{DeviceSelector, DeviceUri, PciAddress, Selection, UriAlternatives, UriError, UriErrorKind};
use roci_base::Hint;
use roci_base::env::Variable;

/// The type is thread-safe. With `dyn Trait` it also checks object safety.
const fn shared<T: Send + Sync + ?Sized>() {}

/// The type is a cloneable handle or value.
const fn handle<T: Send + Sync + Clone + 'static>() {}

/// The type converts with `?` into boxed errors.
const fn error<T: std::error::Error + Send + Sync + 'static>() {}

macro_rules! all {
    ($check:ident: $($of:ty),+ $(,)?) => { $($check::<$of>();)+ };
}

const _: () = {
    all!(shared: dyn Driver, dyn DeviceBackend, dyn BufferBackend, dyn ExecutableBackend, dyn CommandsBackend);
    all!(shared: dyn NativeKernel, dyn Hint + Send + Sync);
    all!(shared: OpenRequest<'static>, Batch, Completion, BatchFault, Recording, Command, Dispatch, Operand);
    all!(shared: Recorder, Mapping, ReadMapping, Submit, Download, Registry, Enumeration, AutoChoice, NullDriver, HostMemory);
    all!(shared: NativeBinding, NativeLaunch<'static>, NativeEntry, Variable, UriAlternatives);
    all!(shared: DeviceInfo, PhysicalInfo, QueueInfo, Capabilities);
    all!(handle: Device, Queue, Buffer, BufferRange, BoundRange, Executable, Kernel, CommandBuffer, Semaphore);
    all!(handle: Binding, Point, Code, ExecutableSource, EntryPoint, DeviceLoss, InFlight, DeviceLossReason);
    all!(handle: DeviceUri, Selection, DeviceSelector, PciAddress, BufferDesc, MemoryType, DeviceKind, Deadline, Parameter);
    all!(handle: Access, CodeFormat, UriErrorKind, Profile, CommandRecord, CommandKind, CommandTiming, Clock);
    all!(error: Error, UriError);
};
