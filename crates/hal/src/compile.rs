//! Loading code under the limit of compilation: drivers compile for seconds, on a busy machine for minutes, and some never end.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::driver::{DeviceBackend, ExecutableBackend};
use crate::error::Error;
use crate::executable::{Code, ExecutableSource};
use crate::exit::{self, Busy, Leaving};

/// Bytes of stack for the thread: as many as the first thread of a process has, which compilers are written for.
const STACK: usize = 8 << 20;

/// Has a driver load code, on a thread of its own, which is left behind once the limit has passed.
pub(crate) fn load(
    backend: &Arc<dyn DeviceBackend>,
    source: &ExecutableSource,
    limit: Duration,
) -> Result<Arc<dyn ExecutableBackend>, Error> {
    // Nothing is compiled.
    if let Code::Native(_) = source.code {
        return backend.load(source);
    }
    let (answer, answered) = mpsc::channel();
    let leaving = Leaving::default();
    let (own, code, left) = (Arc::clone(backend), source.clone(), leaving.clone());
    let run = move || {
        let _busy = Busy::new();
        let loaded = own.load(&code);
        // Before the caller goes on, whose handles alone should keep the device open.
        drop(own);
        // There is no receiver once the limit has passed.
        let _ = answer.send(loaded);
        left.set();
    };
    let thread = std::thread::Builder::new().name("roci-compile".into()).stack_size(STACK).spawn(run);
    let thread = thread.map_err(|error| Error::Unavailable {
        what: "a thread to compile on".into(),
        reason: error.to_string(),
        hint: "end some processes".into(),
    })?;
    let loaded = answered.recv_timeout(limit);
    if let Err(RecvTimeoutError::Timeout) = loaded {
        exit::leave(leaving, thread);
        return Err(Error::Compile { device: backend.info().uri.to_string(), kernel: source.label.clone(), limit });
    }
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
    loaded.unwrap_or_else(|_| {
        Err(Error::invalid(format!("executable \"{}\"", source.label), "the driver gave no answer"))
    })
}
