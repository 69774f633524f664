// Cross-lane operations against a scalar model. WAVE is 32 or 64.
#if GPU
#define READ_LANE(v, k) (u32) __builtin_amdgcn_readlane((i32)OWN(v), k)
#define READ_FIRST(v, condition) (u32) __builtin_amdgcn_readfirstlane((i32)OWN(v))
#define BACK_PERMUTE(v, k) (u32) __builtin_amdgcn_ds_bpermute((i32)(4 * (k)), (i32)OWN(v))
#define PERMUTE(v, k) (u32) __builtin_amdgcn_ds_permute((i32)(4 * OWN(k)), (i32)OWN(v))
#define SWIZZLE(v, pattern) (u32) __builtin_amdgcn_ds_swizzle((i32)OWN(v), pattern)
#define DPP(old, v, control, rows, banks, bound)                                                                       \
    (u32) __builtin_amdgcn_update_dpp((i32)OWN(old), (i32)OWN(v), control, rows, banks, bound)
#define DPP8(v, select) (u32) __builtin_amdgcn_mov_dpp8(OWN(v), select)
#define PERMLANE16(old, v, low, high, fi, bc) (u32) __builtin_amdgcn_permlane16(OWN(old), OWN(v), low, high, fi, bc)
#define PERMLANEX16(old, v, low, high, fi, bc) (u32) __builtin_amdgcn_permlanex16(OWN(old), OWN(v), low, high, fi, bc)
#if WAVE == 64
#define BALLOT(v, condition) __builtin_amdgcn_ballot_w64((condition) != 0)
#else
#define BALLOT(v, condition) (u64) __builtin_amdgcn_ballot_w32((condition) != 0)
#endif
#define COUNT_BELOW(mask, base)                                                                                        \
    (u32) __builtin_amdgcn_mbcnt_hi((u32)((mask) >> 32), __builtin_amdgcn_mbcnt_lo((u32)(mask), base))
#else
#define START (lid / WAVE * WAVE)
static u32 swizzled(const u32 *v, u32 lid, u32 pattern) {
    u32 at = lid & 31, from = pattern & 0x8000 ? (at & ~3u) | (pattern >> (2 * (at & 3)) & 3)
                                               : ((at & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
    return v[(lid & ~31u) | from];
}
static u32 dpp(const u32 *old, const u32 *v, u32 lid, u32 control, u32 rows, u32 banks, bool bound) {
    u32 at = lid & 15, row = lid % WAVE / 16;
    i32 from = (i32)at, amount = (i32)(control & 15);
    if (control < 0x100)
        from = (i32)((at & ~3u) | (control >> (2 * (at & 3)) & 3));
    else if (control < 0x110)
        from += amount;
    else if (control < 0x120)
        from -= amount;
    else if (control < 0x130)
        from = (from - amount) & 15;
    else if (control == 0x140)
        from = 15 - from;
    else if (control == 0x141)
        from = (from & 8) | (7 - (from & 7));
    else if (control < 0x160)
        from = amount;
    else
        from ^= amount;
    // wave64 has four rows, wave32 two.
    if (!(rows >> row & 1) || !(banks >> (at / 4) & 1))
        return old[lid];
    if (from < 0 || from > 15)
        return bound ? 0 : old[lid];
    return v[(lid & ~15u) | (u32)from];
}
static u64 ballot(const u32 *v, u32 lid) {
    u64 mask = 0;
    for (u32 k = 0; k < WAVE; k++)
        mask |= (u64)(v[lid / WAVE * WAVE + k] != 0) << k;
    return mask;
}
static u32 first_where(const u32 *v, const u32 *conditions, u32 lid) {
    for (u32 k = 0; k < WAVE; k++)
        if (conditions[lid / WAVE * WAVE + k])
            return v[lid / WAVE * WAVE + k];
    return 0;
}
static u32 pushed(const u32 *v, const u32 *k, u32 lid) {
    for (u32 other = 0; other < 32; other++)
        if (k[(lid & ~31u) + other] == (lid & 31))
            return v[(lid & ~31u) + other];
    return 0;
}
#define READ_LANE(v, k) v[START + ((k) & (WAVE - 1))]
#define READ_FIRST(v, condition) first_where(v, condition, lid)
#define BACK_PERMUTE(v, k) v[(lid & ~31u) | ((k) & 31)]
#define PERMUTE(v, k) pushed(v, k, lid)
#define SWIZZLE(v, pattern) swizzled(v, lid, pattern)
#define DPP(old, v, control, rows, banks, bound) dpp(old, v, lid, control, rows, banks, bound)
#define DPP8(v, select) v[(lid & ~7u) | ((select) >> (3 * (lid & 7)) & 7)]
#define PERMLANE16(old, v, low, high, fi, bc)                                                                          \
    v[(lid & ~15u) | ((lid & 8 ? (high) >> (4 * (lid & 7)) : (low) >> (4 * (lid & 7))) & 15)]
#define PERMLANEX16(old, v, low, high, fi, bc)                                                                         \
    v[((lid ^ 16) & ~15u) | ((lid & 8 ? (high) >> (4 * (lid & 7)) : (low) >> (4 * (lid & 7))) & 15)]
#define BALLOT(v, condition) ballot(condition##_all, lid)
#define COUNT_BELOW(mask, base) (base) + (u32)__builtin_popcountl((mask) & ((1ul << lid % WAVE) - 1))
#endif

GROUP(lanes_read, 2, 5, BITS) {
    ENTER(2, 5);
    PRIVATE(u32, v);
    PRIVATE(u32, odd);
    LANES {
        OWN(v) = in[2 * lid];
        OWN(odd) = in[2 * lid + 1] & 1;
    }
    LANES {
        out[5 * lid] = READ_LANE(v, 3) + READ_LANE(v, 31);
        out[5 * lid + 1] = READ_LANE(v, WAVE - 2);
        out[5 * lid + 2] = 0;
        if (OWN(odd))
            out[5 * lid + 2] = READ_FIRST(v, odd);
        out[5 * lid + 3] = BACK_PERMUTE(v, in[2 * lid + 1]);
        out[5 * lid + 4] = SWIZZLE(v, 0x041f) + SWIZZLE(v, 0x00f7) + 3 * SWIZZLE(v, 0x801b) + 5 * SWIZZLE(v, 0x7c1f);
    }
}

GROUP(lanes_pushed, 2, 1, BITS) {
    ENTER(2, 1);
    PRIVATE(u32, v);
    PRIVATE(u32, k);
    LANES {
        OWN(v) = in[2 * lid];
        OWN(k) = (lid * 5 + 3) & 31;
    }
    LANES { out[lid] = PERMUTE(v, k); }
}

GROUP(lanes_moved, 2, 14, BITS) {
    ENTER(2, 14);
    PRIVATE(u32, v);
    PRIVATE(u32, old);
    LANES {
        OWN(v) = in[2 * lid];
        OWN(old) = in[2 * lid + 1];
    }
    LANES {
        out[14 * lid] = DPP(old, v, 0x1b, 15, 15, false);
        out[14 * lid + 1] = DPP(old, v, 0x101, 15, 15, false);
        out[14 * lid + 2] = DPP(old, v, 0x104, 15, 15, true);
        out[14 * lid + 3] = DPP(old, v, 0x112, 15, 15, false);
        out[14 * lid + 4] = DPP(old, v, 0x118, 15, 15, true);
        out[14 * lid + 5] = DPP(old, v, 0x123, 15, 15, false);
        out[14 * lid + 6] = DPP(old, v, 0x140, 15, 15, false);
        out[14 * lid + 7] = DPP(old, v, 0x141, 15, 15, false);
        out[14 * lid + 8] = DPP(old, v, 0x15a, 15, 15, false);
        out[14 * lid + 9] = DPP(old, v, 0x165, 15, 15, false);
        out[14 * lid + 10] = DPP(old, v, 0x111, 0xa, 0xc, false);
        out[14 * lid + 11] = DPP(old, v, 0x4e, 0x5, 0x3, true);
        out[14 * lid + 12] = DPP8(v, 0x1facd1 & 0xffffff);
        out[14 * lid + 13] = OWN(v) + DPP(old, v, 0xb1, 15, 15, true);
    }
}

GROUP(lanes_permuted, 2, 3, BITS) {
    ENTER(2, 3);
    PRIVATE(u32, v);
    PRIVATE(u32, old);
    LANES {
        OWN(v) = in[2 * lid];
        OWN(old) = in[2 * lid + 1];
    }
    LANES {
        out[3 * lid] = PERMLANE16(old, v, 0x76543210u, 0x89abcdefu, false, false);
        out[3 * lid + 1] = PERMLANEX16(old, v, 0xfedcba98u, 0x01234567u, false, false);
        out[3 * lid + 2] = PERMLANEX16(old, v, 0x11111111u, 0xeeeeeeeeu, true, true);
    }
}

GROUP(lanes_counted, 1, 4, BITS) {
    ENTER(1, 4);
    PRIVATE(u32, odd_all);
    LANES { OWN(odd_all) = in[lid] & 1; }
    LANES {
#if GPU
        u32 odd = OWN(odd_all);
#endif
        u64 mask = BALLOT(odd_all, odd);
        out[4 * lid] = (u32)mask;
        out[4 * lid + 1] = (u32)(mask >> 32);
        out[4 * lid + 2] = COUNT_BELOW(mask, 7);
        out[4 * lid + 3] = COUNT_BELOW(~0ul, 0);
    }
}

// Wave-wide sums as typical reductions compute them.
GROUP(lanes_summed, 1, 2, BITS) {
    ENTER(1, 2);
    PRIVATE(u32, v);
    LANES { OWN(v) = in[lid]; }
#if GPU
    LANES {
        u32 s = OWN(v);
        s += __builtin_amdgcn_update_dpp(0, s, 0x161, 15, 15, true);
        s += __builtin_amdgcn_update_dpp(0, s, 0x162, 15, 15, true);
        s += __builtin_amdgcn_update_dpp(0, s, 0x164, 15, 15, true);
        s += __builtin_amdgcn_update_dpp(0, s, 0x168, 15, 15, true);
        s += __builtin_amdgcn_permlanex16(s, s, 0x76543210, 0xfedcba98, false, false);
#if WAVE == 64
        s = __builtin_amdgcn_readlane(s, 0) + __builtin_amdgcn_readlane(s, 32);
#endif
        out[2 * lid] = s;
        f32 f = (f32)(OWN(v) & 255);
        f += AS(f32, __builtin_amdgcn_update_dpp(0, AS(i32, f), 0x111, 15, 15, true));
        f += AS(f32, __builtin_amdgcn_update_dpp(0, AS(i32, f), 0x112, 15, 15, true));
        out[2 * lid + 1] = AS(u32, f);
    }
#else
    LANES {
        u32 s = 0;
        for (u32 k = 0; k < WAVE; k++)
            s += v[START + k];
        out[2 * lid] = s;
        f32 f = 0;
        for (u32 k = 0; k < 4; k++)
            f += (lid & 15) >= k ? (f32)(v[lid - k] & 255) : 0;
        out[2 * lid + 1] = AS(u32, f);
    }
#endif
}

#if defined(__GFX11__) || !GPU
// Matrix products of small integers are exact in any order. Lanes 0 to 15 have the rows of A and the
// columns of B; the other lanes repeat them.
#define SMALL(word) ((i32)((word) % 9) - 4)
#if GPU
typedef f16 f16x16 __attribute__((ext_vector_type(16)));
typedef i16 i16x16 __attribute__((ext_vector_type(16)));
typedef i32 i32x4 __attribute__((ext_vector_type(4)));
#if WAVE == 64
#define ROWS 4
typedef f32 result_f32 __attribute__((ext_vector_type(4)));
typedef i32 result_i32 __attribute__((ext_vector_type(4)));
#define PRODUCT(name) __builtin_amdgcn_wmma_##name##_w64
#else
#define ROWS 8
typedef f32 result_f32 __attribute__((ext_vector_type(8)));
typedef i32 result_i32 __attribute__((ext_vector_type(8)));
#define PRODUCT(name) __builtin_amdgcn_wmma_##name##_w32
#endif
GROUP(matrix_f16, 40, 8, BITS) {
    ENTER(40, 8);
    LANES {
        in_t own = in + lid / WAVE * WAVE * 40 + (lid & 15) * 40;
        f16x16 a, b;
        for (u32 k = 0; k < 16; k++) {
            a[k] = (f16)SMALL(own[k]);
            b[k] = (f16)SMALL(own[16 + k]);
        }
        result_f32 c;
        for (u32 i = 0; i < ROWS; i++)
            c[i] = (f32)SMALL(in[lid * 40 + 32 + i]);
        c = PRODUCT(f32_16x16x16_f16)(a, b, c);
        for (u32 i = 0; i < 8; i++)
            out[lid * 8 + i] = i < ROWS ? AS(u32, c[i % ROWS]) : 0;
    }
}
GROUP(matrix_bf16, 40, 8, BITS) {
    ENTER(40, 8);
    LANES {
        in_t own = in + lid / WAVE * WAVE * 40 + (lid & 15) * 40;
        i16x16 a, b;
        for (u32 k = 0; k < 16; k++) {
            a[k] = (i16)(AS(u32, (f32)SMALL(own[k])) >> 16);
            b[k] = (i16)(AS(u32, (f32)SMALL(own[16 + k])) >> 16);
        }
        result_f32 c;
        for (u32 i = 0; i < ROWS; i++)
            c[i] = (f32)SMALL(in[lid * 40 + 32 + i]);
        c = PRODUCT(f32_16x16x16_bf16)(a, b, c);
        for (u32 i = 0; i < 8; i++)
            out[lid * 8 + i] = i < ROWS ? AS(u32, c[i % ROWS]) : 0;
    }
}
GROUP(matrix_i8, 40, 8, BITS) {
    ENTER(40, 8);
    LANES {
        in_t own = in + lid / WAVE * WAVE * 40 + (lid & 15) * 40;
        i32x4 a = 0, b = 0;
        for (u32 k = 0; k < 16; k++) {
            a[k / 4] |= (i32)(own[k] & 0xff) << (8 * (k & 3));
            b[k / 4] |= (i32)(own[16 + k] & 0xff) << (8 * (k & 3));
        }
        result_i32 c;
        for (u32 i = 0; i < ROWS; i++)
            c[i] = SMALL(in[lid * 40 + 32 + i]);
        c = PRODUCT(i32_16x16x16_iu8)(true, a, false, b, c, false);
        for (u32 i = 0; i < 8; i++)
            out[lid * 8 + i] = i < ROWS ? (u32)c[i % ROWS] : 0;
    }
}
// f16 and bf16 sums take half a register. The last argument selects the upper halves; the others are
// preserved.
typedef f16 result_f16 __attribute__((ext_vector_type(2 * ROWS)));
typedef i16 result_bf16 __attribute__((ext_vector_type(2 * ROWS)));
#define HALVES(name, UPPER)                                                                                            \
    GROUP(name, 40, 8, BITS) {                                                                                         \
        ENTER(40, 8);                                                                                                  \
        LANES {                                                                                                        \
            in_t own = in + lid / WAVE * WAVE * 40 + (lid & 15) * 40;                                                  \
            HALVES_FACTORS(a, b, c)                                                                                    \
            for (u32 i = 0; i < 2 * ROWS; i++)                                                                         \
                c[i] = HALF(i % 2 == UPPER ? SMALL(in[lid * 40 + 32 + i / 2]) : 3);                                    \
            c = HALVES_PRODUCT(a, b, c, UPPER);                                                                        \
            for (u32 i = 0; i < 8; i++) {                                                                              \
                u32 at = 2 * (i % ROWS);                                                                               \
                u16x2 pair = {AS(u16, c[at]), AS(u16, c[at + 1])};                                                     \
                out[lid * 8 + i] = i < ROWS ? AS(u32, pair) : 0;                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
#define HALF(x) ((f16)(x))
#define HALVES_FACTORS(a, b, c)                                                                                        \
    f16x16 a, b;                                                                                                       \
    result_f16 c;                                                                                                      \
    for (u32 k = 0; k < 16; k++) {                                                                                     \
        a[k] = HALF(SMALL(own[k]));                                                                                    \
        b[k] = HALF(SMALL(own[16 + k]));                                                                               \
    }
#define HALVES_PRODUCT PRODUCT(f16_16x16x16_f16)
HALVES(matrix_f16_low, 0)
HALVES(matrix_f16_high, 1)
#undef HALF
#undef HALVES_FACTORS
#undef HALVES_PRODUCT
#define HALF(x) ((i16)(AS(u32, (f32)(x)) >> 16))
#define HALVES_FACTORS(a, b, c)                                                                                        \
    i16x16 a, b;                                                                                                       \
    result_bf16 c;                                                                                                     \
    for (u32 k = 0; k < 16; k++) {                                                                                     \
        a[k] = HALF(SMALL(own[k]));                                                                                    \
        b[k] = HALF(SMALL(own[16 + k]));                                                                               \
    }
#define HALVES_PRODUCT PRODUCT(bf16_16x16x16_bf16)
HALVES(matrix_bf16_low, 0)
HALVES(matrix_bf16_high, 1)
typedef i32 i32x2 __attribute__((ext_vector_type(2)));
GROUP(matrix_i4, 40, 8, BITS) {
    ENTER(40, 8);
    LANES {
        in_t own = in + lid / WAVE * WAVE * 40 + (lid & 15) * 40;
        i32x2 a = 0, b = 0;
        for (u32 k = 0; k < 16; k++) {
            a[k / 8] |= (i32)(own[k] & 15) << (4 * (k & 7));
            b[k / 8] |= (i32)(own[16 + k] & 15) << (4 * (k & 7));
        }
        result_i32 c;
        for (u32 i = 0; i < ROWS; i++)
            c[i] = SMALL(in[lid * 40 + 32 + i]);
        c = PRODUCT(i32_16x16x16_iu4)(false, a, true, b, c, false);
        for (u32 i = 0; i < 8; i++)
            out[lid * 8 + i] = i < ROWS ? (u32)c[i % ROWS] : 0;
    }
}
#else
#define ROWS (256 / WAVE)
// Element (row, column) of the product is in lane `column + 16 * (row % (WAVE / 16))`, register `row / (WAVE / 16)`.
#define MATRIX(name, A, B, C, WRITE)                                                                                   \
    GROUP(name, 40, 8, BITS) {                                                                                         \
        ENTER(40, 8);                                                                                                  \
        LANES {                                                                                                        \
            in_t wave = in + START * 40;                                                                               \
            for (u32 i = 0; i < 8; i++)                                                                                \
                out[lid * 8 + i] = 0;                                                                                  \
            for (u32 i = 0; i < ROWS; i++) {                                                                           \
                u32 row = i * (WAVE / 16) + lid % WAVE / 16, column = lid & 15;                                        \
                i32 sum = SMALL(in[lid * 40 + 32 + i]);                                                                \
                for (u32 k = 0; k < 16; k++)                                                                           \
                    sum += A(wave[row * 40 + k]) * B(wave[column * 40 + 16 + k]);                                      \
                out[lid * 8 + i] = WRITE(sum);                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }
#define AS_FLOAT(x) AS(u32, (f32)(x))
MATRIX(matrix_f16, SMALL, SMALL, SMALL, AS_FLOAT)
MATRIX(matrix_bf16, SMALL, SMALL, SMALL, AS_FLOAT)
MATRIX(matrix_i8, (i32)(i8), (u8), SMALL, (u32))
#define UNSIGNED4(word) ((i32)((word) & 15))
#define SIGNED4(word) ((i32)((word) << 28) >> 28)
MATRIX(matrix_i4, UNSIGNED4, SIGNED4, SMALL, (u32))
// The sums are small integers: exact in f16, rounded to nearest even in bf16.
static u32 f16_of_sum(i32 sum) { return AS(u16, (f16)sum); }
static u32 bf16_of_sum(i32 sum) {
    u32 bits = AS(u32, (f32)sum);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
#define F16_LOW(sum) (f16_of_sum(sum) | f16_of_sum(3) << 16)
#define F16_HIGH(sum) (f16_of_sum(sum) << 16 | f16_of_sum(3))
#define BF16_LOW(sum) (bf16_of_sum(sum) | bf16_of_sum(3) << 16)
#define BF16_HIGH(sum) (bf16_of_sum(sum) << 16 | bf16_of_sum(3))
MATRIX(matrix_f16_low, SMALL, SMALL, SMALL, F16_LOW)
MATRIX(matrix_f16_high, SMALL, SMALL, SMALL, F16_HIGH)
MATRIX(matrix_bf16_low, SMALL, SMALL, SMALL, BF16_LOW)
MATRIX(matrix_bf16_high, SMALL, SMALL, SMALL, BF16_HIGH)
#endif
#endif
