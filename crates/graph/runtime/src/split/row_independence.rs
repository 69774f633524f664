//! Whether a graph computes each row of a batch independently. If a row depends on others, as in a
//! mean over the batch, a shard gives a different result, and shapes do not show it. So every node
//! must be of a kind that is known to keep rows independent.

use roci_graph::ops::{AttentionOp, Elementwise, Indexing, Movement, Norm, Pool, Product, Quantize, Reduction};
use roci_graph::{Fact, Graph, Node, Op, Operation as _, ValueId};

/// How a value depends on the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchDependence {
    /// The same in every shard.
    Invariant,
    /// Known before anything runs, but different in a shard: computed from shapes.
    BatchSize,
    /// The first dimension is the batch, or a multiple of it.
    PerRow,
}

/// What is known about all values, for the whole batch and for a shard.
pub(super) struct RowAnalysis<'a> {
    pub(super) graph: &'a Graph,
    pub(super) whole: &'a [Option<Fact>],
    pub(super) part: &'a [Option<Fact>],
    /// Rows of the whole batch and of a shard.
    pub(super) sizes: [usize; 2],
}

impl RowAnalysis<'_> {
    /// Whether the concatenated outputs of shards equal the outputs of the whole batch.
    pub(super) fn is_independent(&self) -> bool {
        let mut kinds: Vec<Option<BatchDependence>> = vec![None; self.graph.values.len()];
        self.graph.constants.keys().for_each(|id| kinds[id.index()] = Some(BatchDependence::Invariant));
        for id in &self.graph.inputs {
            kinds[id.index()] = Some(BatchDependence::PerRow);
        }
        for node in &self.graph.nodes {
            let Some(kind) = self.kind(node, &kinds) else { return false };
            for id in node.outputs.iter().flatten() {
                kinds[id.index()] = self.refined(*id, kind);
                if kinds[id.index()].is_none() {
                    return false;
                }
            }
        }
        self.graph.outputs.iter().all(|id| kinds[id.index()] == Some(BatchDependence::PerRow))
    }

    fn shape(&self, id: ValueId) -> Option<&[usize]> {
        self.whole[id.index()].as_ref()?.shape.as_deref()
    }

    /// The dependence of a node's output, checked against its shape.
    fn refined(&self, id: ValueId, kind: BatchDependence) -> Option<BatchDependence> {
        let (whole, part) = (self.whole[id.index()].as_ref()?, self.part[id.index()].as_ref()?);
        if let (Some(whole), Some(part)) = (&whole.value, &part.value) {
            return Some(if whole == part { BatchDependence::Invariant } else { BatchDependence::BatchSize });
        }
        if kind != BatchDependence::PerRow {
            return Some(kind);
        }
        let ([first, rest @ ..], [part_first, part_rest @ ..]) = (&whole.shape.as_deref()?, &part.shape.as_deref()?)
        else {
            return None;
        };
        (rest == part_rest && first * self.sizes[1] == part_first * self.sizes[0]).then_some(BatchDependence::PerRow)
    }

    /// The dependence of a node's outputs; `None` if a row may depend on other rows.
    fn kind(&self, node: &Node, kinds: &[Option<BatchDependence>]) -> Option<BatchDependence> {
        let of = |id: ValueId| kinds[id.index()];
        let all = node.inputs.iter().flatten().map(|id| of(*id)).collect::<Option<Vec<_>>>()?;
        if node.op.is_random() || matches!(node.op, Op::Control(_)) {
            return None;
        }
        if all.iter().all(|kind| *kind == BatchDependence::Invariant) {
            return Some(BatchDependence::Invariant);
        }
        let outputs = node.outputs.iter().flatten();
        let is_known = |id: &ValueId| self.whole[id.index()].as_ref().is_some_and(|fact| fact.value.is_some());
        if outputs.clone().all(is_known) {
            return Some(BatchDependence::BatchSize);
        }
        let result = self.shape(*outputs.clone().next()?)?;
        let operands = Operands { facts: self, node, kinds };
        operands.keeps_rows_independent(result.len()).then_some(BatchDependence::PerRow)
    }
}

/// The operands of a node.
struct Operands<'a> {
    facts: &'a RowAnalysis<'a>,
    node: &'a Node,
    kinds: &'a [Option<BatchDependence>],
}

impl Operands<'_> {
    fn id(&self, index: usize) -> Option<ValueId> {
        self.node.inputs.get(index).copied().flatten()
    }

    fn shape(&self, index: usize) -> Option<&[usize]> {
        self.facts.shape(self.id(index)?)
    }

    fn is(&self, index: usize, kind: BatchDependence) -> bool {
        self.id(index).is_some_and(|id| self.kinds[id.index()] == Some(kind))
    }

    /// Whether an operand is the same for all rows and broadcasts over them.
    fn serves_all(&self, index: usize, rank: usize) -> bool {
        let Some(shape) = self.shape(index) else { return self.id(index).is_none() };
        self.is(index, BatchDependence::Invariant) && (shape.len() < rank || shape.first() == Some(&1))
    }

    /// Whether all operands from index `first` on are the same in all shards.
    fn fixed_from(&self, first: usize) -> bool {
        (first..self.node.inputs.len())
            .all(|index| self.id(index).is_none() || self.is(index, BatchDependence::Invariant))
    }

    /// The elements of a known integer operand.
    fn numbers(&self, index: usize) -> Option<Vec<i64>> {
        self.facts.whole[self.id(index)?.index()].as_ref()?.value.as_ref()?.integers().ok()
    }

    /// Whether an axis of the first operand is not the batch axis.
    fn inside(&self, axis: i64) -> bool {
        self.shape(0).is_some_and(|shape| axis != 0 && axis != -(shape.len() as i64))
    }

    /// Whether each row of a result of this rank depends only on the same row of the operands.
    fn keeps_rows_independent(&self, rank: usize) -> bool {
        let first = self.is(0, BatchDependence::PerRow);
        let rows = |index: usize| {
            self.is(index, BatchDependence::PerRow) && self.shape(index).is_some_and(|own| own.len() == rank)
        };
        let broadcast = || (0..self.node.inputs.len()).all(|index| rows(index) || self.serves_all(index, rank));
        match &self.node.op {
            Op::Elementwise(Elementwise::Align { .. }) => false,
            Op::Elementwise(_) => broadcast(),
            Op::Movement(op) => first && self.moves_inside(op),
            // Reducing the batch axis changes the shape, which is checked later.
            Op::Reduction(Reduction::Reduce { .. }) => first && self.fixed_from(1),
            Op::Reduction(Reduction::ArgExtreme { axis, .. } | Reduction::Softmax { axis, .. }) => {
                first && self.inside(*axis)
            }
            Op::Product(op) => self.multiplies_inside(op, rank),
            Op::Pool(Pool::Slide { .. } | Pool::Global { .. }) => {
                // Indices of maxima count through the whole batch.
                first && self.node.outputs.iter().flatten().count() == 1
            }
            Op::Norm(op) => {
                let inside = match op {
                    Norm::Batch { momentum, .. } => momentum.is_none(),
                    Norm::Layer { axis, .. } | Norm::Lp { axis, .. } => self.inside(*axis),
                    Norm::MeanVariance { axes } => axes.iter().all(|axis| self.inside(*axis)),
                    Norm::Group { .. } | Norm::LocalResponse { .. } => true,
                    _ => false,
                };
                first && inside && self.fixed_from(1)
            }
            Op::Indexing(Indexing::Gather { axis }) => {
                let embeds = self.is(0, BatchDependence::Invariant)
                    && self.is(1, BatchDependence::PerRow)
                    && !self.inside(*axis);
                embeds || first && self.is(1, BatchDependence::Invariant) && self.inside(*axis)
            }
            Op::Indexing(Indexing::TopK { axis, .. }) => first && self.fixed_from(1) && self.inside(*axis),
            Op::AttentionOp(AttentionOp::Attention(_)) => {
                let serves_all = |index: usize| {
                    self.is(index, BatchDependence::Invariant) && self.shape(index).is_some_and(|own| own.len() <= 2)
                };
                // Every row has its own number of valid keys.
                let lengths = self.id(6).is_none() || self.is(6, BatchDependence::PerRow);
                let others = (3..6).all(|index| self.id(index).is_none() || serves_all(index));
                (0..3).all(|index| self.is(index, BatchDependence::PerRow)) && others && lengths
            }
            Op::Quantize(Quantize::Linear { axis, .. } | Quantize::Dequantize { axis, .. }) => {
                let is_one = self.shape(1).is_some_and(|shape| shape.iter().product::<usize>() == 1);
                first && self.fixed_from(1) && (is_one || self.inside(*axis))
            }
            _ => false,
        }
    }

    fn moves_inside(&self, op: &Movement) -> bool {
        match op {
            // The order of elements stays the same, so the shape check suffices.
            Movement::Reshape { .. } | Movement::Flatten { .. } | Movement::Squeeze | Movement::Unsqueeze => true,
            Movement::Transpose { perm } => perm.as_ref().is_some_and(|perm| perm.first() == Some(&0)),
            Movement::Slice => self.fixed_from(1) && self.numbers(3).is_some_and(|axes| self.all_inside(&axes)),
            Movement::Concat { axis } => {
                let rows = (0..self.node.inputs.len()).all(|index| self.is(index, BatchDependence::PerRow));
                rows && self.inside(*axis)
            }
            Movement::Split { axis, .. } => self.inside(*axis) && self.fixed_from(1),
            Movement::Pad { .. } => self.fixed_from(1) && self.pads_inside(),
            Movement::DepthToSpace { .. } | Movement::SpaceToDepth { .. } => true,
            _ => false,
        }
    }

    fn all_inside(&self, axes: &[i64]) -> bool {
        axes.iter().all(|axis| self.inside(*axis))
    }

    fn pads_inside(&self) -> bool {
        if self.id(3).is_some() {
            return self.numbers(3).is_some_and(|axes| self.all_inside(&axes));
        }
        let (Some(shape), Some(pads)) = (self.shape(0), self.numbers(1)) else { return false };
        pads.first() == Some(&0) && pads.get(shape.len()) == Some(&0)
    }

    fn multiplies_inside(&self, op: &Product, rank: usize) -> bool {
        let [a, b] = [0, 1].map(|index| self.shape(index).map_or(0, <[usize]>::len));
        let first = self.is(0, BatchDependence::PerRow);
        match op {
            Product::MatMul { transpose_a, .. } => {
                let weights = self.serves_all(1, rank.max(3)) && a == rank && (!transpose_a || a > 2);
                let both = self.is(1, BatchDependence::PerRow) && a == rank && b == rank && rank > 2;
                let added = self.is(2, BatchDependence::PerRow) && self.shape(2).is_some_and(|own| own.len() == rank);
                first && a > 1 && (weights || both) && (added || self.serves_all(2, rank))
            }
            Product::MatMulInteger => {
                let points =
                    (2..4).all(|index| self.shape(index).is_none_or(|shape| shape.iter().product::<usize>() == 1));
                first && a > 1 && a == rank && b == 2 && self.fixed_from(1) && points
            }
            Product::Conv { .. } | Product::ConvInteger { .. } | Product::ConvTranspose { .. } => {
                first && self.fixed_from(1)
            }
            Product::Requantize { axes } => first && self.fixed_from(1) && self.all_inside(axes),
            _ => false,
        }
    }
}
