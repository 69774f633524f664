//! Functions that no driver of this project calls. A drop-in replacement of AMD's library exports
//! them, since programs link against them.

/// Calls `callback!` with one row for each function that
/// [`for_each_function!`](crate::for_each_function) lacks, in the same form except for the first
/// word:
///
/// ```text
/// additional fn hsa_memory_free(ptr: *mut c_void) -> Status;
/// ```
///
/// Functions that Debian's 2022 library exports come first, then newer ones.
#[macro_export]
macro_rules! for_each_additional_function {
    ($($callback:tt)::+ $({ $($passed:tt)* })?) => {
        $($callback)::+! {
            $({ $($passed)* })?
            // System and agents
            additional fn hsa_agent_get_exception_policies(agent: Agent, profile: Profile, mask: *mut u16) -> Status;
            additional fn hsa_agent_major_extension_supported(
                extension: Extension, agent: Agent, version_major: u16, version_minor: *mut u16, result: *mut bool
            ) -> Status;
            additional fn hsa_amd_coherency_get_type(agent: Agent, kind: *mut CoherencyType) -> Status;
            additional fn hsa_extension_get_name(extension: Extension, name: *mut *const c_char) -> Status;
            additional fn hsa_system_get_extension_table(
                extension: Extension, version_major: u16, version_minor: u16, table: *mut c_void
            ) -> Status;
            // ISAs
            additional fn hsa_isa_compatible(code_object_isa: Isa, agent_isa: Isa, result: *mut bool) -> Status;
            additional fn hsa_isa_from_name(name: *const c_char, isa: *mut Isa) -> Status;
            additional fn hsa_isa_get_exception_policies(isa: Isa, profile: Profile, mask: *mut u16) -> Status;
            additional fn hsa_isa_get_info(isa: Isa, attribute: IsaInfo, index: u32, value: *mut c_void) -> Status;
            additional fn hsa_isa_get_round_method(
                isa: Isa, fp_type: FpType, flush_mode: FlushMode, round_method: *mut RoundMethod
            ) -> Status;
            additional fn hsa_isa_iterate_wavefronts(
                isa: Isa, callback: Option<WavefrontCallback>, data: *mut c_void
            ) -> Status;
            additional fn hsa_wavefront_get_info(
                wavefront: Wavefront, attribute: WavefrontInfo, value: *mut c_void
            ) -> Status;
            // Memory
            additional fn hsa_amd_deregister_deallocation_callback(
                ptr: *mut c_void, callback: Option<DeallocationCallback>
            ) -> Status;
            additional fn hsa_amd_memory_fill(ptr: *mut c_void, value: u32, count: usize) -> Status;
            additional fn hsa_amd_memory_migrate(ptr: *const c_void, memory_pool: MemoryPool, flags: u32) -> Status;
            additional fn hsa_amd_memory_pool_can_migrate(
                src_memory_pool: MemoryPool, dst_memory_pool: MemoryPool, result: *mut bool
            ) -> Status;
            additional fn hsa_amd_pointer_info_set_userdata(ptr: *const c_void, userdata: *mut c_void) -> Status;
            additional fn hsa_amd_register_deallocation_callback(
                ptr: *mut c_void, callback: Option<DeallocationCallback>, user_data: *mut c_void
            ) -> Status;
            additional fn hsa_memory_allocate(region: Region, size: usize, ptr: *mut *mut c_void) -> Status;
            additional fn hsa_memory_assign_agent(ptr: *mut c_void, agent: Agent, access: AccessPermission) -> Status;
            additional fn hsa_memory_free(ptr: *mut c_void) -> Status;
            // Signals and queues
            additional fn hsa_amd_async_function(callback: Option<AsyncFunction>, arg: *mut c_void) -> Status;
            additional fn hsa_amd_profiling_convert_tick_to_system_domain(
                agent: Agent, agent_tick: u64, system_tick: *mut u64
            ) -> Status;
            additional fn hsa_amd_queue_cu_get_mask(
                queue: *const Queue, num_cu_mask_count: u32, cu_mask: *mut u32
            ) -> Status;
            additional fn hsa_signal_group_create(
                num_signals: u32, signals: *const Signal, num_consumers: u32, consumers: *const Agent,
                signal_group: *mut SignalGroup
            ) -> Status;
            additional fn hsa_signal_group_destroy(signal_group: SignalGroup) -> Status;
            additional fn hsa_signal_group_wait_any_relaxed(
                signal_group: SignalGroup, conditions: *const SignalCondition, compare_values: *const SignalValue,
                wait_state_hint: WaitState, signal: *mut Signal, value: *mut SignalValue
            ) -> Status;
            additional fn hsa_signal_group_wait_any_scacquire(
                signal_group: SignalGroup, conditions: *const SignalCondition, compare_values: *const SignalValue,
                wait_state_hint: WaitState, signal: *mut Signal, value: *mut SignalValue
            ) -> Status;
            // Code objects of the legacy loader
            additional fn hsa_code_object_deserialize(
                serialized_code_object: *mut c_void, serialized_code_object_size: usize, options: *const c_char,
                code_object: *mut CodeObject
            ) -> Status;
            additional fn hsa_code_object_destroy(code_object: CodeObject) -> Status;
            additional fn hsa_code_object_get_info(
                code_object: CodeObject, attribute: CodeObjectInfo, value: *mut c_void
            ) -> Status;
            additional fn hsa_code_object_get_symbol(
                code_object: CodeObject, symbol_name: *const c_char, symbol: *mut CodeSymbol
            ) -> Status;
            additional fn hsa_code_object_get_symbol_from_name(
                code_object: CodeObject, module_name: *const c_char, symbol_name: *const c_char,
                symbol: *mut CodeSymbol
            ) -> Status;
            additional fn hsa_code_object_iterate_symbols(
                code_object: CodeObject, callback: Option<CodeSymbolCallback>, data: *mut c_void
            ) -> Status;
            additional fn hsa_code_object_serialize(
                code_object: CodeObject, alloc_callback: Option<SerializeAllocate>, callback_data: CallbackData,
                options: *const c_char, serialized_code_object: *mut *mut c_void,
                serialized_code_object_size: *mut usize
            ) -> Status;
            additional fn hsa_code_symbol_get_info(
                code_symbol: CodeSymbol, attribute: CodeSymbolInfo, value: *mut c_void
            ) -> Status;
            // Executables
            additional fn hsa_code_object_reader_create_from_file(
                file: c_int, code_object_reader: *mut CodeObjectReader
            ) -> Status;
            additional fn hsa_executable_create(
                profile: Profile, executable_state: ExecutableState, options: *const c_char,
                executable: *mut Executable
            ) -> Status;
            additional fn hsa_executable_get_info(
                executable: Executable, attribute: ExecutableInfo, value: *mut c_void
            ) -> Status;
            additional fn hsa_executable_get_symbol(
                executable: Executable, module_name: *const c_char, symbol_name: *const c_char, agent: Agent,
                call_convention: i32, symbol: *mut ExecutableSymbol
            ) -> Status;
            additional fn hsa_executable_global_variable_define(
                executable: Executable, variable_name: *const c_char, address: *mut c_void
            ) -> Status;
            additional fn hsa_executable_iterate_agent_symbols(
                executable: Executable, agent: Agent, callback: Option<AgentSymbolCallback>, data: *mut c_void
            ) -> Status;
            additional fn hsa_executable_iterate_program_symbols(
                executable: Executable, callback: Option<ExecutableSymbolCallback>, data: *mut c_void
            ) -> Status;
            additional fn hsa_executable_iterate_symbols(
                executable: Executable, callback: Option<ExecutableSymbolCallback>, data: *mut c_void
            ) -> Status;
            additional fn hsa_executable_load_code_object(
                executable: Executable, agent: Agent, code_object: CodeObject, options: *const c_char
            ) -> Status;
            additional fn hsa_executable_load_program_code_object(
                executable: Executable, code_object_reader: CodeObjectReader, options: *const c_char,
                loaded_code_object: *mut LoadedCodeObject
            ) -> Status;
            additional fn hsa_executable_readonly_variable_define(
                executable: Executable, agent: Agent, variable_name: *const c_char, address: *mut c_void
            ) -> Status;
            additional fn hsa_executable_validate(executable: Executable, result: *mut u32) -> Status;
            // Images
            additional fn hsa_amd_image_get_info_max_dim(agent: Agent, attribute: AgentInfo, value: *mut c_void) -> Status;
            additional fn hsa_ext_image_clear(
                agent: Agent, image: ExtImage, data: *const c_void, image_region: *const ImageRegion
            ) -> Status;
            additional fn hsa_ext_image_copy(
                agent: Agent, src_image: ExtImage, src_offset: *const Dim3, dst_image: ExtImage,
                dst_offset: *const Dim3, range: *const Dim3
            ) -> Status;
            additional fn hsa_ext_image_data_get_info_with_layout(
                agent: Agent, image_descriptor: *const ImageDescriptor, access_permission: AccessPermission,
                image_data_layout: ImageDataLayout, image_data_row_pitch: usize, image_data_slice_pitch: usize,
                image_data_info: *mut ImageDataInfo
            ) -> Status;
            additional fn hsa_ext_image_get_capability(
                agent: Agent, geometry: ImageGeometry, image_format: *const ImageFormat, capability_mask: *mut u32
            ) -> Status;
            additional fn hsa_ext_image_get_capability_with_layout(
                agent: Agent, geometry: ImageGeometry, image_format: *const ImageFormat,
                image_data_layout: ImageDataLayout, capability_mask: *mut u32
            ) -> Status;
            // Finalizers
            additional fn hsa_ext_program_add_module(program: ExtProgram, module: ExtModule) -> Status;
            additional fn hsa_ext_program_create(
                machine_model: MachineModel, profile: Profile, default_float_rounding_mode: FloatRoundingMode,
                options: *const c_char, program: *mut ExtProgram
            ) -> Status;
            additional fn hsa_ext_program_destroy(program: ExtProgram) -> Status;
            additional fn hsa_ext_program_finalize(
                program: ExtProgram, isa: Isa, call_convention: i32, control_directives: ControlDirectives,
                options: *const c_char, code_object_type: CodeObjectType, code_object: *mut CodeObject
            ) -> Status;
            additional fn hsa_ext_program_get_info(
                program: ExtProgram, attribute: ExtProgramInfo, value: *mut c_void
            ) -> Status;
            additional fn hsa_ext_program_iterate_modules(
                program: ExtProgram, callback: Option<ModuleCallback>, data: *mut c_void
            ) -> Status;
            // Newer than Debian's library
            additional fn hsa_amd_agent_set_async_scratch_limit(agent: Agent, threshold: usize) -> Status;
            additional fn hsa_amd_enable_logging(flags: *mut u8, file: *mut c_void) -> Status;
            additional fn hsa_amd_memory_async_copy_on_engine(
                dst: *mut c_void, dst_agent: Agent, src: *const c_void, src_agent: Agent, size: usize,
                num_dep_signals: u32, dep_signals: *const Signal, completion_signal: Signal, engine_id: u32,
                force_copy_on_sdma: bool
            ) -> Status;
            additional fn hsa_amd_memory_copy_engine_status(
                dst_agent: Agent, src_agent: Agent, engine_ids_mask: *mut u32
            ) -> Status;
            additional fn hsa_amd_spm_acquire(preferred_agent: Agent) -> Status;
            additional fn hsa_amd_spm_release(preferred_agent: Agent) -> Status;
            additional fn hsa_amd_spm_set_dest_buffer(
                preferred_agent: Agent, size_in_bytes: usize, timeout: *mut u32, size_copied: *mut u32,
                dest: *mut c_void, is_data_loss: *mut bool
            ) -> Status;
            additional fn hsa_amd_vmem_address_reserve(
                va: *mut *mut c_void, size: usize, address: u64, flags: u64
            ) -> Status;
            additional fn hsa_amd_vmem_export_shareable_handle(
                dmabuf_fd: *mut c_int, handle: VmemAllocHandle, flags: u64
            ) -> Status;
            additional fn hsa_amd_vmem_get_access(
                va: *mut c_void, perms: *mut AccessPermission, agent_handle: Agent
            ) -> Status;
            additional fn hsa_amd_vmem_get_alloc_properties_from_handle(
                memory_handle: VmemAllocHandle, pool: *mut MemoryPool, kind: *mut MemoryType
            ) -> Status;
            additional fn hsa_amd_vmem_import_shareable_handle(
                dmabuf_fd: c_int, handle: *mut VmemAllocHandle
            ) -> Status;
            additional fn hsa_amd_vmem_retain_alloc_handle(
                memory_handle: *mut VmemAllocHandle, addr: *mut c_void
            ) -> Status;
        }
    };
}

/// Calls `callback!` with one row for each older name of a function: `hsa_signal_load_acquire =
/// hsa_signal_load_scacquire;`. Both names have one prototype.
#[macro_export]
macro_rules! for_each_old_name {
    ($($callback:tt)::+) => {
        $($callback)::+! {
            hsa_queue_add_write_index_acq_rel = hsa_queue_add_write_index_scacq_screl;
            hsa_queue_add_write_index_acquire = hsa_queue_add_write_index_scacquire;
            hsa_queue_add_write_index_release = hsa_queue_add_write_index_screlease;
            hsa_queue_cas_write_index_acq_rel = hsa_queue_cas_write_index_scacq_screl;
            hsa_queue_cas_write_index_acquire = hsa_queue_cas_write_index_scacquire;
            hsa_queue_cas_write_index_release = hsa_queue_cas_write_index_screlease;
            hsa_queue_load_read_index_acquire = hsa_queue_load_read_index_scacquire;
            hsa_queue_load_write_index_acquire = hsa_queue_load_write_index_scacquire;
            hsa_queue_store_read_index_release = hsa_queue_store_read_index_screlease;
            hsa_queue_store_write_index_release = hsa_queue_store_write_index_screlease;
            hsa_signal_add_acq_rel = hsa_signal_add_scacq_screl;
            hsa_signal_add_acquire = hsa_signal_add_scacquire;
            hsa_signal_add_release = hsa_signal_add_screlease;
            hsa_signal_and_acq_rel = hsa_signal_and_scacq_screl;
            hsa_signal_and_acquire = hsa_signal_and_scacquire;
            hsa_signal_and_release = hsa_signal_and_screlease;
            hsa_signal_cas_acq_rel = hsa_signal_cas_scacq_screl;
            hsa_signal_cas_acquire = hsa_signal_cas_scacquire;
            hsa_signal_cas_release = hsa_signal_cas_screlease;
            hsa_signal_exchange_acq_rel = hsa_signal_exchange_scacq_screl;
            hsa_signal_exchange_acquire = hsa_signal_exchange_scacquire;
            hsa_signal_exchange_release = hsa_signal_exchange_screlease;
            hsa_signal_load_acquire = hsa_signal_load_scacquire;
            hsa_signal_or_acq_rel = hsa_signal_or_scacq_screl;
            hsa_signal_or_acquire = hsa_signal_or_scacquire;
            hsa_signal_or_release = hsa_signal_or_screlease;
            hsa_signal_store_release = hsa_signal_store_screlease;
            hsa_signal_subtract_acq_rel = hsa_signal_subtract_scacq_screl;
            hsa_signal_subtract_acquire = hsa_signal_subtract_scacquire;
            hsa_signal_subtract_release = hsa_signal_subtract_screlease;
            hsa_signal_wait_acquire = hsa_signal_wait_scacquire;
            hsa_signal_xor_acq_rel = hsa_signal_xor_scacq_screl;
            hsa_signal_xor_acquire = hsa_signal_xor_scacquire;
            hsa_signal_xor_release = hsa_signal_xor_screlease;
        }
    };
}
