//! LoRA adapters of a small model.

use std::sync::OnceLock;

use roci_gguf::Gguf;
use roci_lm::adapter::Adapter;
use roci_lm::architecture::Model;
use roci_lm::synthetic::architectures;

/// The model that adapters are checked against: Llama with two layers.
fn base() -> &'static (Gguf, Model) {
    static BASE: OnceLock<(Gguf, Model)> = OnceLock::new();
    BASE.get_or_init(|| {
        let case = architectures().remove(1);
        let file = case.open().expect("the synthetic file is valid");
        let model = Model::new(&file, Some(case.context)).expect("the architecture is supported");
        (file, model)
    })
}

/// Checks an adapter, and reads its matrices.
pub fn target(data: &[u8]) {
    let (file, model) = base();
    let Ok(adapter) = Gguf::from_bytes(data) else { return };
    let Ok(adapter) = Adapter::new(adapter, file, model) else { return };
    for tensor in adapter.tensors() {
        let info = file.expect_tensor(tensor).expect("the model has it").info();
        let rank = adapter.rank(tensor).expect("the adapter changes it");
        let [columns, rows] = [0, 1].map(|at| info.shape().get(at).map_or(1, |size| *size as usize));
        let (a, b) = (adapter.a(tensor).expect("floats"), adapter.b(tensor).expect("floats"));
        if tensor == model.embedding.tensor {
            assert_eq!((a.len(), b.len()), (rank * rows, rank * columns));
            assert_eq!(adapter.a_row(tensor, rows - 1).expect("a row").len(), rank);
        } else {
            assert_eq!((a.len(), b.len()), (rank * columns, rank * rows));
        }
    }
}
