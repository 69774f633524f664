//! Queries through the C interface that check how many bytes each attribute writes.

use std::ffi::c_void;
use std::sync::Once;

use roci_emu::Chip;
use roci_emu_hsa::{Config, provide};
use roci_hsa::Api;
use roci_hsa::abi::{Agent, ConstantTable, Status};

/// Larger than every attribute.
const BUFFER_SIZE: usize = 1024;

/// An initialized runtime, shut down on drop.
pub(crate) struct Client {
    pub(crate) api: Api,
}

impl Client {
    /// With an RX 5700 XT and a Strix Halo.
    pub(crate) fn new() -> Self {
        static PROVIDED: Once = Once::new();
        PROVIDED.call_once(|| provide(Config::new(vec![Chip::Gfx1010, Chip::Gfx1151])));
        let api = roci_emu_hsa::api();
        // SAFETY: no preconditions.
        assert_eq!(unsafe { (api.hsa_init)() }, Status::SUCCESS);
        Self { api }
    }

    /// The CPU, then the GPUs.
    pub(crate) fn agents(&self) -> Vec<Agent> {
        // SAFETY: the callback has the type of the function, and the list outlives the call.
        let (status, agents) = list(|callback, data| unsafe { (self.api.hsa_iterate_agents)(Some(callback), data) });
        assert_eq!(status, Status::SUCCESS);
        agents
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: `new` initialized the runtime.
        unsafe { (self.api.hsa_shut_down)() };
    }
}

type Callback<T> = unsafe extern "C" fn(T, *mut c_void) -> Status;

/// All items of an iteration.
pub(crate) fn list<T>(call: impl FnOnce(Callback<T>, *mut c_void) -> Status) -> (Status, Vec<T>) {
    unsafe extern "C" fn push<T>(item: T, data: *mut c_void) -> Status {
        // SAFETY: the data is the list of `list`, which outlives the call.
        unsafe { &mut *data.cast::<Vec<T>>() }.push(item);
        Status::SUCCESS
    }
    let mut items: Vec<T> = Vec::new();
    let status = call(push::<T>, (&raw mut items).cast());
    (status, items)
}

/// How often a callback is called that fails with a status, and the result of the iteration.
pub(crate) fn broken<T>(with: Status, call: impl FnOnce(Callback<T>, *mut c_void) -> Status) -> (Status, usize) {
    struct State {
        with: Status,
        count: usize,
    }
    unsafe extern "C" fn end<T>(_: T, data: *mut c_void) -> Status {
        // SAFETY: the data is the state of `broken`, which outlives the call.
        let state = unsafe { &mut *data.cast::<State>() };
        state.count += 1;
        state.with
    }
    let mut state = State { with, count: 0 };
    let status = call(end::<T>, (&raw mut state).cast());
    (status, state.count)
}

/// Bytes that an attribute writes. It is queried twice into buffers of different contents: bytes
/// that differ from both were written.
pub(crate) fn ask(call: impl Fn(*mut c_void) -> Status) -> Result<Vec<u8>, Status> {
    let mut buffers = [[0xaa_u8; BUFFER_SIZE], [0x55; BUFFER_SIZE]];
    for buffer in &mut buffers {
        let status = call(buffer.as_mut_ptr().cast());
        if status != Status::SUCCESS {
            let fills = [0xaa, 0x55];
            assert!(buffer.iter().all(|byte| fills.contains(byte)), "a failed query writes nothing");
            return Err(status);
        }
    }
    let written = (0..BUFFER_SIZE).rev().find(|&at| buffers[0][at] != 0xaa || buffers[1][at] != 0x55);
    Ok(buffers[0][..written.map_or(0, |at| at + 1)].to_vec())
}

/// Reads a 32-bit number.
pub(crate) fn as_u32(answer: Result<Vec<u8>, Status>) -> u32 {
    u32::from_ne_bytes(answer.expect("an answer").try_into().expect("four bytes"))
}

/// String up to its NUL.
pub(crate) fn text(answer: Result<Vec<u8>, Status>) -> String {
    let bytes = answer.expect("an answer");
    let end = bytes.iter().position(|byte| *byte == 0).expect("a zero");
    String::from_utf8(bytes[..end].to_vec()).expect("text")
}

/// Checks that each attribute of a table, with exceptions, writes as many bytes as its description
/// says.
pub(crate) fn sizes(table: ConstantTable, but: &[u32], call: impl Fn(u32) -> Result<Vec<u8>, Status>) {
    for constant in table.constants {
        let attribute = u32::try_from(constant.value).expect("attributes have 32 bits");
        let expected = match but.contains(&attribute) {
            true => Err(Status::ERROR_INVALID_ARGUMENT),
            false => Ok(size(constant.meaning)),
        };
        assert_eq!(call(attribute).map(|bytes| bytes.len()), expected, "{}: {}", constant.name, constant.meaning);
    }
    assert_eq!(call(0xffff), Err(Status::ERROR_INVALID_ARGUMENT));
}

/// Size of the type at the start of a description.
fn size(meaning: &str) -> usize {
    let start = meaning.split(':').next().expect("there is always a first part");
    match start {
        "`bool`" | "`u8`" => 1,
        "`u16`" => 2,
        "`u32`" => 4,
        "`u64`" | "`usize`" | "`const char *`" | "`void *`" => 8,
        "`[bool; 2]`" => 2,
        "`[bool; 3]`" => 3,
        "`[u8; 8]`" | "`[u32; 2]`" => 8,
        "`[u8; 128]`" => 128,
        "`[u16; 3]`" => 6,
        "`[u32; 3]`" => 12,
        "`[u32; 4]`" => 16,
        "`char[21]`" => 21,
        "`char[64]`" => 64,
        "four `u64`" => 32,
        _ if meaning.starts_with("[`Dim3`]") => 12,
        _ if meaning.starts_with("[`HdpFlush`]") => 16,
        _ if meaning.starts_with("[`Agent`]") || meaning.starts_with("[`Isa`]") => 8,
        // All other types are enumerations.
        _ if meaning.starts_with("[`") => 4,
        _ => panic!("no size is known for {meaning:?}"),
    }
}
