//! Typed access to the hyperparameters of a file.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use roci_gguf::Metadata;

use super::error::ModelError;

/// Limits. Files that exceed them are damaged or hostile; products of smaller numbers do not
/// overflow.
pub(super) const MAX_LAYERS: u64 = 1 << 12;
pub(super) const MAX_HEADS: u64 = 1 << 14;
pub(super) const MAX_LENGTH: u64 = 1 << 22;
pub(super) const MAX_TOKENS: u64 = 1 << 26;
pub(super) const MAX_CONTEXT: u64 = 1 << 31;
pub(super) const MAX_KERNEL: u64 = 1 << 6;
pub(super) const MAX_STREAMS: u64 = 1 << 6;

/// Typed access to the metadata keys of one architecture.
pub(super) struct Keys<'a> {
    pub(super) metadata: &'a Metadata,
    architecture: &'static str,
    /// The keys that were asked for.
    read: RefCell<BTreeSet<String>>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(metadata: &'a Metadata, architecture: &'static str) -> Self {
        Self { metadata, architecture, read: RefCell::default() }
    }

    /// The full names of the keys read so far.
    pub(super) fn read(&self) -> BTreeSet<String> {
        self.read.borrow().clone()
    }

    /// The full name of a key, which counts as read.
    pub(super) fn key(&self, key: &str) -> String {
        let key = format!("{}.{key}", self.architecture);
        self.read.borrow_mut().insert(key.clone());
        key
    }

    /// An integer from 1 to `most`, if the key exists.
    pub(super) fn count(&self, key: &str, most: u64) -> Result<Option<usize>, ModelError> {
        let key = self.key(key);
        let Some(count) = self.metadata.get::<u64>(&key)? else { return Ok(None) };
        if count == 0 || count > most {
            return Err(ModelError::config(key, format!("{count} is out of range: 1 to {most}")));
        }
        Ok(Some(count as usize))
    }

    pub(super) fn needed(&self, key: &str, most: u64) -> Result<usize, ModelError> {
        self.count(key, most)?.ok_or_else(|| roci_gguf::Error::MissingKey(self.key(key)).into())
    }

    /// One integer for all layers, or an array with one per layer.
    pub(super) fn each(
        &self,
        key: &str,
        layers: LayerCount,
        limits: RangeInclusive<u64>,
    ) -> Result<Option<Vec<usize>>, ModelError> {
        let key = self.key(key);
        let Some(mut counts) = self.metadata.get_each::<u64>(&key, layers.file)? else { return Ok(None) };
        counts.truncate(layers.computed);
        if let Some(count) = counts.iter().find(|count| !limits.contains(count)) {
            let reason = format!("{count} is out of range: {} to {}", limits.start(), limits.end());
            return Err(ModelError::config(key, reason));
        }
        Ok(Some(counts.into_iter().map(|count| count as usize).collect()))
    }

    /// An array of `N` integers from 0 to `most`.
    pub(super) fn counts<const N: usize>(&self, key: &str, most: u64) -> Result<[usize; N], ModelError> {
        let key = self.key(key);
        let counts: Vec<u64> = self.metadata.expect(&key)?;
        let array: [u64; N] = counts.try_into().map_err(|counts: Vec<u64>| {
            ModelError::config(&*key, format!("{} numbers instead of {N}", counts.len()))
        })?;
        match array.iter().find(|&&count| count > most) {
            Some(count) => Err(ModelError::config(key, format!("{count} is out of range: 0 to {most}"))),
            None => Ok(array.map(|count| count as usize)),
        }
    }

    /// A finite number, if the key exists.
    pub(super) fn float(&self, key: &str) -> Result<Option<f32>, ModelError> {
        let key = self.key(key);
        match self.metadata.get::<f32>(&key)? {
            Some(number) if !number.is_finite() => Err(ModelError::config(key, format!("{number} is not finite"))),
            number => Ok(number),
        }
    }

    /// A finite number above zero, if the key exists.
    pub(super) fn positive(&self, key: &str) -> Result<Option<f32>, ModelError> {
        match self.float(key)? {
            Some(number) if number <= 0.0 => Err(ModelError::config(self.key(key), format!("{number} is not above 0"))),
            number => Ok(number),
        }
    }

    /// An unsigned integer, if the key exists.
    pub(super) fn integer(&self, key: &str) -> Result<Option<i64>, ModelError> {
        Ok(self.metadata.get(&self.key(key))?)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, ModelError> {
        Ok(self.metadata.get(&self.key(key))?)
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, ModelError> {
        Ok(self.metadata.get(&self.key(key))?)
    }

    /// As [`scale`](Self::scale), for factors that must be positive.
    pub(super) fn positive_scale(&self, key: &str) -> Result<Option<f32>, ModelError> {
        match self.scale(key)? {
            Some(scale) if scale < 0.0 => Err(ModelError::config(self.key(key), format!("{scale} is not above 0"))),
            scale => Ok(scale),
        }
    }

    /// A factor, if the key exists and is not 0, which means the default.
    pub(super) fn scale(&self, key: &str) -> Result<Option<f32>, ModelError> {
        Ok(self.float(key)?.filter(|scale| *scale != 0.0))
    }
}

/// Layers of a file. The last ones may predict further tokens from the hidden states of the
/// others (multi-token prediction); the model is computed without them.
#[derive(Clone, Copy)]
pub(super) struct LayerCount {
    pub(super) file: usize,
    pub(super) computed: usize,
}

impl LayerCount {
    pub(super) fn read(keys: &Keys<'_>) -> Result<Self, ModelError> {
        let file = keys.needed("block_count", MAX_LAYERS)?;
        let predicting = keys.metadata.get::<u64>(&keys.key("nextn_predict_layers"))?.unwrap_or(0);
        if predicting >= file as u64 {
            let reason = format!("{predicting} is out of range: 0 to {}", file - 1);
            return Err(ModelError::config(keys.key("nextn_predict_layers"), reason));
        }
        Ok(Self { file, computed: file - predicting as usize })
    }

    /// The same, including the layers of prediction heads.
    pub(super) fn all(self) -> Self {
        Self { computed: self.file, ..self }
    }
}
