//! Questions through the C interface, with a look at how many bytes each answer writes.

use std::ffi::c_void;
use std::sync::Once;

use roci_emu::Chip;
use roci_emu_hsa::{Config, provide};
use roci_hsa::Api;
use roci_hsa::abi::{Agent, Status, Table};

/// More than every answer has.
const ROOM: usize = 1024;

/// The runtime, in use for as long as this lives.
pub(crate) struct Client {
    pub(crate) api: Api,
}

impl Client {
    /// With an RX 5700 XT and a Strix Halo.
    pub(crate) fn new() -> Self {
        static PROVIDED: Once = Once::new();
        PROVIDED.call_once(|| provide(Config::new(vec![Chip::Gfx1010, Chip::Gfx1151])));
        let api = roci_emu_hsa::api();
        // SAFETY: it can be called at any time.
        assert_eq!(unsafe { (api.hsa_init)() }, Status::SUCCESS);
        Self { api }
    }

    /// The CPU, then the GPUs.
    pub(crate) fn agents(&self) -> Vec<Agent> {
        // SAFETY: the callback is for agents, and the list outlives the call.
        let (status, agents) = list(|callback, data| unsafe { (self.api.hsa_iterate_agents)(Some(callback), data) });
        assert_eq!(status, Status::SUCCESS);
        agents
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: it was initialised.
        unsafe { (self.api.hsa_shut_down)() };
    }
}

type Callback<T> = unsafe extern "C" fn(T, *mut c_void) -> Status;

/// Everything that an iteration gives.
pub(crate) fn list<T>(call: impl FnOnce(Callback<T>, *mut c_void) -> Status) -> (Status, Vec<T>) {
    unsafe extern "C" fn push<T>(item: T, data: *mut c_void) -> Status {
        // SAFETY: `list` gives its list, and waits.
        unsafe { &mut *data.cast::<Vec<T>>() }.push(item);
        Status::SUCCESS
    }
    let mut items: Vec<T> = Vec::new();
    let status = call(push::<T>, (&raw mut items).cast());
    (status, items)
}

/// How often a callback is called that ends the iteration with a status, and what the iteration then returns.
pub(crate) fn broken<T>(with: Status, call: impl FnOnce(Callback<T>, *mut c_void) -> Status) -> (Status, usize) {
    struct State {
        with: Status,
        count: usize,
    }
    unsafe extern "C" fn end<T>(_: T, data: *mut c_void) -> Status {
        // SAFETY: `broken` gives its state, and waits.
        let state = unsafe { &mut *data.cast::<State>() };
        state.count += 1;
        state.with
    }
    let mut state = State { with, count: 0 };
    let status = call(end::<T>, (&raw mut state).cast());
    (status, state.count)
}

/// The bytes of an answer, if there is one. It is asked for twice, into room of different contents: what is unlike either was
/// written.
pub(crate) fn ask(call: impl Fn(*mut c_void) -> Status) -> Result<Vec<u8>, Status> {
    let mut rooms = [[0xaa_u8; ROOM], [0x55; ROOM]];
    for room in &mut rooms {
        let status = call(room.as_mut_ptr().cast());
        if status != Status::SUCCESS {
            let fills = [0xaa, 0x55];
            assert!(room.iter().all(|byte| fills.contains(byte)), "a refusal writes nothing");
            return Err(status);
        }
    }
    let written = (0..ROOM).rev().find(|&at| rooms[0][at] != 0xaa || rooms[1][at] != 0x55);
    Ok(rooms[0][..written.map_or(0, |at| at + 1)].to_vec())
}

/// A number of four bytes.
pub(crate) fn number(answer: Result<Vec<u8>, Status>) -> u32 {
    u32::from_ne_bytes(answer.expect("an answer").try_into().expect("four bytes"))
}

/// Text up to its zero.
pub(crate) fn text(answer: Result<Vec<u8>, Status>) -> String {
    let bytes = answer.expect("an answer");
    let end = bytes.iter().position(|byte| *byte == 0).expect("a zero");
    String::from_utf8(bytes[..end].to_vec()).expect("text")
}

/// Checks that each attribute of a table but some is answered with as many bytes as its description says.
pub(crate) fn sizes(table: Table, but: &[u32], call: impl Fn(u32) -> Result<Vec<u8>, Status>) {
    for constant in table.constants {
        let attribute = u32::try_from(constant.value).expect("attributes have 32 bits");
        let want = match but.contains(&attribute) {
            true => Err(Status::ERROR_INVALID_ARGUMENT),
            false => Ok(size(constant.meaning)),
        };
        assert_eq!(call(attribute).map(|bytes| bytes.len()), want, "{}: {}", constant.name, constant.meaning);
    }
    assert_eq!(call(0xffff), Err(Status::ERROR_INVALID_ARGUMENT));
}

/// Bytes of the type that a description begins with.
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
        // All other names are those of enumerations.
        _ if meaning.starts_with("[`") => 4,
        _ => panic!("no size is known for {meaning:?}"),
    }
}
