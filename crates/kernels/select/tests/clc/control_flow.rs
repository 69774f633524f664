//! Branches, loops, switches and calls.

use super::case::Case;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::map_u32(
            "if_else",
            "if a > 5u { return 1u; } else if a == 3u { if i == 1u { return 2u; } } return 3u;",
            &[(6, 1), (3, 2), (0, 3)],
        ),
        Case::map_u32(
            "for_with_continue_and_break",
            "var s = 0u; for (var k = 0u; k < a; k++) { if k % 2u == 0u { continue; } if k > 7u { break; } s += k; } return s;",
            &[(0, 0), (4, 4), (20, 16)],
        ),
        Case::map_u32(
            "while_loop",
            "var s = 0u; var k = a; while k > 0u { s += k; k -= 1u; } return s;",
            &[(0, 0), (4, 10)],
        ),
        Case::map_u32(
            "loop_with_continuing_and_break_if",
            "var s = 0u; var k = 0u; loop { if k == 2u { continue; } s += 10u; continuing { let t = k + 1u; k = t; break if t >= a; } } return s + k;",
            &[(1, 11), (3, 23), (5, 45)],
        ),
        Case::map_u32(
            "continuing_sees_the_body",
            "var s = 0u; var k = 0u; loop { let t = k * 3u + a; s += t; if s > 1000u { break; } continuing { k += t; break if t > 20u; } } return s;",
            &[(1, 1 + 4 + 16 + 64), (0, 1001), (7, 7 + 28)],
        )
        .with(|case| {
            // An input of zero would loop forever: t would stay zero.
            case.buffers[0].0[4..8].copy_from_slice(&30u32.to_le_bytes());
            if let super::case::Expected::Bytes(bytes) = &mut case.buffers[1].1 {
                bytes[4..8].copy_from_slice(&30u32.to_le_bytes());
            }
        }),
        Case::map_u32(
            "nested_loops",
            "var s = 0u; for (var x = 0u; x < a; x++) { var y = 0u; loop { if y >= x { break; } y++; if y == 2u { continue; } s += x * y; } if s > 50u { break; } } return s;",
            &[(3, 3), (4, 15), (6, 47 + 65)],
        ),
        Case::map_u32(
            "switch_with_default_in_the_middle",
            "var r = 0u; switch a { case 1u: { r = 10u; } case 2u, 3u: { r = 20u; if i == 1u { break; } r += 1u; } default: { r = 99u; } case 7u: { return 70u; } } return r + 1u;",
            &[(1, 11), (2, 21), (3, 22), (7, 70), (8, 100)],
        ),
        Case::map(
            "switch_on_signed",
            "i32",
            "",
            "switch a { case -1: { return 5; } case -2147483648, default: { return 6; } }",
            &[(-1, 5), (i32::MIN, 6), (0, 6)],
        ),
        Case::map_u32(
            "switch_in_a_loop",
            "var s = 0u; for (var k = 0u; k < a; k++) { switch k { case 1u: { continue; } case 3u: { break; } default: { s += 1u; } } s += 10u; } return s;",
            &[(1, 11), (5, 43)],
        ),
        Case::map(
            "functions_with_pointers",
            "u32",
            "var<private> calls: u32;
             struct Pair { x: u32, y: vec3<u32> }
             fn bump(p: ptr<function, u32>, by: u32) -> u32 { *p += by; calls += 1u; return *p * 2u; }
             fn twice(p: ptr<function, Pair>) { p.x *= 2u; p.y[1] = p.x; (*p).y.z = bump2(&(*p).x); }
             fn bump2(p: ptr<function, u32>) -> u32 { return bump(p, 1u); }
             fn make(a: u32) -> Pair { return Pair(a, vec3<u32>(a, 1u, 2u)); }",
            "var q = make(a); var n = a; let b = bump(&n, 5u); twice(&q);
             return b + n * 100u + q.x * 1000u + q.y.y * 10000u + q.y.z * 1000000u + calls * 100000000u;",
            &[(1, 12 + 600 + 3000 + 20000 + 6_000_000 + 200_000_000)],
        ),
        Case::map_u32(
            "order_of_evaluation",
            "var x = a; let before = x; x += 1u; let after = x * before; x = 0u; return after + x;",
            &[(3, 12)],
        ),
        Case::map_u32(
            "short_circuit_guards_an_index",
            "var t = array<u32, 4>(1u, 2u, 3u, 4u); if a < 4u && t[a] > 2u { return t[a]; } return 0u;",
            &[(3, 4), (0, 0), (1_000_000, 0)],
        ),
        Case::map(
            "names_that_c_reserves",
            "u32",
            "struct half { kernel: u32, float4: u32 }
             const constant = 3u;
             fn mad(global: u32, local: u32) -> u32 { return global * local; }
             fn roci_div_u32(_e1: u32) -> u32 { return _e1 + 1u; }",
            "var double = half(a, constant); let int = mad(double.kernel, double.float4); let max = 1u; return roci_div_u32(int) + max;",
            &[(5, 17)],
        ),
    ]
}
