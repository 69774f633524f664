// Loads and stores of all widths, misaligned accesses, generic addresses, LDS, atomics.
MAP(narrow, 8, 8, BITS) {
    GLOBAL const u8 *bytes = (GLOBAL const u8 *)in;
    GLOBAL const u16 *shorts = (GLOBAL const u16 *)in;
    GLOBAL u8 *to = (GLOBAL u8 *)out;
    GLOBAL u16 *to16 = (GLOBAL u16 *)out;
    PUT(0, bytes[3] + ((u32)(i8)bytes[5] << 8));
    PUT(1, shorts[5] + ((u32)(i16)shorts[7] << 4));
    to[8] = bytes[1];
    to[9] = (u8)(in[0] >> 16);
    to[10] = (u8)(in[1] >> 24);
    to[11] = 77;
    to16[6] = (u16)(in[2] >> 16);
    to16[7] = shorts[2];
    u16x2 mixed = {shorts[8], (u16)in[3]};
    PUT(4, AS(u32, mixed));
    u16x2 other = {(u16)in[3], bytes[17]};
    PUT(5, AS(u32, other));
    i16x2 third = {(i16)(i8)bytes[6], (i16)(i8)bytes[9]};
    PUT(6, AS(u32, third));
    PUT(7, bytes[in[7] & 31]);
}

typedef struct __attribute__((packed)) {
    u8 a;
    u32 b;
    u64 c;
    u16 d;
} loose;
MAP(unaligned, 8, 8, BITS) {
    GLOBAL const loose *from = (GLOBAL const loose *)in;
    PUT(0, from->b);
    PUT64(1, from->c);
    PUT(3, from->d + from[1].b);
    GLOBAL loose *to = (GLOBAL loose *)(out + 4);
    to->a = (u8)in[7];
    to->b = in[6] + 1;
    to->c = U64_IN(4);
    to->d = (u16)in[3];
    ((GLOBAL u8 *)out)[31] = 1;
}

MAP(wide, 12, 12, BITS) {
    GLOBAL const u32x4 *from = (GLOBAL const u32x4 *)in;
    u32x4 a = from[0], b = from[1], c = from[2];
    GLOBAL u32x4 *to = (GLOBAL u32x4 *)out;
    to[0] = a + b;
    to[1] = b ^ c;
    to[2] = c.wzyx;
}

static NOINLINE u32 sum_generic(const u32 *p, u32 count) {
    u32 sum = 0;
    for (u32 i = 0; i < count; i++)
        sum = sum * 3 + p[i];
    return sum;
}

GROUP(generic_pointers, 4, 2, BITS) {
    ENTER(4, 2);
    LDS(u32, shared, GROUP_SIZE);
    LANES { shared[lid] = in[4 * lid] ^ lid; }
    BARRIER;
    LANES {
        u32 own[4];
        for (u32 i = 0; i < 4; i++)
            own[i] = in[4 * lid + i] + i;
        u32 kind = in[4 * lid] % 3;
        const u32 *p = kind == 0 ? (const u32 *)own : kind == 1 ? (const u32 *)(shared + lid / 4 * 4)
                                                                : (const u32 *)(in + 4 * lid);
        out[2 * lid] = sum_generic(p, 4);
        u32 *q = in[4 * lid + 1] & 1 ? (u32 *)own : (u32 *)(out + 2 * lid);
        *q += 5;
        out[2 * lid + 1] = own[0];
    }
}

GROUP(reverse, 1, 1, BITS) {
    ENTER(1, 1);
    LDS(u32, shared, GROUP_SIZE);
    LANES { shared[lid] = in[lid]; }
    BARRIER;
    LANES { out[lid] = shared[GROUP_SIZE - 1 - lid] + group; }
}

GROUP(scan, 1, 1, BITS) {
    ENTER(1, 1);
    LDS(u32, shared, GROUP_SIZE);
    PRIVATE(u32, kept);
    LANES { shared[lid] = in[lid]; }
    BARRIER;
    for (u32 step = 1; step < GROUP_SIZE; step *= 2) {
        LANES { OWN(kept) = lid >= step ? shared[lid - step] : 0; }
        BARRIER;
        LANES { shared[lid] += OWN(kept); }
        BARRIER;
    }
    LANES { out[lid] = shared[lid]; }
}

GROUP(tiles, 4, 1, F32) {
    ENTER(4, 1);
    LDS(f32, a, 16 * 16);
    LDS(f32, b, 16 * 16);
    PRIVATE(f32, sum);
    LANES { OWN(sum) = 0; }
    for (u32 tile = 0; tile < 2; tile++) {
        LANES {
            for (u32 i = lid; i < 256; i += GROUP_SIZE) {
                a[i] = (f32)(in[tile * 256 + i] & 15);
                b[i] = (f32)(i32)(in[i] % 9) - 4.0f;
            }
        }
        BARRIER;
        LANES {
            for (u32 i = 0; i < 16; i++)
                OWN(sum) += a[lid / 16 * 16 + i] * b[i * 16 + lid % 16];
        }
        BARRIER;
    }
    LANES { out[lid] = AS(u32, OWN(sum)); }
}

GROUP(shared_narrow, 2, 4, BITS) {
    ENTER(2, 4);
    LDS(u8, bytes, 4 * GROUP_SIZE);
    LDS(u16, shorts, 2 * GROUP_SIZE);
    LDS(u64, longs, GROUP_SIZE);
    LANES {
        for (u32 i = 0; i < 4; i++)
            bytes[4 * lid + i] = (u8)(in[2 * lid] >> (8 * i));
        shorts[2 * lid] = (u16)in[2 * lid + 1];
        shorts[2 * lid + 1] = (u16)(in[2 * lid + 1] >> 16);
        longs[lid] = (u64)in[2 * lid] * in[2 * lid + 1];
    }
    BARRIER;
    LANES {
        u32 k = (lid * 37 + 5) % GROUP_SIZE;
        out[4 * lid] = bytes[k] + ((u32)(i8)bytes[2 * k + 1] << 8);
        u16x2 pair = {shorts[k + 1], shorts[2 * k]};
        out[4 * lid + 1] = AS(u32, pair);
        u64 w = longs[k] + longs[lid ^ 1];
        out[4 * lid + 2] = (u32)w;
        out[4 * lid + 3] = (u32)(w >> 32) + (u32)(i32)(i16)shorts[2 * k + 1];
    }
}

#define ATOMIC(op, p, v) __scoped_atomic_fetch_##op(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
// Operations whose result does not depend on their order.
#define ATOMICS(name, T, SPACE_DECL, SLOTS)                                                                            \
    GROUP(name, 2, 2, BITS) {                                                                                          \
        ENTER(2, 2);                                                                                                   \
        SPACE_DECL;                                                                                                    \
        LANES {                                                                                                        \
            if (lid < SLOTS)                                                                                           \
                slots[lid] = (T)(lid == 5 ? -1 : lid == 6 ? 0x7fffffff : lid == 7 ? 0x80000000 : lid);                 \
        }                                                                                                              \
        BARRIER;                                                                                                       \
        LANES {                                                                                                        \
            T v = (T)in[2 * lid] << (sizeof(T) == 8 ? 13 : 0);                                                         \
            ATOMIC(add, &slots[0], v);                                                                                 \
            ATOMIC(sub, &slots[1], v);                                                                                 \
            ATOMIC(and, &slots[5], v | (T)1 << (lid & 31));                                                            \
            ATOMIC(or, &slots[3], v & (T)3 << (lid & 15));                                                             \
            ATOMIC(xor, &slots[4], v);                                                                                 \
            ATOMIC(min, &slots[6], v);                                                                                 \
            ATOMIC(max, &slots[7], v);                                                                                 \
            if (in[2 * lid + 1] & 1)                                                                                   \
                ATOMIC(add, &slots[8 + (in[2 * lid + 1] >> 1) % 8], 1);                                                \
        }                                                                                                              \
        BARRIER;                                                                                                       \
        PRIVATE(T, kept);                                                                                              \
        LANES { OWN(kept) = lid < SLOTS ? slots[lid] : 0; }                                                            \
        BARRIER;                                                                                                       \
        LANES {                                                                                                        \
            out[2 * lid] = (u32)OWN(kept);                                                                             \
            out[2 * lid + 1] = (u32)((u64)OWN(kept) >> 32);                                                            \
        }                                                                                                              \
    }

ATOMICS(shared_atomics_i32, i32, LDS(i32, slots, 16), 16)
ATOMICS(shared_atomics_u32, u32, LDS(u32, slots, 16), 16)
ATOMICS(shared_atomics_i64, i64, LDS(i64, slots, 16), 16)
ATOMICS(shared_atomics_u64, u64, LDS(u64, slots, 16), 16)
#define IN_OUTPUT(T) GLOBAL T *slots = (GLOBAL T *)(out + 64)
ATOMICS(global_atomics_i32, i32, IN_OUTPUT(i32), 16)
ATOMICS(global_atomics_u32, u32, IN_OUTPUT(u32), 16)
ATOMICS(global_atomics_i64, i64, IN_OUTPUT(i64), 16)
ATOMICS(global_atomics_u64, u64, IN_OUTPUT(u64), 16)

// Return values of atomic operations; each work-item has its own word.
#define EXCHANGE(op, p, v) __scoped_atomic_##op(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
MAP(returned, 4, 12, BITS) {
    GLOBAL u32 *p = out;
    *p = in[0];
    u32 r1 = ATOMIC(add, p, in[1]), r2 = ATOMIC(xor, p, in[2]), r3 = ATOMIC(min, p, in[3]);
    u32 r4 = EXCHANGE(exchange_n, p, in[2]);
    u32 expected = in[3] & 1 ? in[2] : in[1];
    bool same = __scoped_atomic_compare_exchange_n(p, &expected, 99, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __MEMORY_SCOPE_DEVICE);
    PUT(1, r1);
    PUT(2, r2);
    PUT(3, r3);
    PUT(4, r4);
    PUT(5, expected);
    PUT(6, same);
    GLOBAL u64 *q = (GLOBAL u64 *)(out + 8);
    *q = U64_IN(0);
    u64 wide = U64_IN(2);
    u64 r5 = ATOMIC(add, q, wide);
    bool same64 = __scoped_atomic_compare_exchange_n(q, &wide, 1ul, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                     __MEMORY_SCOPE_DEVICE);
    PUT(7, same64);
    PUT64(10, r5 + wide);
}

GROUP(shared_returned, 2, 4, BITS) {
    ENTER(2, 4);
    LDS(u32, words, GROUP_SIZE);
    LDS(u64, longs, GROUP_SIZE);
    LANES {
        words[lid] = in[2 * lid];
        longs[lid] = in[2 * lid + 1];
    }
    BARRIER;
    LANES {
        u32 a = ATOMIC(add, &words[lid], 3), b = ATOMIC(max, &words[lid], in[2 * lid + 1]);
        u32 expected = in[2 * lid + 1];
        __scoped_atomic_compare_exchange_n(&words[lid], &expected, a, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                           __MEMORY_SCOPE_DEVICE);
        u64 c = EXCHANGE(exchange_n, &longs[lid], (u64)a << 32 | b);
        out[4 * lid] = a ^ b;
        out[4 * lid + 1] = expected;
        out[4 * lid + 2] = words[lid] + (u32)c;
        out[4 * lid + 3] = (u32)(longs[lid] >> 32);
    }
}

// Sums of small integers are exact in any order.
GROUP(float_atomics, 2, 2, BITS) {
    ENTER(2, 2);
    LDS(f32, sums, 4);
    GLOBAL f32 *global_sums = (GLOBAL f32 *)(out + 2 * GROUP_SIZE - 4);
    LANES {
        if (lid < 4)
            sums[lid] = global_sums[lid] = 0;
    }
    BARRIER;
    LANES {
#if GPU
        __scoped_atomic_fetch_add(&sums[in[2 * lid] & 3], (f32)(in[2 * lid + 1] & 255), __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_WRKGRP);
        __scoped_atomic_fetch_add(&global_sums[in[2 * lid] & 3], (f32)(in[2 * lid + 1] & 127), __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_DEVICE);
#else
        sums[in[2 * lid] & 3] += (f32)(in[2 * lid + 1] & 255);
        global_sums[in[2 * lid] & 3] += (f32)(in[2 * lid + 1] & 127);
#endif
    }
    BARRIER;
    PRIVATE(u32, kept);
    LANES { OWN(kept) = AS(u32, global_sums[lid & 3]); }
    BARRIER;
    LANES {
        out[2 * lid] = AS(u32, sums[lid & 3]);
        out[2 * lid + 1] = OWN(kept);
    }
}

// Negative indices plus a constant offset: addresses must wrap.
GROUP(negative_shared, 2, 4, BITS) {
    ENTER(2, 4);
    LDS(u32, shared, 2 * GROUP_SIZE);
    LANES {
        shared[lid] = in[2 * lid];
        shared[lid + GROUP_SIZE] = in[2 * lid + 1];
    }
    BARRIER;
    LANES {
        i32 back = -(i32)(in[2 * lid] % GROUP_SIZE) - 1;
        out[4 * lid] = shared[back + GROUP_SIZE];
        out[4 * lid + 1] = shared[back + GROUP_SIZE + 2] + shared[back + 2 * GROUP_SIZE];
        i32 far = (i32)lid - 4 * GROUP_SIZE;
        out[4 * lid + 2] = shared[far + 4 * GROUP_SIZE];
        GLOBAL const u32 *end = in + 2 * GROUP_SIZE;
        out[4 * lid + 3] = end[-(i32)(in[2 * lid + 1] % GROUP_SIZE) - 1];
    }
}

MAP(negative_private, 8, 4, BITS) {
    u32 own[40];
    for (u32 i = 0; i < 40; i++)
        own[i] = in[i % 8] * (i + 1);
    i32 back = -(i32)(in[0] % 16) - 1;
    own[back + 20] ^= in[1];
    PUT(0, own[back + 20]);
    PUT(1, own[back + 16] + own[back + 40]);
    u8 bytes[32];
    for (u32 i = 0; i < 32; i++)
        bytes[i] = (u8)(in[i % 8] >> (i / 8));
    bytes[back + 31] += 3;
    PUT(2, bytes[(i32)(in[3] % 8) - 8 + 12] + bytes[back + 17]);
    PUT(3, own[(i32)(in[2] % 20) - 20 + 39]);
}

// Packed structures, and misaligned words in private memory.
typedef struct __attribute__((packed)) {
    u8 a;
    u32 b;
    u16 c;
    u64 d;
} odd;
static NOINLINE void scatter(odd *to, u32 value) {
    to->a = (u8)value;
    to->b = value * 3;
    to->c = (u16)(value >> 7);
    to->d = (u64)value << 20 | 5;
}
MAP(unaligned_private, 4, 6, BITS) {
    odd own[3];
    u8 bytes[40];
    for (u32 i = 0; i < 3; i++)
        scatter(&own[i], in[i] + i);
    for (u32 i = 0; i < 40; i++)
        bytes[i] = (u8)(in[i & 3] >> (i & 7));
    u32 at = in[3] % 31;
    u32 word;
    __builtin_memcpy(&word, bytes + at, 4);
    PUT(0, word ^ own[in[1] % 3].b);
    PUT64(1, own[in[0] % 3].d + own[1].c);
    word = in[2];
    __builtin_memcpy(bytes + at + 3, &word, 4);
    u64 two;
    __builtin_memcpy(&two, bytes + (at ^ 1), 8);
    PUT64(3, two);
    PUT(5, own[2].a + bytes[39] + own[0].c);
}
