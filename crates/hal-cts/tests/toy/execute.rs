//! Executing a batch, command by command.

use std::any::Any;
use std::time::Instant;

use roci_hal::command::{Command, Dispatch, Operand};
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hal::native::NativeLaunch;
use roci_hal::profile::Span;

use super::device::Loaded;
use super::memory::{Located, binding, copy, write};

/// Where a batch runs, and what it works on.
pub(super) struct Place<'a> {
    pub(super) slots: &'a [BoundRange],
    pub(super) physical: usize,
    /// Whether kernels do anything here.
    pub(super) kernels: bool,
}

impl Place<'_> {
    fn resolve(&self, operand: &Operand) -> Located {
        Located { range: operand.resolve(self.slots), physical: self.physical }
    }
}

/// Runs the commands in the order of `indices` until one fails or nobody waits any more, and notes when each ran.
pub(super) fn execute(
    commands: &[Command],
    indices: impl Iterator<Item = usize>,
    place: &Place<'_>,
    completion: Option<&Completion>,
    times: &mut Vec<Span>,
) -> Result<(), BatchFault> {
    for index in indices {
        if let Some(completion) = completion {
            completion.progress(index);
            if completion.is_abandoned() {
                return Ok(());
            }
        }
        let start = Instant::now();
        match &commands[index] {
            Command::Fill { target, pattern } => {
                let target = place.resolve(target);
                write(&target, &pattern.to_ne_bytes().repeat(target.range.length as usize / 4));
            }
            Command::Copy { source, target } => copy(&place.resolve(source), &place.resolve(target)),
            Command::Update { data, target } => write(&place.resolve(target), data),
            Command::Dispatch(dispatch) => {
                launch(dispatch, place).map_err(|reason| BatchFault::Kernel { command: index, reason })?;
            }
            Command::Barrier => continue,
        }
        if !matches!(&commands[index], Command::Dispatch(dispatch) if dispatch.grid.contains(&0)) {
            times.push(Span { command: index, start, end: Instant::now() });
        }
    }
    Ok(())
}

fn launch(dispatch: &Dispatch, place: &Place<'_>) -> Result<(), String> {
    if dispatch.grid.contains(&0) || !place.kernels {
        return Ok(());
    }
    let executable: &dyn Any = dispatch.executable.as_ref();
    let Loaded(entries) = executable.downcast_ref().ok_or("an executable of another driver")?;
    let ranges: Vec<_> = dispatch.bindings.iter().map(|operand| place.resolve(operand)).collect();
    let bindings = ranges.iter().map(binding).collect::<Option<Vec<_>>>().ok_or("memory of another driver")?;
    let launch = NativeLaunch { grid: dispatch.grid, bindings: &bindings, constants: &dispatch.constants, workers: 3 };
    let kernel = &entries.get(dispatch.entry).ok_or("no such entry point")?.kernel;
    let parts = kernel.prepare(&launch)?;
    for part in 0..parts {
        // SAFETY: the bindings are ranges of live buffers that `ranges` holds, the HAL orders who uses them, `prepare` has
        // accepted the launch, and each part runs once.
        unsafe { kernel.run(&launch, part, parts) };
    }
    Ok(())
}
