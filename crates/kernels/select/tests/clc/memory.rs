//! Workgroup memory, barriers and atomics.

use super::case::Case;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        reduction(),
        uniform_load(),
        cleared(),
        atomics(),
        compare_exchange(),
        float_atomic(),
        wide_atomics(),
        grid(),
        private_vectors(),
    ]
}

fn reduction() -> Case {
    let wgsl = "
        const N = 64u;
        @group(0) @binding(0) var<storage, read> input: array<u32>;
        @group(0) @binding(1) var<storage, read_write> output: array<u32>;
        var<workgroup> partial: array<u32, N>;
        fn fold(i: u32, width: u32) { if i < width { partial[i] += partial[i + width]; } }
        @compute @workgroup_size(N)
        fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) i: u32,
                @builtin(workgroup_id) group: vec3<u32>) {
            partial[i] = input[id.x];
            workgroupBarrier();
            for (var width = N / 2u; width > 0u; width /= 2u) { fold(i, width); workgroupBarrier(); }
            if i == 0u { output[group.x] = partial[0]; }
            storageBarrier();
        }";
    let input: Vec<u32> = (0..128).map(|v| v * v).collect();
    let sums = [input[..64].iter().sum::<u32>(), input[64..].iter().sum()];
    Case::new("workgroup_reduction", wgsl).reads(&input).writes(&[], &sums).groups([2, 1, 1])
}

fn uniform_load() -> Case {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> output: array<u32>;
        var<workgroup> limit: u32;
        @compute @workgroup_size(8)
        fn main(@builtin(local_invocation_index) i: u32) {
            if i == 3u { limit = 40u + i; }
            let n = workgroupUniformLoad(&limit);
            limit = n + i;
            output[i] = n;
        }";
    Case::new("workgroup_uniform_load", wgsl).writes(&[], &[43u32; 8])
}

fn cleared() -> Case {
    let wgsl = "
        struct Odd { a: array<u32, 7>, b: vec3<f32> }
        @group(0) @binding(0) var<storage, read_write> output: array<u32>;
        var<workgroup> memory: Odd;
        var<workgroup> count: atomic<u32>;
        @compute @workgroup_size(4)
        fn main(@builtin(local_invocation_index) i: u32) {
            atomicAdd(&count, memory.a[i] + memory.a[6] + u32(memory.b.y) + 1u);
            workgroupBarrier();
            memory.a[i] = 77u;
            output[i] = atomicLoad(&count);
        }";
    Case::new("cleared_workgroup_memory", wgsl).writes(&[], &[4u32; 4]).zero_workgroup_memory()
}

fn atomics() -> Case {
    let wgsl = "
        struct Counters { sum: atomic<u32>, low: atomic<i32>, high: atomic<i32>, bits: atomic<u32>, slots: array<atomic<u32>, 3> }
        @group(0) @binding(0) var<storage, read_write> c: Counters;
        @group(0) @binding(1) var<storage, read_write> output: array<u32>;
        var<workgroup> turn: atomic<u32>;
        @compute @workgroup_size(16)
        fn main(@builtin(local_invocation_index) i: u32) {
            if i == 0u { atomicStore(&turn, 100u); }
            workgroupBarrier();
            atomicAdd(&c.sum, i);
            atomicSub(&turn, 1u);
            atomicMin(&c.low, 5 - i32(i));
            atomicMax(&c.high, i32(i) - 20);
            atomicOr(&c.bits, 1u << i);
            atomicAnd(&c.slots[0], ~(1u << i));
            atomicXor(&c.slots[i % 2u + 1u], 1u << i);
            workgroupBarrier();
            if i == 0u {
                output[0] = atomicLoad(&turn);
                output[1] = atomicExchange(&c.sum, 7u);
            }
        }";
    let min = (-10i32).cast_unsigned();
    let max = (-5i32).cast_unsigned();
    Case::new("atomics", wgsl)
        .writes(
            &[0u32, 0, i32::MIN.cast_unsigned(), 0, u32::MAX, 0, 0],
            &[7u32, min, max, 0xffff, 0xffff_0000, 0x5555, 0xaaaa],
        )
        .writes(&[], &[84u32, 120])
}

fn compare_exchange() -> Case {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> lock: atomic<u32>;
        @group(0) @binding(1) var<storage, read_write> output: array<u32>;
        @compute @workgroup_size(1)
        fn main() {
            let first = atomicCompareExchangeWeak(&lock, 5u, 9u);
            let second = atomicCompareExchangeWeak(&lock, 5u, 10u);
            output[0] = first.old_value + u32(first.exchanged) * 100u;
            output[1] = second.old_value + u32(second.exchanged) * 100u;
            var n = 0u;
            loop {
                let old = atomicLoad(&lock);
                if atomicCompareExchangeWeak(&lock, old, old * 2u).exchanged { n += 1u; }
                if n == 3u { break; }
            }
        }";
    Case::new("compare_exchange", wgsl).writes(&[5u32], &[72u32]).writes(&[], &[105u32, 9])
}

fn float_atomic() -> Case {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> sum: atomic<f32>;
        @group(0) @binding(1) var<storage, read_write> output: array<f32>;
        @compute @workgroup_size(32)
        fn main(@builtin(local_invocation_index) i: u32) {
            atomicAdd(&sum, f32(i) * 0.5);
            storageBarrier();
            if i == 0u { output[0] = atomicLoad(&sum); }
        }";
    Case::new("atomic_f32_add", wgsl).writes(&[1.0f32], &[249.0f32]).writes(&[], &[249.0f32])
}

fn wide_atomics() -> Case {
    let wgsl = "
        struct Wide { sum: atomic<u64>, high: atomic<i64> }
        @group(0) @binding(0) var<storage, read_write> w: Wide;
        @compute @workgroup_size(8)
        fn main(@builtin(local_invocation_index) i: u32) {
            atomicAdd(&w.sum, u64(i) << 40u);
            atomicMax(&w.high, i64(i) - 3li);
        }";
    Case::new("atomic_u64", wgsl).writes(&[1u64, (-9i64).cast_unsigned()], &[1 + (28u64 << 40), 4])
}

fn grid() -> Case {
    let wgsl = "
        struct In {
            @builtin(global_invocation_id) global: vec3<u32>,
            @builtin(local_invocation_id) local: vec3<u32>,
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
        }
        @group(0) @binding(0) var<storage, read_write> output: array<u32>;
        @compute @workgroup_size(2, 3, 2)
        fn main(in: In, @builtin(local_invocation_index) index: u32) {
            let size = in.groups * vec3<u32>(2u, 3u, 2u);
            let at = in.global.x + size.x * (in.global.y + size.y * in.global.z);
            output[at] = index + 100u * in.local.y + 1000u * in.group.x + 10000u * in.group.z;
        }";
    let (groups, size) = ([2u32, 2, 3], [2u32, 3, 2]);
    let mut expected = Vec::new();
    for z in 0..groups[2] * size[2] {
        for y in 0..groups[1] * size[1] {
            for x in 0..groups[0] * size[0] {
                let (lx, ly, lz) = (x % 2, y % 3, z % 2);
                expected.push(lx + 2 * (ly + 3 * lz) + 100 * ly + 1000 * (x / 2) + 10000 * (z / 2));
            }
        }
    }
    Case::new("three_dimensional_grid", wgsl).writes(&[], &expected).groups(groups)
}

/// Regression test, found by random programs: `{0}` does not initialize a vector.
fn private_vectors() -> Case {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> output: array<u32>;
        var<private> two: vec2<f32>;
        var<private> three: vec3<i32>;
        var<private> four: array<vec4<u32>, 2>;
        @compute @workgroup_size(1)
        fn main() {
            two.y += 2.0;
            three.z += 3;
            four[1].w += 4u;
            output[0] = u32(two.x + two.y);
            output[1] = u32(three.x + three.y + three.z);
            output[2] = dot(four[0] + four[1], vec4<u32>(1u));
        }";
    Case::new("private_vectors_start_as_zero", wgsl).writes(&[], &[2u32, 3, 4])
}
