// Kernels with one bug each, and their correct counterparts. Buffers are zeroed; scalar arguments
// are 16.
#define LANE ((uint)__builtin_amdgcn_workitem_id_x())
#define ITEM ((uint)__builtin_amdgcn_workgroup_id_x() * 128u + LANE)
#define BARRIER()                                                                                                      \
    do {                                                                                                               \
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                                         \
        __builtin_amdgcn_s_barrier();                                                                                  \
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                                         \
    } while (0)
#define GROUP __attribute__((reqd_work_group_size(128, 1, 1)))

kernel GROUP void stores_undefined(global float *out, global const float *in) {
    float never_set;
    if (in[ITEM] != 0.0f)
        never_set = 1.0f;
    out[ITEM] = never_set + 1.0f;
}

kernel GROUP void branches_on_undefined(global float *out) {
    int never_set[2];
    never_set[0] = 1;
    if (never_set[LANE & 1] == 7)
        out[ITEM] = 1.0f;
}

kernel GROUP void addresses_by_undefined(global float *out) {
    uint never_set[2];
    never_set[0] = 1;
    out[never_set[LANE & 1] & 1023] = 1.0f;
}

kernel GROUP void stores_undefined_lds(global float *out) {
    local float tile[128];
    if (LANE < 64)
        tile[LANE] = 1.0f;
    BARRIER();
    out[ITEM] = tile[LANE];
}

typedef struct {
    uint number;
    uchar letter;
    uint other;
} Holes;

kernel GROUP void copies_a_structure_with_holes(global Holes *out) {
    Holes holes;
    holes.number = LANE;
    holes.letter = 7;
    holes.other = 9;
    out[ITEM] = holes;
}

typedef struct {
    uint number;
    ulong wide;
} Padded;

kernel GROUP void copies_a_structure_with_a_word_of_padding(global Padded *out) {
    Padded padded;
    padded.number = LANE;
    padded.wide = 7;
    out[ITEM] = padded;
}

typedef uint uint3 __attribute__((ext_vector_type(3)));
typedef uint uint4 __attribute__((ext_vector_type(4)));

// A `uint3` has four words in memory; clang leaves the last one undefined.
kernel GROUP void stores_three(global uint3 *out) {
    out[ITEM] = (uint3)(LANE, 1, 2);
}

kernel GROUP void stores_a_vector_without_its_first(global uint4 *out) {
    uint4 vector;
    vector.yzw = (uint3)(LANE, 1, 2);
    out[ITEM] = vector;
}

kernel GROUP void stores_a_vector_without_its_third(global uint4 *out) {
    uint4 vector;
    vector.xyw = (uint3)(LANE, 1, 2);
    out[ITEM] = vector;
}

kernel GROUP void no_barrier(global float *out, global const float *in) {
    local float tile[128];
    tile[LANE] = in[ITEM];
    out[ITEM] = tile[127 - LANE];
}

kernel GROUP void no_second_barrier(global float *out, global const float *in) {
    local float tile[128];
    for (uint i = 0; i < 3; i++) {
        tile[LANE] = in[ITEM + i];
        BARRIER();
        out[ITEM] += tile[127 - LANE];
    }
}

kernel GROUP void barriers(global float *out, global const float *in) {
    local float tile[128];
    for (uint i = 0; i < 3; i++) {
        tile[LANE] = in[ITEM + i];
        BARRIER();
        out[ITEM] += tile[127 - LANE];
        BARRIER();
    }
}

kernel GROUP void atomics_alone(global uint *out) {
    local uint sum;
    if (LANE == 0)
        sum = 0;
    BARRIER();
    __scoped_atomic_fetch_add(&sum, LANE, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    BARRIER();
    out[ITEM] = sum;
}

kernel GROUP void atomic_and_plain(global uint *out) {
    local uint sum;
    if (LANE == 0)
        sum = 0;
    __scoped_atomic_fetch_add(&sum, LANE, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    BARRIER();
    out[ITEM] = sum;
}
