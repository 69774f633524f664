//! Executing a batch, command by command.

use std::any::Any;

use roci_hal::command::{Command, Dispatch};
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hal::native::NativeLaunch;

use super::device::Loaded;
use super::memory::{binding, copy, write};

/// Runs the commands in the order of `indices` until one fails or nobody waits any more.
pub(super) fn execute(
    commands: &[Command],
    indices: impl Iterator<Item = usize>,
    slots: &[BoundRange],
    completion: Option<&Completion>,
) -> Result<(), BatchFault> {
    for index in indices {
        if let Some(completion) = completion {
            completion.progress(index);
            if completion.is_abandoned() {
                return Ok(());
            }
        }
        match &commands[index] {
            Command::Fill { target, pattern } => {
                let target = target.resolve(slots);
                write(&target, &pattern.to_ne_bytes().repeat(target.length as usize / 4));
            }
            Command::Copy { source, target } => copy(&source.resolve(slots), &target.resolve(slots)),
            Command::Update { data, target } => write(&target.resolve(slots), data),
            Command::Dispatch(dispatch) => {
                launch(dispatch, slots).map_err(|reason| BatchFault::Kernel { command: index, reason })?;
            }
            Command::Barrier => {}
        }
    }
    Ok(())
}

fn launch(dispatch: &Dispatch, slots: &[BoundRange]) -> Result<(), String> {
    if dispatch.grid.contains(&0) {
        return Ok(());
    }
    let executable: &dyn Any = dispatch.executable.as_ref();
    let Loaded(entries) = executable.downcast_ref().ok_or("an executable of another driver")?;
    let ranges: Vec<_> = dispatch.bindings.iter().map(|operand| operand.resolve(slots)).collect();
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
