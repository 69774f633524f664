//! String operations.

mod ngrams;
mod pattern;

pub use ngrams::{NgramPool, Ngrams, Weighting};

use super::{Facts, Inputs, Operation};
use crate::{DType, Fact, OpError, Tensor, Value, shape};

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Text {
    /// Concatenates strings, with broadcasting.
    Concat,
    /// Splits strings along a new last axis, and counts the parts.
    Split {
        /// The delimiter; runs of whitespace if empty.
        delimiter: String,
        /// The maximum number of splits.
        most: Option<usize>,
    },
    /// Removes stop words and changes the case.
    Normalize {
        /// The change of case.
        case: Case,
        /// Whether stop words are case-sensitive.
        sensitive: bool,
        /// The stop words.
        stop: Vec<String>,
    },
    /// Whether whole strings match a pattern. See [`Text::full_match`].
    FullMatch(regex::Regex),
    /// Counts n-grams of tokens.
    Ngrams(Ngrams),
}

/// The change of case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are unambiguous")]
pub enum Case {
    Keep,
    Lower,
    Upper,
}

impl Text {
    /// Creates a match of whole strings against a pattern in RE2 syntax.
    pub fn full_match(pattern: &str) -> Result<Self, OpError> {
        pattern::compile(pattern).map(Self::FullMatch)
    }
}

impl Operation for Text {
    fn name(&self) -> &'static str {
        match self {
            Self::Concat => "StringConcat",
            Self::Split { .. } => "StringSplit",
            Self::Normalize { .. } => "StringNormalizer",
            Self::FullMatch(_) => "RegexFullMatch",
            Self::Ngrams(_) => "TfIdfVectorizer",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let input = inputs.get(0)?;
        if input.dtype != DType::String && !matches!(self, Self::Ngrams(_)) {
            return Err(OpError::dtype(self.name(), input.dtype));
        }
        Ok(match self {
            Self::Concat => {
                let other = inputs.get(1)?;
                if other.dtype != DType::String {
                    return Err(OpError::dtype(self.name(), other.dtype));
                }
                let shapes = input.shape.as_ref().zip(other.shape.as_ref());
                let shape = shapes.map(|(left, right)| shape::broadcast(&[left, right])).transpose()?;
                vec![Fact { dtype: DType::String, shape, value: None }]
            }
            Self::Split { .. } => {
                let counts = Fact { dtype: DType::I64, shape: input.shape.clone(), value: None };
                vec![Fact::unknown(DType::String), counts]
            }
            Self::Normalize { .. } => vec![Fact::unknown(DType::String)],
            Self::FullMatch(_) => vec![Fact { dtype: DType::Bool, shape: input.shape.clone(), value: None }],
            Self::Ngrams(ngrams) => {
                let shape = input.shape.as_ref().map(|shape| ngrams.shape(shape)).transpose()?;
                vec![Fact { dtype: DType::F32, shape, value: None }]
            }
        })
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let tensor = inputs.tensor(0)?;
        Ok(match self {
            Self::Concat => {
                let other = inputs.tensor(1)?;
                let shape = shape::broadcast(&[tensor.shape(), other.shape()])?;
                shape::count(&shape)?;
                let (left, right) = (tensor.slice::<String>()?, other.slice::<String>()?);
                let strides = [tensor, other].map(|one| shape::broadcast_strides(one.shape(), &shape));
                let pairs = shape::offsets(&shape, &strides[0]).zip(shape::offsets(&shape, &strides[1]));
                let joined = pairs.map(|(at, other)| format!("{}{}", left[at], right[other])).collect();
                vec![Tensor::new(shape, joined)?.into()]
            }
            Self::Split { delimiter, most } => split(tensor, delimiter, *most)?,
            Self::Normalize { case, sensitive, stop } => vec![normalize(tensor, *case, *sensitive, stop)?.into()],
            Self::FullMatch(pattern) => {
                let matches = tensor.slice::<String>()?.iter().map(|text| pattern.is_match(text)).collect();
                vec![Tensor::new(tensor.shape(), matches)?.into()]
            }
            Self::Ngrams(ngrams) => vec![ngrams.eval(tensor)?.into()],
        })
    }
}

fn split(tensor: &Tensor, delimiter: &str, most: Option<usize>) -> Result<Vec<Value>, OpError> {
    let limit = most.map_or(usize::MAX, |most| most.saturating_add(1));
    let all: Vec<Vec<&str>> = tensor.slice::<String>()?.iter().map(|text| parts(text, delimiter, limit)).collect();
    let counts: Vec<i64> = all.iter().map(|parts| parts.len() as i64).collect();
    let widest = all.iter().map(Vec::len).max().unwrap_or(0);
    let shape = [tensor.shape(), &[widest]].concat();
    let mut filled = Vec::with_capacity(shape::count(&shape)?);
    for parts in all {
        let missing = widest - parts.len();
        filled.extend(parts.into_iter().map(str::to_owned));
        filled.extend(std::iter::repeat_n(String::new(), missing));
    }
    Ok(vec![Tensor::new(shape, filled)?.into(), Tensor::new(tensor.shape(), counts)?.into()])
}

/// Up to `limit` parts of a string, split as in Python.
fn parts<'a>(text: &'a str, delimiter: &str, limit: usize) -> Vec<&'a str> {
    if !delimiter.is_empty() {
        return text.splitn(limit, delimiter).collect();
    }
    let mut rest = text.trim_start();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let end = if parts.len() + 1 < limit { rest.find(char::is_whitespace) } else { None };
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        parts.push(part);
        rest = behind.trim_start();
    }
    parts
}

fn normalize(tensor: &Tensor, case: Case, sensitive: bool, stop: &[String]) -> Result<Tensor, OpError> {
    if !matches!(tensor.shape(), [_] | [1, _]) {
        return Err(OpError::invalid(format!("the strings have shape {:?}, expected [C] or [1, C]", tensor.shape())));
    }
    let compared = |text: &str| if sensitive { text.to_owned() } else { text.to_lowercase() };
    let stop: std::collections::BTreeSet<String> = stop.iter().map(|word| compared(word)).collect();
    let words = tensor.slice::<String>()?.iter().filter(|text| !stop.contains(&compared(text)));
    let mut words: Vec<String> = words
        .map(|text| match case {
            Case::Keep => text.clone(),
            Case::Lower => text.to_lowercase(),
            Case::Upper => text.to_uppercase(),
        })
        .collect();
    if words.is_empty() {
        words.push(String::new());
    }
    let count = words.len();
    Tensor::new(if tensor.rank() == 1 { vec![count] } else { vec![1, count] }, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_split_as_in_python() {
        assert_eq!(parts("  a  b c ", "", usize::MAX), ["a", "b", "c"]);
        assert_eq!(parts("  a  b c ", "", 2), ["a", "b c "]);
        assert_eq!(parts("a--b-c", "-", 3), ["a", "", "b-c"]);
        assert_eq!(parts("", "-", 3), [""]);
        assert!(parts("  ", "", 3).is_empty());
    }

    #[test]
    fn normalized_strings_are_never_empty() -> Result<(), OpError> {
        let words = Tensor::new([1, 2], vec!["Ä".to_owned(), "b".to_owned()])?;
        let stop = ["ä".to_owned(), "B".to_owned()];
        assert_eq!(normalize(&words, Case::Upper, false, &stop)?, Tensor::new([1, 1], vec![String::new()])?);
        assert_eq!(normalize(&words, Case::Upper, true, &stop)?.slice::<String>()?, ["Ä", "B"]);
        assert!(normalize(&Tensor::zeros(DType::String, [2, 2])?, Case::Keep, true, &[]).is_err());
        Ok(())
    }
}
