//! Runs the machine code of a kernel on an emulated AMD GPU. Needs clang with the AMDGPU target.
//! `cargo run -p rocinante --features amdgpu --example emulated -- gfx1013`

const WGSL: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<u32>;

@compute @workgroup_size(32)
fn collatz(@builtin(global_invocation_id) id: vec3<u32>) {
    var n = id.x + 1u;
    var steps = 0u;
    while n != 1u {
        n = select(3u * n + 1u, n / 2u, n % 2u == 0u);
        steps += 1u;
    }
    x[id.x] = steps;
}";

fn main() -> Result<(), rocinante::Error> {
    let chip = std::env::args().nth(1).unwrap_or("gfx1010".into());
    let device = rocinante::open(&format!("emu://{chip}"))?;
    let steps = device.zeros::<u32>(64)?;
    device.wgsl(WGSL)?.kernel("collatz")?.run::<u32>([2, 1, 1], &[&steps], &[])?;

    let steps = steps.read()?;
    assert_eq!(steps[26], 111, "27 takes 111 steps");
    print(&format!("{}: 27 reaches 1 after {} steps", device.name(), steps[26]));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn print(text: &str) {
    println!("{text}");
}
