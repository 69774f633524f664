//! What cannot be written is refused with its name and line.

use libtest_mimic::{Failed, Trial};
use roci_kernels::clc::Options;

use super::case::refusal;

/// A program, the options it is refused under, and the message.
struct Refused {
    name: &'static str,
    wgsl: &'static str,
    message: &'static str,
}

const REFUSED: &[Refused] = &[
    Refused {
        name: "texture",
        wgsl: "\n@group(0) @binding(0) var t: texture_2d<f32>;\n@compute @workgroup_size(1) fn main() { _ = textureDimensions(t); }",
        message: "`texture_2d` is not part of the compute subset (line 2)",
    },
    Refused {
        name: "sampler",
        wgsl: "@group(0) @binding(0) var s: sampler;\n@compute @workgroup_size(1) fn main() { _ = s; }",
        message: "`sampler` is not part of the compute subset (line 1)",
    },
    Refused {
        name: "f64",
        wgsl: "\n\nvar<private> x: f64;\n@compute @workgroup_size(1) fn main() { x = 1.0lf; }",
        message: "`f64` is not part of the compute subset (line 3)",
    },
    Refused {
        name: "override",
        wgsl: "\noverride n: u32;\n@group(0) @binding(0) var<storage, read_write> o: u32;\n@compute @workgroup_size(1) fn main() { o = n; }",
        message: "override `n` must be resolved before writing (line 2)",
    },
    Refused {
        name: "fragment",
        wgsl: "@fragment fn main() {}",
        message: "`@fragment` is not part of the compute subset",
    },
    Refused {
        name: "cooperative_matrix",
        wgsl: "enable wgpu_cooperative_matrix;\n@group(0) @binding(0) var<storage, read_write> c: array<f32>;\n@compute @workgroup_size(32)\nfn main() {\n    let m = coopLoad<coop_mat8x8<f32, C>>(&c[0], 8u);\n    coopStore(m, &c[0], 8u);\n}",
        message: "`coop_mat8x8<f32, C>` needs matrix instructions, which the target lacks (line 5)",
    },
];

pub(crate) fn trials() -> Vec<Trial> {
    let refused = |case: &'static Refused| {
        Trial::test(format!("refused::{}", case.name), move || -> Result<(), Failed> {
            let error = refusal(case.wgsl, &Options::opencl())?.to_string();
            if error == case.message { Ok(()) } else { Err(format!("got  {error}\nwant {}", case.message).into()) }
        })
    };
    REFUSED.iter().map(refused).collect()
}
