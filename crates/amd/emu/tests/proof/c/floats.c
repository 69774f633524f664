// f16, f32, f64: arithmetic, comparison, conversion, library functions with an instruction.
#define FLOATS(T, SIZE, GET, WRITE, KIND, FMA, SQRT, MINI, MAXI, SIGN, NEAR, FLOOR, CEIL, TRUNC)                       \
    MAP(arith_##T, 3 * SIZE, 12 * SIZE, KIND) {                                                                        \
        T a = GET(0), b = GET(SIZE), c = GET(2 * SIZE);                                                                \
        WRITE(0, a + b);                                                                                               \
        WRITE(SIZE, a - b);                                                                                            \
        WRITE(2 * SIZE, a *b);                                                                                         \
        WRITE(3 * SIZE, FMA(a, b, c));                                                                                 \
        WRITE(4 * SIZE, FMA(-a, b, -c));                                                                               \
        WRITE(5 * SIZE, -a);                                                                                           \
        WRITE(6 * SIZE, (a * b) + c);                                                                                  \
        WRITE(7 * SIZE, a * (T)0.5 - c * (T)2);                                                                        \
        WRITE(8 * SIZE, (a < 0 ? -a : a) + (T)1);                                                                      \
        WRITE(9 * SIZE, a == a && b == b ? SIGN(a, b) : (T)1);                                                         \
        WRITE(10 * SIZE, FMA(a, (T)4, (T)-0.5));                                                                       \
        WRITE(11 * SIZE, a + (T)3.140625);                                                                             \
    }                                                                                                                  \
    MAP(round_##T, SIZE, 4 * SIZE, KIND) {                                                                             \
        T a = GET(0);                                                                                                  \
        WRITE(0, FLOOR(a));                                                                                            \
        WRITE(SIZE, CEIL(a));                                                                                          \
        WRITE(2 * SIZE, TRUNC(a));                                                                                     \
        WRITE(3 * SIZE, NEAR(a));                                                                                      \
    }                                                                                                                  \
    MAP(divide_##T, 2 * SIZE, 3 * SIZE, KIND) {                                                                        \
        T a = GET(0), b = GET(SIZE);                                                                                   \
        WRITE(0, a / b);                                                                                               \
        WRITE(SIZE, (T)1 / b);                                                                                         \
        WRITE(2 * SIZE, SQRT(a));                                                                                      \
    }                                                                                                                  \
    MAP(extremes_##T, 2 * SIZE, 2 * SIZE, KIND) {                                                                      \
        T a = GET(0), b = GET(SIZE);                                                                                   \
        /* C does not specify which NaN or which zero is the result. */                                                \
        if (a != a || b != b || a == b)                                                                                \
            a = 1, b = 2;                                                                                              \
        WRITE(0, MINI(a, b));                                                                                          \
        WRITE(SIZE, MAXI(a, b));                                                                                       \
    }                                                                                                                  \
    MAP(compare_##T, 2 * SIZE, 1, BITS) {                                                                              \
        T a = GET(0), b = GET(SIZE);                                                                                   \
        u32 r = (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5;                \
        r |= (!(a < b)) << 6 | (!(a <= b)) << 7 | (!(a > b)) << 8 | (!(a >= b)) << 9;                                  \
        r |= (u32)(a != a || b != b) << 10 | (u32)(a == a && b == b) << 11 | (u32)__builtin_islessgreater(a, b) << 12; \
        r |= (u32)(__builtin_isinf(a) != 0) << 13 | (u32)(__builtin_isnormal(a) != 0) << 14;                           \
        r |= (u32)(__builtin_isfinite(b) != 0) << 15;                                                                  \
        PUT(0, r);                                                                                                     \
    }

FLOATS(f32, 1, F32_IN, PUT_F32, F32, __builtin_fmaf, __builtin_sqrtf, __builtin_fminf, __builtin_fmaxf,
       __builtin_copysignf, __builtin_rintf, __builtin_floorf, __builtin_ceilf, __builtin_truncf)
FLOATS(f64, 2, F64_IN, PUT_F64, F64, __builtin_fma, __builtin_sqrt, __builtin_fmin, __builtin_fmax, __builtin_copysign,
       __builtin_rint, __builtin_floor, __builtin_ceil, __builtin_trunc)

#if GPU
#define FMA16(a, b, c) __builtin_fmaf16(a, b, c)
#define SQRT16(a) __builtin_sqrtf16(a)
#define MIN16(a, b) __builtin_fminf16(a, b)
#define MAX16(a, b) __builtin_fmaxf16(a, b)
#define SIGN16(a, b) __builtin_copysignf16(a, b)
#define NEAR16(a) __builtin_rintf16(a)
#define FLOOR16(a) __builtin_floorf16(a)
#define CEIL16(a) __builtin_ceilf16(a)
#define TRUNC16(a) __builtin_truncf16(a)
#else
// The product of two f16 is exact in f64, but its sum with a third is rounded: to odd, so that the
// second rounding is correct.
static f16 FMA16(f16 a, f16 b, f16 c) {
    f64 p = (f64)a * (f64)b, z = (f64)c, s = p + z;
    f64 bb = s - p, err = (p - (s - bb)) + (z - bb);
    u64 bits = AS(u64, s);
    if (err == err && err != 0 && (bits & 1) == 0 && s - s == 0)
        bits += (err > 0) == (s > 0) ? 1 : -1ul;
    return (f16)AS(f64, bits);
}
#define SQRT16(a) (f16) __builtin_sqrt((f64)(a))
#define MIN16(a, b) (f16) __builtin_fminf((f32)(a), (f32)(b))
#define MAX16(a, b) (f16) __builtin_fmaxf((f32)(a), (f32)(b))
#define SIGN16(a, b) (f16) __builtin_copysignf((f32)(a), (f32)(b))
#define NEAR16(a) (f16) __builtin_rintf((f32)(a))
#define FLOOR16(a) (f16) __builtin_floorf((f32)(a))
#define CEIL16(a) (f16) __builtin_ceilf((f32)(a))
#define TRUNC16(a) (f16) __builtin_truncf((f32)(a))
#endif
FLOATS(f16, 1, F16_IN, PUT_F16, F16, FMA16, SQRT16, MIN16, MAX16, SIGN16, NEAR16, FLOOR16, CEIL16, TRUNC16)

// Conversions. Out-of-range values are undefined in C, so values are clamped first.
#define INSIDE(x, low, high) ((x) >= (low) && (x) <= (high) ? (x) : 1)
#define TO_INTEGERS(T, SIZE, GET, I64_LIMIT)                                                                           \
    MAP(integers_from_##T, SIZE, 12, BITS) {                                                                           \
        T a = GET(0);                                                                                                  \
        PUT(0, (i32)(i8)INSIDE(a, -128, 127));                                                                         \
        PUT(1, (u8)INSIDE(a, 0, 255));                                                                                 \
        PUT(2, (i32)(i16)INSIDE(a, (T) - 32760, (T)32760));                                                            \
        PUT(3, (u16)INSIDE(a, 0, (T)65000));                                                                           \
        PUT(4, (i32)INSIDE(a, (T) - 2147483000.0, (T)2147483000.0));                                                   \
        PUT(5, (u32)INSIDE(a, 0, (T)4294967000.0));                                                                    \
        PUT64(6, (i64)INSIDE(a, -(T)I64_LIMIT, (T)I64_LIMIT));                                                         \
        PUT64(8, (u64)INSIDE(a, 0, (T)I64_LIMIT));                                                                     \
        PUT(10, a != 0);                                                                                               \
        PUT(11, (i32)INSIDE(a, (T) - 1000, (T)1000) * 3);                                                              \
    }
TO_INTEGERS(f32, 1, F32_IN, 9.2e18)
TO_INTEGERS(f64, 2, F64_IN, 9.2e18)
TO_INTEGERS(f16, 1, F16_IN, 65000.0)

MAP(f32_from_integers, 2, 9, F32) {
    PUT_F32(0, (i8)in[0]);
    PUT_F32(1, (u8)in[0]);
    PUT_F32(2, (i16)in[0]);
    PUT_F32(3, (u16)in[0]);
    PUT_F32(4, (i32)in[0]);
    PUT_F32(5, in[0]);
    PUT_F32(6, (i64)U64_IN(0));
    PUT_F32(7, U64_IN(0));
    PUT_F32(8, (u8)(in[0] >> 8) + (f32)(u8)(in[0] >> 24) * (u8)(in[1] >> 16));
}

MAP(f64_from_integers, 2, 12, F64) {
    PUT_F64(0, (i8)in[0]);
    PUT_F64(2, (u16)in[0]);
    PUT_F64(4, (i32)in[0]);
    PUT_F64(6, in[0]);
    PUT_F64(8, (i64)U64_IN(0));
    PUT_F64(10, U64_IN(0));
}

MAP(f16_from_integers, 1, 5, F16) {
    PUT_F16(0, (i8)in[0]);
    PUT_F16(1, (u8)in[0]);
    PUT_F16(2, (i16)in[0]);
    PUT_F16(3, (u16)in[0]);
    PUT_F16(4, (i32)in[0] >> 12);
}

MAP(f32_from_floats, 3, 3, F32) {
    PUT_F32(0, F16_IN(0));
    PUT_F32(1, F64_IN(1));
    PUT_F32(2, (f32)(f16)AS(f32, (u32)in[0]));
}

MAP(f64_from_floats, 2, 4, F64) {
    PUT_F64(0, F16_IN(0));
    PUT_F64(2, F32_IN(1));
}

MAP(f16_from_floats, 3, 2, F16) {
    PUT_F16(0, F32_IN(0));
    PUT_F16(1, F64_IN(1));
}

MAP(bf16_from_f32, 2, 3, F32) {
    u32 bits = in[0];
    u32 rounded = (bits & 0x7fffffff) > 0x7f800000 ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
    PUT_F32(0, AS(f32, rounded & 0xffff0000));
    PUT_F32(1, AS(f32, in[1] << 16) * AS(f32, in[0] & 0xffff0000));
    PUT_F32(2, AS(f32, in[1] << 16) + 1.0f);
}

// Splits numbers into mantissa and exponent, and combines them.
MAP(parts_f32, 2, 3, F32) {
    f32 a = F32_IN(0);
    PUT_F32(0, __builtin_isfinite(a) ? __builtin_ldexpf(a, (i32)(in[1] % 300) - 150) : 0);
    i32 e = 0;
    f32 m = __builtin_isfinite(a) && a != 0 ? __builtin_frexpf(a, &e) : 0;
    PUT_F32(1, m);
    PUT_F32(2, (f32)e);
}

MAP(parts_f64, 3, 6, F64) {
    f64 a = F64_IN(0);
    PUT_F64(0, __builtin_isfinite(a) ? __builtin_ldexp(a, (i32)(in[2] % 2400) - 1200) : 0);
    i32 e = 0;
    f64 m = __builtin_isfinite(a) && a != 0 ? __builtin_frexp(a, &e) : 0;
    PUT_F64(2, m);
    PUT_F64(4, (f64)e);
}

MAP(packed_f16, 3, 12, F16) {
    f16x2 a = AS(f16x2, (u32)in[0]), b = AS(f16x2, (u32)in[1]), c = AS(f16x2, (u32)in[2]);
    f16x2 r[6] = {a + b, a - b, a * b, a *b + c, -a * b.yx, a.xx * b - c.yy};
    for (u32 i = 0; i < 6; i++) {
        PUT_F16(2 * i, r[i].x);
        PUT_F16(2 * i + 1, r[i].y);
    }
}

// Products of f16 are exact in f32: instructions that mix both must agree with conversion and arithmetic.
MAP(mixed_f16, 3, 5, F32) {
    f16x2 a = AS(f16x2, (u32)in[0]), b = AS(f16x2, (u32)in[1]);
    f32 c = F32_IN(2);
    PUT_F32(0, __builtin_fmaf((f32)a.x, (f32)b.y, c));
    PUT_F32(1, __builtin_fmaf(-(f32)a.y, (f32)b.x, (f32)b.y));
    PUT_F32(2, __builtin_fmaf(__builtin_fabsf((f32)a.y), c, (f32)a.x));
    PUT_F32(3, (f32)a.x * (f32)b.x);
    PUT_F32(4, (f32)(f16)__builtin_fmaf((f32)a.x, (f32)b.x, 1.0f));
}

MAP(clamped, 2, 4, F32) {
    f32 a = F32_IN(0), b = F32_IN(1);
    if (a != a || b != b)
        a = b = 0.25f;
    PUT_F32(0, __builtin_fminf(__builtin_fmaxf(a + 0.0f, 0.0f), 1.0f) + 1.0f);
    PUT_F32(1, __builtin_fminf(__builtin_fmaxf(a * b + 0.0f, -1.0f), 1.0f) + 2.0f);
    PUT_F32(2, __builtin_fmaxf(__builtin_fmaxf(a, b), 3.0f));
    PUT_F32(3, __builtin_fminf(__builtin_fmaxf(a, -3.0f), 5.0f));
}

// Within a few ulps, for arguments where the functions are well-conditioned.
#define TAME(x, low, high) ((x) >= (low) && (x) <= (high) ? (x) : (f32)((low) + 0.5f))
MAP(transcendental_f32, 1, 4, ULPS) {
    f32 a = F32_IN(0);
    PUT_F32(0, __builtin_exp2f(TAME(a, -120.0f, 120.0f)));
    PUT_F32(1, __builtin_log2f(TAME(a, 1.5f, 1e30f)));
    PUT_F32(2, 1.0f / __builtin_sqrtf(TAME(a, 1e-30f, 1e30f)));
    PUT_F32(3, __builtin_expf(TAME(a, -80.0f, 80.0f)));
}
