//! Upload of vectors, and of small matrices that kernels read as floats.

use roci_hal::BufferRange;
use roci_lm::architecture::blocks::{Linear, ShortConvolution, Vector};

use crate::Error;
use crate::pack::GROUP;
use crate::weights::WeightLoader;

impl WeightLoader<'_> {
    /// Uploads concatenated vectors; `None` stands for zeros of the given length.
    pub(crate) fn vectors(&self, vectors: &[(Option<&Vector>, usize)]) -> Result<BufferRange, Error> {
        let mut floats: Vec<f32> = Vec::new();
        for (vector, length) in vectors {
            match vector {
                None => floats.resize(floats.len() + length, 0.0),
                Some(vector) => floats.extend(self.host_floats(vector)?),
            }
        }
        self.padded_floats(floats)
    }

    /// The values of a tensor.
    pub(crate) fn host_tensor(&self, name: &str) -> Result<Vec<f32>, Error> {
        let tensor = self.file.expect_tensor(name)?;
        self.progress.add(tensor.bytes().len() as u64);
        Ok(tensor.to_f32()?)
    }

    /// The values of a vector.
    pub(crate) fn host_floats(&self, vector: &Vector) -> Result<Vec<f32>, Error> {
        let values = self.host_tensor(&vector.tensor)?;
        let values = values.get(vector.values.clone());
        Ok(values.ok_or_else(|| Error::file(format!("`{}` is too short", vector.tensor)))?.to_vec())
    }

    /// Uploads floats, zero-padded to a whole group: kernels read whole groups of columns.
    pub(crate) fn padded_floats(&self, mut floats: Vec<f32>) -> Result<BufferRange, Error> {
        floats.resize(floats.len().next_multiple_of(GROUP), 0.0);
        self.floats(&floats)
    }

    /// Uploads floats.
    pub(crate) fn floats(&self, floats: &[f32]) -> Result<BufferRange, Error> {
        let range = self.allocate(4 * floats.len() as u64)?;
        self.device.write(range.range(0, 4 * floats.len() as u64)?, bytemuck::cast_slice(floats))?;
        Ok(range)
    }

    /// Concatenated biases of linear layers that become one matrix; `None` if no layer has a bias.
    pub(crate) fn biases(&self, linears: &[&Linear]) -> Result<Option<BufferRange>, Error> {
        if linears.iter().all(|linear| linear.bias.is_none()) {
            return Ok(None);
        }
        let vectors: Vec<_> = linears.iter().map(|linear| (linear.bias.as_ref(), linear.matrix.outputs())).collect();
        self.vectors(&vectors).map(Some)
    }

    /// Uploads the weights of a convolution as floats, row by row, followed by its biases.
    pub(crate) fn convolution(&self, block: &ShortConvolution) -> Result<BufferRange, Error> {
        let matrix = &block.weight;
        let tensor = self.file.expect_tensor(&matrix.tensor)?;
        let values = tensor.to_f32()?;
        let mut floats = Vec::with_capacity(matrix.outputs() * matrix.columns);
        for row in (0..matrix.outputs()).map(|output| matrix.row(output)) {
            let row = values.get(row * matrix.columns..(row + 1) * matrix.columns);
            floats.extend(row.ok_or_else(|| Error::file(format!("`{}` is too short", matrix.tensor)))?);
        }
        self.progress.add(tensor.bytes().len() as u64);
        if let Some(bias) = &block.bias {
            floats.extend(self.file.expect_tensor(&bias.tensor)?.to_f32()?);
        }
        self.floats(&floats)
    }
}
