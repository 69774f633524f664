//! Runs an ONNX model on inputs of zeros and prints the shapes of its outputs.
//! `cargo run -p rocinante --features onnx --example onnx -- model.onnx vulkan:0`

use rocinante::{DType, Tensor, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: onnx MODEL.onnx [DEVICE]")?;
    let device = rocinante::open(&arguments.next().unwrap_or("auto".into()))?;
    let mut model = device.onnx(path)?;

    // Dimensions that the model leaves open, such as the batch size, are 1.
    let mut inputs = Vec::new();
    for input in model.inputs() {
        let shape: Vec<usize> = input.shape.iter().map(|size| size.unwrap_or(1)).collect();
        inputs.push((input.name.to_owned(), Tensor::zeros(input.dtype.unwrap_or(DType::F32), shape)?));
    }
    let outputs = model.run(inputs)?;

    for (name, output) in model.outputs().iter().zip(&outputs) {
        if let Value::Tensor(tensor) = output {
            print(&format!("{name}: {:?} {:?} on {}", tensor.dtype(), tensor.shape(), device.name()));
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn print(text: &str) {
    println!("{text}");
}
