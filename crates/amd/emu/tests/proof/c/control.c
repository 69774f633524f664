// Control flow, calls, private memory, structures.
MAP(branches, 2, 2, BITS) {
    u32 a = in[0], b = in[1], r = 0;
    if (a & 1) {
        r = b * 3;
        if (b & 2)
            r += a;
        else if (b & 4)
            r ^= a << 1;
    } else {
        r = b - a;
        if ((b ^ a) & 8)
            r = ~r;
    }
    PUT(0, r);
    PUT(1, a > b ? (b > 100 ? r + 1 : r - 1) : r);
}

MAP(loops, 2, 3, BITS) {
    u32 a = in[0], n = in[1] & 31, sum = 0, steps = 0;
    for (u32 i = 0; i < n; i++) {
        if ((a >> i & 3) == 3)
            continue;
        for (u32 j = i; j < n; j += 3) {
            sum += a >> j ^ i;
            if ((sum & 15) == 7)
                break;
        }
    }
    u32 x = (a & 1023) + 1;
    while (x != 1 && steps < 200) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        steps++;
    }
    u32 y = a;
    do {
        y = y * 5 + 1;
    } while (y & 0x70);
    PUT(0, sum);
    PUT(1, steps);
    PUT(2, y);
}

MAP(switches, 2, 2, BITS) {
    u32 r = in[1], q = 0;
    switch (in[0] & 15) {
    case 0: r += 1; break;
    case 1: r ^= 0xff00;
    case 2: r <<= 3; break;
    case 3: r = -r; break;
    case 4: r *= 77; break;
    case 7: r = r / 3; break;
    case 8: r = r % 5; break;
    case 9: r |= 0x101; break;
    case 10: r = ~r; break;
    case 11: r >>= 7; break;
    case 14: q = 5; break;
    default: r = 12345;
    }
    switch (in[1] & 0x300) {
    case 0x100: q += 2; break;
    case 0x300: q += 9;
    }
    PUT(0, r);
    PUT(1, q);
}

MAP(early_return, 2, 1, BITS) {
    u32 a = in[0], b = in[1];
    PUT(0, 7);
    if ((a & 3) == 0)
        return;
    for (u32 i = 0; i < 16; i++) {
        b = b * 69069 + 1;
        if (b >> 28 == (a & 15)) {
            PUT(0, b ^ i);
            return;
        }
    }
    PUT(0, b);
}

static NOINLINE u32 mix_words(u32 a, u32 b) { return (a ^ b >> 3) * 0x9e3779b1u; }
static NOINLINE u64 mix_long(u64 a, u32 b, f32 c) { return (a << 7 | a >> 57) + b + (u32)(i32)c; }
static NOINLINE f64 mix_double(f64 a, i32 b) { return a * 0.5 + b; }
typedef struct {
    u32 a;
    u8 b;
    i16 c;
    f32 d[3];
} record;
static NOINLINE record make_record(u32 a, u32 b) {
    record r = {a + b, (u8)b, (i16)a, {1.0f, (f32)(a & 255), 3.0f}};
    return r;
}
static NOINLINE u32 sum_record(record r, u32 i) { return r.a + r.b + (u32)r.c + (u32)r.d[i % 3]; }
static NOINLINE u32 many(u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g, u32 h, u64 i, u64 j, u64 k, u64 l, u64 m,
                         u64 n, u64 o, u64 p, u32 q, u32 r, u32 s, u32 t, u32 u, u32 v, u32 w, u32 x) {
    u64 sum = a + 2 * b + 3 * c + 4 * d + e * f + g * h + i + 2 * j + 3 * k + 4 * l + 5 * m + 6 * n + 7 * o + 8 * p;
    return (u32)(sum >> 3) + q + r * s + t * u + v * w + x;
}

MAP(calls, 3, 5, BITS) {
    u32 a = in[0], b = in[1];
    PUT(0, mix_words(a, b) + mix_words(b, a));
    u64 w = mix_long((u64)a << 32 | b, a, (f32)(a & 1023));
    PUT(1, w ^ w >> 32);
    PUT(2, (i32)mix_double((f64)(a & 0xffff), (i32)(b & 0xffff)));
    record r = make_record(a, b);
    if (b & 1)
        r = make_record(r.a, a);
    PUT(3, sum_record(r, a));
    u32 c = 0;
    if (a & 2)
        c = many(a, b, c, 4, 5, b, 7, 8, a, b, 11, 12, 13, a, 15, 16, 17, b, a, 20, 21, 22, a, b);
    PUT(4, c);
}

typedef u32 (*function)(u32, u32);
static NOINLINE u32 one(u32 a, u32 b) { return a + b; }
static NOINLINE u32 two(u32 a, u32 b) { return a * b + one(b, a); }
static NOINLINE u32 three(u32 a, u32 b) {
    u32 s = 0;
    for (u32 i = 0; i < (b & 7); i++)
        s = s * 3 + mix_words(a, i);
    return s;
}


MAP(function_pointers, 2, 2, BITS) {
    u32 a = in[0], b = in[1];
    function f = a % 3 == 0 ? one : a % 3 == 1 ? two : three;
    PUT(0, f(a, b));
    function g = b & 1 ? f : two;
    PUT(1, g(b, a) + f(1, a));
}


MAP(private_array, 2, 4, BITS) {
    u32 words[24];
    u8 bytes[40];
    u32 a = in[0], b = in[1];
    for (u32 i = 0; i < 24; i++)
        words[i] = a * i + b;
    for (u32 i = 0; i < 40; i++)
        bytes[i] = (u8)(a >> (i & 15));
    for (u32 i = 0; i < 10; i++) {
        u32 from = (b >> i) % 24, to = (a >> i) % 24;
        u32 kept = words[to];
        words[to] = words[from] + i;
        words[from] = kept;
        bytes[(a >> i) % 40] += bytes[(b >> i) % 40];
    }
    u32 sum = 0, sum8 = 0;
    for (u32 i = 0; i < 24; i++)
        sum = sum * 31 + words[i];
    for (u32 i = 0; i < 40; i++)
        sum8 = sum8 * 31 + bytes[i];
    PUT(0, sum);
    PUT(1, sum8);
    PUT(2, words[a % 24]);
    PUT(3, bytes[b % 40]);
}

MAP(private_wide, 2, 6, BITS) {
    u64 longs[9];
    u16 shorts[18];
    f32x4 vectors[5];
    u32 a = in[0], b = in[1];
    for (u32 i = 0; i < 9; i++)
        longs[i] = (u64)a * (b + i);
    for (u32 i = 0; i < 18; i++)
        shorts[i] = (u16)(a * i ^ b);
    for (u32 i = 0; i < 5; i++)
        vectors[i] = (f32)(a & 255) + (f32)i * (f32x4){1, 2, 3, 4};
    longs[a % 9] ^= longs[b % 9] << 3;
    shorts[b % 18] -= shorts[a % 18];
    vectors[a % 5] += vectors[b % 5];
    vectors[b % 5][a & 3] = 9;
    u64 sum = 0;
    u32 sum16 = 0;
    f32x4 total = 0;
    for (u32 i = 0; i < 9; i++)
        sum = sum * 5 + longs[i];
    for (u32 i = 0; i < 18; i++)
        sum16 = sum16 * 7 + shorts[i];
    for (u32 i = 0; i < 5; i++)
        total += vectors[i];
    PUT64(0, sum);
    PUT(2, sum16);
    PUT(3, (i32)(total.x + total.y));
    PUT(4, (i32)(total.z - total.w));
    PUT(5, (u32)(i32)(i16)shorts[a % 18]);
}

// Private addresses passed to functions are generic addresses.
static NOINLINE void bump(u32 *word, u8 *byte, u32 by) {
    *word += by;
    *byte ^= (u8)by;
}
MAP(private_pointers, 2, 3, BITS) {
    u32 words[4] = {1, 2, 3, 4};
    u8 bytes[4] = {5, 6, 7, 8};
    bump(&words[in[0] & 3], &bytes[in[1] & 3], in[0]);
    bump(&words[in[1] & 3], &bytes[in[0] & 3], in[1]);
    PUT(0, words[0] + 3 * words[1] + 5 * words[2] + 7 * words[3]);
    PUT(1, bytes[0] + 3 * bytes[1] + 5 * bytes[2] + 7 * bytes[3]);
    PUT(2, words[in[0] >> 4 & 3]);
}

MAP(structures, 3, 3, BITS) {
    record all[4];
    for (u32 i = 0; i < 4; i++)
        all[i] = (record){in[0] * i, (u8)(in[1] >> i), (i16)(in[2] ^ i), {1, 2, (f32)i}};
    all[in[1] & 3].c += 3;
    all[in[2] & 3] = all[in[0] & 3];
    u32 sum = 0;
    for (u32 i = 0; i < 4; i++)
        sum = sum * 3 + all[i].a + all[i].b + (u32)(i32)all[i].c + (u32)all[i].d[i % 3];
    PUT(0, sum);
    PUT(1, all[in[2] & 3].a);
    PUT(2, (u32)(i32)all[in[1] & 3].c);
}

// Tests the comparison itself: results must differ.
MAP(planted, 1, 1, DIFFERS) { PUT(0, in[0] == 1 ? GPU : 0); }
