//! Records commands once and replays them: the host submits once per step.
//! `cargo run -p rocinante --example replay -- vulkan:0`

use rocinante::hal::{Deadline, Submit};

const WGSL: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<u32>;

@compute @workgroup_size(64)
fn increment(@builtin(global_invocation_id) id: vec3<u32>) {
    x[id.x] += 1u;
}";

const REPLAYS: u64 = 100;

fn main() -> Result<(), rocinante::Error> {
    let device = rocinante::open(&std::env::args().nth(1).unwrap_or("auto".into()))?;
    let increment = device.wgsl(WGSL)?.kernel("increment")?;
    let x = device.zeros::<u32>(256)?;

    // Two dispatches in order: the barrier makes the second one see the first one's writes.
    let mut recorder = device.hal().record();
    recorder.dispatch(increment.hal(), [4, 1, 1], &[x.buffer().into()], &[])?;
    recorder.barrier();
    recorder.dispatch(increment.hal(), [4, 1, 1], &[x.buffer().into()], &[])?;
    let commands = recorder.finish()?;

    // Each replay waits for the previous one and signals its own number.
    let (queue, done) = (device.hal().queue(0)?, device.hal().semaphore(0));
    for replay in 0..REPLAYS {
        queue.submit(&commands, Submit::new().wait(&done, replay).signal(&done, replay + 1))?;
    }
    done.wait(REPLAYS, Deadline::default())?;

    assert_eq!(x.read()?, [2 * REPLAYS as u32; 256]);
    print(&format!("{}: {REPLAYS} replays of 2 dispatches", device.name()));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn print(text: &str) {
    println!("{text}");
}
