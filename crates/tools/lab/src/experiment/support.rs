//! Checks whether this roci supports what an experiment requires. Imported results are not checked:
//! they may come from another roci.

use roci_doctor::Snapshot;

use crate::error::LabError;
use crate::message::{count, listed};

use super::{ExecutorKind, Experiment, Strategy};

/// Whether roci was built with the Kubernetes client.
const KUBERNETES: bool = cfg!(feature = "kubernetes");

impl Experiment {
    /// Settings without effect, one line each.
    ///
    /// # Errors
    /// If a strategy can never start: an executor that this roci lacks, a missing image, or one
    /// that the executor does not support. `place` names the experiment.
    pub fn check_here(&self, location: &str) -> Result<Vec<String>, LabError> {
        for strategy in &self.strategies {
            if let Some((reason, hint)) = never(strategy) {
                let reason = format!("the strategy `{}` {reason}", crate::message::cut(&strategy.name));
                return Err(LabError::Experiment { location: location.into(), reason, hint: Some(hint.into()) });
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
    /// A warning if it is for other chips than those of the machine.
    pub fn other_targets(&self, machine: &Snapshot) -> Option<String> {
        let found: Vec<&str> = machine.gpus.iter().filter_map(|gpu| gpu.target.as_deref()).collect();
        if self.targets.is_empty() || self.targets.iter().any(|target| found.contains(&target.as_str())) {
            return None;
        }
        let has = if found.is_empty() { "no known AMD GPU".to_owned() } else { listed(&found) };
        Some(format!("the experiment is for {}, and the machine has {has}", listed(&self.targets)))
    }
}

/// Why a strategy can never start, and the remedy.
fn never(strategy: &Strategy) -> Option<(&'static str, &'static str)> {
    let has_image = strategy.image.as_ref().is_some_and(|image| !image.is_empty());
    let directory = strategy.directory.as_ref().is_some_and(|path| path.to_string_lossy().contains('\0'));
    match strategy.executor.kind {
        _ if directory => Some(("has a NUL byte in its `directory`", "remove it")),
        ExecutorKind::Kubernetes if !KUBERNETES => Some((
            "needs the executor `kubernetes`, but roci was built without it",
            "build it with `--features kubernetes`, or choose the executor `local`, `container` or `slurm`",
        )),
        ExecutorKind::Container | ExecutorKind::Kubernetes if !has_image => {
            Some(("has no image, and its executor needs one", "add `image = \"…\"`, or choose the executor `local`"))
        }
        ExecutorKind::Slurm if has_image => Some((
            "has an image, and Slurm cannot start images itself",
            "put the container's program into `command` (`apptainer exec IMAGE …`) and remove `image`",
        )),
        _ => None,
    }
}
