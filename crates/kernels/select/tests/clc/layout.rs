//! Structs, arrays, matrices and constants with WGSL's layout.

use roci_testkit::Tolerance;

use super::case::Case;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        structs(),
        run_time_struct(),
        array_lengths(),
        constants_block(),
        module_constants(),
        vec3_arrays(),
        matrices(),
        uniform(),
        bool_vectors(),
        copies(),
    ]
}

fn structs() -> Case {
    let wgsl = "
        struct Inner { a: vec3<f32>, b: f32, c: vec3<u32> }
        struct Outer { first: u32, inner: Inner, list: array<vec3<f32>, 2>, @align(32) last: vec2<u32>, @size(20) tail: u32 }
        @group(0) @binding(0) var<storage, read> input: array<Outer>;
        @group(0) @binding(1) var<storage, read_write> output: array<Outer>;
        @compute @workgroup_size(2)
        fn main(@builtin(local_invocation_index) i: u32) {
            var o = input[i];
            o.inner.a = o.inner.a.zyx * 2.0;
            o.inner.c.y += 1u;
            o.list[1] = vec3<f32>(o.inner.b) + o.list[i];
            output[i] = o;
            output[i].last.y = o.tail;
            output[i].tail = output[i].first + 1u;
        }";
    // Outer: first 0, inner 16 (a 0, b 12, c 16; 32 bytes), list 48 (stride 16), last 96, tail 104;
    // 128 bytes.
    let element = |k: u32| {
        let f = |v: f32| v.to_bits();
        let k = k as f32;
        let mut words = vec![0u32; 32];
        words[0] = 5 + k as u32;
        words[4..7].copy_from_slice(&[f(1.0 + k), f(2.0), f(3.0)]);
        words[7] = f(4.0);
        words[8..11].copy_from_slice(&[10, 11, 12]);
        words[12..15].copy_from_slice(&[f(0.5), f(0.25), f(0.125)]);
        words[16..19].copy_from_slice(&[f(7.0), f(8.0), f(9.0 + k)]);
        words[24..26].copy_from_slice(&[20, 21]);
        words[26] = 99;
        words
    };
    let changed = |k: u32| {
        let f = |v: f32| v.to_bits();
        let mut words = element(k);
        words[4..7].copy_from_slice(&[f(6.0), f(4.0), f(2.0 + 2.0 * k as f32)]);
        words[9] = 12;
        let row = if k == 0 { [4.5, 4.25, 4.125] } else { [11.0, 12.0, 14.0] };
        words[16..19].copy_from_slice(&row.map(f));
        words[25] = 99;
        words[26] = 6 + k;
        words
    };
    Case::new("struct_layout", wgsl)
        .reads(&[element(0), element(1)].concat())
        .writes(&[], &[changed(0), changed(1)].concat())
}

fn run_time_struct() -> Case {
    let wgsl = "
        struct Counted { count: u32, scale: vec2<u32>, data: array<vec3<u32>> }
        struct Only { data: array<u32> }
        @group(0) @binding(0) var<storage, read> input: Counted;
        @group(0) @binding(1) var<storage, read_write> output: Only;
        fn pick(i: u32) -> u32 { return input.data[i].z * input.scale.y; }
        @compute @workgroup_size(2)
        fn main(@builtin(local_invocation_index) i: u32) {
            output.data[i] = pick(i) + input.count + arrayLength(&input.data) * 1000u + arrayLength(&output.data) * 10000u;
        }";
    Case::new("run_time_array_in_a_struct", wgsl)
        .reads(&[7u32, 0, 3, 5, 1, 2, 3, 0, 4, 5, 6, 0])
        .writes(&[], &[15 + 7 + 2000 + 20000u32, 30 + 7 + 2000 + 20000])
}

fn array_lengths() -> Case {
    let wgsl = "
        @group(0) @binding(2) var<storage, read_write> output: array<u32>;
        @group(0) @binding(0) var<storage, read> a: array<vec4<f32>>;
        @group(0) @binding(1) var<storage, read> b: array<u32>;
        fn total() -> u32 { return arrayLength(&a) * 100u + arrayLength(&b); }
        @compute @workgroup_size(1)
        fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
            output[group.x + group.y * groups.x] = total() + group.x * 1000u + groups.y * 10000u;
        }";
    Case::new("array_lengths", wgsl)
        .reads(&[0f32; 12])
        .reads(&[0u32; 5])
        .writes(&[], &[20305u32, 21305, 22305, 20305, 21305, 22305])
        .groups([3, 2, 1])
}

fn constants_block() -> Case {
    let wgsl = "
        struct Params { count: u32, scale: f32, offset: vec3<f32>, more: array<vec2<u32>, 2> }
        var<immediate> params: Params;
        @group(0) @binding(0) var<storage, read_write> output: array<f32>;
        fn scaled(v: f32) -> f32 { return v * params.scale + params.offset.y; }
        @compute @workgroup_size(4)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x >= params.count { return; }
            output[id.x] = scaled(f32(id.x)) + f32(params.more[1].x);
        }";
    let f = |v: f32| v.to_bits();
    Case::new("constants_block", wgsl)
        .writes(&[], &[103.0f32, 105.5, 108.0, 110.5, 113.0, 0.0])
        .constants(&[5u32, f(2.5), 0, 0, f(1.0), f(3.0), f(9.0), 0, 1, 2, 100, 4])
        .groups([2, 1, 1])
        .with(|case| case.buffers[0].0.resize(24, 0))
}

fn module_constants() -> Case {
    let wgsl = "
        const SIZE = 4u;
        const TABLE = array<vec3<f32>, 2>(vec3<f32>(vec2<f32>(1.0, 2.0), 3.0), vec3<f32>(4.0));
        const GRID = array<array<u32, 2>, 2>(array<u32, 2>(1u, 2u), array<u32, 2>(3u, 4u));
        struct Both { a: u32, b: vec2<f32> }
        const BOTH = Both(7u, vec2<f32>(0.5, 1.5));
        var<private> state: array<u32, SIZE> = array<u32, SIZE>(1u, 2u, 3u, 4u);
        @group(0) @binding(0) var<storage, read_write> output: array<f32>;
        @compute @workgroup_size(2)
        fn main(@builtin(local_invocation_index) i: u32) {
            var local: array<f32, SIZE>;
            local[i + 1u] = TABLE[i].z;
            state[i] += GRID[i][1];
            output[i] = local[1] + local[2] + local[0] + f32(state[0] + state[1]) * 10.0 + BOTH.b.y + f32(BOTH.a) * 1000.0;
        }";
    Case::new("module_constants", wgsl).writes(&[], &[3.0 + 50.0 + 1.5 + 7000.0f32, 4.0 + 70.0 + 1.5 + 7000.0])
}

fn vec3_arrays() -> Case {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> input: array<vec3<i32>>;
        @group(0) @binding(1) var<storage, read_write> output: array<vec3<i32>>;
        var<workgroup> shared_rows: array<vec3<i32>, 3>;
        fn last(v: ptr<function, vec3<i32>>) -> i32 { (*v).x = 1; return v.z; }
        @compute @workgroup_size(3)
        fn main(@builtin(local_invocation_index) i: u32) {
            shared_rows[i] = input[i];
            workgroupBarrier();
            var v = shared_rows[(i + 1u) % 3u];
            v[i] += 100;
            let z = last(&v);
            output[i] = v + vec3<i32>(0, 0, z);
            output[i].y = -1;
        }";
    Case::new("arrays_of_vec3", wgsl)
        .reads(&[1i32, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0])
        .writes(&[], &[1i32, -1, 12, 0, 1, -1, 18, 0, 1, -1, 206, 0])
}

fn matrices() -> Case {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> m: mat3x3<f32>;
        @group(0) @binding(1) var<storage, read_write> output: array<f32>;
        struct Holder { m: mat2x3<f32>, s: f32 }
        @compute @workgroup_size(1)
        fn main() {
            let v = m * vec3<f32>(1.0, 2.0, 3.0);
            let w = vec3<f32>(1.0, 2.0, 3.0) * m;
            var p = m * m + m - 2.0 * m;
            p[1].y = 1000.0;
            let t = transpose(mat2x3<f32>(vec3<f32>(1.0, 2.0, 3.0), vec3<f32>(4.0, 5.0, 6.0)));
            var h = Holder(mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), 7.0);
            h.m[1] = v;
            let k = 2u;
            output[0] = v.x; output[1] = v.y; output[2] = v.z;
            output[3] = w.x; output[4] = w.y; output[5] = w.z;
            output[6] = p[0][0]; output[7] = p[1][1]; output[8] = p[k][k];
            output[9] = t[2].y; output[10] = h.m[1].z + h.s;
            output[11] = determinant(m) + determinant(mat2x2<f32>(1.0, 2.0, 3.0, 4.0));
            output[12] = determinant(mat4x4<f32>(2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 1.0, 0.0, 0.0, 4.0, 0.0, 0.0, 1.0, 0.0, 5.0));
        }";
    // Columns (1 2 3), (4 5 6), (7 8 10).
    Case::new("matrices", wgsl).reads(&[1.0f32, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0, 7.0, 8.0, 10.0, 0.0]).writes_near(
        &[30.0, 36.0, 45.0, 14.0, 32.0, 53.0, 29.0, 1000.0, 159.0, 6.0, 52.0, -5.0, 112.0],
        Tolerance::FewUlps,
    )
}

fn uniform() -> Case {
    let wgsl = "
        struct U { a: vec4<u32>, b: array<vec4<u32>, 2> }
        @group(0) @binding(0) var<uniform> u: U;
        @group(0) @binding(1) var<storage, read_write> output: array<u32>;
        fn sum(i: u32) -> u32 { return u.a[i] + u.b[1].y; }
        @compute @workgroup_size(2, 2)
        fn main(@builtin(local_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) i: u32) {
            output[i] = sum(id.x + 2u * id.y) + id.y * 100u;
        }";
    Case::new("uniform_buffer", wgsl)
        .reads(&[1u32, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        .writes(&[], &[11u32, 12, 113, 114])
}

fn bool_vectors() -> Case {
    let wgsl = "
        struct Flags { on: bool, mask: vec3<bool>, n: u32 }
        var<private> flags: Flags;
        @group(0) @binding(0) var<storage, read_write> output: array<u32>;
        @compute @workgroup_size(2)
        fn main(@builtin(local_invocation_index) i: u32) {
            var list: array<bool, 3>;
            list[i] = true;
            flags.on = list[1];
            flags.mask = vec3<bool>(true, list[0], !list[0]);
            flags.mask.x = i == 1u;
            flags.mask[2] = false;
            let copy = flags;
            output[i] = u32(copy.on) + select(0u, 10u, copy.mask.y) + u32(any(flags.mask)) * 100u + copy.n + u32(flags.mask.x) * 1000u;
        }";
    Case::new("booleans_in_memory", wgsl).writes(&[], &[110u32, 1 + 100 + 1000])
}

fn copies() -> Case {
    let wgsl = "
        struct Cell { v: array<u32, 3>, w: vec2<f32> }
        @group(0) @binding(0) var<storage, read_write> cells: array<Cell, 2>;
        fn swap(c: array<u32, 3>) -> array<u32, 3> { return array<u32, 3>(c[2], c[1], c[0]); }
        @compute @workgroup_size(1)
        fn main() {
            var all = cells;
            let first = all[0];
            all[0] = all[1];
            all[1] = first;
            all[1].v = swap(all[1].v);
            let zero = Cell();
            all[0].w += zero.w + vec2<f32>(1.0);
            cells = all;
        }";
    let f = |v: f32| v.to_bits();
    Case::new("whole_values_are_copied", wgsl).writes(
        &[1u32, 2, 3, 0, f(1.0), f(2.0), 4, 5, 6, 0, f(3.0), f(4.0)],
        &[4u32, 5, 6, 0, f(4.0), f(5.0), 3, 2, 1, 0, f(1.0), f(2.0)],
    )
}
