//! Functions: each row of the list as a C prototype must be compatible with the headers.

/// Rows as strings.
macro_rules! rows {
    ($($need:ident fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        &[$(Prototype { name: stringify!($name), arguments: &[$(stringify!($type)),*], result: stringify!($result) }),*]
    };
}

struct Prototype {
    name: &'static str,
    arguments: &'static [&'static str],
    result: &'static str,
}

const ROWS: &[Prototype] = roci_hsa::for_each_function!(rows);
const ADDITIONAL: &[Prototype] = roci_hsa::for_each_additional_function!(rows);

/// Older names of functions with the current ones.
macro_rules! names {
    ($($old:ident = $new:ident;)*) => {
        &[$((stringify!($old), stringify!($new))),*]
    };
}
const OLD_NAMES: &[(&str, &str)] = roci_hsa::for_each_old_name!(names);

/// Functions that are newer than Debian's headers (5.2.3).
const NEWER: &[&str] = &[
    "hsa_amd_agent_set_async_scratch_limit",
    "hsa_amd_enable_logging",
    "hsa_amd_memory_async_copy_on_engine",
    "hsa_amd_memory_copy_engine_status",
    "hsa_amd_portable_close_dmabuf",
    "hsa_amd_portable_export_dmabuf",
    "hsa_amd_queue_get_info",
    "hsa_amd_signal_wait_all",
    "hsa_amd_spm_acquire",
    "hsa_amd_spm_release",
    "hsa_amd_spm_set_dest_buffer",
    "hsa_amd_vmem_address_free",
    "hsa_amd_vmem_address_reserve",
    "hsa_amd_vmem_address_reserve_align",
    "hsa_amd_vmem_export_shareable_handle",
    "hsa_amd_vmem_get_access",
    "hsa_amd_vmem_get_alloc_properties_from_handle",
    "hsa_amd_vmem_handle_create",
    "hsa_amd_vmem_handle_release",
    "hsa_amd_vmem_import_shareable_handle",
    "hsa_amd_vmem_map",
    "hsa_amd_vmem_retain_alloc_handle",
    "hsa_amd_vmem_set_access",
    "hsa_amd_vmem_unmap",
];

/// C type of a Rust type in a row.
fn c_type(rust: &str) -> String {
    // `stringify!` does not specify its spacing.
    let rust = rust.replace("* ", "*").replace(" <", "<").replace("< ", "<").replace(" >", ">");
    if let Some(pointee) = rust.strip_prefix("*mut ") {
        return format!("{}*", c_type(pointee));
    }
    if let Some(pointee) = rust.strip_prefix("*const ") {
        return format!("{} const*", c_type(pointee));
    }
    match rust.as_str() {
        "()" | "c_void" => "void",
        "bool" => "bool",
        "c_char" => "char",
        "c_int" => "int",
        "u16" | "Extension" => "uint16_t",
        "u32" | "QueueFeature" | "MemoryPoolFlag" => "uint32_t",
        "u64" | "SignalAttribute" => "uint64_t",
        "usize" => "size_t",
        "u8" => "uint8_t",
        "i32" => "int32_t",
        "AccessPermission" => "hsa_access_permission_t",
        "Agent" => "hsa_agent_t",
        "AgentInfo" => "hsa_agent_info_t",
        "AgentMemoryPoolInfo" => "hsa_amd_agent_memory_pool_info_t",
        "AmdImageDescriptor" => "hsa_amd_image_descriptor_t",
        "AsyncCopyTime" => "hsa_amd_profiling_async_copy_time_t",
        "Cache" => "hsa_cache_t",
        "CacheInfo" => "hsa_cache_info_t",
        "CallbackData" => "hsa_callback_data_t",
        "CodeObject" => "hsa_code_object_t",
        "CodeObjectInfo" => "hsa_code_object_info_t",
        "CodeObjectReader" => "hsa_code_object_reader_t",
        "CodeObjectType" => "hsa_code_object_type_t",
        "CodeSymbol" => "hsa_code_symbol_t",
        "CodeSymbolInfo" => "hsa_code_symbol_info_t",
        "CoherencyType" => "hsa_amd_coherency_type_t",
        "ControlDirectives" => "hsa_ext_control_directives_t",
        "CopyDirection" => "hsa_amd_copy_direction_t",
        "Dim3" => "hsa_dim3_t",
        "Executable" => "hsa_executable_t",
        "ExecutableInfo" => "hsa_executable_info_t",
        "ExecutableState" => "hsa_executable_state_t",
        "ExecutableSymbol" => "hsa_executable_symbol_t",
        "ExecutableSymbolInfo" => "hsa_executable_symbol_info_t",
        "ExtImage" => "hsa_ext_image_t",
        "ExtModule" => "hsa_ext_module_t",
        "ExtProgram" => "hsa_ext_program_t",
        "ExtProgramInfo" => "hsa_ext_program_info_t",
        "ExtSampler" => "hsa_ext_sampler_t",
        "FloatRoundingMode" => "hsa_default_float_rounding_mode_t",
        "FlushMode" => "hsa_flush_mode_t",
        "FpType" => "hsa_fp_type_t",
        "ImageDataInfo" => "hsa_ext_image_data_info_t",
        "ImageDataLayout" => "hsa_ext_image_data_layout_t",
        "ImageDescriptor" => "hsa_ext_image_descriptor_t",
        "ImageFormat" => "hsa_ext_image_format_t",
        "ImageGeometry" => "hsa_ext_image_geometry_t",
        "ImageRegion" => "hsa_ext_image_region_t",
        "IpcMemory" => "hsa_amd_ipc_memory_t",
        "IpcSignal" => "hsa_amd_ipc_signal_t",
        "Isa" => "hsa_isa_t",
        "IsaInfo" => "hsa_isa_info_t",
        "LoadedCodeObject" => "hsa_loaded_code_object_t",
        "MachineModel" => "hsa_machine_model_t",
        "MemoryAccessDesc" => "hsa_amd_memory_access_desc_t",
        "MemoryPool" => "hsa_amd_memory_pool_t",
        "MemoryPoolInfo" => "hsa_amd_memory_pool_info_t",
        "MemoryType" => "hsa_amd_memory_type_t",
        "PitchedPtr" => "hsa_pitched_ptr_t",
        "PointerInfo" => "hsa_amd_pointer_info_t",
        "Profile" => "hsa_profile_t",
        "ProfilingDispatchTime" => "hsa_amd_profiling_dispatch_time_t",
        "Queue" => "hsa_queue_t",
        "QueueInfo" => "hsa_queue_info_attribute_t",
        "QueuePriority" => "hsa_amd_queue_priority_t",
        "QueueType" => "hsa_queue_type32_t",
        "Region" => "hsa_region_t",
        "RegionInfo" => "hsa_region_info_t",
        "RoundMethod" => "hsa_round_method_t",
        "SamplerDescriptor" => "hsa_ext_sampler_descriptor_t",
        "Signal" => "hsa_signal_t",
        "SignalCondition" => "hsa_signal_condition_t",
        "SignalGroup" => "hsa_signal_group_t",
        "SignalValue" => "hsa_signal_value_t",
        "Status" => "hsa_status_t",
        "SvmAttributePair" => "hsa_amd_svm_attribute_pair_t",
        "SystemInfo" => "hsa_system_info_t",
        "VmemAllocHandle" => "hsa_amd_vmem_alloc_handle_t",
        "WaitState" => "hsa_wait_state_t",
        "Wavefront" => "hsa_wavefront_t",
        "WavefrontInfo" => "hsa_wavefront_info_t",
        "Option<AgentCallback>" => "agent_callback",
        "Option<AgentSymbolCallback>" => "agent_symbol_callback",
        "Option<Allocate>" => "allocate",
        "Option<AsyncFunction>" => "async_function",
        "Option<CacheCallback>" => "cache_callback",
        "Option<CodeSymbolCallback>" => "code_symbol_callback",
        "Option<DeallocationCallback>" => "hsa_amd_deallocation_callback_t",
        "Option<ExecutableSymbolCallback>" => "executable_symbol_callback",
        "Option<IsaCallback>" => "isa_callback",
        "Option<MemoryPoolCallback>" => "memory_pool_callback",
        "Option<ModuleCallback>" => "module_callback",
        "Option<QueueErrorCallback>" => "queue_error_callback",
        "Option<RegionCallback>" => "region_callback",
        "Option<SerializeAllocate>" => "serialize_allocate",
        "Option<SignalHandler>" => "hsa_amd_signal_handler",
        "Option<SystemEventCallback>" => "hsa_amd_system_event_callback_t",
        "Option<WavefrontCallback>" => "wavefront_callback",
        other => panic!("no C type is known for `{other}`"),
    }
    .to_owned()
}

/// Callback types without a name in the headers.
const CALLBACKS: &str = "
typedef hsa_status_t (*agent_callback)(hsa_agent_t, void*);
typedef hsa_status_t (*cache_callback)(hsa_cache_t, void*);
typedef hsa_status_t (*isa_callback)(hsa_isa_t, void*);
typedef hsa_status_t (*region_callback)(hsa_region_t, void*);
typedef hsa_status_t (*memory_pool_callback)(hsa_amd_memory_pool_t, void*);
typedef void (*queue_error_callback)(hsa_status_t, hsa_queue_t*, void*);
typedef void* (*allocate)(size_t);
typedef void (*async_function)(void*);
typedef hsa_status_t (*wavefront_callback)(hsa_wavefront_t, void*);
typedef hsa_status_t (*code_symbol_callback)(hsa_code_object_t, hsa_code_symbol_t, void*);
typedef hsa_status_t (*executable_symbol_callback)(hsa_executable_t, hsa_executable_symbol_t, void*);
typedef hsa_status_t (*agent_symbol_callback)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*);
typedef hsa_status_t (*serialize_allocate)(size_t, hsa_callback_data_t, void**);
typedef hsa_status_t (*module_callback)(hsa_ext_program_t, hsa_ext_module_t, void*);
";

impl Prototype {
    fn prototype(&self) -> String {
        let mut arguments: Vec<_> = self.arguments.iter().map(|argument| c_type(argument)).collect();
        if self.name == "hsa_amd_signal_value_pointer" {
            // `volatile` is a property of accesses in Rust, not of types.
            arguments[1] = "volatile hsa_signal_value_t**".to_owned();
        }
        let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
        format!("{} {}({arguments});\n", c_type(self.result), self.name)
    }
}

#[test]
fn functions_have_the_prototypes_of_the_headers() {
    let Some(headers) = crate::headers() else { return };
    let (there, absent): (Vec<_>, Vec<_>) = ROWS.iter().chain(ADDITIONAL).partition(|row| headers.has(row.name));
    let unknown: Vec<_> = absent.iter().map(|row| row.name).filter(|name| !NEWER.contains(name)).collect();
    assert_eq!(unknown, Vec::<&str>::new(), "neither in the headers nor listed as newer");
    let prototypes: String = there.iter().map(|row| row.prototype()).collect();
    // An older name with another prototype fails here.
    let aliases = OLD_NAMES.iter().map(|(old, new)| {
        format!("_Static_assert(__builtin_types_compatible_p(__typeof__({old}), __typeof__({new})), \"{old}\");\n")
    });
    let check = format!("{CALLBACKS}{prototypes}{}", aliases.collect::<String>());
    if let Err(message) = headers.compile(&check, &["-fsyntax-only", "-Werror", "-Wno-deprecated-declarations"]) {
        panic!("{message}");
    }
    assert!(there.len() >= 185, "only {} prototypes were compared", there.len());

    // The check can fail: a missing argument is an error.
    let wrong = format!("{check}hsa_status_t hsa_agent_get_info(hsa_agent_t, hsa_agent_info_t);\n");
    assert!(headers.compile(&wrong, &["-fsyntax-only"]).is_err());
}

#[test]
fn the_list_has_no_duplicates() {
    assert_eq!(ROWS.len(), 141);
    let mut names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 141);
    assert_eq!(ROWS.iter().map(|row| row.name).collect::<Vec<_>>(), roci_hsa::Api::NAMES);
}
