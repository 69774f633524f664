//! Small graphs built in code, and a few whole models.
//!
//! Each file covers one or two groups. To add a probe, add a line to its group's file: a name and a
//! function that builds the graph. Sizes are odd, so that every kernel has a partial tile at the
//! edge. They are small, because probes also run on emulated GPUs and the reference computes each
//! element naively.

mod attention;
mod backward;
mod builder;
mod casts;
mod compare;
mod convolution;
mod elementwise;
mod indexing;
mod models;
mod movement;
mod norms;
mod pools;
mod products;
mod quantized;
mod recurrent;
mod reductions;
mod signal;
mod tolerance;

use roci_graph::{DType, OpError, ValueId};
use roci_hal::Device;
use roci_runtime::{Error, Note, Session};

use crate::probes::{Group, Probe, ProbeKind};
use crate::{Outcome, Verdict};
use builder::CaseBuilder;
pub use builder::GraphCase;
pub use compare::compare;

/// Adds a graph's nodes to a builder and returns its outputs.
type Build = Box<dyn Fn(&mut CaseBuilder) -> Vec<ValueId>>;

/// A probe graph that is built on demand.
pub struct GraphSpec {
    /// The float type of inputs and weights.
    dtype: DType,
    build: Build,
}

impl std::fmt::Debug for GraphSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphSpec").field("dtype", &self.dtype).finish_non_exhaustive()
    }
}

impl GraphSpec {
    /// Builds the graph and its inputs.
    pub fn build(&self) -> Result<GraphCase, OpError> {
        let mut builder = CaseBuilder::new(self.dtype);
        let outputs = (self.build)(&mut builder);
        builder.finish(outputs)
    }
}

/// Collects the probes, group by group.
struct ProbeList {
    group: Group,
    probes: Vec<Probe>,
}

impl ProbeList {
    fn add(&mut self, name: impl Into<String>, build: impl Fn(&mut CaseBuilder) -> Vec<ValueId> + 'static) {
        self.add_typed(DType::F32, name, build);
    }

    fn add_typed(
        &mut self,
        dtype: DType,
        name: impl Into<String>,
        build: impl Fn(&mut CaseBuilder) -> Vec<ValueId> + 'static,
    ) {
        let kind = ProbeKind::Graph(GraphSpec { dtype, build: Box::new(build) });
        self.probes.push(Probe { group: self.group, name: name.into(), kind });
    }

    /// Adds the probe in f32 and in f16.
    fn add_both(&mut self, name: &str, build: impl Fn(&mut CaseBuilder) -> Vec<ValueId> + Clone + 'static) {
        self.add(name, build.clone());
        self.add_typed(DType::F16, format!("{name}, f16"), build);
    }
}

/// A group, and the function that adds its probes.
type Family = (Group, fn(&mut ProbeList));

/// The graph probes, in the order of the table.
pub(crate) fn all() -> Vec<Probe> {
    let mut list = ProbeList { group: Group::Elementwise, probes: Vec::new() };
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
        (Group::Quantized, quantized::add),
        (Group::Signal, signal::add),
        (Group::Random, signal::random),
        (Group::Backward, backward::add),
        (Group::Models, models::add),
    ];
    for (group, family) in families {
        list.group = group;
        family(&mut list);
    }
    list.probes
}

/// Runs a graph twice: the first run compiles and records, the second replays the recording.
pub(crate) fn run(graph: &GraphSpec, device: &Device) -> Verdict {
    let invalid = |error: String| Verdict::new(Outcome::NotTried, format!("the probe itself is wrong: {error}"));
    let GraphCase { graph, inputs, tolerance } = match graph.build() {
        Ok(case) => case,
        Err(error) => return invalid(error.to_string()),
    };
    let want = match roci_graph::run(&graph, inputs.clone()) {
        Ok(want) => want,
        Err(error) => return invalid(error.to_string()),
    };
    let mut session = Session::new(graph, device.clone());
    let mut worst: Option<f64> = None;
    for run in ["first", "second"] {
        let got = match session.run(&inputs) {
            Ok(got) => got,
            Err(error) => return failed(&error),
        };
        let verdict = compare(&got, &want, tolerance);
        if verdict.outcome != Outcome::Works {
            let detail = verdict.detail.map(|detail| format!("{run} run, {detail}"));
            return Verdict { detail, ..verdict };
        }
        worst = worst.into_iter().chain(verdict.error_ratio).reduce(f64::max);
    }
    Verdict { outcome: Outcome::Works, detail: remark(session.notes()), error_ratio: worst }
}

fn failed(error: &Error) -> Verdict {
    match error {
        Error::Unsupported { reason, .. } => Verdict::new(Outcome::Unsupported, reason.as_str()),
        Error::Kernel(_) => Verdict::new(Outcome::Unsupported, error.to_string()),
        Error::Hal(roci_hal::Error::Timeout { .. }) => Verdict::new(Outcome::Hangs, error.to_string()),
        _ => Verdict::new(Outcome::Crashes, error.to_string()),
    }
}

/// A remark on correct results that were not computed by a kernel for their type.
fn remark(notes: &[Note]) -> Option<String> {
    let reference = notes.iter().find_map(|note| match note {
        Note::Reference { op, .. } => Some(format!("no kernel: {op} is evaluated by its definition")),
        _ => None,
    });
    reference.or_else(|| notes.iter().any(|note| matches!(note, Note::NarrowedF64(_))).then(|| "f64 in f32".into()))
}
