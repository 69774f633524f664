//! Output tensors: statistics, and NumPy files.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use roci_graph::{Tensor, Value};
use serde::Serialize;

use super::arrays;

/// An output of a run.
#[derive(Clone, Debug, Serialize)]
pub struct OutputSummary {
    /// Name in the model.
    pub name: String,
    /// Element type, or the kind of a value that is not a tensor.
    pub r#type: String,
    /// Shape; empty if the value is not a tensor.
    pub shape: Vec<usize>,
    /// The smallest element, without NaNs.
    pub minimum: Option<f64>,
    /// The largest element, without NaNs.
    pub maximum: Option<f64>,
    /// Mean of all elements.
    pub mean: Option<f64>,
    /// The file that the output was written to.
    pub file: Option<String>,
}

impl OutputSummary {
    /// Statistics of an output.
    pub fn new(name: &str, value: &Value) -> Self {
        let Value::Tensor(tensor) = value else {
            return Self {
                name: name.into(),
                r#type: value.kind().to_owned(),
                shape: Vec::new(),
                minimum: None,
                maximum: None,
                mean: None,
                file: None,
            };
        };
        let elements = tensor.floats().unwrap_or_default();
        let numbers = || elements.iter().copied().filter(|element| !element.is_nan());
        let mean = elements.iter().sum::<f64>() / elements.len().max(1) as f64;
        Self {
            name: name.into(),
            r#type: tensor.dtype().to_string(),
            shape: tensor.shape().to_vec(),
            minimum: numbers().reduce(f64::min),
            maximum: numbers().reduce(f64::max),
            mean: (!elements.is_empty()).then_some(mean),
            file: None,
        }
    }
}

/// Writes outputs to a folder under unique names.
#[derive(Debug)]
pub struct OutputFolder<'a> {
    folder: &'a Path,
    /// File names in use, in lower case.
    taken: HashSet<String>,
}

impl<'a> OutputFolder<'a> {
    /// An existing folder.
    pub fn new(folder: &'a Path) -> Self {
        Self { folder, taken: HashSet::new() }
    }

    /// Writes an output as a NumPy array and returns the path; `None` for values that NumPy files
    /// do not support. An error has the path.
    pub fn write(&mut self, name: &str, value: &Value) -> Result<Option<String>, (PathBuf, io::Error)> {
        let tensor: Option<&Tensor> = if let Value::Tensor(tensor) = value { Some(tensor) } else { None };
        let Some(array) = tensor.and_then(arrays::array) else { return Ok(None) };
        let path = self.folder.join(self.file_name(name));
        match std::fs::write(&path, array.write()) {
            Ok(()) => Ok(Some(path.display().to_string())),
            Err(error) => Err((path, error)),
        }
    }

    /// A unique file name, sanitized so that it cannot contain a path; compared without case,
    /// because some file systems are case-insensitive.
    fn file_name(&mut self, name: &str) -> String {
        let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        // File systems limit names to 255 bytes.
        let safe: String = name.chars().map(safe).take(60).collect();
        let safe = safe.trim_start_matches('.');
        let mut free = safe.to_owned();
        let mut count = 1;
        while !self.taken.insert(free.to_lowercase()) {
            count += 1;
            free = format!("{safe}-{count}");
        }
        format!("{free}.npy")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_never_share_a_file() {
        let mut folder = OutputFolder::new(Path::new("."));
        let names = ["a/b", "a_b", "A_b", "a:b", "..", ""].map(|name| folder.file_name(name));
        assert_eq!(names, ["a_b.npy", "a_b-2.npy", "A_b-3.npy", "a_b-4.npy", ".npy", "-2.npy"]);
    }

    #[test]
    fn statistics_ignore_nan_except_in_the_mean() {
        let tensor = Tensor::new([3], vec![1.0f32, f32::NAN, -2.0]).expect("three elements");
        let summary = OutputSummary::new("y", &tensor.into());
        assert_eq!((summary.minimum, summary.maximum), (Some(-2.0), Some(1.0)));
        assert!(summary.mean.is_some_and(f64::is_nan));
    }
}
