//! Matching of a model's tokens against a grammar.

use std::collections::HashMap;
use std::sync::Arc;

use super::Grammar;
use super::error::GrammarError;
use super::machine::{DEAD, LOST, Machine, State};
use super::vocabulary::Vocabulary;
use crate::sample::Constraint;

/// Capacity of the mask cache. Few states recur, such as the inside of a string.
const MASKS: usize = 32;

/// Tracks the state of a grammar over the tokens of one request.
#[derive(Debug)]
pub struct Matcher {
    machine: Machine,
    state: State,
    vocabulary: Arc<Vocabulary>,
    /// Set once an end-of-generation token was accepted.
    ended: bool,
    /// Cached masks by state.
    masks: HashMap<State, Vec<u32>>,
}

impl Matcher {
    /// Starts at the root rule of a grammar.
    pub fn new(grammar: &Grammar, vocabulary: Arc<Vocabulary>) -> Self {
        let (machine, state) = Machine::new(Arc::clone(&grammar.rules));
        Self { machine, state, vocabulary, ended: false, masks: HashMap::new() }
    }

    /// Whether the text may end here.
    pub fn may_end(&self) -> bool {
        self.ended || self.machine.may_end(self.state)
    }

    /// Whether only the end may follow.
    pub fn must_end(&self) -> bool {
        self.may_end() && (self.ended || !self.machine.may_continue(self.state))
    }

    /// Accepts a token. After a disallowed token nothing is allowed.
    pub fn advance(&mut self, token: u32) -> Result<(), GrammarError> {
        let state = self.after(token);
        self.ended |= self.vocabulary.is_stop(token);
        self.state = state.unwrap_or(DEAD);
        if self.machine.needs_collection() {
            self.machine.collect_garbage(std::slice::from_mut(&mut self.state));
            self.masks.clear();
        }
        match state {
            Some(LOST) => Err(GrammarError::TooManyStacks),
            None => Err(GrammarError::Refused { token }),
            Some(_) => Ok(()),
        }
    }

    /// The state after a token, if the token is allowed; [`LOST`] if a limit was exceeded.
    fn after(&mut self, token: u32) -> Option<State> {
        if self.ended {
            return None;
        }
        self.machine.refill();
        if self.vocabulary.is_stop(token) {
            return self.machine.may_end(self.state).then_some(self.state);
        }
        let vocabulary = Arc::clone(&self.vocabulary);
        let bytes = vocabulary.bytes(token);
        if bytes.is_empty() {
            return None;
        }
        let mut state = self.state;
        for &byte in bytes {
            state = self.machine.step(state, byte);
            match state {
                DEAD => return None,
                LOST => return Some(LOST),
                _ => {}
            }
        }
        Some(state)
    }

    /// Computes the mask of the text tokens that are allowed next.
    fn allowed(&mut self) -> Vec<u32> {
        if let Some(mask) = self.masks.get(&self.state) {
            return mask.clone();
        }
        self.machine.refill();
        let mut allowed = Vec::new();
        let vocabulary = Arc::clone(&self.vocabulary);
        // The current state, and those along the path to the current trie node.
        let mut states = vec![self.state];
        let mut at = 0;
        while let Some(node) = vocabulary.nodes().get(at) {
            states.truncate(node.depth as usize + 1);
            let next = self.machine.step(states[node.depth as usize], node.byte);
            if matches!(next, DEAD | LOST) {
                at = node.end as usize;
                continue;
            }
            allowed.extend_from_slice(vocabulary.tokens(node));
            states.push(next);
            at += 1;
            if self.machine.needs_collection() {
                self.machine.collect_garbage(&mut states);
                self.state = states[0];
                self.masks.clear();
            }
        }
        if self.masks.len() >= MASKS {
            self.masks.clear();
        }
        self.masks.insert(self.state, allowed.clone());
        allowed
    }
}

impl Constraint for Matcher {
    fn allows(&mut self, token: u32) -> bool {
        let allowed = self.after(token).is_some_and(|state| state != LOST);
        if self.machine.needs_collection() {
            self.machine.collect_garbage(std::slice::from_mut(&mut self.state));
            self.masks.clear();
        }
        allowed
    }

    fn mask(&mut self, mask: &mut [bool]) {
        mask.fill(false);
        if self.ended {
            return;
        }
        let mut set = |token: u32, allowed: bool| {
            if let Some(place) = mask.get_mut(token as usize) {
                *place = allowed;
            }
        };
        self.allowed().into_iter().for_each(|token| set(token, true));
        // An end-of-generation token may have bytes, such as `</s>`, which are not matched.
        let may_end = self.machine.may_end(self.state);
        self.vocabulary.stops().iter().for_each(|&token| set(token, may_end));
    }

    fn accept(&mut self, token: u32) {
        // A disallowed token leaves an empty mask, which the next sample reports as an error.
        let _ = self.advance(token);
    }
}
