//! ISAs and their wavefronts. `topology` has the attributes.

use roci_hsa::abi::*;

use super::arguments::{c_string, gpu_or_cpu, put, put_attribute};
use super::with_runtime;
use crate::chips::Properties;
use crate::topology;

/// An error if the handle is invalid.
fn check(isa: Isa) -> Result<(), Status> {
    topology::isa_info(isa, IsaInfo::NAME).map(drop).ok_or(Status::ERROR_INVALID_ISA)
}

pub(crate) unsafe extern "C" fn hsa_isa_get_info_alt(isa: Isa, attribute: IsaInfo, value: *mut c_void) -> Status {
    with_runtime(|_| {
        if value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = topology::isa_info(isa, attribute).ok_or(Status::ERROR_INVALID_ISA)?;
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, found) }
    })
}

/// Older form with the index of a call convention, of which there is one.
pub(crate) unsafe extern "C" fn hsa_isa_get_info(
    isa: Isa,
    attribute: IsaInfo,
    index: u32,
    value: *mut c_void,
) -> Status {
    let checked = with_runtime(|_| match index {
        _ if value.is_null() => Err(Status::ERROR_INVALID_ARGUMENT),
        0 => Ok(()),
        _ => Err(Status::ERROR_INVALID_INDEX),
    });
    if checked != Status::SUCCESS {
        return checked;
    }
    // SAFETY: all arguments are passed on unchanged.
    unsafe { hsa_isa_get_info_alt(isa, attribute, value) }
}

pub(crate) unsafe extern "C" fn hsa_isa_from_name(name: *const c_char, isa: *mut Isa) -> Status {
    with_runtime(|_| {
        if isa.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes null or NUL-terminated strings.
        let name = unsafe { c_string(name) }?;
        let found = name.as_deref().and_then(topology::isa_from_name).ok_or(Status::ERROR_INVALID_ISA_NAME)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(isa, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_isa_compatible(code_object_isa: Isa, agent_isa: Isa, result: *mut bool) -> Status {
    with_runtime(|_| {
        if result.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = topology::compatible(code_object_isa, agent_isa).ok_or(Status::ERROR_INVALID_ISA)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(result, found) }
    })
}

/// Arithmetic exceptions neither break nor set a flag in HSA on these chips.
const NO_POLICIES: u16 = 0;

pub(crate) unsafe extern "C" fn hsa_isa_get_exception_policies(isa: Isa, profile: Profile, mask: *mut u16) -> Status {
    with_runtime(|_| {
        if profile.name().is_none() || mask.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        check(isa)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(mask, NO_POLICIES) }
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_get_exception_policies(
    agent: Agent,
    profile: Profile,
    mask: *mut u16,
) -> Status {
    with_runtime(|runtime| {
        if profile.name().is_none() || mask.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        gpu_or_cpu(runtime, agent)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(mask, NO_POLICIES) }
    })
}

pub(crate) unsafe extern "C" fn hsa_isa_get_round_method(
    isa: Isa,
    fp_type: FpType,
    flush_mode: FlushMode,
    round_method: *mut RoundMethod,
) -> Status {
    with_runtime(|_| {
        if fp_type.name().is_none() || flush_mode.name().is_none() || round_method.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        check(isa)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(round_method, RoundMethod::SINGLE) }
    })
}

/// Every ISA has one wavefront kind, whose handle is that of the ISA.
pub(crate) unsafe extern "C" fn hsa_isa_iterate_wavefronts(
    isa: Isa,
    callback: Option<WavefrontCallback>,
    data: *mut c_void,
) -> Status {
    with_runtime(|_| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        check(isa)?;
        // SAFETY: the client passes the callback to be called with this data.
        match unsafe { callback(Wavefront { handle: isa.handle }, data) } {
            Status::SUCCESS => Ok(()),
            status => Err(status),
        }
    })
}

pub(crate) unsafe extern "C" fn hsa_wavefront_get_info(
    wavefront: Wavefront,
    attribute: WavefrontInfo,
    value: *mut c_void,
) -> Status {
    with_runtime(|_| {
        if value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        check(Isa { handle: wavefront.handle }).map_err(|_| Status::ERROR_INVALID_WAVEFRONT)?;
        let size = (attribute == WavefrontInfo::SIZE).then(|| Properties::WAVE_SIZE.into());
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, size) }
    })
}
