//! Symbolic shapes: `[batch, 3, 224, 224]` gives `[batch, 64, 112, 112]`.
//!
//! Shape inference works on numbers, so it runs with many sizes of each symbolic dimension. For
//! every dimension of every value, an expression is fitted to the results: a sum of multiples
//! (`seq+1`), a product (`12*batch*seq`) or a division (`ceil(height/32)`). It is reported only if
//! it matches every sample; otherwise the dimension is unknown.

mod fit;

use std::collections::BTreeMap;

use crate::graph::{DeclaredType, Dim};
use crate::{DType, Fact, Graph, inference};

use fit::{Sample, Samples};

/// Maximum number of symbolic dimensions that are varied, because each needs several inferences.
/// Dimensions that depend on further ones are unknown.
const MAX_VARIED: usize = 12;
/// Sizes around which samples are taken. Some models accept small sizes only and some large ones
/// only. The sizes are far apart, so that a limit between them shows.
const SCALES: [usize; 3] = [6, 60, 400];

/// Infers the type and symbolic shape of every value, by ID; `None` if unknown. `sizes` fixes some
/// symbolic dimensions. An expression is a [`Dim::Symbol`].
pub fn shapes(graph: &Graph, sizes: &BTreeMap<String, usize>) -> Vec<Option<DeclaredType>> {
    let open = SymbolicDims::of(graph, sizes);
    let count = open.names.len();
    let mut samples = Samples::new(open.names.iter().map(|name| name.as_deref()).take(MAX_VARIED).collect());
    let take = |samples: &mut Samples, kind: Sample, at: Vec<usize>| {
        let facts = inference::facts(graph, &open.inputs(graph, &at));
        samples.push(kind, at, facts.into_iter().map(|fact| fact.map(|fact| (fact.dtype, fact.shape))).collect());
    };
    for (scale, start) in SCALES.into_iter().enumerate() {
        // All sizes differ, so that none is mistaken for another.
        let base: Vec<usize> = (0..count).map(|index| start + 7 * index).collect();
        take(&mut samples, Sample::Base(scale), base.clone());
        for index in 0..count.min(MAX_VARIED) {
            for step in [1, 13] {
                let mut at = base.clone();
                at[index] += step;
                take(&mut samples, Sample::Step { scale, symbol: index, step }, at);
            }
        }
        if count > 0 {
            for (first, slope) in [(2, 3), (17, 5)] {
                take(&mut samples, Sample::All, (0..count).map(|index| base[index] + first + slope * index).collect());
            }
        }
    }
    // A division needs a sample of every remainder.
    for symbol in samples.divided(graph.values.len()) {
        for step in 2..=2 * fit::DIVISORS {
            let mut at: Vec<usize> = (0..count).map(|index| SCALES[1] + 7 * index).collect();
            at[symbol] += step;
            take(&mut samples, Sample::Step { scale: 1, symbol, step }, at);
        }
    }
    let declared = |index: usize| {
        samples.value(index).map(|(dtype, dims)| DeclaredType::Tensor { dtype, dims }).or_else(|| {
            // Only the model declares values that are not tensors.
            graph.values[index].declared.clone().filter(|declared| !matches!(declared, DeclaredType::Tensor { .. }))
        })
    };
    (0..graph.values.len()).map(declared).collect()
}

/// The facts of a graph's inputs, with these sizes for symbolic dimensions and 1 for unknown ones.
pub fn inputs(graph: &Graph, sizes: &BTreeMap<String, usize>) -> Vec<Option<Fact>> {
    let open = SymbolicDims::of(graph, sizes);
    open.inputs(graph, &vec![1; open.names.len()])
}

/// The names of all symbolic dimensions of a graph's inputs, in order of appearance.
pub fn names(graph: &Graph) -> Vec<String> {
    SymbolicDims::of(graph, &BTreeMap::new()).names.into_iter().flatten().collect()
}

/// A dimension of an input.
#[derive(Clone, Copy)]
enum DimSource {
    Known(usize),
    /// The symbolic dimension of this index.
    SymbolicDims(usize),
}

/// The symbolic dimensions of a graph's inputs.
struct SymbolicDims {
    /// The name of each symbolic dimension; `None` if the model declares none.
    names: Vec<Option<String>>,
    /// Type and dimensions of each input that is a tensor.
    inputs: Vec<Option<(DType, Option<Vec<DimSource>>)>>,
}

impl SymbolicDims {
    fn of(graph: &Graph, sizes: &BTreeMap<String, usize>) -> Self {
        let mut names: Vec<Option<String>> = Vec::new();
        let mut place = |dim: &Dim| match dim {
            Dim::Known(size) => DimSource::Known(*size),
            Dim::Symbol(name) => match sizes.get(name) {
                Some(size) => DimSource::Known(*size),
                None => DimSource::SymbolicDims(
                    names.iter().position(|one| one.as_ref() == Some(name)).unwrap_or_else(|| {
                        names.push(Some(name.clone()));
                        names.len() - 1
                    }),
                ),
            },
            Dim::Unknown => {
                names.push(None);
                DimSource::SymbolicDims(names.len() - 1)
            }
        };
        let mut input = |id: &crate::ValueId| match graph.values[id.index()].declared.as_ref()? {
            DeclaredType::Tensor { dtype, dims } => {
                Some((*dtype, dims.as_ref().map(|dims| dims.iter().map(&mut place).collect())))
            }
            _ => None,
        };
        let inputs = graph.inputs.iter().map(&mut input).collect();
        Self { names, inputs }
    }

    /// The facts of the inputs with these sizes for the symbolic dimensions.
    fn inputs(&self, graph: &Graph, at: &[usize]) -> Vec<Option<Fact>> {
        let size = |place: &DimSource| match place {
            DimSource::Known(size) => *size,
            DimSource::SymbolicDims(index) => at[*index],
        };
        let fact = |input: &Option<(DType, Option<Vec<DimSource>>)>| {
            let (dtype, places) = input.as_ref()?;
            let shape = places.as_ref().map(|places| places.iter().map(size).collect());
            Some(Fact { dtype: *dtype, shape, value: None })
        };
        debug_assert_eq!(graph.inputs.len(), self.inputs.len());
        self.inputs.iter().map(fact).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tensor;
    use crate::ops::elementwise::Binary;
    use crate::ops::product::Product;
    use crate::ops::source::Source;
    use crate::ops::window::{Padding, Window};
    use crate::ops::{Indexing, Movement};

    fn input(graph: &mut Graph, name: &str, dims: &[Dim]) -> crate::ValueId {
        let id = graph.value(name);
        graph.values[id.index()].declared = Some(DeclaredType::Tensor { dtype: DType::F32, dims: Some(dims.to_vec()) });
        graph.inputs.push(id);
        id
    }

    fn symbol(name: &str) -> Dim {
        Dim::Symbol(name.to_owned())
    }

    fn text(shapes: &[Option<DeclaredType>], id: crate::ValueId) -> String {
        match &shapes[id.index()] {
            Some(DeclaredType::Tensor { dims: Some(dims), .. }) => {
                dims.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
            }
            other => format!("{other:?}"),
        }
    }

    fn conv(stride: usize, pad: usize) -> Product {
        let padding = Padding::Explicit(vec![(pad, pad); 2]);
        let window = Window { kernel: vec![], strides: vec![stride; 2], dilations: vec![], padding };
        Product::Conv { window, groups: 1 }
    }

    #[test]
    fn symbolic_dimensions_are_preserved() -> Result<(), crate::OpError> {
        let mut graph = Graph::default();
        let x = input(&mut graph, "x", &[symbol("batch"), Dim::Known(3), symbol("height"), Dim::Unknown]);
        let w = graph.constant("w", Tensor::zeros(DType::F32, [4, 3, 3, 3])?);
        let half = graph.node("half", conv(2, 1), &[x, w]);
        let less = graph.node("less", conv(1, 0), &[x, w]);
        let odd = graph.node("odd", conv(3, 0), &[x, w]);
        let sizes = graph.constant("sizes", Tensor::vector(vec![-1i64, 3]));
        let rows = graph.node("rows", Movement::Reshape { allow_zero: false }, &[less, sizes]);
        let both = graph.node("both", Movement::Concat { axis: 0 }, &[x, x]);
        let shapes = shapes(&graph, &BTreeMap::new());
        assert_eq!(text(&shapes, x), "batch 3 height ?");
        assert_eq!(text(&shapes, half), "batch 4 ceil(height/2) ?");
        assert_eq!(text(&shapes, less), "batch 4 height-2 ?");
        assert_eq!(text(&shapes, odd), "batch 4 floor(height/3) ?");
        assert_eq!(text(&shapes, rows), "? 3");
        assert_eq!(text(&shapes, both), "2*batch 3 height ?");
        let decided = super::shapes(&graph, &BTreeMap::from([("height".to_owned(), 9)]));
        assert_eq!(text(&decided, half), "batch 4 5 ?");
        assert_eq!(names(&graph), ["batch", "height"]);
        Ok(())
    }

    #[test]
    fn dry_runs_of_products_clips_and_data_dependent_shapes() -> Result<(), crate::OpError> {
        let mut graph = Graph::default();
        let x = input(&mut graph, "x", &[symbol("batch"), symbol("seq"), Dim::Known(8)]);
        let flat = graph.node("flat", Movement::Flatten { axis: 2 }, &[x]);
        // A table of positions limits the length of a sequence.
        let table = graph.constant("table", Tensor::zeros(DType::F32, [1, 64, 8])?);
        let shape = graph.node("shape", Source::Shape { start: 1, end: Some(2) }, &[x]);
        let [zero, one] = [0i64, 1].map(|one| graph.constant("number", Tensor::vector(vec![one])));
        let part = graph.node("part", Movement::Slice, &[table, zero, shape, one]);
        let sum = graph.node("sum", Binary::Add, &[x, part]);
        let places = graph.node("places", Indexing::NonZero, &[x]);
        let shapes = shapes(&graph, &BTreeMap::new());
        assert_eq!(text(&shapes, flat), "batch*seq 8");
        assert_eq!(text(&shapes, part), "1 ? 8");
        assert_eq!(text(&shapes, sum), "batch seq 8");
        assert_eq!(shapes[places.index()], Some(DeclaredType::Tensor { dtype: DType::I64, dims: None }));
        Ok(())
    }
}
