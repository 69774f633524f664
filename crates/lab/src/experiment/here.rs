//! Whether this roci can do what an experiment asks for. Reading results of others does not ask: they may be another roci's.

use roci_doctor::Snapshot;

use crate::error::LabError;
use crate::words::{count, listed};

use super::{ExecutorKind, Experiment, Strategy};

/// Whether this roci has the client for Kubernetes.
const KUBERNETES: bool = cfg!(feature = "kubernetes");

impl Experiment {
    /// What in it has no effect, a line each.
    ///
    /// # Errors
    /// What can never be started, whatever the machine: an executor that this roci lacks, an image that is missing or that the
    /// executor does not take. `place` is what to call the experiment.
    pub fn check_here(&self, place: &str) -> Result<Vec<String>, LabError> {
        for strategy in &self.strategies {
            if let Some((reason, hint)) = never(strategy) {
                let reason = format!("the strategy `{}` {reason}", crate::words::cut(&strategy.name));
                return Err(LabError::Experiment { place: place.into(), reason, hint: Some(hint.into()) });
            }
        }
        let ignored = |strategy: &&Strategy| strategy.image.is_some() && strategy.executor.kind == ExecutorKind::Local;
        let names: Vec<&str> = self.strategies.iter().filter(ignored).map(|strategy| strategy.name.as_str()).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let some = count(names.len(), "strategy names an image", "strategies name an image");
        Ok(vec![format!(
            "{some} that the executor `local` does not use, and would run on this machine as it is: {}; write `[executor]` with \
             `kind = \"container\"`, or take `image` out",
            listed(&names)
        )])
    }
}

impl Experiment {
    /// That it is for other chips than those of the machine, in a line.
    pub fn other_targets(&self, machine: &Snapshot) -> Option<String> {
        let found: Vec<&str> = machine.gpus.iter().filter_map(|gpu| gpu.target.as_deref()).collect();
        if self.targets.is_empty() || self.targets.iter().any(|target| found.contains(&target.as_str())) {
            return None;
        }
        let has = if found.is_empty() { "no AMD GPU that is known".to_owned() } else { listed(&found) };
        Some(format!("the experiment is for {}, and the machine has {has}", listed(&self.targets)))
    }
}

/// Why a strategy can never be started, and what to do.
fn never(strategy: &Strategy) -> Option<(&'static str, &'static str)> {
    let has_image = strategy.image.as_ref().is_some_and(|image| !image.is_empty());
    let directory = strategy.directory.as_ref().is_some_and(|path| path.to_string_lossy().contains('\0'));
    match strategy.executor.kind {
        _ if directory => Some(("has a zero byte in its `directory`", "take it out")),
        ExecutorKind::Kubernetes if !KUBERNETES => Some((
            "wants the executor `kubernetes`, which this roci was built without",
            "build it with `--features kubernetes`, or choose the executor `local`, `container` or `slurm`",
        )),
        ExecutorKind::Container | ExecutorKind::Kubernetes if !has_image => {
            Some(("names no image, and its executor needs one", "give `image = \"…\"`, or choose the executor `local`"))
        }
        ExecutorKind::Slurm if has_image => Some((
            "names an image, and Slurm by itself starts none",
            "put the container's program into `command` (`apptainer exec IMAGE …`) and leave `image` out",
        )),
        _ => None,
    }
}
