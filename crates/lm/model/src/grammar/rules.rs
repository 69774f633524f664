//! Compiled rules, and the checks that matching them terminates.

use super::class::Class;
use super::error::GrammarError;

/// No upper limit of a repetition.
pub(super) const NO_LIMIT: u32 = u32::MAX;

/// One element of an alternative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// A byte.
    Byte(u8),
    /// A character of a class.
    Class(u32),
    /// A reference to a rule.
    Rule(u32),
    /// A repeated rule.
    ///
    /// Repetitions are counted during matching instead of being expanded: a string of up to a
    /// million characters costs as much as one of two.
    Repeat {
        /// The repeated rule.
        rule: u32,
        /// Minimum count.
        min: u32,
        /// Maximum count, or [`NO_LIMIT`].
        max: u32,
    },
    /// The end of the alternative.
    End,
}

/// The rules of a grammar.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// The elements of all alternatives, each terminated by [`Element::End`].
    elements: Vec<Element>,
    /// Start of each alternative of each rule.
    starts: Vec<Vec<u32>>,
    classes: Vec<Class>,
    root: u32,
}

impl Rules {
    /// Compiles the alternatives of each rule. `names` are for error messages.
    pub(super) fn new(
        rules: &[Vec<Vec<Element>>],
        classes: Vec<Class>,
        root: u32,
        names: &[String],
    ) -> Result<Self, GrammarError> {
        let mut laid = Self { elements: Vec::new(), starts: Vec::new(), classes, root };
        for alternatives in rules {
            let mut starts = Vec::new();
            for alternative in alternatives {
                starts.push(laid.elements.len() as u32);
                laid.elements.extend_from_slice(alternative);
                laid.elements.push(Element::End);
            }
            laid.starts.push(starts);
        }
        let name = |rule: u32| names[rule as usize].clone();
        if !laid.can_be(true)[root as usize] {
            return Err(GrammarError::Endless { rule: name(root) });
        }
        if let Some(rule) = laid.left_recursive() {
            return Err(GrammarError::LeftRecursion { rule: name(rule) });
        }
        Ok(laid)
    }

    pub(super) fn element(&self, at: u32) -> Element {
        self.elements[at as usize]
    }

    pub(super) fn starts(&self, rule: u32) -> &[u32] {
        &self.starts[rule as usize]
    }

    pub(super) fn class(&self, class: u32) -> &Class {
        &self.classes[class as usize]
    }

    pub(super) fn root(&self) -> u32 {
        self.root
    }

    /// The elements of an alternative.
    fn alternative(&self, start: u32) -> impl Iterator<Item = Element> + '_ {
        self.elements[start as usize..].iter().copied().take_while(|element| *element != Element::End)
    }

    /// Which rules match some text or, without `characters`, the empty text.
    ///
    /// A worklist algorithm: each alternative counts the unresolved rules that it references, and a
    /// resolved rule decrements the counts of its users. Each element is visited once.
    fn can_be(&self, characters: bool) -> Vec<bool> {
        let mut found = vec![false; self.starts.len()];
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); self.starts.len()];
        let mut ready: Vec<usize> = Vec::new();
        for (rule, starts) in self.starts.iter().enumerate() {
            for &start in starts {
                let possible = characters
                    || !self.alternative(start).any(|element| matches!(element, Element::Byte(_) | Element::Class(_)));
                if !possible {
                    continue;
                }
                let needs = self.alternative(start).filter_map(|element| match element {
                    Element::Rule(needed) => Some(needed),
                    Element::Repeat { rule: needed, min, .. } if min > 0 => Some(needed),
                    _ => None,
                });
                let mut count = 0;
                for needed in needs {
                    waiters[needed as usize].push(waiting.len());
                    count += 1;
                }
                waiting.push((rule, count));
                if count == 0 {
                    ready.push(rule);
                }
            }
        }
        while let Some(rule) = ready.pop() {
            if std::mem::replace(&mut found[rule], true) {
                continue;
            }
            for &alternative in &waiters[rule] {
                let (owner, count) = &mut waiting[alternative];
                *count -= 1;
                if *count == 0 {
                    ready.push(*owner);
                }
            }
        }
        found
    }

    /// A left-recursive rule, if there is one: matching it would not terminate.
    fn left_recursive(&self) -> Option<u32> {
        let empty = self.can_be(false);
        let mut first: Vec<Vec<u32>> = vec![Vec::new(); self.starts.len()];
        for (rule, starts) in self.starts.iter().enumerate() {
            for &start in starts {
                for element in self.alternative(start) {
                    let passes = match element {
                        Element::Byte(_) | Element::Class(_) | Element::End => false,
                        Element::Rule(named) => {
                            first[rule].push(named);
                            empty[named as usize]
                        }
                        Element::Repeat { max: 0, .. } => true,
                        Element::Repeat { rule: named, min, .. } => {
                            first[rule].push(named);
                            min == 0 || empty[named as usize]
                        }
                    };
                    if !passes {
                        break;
                    }
                }
            }
        }
        find_cycle(&first)
    }
}

/// A node on a cycle, found by depth-first search.
fn find_cycle(edges: &[Vec<u32>]) -> Option<u32> {
    #[derive(Clone, Copy, PartialEq)]
    enum VisitState {
        New,
        Open,
        Done,
    }
    let mut marks = vec![VisitState::New; edges.len()];
    for start in 0..edges.len() {
        if marks[start] != VisitState::New {
            continue;
        }
        marks[start] = VisitState::Open;
        let mut path = vec![(start, 0)];
        while let Some((place, edge)) = path.last_mut() {
            let Some(&next) = edges[*place].get(*edge) else {
                marks[*place] = VisitState::Done;
                path.pop();
                continue;
            };
            *edge += 1;
            match marks[next as usize] {
                VisitState::Open => return Some(next),
                VisitState::Done => {}
                VisitState::New => {
                    marks[next as usize] = VisitState::Open;
                    path.push((next as usize, 0));
                }
            }
        }
    }
    None
}
