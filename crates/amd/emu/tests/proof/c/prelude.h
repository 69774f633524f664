// One source for two machines: OpenCL C for amdgcn (without any library), and C for the host.
//
// MAP(name, in, out, kind)   a function of one work-item: `in` words to `out` words
// GROUP(name, in, out, kind) a workgroup of GROUP_SIZE work-items, written as phases: LANES { … }
//                            runs for each work-item (`lid`), BARRIER waits for all. State that a
//                            work-item keeps between phases is declared with PRIVATE(type, name)
//                            and accessed with OWN(name). The body begins with ENTER(in, out).
// The kind selects the comparison: BITS; F16, F32, F64 (all NaNs are equal); ULPS.
#ifdef __OPENCL_C_VERSION__
#define GPU 1
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef half f16;
#define GLOBAL global
#define LDS(type, name, count) local type name[count]
#define AS(type, value) __builtin_astype(value, type)
#define NOINLINE __attribute__((noinline))
#else
#define GPU 0
typedef _Float16 f16;
#define GLOBAL
#define LDS(type, name, count) static type name[count]
#define AS(type, value)                                                                                                \
    ({                                                                                                                 \
        __typeof__(value) as_from = (value);                                                                           \
        type as_to;                                                                                                    \
        _Static_assert(sizeof(as_from) == sizeof(as_to), "bits are kept");                                             \
        __builtin_memcpy(&as_to, &as_from, sizeof(as_to));                                                             \
        as_to;                                                                                                         \
    })
#define NOINLINE __attribute__((noinline))
#endif

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long i64;
typedef unsigned long u64;
typedef float f32;
typedef double f64;
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef f32 f32x4 __attribute__((ext_vector_type(4)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

typedef GLOBAL const u32 *in_t;
typedef GLOBAL u32 *out_t;

#define GROUP_SIZE 128

// Every kernel is declared once: `cc -E -DLIST` lists them for the tests.
#ifdef LIST
#define MAP(name, IN, OUT, KIND) DECLARE(0, name, IN, OUT, KIND)
#define GROUP(name, IN, OUT, KIND) DECLARE(1, name, IN, OUT, KIND)
#elif GPU
#define LID __builtin_amdgcn_workitem_id_x()
#define MAP(name, IN, OUT, KIND)                                                                                       \
    static void name##_body(in_t in, out_t out);                                                                       \
    __attribute__((reqd_work_group_size(64, 1, 1))) kernel void name(in_t in, out_t out) {                             \
        u32 id = __builtin_amdgcn_workgroup_id_x() * 64 + LID;                                                         \
        name##_body(in + id * IN, out + id * OUT);                                                                     \
    }                                                                                                                  \
    static void name##_body(in_t in, out_t out)
#define GROUP(name, IN, OUT, KIND)                                                                                     \
    __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) kernel void name(in_t in, out_t out)
#define ENTER(IN, OUT)                                                                                                 \
    u32 group = __builtin_amdgcn_workgroup_id_x();                                                                     \
    in += group * GROUP_SIZE * IN;                                                                                     \
    out += group * GROUP_SIZE * OUT
#define LANES for (u32 lid = LID, lanes_once = 1; lanes_once; lanes_once = 0)
#define PRIVATE(type, name) type name[1]
#define OWN(name) name[0]
#define BARRIER                                                                                                        \
    do {                                                                                                               \
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                                         \
        __builtin_amdgcn_s_barrier();                                                                                  \
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                                         \
    } while (0)
#else
#define MAP(name, IN, OUT, KIND)                                                                                       \
    static void name##_body(in_t in, out_t out);                                                                       \
    void name(in_t in, out_t out, u32 count) {                                                                         \
        for (u32 id = 0; id < count; id++)                                                                             \
            name##_body(in + id * IN, out + id * OUT);                                                                 \
    }                                                                                                                  \
    static void name##_body(in_t in, out_t out)
#define GROUP(name, IN, OUT, KIND)                                                                                     \
    static void name##_body(in_t in, out_t out, u32 group);                                                            \
    void name(in_t in, out_t out, u32 count) {                                                                         \
        for (u32 group = 0; group < count / GROUP_SIZE; group++)                                                       \
            name##_body(in + group * GROUP_SIZE * IN, out + group * GROUP_SIZE * OUT, group);                          \
    }                                                                                                                  \
    static void name##_body(in_t in, out_t out, u32 group)
#define ENTER(IN, OUT)
#define LANES for (u32 lid = 0; lid < GROUP_SIZE; lid++)
#define PRIVATE(type, name) type name[GROUP_SIZE]
#define OWN(name) name[lid]
#define BARRIER
#endif

#define F32_IN(i) AS(f32, (u32)in[i])
#define F16_IN(i) AS(f16, (u16)in[i])
#define U64_IN(i) ((u64)in[i] | (u64)in[(i) + 1] << 32)
#define F64_IN(i) AS(f64, U64_IN(i))
#define PUT(i, value) out[i] = (u32)(value)
#define PUT64(i, value)                                                                                                \
    do {                                                                                                               \
        u64 put64 = (u64)(value);                                                                                      \
        out[i] = (u32)put64;                                                                                           \
        out[(i) + 1] = (u32)(put64 >> 32);                                                                             \
    } while (0)
#define PUT_F32(i, value) out[i] = AS(u32, (f32)(value))
#define PUT_F16(i, value) out[i] = (u32)AS(u16, (f16)(value))
#define PUT_F64(i, value) PUT64(i, AS(u64, (f64)(value)))
