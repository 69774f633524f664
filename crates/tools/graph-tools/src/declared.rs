//! Types and shapes that a model declares.

use roci_graph::graph::{DeclaredType, Dim};

/// Dimensions as text, such as `[batch, 3]`; `?` if the rank is unknown.
pub fn format_shape(dims: Option<&[Dim]>) -> String {
    let Some(dims) = dims else { return "?".to_owned() };
    format!("[{}]", dims.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

/// Type and shape of a value as text.
pub(crate) fn format_type(declared: Option<&DeclaredType>) -> (String, String) {
    match declared {
        Some(DeclaredType::Tensor { dtype, dims }) => (dtype.to_string(), format_shape(dims.as_deref())),
        Some(DeclaredType::Sequence(inner)) => (format!("sequence of {}", format_type(Some(inner)).0), "-".to_owned()),
        Some(DeclaredType::Optional(inner)) => (format!("optional {}", format_type(Some(inner)).0), "-".to_owned()),
        None => ("?".to_owned(), "?".to_owned()),
    }
}

/// A note if the shape of an output contradicts the one that the model declares.
pub fn shape_mismatch(name: &str, declared: Option<&DeclaredType>, actual: &[Dim]) -> Option<String> {
    let Some(DeclaredType::Tensor { dims: Some(declared), .. }) = declared else { return None };
    let differ = |pair: (&Dim, &Dim)| matches!(pair, (Dim::Known(a), Dim::Known(b)) if a != b);
    let is_mismatch = declared.len() != actual.len() || declared.iter().zip(actual).any(differ);
    let (declared, actual) = (format_shape(Some(declared)), format_shape(Some(actual)));
    is_mismatch.then(|| format!("the model declares {declared} for its output `{name}`, which is {actual}"))
}

#[cfg(test)]
mod tests {
    use roci_graph::DType;

    use super::*;

    #[test]
    fn outputs_with_other_known_dimensions_than_declared_are_mismatches() {
        let symbol = || Dim::Symbol("n".to_owned());
        let declared = |dims: Vec<Dim>| DeclaredType::Tensor { dtype: DType::F32, dims: Some(dims) };
        let actual = [Dim::Known(2), Dim::Known(3)];
        assert_eq!(shape_mismatch("y", None, &actual), None);
        assert_eq!(shape_mismatch("y", Some(&declared(vec![symbol(), Dim::Known(3)])), &actual), None);
        let rank = shape_mismatch("y", Some(&declared(vec![symbol()])), &actual).expect("another rank");
        assert_eq!(rank, "the model declares [n] for its output `y`, which is [2, 3]");
        assert!(shape_mismatch("y", Some(&declared(vec![symbol(), Dim::Known(4)])), &actual).is_some());
        let partly_known = [symbol(), Dim::Known(3)];
        assert_eq!(shape_mismatch("y", Some(&declared(vec![Dim::Known(5), symbol()])), &partly_known), None);
    }
}
