//! What a run would do, told without a device: where every node runs, and what memory it takes.

use roci_graph::{Fact, Graph};
use roci_hal::null::NullDriver;
use roci_hal::{BufferDesc, BufferRange, CodeFormat, DeviceInfo, MemoryType, Registry};

use crate::walk::{Shelf, dry};
use crate::{Error, Memory};

/// Where a node runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// It is known before anything runs, and computed once.
    Ahead,
    /// As these kernels, in their order, before they are joined with others; none where the same elements get another
    /// shape alone.
    Kernels(Vec<&'static str>),
    /// On the host, for this reason.
    Host(String),
    /// Not at all on such a device, for this reason.
    Refused(String),
    /// That depends on data, which a run has to see first.
    Unknown(String),
}

/// What a run would do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// By node of the graph.
    pub placements: Vec<Placement>,
    /// Memory on the device, with what a run refuses if the device has less. What comes behind data that decides about
    /// shapes is not in it.
    pub memory: Memory,
    /// Dispatches of kernels, once they are joined.
    pub dispatches: usize,
}

/// A device that is asked about, and is not there.
pub(crate) struct Dry {
    pub(crate) info: DeviceInfo,
    /// Stands for all memory.
    pub(crate) nowhere: BufferRange,
    pub(crate) dispatches: usize,
}

/// Tells what running a graph on inputs of which this is known would do on a device that takes this code first. The
/// graph should be as `simplify` leaves it, which a session does before its first run.
///
/// Decisions are those of a run, made by the same code; only what a device may have beyond the least, such as matrix
/// units, is left out.
pub fn plan(graph: &Graph, inputs: &[Option<Fact>], format: CodeFormat) -> Result<Plan, Error> {
    let registry = Registry::new().with(NullDriver::new(1));
    let device = registry.open(&registry.parse(roci_hal::null::SCHEME)?, None)?;
    let nowhere = device.allocate(BufferDesc { size: 4, memory: MemoryType::Host, label: None })?.whole();
    // Vulkan's devices ask for 256 bytes at most, and the CPU for what its vectors want.
    let binding_alignment = if format == CodeFormat::Native { 16 } else { 256 };
    let info = DeviceInfo { formats: vec![format], binding_alignment, ..device.info().clone() };
    let mut shelf = Shelf::new(device, format == CodeFormat::Native);
    shelf.dry = Some(Dry { info, nowhere, dispatches: 0 });
    let placements = dry(&mut shelf, graph, inputs)?;
    let dispatches = shelf.dry.map_or(0, |dry| dry.dispatches);
    Ok(Plan { placements, memory: shelf.memory, dispatches })
}
