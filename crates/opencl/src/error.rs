//! What OpenCL says when it fails, as errors of the HAL.

use cl3::error_codes::error_text;
use roci_hal::Error;

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed: {} ({code})", error_text(*code))]
pub(crate) struct Failed {
    /// The function of OpenCL.
    pub(crate) call: &'static str,
    /// What it answered.
    pub(crate) code: i32,
}

/// The code of one named call as an error.
pub(crate) fn failed(call: &'static str) -> impl Fn(i32) -> Failed {
    move |code| Failed { call, code }
}

impl Failed {
    /// Whether there was not enough memory, or the driver thinks so.
    pub(crate) fn is_memory(self) -> bool {
        use cl3::error_codes::{
            CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES,
        };
        [CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES]
            .contains(&self.code)
    }

    /// Whether a command that could not be enqueued says nothing of the device: its arguments were refused, or there was no
    /// memory for them.
    pub(crate) fn is_refusal(self) -> bool {
        use cl3::error_codes::{CL_INVALID_VALUE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY};
        // The codes of invalid arguments go on from the first of them; extensions begin at a thousand.
        let invalid = self.code <= CL_INVALID_VALUE && self.code > -1000;
        invalid || [CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY].contains(&self.code)
    }

    /// The same for something that cannot be used.
    pub(crate) fn unavailable(self, what: &str) -> Error {
        unavailable(what, self, "`roci devices` shows what each driver finds")
    }
}

/// Something of OpenCL that cannot be used.
pub(crate) fn unavailable(what: &str, reason: impl std::fmt::Display, hint: &str) -> Error {
    Error::Unavailable { what: what.to_owned(), reason: reason.to_string(), hint: hint.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cl3::error_codes::{CL_INVALID_WORK_GROUP_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES};

    #[test]
    fn a_refused_command_is_told_from_a_broken_device() {
        let refused = |code| Failed { call: "clEnqueueNDRangeKernel", code }.is_refusal();
        assert!(refused(CL_INVALID_WORK_GROUP_SIZE) && refused(CL_MEM_OBJECT_ALLOCATION_FAILURE));
        assert!(!refused(CL_OUT_OF_RESOURCES), "NVIDIA's word for a fault");
        assert!(!refused(-9999), "another maker's word");
        let failed = Failed { call: "clCreateBuffer", code: CL_OUT_OF_RESOURCES };
        assert_eq!(failed.to_string(), "clCreateBuffer failed: CL_OUT_OF_RESOURCES (-5)");
        assert!(failed.is_memory());
    }
}
