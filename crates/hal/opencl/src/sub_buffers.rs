//! Sub-buffers: ranges of a buffer as separate memory objects, which give a kernel a binding with
//! an offset.
//!
//! A buffer keeps its sub-buffers until it is released, and then releases them newest first.
//! NVIDIA's driver (580.159) crashes in `clReleaseMemObject` when overlapping sub-buffers that
//! commands have used are released in another order, or while older ones are still in use. Equal
//! ranges share one sub-buffer, so the number of sub-buffers is the number of distinct ranges that
//! were ever bound.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::cl::Mem;
use crate::error::ClError;

/// The sub-buffers of one buffer. `M` is the memory object type; tests use a fake.
pub(crate) struct SubBuffers<M = Mem> {
    state: Mutex<SubBuffersState<M>>,
}

struct SubBuffersState<M> {
    /// In order of creation.
    objects: Vec<M>,
    /// Offset and length to index.
    by_range: HashMap<(u64, u64), usize>,
}

impl<M> Default for SubBuffers<M> {
    fn default() -> Self {
        Self { state: Mutex::new(SubBuffersState { objects: Vec::new(), by_range: HashMap::new() }) }
    }
}

impl<M> SubBuffers<M> {
    /// Calls `apply` with the sub-buffer of a range, which `create` creates on first use.
    pub(crate) fn with<T>(
        &self,
        range: (u64, u64),
        create: impl FnOnce() -> Result<M, ClError>,
        apply: impl FnOnce(&M) -> Result<T, ClError>,
    ) -> Result<T, ClError> {
        let mut state = self.state.lock();
        let index = match state.by_range.get(&range) {
            Some(index) => *index,
            None => {
                state.objects.push(create()?);
                let index = state.objects.len() - 1;
                state.by_range.insert(range, index);
                index
            }
        };
        apply(&state.objects[index])
    }
}

impl<M> Drop for SubBuffers<M> {
    fn drop(&mut self) {
        // A `Vec` drops its first element first.
        let objects = &mut self.state.get_mut().objects;
        while objects.pop().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    struct Logged<'a>(u64, &'a RefCell<Vec<u64>>);

    impl Drop for Logged<'_> {
        fn drop(&mut self) {
            self.1.borrow_mut().push(self.0);
        }
    }

    #[test]
    fn equal_ranges_share_one_sub_buffer_and_the_newest_is_released_first() {
        let released = RefCell::default();
        let sub_buffers = SubBuffers::default();
        for offset in [1536, 2560, 1536, 3072, 2560] {
            let found = sub_buffers.with((offset, 512), || Ok(Logged(offset, &released)), |object| Ok(object.0));
            assert_eq!(found.ok(), Some(offset));
        }
        assert!(released.borrow().is_empty());
        drop(sub_buffers);
        assert_eq!(*released.borrow(), [3072, 2560, 1536]);
    }

    #[test]
    fn a_range_that_cannot_be_created_is_tried_again() {
        let sub_buffers = SubBuffers::default();
        let failed = || ClError { call: "clCreateSubBuffer", code: cl3::error_codes::CL_INVALID_VALUE };
        assert!(sub_buffers.with((0, 4), || Err(failed()), |value: &u32| Ok(*value)).is_err());
        assert_eq!(sub_buffers.with((0, 4), || Ok(7), |value| Ok(*value)).ok(), Some(7));
    }
}
