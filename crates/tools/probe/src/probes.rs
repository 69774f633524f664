//! The list of probes: graphs, and checks for silent corruption.

use roci_hal::Device;

use crate::corruption::Corruption;
use crate::graphs::{self, GraphSpec};
use crate::{Outcome, Verdict};

/// A group of related probes in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Arithmetic, comparisons, selection.
    Elementwise,
    /// Activations, including softmax.
    Activations,
    /// Conversions between types.
    Casts,
    /// Matrix products, einsum.
    Products,
    /// Convolutions of all forms.
    Convolution,
    /// Average and maximum pooling.
    Pooling,
    /// Normalizations.
    Norms,
    /// Reductions along axes, arg-max, cumulative sums.
    Reductions,
    /// Transpose, slice, pad, concatenate.
    Movement,
    /// Resampling.
    Resize,
    /// Gather, scatter, top-k.
    Indexing,
    /// Attention and rotary embeddings.
    Attention,
    /// LSTM, GRU, RNN.
    Recurrent,
    /// Quantized integers.
    Quantized,
    /// Fourier transforms.
    Signal,
    /// Random numbers, dropout.
    Random,
    /// Gradients, and training steps.
    Backward,
    /// Small whole models.
    Models,
    /// Silent corruption: copies, memory reuse, packed dot products, repeatability.
    Corruption,
    /// Deliberate faults, for tests of the supervisor.
    #[cfg(debug_assertions)]
    Faults,
}

impl Group {
    /// All groups except the faults, in the order of the table, each with its name and description.
    pub const ALL: [(Self, &'static str, &'static str); 19] = [
        (Self::Elementwise, "elementwise", "Arithmetic, comparisons, selection"),
        (Self::Activations, "activations", "Activations, softmax among them"),
        (Self::Casts, "casts", "Conversions between types"),
        (Self::Products, "products", "Matrix products, einsum"),
        (Self::Convolution, "convolution", "Convolutions of every form"),
        (Self::Pooling, "pooling", "Pools"),
        (Self::Norms, "norms", "Normalizations"),
        (Self::Reductions, "reductions", "Reductions along axes, arg-max, cumulative sums"),
        (Self::Movement, "movement", "Transpose, slice, pad, concatenate"),
        (Self::Resize, "resize", "Resampling"),
        (Self::Indexing, "indexing", "Gather, scatter, top-k"),
        (Self::Attention, "attention", "Attention and rotary embeddings"),
        (Self::Recurrent, "recurrent", "LSTM, GRU, RNN"),
        (Self::Quantized, "quantized", "Quantized integers"),
        (Self::Signal, "signal", "Fourier transforms"),
        (Self::Random, "random", "Random numbers, dropout"),
        (Self::Backward, "backward", "Gradients, and training steps"),
        (Self::Models, "models", "Small whole models"),
        (Self::Corruption, "corruption", "Silent corruption: copies, memory reuse, packed dot products, repeatability"),
    ];

    /// Name in options and tables.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(group, ..)| *group == self).map_or("faults", |(_, name, _)| name)
    }

    /// Parses a name; `None` if it is unknown.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map(|(group, ..)| *group)
    }
}

/// What a probe runs.
#[derive(Debug)]
pub enum ProbeKind {
    /// Runs a graph and compares its outputs with the reference interpreter's.
    Graph(GraphSpec),
    /// Runs one check for silent corruption.
    Corruption(Corruption),
    /// Fails deliberately.
    #[cfg(debug_assertions)]
    Fault(Fault),
}

/// Ways to fail deliberately.
#[cfg(debug_assertions)]
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The process aborts.
    Crash,
    /// The probe never returns.
    Hang,
    /// The probe panics.
    Panic,
}

/// A test of a device. `Debug` prints only the name.
pub struct Probe {
    /// Group in the table.
    pub group: Group,
    /// Unique name.
    pub name: String,
    /// What the probe runs.
    pub kind: ProbeKind,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe").field("group", &self.group).field("name", &self.name).finish_non_exhaustive()
    }
}

impl Probe {
    /// Runs the probe on a device. If the device is lost, that overrides the probe's own outcome.
    pub fn run(&self, device: &Device) -> Verdict {
        let verdict = match &self.kind {
            ProbeKind::Graph(graph) => graphs::run(graph, device),
            ProbeKind::Corruption(corruption) => corruption.check(device).into(),
            #[cfg(debug_assertions)]
            ProbeKind::Fault(fault) => fault.fail(),
        };
        device.loss().map_or(verdict, |loss| {
            let hung = matches!(loss.reason, roci_hal::error::DeviceLossReason::Hang { .. });
            Verdict::new(if hung { Outcome::Hangs } else { Outcome::Crashes }, loss.to_string())
        })
    }
}

#[cfg(debug_assertions)]
impl Fault {
    fn fail(self) -> Verdict {
        match self {
            Self::Crash => std::process::abort(),
            Self::Hang => loop {
                std::thread::park();
            },
            Self::Panic => panic!("on purpose"),
        }
    }
}

/// All probes, in the order of the table.
pub fn all() -> Vec<Probe> {
    let corruption = Corruption::ALL.map(|check| Probe {
        group: Group::Corruption,
        name: check.describe().into(),
        kind: ProbeKind::Corruption(check),
    });
    graphs::all().into_iter().chain(corruption).collect()
}

/// Probes that fail deliberately, for tests of the supervising process.
#[cfg(debug_assertions)]
pub fn faults() -> Vec<Probe> {
    let of =
        |(name, fault): (&str, Fault)| Probe { group: Group::Faults, name: name.into(), kind: ProbeKind::Fault(fault) };
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
            let ProbeKind::Graph(graph) = &probe.kind else { continue };
            let case = graph.build().unwrap_or_else(|error| panic!("{}: {error}", probe.name));
            let outputs =
                roci_graph::run(&case.graph, case.inputs).unwrap_or_else(|error| panic!("{}: {error}", probe.name));
            // A constant result would hide a wrong index.
            let first =
                outputs[0].tensor().and_then(roci_graph::Tensor::floats).unwrap_or_else(|error| panic!("{error}"));
            assert!(first.len() < 2 || first.iter().any(|element| *element != first[0]), "{}: {first:?}", probe.name);
            assert!(!first.is_empty(), "{}", probe.name);
        }
    }

    #[test]
    fn every_group_has_probes_and_is_found_by_its_name() {
        let probes = all();
        for (group, name, _) in Group::ALL {
            assert_eq!((group.name(), Group::from_name(name)), (name, Some(group)));
            assert!(probes.iter().any(|probe| probe.group == group), "{name}");
        }
    }
}
