//! Executes a batch, command by command.

use std::any::Any;
use std::time::Instant;

use roci_hal::command::{Command, Dispatch, Operand};
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hal::native::NativeLaunch;
use roci_hal::profile::CommandTiming;

use super::buffer::{DeviceRange, binding, copy, write};
use super::device::ToyExecutable;

/// The resources that a batch executes with.
pub(super) struct BatchContext<'a> {
    pub(super) slots: &'a [BoundRange],
    pub(super) physical: usize,
    /// Whether kernels have any effect on this device.
    pub(super) kernels: bool,
}

impl BatchContext<'_> {
    fn resolve(&self, operand: &Operand) -> DeviceRange {
        DeviceRange { range: operand.resolve(self.slots), physical: self.physical }
    }
}

/// Executes the commands in the order of `indices` until one fails or the batch is abandoned, and
/// records when each ran.
pub(super) fn execute(
    commands: &[Command],
    indices: impl Iterator<Item = usize>,
    context: &BatchContext<'_>,
    completion: Option<&Completion>,
    times: &mut Vec<CommandTiming>,
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
                let target = context.resolve(target);
                write(&target, &pattern.to_ne_bytes().repeat(target.range.length as usize / 4));
            }
            Command::Copy { source, target } => copy(&context.resolve(source), &context.resolve(target)),
            Command::Update { data, target } => write(&context.resolve(target), data),
            Command::Dispatch(dispatch) => {
                launch(dispatch, context).map_err(|reason| BatchFault::Kernel { command: index, reason })?;
            }
            Command::Barrier => continue,
        }
        if !matches!(&commands[index], Command::Dispatch(dispatch) if dispatch.grid.contains(&0)) {
            times.push(CommandTiming { command: index, start, end: Instant::now() });
        }
    }
    Ok(())
}

fn launch(dispatch: &Dispatch, context: &BatchContext<'_>) -> Result<(), String> {
    if dispatch.grid.contains(&0) || !context.kernels {
        return Ok(());
    }
    let executable: &dyn Any = dispatch.executable.as_ref();
    let ToyExecutable(entries) = executable.downcast_ref().ok_or("an executable of another driver")?;
    let ranges: Vec<_> = dispatch.bindings.iter().map(|operand| context.resolve(operand)).collect();
    let bindings = ranges.iter().map(binding).collect::<Option<Vec<_>>>().ok_or("memory of another driver")?;
    let launch = NativeLaunch { grid: dispatch.grid, bindings: &bindings, constants: &dispatch.constants, workers: 3 };
    let kernel = &entries.get(dispatch.entry).ok_or("no such entry point")?.kernel;
    let parts = kernel.prepare(&launch)?;
    for part in 0..parts {
        // SAFETY: the bindings are ranges of live buffers that `ranges` holds, the HAL orders
        // accesses to them, `prepare` has accepted the launch, and each part runs once.
        unsafe { kernel.run(&launch, part, parts) };
    }
    Ok(())
}
