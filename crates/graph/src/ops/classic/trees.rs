//! Scores by trees.

use super::{matrix, numbers};
use crate::{DType, OpError, Tensor, shape};

/// What a number is asked.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each compares with a number, the last with all of a list")]
pub enum Test {
    LessOrEqual(f64),
    Less(f64),
    GreaterOrEqual(f64),
    Greater(f64),
    Equal(f64),
    NotEqual(f64),
    Member(Vec<f64>),
}

impl Test {
    fn holds(&self, x: f64) -> bool {
        match self {
            Self::LessOrEqual(other) => x <= *other,
            Self::Less(other) => x < *other,
            Self::GreaterOrEqual(other) => x >= *other,
            Self::Greater(other) => x > *other,
            Self::Equal(other) => x == *other,
            Self::NotEqual(other) => x != *other,
            Self::Member(all) => all.contains(&x),
        }
    }
}

/// Where a tree goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At a node.
    Node(usize),
    /// At a leaf, where it ends.
    Leaf(usize),
}

/// A node that asks.
#[derive(Clone, Debug)]
pub struct Split {
    /// Which column.
    pub column: usize,
    /// What.
    pub test: Test,
    /// Whether what is no number goes where the test holds.
    pub missing_holds: bool,
    /// Where to go if it holds.
    pub yes: Next,
    /// Where to go if not.
    pub no: Next,
}

/// What becomes of the weights of all trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Aggregate {
    Sum,
    Average,
    Min,
    Max,
}

/// Trees. See [`Trees::new`].
#[derive(Clone, Debug)]
pub struct Trees {
    pub(super) targets: usize,
    pub(super) dtype: Option<DType>,
    splits: Vec<Split>,
    /// What each leaf adds to which target.
    leaves: Vec<Vec<(usize, f64)>>,
    roots: Vec<Next>,
    aggregate: Aggregate,
    /// What each target has from the start; empty where nothing.
    base: Vec<f64>,
}

impl Trees {
    /// Trees that begin at `roots`. A leaf has weights for targets; `base` has one for each target, or none. Scores are
    /// of the type `dtype`, or of the operand's.
    pub fn new(
        splits: Vec<Split>,
        leaves: Vec<Vec<(usize, f64)>>,
        roots: Vec<Next>,
        (targets, base): (usize, Vec<f64>),
        aggregate: Aggregate,
        dtype: Option<DType>,
    ) -> Result<Self, OpError> {
        let there = |next: &Next| match next {
            Next::Node(node) => *node < splits.len(),
            Next::Leaf(leaf) => *leaf < leaves.len(),
        };
        let ends = splits.iter().flat_map(|split| [&split.yes, &split.no]).chain(&roots);
        if !ends.into_iter().all(there) {
            return Err(OpError::invalid("a tree goes on where nothing is"));
        }
        if leaves.iter().flatten().any(|(target, _)| *target >= targets) {
            return Err(OpError::invalid(format!("a leaf counts for another than {targets} targets")));
        }
        if !base.is_empty() && base.len() != targets {
            return Err(OpError::invalid(format!("{} base values for {targets} targets", base.len())));
        }
        Ok(Self { targets, dtype, splits, leaves, roots, aggregate, base })
    }

    /// How many scores there are.
    pub fn targets(&self) -> usize {
        self.targets
    }

    pub(super) fn eval(&self, x: &Tensor) -> Result<Tensor, OpError> {
        let (rows, columns) = matrix(x.shape())?;
        let all = numbers(x)?;
        let shape = [rows, self.targets];
        let mut made = vec![0.0; shape::count(&shape)?];
        for row in 0..rows {
            let x = &all[row * columns..][..columns];
            let mut scores: Vec<Option<f64>> = vec![None; self.targets];
            for root in &self.roots {
                for (target, weight) in self.leaf(*root, x)? {
                    let score = &mut scores[*target];
                    *score = Some(match (*score, self.aggregate) {
                        (None, _) => *weight,
                        (Some(score), Aggregate::Sum | Aggregate::Average) => score + weight,
                        (Some(score), Aggregate::Min) => score.min(*weight),
                        (Some(score), Aggregate::Max) => score.max(*weight),
                    });
                }
            }
            let divisor = if self.aggregate == Aggregate::Average { self.roots.len().max(1) as f64 } else { 1.0 };
            for (target, score) in scores.into_iter().enumerate() {
                let base = self.base.get(target).copied().unwrap_or(0.0);
                made[row * self.targets + target] = score.unwrap_or(0.0) / divisor + base;
            }
        }
        Tensor::from_floats(self.dtype.unwrap_or(x.dtype()), shape, &made)
    }

    /// What a tree says of a row.
    fn leaf(&self, mut next: Next, x: &[f64]) -> Result<&[(usize, f64)], OpError> {
        // A tree has no more steps than nodes; who takes more goes round in a circle.
        for _ in 0..=self.splits.len() {
            let split = match next {
                Next::Leaf(leaf) => return Ok(&self.leaves[leaf]),
                Next::Node(node) => &self.splits[node],
            };
            let x = x.get(split.column).copied();
            let x = x.ok_or_else(|| OpError::invalid(format!("a tree asks for column {}", split.column)))?;
            let holds = split.test.holds(x) || x.is_nan() && split.missing_holds;
            next = if holds { split.yes } else { split.no };
        }
        Err(OpError::invalid("a tree goes round in a circle"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_trees_are_refused_and_circles_end() -> Result<(), OpError> {
        let split = |yes, no| Split { column: 0, test: Test::Less(1.0), missing_holds: true, yes, no };
        let trees = |splits, leaves, roots| Trees::new(splits, leaves, roots, (1, vec![]), Aggregate::Sum, None);
        assert!(trees(vec![split(Next::Node(1), Next::Node(0))], vec![], vec![Next::Node(0)]).is_err());
        assert!(trees(vec![], vec![vec![(1, 1.0)]], vec![Next::Leaf(0)]).is_err());
        let circle = trees(vec![split(Next::Leaf(0), Next::Node(0))], vec![vec![(0, 2.0)]], vec![Next::Node(0)])?;
        assert!(circle.eval(&Tensor::new([1, 1], vec![3f32])?).is_err());
        assert_eq!(circle.eval(&Tensor::new([2, 1], vec![0f32, f32::NAN])?)?.floats()?, [2.0, 2.0]);
        assert!(circle.eval(&Tensor::zeros(DType::F32, [1, 0])?).is_err());
        Ok(())
    }
}
