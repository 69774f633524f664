//! Iterations of the library with Rust closures. A panic resumes after the library has returned.

#![expect(unsafe_code, reason = "the library passes the closure as a pointer")]

use std::any::Any;
use std::ffi::c_void;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::abi::Status;
use crate::error::{Error, check};

/// Callback of an iteration over handles.
pub(super) type Callback<H> = unsafe extern "C" fn(H, *mut c_void) -> Status;

/// State of an iteration, which the library passes to the callback.
struct Visit<F> {
    visit: F,
    panic: Option<Box<dyn Any + Send>>,
}

/// Calls `visit` for each handle that `call` iterates over, until it breaks.
pub(super) fn visit<H, F: FnMut(H) -> ControlFlow<()>>(
    name: &'static str,
    visit: F,
    call: impl FnOnce(Callback<H>, *mut c_void) -> Status,
) -> Result<(), Error> {
    let mut state = Visit { visit, panic: None };
    let status = call(trampoline::<H, F>, (&raw mut state).cast());
    if let Some(panic) = state.panic {
        resume_unwind(panic);
    }
    check(name, status)
}

/// All handles of an iteration.
pub(super) fn collect<H>(
    name: &'static str,
    call: impl FnOnce(Callback<H>, *mut c_void) -> Status,
) -> Result<Vec<H>, Error> {
    let mut handles = Vec::new();
    let push = |handle| {
        handles.push(handle);
        ControlFlow::Continue(())
    };
    visit(name, push, call)?;
    Ok(handles)
}

/// Callback that calls the closure.
unsafe extern "C" fn trampoline<H, F: FnMut(H) -> ControlFlow<()>>(handle: H, data: *mut c_void) -> Status {
    // SAFETY: `data` is the `Visit` of `visit`, which outlives the iteration; the library calls one
    // callback at a time.
    let state = unsafe { &mut *data.cast::<Visit<F>>() };
    if state.panic.is_some() {
        return Status::INFO_BREAK;
    }
    match catch_unwind(AssertUnwindSafe(|| (state.visit)(handle))) {
        Ok(ControlFlow::Continue(())) => Status::SUCCESS,
        Ok(ControlFlow::Break(())) => Status::INFO_BREAK,
        Err(panic) => {
            state.panic = Some(panic);
            Status::INFO_BREAK
        }
    }
}
