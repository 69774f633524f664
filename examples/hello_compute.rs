//! Doubles some numbers on a GPU: on the device of a URI, or on the best one.
//! `cargo run -p rocinante --example hello_compute -- vulkan:0`

const WGSL: &str = "
struct Params { count: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < params.count {
        y[id.x] = 2.0 * x[id.x];
    }
}";

fn main() -> Result<(), rocinante::Error> {
    let device = rocinante::open(&std::env::args().nth(1).unwrap_or("auto".into()))?;
    let numbers: Vec<f32> = (0..1000u16).map(f32::from).collect();

    let x = device.array(&numbers)?;
    let y = device.zeros::<f32>(numbers.len())?;
    let count = numbers.len() as u32;
    device.wgsl(WGSL)?.kernel("double")?.run([count.div_ceil(64), 1, 1], &[&x, &y], &[count])?;

    let doubled = y.read()?;
    assert!(doubled.iter().zip(&numbers).all(|(y, x)| *y == 2.0 * x));
    print(&format!("{} doubled {count} numbers, the last to {}", device.name(), doubled[999]));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn print(text: &str) {
    println!("{text}");
}
