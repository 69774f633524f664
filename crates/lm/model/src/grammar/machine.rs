//! A pushdown automaton that matches bytes against the rules, with all parse stacks in parallel.
//!
//! A stack is a linked list of positions in rules. Stacks share their lower parts, so each is
//! identified by one node number. The stacks after a text are a sorted list of node numbers (a
//! set), which is numbered too. The transition of a set on a byte is computed once.

use std::collections::HashMap;
use std::sync::Arc;

use super::class::Next;
use super::rules::{Element, NO_LIMIT, Rules};

/// Limits of parallel stacks, of the work per byte, and of the stack depth. Matching fails beyond
/// them.
const MAX_STACKS: usize = 1 << 10;
const MAX_STEPS: usize = 1 << 15;
const MAX_DEPTH: u32 = 1 << 10;
/// Limit of the work per token or mask: about a second.
const MAX_WORK: usize = 1 << 24;

/// Nodes and sets are garbage-collected when there are more than this and twice as many as were
/// live the last time.
const GC_NODES: usize = 1 << 16;
const GC_SETS: usize = 1 << 11;

/// A position in the rules, and the node to return to when its rule ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    element: u32,
    /// State within a character class, or count of a repetition.
    extra: u32,
    parent: u32,
}

/// No parent: the text may end where the root rule ends.
const NONE: u32 = u32::MAX;
/// Member of a set: the text may end here. Sorts last.
const END: u32 = u32::MAX;

/// The parse stacks after some text.
#[derive(Debug)]
struct Set {
    ways: Box<[u32]>,
    /// Cached transition per byte.
    next: Option<Box<[u32; 256]>>,
}

const UNKNOWN: u32 = u32::MAX;

/// Number of a set. Garbage collection renumbers sets.
pub(super) type State = u32;

/// The set without stacks: no continuation matches.
pub(super) const DEAD: State = 0;
/// The set that exceeded a limit.
pub(super) const LOST: State = 1;

/// A limit of stacks or of their depth was exceeded.
struct LimitExceeded;

#[derive(Debug)]
pub(super) struct Machine {
    rules: Arc<Rules>,
    nodes: Vec<Node>,
    depths: Vec<u32>,
    numbers: HashMap<Node, u32>,
    sets: Vec<Set>,
    states: HashMap<Box<[u32]>, State>,
    // Scratch buffers of a transition, reused.
    seen: Vec<u32>,
    round: u32,
    work: Vec<u32>,
    ways: Vec<u32>,
    steps: usize,
    /// Remaining work.
    work_left: usize,
    /// Live nodes and sets at the last garbage collection.
    needed: (usize, usize),
}

impl Machine {
    pub(super) fn new(rules: Arc<Rules>) -> (Self, State) {
        let mut machine = Self {
            rules,
            nodes: Vec::new(),
            depths: Vec::new(),
            numbers: HashMap::new(),
            sets: Vec::new(),
            states: HashMap::new(),
            seen: Vec::new(),
            round: 0,
            work: Vec::new(),
            ways: Vec::new(),
            steps: 0,
            work_left: MAX_WORK,
            needed: (0, 0),
        };
        machine.clear();
        machine.begin();
        let rules = Arc::clone(&machine.rules);
        let entered = rules.starts(rules.root()).iter().try_for_each(|&start| machine.enter(start, 0, NONE));
        let start = machine.finish(entered);
        (machine, start)
    }

    fn clear(&mut self) {
        self.nodes.clear();
        self.depths.clear();
        self.numbers.clear();
        self.seen.clear();
        self.sets.clear();
        self.states.clear();
        for _ in [DEAD, LOST] {
            self.sets.push(Set { ways: Box::default(), next: None });
        }
        self.states.insert(Box::default(), DEAD);
    }

    /// Whether the text may end here.
    pub(super) fn may_end(&self, state: State) -> bool {
        self.sets[state as usize].ways.last() == Some(&END)
    }

    /// Whether any byte may follow.
    pub(super) fn may_continue(&self, state: State) -> bool {
        self.sets[state as usize].ways.first().is_some_and(|&way| way != END)
    }

    /// Resets the work limit for the next token.
    pub(super) fn refill(&mut self) {
        self.work_left = MAX_WORK;
    }

    /// The transition on `byte`.
    pub(super) fn step(&mut self, state: State, byte: u8) -> State {
        let known = self.sets[state as usize].next.as_ref().map_or(UNKNOWN, |next| next[usize::from(byte)]);
        if known != UNKNOWN {
            return known;
        }
        if state == LOST || self.work_left == 0 {
            return LOST;
        }
        self.begin();
        let mut entered = Ok(());
        for at in 0..self.sets[state as usize].ways.len() {
            let way = self.sets[state as usize].ways[at];
            if way != END {
                entered = entered.and_then(|()| self.advance(self.nodes[way as usize], byte));
            }
        }
        let next = self.finish(entered);
        self.sets[state as usize].next.get_or_insert_with(|| Box::new([UNKNOWN; 256]))[usize::from(byte)] = next;
        next
    }

    fn advance(&mut self, node: Node, byte: u8) -> Result<(), LimitExceeded> {
        match self.rules.element(node.element) {
            Element::Byte(expected) if expected == byte => self.enter(node.element + 1, 0, node.parent),
            Element::Class(class) => match self.rules.class(class).step(node.extra, byte) {
                Some(Next::Done) => self.enter(node.element + 1, 0, node.parent),
                Some(Next::State(extra)) => self.enter(node.element, extra, node.parent),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn begin(&mut self) {
        self.round += 1;
        self.work.clear();
        self.ways.clear();
        self.steps = 0;
    }

    /// Continues at a position or, at the end of its rule, at the positions that referenced the
    /// rule.
    fn enter(&mut self, mut element: u32, mut extra: u32, mut parent: u32) -> Result<(), LimitExceeded> {
        while self.rules.element(element) == Element::End {
            if parent == NONE {
                self.ways.push(END);
                return Ok(());
            }
            Node { element, extra, parent } = self.nodes[parent as usize];
        }
        let node = self.number(Node { element, extra, parent })?;
        if std::mem::replace(&mut self.seen[node as usize], self.round) != self.round {
            self.work.push(node);
        }
        Ok(())
    }

    /// Expands all entered positions until each waits for a byte, and returns their set.
    fn finish(&mut self, entered: Result<(), LimitExceeded>) -> State {
        let followed = entered.and_then(|()| {
            while let Some(node) = self.work.pop() {
                self.follow(node)?;
            }
            Ok(())
        });
        self.work_left = self.work_left.saturating_sub(1 + self.steps + self.ways.len());
        self.ways.sort_unstable();
        self.ways.dedup();
        if followed.is_err() || self.ways.len() > MAX_STACKS {
            return LOST;
        }
        if let Some(&state) = self.states.get(&self.ways[..]) {
            return state;
        }
        let state = self.sets.len() as State;
        self.states.insert(self.ways[..].into(), state);
        self.sets.push(Set { ways: self.ways[..].into(), next: None });
        state
    }

    fn follow(&mut self, number: u32) -> Result<(), LimitExceeded> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(LimitExceeded);
        }
        let Node { element, extra, parent } = self.nodes[number as usize];
        let rules = Arc::clone(&self.rules);
        match rules.element(element) {
            Element::Byte(_) | Element::Class(_) => self.ways.push(number),
            Element::Rule(rule) => {
                // Tail call: a rule referenced last needs no return position, so that right
                // recursion does not grow the stack.
                let back = match rules.element(element + 1) {
                    Element::End => parent,
                    _ => self.number(Node { element: element + 1, extra: 0, parent })?,
                };
                self.enter_all(rules.starts(rule), back)?;
            }
            Element::Repeat { rule, min, max } => {
                if extra >= min {
                    self.enter(element + 1, 0, parent)?;
                }
                if extra < max {
                    // Without an upper limit, counts above the lower limit are equivalent.
                    let extra = if max == NO_LIMIT { (extra + 1).min(min) } else { extra + 1 };
                    let back = self.number(Node { element, extra, parent })?;
                    self.enter_all(rules.starts(rule), back)?;
                }
            }
            Element::End => {}
        }
        Ok(())
    }

    fn enter_all(&mut self, starts: &[u32], back: u32) -> Result<(), LimitExceeded> {
        self.steps += starts.len();
        starts.iter().try_for_each(|&start| self.enter(start, 0, back))
    }

    fn number(&mut self, node: Node) -> Result<u32, LimitExceeded> {
        if let Some(&number) = self.numbers.get(&node) {
            return Ok(number);
        }
        let depth = if node.parent == NONE { 0 } else { self.depths[node.parent as usize] + 1 };
        if depth > MAX_DEPTH {
            return Err(LimitExceeded);
        }
        let number = self.nodes.len() as u32;
        self.nodes.push(node);
        self.depths.push(depth);
        self.seen.push(0);
        self.numbers.insert(node, number);
        Ok(number)
    }

    /// Whether garbage collection is due.
    pub(super) fn needs_collection(&self) -> bool {
        self.nodes.len() > GC_NODES.max(2 * self.needed.0) || self.sets.len() > GC_SETS.max(2 * self.needed.1)
    }

    /// Garbage-collects all but these sets, and returns their new numbers.
    pub(super) fn collect_garbage(&mut self, states: &mut [State]) {
        let sets: Vec<Box<[u32]>> = states.iter().map(|&state| self.sets[state as usize].ways.clone()).collect();
        let nodes = std::mem::take(&mut self.nodes);
        let mut keep = vec![false; nodes.len()];
        for &way in sets.iter().flat_map(|ways| ways.iter()).filter(|&&way| way != END) {
            let mut number = way;
            while number != NONE && !std::mem::replace(&mut keep[number as usize], true) {
                number = nodes[number as usize].parent;
            }
        }
        let lost: Vec<bool> = states.iter().map(|&state| state == LOST).collect();
        self.clear();
        self.round = 0;
        // A node is always newer than its parent, so parents are renumbered first.
        let mut moved = vec![NONE; nodes.len()];
        for (number, node) in nodes.iter().enumerate().filter(|&(number, _)| keep[number]) {
            let parent = if node.parent == NONE { NONE } else { moved[node.parent as usize] };
            // The depth does not grow, so the limit is not exceeded.
            moved[number] = self.number(Node { parent, ..*node }).unwrap_or(NONE);
        }
        for ((state, ways), lost) in states.iter_mut().zip(sets).zip(lost) {
            self.begin();
            self.ways.extend(ways.iter().map(|&way| if way == END { END } else { moved[way as usize] }));
            *state = if lost { LOST } else { self.finish(Ok(())) };
        }
        self.needed = (self.nodes.len(), self.sets.len());
    }
}
