//! Follows a text through the rules, byte by byte, in all ways at once.
//!
//! A way is a stack of places in rules. Stacks share their lower parts, so that each is one number (a node), and the ways
//! after a text are a sorted list of numbers (a set), which has a number too. What a byte makes of a set is computed once.

use std::collections::HashMap;
use std::sync::Arc;

use super::class::Next;
use super::rules::{Element, NO_LIMIT, Rules};

/// The most ways at once, the most work for one byte, and the deepest stack: what lies beyond is given up.
const MOST_WAYS: usize = 1 << 10;
const MOST_STEPS: usize = 1 << 15;
const DEEPEST: u32 = 1 << 10;
/// The most work for one token or one mask, about a second's.
const MOST_WORK: usize = 1 << 24;

/// When nodes or sets are more than this, and twice what was needed last time, those that are not needed are thrown away.
const CROWDED_NODES: usize = 1 << 16;
const CROWDED_SETS: usize = 1 << 11;

/// A place in the rules, and where to go on when its rule ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    element: u32,
    /// How far into a character a class is, or how often a repetition was gone through.
    extra: u32,
    parent: u32,
}

/// No parent: where the root ends, the text may end.
const NONE: u32 = u32::MAX;
/// In a set: the text may end here. Sorts last.
const END: u32 = u32::MAX;

/// The ways after some text.
#[derive(Debug)]
struct Set {
    ways: Box<[u32]>,
    /// What each byte makes of it, as far as known.
    next: Option<Box<[u32; 256]>>,
}

const UNKNOWN: u32 = u32::MAX;

/// The number of a set. Changes when the machine tidies up.
pub(super) type State = u32;

/// No way leads here.
pub(super) const DEAD: State = 0;
/// More ways lead here than are followed.
pub(super) const LOST: State = 1;

/// Too many ways, or too deep.
struct Lost;

#[derive(Debug)]
pub(super) struct Machine {
    rules: Arc<Rules>,
    nodes: Vec<Node>,
    depths: Vec<u32>,
    numbers: HashMap<Node, u32>,
    sets: Vec<Set>,
    states: HashMap<Box<[u32]>, State>,
    // What one step needs, kept to be used again.
    seen: Vec<u32>,
    round: u32,
    work: Vec<u32>,
    ways: Vec<u32>,
    steps: usize,
    /// What is left of the work that may be done.
    work_left: usize,
    /// How many nodes and sets were needed when the machine was last tidied.
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
            work_left: MOST_WORK,
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

    /// Whether anything may follow.
    pub(super) fn may_go_on(&self, state: State) -> bool {
        self.sets[state as usize].ways.first().is_some_and(|&way| way != END)
    }

    /// Allows as much work as one token may cost.
    pub(super) fn refill(&mut self) {
        self.work_left = MOST_WORK;
    }

    /// Where `byte` leads.
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

    fn advance(&mut self, node: Node, byte: u8) -> Result<(), Lost> {
        match self.rules.element(node.element) {
            Element::Byte(wanted) if wanted == byte => self.enter(node.element + 1, 0, node.parent),
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

    /// Goes on at a place, or, where its rule has ended, wherever the rule was named.
    fn enter(&mut self, mut element: u32, mut extra: u32, mut parent: u32) -> Result<(), Lost> {
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

    /// Follows all places that were entered until each waits for a byte, and gives the state that they make.
    fn finish(&mut self, entered: Result<(), Lost>) -> State {
        let followed = entered.and_then(|()| {
            while let Some(node) = self.work.pop() {
                self.follow(node)?;
            }
            Ok(())
        });
        self.work_left = self.work_left.saturating_sub(1 + self.steps + self.ways.len());
        self.ways.sort_unstable();
        self.ways.dedup();
        if followed.is_err() || self.ways.len() > MOST_WAYS {
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

    fn follow(&mut self, number: u32) -> Result<(), Lost> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(Lost);
        }
        let Node { element, extra, parent } = self.nodes[number as usize];
        let rules = Arc::clone(&self.rules);
        match rules.element(element) {
            Element::Byte(_) | Element::Class(_) => self.ways.push(number),
            Element::Rule(rule) => {
                // A rule named last needs no place to come back to: so lists written by recursion do not grow a stack.
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
                    // Without an upper limit, what was gone through beyond the lower one makes no difference.
                    let extra = if max == NO_LIMIT { (extra + 1).min(min) } else { extra + 1 };
                    let back = self.number(Node { element, extra, parent })?;
                    self.enter_all(rules.starts(rule), back)?;
                }
            }
            Element::End => {}
        }
        Ok(())
    }

    fn enter_all(&mut self, starts: &[u32], back: u32) -> Result<(), Lost> {
        self.steps += starts.len();
        starts.iter().try_for_each(|&start| self.enter(start, 0, back))
    }

    fn number(&mut self, node: Node) -> Result<u32, Lost> {
        if let Some(&number) = self.numbers.get(&node) {
            return Ok(number);
        }
        let depth = if node.parent == NONE { 0 } else { self.depths[node.parent as usize] + 1 };
        if depth > DEEPEST {
            return Err(Lost);
        }
        let number = self.nodes.len() as u32;
        self.nodes.push(node);
        self.depths.push(depth);
        self.seen.push(0);
        self.numbers.insert(node, number);
        Ok(number)
    }

    /// Whether it is time to [`tidy`](Self::tidy).
    pub(super) fn is_crowded(&self) -> bool {
        self.nodes.len() > CROWDED_NODES.max(2 * self.needed.0) || self.sets.len() > CROWDED_SETS.max(2 * self.needed.1)
    }

    /// Forgets all but these states, and gives them their new numbers.
    pub(super) fn tidy(&mut self, states: &mut [State]) {
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
        // A node is always younger than its parent, so that parents come first and have their new numbers.
        let mut moved = vec![NONE; nodes.len()];
        for (number, node) in nodes.iter().enumerate().filter(|&(number, _)| keep[number]) {
            let parent = if node.parent == NONE { NONE } else { moved[node.parent as usize] };
            // No deeper than it was, so that there is a number.
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
