//! Instruction sets and their wavefronts. What they answer is in `topology`.

use roci_hsa::abi::*;

use super::agents::{answer, known};
use super::{put, text, with};
use crate::topology::{self, Properties};

/// Whether there is such an instruction set.
fn check(isa: Isa) -> Result<(), Status> {
    topology::isa(isa, IsaInfo::NAME).map(drop).ok_or(Status::ERROR_INVALID_ISA)
}

pub(crate) unsafe extern "C" fn hsa_isa_get_info_alt(isa: Isa, attribute: IsaInfo, value: *mut c_void) -> Status {
    with(|_| {
        if value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = topology::isa(isa, attribute).ok_or(Status::ERROR_INVALID_ISA)?;
        // SAFETY: the client's pointer is good for what the attribute answers.
        unsafe { answer(value, found) }
    })
}

/// The older form has the number of a call convention, of which there is one.
pub(crate) unsafe extern "C" fn hsa_isa_get_info(
    isa: Isa,
    attribute: IsaInfo,
    index: u32,
    value: *mut c_void,
) -> Status {
    let first = with(|_| match index {
        _ if value.is_null() => Err(Status::ERROR_INVALID_ARGUMENT),
        0 => Ok(()),
        _ => Err(Status::ERROR_INVALID_INDEX),
    });
    if first != Status::SUCCESS {
        return first;
    }
    // SAFETY: the same promises.
    unsafe { hsa_isa_get_info_alt(isa, attribute, value) }
}

pub(crate) unsafe extern "C" fn hsa_isa_from_name(name: *const c_char, isa: *mut Isa) -> Status {
    with(|_| {
        if isa.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client's text.
        let name = unsafe { text(name) }?;
        let found = name.as_deref().and_then(topology::isa_of_name).ok_or(Status::ERROR_INVALID_ISA_NAME)?;
        // SAFETY: the client's place for it.
        unsafe { put(isa, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_isa_compatible(code_object_isa: Isa, agent_isa: Isa, result: *mut bool) -> Status {
    with(|_| {
        if result.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = topology::compatible(code_object_isa, agent_isa).ok_or(Status::ERROR_INVALID_ISA)?;
        // SAFETY: the client's place for it.
        unsafe { put(result, found) }
    })
}

/// No exception of arithmetic stops or marks anything on these chips under this interface.
const NO_POLICIES: u16 = 0;

pub(crate) unsafe extern "C" fn hsa_isa_get_exception_policies(isa: Isa, profile: Profile, mask: *mut u16) -> Status {
    with(|_| {
        if profile.name().is_none() || mask.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        check(isa)?;
        // SAFETY: the client's place for it.
        unsafe { put(mask, NO_POLICIES) }
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_get_exception_policies(
    agent: Agent,
    profile: Profile,
    mask: *mut u16,
) -> Status {
    with(|runtime| {
        if profile.name().is_none() || mask.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        known(runtime, agent)?;
        // SAFETY: the client's place for it.
        unsafe { put(mask, NO_POLICIES) }
    })
}

pub(crate) unsafe extern "C" fn hsa_isa_get_round_method(
    isa: Isa,
    fp_type: FpType,
    flush_mode: FlushMode,
    round_method: *mut RoundMethod,
) -> Status {
    with(|_| {
        if fp_type.name().is_none() || flush_mode.name().is_none() || round_method.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        check(isa)?;
        // SAFETY: the client's place for it.
        unsafe { put(round_method, RoundMethod::SINGLE) }
    })
}

/// Waves of every chip here are of one kind, whose handle is its instruction set's.
pub(crate) unsafe extern "C" fn hsa_isa_iterate_wavefronts(
    isa: Isa,
    callback: Option<WavefrontCallback>,
    data: *mut c_void,
) -> Status {
    with(|_| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        check(isa)?;
        // SAFETY: the client gave both to be called so.
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
    with(|_| {
        if value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        check(Isa { handle: wavefront.handle }).map_err(|_| Status::ERROR_INVALID_WAVEFRONT)?;
        let lanes = (attribute == WavefrontInfo::SIZE).then(|| Properties::WAVE.into());
        // SAFETY: the client's pointer is good for what the attribute answers.
        unsafe { answer(value, lanes) }
    })
}
