// Correct and incorrect waits for loads, written by hand because clang makes no such mistakes. The
// mnemonics are those of gfx10, which the assembler also accepts for gfx11.
.text
.globl no_wait_vector
.p2align 8
.type no_wait_vector,@function
no_wait_vector:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v0, s[4:5]
  v_add_nc_u32_e32 v3, v2, v2
  s_endpgm

.globl no_wait_scalar
.p2align 8
.type no_wait_scalar,@function
no_wait_scalar:
  s_load_dword s2, s[0:1], 0x0
  s_add_u32 s3, s2, s2
  s_endpgm

.globl scalar_out_of_order
.p2align 8
.type scalar_out_of_order,@function
scalar_out_of_order:
  s_load_dword s2, s[0:1], 0x0
  s_load_dword s3, s[0:1], 0x4
  s_waitcnt lgkmcnt(1)
  s_add_u32 s6, s2, s2
  s_endpgm

.globl no_wait_lds
.p2align 8
.type no_wait_lds,@function
no_wait_lds:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v0, v0
  ds_read_b32 v2, v0
  v_add_nc_u32_e32 v3, v2, v2
  s_endpgm

.globl overwritten
.p2align 8
.type overwritten,@function
overwritten:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v0, s[4:5]
  v_mov_b32_e32 v2, 0
  s_endpgm

.globl newest_of_two
.p2align 8
.type newest_of_two,@function
newest_of_two:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v0, s[4:5]
  global_load_dword v3, v0, s[4:5] offset:4
  s_waitcnt vmcnt(1)
  v_add_nc_u32_e32 v4, v3, v3
  s_endpgm

.globl oldest_of_two
.p2align 8
.type oldest_of_two,@function
oldest_of_two:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v0, s[4:5]
  global_load_dword v3, v0, s[4:5] offset:4
  s_waitcnt vmcnt(1)
  v_add_nc_u32_e32 v4, v2, v2
  s_endpgm

.globl stores_do_not_count
.p2align 8
.type stores_do_not_count,@function
stores_do_not_count:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v0, s[4:5]
  global_load_dword v3, v0, s[4:5] offset:4
  global_store_dword v0, v0, s[4:5] offset:8
  s_waitcnt vmcnt(1)
  v_add_nc_u32_e32 v4, v2, v2
  s_endpgm

.globl no_wait_before_barrier
.p2align 8
.type no_wait_before_barrier,@function
no_wait_before_barrier:
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write_b32 v0, v0
  s_barrier
  v_xor_b32_e32 v1, 0x80, v0
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  s_endpgm

.globl wait_before_barrier
.p2align 8
.type wait_before_barrier,@function
wait_before_barrier:
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write_b32 v0, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32_e32 v1, 0x80, v0
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  s_endpgm

.section .rodata,"a"
.p2align 6
.amdhsa_kernel no_wait_vector
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel no_wait_scalar
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel scalar_out_of_order
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel no_wait_lds
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel overwritten
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel newest_of_two
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel oldest_of_two
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel stores_do_not_count
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel no_wait_before_barrier
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel wait_before_barrier
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: no_wait_vector
    .symbol: no_wait_vector.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: no_wait_scalar
    .symbol: no_wait_scalar.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: scalar_out_of_order
    .symbol: scalar_out_of_order.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: no_wait_lds
    .symbol: no_wait_lds.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: overwritten
    .symbol: overwritten.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: newest_of_two
    .symbol: newest_of_two.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: oldest_of_two
    .symbol: oldest_of_two.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: stores_do_not_count
    .symbol: stores_do_not_count.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: no_wait_before_barrier
    .symbol: no_wait_before_barrier.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
  - .name: wait_before_barrier
    .symbol: wait_before_barrier.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 128
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
