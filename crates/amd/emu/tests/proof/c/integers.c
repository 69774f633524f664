// Integers of all widths: arithmetic, shifts, division, comparison, bits.
#define INTEGERS(T, U, BITS_OF)                                                                                        \
    MAP(arith_##T, 2, 12, BITS) {                                                                                      \
        T a = (T)in[0], b = (T)in[1];                                                                                  \
        U s = (U)b & (BITS_OF - 1);                                                                                    \
        PUT(0, (T)(a + b));                                                                                            \
        PUT(1, (T)(a - b));                                                                                            \
        PUT(2, (T)(a * b));                                                                                            \
        PUT(3, (T)(a & b));                                                                                            \
        PUT(4, (T)(a | (T)~b));                                                                                        \
        PUT(5, (T)(a ^ b));                                                                                            \
        PUT(6, (T)((U)a << s));                                                                                        \
        PUT(7, (T)(a >> s));                                                                                           \
        PUT(8, (T)-a);                                                                                                 \
        PUT(9, a < b ? a : b);                                                                                         \
        PUT(10, a > b ? a : b);                                                                                        \
        PUT(11, (T)(a * 7 + b));                                                                                       \
    }                                                                                                                  \
    MAP(compare_##T, 2, 1, BITS) {                                                                                     \
        T a = (T)in[0], b = (T)in[1];                                                                                  \
        u32 r = (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5;                \
        r |= (a > 5 && b < 100) << 6 | (a == 0 || b == 0) << 7;                                                        \
        PUT(0, r);                                                                                                     \
    }                                                                                                                  \
    MAP(divide_##T, 2, 4, BITS) {                                                                                      \
        T a = (T)in[0], b = (T)in[1];                                                                                  \
        if (b == 0 || b == (T)-1)                                                                                      \
            b = 3;                                                                                                     \
        PUT(0, a / b);                                                                                                 \
        PUT(1, a % b);                                                                                                 \
        PUT(2, a / 7);                                                                                                 \
        PUT(3, a % 10);                                                                                                \
    }

INTEGERS(i8, u8, 8)
INTEGERS(u8, u8, 8)
INTEGERS(i16, u16, 16)
INTEGERS(u16, u16, 16)
INTEGERS(i32, u32, 32)
INTEGERS(u32, u32, 32)

#define INTEGERS64(T)                                                                                                  \
    MAP(arith_##T, 4, 26, BITS) {                                                                                      \
        T a = (T)U64_IN(0), b = (T)U64_IN(2);                                                                          \
        u32 s = (u32)b & 63;                                                                                           \
        PUT64(0, a + b);                                                                                               \
        PUT64(2, a - b);                                                                                               \
        PUT64(4, a * b);                                                                                               \
        PUT64(6, a & ~b);                                                                                              \
        PUT64(8, a ^ b);                                                                                               \
        PUT64(10, (u64)a << s);                                                                                        \
        PUT64(12, a >> s);                                                                                             \
        PUT64(14, -a);                                                                                                 \
        PUT64(16, a < b ? a : b);                                                                                      \
        PUT64(18, a > b ? a : b);                                                                                      \
        PUT(20, (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5);               \
        PUT(21, (u32)a * (u32)b);                                                                                      \
        PUT64(22, (T)(i32)a * (T)(i32)b);                                                                              \
        PUT64(24, (u64)(u32)a * (u32)b + (u64)b);                                                                      \
    }                                                                                                                  \
    MAP(divide_##T, 4, 8, BITS) {                                                                                      \
        T a = (T)U64_IN(0), b = (T)U64_IN(2) >> (in[0] & 31);                                                          \
        if (b == 0 || b == (T)-1)                                                                                      \
            b = 3;                                                                                                     \
        PUT64(0, a / b);                                                                                               \
        PUT64(2, a % b);                                                                                               \
        PUT64(4, a / 1000003);                                                                                         \
        PUT64(6, a % 10);                                                                                              \
    }

INTEGERS64(i64)
INTEGERS64(u64)

MAP(high_multiply, 2, 4, BITS) {
    PUT(0, ((u64)in[0] * in[1]) >> 32);
    PUT(1, ((i64)(i32)in[0] * (i32)in[1]) >> 32);
    PUT(2, (in[0] & 0xffffff) * (in[1] & 0xffffff));
    PUT(3, ((i32)(in[0] << 8) >> 8) * ((i32)(in[1] << 8) >> 8) + 5);
}

MAP(bits, 2, 14, BITS) {
    u32 a = in[0], b = in[1];
    u64 w = U64_IN(0);
    PUT(0, a ? __builtin_clz(a) : 99);
    PUT(1, a ? __builtin_ctz(a) : 99);
    PUT(2, __builtin_popcount(a));
    PUT(3, __builtin_bitreverse32(a));
    PUT(4, __builtin_bswap32(a));
    PUT(5, w ? __builtin_clzl(w) : 99);
    PUT(6, w ? __builtin_ctzl(w) : 99);
    PUT(7, __builtin_popcountl(w));
    PUT64(8, __builtin_bitreverse64(w));
    PUT(10, a >> (b & 31) | a << (-b & 31));
    PUT(11, (a >> 5 & 0x7f) | (i32)(b << 9) >> 22);
    PUT(12, (a & b) | (~a & 0x12345678));
    PUT(13, __builtin_bitreverse16((u16)a) ^ __builtin_bswap16((u16)b) ^ __builtin_bitreverse8((u8)b));
}

// Sign- and zero-extended literals, carries, and three-operand instructions that optimizers select.
MAP(combined, 3, 10, BITS) {
    u32 a = in[0], b = in[1], c = in[2];
    PUT(0, a + b + c);
    PUT(1, (a << 3) + b);
    PUT(2, (a << (b & 31)) | c);
    PUT(3, (a & b) | c);
    PUT(4, a ^ b ^ c);
    PUT(5, (a + b) << (c & 31));
    i32 x = (i32)a, lo = (i32)b < (i32)c ? (i32)b : (i32)c, hi = (i32)b < (i32)c ? (i32)c : (i32)b;
    PUT(6, x < lo ? lo : x > hi ? hi : x);
    u32 big = a > b ? a : b;
    PUT(7, big > c ? big : c);
    u64 sum = ((u64)a << 32 | b) + ((u64)c << 32 | a) + 0xfffffffffffffff0ul;
    PUT64(8, sum - ((u64)b << 31));
}

MAP(saturate, 2, 6, BITS) {
    i32 a = (i32)in[0] >> 3, b = (i32)in[1] >> 3;
    i32 s = a + b;
    PUT(0, s > 32767 ? 32767 : s < -32768 ? -32768 : s);
    PUT(1, __builtin_elementwise_add_sat(in[0], in[1]));
    PUT(2, __builtin_elementwise_sub_sat(in[0], in[1]));
    PUT(3, __builtin_elementwise_add_sat((i32)in[0], (i32)in[1]));
    PUT(4, (u16)__builtin_elementwise_add_sat((u16)in[0], (u16)in[1]));
    PUT(5, (u16)__builtin_elementwise_sub_sat((i16)in[0], (i16)in[1]));
}

MAP(packed_i16, 2, 8, BITS) {
    i16x2 a = AS(i16x2, (u32)in[0]), b = AS(i16x2, (u32)in[1]);
    u16x2 ua = AS(u16x2, (u32)in[0]), ub = AS(u16x2, (u32)in[1]);
    PUT(0, AS(u32, a + b));
    PUT(1, AS(u32, a - b));
    PUT(2, AS(u32, a * b));
    PUT(3, AS(u32, a * b + a));
    PUT(4, AS(u32, __builtin_elementwise_min(a, b)));
    PUT(5, AS(u32, __builtin_elementwise_max(ua, ub)));
    PUT(6, AS(u32, ua << (ub & (u16)15)));
    PUT(7, AS(u32, a >> (b & (i16)15)));
}

MAP(dot_i8, 2, 4, BITS) {
    i32 s = 0;
    u32 u = 0, n = 0;
    i32 m = (i32)in[1];
    for (u32 i = 0; i < 4; i++) {
        s += (i32)(i8)(in[0] >> (8 * i)) * (i32)(i8)(in[1] >> (8 * i));
        u += (u32)(u8)(in[0] >> (8 * i)) * (u32)(u8)(in[1] >> (8 * i));
        m += (i32)(i8)(in[0] >> (8 * i)) * (i32)(i8)(in[1] >> (8 * i));
    }
    for (u32 i = 0; i < 8; i++)
        n += (in[0] >> (4 * i) & 15) * (in[1] >> (4 * i) & 15);
    PUT(0, s);
    PUT(1, u);
    PUT(2, n);
    PUT(3, m);
}
