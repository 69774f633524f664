use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const SIZE: usize = 2;

#[test]
fn a_beginning_is_found_as_far_as_it_is_known() {
    let mut pages = Pages::new(SIZE, 4);
    let (first, second) = (pages.take().expect("a page"), pages.take().expect("a page"));
    assert_eq!(pages.complete(None, &[1, 2], first), first);
    assert_eq!(pages.complete(Some(first), &[3, 4], second), second);
    assert_eq!(pages.take_beginning(&[1, 2, 3, 4, 5]), [first, second]);
    assert_eq!(pages.take_beginning(&[1, 2, 3, 5]), [first]);
    // The same tokens in another place are something else.
    assert_eq!(pages.take_beginning(&[3, 4]), [0u32; 0]);
    assert_eq!(pages.take_beginning(&[1]), [0u32; 0]);
}

#[test]
fn of_pages_with_the_same_content_one_is_left() {
    let mut pages = Pages::new(SIZE, 2);
    let (first, second) = (pages.take().expect("a page"), pages.take().expect("a page"));
    pages.complete(None, &[1, 2], first);
    assert_eq!(pages.complete(None, &[1, 2], second), first);
    assert_eq!((pages.used(), pages.available()), (1, 1));
    pages.release(first);
    assert_eq!((pages.used(), pages.kept()), (1, 0), "the other text uses it still");
    pages.release(first);
    assert_eq!((pages.used(), pages.kept()), (0, 1));
}

#[test]
fn what_was_not_asked_for_the_longest_goes_first_and_ends_before_beginnings() {
    let mut pages = Pages::new(SIZE, 3);
    let mut text = vec![pages.take().expect("a page"), pages.take().expect("a page")];
    pages.complete(None, &[1, 1], text[0]);
    pages.complete(Some(text[0]), &[2, 2], text[1]);
    let other = pages.take().expect("a page");
    pages.complete(None, &[3, 3], other);
    pages.release_all(&mut text);
    pages.release(other);
    assert_eq!(pages.kept(), 3);
    // The end of the first text, though it was let go of before its beginning.
    pages.take().expect("a page");
    assert_eq!(pages.take_beginning(&[1, 1, 2, 2]).len(), 1);
    pages.take().expect("a page");
    assert_eq!(pages.take_beginning(&[3, 3]), [0u32; 0], "it was older than the page that was just asked for");
    assert_eq!(pages.take(), None);
}

/// What a text does.
#[derive(Clone, Debug)]
enum Act {
    /// Takes up what is known of its beginning, then pages for the rest, and fills them.
    Begin(Vec<u32>),
    /// Lets go of all pages.
    End(usize),
    /// Fills one page more.
    Grow(usize, u32),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        // Few different tokens, so that texts begin alike.
        prop::collection::vec(0u32..2, 0..5).prop_map(Act::Begin),
        any::<usize>().prop_map(Act::End),
        (any::<usize>(), 0u32..2).prop_map(|(text, token)| Act::Grow(text, token)),
    ]
}

proptest! {
    /// A page that is shared has the same content for all, pages that differ in content are different, and none is lost.
    #[test]
    fn pages_are_never_lost_nor_given_twice(acts in prop::collection::vec(act(), 0..60), count in 1usize..9) {
        let mut pages = Pages::new(1, count);
        // What each page holds: all tokens from the text's beginning to its own.
        let mut content: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut texts: Vec<(Vec<u32>, Vec<u32>)> = Vec::new();
        for act in acts {
            match act {
                Act::Begin(tokens) => {
                    let mut own = pages.take_beginning(&tokens);
                    for (at, page) in own.iter().enumerate() {
                        prop_assert_eq!(&content[page], &tokens[..=at], "a known page holds what it is known for");
                    }
                    let mut length = own.len();
                    while length < tokens.len() {
                        let Some(page) = pages.take() else { break };
                        prop_assert!(texts.iter().all(|(_, pages)| !pages.contains(&page)), "somebody has page {}", page);
                        prop_assert!(!own.contains(&page));
                        content.insert(page, tokens[..=length].to_vec());
                        own.push(pages.complete(own.last().copied(), &tokens[length..=length], page));
                        length += 1;
                    }
                    texts.push((tokens[..length].to_vec(), own));
                }
                Act::Grow(text, token) if !texts.is_empty() => {
                    let text = text % texts.len();
                    let Some(page) = pages.take() else { continue };
                    prop_assert!(texts.iter().all(|(_, pages)| !pages.contains(&page)), "somebody has page {}", page);
                    let (tokens, own) = &mut texts[text];
                    tokens.push(token);
                    content.insert(page, tokens.clone());
                    own.push(pages.complete(own.last().copied(), &[token], page));
                }
                Act::End(text) if !texts.is_empty() => {
                    let (_, mut own) = texts.swap_remove(text % texts.len());
                    pages.release_all(&mut own);
                }
                Act::Grow(..) | Act::End(_) => {}
            }
            let mut used: Vec<u32> = texts.iter().flat_map(|(_, pages)| pages.iter().copied()).collect();
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(pages.used(), used.len());
            prop_assert_eq!(pages.used() + pages.available(), count);
            for (tokens, own) in &texts {
                for (at, page) in own.iter().enumerate() {
                    prop_assert_eq!(&content[page], &tokens[..=at], "a page in use was overwritten");
                }
            }
        }
        // All that nobody uses can be taken.
        texts.iter_mut().for_each(|(_, own)| pages.release_all(own));
        let all: Vec<u32> = std::iter::from_fn(|| pages.take()).collect();
        prop_assert_eq!(all.len(), count);
    }
}
