//! The tensors of a synthetic model, in the order of the file.

use roci_gguf::{Error, TensorInfo, Type};

use super::fill::Fill;

pub(super) struct List {
    kind: Type,
    /// Whether each matrix has a scale of its own.
    scaled: bool,
    pub(super) tensors: Vec<(TensorInfo, Fill)>,
}

impl List {
    pub(super) fn new(kind: Type, scaled: bool) -> Self {
        Self { kind, scaled, tensors: Vec::new() }
    }

    pub(super) fn add(&mut self, name: &str, shape: &[usize], kind: Type, fill: Fill) -> Result<(), Error> {
        let shape: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
        self.tensors.push((TensorInfo::new(name, &shape, kind)?, fill));
        Ok(())
    }

    pub(super) fn matrix(&mut self, name: &str, shape: &[usize]) -> Result<(), Error> {
        if self.scaled {
            let stem = name.strip_suffix(".weight").unwrap_or(name);
            self.plain(&format!("{stem}.scale"), shape.get(2).copied().unwrap_or(1), Fill::Norm)?;
        }
        self.add(name, shape, self.kind, Fill::Matrix { inputs: shape[0] })
    }

    /// A matrix with an optional bias.
    pub(super) fn linear(&mut self, name: &str, columns: usize, outputs: usize, biased: bool) -> Result<(), Error> {
        self.matrix(&format!("{name}.weight"), &[columns, outputs])?;
        if biased { self.plain(&format!("{name}.bias"), outputs, Fill::Bias) } else { Ok(()) }
    }

    /// A matrix that is never quantized.
    pub(super) fn plain_matrix(&mut self, name: &str, shape: &[usize]) -> Result<(), Error> {
        self.add(name, shape, Type::F32, Fill::Matrix { inputs: shape[0] })
    }

    pub(super) fn plain(&mut self, name: &str, length: usize, fill: Fill) -> Result<(), Error> {
        self.add(name, &[length], Type::F32, fill)
    }
}
