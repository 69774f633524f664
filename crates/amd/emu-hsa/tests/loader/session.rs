//! The C interface as tests use it.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};

use roci_emu::Chip;
use roci_emu_hsa::Config;
use roci_hsa::Api;
use roci_hsa::abi::{ExecutableSymbolInfo as Info, LoadedCodeObjectInfo as LoadedInfo, *};

const CHIPS: [Chip; 3] = [Chip::Gfx1010, Chip::Gfx1013, Chip::Gfx1100];

/// Initialized runtime of one test.
pub(crate) struct Session {
    pub(crate) api: Api,
    pub(crate) loader: LoaderTable1_03,
    /// The CPU, then the GPUs.
    pub(crate) agents: Vec<Agent>,
    /// Tests run one at a time, since they count all loaded code.
    _lock: MutexGuard<'static, ()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: no object of the runtime is used after this.
        let status = unsafe { (self.api.hsa_shut_down)() };
        assert_eq!(status, Status::SUCCESS);
    }
}

pub(crate) fn check(status: Status) -> Result<(), Status> {
    if status == Status::SUCCESS { Ok(()) } else { Err(status) }
}

/// Returns a value that a function writes.
pub(crate) fn out<T>(call: impl FnOnce(*mut T) -> Status) -> Result<T, Status> {
    let mut value = MaybeUninit::uninit();
    check(call(value.as_mut_ptr()))?;
    // SAFETY: a successful function has written the value.
    Ok(unsafe { value.assume_init() })
}

pub(crate) unsafe extern "C" fn collect<T>(value: T, data: *mut c_void) -> Status {
    // SAFETY: the data is the list of the iteration.
    unsafe { &mut *data.cast::<Vec<T>>() }.push(value);
    Status::SUCCESS
}

impl Session {
    pub(crate) fn new() -> Self {
        static TEST_LOCK: Mutex<()> = Mutex::new(());
        let turn = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        roci_emu_hsa::provide(Config { threads: Some(1), ..Config::new(CHIPS.to_vec()) });
        let api = roci_emu_hsa::api();
        // SAFETY: no arguments.
        check(unsafe { (api.hsa_init)() }).expect("the runtime starts");
        let mut agents: Vec<Agent> = Vec::new();
        // SAFETY: the list outlives the call.
        let status = unsafe { (api.hsa_iterate_agents)(Some(collect::<Agent>), (&raw mut agents).cast()) };
        check(status).expect("there are agents");
        let mut loader = LoaderTable1_03::default();
        let size = size_of_val(&loader);
        // SAFETY: the size is that of the table.
        let status = unsafe {
            (api.hsa_system_get_major_extension_table)(Extension::AMD_LOADER, 1, size, (&raw mut loader).cast())
        };
        check(status).expect("the extension is supported");
        Self { api, loader, agents, _lock: turn }
    }

    pub(crate) fn gpu(&self, chip: Chip) -> Agent {
        let index = CHIPS.iter().position(|one| *one == chip).expect("one of the session's chips");
        self.agents[1 + index]
    }

    pub(crate) fn reader(&self, bytes: &[u8]) -> Result<CodeObjectReader, Status> {
        // SAFETY: the length is that of the bytes.
        out(|reader| unsafe {
            (self.api.hsa_code_object_reader_create_from_memory)(bytes.as_ptr().cast(), bytes.len(), reader)
        })
    }

    pub(crate) fn destroy_reader(&self, reader: CodeObjectReader) -> Result<(), Status> {
        // SAFETY: any handle is allowed.
        check(unsafe { (self.api.hsa_code_object_reader_destroy)(reader) })
    }

    pub(crate) fn executable(&self) -> Executable {
        let (profile, rounding) = (Profile::BASE, FloatRoundingMode::DEFAULT);
        // SAFETY: the result is valid for the write.
        let created =
            out(|to| unsafe { (self.api.hsa_executable_create_alt)(profile, rounding, std::ptr::null(), to) });
        created.expect("it can be created")
    }

    pub(crate) fn destroy(&self, executable: Executable) -> Result<(), Status> {
        // SAFETY: any handle is allowed.
        check(unsafe { (self.api.hsa_executable_destroy)(executable) })
    }

    pub(crate) fn load_from(
        &self,
        executable: Executable,
        agent: Agent,
        reader: CodeObjectReader,
    ) -> Result<LoadedCodeObject, Status> {
        // SAFETY: the result is valid for the write.
        out(|loaded| unsafe {
            (self.api.hsa_executable_load_agent_code_object)(executable, agent, reader, std::ptr::null(), loaded)
        })
    }

    pub(crate) fn load(&self, executable: Executable, agent: Agent, bytes: &[u8]) -> Result<LoadedCodeObject, Status> {
        let reader = self.reader(bytes)?;
        let loaded = self.load_from(executable, agent, reader);
        self.destroy_reader(reader)?;
        loaded
    }

    pub(crate) fn define(&self, executable: Executable, agent: Agent, name: &str, address: u64) -> Result<(), Status> {
        let name = CString::new(name).expect("no NUL");
        let address = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: the name is NUL-terminated; the address is not accessed here.
        check(unsafe {
            (self.api.hsa_executable_agent_global_variable_define)(executable, agent, name.as_ptr(), address)
        })
    }

    pub(crate) fn freeze(&self, executable: Executable) -> Result<(), Status> {
        // SAFETY: null options are allowed.
        check(unsafe { (self.api.hsa_executable_freeze)(executable, std::ptr::null()) })
    }

    pub(crate) fn symbol(
        &self,
        executable: Executable,
        agent: Option<Agent>,
        name: &str,
    ) -> Result<ExecutableSymbol, Status> {
        let name = CString::new(name).expect("no NUL");
        let agent = agent.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the name is NUL-terminated, the agent may be null, and the result is valid for
        // the write.
        out(|to| unsafe { (self.api.hsa_executable_get_symbol_by_name)(executable, name.as_ptr(), agent, to) })
    }

    pub(crate) fn info<T>(&self, symbol: ExecutableSymbol, attribute: Info) -> Result<T, Status> {
        // SAFETY: callers pass the type of the attribute.
        out(|to: *mut T| unsafe { (self.api.hsa_executable_symbol_get_info)(symbol, attribute, to.cast()) })
    }

    pub(crate) fn name(&self, symbol: ExecutableSymbol) -> String {
        let length: u32 = self.info(symbol, Info::NAME_LENGTH).expect("it has a name");
        let mut name = vec![0xff_u8; length as usize + 1];
        // SAFETY: the buffer has the length of the name.
        let status = unsafe { (self.api.hsa_executable_symbol_get_info)(symbol, Info::NAME, name.as_mut_ptr().cast()) };
        assert_eq!((status, name.pop()), (Status::SUCCESS, Some(0xff)), "the name ends where it says");
        String::from_utf8(name).expect("valid UTF-8")
    }

    pub(crate) fn loaded_info<T>(&self, loaded: LoadedCodeObject, attribute: LoadedInfo) -> Result<T, Status> {
        let function = self.loader.loaded_code_object_get_info.expect("the table has the function");
        // SAFETY: callers pass the type of the attribute.
        out(|to: *mut T| unsafe { function(loaded, attribute, to.cast()) })
    }

    pub(crate) fn uri(&self, loaded: LoadedCodeObject) -> String {
        let function = self.loader.loaded_code_object_get_info.expect("the table has the function");
        let length: u32 = self.loaded_info(loaded, LoadedInfo::URI_LENGTH).expect("it has one");
        let mut uri = vec![0_u8; length as usize];
        // SAFETY: the buffer has the length of the attribute.
        check(unsafe { function(loaded, LoadedInfo::URI, uri.as_mut_ptr().cast()) }).expect("it has one");
        String::from_utf8(uri).expect("valid UTF-8")
    }

    pub(crate) fn descriptors(&self) -> Vec<SegmentDescriptor> {
        let function = self.loader.query_segment_descriptors.expect("the table has the function");
        let mut count = 0;
        // SAFETY: a null array queries the count.
        check(unsafe { function(std::ptr::null_mut(), &raw mut count) }).expect("a count");
        let mut descriptors = Vec::with_capacity(count);
        if count > 0 {
            // SAFETY: the array has that many elements.
            check(unsafe { function(descriptors.as_mut_ptr(), &raw mut count) }).expect("the count is right");
            // SAFETY: the function has written all elements.
            unsafe { descriptors.set_len(count) };
        }
        descriptors
    }
}
