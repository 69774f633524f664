//! Tree ensembles.

use super::{matrix, numbers};
use crate::{DType, OpError, Tensor, shape};

/// The comparison at a tree node.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each compares with a number, the last with all of a list")]
pub enum NodeTest {
    LessOrEqual(f64),
    Less(f64),
    GreaterOrEqual(f64),
    Greater(f64),
    Equal(f64),
    NotEqual(f64),
    Member(Vec<f64>),
}

impl NodeTest {
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

/// The child of a tree node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// The index of a node.
    Node(usize),
    /// The index of a leaf.
    Leaf(usize),
}

/// An inner node of a tree.
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// The column that is compared.
    pub column: usize,
    /// Comparison operator and operand.
    pub test: NodeTest,
    /// Whether NaN takes the branch of a comparison that holds.
    pub missing_holds: bool,
    /// The child if the comparison holds.
    pub yes: Child,
    /// The child if it does not hold.
    pub no: Child,
}

/// How the weights of all trees are aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are unambiguous")]
pub enum Aggregate {
    Sum,
    Average,
    Min,
    Max,
}

/// A tree ensemble. See [`TreeEnsemble::new`].
#[derive(Clone, Debug)]
pub struct TreeEnsemble {
    pub(super) targets: usize,
    pub(super) dtype: Option<DType>,
    splits: Vec<TreeNode>,
    /// The targets that each leaf adds to, with the weights.
    leaves: Vec<Vec<(usize, f64)>>,
    roots: Vec<Child>,
    aggregate: Aggregate,
    /// The initial value of each target; empty for zeros.
    base: Vec<f64>,
}

impl TreeEnsemble {
    /// Creates an ensemble from the roots of its trees. A leaf has weights for targets; `base` has
    /// one value per target, or none. Scores have type `dtype`, or the operand's type.
    pub fn new(
        splits: Vec<TreeNode>,
        leaves: Vec<Vec<(usize, f64)>>,
        roots: Vec<Child>,
        (targets, base): (usize, Vec<f64>),
        aggregate: Aggregate,
        dtype: Option<DType>,
    ) -> Result<Self, OpError> {
        let there = |next: &Child| match next {
            Child::Node(node) => *node < splits.len(),
            Child::Leaf(leaf) => *leaf < leaves.len(),
        };
        let ends = splits.iter().flat_map(|split| [&split.yes, &split.no]).chain(&roots);
        if !ends.into_iter().all(there) {
            return Err(OpError::invalid("a tree refers to a node or leaf that does not exist"));
        }
        if leaves.iter().flatten().any(|(target, _)| *target >= targets) {
            return Err(OpError::invalid(format!("a leaf refers to a target that does not exist ({targets} targets)")));
        }
        if !base.is_empty() && base.len() != targets {
            return Err(OpError::invalid(format!(
                "there are {} base values, expected {targets}, one per target",
                base.len()
            )));
        }
        Ok(Self { targets, dtype, splits, leaves, roots, aggregate, base })
    }

    /// The number of scores.
    pub fn targets(&self) -> usize {
        self.targets
    }

    pub(super) fn eval(&self, x: &Tensor) -> Result<Tensor, OpError> {
        let (rows, columns) = matrix(x.shape())?;
        let all = numbers(x)?;
        let shape = [rows, self.targets];
        let mut result = vec![0.0; shape::count(&shape)?];
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
                result[row * self.targets + target] = score.unwrap_or(0.0) / divisor + base;
            }
        }
        Tensor::from_floats(self.dtype.unwrap_or(x.dtype()), shape, &result)
    }

    /// The leaf that a tree reaches for a row.
    fn leaf(&self, mut next: Child, x: &[f64]) -> Result<&[(usize, f64)], OpError> {
        // A path longer than the number of nodes contains a cycle.
        for _ in 0..=self.splits.len() {
            let split = match next {
                Child::Leaf(leaf) => return Ok(&self.leaves[leaf]),
                Child::Node(node) => &self.splits[node],
            };
            let x = x.get(split.column).copied();
            let x = x.ok_or_else(|| {
                OpError::invalid(format!("a tree compares column {}, which does not exist", split.column))
            })?;
            let holds = split.test.holds(x) || x.is_nan() && split.missing_holds;
            next = if holds { split.yes } else { split.no };
        }
        Err(OpError::invalid("a tree contains a cycle"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_trees_are_rejected_and_cycles_end() -> Result<(), OpError> {
        let split = |yes, no| TreeNode { column: 0, test: NodeTest::Less(1.0), missing_holds: true, yes, no };
        let trees = |splits, leaves, roots| TreeEnsemble::new(splits, leaves, roots, (1, vec![]), Aggregate::Sum, None);
        assert!(trees(vec![split(Child::Node(1), Child::Node(0))], vec![], vec![Child::Node(0)]).is_err());
        assert!(trees(vec![], vec![vec![(1, 1.0)]], vec![Child::Leaf(0)]).is_err());
        let circle = trees(vec![split(Child::Leaf(0), Child::Node(0))], vec![vec![(0, 2.0)]], vec![Child::Node(0)])?;
        assert!(circle.eval(&Tensor::new([1, 1], vec![3f32])?).is_err());
        assert_eq!(circle.eval(&Tensor::new([2, 1], vec![0f32, f32::NAN])?)?.floats()?, [2.0, 2.0]);
        assert!(circle.eval(&Tensor::zeros(DType::F32, [1, 0])?).is_err());
        Ok(())
    }
}
