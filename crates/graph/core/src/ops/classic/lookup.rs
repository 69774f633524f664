//! LabelEncoder: maps elements by lookup tables.

use std::collections::HashMap;
use std::hash::Hash;

use crate::{DType, Data, Element, OpError, Tensor, each_type};

/// A table of keys and values.
#[derive(Clone, Debug)]
pub struct LookupTable {
    keys: Tensor,
    values: Tensor,
    default: Tensor,
}

impl LookupTable {
    /// Creates a table from lists of the same length and a default value.
    pub fn new(keys: Tensor, values: Tensor, default: Tensor) -> Result<Self, OpError> {
        if keys.len() != values.len() || default.len() != 1 || default.dtype() != values.dtype() {
            return Err(OpError::invalid(format!(
                "there are {} keys, {} values of type {} and {} defaults of type {}, \
                 expected one value per key and one default of the same type",
                keys.len(),
                values.len(),
                values.dtype(),
                default.len(),
                default.dtype()
            )));
        }
        Ok(Self { keys, values, default })
    }

    fn eval(&self, x: &Tensor) -> Result<Tensor, OpError> {
        // The index of each element's key; `None` if it is not a key.
        let places = match (x.data(), self.keys.data()) {
            (Data::String(x), Data::String(keys)) => places(x.iter(), keys.iter()),
            (Data::F32(_) | Data::F64(_) | Data::F16(_) | Data::BF16(_), _) => {
                let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { (x + 0.0).to_bits() };
                places(x.floats()?.into_iter().map(bits), self.keys.floats()?.into_iter().map(bits))
            }
            _ => places(x.integers()?.into_iter(), self.keys.integers()?.into_iter()),
        };
        fn pick<T: Element>(values: &[T], default: &[T], places: &[Option<usize>]) -> Data {
            let pick = |place: &Option<usize>| place.map_or(&default[0], |place| &values[place]).clone();
            T::wrap(places.iter().map(pick).collect())
        }
        let data = each_type!(any: self.values, |T, v| pick::<T>(v, self.default.slice::<T>()?, &places));
        Tensor::from_data(x.shape(), data)
    }
}

fn places<K: Hash + Eq>(x: impl Iterator<Item = K>, keys: impl Iterator<Item = K>) -> Vec<Option<usize>> {
    // Of duplicate keys, the last counts.
    let known: HashMap<K, usize> = keys.enumerate().map(|(place, key)| (key, place)).collect();
    x.map(|x| known.get(&x).copied()).collect()
}

/// Tables for different element types; the first whose key type matches the operand is used.
#[derive(Clone, Debug)]
pub struct Lookup(pub Vec<LookupTable>);

impl Lookup {
    fn map(&self, dtype: DType) -> Result<&LookupTable, OpError> {
        self.0.iter().find(|map| map.keys.dtype() == dtype).ok_or_else(|| OpError::dtype("LabelEncoder", dtype))
    }

    pub(super) fn dtype(&self, of: DType) -> Result<DType, OpError> {
        Ok(self.map(of)?.values.dtype())
    }

    pub(super) fn eval(&self, x: &Tensor) -> Result<Tensor, OpError> {
        self.map(x.dtype())?.eval(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_duplicate_key_wins_and_nan_is_found() -> Result<(), OpError> {
        let keys = Tensor::vector(vec![1f32, f32::NAN, 1.0, 0.0]);
        let map = LookupTable::new(keys, Tensor::vector(vec![10i64, 20, 30, 40]), Tensor::scalar(-1i64))?;
        let x = Tensor::vector(vec![1f32, -f32::NAN, 2.0, -0.0]);
        assert_eq!(Lookup(vec![map]).eval(&x)?, Tensor::vector(vec![30i64, 20, -1, 40]));
        assert!(
            LookupTable::new(Tensor::vector(vec![1i64]), Tensor::vector(vec![1i64, 2]), Tensor::scalar(0i64)).is_err()
        );
        Ok(())
    }
}
