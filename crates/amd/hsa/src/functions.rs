//! The 141 functions that clients of the HSA runtime import (compute runtimes, HIP, rocminfo).

/// Calls `callback!` with one row for each function of the C API, in the form
///
/// ```text
/// required fn hsa_agent_get_info(agent: Agent, attribute: AgentInfo, value: *mut c_void) -> Status;
/// optional fn hsa_amd_vmem_unmap(va: *mut c_void, size: usize) -> Status;
/// ```
///
/// Every row has a result (`-> ()` for `void`). Drivers need the required functions. A library may
/// lack the optional ones, which concern images or are newer than the oldest library in use. Types
/// are those of [`abi`](crate::abi), which the caller imports. The callback is a macro by name or
/// path; tokens in braces after it are passed in braces before the rows:
/// `for_each_function!(callback { anything })`.
#[macro_export]
macro_rules! for_each_function {
    ($($callback:tt)::+ $({ $($passed:tt)* })?) => {
        $($callback)::+! {
            $({ $($passed)* })?
            // Initialization and the system
            required fn hsa_amd_register_system_event_handler(
                callback: Option<SystemEventCallback>, data: *mut c_void
            ) -> Status;
            required fn hsa_init() -> Status;
            required fn hsa_shut_down() -> Status;
            required fn hsa_status_string(status: Status, status_string: *mut *const c_char) -> Status;
            required fn hsa_system_extension_supported(
                extension: Extension, version_major: u16, version_minor: u16, result: *mut bool
            ) -> Status;
            required fn hsa_system_get_info(attribute: SystemInfo, value: *mut c_void) -> Status;
            required fn hsa_system_get_major_extension_table(
                extension: Extension, version_major: u16, table_length: usize, table: *mut c_void
            ) -> Status;
            required fn hsa_system_major_extension_supported(
                extension: Extension, version_major: u16, version_minor: *mut u16, result: *mut bool
            ) -> Status;
            // Agents, caches and ISAs
            required fn hsa_agent_extension_supported(
                extension: Extension, agent: Agent, version_major: u16, version_minor: u16, result: *mut bool
            ) -> Status;
            required fn hsa_agent_get_info(agent: Agent, attribute: AgentInfo, value: *mut c_void) -> Status;
            required fn hsa_agent_iterate_caches(
                agent: Agent, callback: Option<CacheCallback>, data: *mut c_void
            ) -> Status;
            required fn hsa_agent_iterate_isas(
                agent: Agent, callback: Option<IsaCallback>, data: *mut c_void
            ) -> Status;
            required fn hsa_agent_iterate_regions(
                agent: Agent, callback: Option<RegionCallback>, data: *mut c_void
            ) -> Status;
            required fn hsa_amd_agent_iterate_memory_pools(
                agent: Agent, callback: Option<MemoryPoolCallback>, data: *mut c_void
            ) -> Status;
            required fn hsa_amd_agent_memory_pool_get_info(
                agent: Agent, memory_pool: MemoryPool, attribute: AgentMemoryPoolInfo, value: *mut c_void
            ) -> Status;
            required fn hsa_amd_coherency_set_type(agent: Agent, kind: CoherencyType) -> Status;
            required fn hsa_cache_get_info(cache: Cache, attribute: CacheInfo, value: *mut c_void) -> Status;
            required fn hsa_isa_get_info_alt(isa: Isa, attribute: IsaInfo, value: *mut c_void) -> Status;
            required fn hsa_iterate_agents(callback: Option<AgentCallback>, data: *mut c_void) -> Status;
            required fn hsa_region_get_info(region: Region, attribute: RegionInfo, value: *mut c_void) -> Status;
            // Memory
            required fn hsa_amd_agents_allow_access(
                num_agents: u32, agents: *const Agent, flags: *const u32, ptr: *const c_void
            ) -> Status;
            required fn hsa_amd_interop_map_buffer(
                num_agents: u32, agents: *mut Agent, interop_handle: c_int, flags: u32, size: *mut usize,
                ptr: *mut *mut c_void, metadata_size: *mut usize, metadata: *mut *const c_void
            ) -> Status;
            required fn hsa_amd_interop_unmap_buffer(ptr: *mut c_void) -> Status;
            required fn hsa_amd_ipc_memory_attach(
                handle: *const IpcMemory, len: usize, num_agents: u32, mapping_agents: *const Agent,
                mapped_ptr: *mut *mut c_void
            ) -> Status;
            required fn hsa_amd_ipc_memory_create(ptr: *mut c_void, len: usize, handle: *mut IpcMemory) -> Status;
            required fn hsa_amd_ipc_memory_detach(mapped_ptr: *mut c_void) -> Status;
            required fn hsa_amd_memory_async_copy(
                dst: *mut c_void, dst_agent: Agent, src: *const c_void, src_agent: Agent, size: usize,
                num_dep_signals: u32, dep_signals: *const Signal, completion_signal: Signal
            ) -> Status;
            required fn hsa_amd_memory_async_copy_rect(
                dst: *const PitchedPtr, dst_offset: *const Dim3, src: *const PitchedPtr, src_offset: *const Dim3,
                range: *const Dim3, copy_agent: Agent, dir: CopyDirection, num_dep_signals: u32,
                dep_signals: *const Signal, completion_signal: Signal
            ) -> Status;
            required fn hsa_amd_memory_lock(
                host_ptr: *mut c_void, size: usize, agents: *mut Agent, num_agent: c_int, agent_ptr: *mut *mut c_void
            ) -> Status;
            required fn hsa_amd_memory_lock_to_pool(
                host_ptr: *mut c_void, size: usize, agents: *mut Agent, num_agent: c_int, pool: MemoryPool,
                flags: MemoryPoolFlag, agent_ptr: *mut *mut c_void
            ) -> Status;
            required fn hsa_amd_memory_pool_allocate(
                memory_pool: MemoryPool, size: usize, flags: MemoryPoolFlag, ptr: *mut *mut c_void
            ) -> Status;
            required fn hsa_amd_memory_pool_free(ptr: *mut c_void) -> Status;
            required fn hsa_amd_memory_pool_get_info(
                memory_pool: MemoryPool, attribute: MemoryPoolInfo, value: *mut c_void
            ) -> Status;
            required fn hsa_amd_memory_unlock(host_ptr: *mut c_void) -> Status;
            required fn hsa_amd_pointer_info(
                ptr: *const c_void, info: *mut PointerInfo, alloc: Option<Allocate>, num_agents_accessible: *mut u32,
                accessible: *mut *mut Agent
            ) -> Status;
            optional fn hsa_amd_portable_close_dmabuf(dmabuf: c_int) -> Status;
            optional fn hsa_amd_portable_export_dmabuf(
                ptr: *const c_void, size: usize, dmabuf: *mut c_int, offset: *mut u64
            ) -> Status;
            required fn hsa_amd_profiling_async_copy_enable(enable: bool) -> Status;
            required fn hsa_amd_profiling_get_async_copy_time(signal: Signal, time: *mut AsyncCopyTime) -> Status;
            required fn hsa_amd_svm_attributes_get(
                ptr: *mut c_void, size: usize, attribute_list: *mut SvmAttributePair, attribute_count: usize
            ) -> Status;
            required fn hsa_amd_svm_attributes_set(
                ptr: *mut c_void, size: usize, attribute_list: *mut SvmAttributePair, attribute_count: usize
            ) -> Status;
            required fn hsa_amd_svm_prefetch_async(
                ptr: *mut c_void, size: usize, agent: Agent, num_dep_signals: u32, dep_signals: *const Signal,
                completion_signal: Signal
            ) -> Status;
            optional fn hsa_amd_vmem_address_free(va: *mut c_void, size: usize) -> Status;
            optional fn hsa_amd_vmem_address_reserve_align(
                va: *mut *mut c_void, size: usize, address: u64, alignment: u64, flags: u64
            ) -> Status;
            optional fn hsa_amd_vmem_handle_create(
                pool: MemoryPool, size: usize, kind: MemoryType, flags: u64, memory_handle: *mut VmemAllocHandle
            ) -> Status;
            optional fn hsa_amd_vmem_handle_release(memory_handle: VmemAllocHandle) -> Status;
            optional fn hsa_amd_vmem_map(
                va: *mut c_void, size: usize, in_offset: usize, memory_handle: VmemAllocHandle, flags: u64
            ) -> Status;
            optional fn hsa_amd_vmem_set_access(
                va: *mut c_void, size: usize, desc: *const MemoryAccessDesc, desc_cnt: usize
            ) -> Status;
            optional fn hsa_amd_vmem_unmap(va: *mut c_void, size: usize) -> Status;
            required fn hsa_memory_copy(dst: *mut c_void, src: *const c_void, size: usize) -> Status;
            required fn hsa_memory_deregister(ptr: *mut c_void, size: usize) -> Status;
            required fn hsa_memory_register(ptr: *mut c_void, size: usize) -> Status;
            // Signals
            required fn hsa_amd_ipc_signal_attach(handle: *const IpcSignal, signal: *mut Signal) -> Status;
            required fn hsa_amd_ipc_signal_create(signal: Signal, handle: *mut IpcSignal) -> Status;
            required fn hsa_amd_signal_async_handler(
                signal: Signal, cond: SignalCondition, value: SignalValue, handler: Option<SignalHandler>,
                arg: *mut c_void
            ) -> Status;
            required fn hsa_amd_signal_create(
                initial_value: SignalValue, num_consumers: u32, consumers: *const Agent, attributes: SignalAttribute,
                signal: *mut Signal
            ) -> Status;
            required fn hsa_amd_signal_value_pointer(signal: Signal, value_ptr: *mut *mut SignalValue) -> Status;
            optional fn hsa_amd_signal_wait_all(
                signal_count: u32, signals: *mut Signal, conds: *mut SignalCondition, values: *mut SignalValue,
                timeout_hint: u64, wait_hint: WaitState, satisfying_values: *mut SignalValue
            ) -> u32;
            required fn hsa_amd_signal_wait_any(
                signal_count: u32, signals: *mut Signal, conds: *mut SignalCondition, values: *mut SignalValue,
                timeout_hint: u64, wait_hint: WaitState, satisfying_value: *mut SignalValue
            ) -> u32;
            required fn hsa_signal_add_relaxed(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_add_scacq_screl(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_add_scacquire(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_add_screlease(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_and_relaxed(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_and_scacq_screl(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_and_scacquire(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_and_screlease(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_cas_relaxed(
                signal: Signal, expected: SignalValue, value: SignalValue
            ) -> SignalValue;
            required fn hsa_signal_cas_scacq_screl(
                signal: Signal, expected: SignalValue, value: SignalValue
            ) -> SignalValue;
            required fn hsa_signal_cas_scacquire(
                signal: Signal, expected: SignalValue, value: SignalValue
            ) -> SignalValue;
            required fn hsa_signal_cas_screlease(
                signal: Signal, expected: SignalValue, value: SignalValue
            ) -> SignalValue;
            required fn hsa_signal_create(
                initial_value: SignalValue, num_consumers: u32, consumers: *const Agent, signal: *mut Signal
            ) -> Status;
            required fn hsa_signal_destroy(signal: Signal) -> Status;
            required fn hsa_signal_exchange_relaxed(signal: Signal, value: SignalValue) -> SignalValue;
            required fn hsa_signal_exchange_scacq_screl(signal: Signal, value: SignalValue) -> SignalValue;
            required fn hsa_signal_exchange_scacquire(signal: Signal, value: SignalValue) -> SignalValue;
            required fn hsa_signal_exchange_screlease(signal: Signal, value: SignalValue) -> SignalValue;
            required fn hsa_signal_load_relaxed(signal: Signal) -> SignalValue;
            required fn hsa_signal_load_scacquire(signal: Signal) -> SignalValue;
            required fn hsa_signal_or_relaxed(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_or_scacq_screl(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_or_scacquire(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_or_screlease(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_silent_store_relaxed(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_silent_store_screlease(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_store_relaxed(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_store_screlease(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_subtract_relaxed(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_subtract_scacq_screl(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_subtract_scacquire(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_subtract_screlease(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_wait_relaxed(
                signal: Signal, condition: SignalCondition, compare_value: SignalValue, timeout_hint: u64,
                wait_state_hint: WaitState
            ) -> SignalValue;
            required fn hsa_signal_wait_scacquire(
                signal: Signal, condition: SignalCondition, compare_value: SignalValue, timeout_hint: u64,
                wait_state_hint: WaitState
            ) -> SignalValue;
            required fn hsa_signal_xor_relaxed(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_xor_scacq_screl(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_xor_scacquire(signal: Signal, value: SignalValue) -> ();
            required fn hsa_signal_xor_screlease(signal: Signal, value: SignalValue) -> ();
            // Queues
            required fn hsa_amd_profiling_get_dispatch_time(
                agent: Agent, signal: Signal, time: *mut ProfilingDispatchTime
            ) -> Status;
            required fn hsa_amd_profiling_set_profiler_enabled(queue: *mut Queue, enable: c_int) -> Status;
            required fn hsa_amd_queue_cu_set_mask(
                queue: *const Queue, num_cu_mask_count: u32, cu_mask: *const u32
            ) -> Status;
            optional fn hsa_amd_queue_get_info(queue: *mut Queue, attribute: QueueInfo, value: *mut c_void) -> Status;
            required fn hsa_amd_queue_set_priority(queue: *mut Queue, priority: QueuePriority) -> Status;
            required fn hsa_queue_add_write_index_relaxed(queue: *const Queue, value: u64) -> u64;
            required fn hsa_queue_add_write_index_scacq_screl(queue: *const Queue, value: u64) -> u64;
            required fn hsa_queue_add_write_index_scacquire(queue: *const Queue, value: u64) -> u64;
            required fn hsa_queue_add_write_index_screlease(queue: *const Queue, value: u64) -> u64;
            required fn hsa_queue_cas_write_index_relaxed(queue: *const Queue, expected: u64, value: u64) -> u64;
            required fn hsa_queue_cas_write_index_scacq_screl(queue: *const Queue, expected: u64, value: u64) -> u64;
            required fn hsa_queue_cas_write_index_scacquire(queue: *const Queue, expected: u64, value: u64) -> u64;
            required fn hsa_queue_cas_write_index_screlease(queue: *const Queue, expected: u64, value: u64) -> u64;
            required fn hsa_queue_create(
                agent: Agent, size: u32, kind: QueueType, callback: Option<QueueErrorCallback>, data: *mut c_void,
                private_segment_size: u32, group_segment_size: u32, queue: *mut *mut Queue
            ) -> Status;
            required fn hsa_queue_destroy(queue: *mut Queue) -> Status;
            required fn hsa_queue_inactivate(queue: *mut Queue) -> Status;
            required fn hsa_queue_load_read_index_relaxed(queue: *const Queue) -> u64;
            required fn hsa_queue_load_read_index_scacquire(queue: *const Queue) -> u64;
            required fn hsa_queue_load_write_index_relaxed(queue: *const Queue) -> u64;
            required fn hsa_queue_load_write_index_scacquire(queue: *const Queue) -> u64;
            required fn hsa_queue_store_read_index_relaxed(queue: *const Queue, value: u64) -> ();
            required fn hsa_queue_store_read_index_screlease(queue: *const Queue, value: u64) -> ();
            required fn hsa_queue_store_write_index_relaxed(queue: *const Queue, value: u64) -> ();
            required fn hsa_queue_store_write_index_screlease(queue: *const Queue, value: u64) -> ();
            required fn hsa_soft_queue_create(
                region: Region, size: u32, kind: QueueType, features: QueueFeature, doorbell_signal: Signal,
                queue: *mut *mut Queue
            ) -> Status;
            // Executables
            required fn hsa_code_object_reader_create_from_memory(
                code_object: *const c_void, size: usize, code_object_reader: *mut CodeObjectReader
            ) -> Status;
            required fn hsa_code_object_reader_destroy(code_object_reader: CodeObjectReader) -> Status;
            required fn hsa_executable_agent_global_variable_define(
                executable: Executable, agent: Agent, variable_name: *const c_char, address: *mut c_void
            ) -> Status;
            required fn hsa_executable_create_alt(
                profile: Profile, default_float_rounding_mode: FloatRoundingMode, options: *const c_char,
                executable: *mut Executable
            ) -> Status;
            required fn hsa_executable_destroy(executable: Executable) -> Status;
            required fn hsa_executable_freeze(executable: Executable, options: *const c_char) -> Status;
            required fn hsa_executable_get_symbol_by_name(
                executable: Executable, symbol_name: *const c_char, agent: *const Agent,
                symbol: *mut ExecutableSymbol
            ) -> Status;
            required fn hsa_executable_load_agent_code_object(
                executable: Executable, agent: Agent, code_object_reader: CodeObjectReader, options: *const c_char,
                loaded_code_object: *mut LoadedCodeObject
            ) -> Status;
            required fn hsa_executable_symbol_get_info(
                executable_symbol: ExecutableSymbol, attribute: ExecutableSymbolInfo, value: *mut c_void
            ) -> Status;
            required fn hsa_executable_validate_alt(
                executable: Executable, options: *const c_char, result: *mut u32
            ) -> Status;
            // Images and samplers
            optional fn hsa_amd_image_create(
                agent: Agent, image_descriptor: *const ImageDescriptor, image_layout: *const AmdImageDescriptor,
                image_data: *const c_void, access_permission: AccessPermission, image: *mut ExtImage
            ) -> Status;
            optional fn hsa_ext_image_create(
                agent: Agent, image_descriptor: *const ImageDescriptor, image_data: *const c_void,
                access_permission: AccessPermission, image: *mut ExtImage
            ) -> Status;
            optional fn hsa_ext_image_create_with_layout(
                agent: Agent, image_descriptor: *const ImageDescriptor, image_data: *const c_void,
                access_permission: AccessPermission, image_data_layout: ImageDataLayout, image_data_row_pitch: usize,
                image_data_slice_pitch: usize, image: *mut ExtImage
            ) -> Status;
            optional fn hsa_ext_image_data_get_info(
                agent: Agent, image_descriptor: *const ImageDescriptor, access_permission: AccessPermission,
                image_data_info: *mut ImageDataInfo
            ) -> Status;
            optional fn hsa_ext_image_destroy(agent: Agent, image: ExtImage) -> Status;
            optional fn hsa_ext_image_export(
                agent: Agent, src_image: ExtImage, dst_memory: *mut c_void, dst_row_pitch: usize,
                dst_slice_pitch: usize, image_region: *const ImageRegion
            ) -> Status;
            optional fn hsa_ext_image_import(
                agent: Agent, src_memory: *const c_void, src_row_pitch: usize, src_slice_pitch: usize,
                dst_image: ExtImage, image_region: *const ImageRegion
            ) -> Status;
            optional fn hsa_ext_sampler_create(
                agent: Agent, sampler_descriptor: *const SamplerDescriptor, sampler: *mut ExtSampler
            ) -> Status;
            optional fn hsa_ext_sampler_destroy(agent: Agent, sampler: ExtSampler) -> Status;
        }
    };
}
