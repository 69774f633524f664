//! What is tried: small graphs made in code, a few whole models, and the checks for silent corruption.
//!
//! A file a group or two. To add a probe, add a line to its group's file: a name and a function that writes the graph.
//! Sizes are odd on purpose, so that every kernel has a rest at the edge, and small, because emulated GPUs take part and
//! the reference computes each element by its definition.

mod attention;
mod backward;
mod casts;
mod convolution;
mod elementwise;
mod indexing;
mod models;
mod movement;
mod norms;
mod pools;
mod products;
mod quantised;
mod recurrent;
mod reductions;
mod signal;
mod sketch;

use roci_graph::{DType, OpError, ValueId};

use crate::commands::verify;
pub(super) use sketch::Case;
use sketch::Sketch;

/// What belongs together in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Group {
    /// Arithmetic, comparisons, choices
    Elementwise,
    /// Activations, softmax among them
    Activations,
    /// Conversions between types
    Casts,
    /// Products of matrices, einsum
    Products,
    /// Convolutions of every form
    Convolution,
    /// Pools
    Pooling,
    /// Normalisations
    Norms,
    /// Folds along axes, arg-max, running sums
    Reductions,
    /// Transposes, slices, pads, joins
    Movement,
    /// Resampling
    Resize,
    /// Gather, scatter, top-k
    Indexing,
    /// Attention and rotary embeddings
    Attention,
    /// LSTM, GRU, RNN
    Recurrent,
    /// Small integers
    Quantised,
    /// Fourier transforms
    Signal,
    /// Random numbers, dropout
    Random,
    /// Gradients, and steps of training
    Backward,
    /// Small models as a whole
    Models,
    /// Silent corruption: copies, reuse of memory, packed dot products, repeatability
    Corruption,
    /// Faults on purpose, for tests
    #[value(skip)]
    #[cfg(debug_assertions)]
    Faults,
}

impl Group {
    /// Its name, as options and tables have it.
    pub(crate) fn name(self) -> String {
        let named = clap::ValueEnum::to_possible_value(&self).map(|value| value.get_name().to_owned());
        named.unwrap_or_else(|| "faults".into())
    }
}

/// Writes a graph; what comes out of it.
type Build = Box<dyn Fn(&mut Sketch) -> Vec<ValueId>>;

/// A graph that is made when it is wanted.
pub(super) struct Draft {
    /// The type of floats.
    dtype: DType,
    build: Build,
}

impl Draft {
    /// The graph.
    pub(super) fn case(&self) -> Result<Case, OpError> {
        let mut sketch = Sketch::new(self.dtype);
        let outputs = (self.build)(&mut sketch);
        sketch.finish(outputs)
    }
}

/// What a probe does.
pub(super) enum Work {
    /// Runs a graph.
    Graph(Draft),
    /// Makes one of the checks for silent corruption.
    Corruption(verify::Corruption),
    /// Goes wrong.
    #[cfg(debug_assertions)]
    Fault(Fault),
}

/// How to go wrong.
#[cfg(debug_assertions)]
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    Crash,
    Hang,
    Panic,
}

/// One thing to try.
pub(crate) struct Probe {
    /// Where it belongs.
    pub(crate) group: Group,
    /// What it is called; no two are called the same.
    pub(crate) name: String,
    pub(super) work: Work,
}

/// The probes of a group, as they are listed.
struct List {
    group: Group,
    probes: Vec<Probe>,
}

impl List {
    fn add(&mut self, name: impl Into<String>, build: impl Fn(&mut Sketch) -> Vec<ValueId> + 'static) {
        self.add_of(DType::F32, name, build);
    }

    fn add_of(&mut self, dtype: DType, name: impl Into<String>, build: impl Fn(&mut Sketch) -> Vec<ValueId> + 'static) {
        let work = Work::Graph(Draft { dtype, build: Box::new(build) });
        self.probes.push(Probe { group: self.group, name: name.into(), work });
    }

    /// In single and in half precision.
    fn add_both(&mut self, name: &str, build: impl Fn(&mut Sketch) -> Vec<ValueId> + Clone + 'static) {
        self.add(name, build.clone());
        self.add_of(DType::F16, format!("{name}, f16"), build);
    }
}

/// A group, and what adds its probes.
type Family = (Group, fn(&mut List));

/// All probes, in the order of the table.
pub(crate) fn all() -> Vec<Probe> {
    let mut list = List { group: Group::Elementwise, probes: Vec::new() };
    let families: [Family; 18] = [
        (Group::Elementwise, elementwise::arithmetic),
        (Group::Activations, elementwise::activations),
        (Group::Casts, casts::add),
        (Group::Products, products::add),
        (Group::Convolution, convolution::add),
        (Group::Pooling, pools::add),
        (Group::Norms, norms::add),
        (Group::Reductions, reductions::add),
        (Group::Movement, movement::add),
        (Group::Resize, movement::resize),
        (Group::Indexing, indexing::add),
        (Group::Attention, attention::add),
        (Group::Recurrent, recurrent::add),
        (Group::Quantised, quantised::add),
        (Group::Signal, signal::add),
        (Group::Random, signal::random),
        (Group::Backward, backward::add),
        (Group::Models, models::add),
    ];
    for (group, family) in families {
        list.group = group;
        family(&mut list);
    }
    let corruption = verify::Corruption::ALL.map(|check| Probe {
        group: Group::Corruption,
        name: check.describe().into(),
        work: Work::Corruption(check),
    });
    list.probes.extend(corruption);
    list.probes
}

/// Probes that go wrong, which nobody is shown who does not ask for them.
#[cfg(debug_assertions)]
pub(crate) fn faults() -> Vec<Probe> {
    let of = |(name, fault): (&str, Fault)| Probe { group: Group::Faults, name: name.into(), work: Work::Fault(fault) };
    [("crash on purpose", Fault::Crash), ("hang on purpose", Fault::Hang), ("panic on purpose", Fault::Panic)]
        .map(of)
        .into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_the_reference_computes_every_graph() {
        let probes = all();
        let names: BTreeSet<_> = probes.iter().map(|probe| &probe.name).collect();
        assert_eq!(names.len(), probes.len());
        for probe in &probes {
            let Work::Graph(draft) = &probe.work else { continue };
            let case = draft.case().unwrap_or_else(|error| panic!("{}: {error}", probe.name));
            let made =
                roci_graph::run(&case.graph, case.inputs).unwrap_or_else(|error| panic!("{}: {error}", probe.name));
            // Results that are all the same would hide much.
            let first = made[0].tensor().and_then(roci_graph::Tensor::floats).unwrap_or_else(|error| panic!("{error}"));
            assert!(first.len() < 2 || first.iter().any(|element| *element != first[0]), "{}: {first:?}", probe.name);
            assert!(!first.is_empty(), "{}", probe.name);
        }
    }
}
