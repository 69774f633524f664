//! Loads code under the compile timeout. Drivers compile for seconds, on a busy machine for
//! minutes, and some hang.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::driver::{DeviceBackend, ExecutableBackend};
use crate::error::Error;
use crate::executable::{Code, ExecutableSource};
use roci_base::exit::{self, ExitGuard, ThreadExit};

/// Stack size in bytes: that of a process's main thread, which compilers assume.
const STACK_SIZE: usize = 8 << 20;

/// Loads code on a separate thread. If the limit passes, the thread is detached and the call fails.
pub(crate) fn load(
    backend: &Arc<dyn DeviceBackend>,
    source: &ExecutableSource,
    limit: Duration,
) -> Result<Arc<dyn ExecutableBackend>, Error> {
    // Native code needs no compilation.
    if let Code::Native(_) = source.code {
        return backend.load(source);
    }
    let (answer, answered) = mpsc::channel();
    let thread_exit = ThreadExit::default();
    let (own, code, exiting) = (Arc::clone(backend), source.clone(), thread_exit.clone());
    let run = move || {
        let _guard = ExitGuard::new();
        let loaded = own.load(&code);
        // Dropped before the answer, so that only the caller's handles keep the device open.
        drop(own);
        // The receiver is gone if the limit has passed.
        let _ = answer.send(loaded);
        exiting.set();
    };
    let thread = std::thread::Builder::new().name("roci-compile".into()).stack_size(STACK_SIZE).spawn(run);
    let thread = thread.map_err(|error| Error::Unavailable {
        what: "a compile thread".into(),
        reason: error.to_string(),
        hint: "end other processes, or raise the thread limit (`ulimit -u`)".into(),
    })?;
    let loaded = answered.recv_timeout(limit);
    if let Err(RecvTimeoutError::Timeout) = loaded {
        exit::detach(thread_exit, thread);
        return Err(Error::Compile { device: backend.info().uri.to_string(), kernel: source.label.clone(), limit });
    }
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
    loaded.unwrap_or_else(|_| {
        Err(Error::invalid(format!("executable \"{}\"", source.label), "the driver returned no result"))
    })
}
