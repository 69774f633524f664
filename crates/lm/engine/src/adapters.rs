//! LoRA adapters of sequences, and their prefixes in the cache.

use std::collections::HashMap;
use std::sync::Arc;

use crate::EngineError;

/// Maximum number of different settings whose prefixes are cached.
const MAX_SETTINGS: usize = 1024;

/// A LoRA adapter of a loaded model.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterSetting {
    /// Name for users, such as the path of the file.
    pub name: String,
    /// Scale in requests that choose none.
    pub scale: f32,
}

/// The scales of all adapters: those that `chosen` names by number, and zero for the others.
///
/// # Errors
/// If there is no adapter with such a number, or a scale is not finite.
pub(crate) fn scales(chosen: &[(usize, f32)], count: usize) -> Result<Arc<[f32]>, EngineError> {
    let mut scales = vec![0.0; count];
    for &(id, scale) in chosen {
        let Some(entry) = scales.get_mut(id).filter(|_| scale.is_finite()) else {
            return Err(EngineError::Adapter { id, scale, count });
        };
        *entry = scale;
    }
    Ok(scales.into())
}

/// Roots of the trees of cached pages: keys and values depend on the adapters, so that sequences
/// with different scales share no pages. A root is no page, but takes the place of the number of
/// one as the parent of first pages.
#[derive(Debug, Default)]
pub(crate) struct PrefixRoots {
    roots: HashMap<Box<[u32]>, u32>,
    /// Roots so far.
    count: u32,
}

impl PrefixRoots {
    /// The root of sequences with these scales; `None` if all are zero.
    pub(crate) fn root(&mut self, scales: &[f32]) -> Option<u32> {
        if scales.iter().all(|scale| *scale == 0.0) {
            return None;
        }
        // Both zeros are the same scale.
        let key: Box<[u32]> = scales.iter().map(|scale| (scale + 0.0).to_bits()).collect();
        if let Some(root) = self.roots.get(&key) {
            return Some(*root);
        }
        if self.roots.len() >= MAX_SETTINGS {
            // Pages below forgotten roots are evicted like other unused ones.
            self.roots.clear();
        }
        // From the end: pages have low numbers.
        let root = u32::MAX - self.count;
        self.count = (self.count + 1) % (u32::MAX / 2);
        self.roots.insert(key, root);
        Some(root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_adapters_and_infinite_scales_are_refused() {
        assert_eq!(*scales(&[(1, 0.5)], 2).expect("the adapter exists"), [0.0, 0.5]);
        assert!(matches!(scales(&[(2, 0.5)], 2), Err(EngineError::Adapter { id: 2, count: 2, .. })));
        assert!(matches!(scales(&[(0, f32::NAN)], 2), Err(EngineError::Adapter { id: 0, .. })));
    }

    #[test]
    fn each_setting_has_a_root() {
        let mut roots = PrefixRoots::default();
        assert_eq!(roots.root(&[]), None);
        assert_eq!(roots.root(&[0.0, -0.0]), None);
        let one = roots.root(&[1.0, 0.0]);
        assert!(one.is_some());
        assert_eq!(roots.root(&[1.0, -0.0]), one);
        assert_ne!(roots.root(&[0.5, 0.0]), one);
    }

    #[test]
    fn many_settings_take_bounded_memory() {
        let mut roots = PrefixRoots::default();
        for setting in 1..5000 {
            assert!(roots.root(&[setting as f32]).is_some());
        }
        assert!(roots.roots.len() <= MAX_SETTINGS);
    }
}
