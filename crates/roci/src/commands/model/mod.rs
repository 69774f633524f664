//! `roci run` and `roci inspect`: models on devices.

mod error;
mod image;
mod inputs;
mod inspect;
mod run;
mod trace;

use roci_graph::graph::{Declared, Dim};

pub(crate) use error::ModelError;
pub(crate) use inspect::run as inspect;
pub(crate) use run::{note, run};

/// What there is to say where an output has not the dimensions that the model declares.
fn stray(name: &str, declared: Option<&Declared>, made: &[Dim]) -> Option<String> {
    let Some(Declared::Tensor { dims: Some(told), .. }) = declared else { return None };
    let differ = |(told, made): (&Dim, &Dim)| matches!((told, made), (Dim::Known(a), Dim::Known(b)) if a != b);
    let stray = told.len() != made.len() || told.iter().zip(made).any(differ);
    let (told, made) = (inspect::shape(Some(told)), inspect::shape(Some(made)));
    stray.then(|| format!("the model declares {told} for its output `{name}`, which is {made}"))
}

/// Reads a model, and files that it refers to. Inputs of the names in `given` are inputs even where the model has a default.
fn open(path: &std::path::Path, given: &[&str]) -> Result<roci_onnx::Model, ModelError> {
    let bytes = crate::input::read(path).map_err(|error| roci_onnx::Error::File { path: path.to_owned(), error })?;
    Ok(roci_onnx::Model::with_given(&bytes, path.parent(), given)?)
}

#[cfg(test)]
mod tests {
    use roci_graph::DType;

    use super::*;

    #[test]
    fn an_output_of_other_dimensions_than_declared_is_told() {
        let open = || Dim::Symbol("n".to_owned());
        let told = |dims: Vec<Dim>| Declared::Tensor { dtype: DType::F32, dims: Some(dims) };
        let made = [Dim::Known(2), Dim::Known(3)];
        assert_eq!(stray("y", None, &made), None);
        assert_eq!(stray("y", Some(&told(vec![open(), Dim::Known(3)])), &made), None);
        let rank = stray("y", Some(&told(vec![open()])), &made).expect("another rank");
        assert_eq!(rank, "the model declares [n] for its output `y`, which is [2, 3]");
        assert!(stray("y", Some(&told(vec![open(), Dim::Known(4)])), &made).is_some());
        assert_eq!(stray("y", Some(&told(vec![Dim::Known(5), open()])), &[open(), Dim::Known(3)]), None);
    }
}
