//! Metadata: keys in file order, with typed accessors.

use std::collections::HashMap;

use crate::{Array, Error, Value};

/// Keys and values of a file, in file order.
///
/// Accessors come in two forms: for a missing key, [`get`](Self::get) returns `None` and
/// [`expect`](Self::expect) an error that names it. A value of another type is an error in both.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    pairs: Vec<(String, Value)>,
    index: HashMap<String, usize>,
}

impl Metadata {
    /// Empty metadata.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key and returns its previous value. An existing key keeps its position; a new one is
    /// appended.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.index.get(&key) {
            Some(&at) => Some(std::mem::replace(&mut self.pairs[at].1, value)),
            None => {
                self.index.insert(key.clone(), self.pairs.len());
                self.pairs.push((key, value));
                None
            }
        }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// All keys and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.pairs.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The value of a key without conversion.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.index.get(key).map(|&at| &self.pairs[at].1)
    }

    /// The value of a key as `T`; `None` if the key is missing.
    ///
    /// # Errors
    /// If the value is not a `T` and cannot be converted without loss.
    pub fn get<'a, T: FromValue<'a>>(&'a self, key: &str) -> Result<Option<T>, Error> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match T::from_value(value) {
            Some(value) => Ok(Some(value)),
            None => Err(self.wrong(key, T::EXPECTED)),
        }
    }

    /// The value of a required key as `T`.
    ///
    /// # Errors
    /// The same as those of [`get`](Self::get), and if the key is missing.
    pub fn expect<'a, T: FromValue<'a>>(&'a self, key: &str) -> Result<T, Error> {
        self.get(key)?.ok_or_else(|| Error::MissingKey(key.to_owned()))
    }

    /// [`expect`](Self::expect) for `u32`, the type of most keys.
    ///
    /// # Errors
    /// The same as those of [`expect`](Self::expect).
    pub fn expect_u32(&self, key: &str) -> Result<u32, Error> {
        self.expect(key)
    }

    /// [`expect`](Self::expect) for `f32`.
    ///
    /// # Errors
    /// The same as those of [`expect`](Self::expect).
    pub fn expect_f32(&self, key: &str) -> Result<f32, Error> {
        self.expect(key)
    }

    /// [`expect`](Self::expect) for text.
    ///
    /// # Errors
    /// The same as those of [`expect`](Self::expect).
    pub fn expect_str(&self, key: &str) -> Result<&str, Error> {
        self.expect(key)
    }

    /// One number for each of `count` layers: either an array of that length, or a single number
    /// for all layers.
    ///
    /// # Errors
    /// The same as those of [`get`](Self::get), and if an array has another length.
    pub fn get_each<'a, T>(&'a self, key: &str, count: usize) -> Result<Option<Vec<T>>, Error>
    where
        T: FromValue<'a> + Clone,
        Vec<T>: FromValue<'a>,
    {
        match self.value(key) {
            Some(Value::Array(array)) if array.len() == count => self.get(key),
            Some(Value::Array(_)) => Err(self.wrong(key, &format!("{} or an array of {count} of them", T::EXPECTED))),
            _ => Ok(self.get::<T>(key)?.map(|value| vec![value; count])),
        }
    }

    fn wrong(&self, key: &str, expected: &str) -> Error {
        let found = self.value(key).map(ToString::to_string).unwrap_or_default();
        Error::WrongValue { key: key.to_owned(), expected: expected.to_owned(), found }
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut metadata = Self::new();
        for (key, value) in pairs {
            metadata.insert(key, value);
        }
        metadata
    }
}

/// A type that a [`Value`] converts to without loss: integers to any integer type that can hold the
/// value, `f64` to `f32` if that is exact, and every other type to itself.
pub trait FromValue<'a>: Sized {
    /// Name of the type in messages.
    const EXPECTED: &'static str;
    /// Converts the value; `None` if it has another type or does not fit.
    fn from_value(value: &'a Value) -> Option<Self>;
}

macro_rules! from_integers {
    ($($own:ty, $expected:literal, $list:literal);+) => {
        $(
            impl FromValue<'_> for $own {
                const EXPECTED: &'static str = $expected;
                fn from_value(value: &Value) -> Option<Self> {
                    value.as_integer()?.try_into().ok()
                }
            }
            impl FromValue<'_> for Vec<$own> {
                const EXPECTED: &'static str = $list;
                fn from_value(value: &Value) -> Option<Self> {
                    value.as_array()?.integers()?.into_iter().map(|value| value.try_into().ok()).collect()
                }
            }
        )+
    };
}

from_integers!(u8, "a u8", "an array of u8"; u16, "a u16", "an array of u16"; u32, "a u32", "an array of u32";
    u64, "a u64", "an array of u64"; i32, "an i32", "an array of i32"; i64, "an i64", "an array of i64");

/// Converts to `f32` if that is exact.
fn narrow(wide: f64) -> Option<f32> {
    let value = wide as f32;
    (f64::from(value) == wide || wide.is_nan()).then_some(value)
}

impl FromValue<'_> for f32 {
    const EXPECTED: &'static str = "an f32";
    fn from_value(value: &Value) -> Option<Self> {
        value.as_float().and_then(narrow)
    }
}

impl FromValue<'_> for f64 {
    const EXPECTED: &'static str = "an f64";
    fn from_value(value: &Value) -> Option<Self> {
        value.as_float()
    }
}

impl FromValue<'_> for bool {
    const EXPECTED: &'static str = "a bool";
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for &'a str {
    const EXPECTED: &'static str = "a string";
    fn from_value(value: &'a Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for &'a Array {
    const EXPECTED: &'static str = "a list";
    fn from_value(value: &'a Value) -> Option<Self> {
        value.as_array()
    }
}

impl<'a> FromValue<'a> for &'a [String] {
    const EXPECTED: &'static str = "an array of strings";
    fn from_value(value: &'a Value) -> Option<Self> {
        match value {
            Value::Array(Array::String(list)) => Some(list),
            _ => None,
        }
    }
}

impl FromValue<'_> for Vec<f32> {
    const EXPECTED: &'static str = "an array of f32";
    fn from_value(value: &Value) -> Option<Self> {
        match value.as_array()? {
            Array::F32(list) => Some(list.clone()),
            Array::F64(list) => list.iter().copied().map(narrow).collect(),
            _ => None,
        }
    }
}

impl FromValue<'_> for Vec<bool> {
    const EXPECTED: &'static str = "an array of bool";
    fn from_value(value: &Value) -> Option<Self> {
        match value.as_array()? {
            Array::Bool(list) => Some(list.clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Metadata {
        let mut metadata: Metadata =
            [("small", Value::U8(7)), ("minus", Value::I64(-1)), ("large", Value::U64(1 << 40))].into_iter().collect();
        metadata.insert("third", 1.0f64 / 3.0);
        metadata.insert("half", 0.5f64);
        metadata.insert("text", "llama");
        metadata.insert("words", vec!["a", "b"]);
        metadata.insert("heads", vec![8i32, 4, 4]);
        metadata.insert("flag", true);
        metadata
    }

    #[test]
    fn numbers_convert_only_without_loss() {
        let metadata = sample();
        assert_eq!(metadata.expect_u32("small").expect("it fits"), 7);
        assert_eq!(metadata.expect::<i64>("minus").expect("it fits"), -1);
        assert_eq!(metadata.expect::<u64>("large").expect("it fits"), 1 << 40);
        assert_eq!(metadata.expect_f32("half").expect("it is exact"), 0.5);
        assert_eq!(metadata.expect::<f64>("third").expect("it is an f64"), 1.0 / 3.0);
        for (key, error) in [
            ("minus", "the key `minus` should be a u32, but is the i64 -1"),
            ("large", "the key `large` should be a u32, but is the u64 1099511627776"),
            ("text", "the key `text` should be a u32, but is the string \"llama\""),
            ("words", "the key `words` should be a u32, but is an array of 2 x string"),
            ("half", "the key `half` should be a u32, but is the f64 0.5"),
            ("nothing", "the file lacks the key `nothing`"),
        ] {
            let got = metadata.expect_u32(key).expect_err(key);
            assert_eq!(got.to_string(), error);
            assert!(got.hint().is_some());
        }
        assert!(metadata.expect_f32("third").is_err(), "1/3 is not exact in f32");
        assert!(metadata.expect_f32("small").is_err());
        assert!(metadata.expect::<bool>("small").is_err());
    }

    #[test]
    fn a_missing_key_is_an_error_only_if_expected() {
        let metadata = sample();
        assert_eq!(metadata.get::<u32>("nothing").expect("no error"), None);
        assert_eq!(metadata.get::<&str>("text").expect("a string"), Some("llama"));
        assert!(metadata.get::<&str>("flag").is_err());
        assert_eq!(metadata.expect::<&[String]>("words").expect("a list"), ["a", "b"]);
    }

    #[test]
    fn one_number_applies_to_all_layers() {
        let metadata = sample();
        assert_eq!(metadata.get_each::<u32>("small", 3).expect("fits"), Some(vec![7, 7, 7]));
        assert_eq!(metadata.get_each::<u32>("heads", 3).expect("fits"), Some(vec![8, 4, 4]));
        assert_eq!(metadata.get_each::<u32>("nothing", 3).expect("fits"), None);
        let error = metadata.get_each::<u32>("heads", 4).expect_err("three heads");
        assert_eq!(
            error.to_string(),
            "the key `heads` should be a u32 or an array of 4 of them, but is an array of 3 x i32"
        );
    }

    #[test]
    fn a_replaced_key_keeps_its_position() {
        let mut metadata = sample();
        assert_eq!(metadata.insert("small", 9u32), Some(Value::U8(7)));
        assert_eq!(metadata.iter().next(), Some(("small", &Value::U32(9))));
        assert_eq!(metadata.len(), 9);
    }
}
