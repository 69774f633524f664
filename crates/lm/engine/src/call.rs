//! Checked calls of a device.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Chunk, Forward, ForwardError, Output, OutputKind, States};

/// Calls [`Forward::evaluate`], catches its panics, and checks the number of output rows.
pub(crate) fn evaluate(forward: &mut dyn Forward, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
    // After a panic the state of the driver is unknown: the device counts as lost.
    let outputs = catch_unwind(AssertUnwindSafe(|| forward.evaluate(chunks)));
    let outputs = outputs.unwrap_or_else(|panic| Err(panicked(panic.as_ref())))?;
    check(chunks, &outputs.iter().map(|output| output.rows.len()).collect::<Vec<_>>())?;
    Ok(outputs)
}

/// The same for [`Forward::evaluate_with_states`].
pub(crate) fn evaluate_with_states(
    forward: &mut dyn Forward,
    chunks: &[Chunk<'_>],
    before: Option<&[Vec<f32>]>,
) -> Result<Vec<(Output, States)>, ForwardError> {
    let outputs = catch_unwind(AssertUnwindSafe(|| forward.evaluate_with_states(chunks, before)));
    let outputs = outputs.unwrap_or_else(|panic| Err(panicked(panic.as_ref())))?;
    check(chunks, &outputs.iter().map(|(output, _)| output.rows.len()).collect::<Vec<_>>())?;
    Ok(outputs)
}

/// Checks the number of output rows of each chunk.
fn check(chunks: &[Chunk<'_>], found: &[usize]) -> Result<(), ForwardError> {
    let rows = |chunk: &Chunk<'_>| match chunk.output {
        OutputKind::None => 0,
        OutputKind::LastLogits => 1,
        OutputKind::AllLogits | OutputKind::HiddenStates => chunk.tokens.len(),
    };
    let expected: Vec<usize> = chunks.iter().map(rows).collect();
    if found == expected {
        return Ok(());
    }
    Err(ForwardError {
        message: format!("the device returned {found:?} rows where {expected:?} were expected"),
        hint: Some("this is a bug in roci: please report it with the name of the model".to_owned()),
        lost: false,
    })
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> ForwardError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "no message".to_owned());
    ForwardError {
        message: format!("the driver panicked: {}", text.lines().collect::<Vec<_>>().join(" ")),
        hint: Some("this is a bug in roci: please report it with the name of the model".to_owned()),
        lost: true,
    }
}
