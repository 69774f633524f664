//! Subgroup operations with several subgroup sizes; the last subgroup of a workgroup may be
//! partial.

use super::case::Case;

const SIZES: &[u32] = &[4, 8, 32];

pub(crate) fn cases() -> Vec<Case> {
    vec![built_ins(), sums(), vectors(), shuffles(), scans(), ballots(), wide()]
}

/// Each program queries the subgroup size, so that it works with every size, and writes 1 if all
/// checks hold. It uses `&` instead of `&&` where the right side is a subgroup operation, which all
/// invocations must execute.
fn holds(name: &'static str, workgroup: u32, declarations: &str, body: &str) -> Case {
    let wgsl = format!(
        "{declarations}
        @group(0) @binding(0) var<storage, read_write> output: array<u32>;
        @compute @workgroup_size({workgroup})
        fn main(@builtin(local_invocation_index) i: u32, @builtin(subgroup_invocation_id) lane: u32,
                @builtin(subgroup_size) size: u32, @builtin(subgroup_id) group: u32,
                @builtin(num_subgroups) groups: u32) {{
            let first = group * size;
            let count = min(size, {workgroup}u - first);
            var good = true;
            {body}
            output[i] = select(0u, 1u, good);
        }}"
    );
    Case::new(name, &wgsl).writes(&[], &vec![1u32; workgroup as usize]).subgroup_sizes(SIZES)
}

fn built_ins() -> Case {
    holds(
        "subgroup_built_ins",
        48,
        "",
        "
        good &= lane == i % size && group == i / size && groups == (48u + size - 1u) / size;
        subgroupBarrier();",
    )
}

fn sums() -> Case {
    holds(
        "subgroup_reductions",
        40,
        "fn total(v: u32) -> u32 { return subgroupAdd(v); }",
        "
        var sum = 0u; var product = 1; var low = 1e9; var all_bits = 0xffffffffu; var some = 0u; var odd = 0u;
        for (var k = first; k < first + count; k++) {
            sum += k * k; product *= i32(k % 3u) - 1; low = min(low, f32(k) * 0.5 - 3.0);
            all_bits &= k | 8u; some |= k; odd ^= k;
        }
        good &= total(i * i) == sum;
        good &= subgroupMul(i32(i % 3u) - 1) == product;
        good &= subgroupMin(f32(i) * 0.5 - 3.0) == low;
        good &= subgroupMax(-i32(i)) == -i32(first);
        good &= subgroupAnd(i | 8u) == all_bits;
        good &= subgroupOr(i) == some;
        good &= subgroupXor(i) == odd;
        good &= subgroupAdd(f32(i)) == f32(count * first + count * (count - 1u) / 2u);",
    )
}

fn vectors() -> Case {
    holds(
        "subgroup_vectors",
        32,
        "",
        "
        let v = subgroupAdd(vec3<u32>(1u, i, 2u));
        good &= v.x == count && v.z == 2u * count && v.y == count * first + count * (count - 1u) / 2u;
        let w = subgroupShuffle(vec2<f32>(f32(i), -f32(i)), 1u);
        good &= w.x == f32(first + 1u) && w.y == -w.x;",
    )
}

fn shuffles() -> Case {
    holds(
        "subgroup_shuffles",
        32,
        "",
        "
        good &= subgroupBroadcast(i, 3u) == first + 3u;
        good &= subgroupBroadcastFirst(i * 2u) == first * 2u;
        good &= subgroupShuffle(i, (lane + 1u) % size) == first + (lane + 1u) % size;
        good &= subgroupShuffleXor(i, 2u) == (i ^ 2u);
        let down = subgroupShuffleDown(i, 1u);
        good &= lane + 1u == size || down == i + 1u;
        let up = subgroupShuffleUp(i32(i), 2u);
        good &= lane < 2u || up == i32(i) - 2;
        good &= quadBroadcast(i, 1u) == (i & ~3u) + 1u;
        good &= (quadSwapX(i) == (i ^ 1u)) & (quadSwapY(i) == (i ^ 2u)) & (quadSwapDiagonal(i) == (i ^ 3u));",
    )
}

fn scans() -> Case {
    holds(
        "subgroup_scans",
        40,
        "",
        "
        var before = 0u; var factors = 1.0;
        for (var k = first; k < i; k++) { before += k + 1u; factors *= select(1.0, 2.0, k % 8u == 0u); }
        good &= subgroupExclusiveAdd(i + 1u) == before;
        good &= subgroupInclusiveAdd(i + 1u) == before + i + 1u;
        let factor = select(1.0, 2.0, i % 8u == 0u);
        good &= subgroupExclusiveMul(factor) == factors;
        good &= subgroupInclusiveMul(factor) == factors * factor;
        good &= subgroupInclusiveAdd(-1) == -i32(lane) - 1;",
    )
}

fn ballots() -> Case {
    holds(
        "subgroup_ballots",
        40,
        "",
        "
        let votes = subgroupBallot(i % 2u == 0u);
        good &= votes.x == (0x55555555u & (0xffffffffu >> (32u - count))) && votes.y == 0u;
        good &= subgroupAll(i < 100u) & !subgroupAll(lane != 1u) & subgroupAny(lane == 1u) & !subgroupAny(i > 100u);
        good &= countOneBits(subgroupBallot().x) == count;",
    )
}

fn wide() -> Case {
    holds("subgroup_u64", 32, "", "
        let v = (u64(i) << 33u) | 5lu;
        good &= subgroupShuffleXor(v, 1u) == ((u64(i ^ 1u) << 33u) | 5lu);
        good &= subgroupMax(v) == ((u64(first + count - 1u) << 33u) | 5lu);
        good &= subgroupAdd(i64(lane) - 1000000000000li) == i64(count) * -1000000000000li + i64(count * (count - 1u) / 2u);")
}
