//! Whether a graph computes each row of a batch by itself. One that looks from row to row, as a mean over the batch does, gives something else for a
//! part of it, and nothing in its shapes tells. So every node has to be of a kind that is known to keep rows apart.

use roci_graph::ops::{Attend, Elementwise, Indexing, Movement, Norm, Pool, Product, Quantize, Reduction};
use roci_graph::{Fact, Graph, Node, Op, Operation as _, ValueId};

/// What values are in parts of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The same in each.
    Fixed,
    /// Known before anything runs, and another in a part than in the whole: what is computed from shapes.
    Sized,
    /// Its first dimension is that of the batch, or a multiple of it.
    Rows,
}

/// What is known of all values, in the whole and in a part.
pub(super) struct Facts<'a> {
    pub(super) graph: &'a Graph,
    pub(super) whole: &'a [Option<Fact>],
    pub(super) part: &'a [Option<Fact>],
    /// Rows of the whole and of a part.
    pub(super) sizes: [usize; 2],
}

impl Facts<'_> {
    /// Whether the outputs of parts, one behind the other, are those of the whole.
    pub(super) fn are_apart(&self) -> bool {
        let mut kinds: Vec<Option<Kind>> = vec![None; self.graph.values.len()];
        self.graph.constants.keys().for_each(|id| kinds[id.index()] = Some(Kind::Fixed));
        for id in &self.graph.inputs {
            kinds[id.index()] = Some(Kind::Rows);
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
        self.graph.outputs.iter().all(|id| kinds[id.index()] == Some(Kind::Rows))
    }

    fn shape(&self, id: ValueId) -> Option<&[usize]> {
        self.whole[id.index()].as_ref()?.shape.as_deref()
    }

    /// The kind of a value that a node makes, if its shape agrees.
    fn refined(&self, id: ValueId, kind: Kind) -> Option<Kind> {
        let (whole, part) = (self.whole[id.index()].as_ref()?, self.part[id.index()].as_ref()?);
        if let (Some(whole), Some(part)) = (&whole.value, &part.value) {
            return Some(if whole == part { Kind::Fixed } else { Kind::Sized });
        }
        if kind != Kind::Rows {
            return Some(kind);
        }
        let ([first, rest @ ..], [part_first, part_rest @ ..]) = (&whole.shape.as_deref()?, &part.shape.as_deref()?)
        else {
            return None;
        };
        (rest == part_rest && first * self.sizes[1] == part_first * self.sizes[0]).then_some(Kind::Rows)
    }

    /// What a node makes of its operands; `None` if it may look from row to row.
    fn kind(&self, node: &Node, kinds: &[Option<Kind>]) -> Option<Kind> {
        let of = |id: ValueId| kinds[id.index()];
        let all = node.inputs.iter().flatten().map(|id| of(*id)).collect::<Option<Vec<_>>>()?;
        if node.op.is_random() || matches!(node.op, Op::Control(_)) {
            return None;
        }
        if all.iter().all(|kind| *kind == Kind::Fixed) {
            return Some(Kind::Fixed);
        }
        let outputs = node.outputs.iter().flatten();
        let is_known = |id: &ValueId| self.whole[id.index()].as_ref().is_some_and(|fact| fact.value.is_some());
        if outputs.clone().all(is_known) {
            return Some(Kind::Sized);
        }
        let made = self.shape(*outputs.clone().next()?)?;
        let operands = Operands { facts: self, node, kinds };
        operands.keep_rows_apart(made.len()).then_some(Kind::Rows)
    }
}

/// The operands of a node.
struct Operands<'a> {
    facts: &'a Facts<'a>,
    node: &'a Node,
    kinds: &'a [Option<Kind>],
}

impl Operands<'_> {
    fn id(&self, index: usize) -> Option<ValueId> {
        self.node.inputs.get(index).copied().flatten()
    }

    fn shape(&self, index: usize) -> Option<&[usize]> {
        self.facts.shape(self.id(index)?)
    }

    fn is(&self, index: usize, kind: Kind) -> bool {
        self.id(index).is_some_and(|id| self.kinds[id.index()] == Some(kind))
    }

    /// Whether an operand is the same for all rows, and does not number them itself.
    fn serves_all(&self, index: usize, rank: usize) -> bool {
        let Some(shape) = self.shape(index) else { return self.id(index).is_none() };
        self.is(index, Kind::Fixed) && (shape.len() < rank || shape.first() == Some(&1))
    }

    /// Whether all operands from one on are the same in all parts.
    fn fixed_from(&self, first: usize) -> bool {
        (first..self.node.inputs.len()).all(|index| self.id(index).is_none() || self.is(index, Kind::Fixed))
    }

    /// Whole numbers that are known.
    fn numbers(&self, index: usize) -> Option<Vec<i64>> {
        self.facts.whole[self.id(index)?.index()].as_ref()?.value.as_ref()?.integers().ok()
    }

    /// Whether an axis of the first operand is not that of the rows.
    fn inside(&self, axis: i64) -> bool {
        self.shape(0).is_some_and(|shape| axis != 0 && axis != -(shape.len() as i64))
    }

    /// Whether each row of the results, of this rank, comes of the same row of the operands.
    fn keep_rows_apart(&self, rank: usize) -> bool {
        let first = self.is(0, Kind::Rows);
        let rows = |index: usize| self.is(index, Kind::Rows) && self.shape(index).is_some_and(|own| own.len() == rank);
        let broadcast = || (0..self.node.inputs.len()).all(|index| rows(index) || self.serves_all(index, rank));
        match &self.node.op {
            Op::Elementwise(Elementwise::Align { .. }) => false,
            Op::Elementwise(_) => broadcast(),
            Op::Movement(op) => first && self.moves_inside(op),
            // What lies in rows stays there, as the shape shows.
            Op::Reduction(Reduction::Reduce { .. }) => first && self.fixed_from(1),
            Op::Reduction(Reduction::ArgExtreme { axis, .. } | Reduction::Softmax { axis, .. }) => {
                first && self.inside(*axis)
            }
            Op::Product(op) => self.multiplies_inside(op, rank),
            Op::Pool(Pool::Slide { .. } | Pool::Global { .. }) => {
                // Places of maxima are counted through the whole batch.
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
                let embeds = self.is(0, Kind::Fixed) && self.is(1, Kind::Rows) && !self.inside(*axis);
                embeds || first && self.is(1, Kind::Fixed) && self.inside(*axis)
            }
            Op::Indexing(Indexing::TopK { axis, .. }) => first && self.fixed_from(1) && self.inside(*axis),
            Op::Attend(Attend::Attention(_)) => {
                let serves_all =
                    |index: usize| self.is(index, Kind::Fixed) && self.shape(index).is_some_and(|own| own.len() <= 2);
                // Every row has its own number of valid keys.
                let lengths = self.id(6).is_none() || self.is(6, Kind::Rows);
                let others = (3..6).all(|index| self.id(index).is_none() || serves_all(index));
                (0..3).all(|index| self.is(index, Kind::Rows)) && others && lengths
            }
            Op::Quantize(Quantize::Linear { axis, .. } | Quantize::Back { axis, .. }) => {
                let is_one = self.shape(1).is_some_and(|shape| shape.iter().product::<usize>() == 1);
                first && self.fixed_from(1) && (is_one || self.inside(*axis))
            }
            _ => false,
        }
    }

    fn moves_inside(&self, op: &Movement) -> bool {
        match op {
            // Elements stay in their order, so that the shape tells.
            Movement::Reshape { .. } | Movement::Flatten { .. } | Movement::Squeeze | Movement::Unsqueeze => true,
            Movement::Transpose { perm } => perm.as_ref().is_some_and(|perm| perm.first() == Some(&0)),
            Movement::Slice => self.fixed_from(1) && self.numbers(3).is_some_and(|axes| self.all_inside(&axes)),
            Movement::Concat { axis } => {
                let rows = (0..self.node.inputs.len()).all(|index| self.is(index, Kind::Rows));
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
        let first = self.is(0, Kind::Rows);
        match op {
            Product::MatMul { transpose_a, .. } => {
                let weights = self.serves_all(1, rank.max(3)) && a == rank && (!transpose_a || a > 2);
                let both = self.is(1, Kind::Rows) && a == rank && b == rank && rank > 2;
                let added = self.is(2, Kind::Rows) && self.shape(2).is_some_and(|own| own.len() == rank);
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
