//! OpenCL errors, and their conversion to errors of the HAL.

use cl3::error_codes::error_text;
use roci_hal::Error;

/// A failed OpenCL call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed: {} ({code})", error_text(*code))]
pub(crate) struct ClError {
    /// Name of the OpenCL function.
    pub(crate) call: &'static str,
    /// The returned error code.
    pub(crate) code: i32,
}

/// Returns a function that wraps an error code with the name of the call.
pub(crate) fn cl_error(call: &'static str) -> impl Fn(i32) -> ClError {
    move |code| ClError { call, code }
}

impl ClError {
    /// Whether the driver reports a lack of memory, which may not be the true cause.
    pub(crate) fn is_out_of_memory(self) -> bool {
        use cl3::error_codes::{
            CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES,
        };
        [CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES]
            .contains(&self.code)
    }

    /// Whether a failure to enqueue leaves the device usable: the arguments were rejected, or
    /// memory for them was lacking.
    pub(crate) fn is_rejection(self) -> bool {
        use cl3::error_codes::{CL_INVALID_VALUE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY};
        // Codes of invalid arguments continue below the first of them; extensions begin at -1000.
        let invalid = self.code <= CL_INVALID_VALUE && self.code > -1000;
        invalid || [CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY].contains(&self.code)
    }

    /// Converts to an unavailability error.
    pub(crate) fn unavailable(self, what: &str) -> Error {
        unavailable(what, self, "`roci devices` shows what each driver finds")
    }
}

/// An error for an unavailable part of OpenCL.
pub(crate) fn unavailable(what: &str, reason: impl std::fmt::Display, hint: &str) -> Error {
    Error::Unavailable { what: what.to_owned(), reason: reason.to_string(), hint: hint.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cl3::error_codes::{CL_INVALID_WORK_GROUP_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES};

    #[test]
    fn rejected_commands_do_not_lose_the_device() {
        let rejected = |code| ClError { call: "clEnqueueNDRangeKernel", code }.is_rejection();
        assert!(rejected(CL_INVALID_WORK_GROUP_SIZE) && rejected(CL_MEM_OBJECT_ALLOCATION_FAILURE));
        assert!(!rejected(CL_OUT_OF_RESOURCES), "NVIDIA's code for a fault");
        assert!(!rejected(-9999), "another vendor's code");
        let failed = ClError { call: "clCreateBuffer", code: CL_OUT_OF_RESOURCES };
        assert_eq!(failed.to_string(), "clCreateBuffer failed: CL_OUT_OF_RESOURCES (-5)");
        assert!(failed.is_out_of_memory());
    }
}
