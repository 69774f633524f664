//! Allocator of KV pages, with a prefix cache.
//!
//! A page is free, in use by one or more sequences, or cached: unused, but with known content that
//! a sequence with the same prefix can acquire again. Published pages form a tree. A page's key is
//! its parent page, or the root for the sequence's LoRA adapters, and its own tokens, so that a path
//! from the root spells a prefix. A sequence
//! that uses a page uses all of its ancestors. When free pages run out, the least recently used
//! cached leaf is evicted.

use std::collections::{BTreeSet, HashMap};

use crate::slots::Slots;

/// Key of a published page: its parent and its tokens.
type PageKey = (Option<u32>, Box<[u32]>);

#[derive(Debug, Default)]
struct Page {
    /// Sequences that use it.
    users: u32,
    /// Set once the page is published.
    key: Option<PageKey>,
    /// Published pages whose parent it is.
    children: u32,
    /// Logical time of the last acquire or release.
    last_used: u64,
    /// Whether a draft model has evaluated the published tokens, too.
    drafted: bool,
}

impl Page {
    fn is_evictable(&self) -> bool {
        self.users == 0 && self.children == 0 && self.key.is_some()
    }
}

/// The pages of one device.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Tokens per page.
    size: usize,
    pages: Vec<Page>,
    free: Vec<u32>,
    tree: HashMap<PageKey, u32>,
    /// Unused leaves of the tree, least recently used first.
    evictable: BTreeSet<(u64, u32)>,
    /// Unused pages with known content.
    cached: usize,
    /// Logical clock.
    now: u64,
    /// Recurrent states, some of them checkpoints of published pages.
    pub(crate) slots: Slots,
}

/// A cached prefix that a sequence has acquired.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CachedPrefix {
    pub(crate) pages: Vec<u32>,
    /// The slot with the recurrent state after these pages.
    pub(crate) checkpoint: Option<u32>,
    /// Number of pages with the same tokens that are cached, including those without a
    /// checkpoint after them, which are not acquired.
    pub(crate) matching: usize,
}

impl Pages {
    pub(crate) fn new(size: usize, count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            size: size.max(1),
            pages: (0..count).map(|_| Page::default()).collect(),
            // Popped from the end: low page numbers are allocated first.
            free: (0..count).rev().collect(),
            tree: HashMap::new(),
            evictable: BTreeSet::new(),
            cached: 0,
            now: 0,
            slots: Slots::new(0),
        }
    }

    /// The same pages for a model with this number of recurrent states.
    pub(crate) fn with_slots(self, count: usize) -> Self {
        Self { slots: Slots::new(count), ..self }
    }

    /// Tokens per page.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Pages that can be allocated, including cached ones.
    pub(crate) fn available(&self) -> usize {
        self.free.len() + self.cached
    }

    /// Unused pages with known content.
    pub(crate) fn cached(&self) -> usize {
        self.cached
    }

    /// Pages in use by sequences.
    pub(crate) fn used(&self) -> usize {
        self.pages.len() - self.available()
    }

    /// Allocates a page to write to, evicting a cached one if necessary.
    pub(crate) fn allocate(&mut self) -> Option<u32> {
        if self.free.is_empty() {
            let &(_, oldest) = self.evictable.first()?;
            self.evict(oldest);
        }
        let page = self.free.pop()?;
        self.pages[page as usize].users = 1;
        self.pages[page as usize].drafted = false;
        Some(page)
    }

    /// Acquires the published page with these tokens and this parent, if there is one.
    pub(crate) fn acquire_cached(&mut self, parent: Option<u32>, tokens: &[u32]) -> Option<u32> {
        let page = *self.tree.get(&(parent, Box::from(tokens)))?;
        self.acquire(page);
        Some(page)
    }

    /// Acquires the published pages of the longest cached prefix of `tokens` below a root.
    pub(crate) fn acquire_prefix(&mut self, root: Option<u32>, tokens: &[u32]) -> Vec<u32> {
        let mut pages: Vec<u32> = Vec::new();
        for tokens in tokens.chunks_exact(self.size) {
            let Some(page) = self.acquire_cached(pages.last().copied().or(root), tokens) else { break };
            pages.push(page);
        }
        pages
    }

    /// Acquires the longest cached prefix of `tokens` below a root that a sequence can continue from:
    /// with recurrent states, up to the last page with a checkpoint.
    pub(crate) fn acquire_continuable(&mut self, root: Option<u32>, tokens: &[u32]) -> CachedPrefix {
        let mut pages = self.acquire_prefix(root, tokens);
        let matching = pages.len();
        if !self.slots.are_used() {
            return CachedPrefix { pages, checkpoint: None, matching };
        }
        let mut checkpoint = None;
        while let Some(&last) = pages.last() {
            checkpoint = self.slots.checkpoint_of(last);
            if checkpoint.is_some() {
                break;
            }
            pages.pop();
            self.release(last);
        }
        CachedPrefix { pages, checkpoint, matching }
    }

    /// Publishes a page that its only user has filled, and returns it. If a page with the same
    /// content is published already, returns that one instead and frees this one.
    pub(crate) fn publish(&mut self, parent: Option<u32>, tokens: &[u32], page: u32) -> u32 {
        if let Some(published) = self.acquire_cached(parent, tokens) {
            self.release(page);
            return published;
        }
        let key: PageKey = (parent, Box::from(tokens));
        self.tree.insert(key.clone(), page);
        self.pages[page as usize].key = Some(key);
        // A root is no page.
        if let Some(parent) = parent.and_then(|parent| self.pages.get_mut(parent as usize)) {
            parent.children += 1;
        }
        page
    }

    /// Whether several sequences use a page.
    pub(crate) fn is_shared(&self, page: u32) -> bool {
        self.pages[page as usize].users > 1
    }

    /// Whether a draft model has evaluated the tokens of a published page.
    pub(crate) fn is_drafted(&self, page: u32) -> bool {
        self.pages[page as usize].drafted
    }

    /// Records that a draft model has evaluated the tokens of a published page.
    pub(crate) fn note_drafted(&mut self, page: u32) {
        self.pages[page as usize].drafted = true;
    }

    /// Removes one user.
    pub(crate) fn release(&mut self, page: u32) {
        self.now += 1;
        let entry = &mut self.pages[page as usize];
        debug_assert!(entry.users > 0, "page {page} has no user to release it");
        entry.users -= 1;
        entry.last_used = self.now;
        if entry.users > 0 {
            return;
        }
        if entry.key.is_none() {
            self.free.push(page);
            return;
        }
        self.cached += 1;
        if entry.is_evictable() {
            self.evictable.insert((entry.last_used, page));
        }
    }

    /// Releases the pages of a sequence, last page first, so that its end is evicted before its
    /// start.
    pub(crate) fn release_all(&mut self, pages: &mut Vec<u32>) {
        while let Some(page) = pages.pop() {
            self.release(page);
        }
    }

    /// Adds one user.
    fn acquire(&mut self, page: u32) {
        self.now += 1;
        let entry = &mut self.pages[page as usize];
        if entry.users == 0 {
            self.evictable.remove(&(entry.last_used, page));
            self.cached -= 1;
        }
        entry.users += 1;
        entry.last_used = self.now;
    }

    /// Removes an evictable page from the tree and frees it.
    fn evict(&mut self, page: u32) {
        let entry = &mut self.pages[page as usize];
        self.evictable.remove(&(entry.last_used, page));
        let Some(key) = entry.key.take() else { return };
        self.tree.remove(&key);
        self.slots.page_evicted(page);
        self.cached -= 1;
        self.free.push(page);
        let (Some(parent), _) = key else { return };
        let Some(entry) = self.pages.get_mut(parent as usize) else { return };
        entry.children -= 1;
        if entry.is_evictable() {
            self.evictable.insert((entry.last_used, parent));
        }
    }
}

#[cfg(test)]
mod tests;
