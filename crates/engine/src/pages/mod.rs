//! Pages of keys and values: who has them, and what is known of their content.
//!
//! A page is free, or used by one text or more, or kept: nobody uses it, but its content is known, and a text that begins alike may take it up
//! again. Pages whose content is known hang in a tree: a page's place is the page before it and its own tokens, so that a path
//! from the root spells the beginning of a text. Whoever uses a page uses all pages before it. When free pages run out, that kept page goes which nobody asked
//! for the longest, leaves of the tree first.

use std::collections::{BTreeSet, HashMap};

/// A place in the tree: the page before, and the tokens.
type Place = (Option<u32>, Box<[u32]>);

#[derive(Debug, Default)]
struct Page {
    /// How many texts use it.
    users: u32,
    /// Its place in the tree, if its content is known.
    place: Option<Place>,
    /// How many pages hang below it.
    children: u32,
    /// When it was last taken up or let go.
    touched: u64,
}

impl Page {
    /// Whether it may be used for something else.
    fn is_spare(&self) -> bool {
        self.users == 0 && self.children == 0 && self.place.is_some()
    }
}

/// All pages of a device.
#[derive(Debug)]
pub(crate) struct Pages {
    /// How many tokens a page holds.
    size: usize,
    pages: Vec<Page>,
    free: Vec<u32>,
    tree: HashMap<Place, u32>,
    /// Leaves of the tree that nobody uses, those that were touched first in front.
    spare: BTreeSet<(u64, u32)>,
    kept: usize,
    now: u64,
}

impl Pages {
    pub(crate) fn new(size: usize, count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            size: size.max(1),
            pages: (0..count).map(|_| Page::default()).collect(),
            // The first pages are given out first.
            free: (0..count).rev().collect(),
            tree: HashMap::new(),
            spare: BTreeSet::new(),
            kept: 0,
            now: 0,
        }
    }

    /// How many tokens a page holds.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// How many pages can be taken now.
    pub(crate) fn available(&self) -> usize {
        self.free.len() + self.kept
    }

    /// How many pages nobody uses whose content is known.
    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    /// How many pages are in use.
    pub(crate) fn used(&self) -> usize {
        self.pages.len() - self.available()
    }

    /// Takes a page to write to. Its content is not known.
    pub(crate) fn take(&mut self) -> Option<u32> {
        if self.free.is_empty() {
            let &(_, oldest) = self.spare.first()?;
            self.forget(oldest);
        }
        let page = self.free.pop()?;
        self.pages[page as usize].users = 1;
        Some(page)
    }

    /// Takes up the page with these tokens after the page `before`, if there is one.
    pub(crate) fn take_known(&mut self, before: Option<u32>, tokens: &[u32]) -> Option<u32> {
        let page = *self.tree.get(&(before, Box::from(tokens)))?;
        self.share(page);
        Some(page)
    }

    /// Takes up the pages that a text begins with, as far as they are known.
    pub(crate) fn take_beginning(&mut self, tokens: &[u32]) -> Vec<u32> {
        let mut pages: Vec<u32> = Vec::new();
        for tokens in tokens.chunks_exact(self.size) {
            let Some(page) = self.take_known(pages.last().copied(), tokens) else { break };
            pages.push(page);
        }
        pages
    }

    /// Makes known what a page holds, which its one user has filled. If another page holds the same, that one is given in its place, and
    /// this one is free.
    pub(crate) fn complete(&mut self, before: Option<u32>, tokens: &[u32], page: u32) -> u32 {
        if let Some(known) = self.take_known(before, tokens) {
            self.release(page);
            return known;
        }
        let place: Place = (before, Box::from(tokens));
        self.tree.insert(place.clone(), page);
        self.pages[page as usize].place = Some(place);
        if let Some(before) = before {
            self.pages[before as usize].children += 1;
        }
        page
    }

    /// One user less.
    pub(crate) fn release(&mut self, page: u32) {
        self.now += 1;
        let entry = &mut self.pages[page as usize];
        debug_assert!(entry.users > 0, "page {page} is released by whom?");
        entry.users -= 1;
        entry.touched = self.now;
        if entry.users > 0 {
            return;
        }
        if entry.place.is_none() {
            self.free.push(page);
            return;
        }
        self.kept += 1;
        if entry.is_spare() {
            self.spare.insert((entry.touched, page));
        }
    }

    /// Releases the pages of a text, the last first, so that its end is used for something else before its beginning.
    pub(crate) fn release_all(&mut self, pages: &mut Vec<u32>) {
        while let Some(page) = pages.pop() {
            self.release(page);
        }
    }

    /// One user more.
    fn share(&mut self, page: u32) {
        self.now += 1;
        let entry = &mut self.pages[page as usize];
        if entry.users == 0 {
            self.spare.remove(&(entry.touched, page));
            self.kept -= 1;
        }
        entry.users += 1;
        entry.touched = self.now;
    }

    /// Takes a spare page out of the tree.
    fn forget(&mut self, page: u32) {
        let entry = &mut self.pages[page as usize];
        self.spare.remove(&(entry.touched, page));
        let Some(place) = entry.place.take() else { return };
        self.tree.remove(&place);
        self.kept -= 1;
        self.free.push(page);
        let (Some(before), _) = place else { return };
        let parent = &mut self.pages[before as usize];
        parent.children -= 1;
        if parent.is_spare() {
            self.spare.insert((parent.touched, before));
        }
    }
}

#[cfg(test)]
mod tests;
