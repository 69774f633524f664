use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const SIZE: usize = 2;

#[test]
fn the_longest_published_prefix_is_found() {
    let mut pages = Pages::new(SIZE, 4);
    let (first, second) = (pages.allocate().expect("a page"), pages.allocate().expect("a page"));
    assert_eq!(pages.publish(None, &[1, 2], first), first);
    assert_eq!(pages.publish(Some(first), &[3, 4], second), second);
    assert_eq!(pages.acquire_prefix(None, &[1, 2, 3, 4, 5]), [first, second]);
    assert_eq!(pages.acquire_prefix(None, &[1, 2, 3, 5]), [first]);
    // The same tokens with another parent are another page.
    assert_eq!(pages.acquire_prefix(None, &[3, 4]), [0u32; 0]);
    assert_eq!(pages.acquire_prefix(None, &[1]), [0u32; 0]);
}

#[test]
fn publishing_duplicate_content_frees_one_page() {
    let mut pages = Pages::new(SIZE, 2);
    let (first, second) = (pages.allocate().expect("a page"), pages.allocate().expect("a page"));
    pages.publish(None, &[1, 2], first);
    assert_eq!(pages.publish(None, &[1, 2], second), first);
    assert_eq!((pages.used(), pages.available()), (1, 1));
    pages.release(first);
    assert_eq!((pages.used(), pages.cached()), (1, 0), "the other sequence still uses it");
    pages.release(first);
    assert_eq!((pages.used(), pages.cached()), (0, 1));
}

#[test]
fn the_least_recently_used_leaf_is_evicted_first() {
    let mut pages = Pages::new(SIZE, 3);
    let mut sequence = vec![pages.allocate().expect("a page"), pages.allocate().expect("a page")];
    pages.publish(None, &[1, 1], sequence[0]);
    pages.publish(Some(sequence[0]), &[2, 2], sequence[1]);
    let other = pages.allocate().expect("a page");
    pages.publish(None, &[3, 3], other);
    pages.release_all(&mut sequence);
    pages.release(other);
    assert_eq!(pages.cached(), 3);
    // Evicts the end of the first sequence, not its start.
    pages.allocate().expect("a page");
    assert_eq!(pages.acquire_prefix(None, &[1, 1, 2, 2]).len(), 1);
    pages.allocate().expect("a page");
    assert_eq!(pages.acquire_prefix(None, &[3, 3]), [0u32; 0], "it was used before the page that was just acquired");
    assert_eq!(pages.allocate(), None);
}

/// One operation of a sequence.
#[derive(Clone, Debug)]
enum Op {
    /// Acquires the cached prefix, then allocates and fills pages for the rest.
    Begin(Vec<u32>),
    /// Releases all pages.
    End(usize),
    /// Allocates and fills one more page.
    Grow(usize, u32),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        // Only two token ids, so that prefixes collide.
        prop::collection::vec(0u32..2, 0..5).prop_map(Op::Begin),
        any::<usize>().prop_map(Op::End),
        (any::<usize>(), 0u32..2).prop_map(|(sequence, token)| Op::Grow(sequence, token)),
    ]
}

proptest! {
    /// Sequences that share a page agree on its content, pages with different content are distinct,
    /// and no page leaks.
    #[test]
    fn pages_neither_leak_nor_are_allocated_twice(ops in prop::collection::vec(op(), 0..60), count in 1usize..9) {
        let mut pages = Pages::new(1, count);
        // All tokens from the start of the sequence to the page's own.
        let mut content: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut sequences: Vec<(Vec<u32>, Vec<u32>)> = Vec::new();
        for op in ops {
            match op {
                Op::Begin(tokens) => {
                    let mut own = pages.acquire_prefix(None, &tokens);
                    for (at, page) in own.iter().enumerate() {
                        prop_assert_eq!(&content[page], &tokens[..=at], "a published page holds the tokens of its key");
                    }
                    let mut length = own.len();
                    while length < tokens.len() {
                        let Some(page) = pages.allocate() else { break };
                        prop_assert!(sequences.iter().all(|(_, pages)| !pages.contains(&page)), "page {} is in use", page);
                        prop_assert!(!own.contains(&page));
                        content.insert(page, tokens[..=length].to_vec());
                        own.push(pages.publish(own.last().copied(), &tokens[length..=length], page));
                        length += 1;
                    }
                    sequences.push((tokens[..length].to_vec(), own));
                }
                Op::Grow(sequence, token) if !sequences.is_empty() => {
                    let sequence = sequence % sequences.len();
                    let Some(page) = pages.allocate() else { continue };
                    prop_assert!(sequences.iter().all(|(_, pages)| !pages.contains(&page)), "page {} is in use", page);
                    let (tokens, own) = &mut sequences[sequence];
                    tokens.push(token);
                    content.insert(page, tokens.clone());
                    own.push(pages.publish(own.last().copied(), &[token], page));
                }
                Op::End(sequence) if !sequences.is_empty() => {
                    let (_, mut own) = sequences.swap_remove(sequence % sequences.len());
                    pages.release_all(&mut own);
                }
                Op::Grow(..) | Op::End(_) => {}
            }
            let mut used: Vec<u32> = sequences.iter().flat_map(|(_, pages)| pages.iter().copied()).collect();
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(pages.used(), used.len());
            prop_assert_eq!(pages.used() + pages.available(), count);
            for (tokens, own) in &sequences {
                for (at, page) in own.iter().enumerate() {
                    prop_assert_eq!(&content[page], &tokens[..=at], "a page in use was overwritten");
                }
            }
        }
        // Once all are released, all can be allocated.
        sequences.iter_mut().for_each(|(_, own)| pages.release_all(own));
        let all: Vec<u32> = std::iter::from_fn(|| pages.allocate()).collect();
        prop_assert_eq!(all.len(), count);
    }
}

#[test]
fn pages_below_different_roots_are_different() {
    let mut pages = Pages::new(2, 3);
    let roots = [None, Some(u32::MAX), Some(u32::MAX - 1)];
    for root in roots {
        let page = pages.allocate().expect("a page is free");
        assert_eq!(pages.publish(root, &[1, 2], page), page);
        assert_eq!(pages.acquire_prefix(root, &[1, 2]), [page]);
        pages.release(page);
        pages.release(page);
    }
    assert_eq!(pages.cached(), 3);
    // Eviction does not take a root for a page.
    let all: Vec<u32> = (0..3).filter_map(|_| pages.allocate()).collect();
    assert_eq!(all.len(), 3);
    assert!(roots.iter().all(|root| pages.acquire_prefix(*root, &[1, 2]).is_empty()));
}
