//! Sizes, alignments and offsets.

use std::mem::offset_of;

use roci_hsa::abi::*;

/// Layout of a Rust struct.
struct Layout {
    c_type: &'static str,
    size: usize,
    alignment: usize,
    /// C name and offset.
    fields: &'static [(&'static str, usize)],
}

/// Layout of a struct, with the Rust and C names of its fields.
macro_rules! layout {
    ($type:ty as $c_type:literal { $($field:ident $(. $inner:ident)? as $c_field:literal),* $(,)? }) => {
        Layout {
            c_type: $c_type,
            size: size_of::<$type>(),
            alignment: align_of::<$type>(),
            fields: &[$(($c_field, offset_of!($type, $field $(. $inner)?))),*],
        }
    };
}

const LAYOUTS: &[Layout] = &[
    layout!(Dim3 as "hsa_dim3_t" { x as "x", y as "y", z as "z" }),
    layout!(PitchedPtr as "hsa_pitched_ptr_t" { base as "base", pitch as "pitch", slice as "slice" }),
    layout!(PointerInfo as "hsa_amd_pointer_info_t" {
        size as "size",
        pointer_type as "type",
        agent_base_address as "agentBaseAddress",
        host_base_address as "hostBaseAddress",
        size_in_bytes as "sizeInBytes",
        user_data as "userData",
        agent_owner as "agentOwner",
        global_flags as "global_flags",
    }),
    layout!(LinkInfo as "hsa_amd_memory_pool_link_info_t" {
        min_latency as "min_latency",
        max_latency as "max_latency",
        min_bandwidth as "min_bandwidth",
        max_bandwidth as "max_bandwidth",
        atomic_support_32bit as "atomic_support_32bit",
        atomic_support_64bit as "atomic_support_64bit",
        coherent_support as "coherent_support",
        link_type as "link_type",
        numa_distance as "numa_distance",
    }),
    layout!(HdpFlush as "hsa_amd_hdp_flush_t" {
        mem_flush_cntl as "HDP_MEM_FLUSH_CNTL",
        reg_flush_cntl as "HDP_REG_FLUSH_CNTL",
    }),
    layout!(ProfilingDispatchTime as "hsa_amd_profiling_dispatch_time_t" { start as "start", end as "end" }),
    layout!(AsyncCopyTime as "hsa_amd_profiling_async_copy_time_t" { start as "start", end as "end" }),
    layout!(ControlDirectives as "hsa_ext_control_directives_t" {}),
    layout!(IpcMemory as "hsa_amd_ipc_memory_t" { handle as "handle" }),
    layout!(IpcSignal as "hsa_amd_ipc_signal_t" { handle as "handle" }),
    layout!(MemoryAccessDesc as "hsa_amd_memory_access_desc_t" {
        permissions as "permissions",
        agent_handle as "agent_handle",
    }),
    layout!(SvmAttributePair as "hsa_amd_svm_attribute_pair_t" { attribute as "attribute", value as "value" }),
    layout!(ClockCounters as "hsa_amd_clock_counters_t" {
        gpu_clock_counter as "gpu_clock_counter",
        cpu_clock_counter as "cpu_clock_counter",
        system_clock_counter as "system_clock_counter",
        system_clock_frequency as "system_clock_frequency",
    }),
    layout!(ImageDataInfo as "hsa_ext_image_data_info_t" { size as "size", alignment as "alignment" }),
    layout!(MemoryFaultInfo as "hsa_amd_gpu_memory_fault_info_t" {
        agent as "agent",
        virtual_address as "virtual_address",
        fault_reason_mask as "fault_reason_mask",
    }),
    layout!(MemoryErrorInfo as "hsa_amd_gpu_memory_error_info_t" {
        agent as "agent",
        virtual_address as "virtual_address",
        error_reason_mask as "error_reason_mask",
    }),
    layout!(HwExceptionInfo as "hsa_amd_gpu_hw_exception_info_t" {
        agent as "agent",
        reset_type as "reset_type",
        reset_cause as "reset_cause",
    }),
    layout!(Event as "hsa_amd_event_t" { event_type as "event_type", info as "memory_fault" }),
    layout!(SegmentDescriptor as "hsa_ven_amd_loader_segment_descriptor_t" {
        agent as "agent",
        executable as "executable",
        code_object_storage_type as "code_object_storage_type",
        code_object_storage_base as "code_object_storage_base",
        code_object_storage_size as "code_object_storage_size",
        code_object_storage_offset as "code_object_storage_offset",
        segment_base as "segment_base",
        segment_size as "segment_size",
    }),
    layout!(LoaderTable1_03 as "hsa_ven_amd_loader_1_03_pfn_t" {
        query_host_address as "hsa_ven_amd_loader_query_host_address",
        query_segment_descriptors as "hsa_ven_amd_loader_query_segment_descriptors",
        query_executable as "hsa_ven_amd_loader_query_executable",
        executable_iterate_loaded_code_objects as "hsa_ven_amd_loader_executable_iterate_loaded_code_objects",
        loaded_code_object_get_info as "hsa_ven_amd_loader_loaded_code_object_get_info",
        code_object_reader_create_from_file_with_offset_size
            as "hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size",
        iterate_executables as "hsa_ven_amd_loader_iterate_executables",
    }),
    layout!(KernelDispatchPacket as "hsa_kernel_dispatch_packet_t" {
        header as "header",
        setup as "setup",
        workgroup_size_x as "workgroup_size_x",
        workgroup_size_y as "workgroup_size_y",
        workgroup_size_z as "workgroup_size_z",
        reserved0 as "reserved0",
        grid_size_x as "grid_size_x",
        grid_size_y as "grid_size_y",
        grid_size_z as "grid_size_z",
        private_segment_size as "private_segment_size",
        group_segment_size as "group_segment_size",
        kernel_object as "kernel_object",
        kernarg_address as "kernarg_address",
        reserved2 as "reserved2",
        completion_signal as "completion_signal",
    }),
    layout!(AgentDispatchPacket as "hsa_agent_dispatch_packet_t" {
        header as "header",
        function as "type",
        reserved0 as "reserved0",
        return_address as "return_address",
        arg as "arg",
        reserved2 as "reserved2",
        completion_signal as "completion_signal",
    }),
    layout!(BarrierPacket as "hsa_barrier_and_packet_t" {
        header as "header",
        reserved0 as "reserved0",
        reserved1 as "reserved1",
        dep_signal as "dep_signal",
        reserved2 as "reserved2",
        completion_signal as "completion_signal",
    }),
    layout!(BarrierPacket as "hsa_barrier_or_packet_t" {
        dep_signal as "dep_signal",
        completion_signal as "completion_signal",
    }),
    layout!(BarrierValuePacket as "hsa_amd_barrier_value_packet_t" {
        header as "header.header",
        format as "header.AmdFormat",
        reserved as "header.reserved",
        reserved0 as "reserved0",
        signal as "signal",
        value as "value",
        mask as "mask",
        cond as "cond",
        reserved1 as "reserved1",
        reserved2 as "reserved2",
        reserved3 as "reserved3",
        completion_signal as "completion_signal",
    }),
    layout!(Queue as "hsa_queue_t" {
        queue_type as "type",
        features as "features",
        base_address as "base_address",
        doorbell_signal as "doorbell_signal",
        size as "size",
        reserved1 as "reserved1",
        id as "id",
    }),
    layout!(AmdQueue as "amd_queue_t" {
        hsa_queue as "hsa_queue",
        write_dispatch_id as "write_dispatch_id",
        group_segment_aperture_base_hi as "group_segment_aperture_base_hi",
        private_segment_aperture_base_hi as "private_segment_aperture_base_hi",
        max_cu_id as "max_cu_id",
        max_wave_id as "max_wave_id",
        max_legacy_doorbell_dispatch_id_plus_1 as "max_legacy_doorbell_dispatch_id_plus_1",
        legacy_doorbell_lock as "legacy_doorbell_lock",
        reserved2 as "reserved2",
        read_dispatch_id as "read_dispatch_id",
        read_dispatch_id_field_base_byte_offset as "read_dispatch_id_field_base_byte_offset",
        compute_tmpring_size as "compute_tmpring_size",
        scratch_resource_descriptor as "scratch_resource_descriptor",
        scratch_backing_memory_location as "scratch_backing_memory_location",
        scratch_wave64_lane_byte_size as "scratch_wave64_lane_byte_size",
        queue_properties as "queue_properties",
        queue_inactive_signal as "queue_inactive_signal",
    }),
    layout!(AmdSignal as "amd_signal_t" {
        kind as "kind",
        value as "value",
        value as "hardware_doorbell_ptr",
        event_mailbox_ptr as "event_mailbox_ptr",
        event_id as "event_id",
        reserved1 as "reserved1",
        start_ts as "start_ts",
        end_ts as "end_ts",
        queue_ptr as "queue_ptr",
        reserved3 as "reserved3",
    }),
];

/// Types that are newer than Debian's headers (5.2.3), with their size in newer headers.
const NEWER: &[(&str, usize)] = &[
    ("hsa_amd_memory_access_desc_t", 16),
    ("hsa_amd_vmem_alloc_handle_t", 8),
    ("hsa_amd_clock_counters_t", 32),
    ("hsa_amd_gpu_memory_error_info_t", 24),
    ("hsa_amd_gpu_hw_exception_info_t", 16),
];

#[test]
fn structs_have_the_layout_of_the_headers() {
    let Some(headers) = crate::headers() else { return };
    let handles = HANDLES.iter().map(|(c_type, size, alignment)| Layout {
        c_type,
        size: *size,
        alignment: *alignment,
        fields: &[("handle", 0)],
    });
    let mut ours = Vec::new();
    for layout in handles.chain(LAYOUTS.iter().map(|layout| Layout { ..*layout })) {
        if !headers.has(layout.c_type) {
            let newer = NEWER.iter().find(|(c_type, _)| *c_type == layout.c_type);
            assert_eq!(newer.map(|(_, size)| *size), Some(layout.size), "{} is not in the headers", layout.c_type);
            continue;
        }
        ours.push((format!("sizeof({})", layout.c_type), layout.size as u64));
        ours.push((format!("_Alignof({})", layout.c_type), layout.alignment as u64));
        for (field, offset) in layout.fields {
            ours.push((format!("offsetof({}, {field})", layout.c_type), *offset as u64));
        }
    }
    let values = headers.evaluate(&ours.iter().map(|(expression, _)| expression.clone()).collect::<Vec<_>>());
    let wrong: Vec<_> = ours.iter().filter(|(expression, value)| values[expression] != *value).collect();
    assert!(wrong.is_empty(), "here: {wrong:?}");
    assert!(ours.len() > 150, "only {} figures were compared", ours.len());
}
