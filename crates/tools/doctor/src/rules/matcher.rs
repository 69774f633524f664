//! Matchers: the expressions on the right-hand side of conditions.

use std::cmp::Ordering;

use crate::facts::{Fact, Facts};
use crate::pattern::Pattern;
use crate::value::{compare, equal};

use super::evaluate::Truth;

/// The expression on the right-hand side of a condition.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    Present,
    Absent,
    Equal(Operand),
    Matches(Pattern),
    /// All comparisons must hold: `>=6.15.0, <6.15.7`.
    Compare(Vec<(Order, Operand)>),
    Not(Box<Matcher>),
}

/// A literal, or another fact.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Text(String),
    Fact(String),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    ordering: Ordering,
    or_equal: bool,
}

impl Matcher {
    /// Parses a matcher. The error is a message.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix('!') {
            return Ok(Self::Not(Box::new(Self::parse(rest)?)));
        }
        if let Some(pattern) = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            return Pattern::parse(pattern).map(Self::Matches);
        }
        match text {
            "present" => Ok(Self::Present),
            "absent" => Ok(Self::Absent),
            _ if text.starts_with(['<', '>']) => {
                text.split(',').map(|part| order(part.trim())).collect::<Result<_, _>>().map(Self::Compare)
            }
            _ => Ok(Self::Equal(Operand::parse(text))),
        }
    }

    /// Whether one of the values matches.
    pub(super) fn holds(&self, name: &str, values: &[Fact], facts: &Facts, gpu: Option<usize>) -> Truth {
        if values.is_empty() && !facts.knows(name) {
            return Truth::Maybe;
        }
        match self {
            Self::Present => Truth::of(!values.is_empty()),
            Self::Absent => Truth::of(values.is_empty()),
            Self::Not(_) if values.is_empty() => Truth::No,
            // No value differs from an absent fact.
            Self::Not(inner) if inner.lacks_its_fact(facts, gpu) => Truth::No,
            Self::Not(inner) => inner.holds(name, values, facts, gpu).not(),
            Self::Matches(pattern) => Truth::of(values.iter().any(|fact| pattern.matches(&fact.value))),
            Self::Equal(operand) => operand.on(facts, gpu, |other| values.iter().any(|fact| equal(&fact.value, other))),
            // One value must satisfy all bounds.
            Self::Compare(orders) => values
                .iter()
                .map(|fact| {
                    let bounds = orders
                        .iter()
                        .map(|(order, operand)| operand.on(facts, gpu, |other| order.holds(&fact.value, other)));
                    bounds.fold(Truth::Yes, Truth::and)
                })
                .fold(Truth::No, Truth::or),
        }
    }

    /// Whether it compares with an absent fact.
    fn lacks_its_fact(&self, facts: &Facts, gpu: Option<usize>) -> bool {
        let absent = |operand: &Operand| match operand {
            Operand::Text(_) => false,
            Operand::Fact(name) => facts.get(gpu, name).is_empty() && facts.knows(name),
        };
        match self {
            Self::Equal(operand) => absent(operand),
            Self::Compare(orders) => orders.iter().any(|(_, operand)| absent(operand)),
            _ => false,
        }
    }

    /// Facts that it compares with.
    pub(super) fn facts<'a>(&'a self) -> Vec<&'a str> {
        let operands: Vec<&Operand> = match self {
            Self::Equal(operand) => vec![operand],
            Self::Compare(orders) => orders.iter().map(|(_, operand)| operand).collect(),
            Self::Not(inner) => return inner.facts(),
            Self::Present | Self::Absent | Self::Matches(_) => Vec::new(),
        };
        let name = |operand: &'a Operand| match operand {
            Operand::Fact(name) => Some(name.as_str()),
            Operand::Text(_) => None,
        };
        operands.into_iter().filter_map(name).collect()
    }

    /// Whether a present value is part of the evidence.
    pub(super) fn is_shown_by(&self, value: &str, facts: &Facts, gpu: Option<usize>) -> bool {
        match self {
            Self::Equal(operand) => operand.on(facts, gpu, |other| equal(value, other)) == Truth::Yes,
            Self::Matches(pattern) => pattern.matches(value),
            _ => true,
        }
    }
}

impl Operand {
    fn parse(text: &str) -> Self {
        match text.strip_prefix('$') {
            Some(name) => Self::Fact(name.to_owned()),
            None => Self::Text(text.to_owned()),
        }
    }

    /// Whether a predicate holds for the literal, or for one value of the fact.
    fn on(&self, facts: &Facts, gpu: Option<usize>, holds: impl Fn(&str) -> bool) -> Truth {
        match self {
            Self::Text(text) => Truth::of(holds(text)),
            Self::Fact(name) => match facts.get(gpu, name) {
                [] if !facts.knows(name) => Truth::Maybe,
                values => Truth::of(values.iter().any(|fact| holds(&fact.value))),
            },
        }
    }
}

impl Order {
    fn holds(self, value: &str, other: &str) -> bool {
        compare(value, other).is_some_and(|order| order == self.ordering || self.or_equal && order.is_eq())
    }
}

fn order(text: &str) -> Result<(Order, Operand), String> {
    let signs = [
        ("<=", Ordering::Less, true),
        (">=", Ordering::Greater, true),
        ("<", Ordering::Less, false),
        (">", Ordering::Greater, false),
    ];
    let found =
        signs.iter().find_map(|(sign, ordering, or_equal)| Some((text.strip_prefix(sign)?, ordering, or_equal)));
    let (rest, ordering, or_equal) = found.ok_or_else(|| format!("`{text}` is not a comparison"))?;
    let operand = Operand::parse(rest.trim());
    if let Operand::Text(number) = &operand
        && compare(number, "0").is_none()
    {
        return Err(format!("`{number}` is not a version, number or size"));
    }
    Ok((Order { ordering: *ordering, or_equal: *or_equal }, operand))
}
