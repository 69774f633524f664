// Functions called by random programs: operations with undefined cases in C, with those cases defined.
#define OPERATIONS(T, U, WIDTH)                                                                                        \
    static T div_##T(T a, T b) { return b == 0 || b == (T)-1 ? a : (T)(a / b); }                                       \
    static T rem_##T(T a, T b) { return b == 0 || b == (T)-1 ? b : (T)(a % b); }                                       \
    static T shl_##T(T a, u32 b) { return (T)((U)a << (b & (WIDTH - 1))); }                                            \
    static T shr_##T(T a, u32 b) { return (T)(a >> (b & (WIDTH - 1))); }                                               \
    static T min_##T(T a, T b) { return a < b ? a : b; }                                                               \
    static T max_##T(T a, T b) { return a > b ? a : b; }
OPERATIONS(i8, u8, 8)
OPERATIONS(u8, u8, 8)
OPERATIONS(i16, u16, 16)
OPERATIONS(u16, u16, 16)
OPERATIONS(i32, u32, 32)
OPERATIONS(u32, u32, 32)
OPERATIONS(i64, u64, 64)
OPERATIONS(u64, u64, 64)

#define FROM(F)                                                                                                        \
    static i8 i8_of_##F(F x) { return x >= -128 && x <= 127 ? (i8)x : 1; }                                             \
    static u8 u8_of_##F(F x) { return x >= 0 && x <= 255 ? (u8)x : 1; }                                                \
    static i16 i16_of_##F(F x) { return x >= (F) - 32000 && x <= (F)32000 ? (i16)x : 1; }                              \
    static u16 u16_of_##F(F x) { return x >= 0 && x <= (F)65000 ? (u16)x : 1; }                                        \
    static i32 i32_of_##F(F x) { return x >= (F) - 60000 && x <= (F)60000 ? (i32)x : 1; }                              \
    static u32 u32_of_##F(F x) { return x >= 0 && x <= (F)60000 ? (u32)x : 1; }                                        \
    static i64 i64_of_##F(F x) { return x >= (F) - 60000 && x <= (F)60000 ? (i64)x : 1; }                              \
    static u64 u64_of_##F(F x) { return x >= 0 && x <= (F)60000 ? (u64)x : 1; }
FROM(f16)
FROM(f32)
FROM(f64)

// Bits of a number, with a single NaN.
static u32 bits_f16(f16 x) { return x != x ? 0x7e00 : (u32)AS(u16, x); }
static u32 bits_f32(f32 x) { return x != x ? 0x7fc00000 : AS(u32, x); }
static u32 bits_f64(f64 x) {
    u64 bits = x != x ? 0x7ff8000000000000ul : AS(u64, x);
    return (u32)bits ^ (u32)(bits >> 32) * 31;
}
static u32 count_bits(u32 a) { return (u32)__builtin_popcount(a) + (a ? (u32)__builtin_clz(a) << 8 : 7); }
static u32 rotate(u32 a, u32 b) { return a << (b & 31) | a >> (-b & 31); }
static f32 root_f32(f32 x) { return __builtin_sqrtf(x < 0 ? -x : x); }
static f64 root_f64(f64 x) { return __builtin_sqrt(x < 0 ? -x : x); }
static f32 fma_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
static f64 fma_f64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
// A separate function: LLVM turns a narrowed product into a fused multiply-add of zero, which loses
// the sign of zero.
static NOINLINE f16 f16_of_f32(f32 x) { return (f16)x; }
