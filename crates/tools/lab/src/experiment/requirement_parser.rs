//! Parses requirements.

use super::document::{DependencyDocument, RequirementDocument, ResultWord};
use super::values::{assignment, range};
use super::{RequiredResult, Requirement, StrategyDependency};

/// A requirement from a table with one key.
pub(super) fn need(
    document: &RequirementDocument,
    fill: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Requirement, String> {
    let RequirementDocument { kernel_parameter, kernel, module_parameter, package, file, environment, fact, manual } =
        document;
    let keys = [kernel_parameter, kernel, module_parameter, package, file, environment, fact, manual];
    if keys.iter().filter(|key| key.is_some()).count() != 1 {
        return Err(
            "an entry of `needs` has one key, such as `kernel-parameter` or `package`; use one table per entry".into(),
        );
    }
    let split_assignment = |text: &str| -> Result<(String, Option<String>), String> {
        let (name, value) = assignment(&fill(text)?);
        if name.is_empty() { Err("an entry of `needs` has no name before `=`".into()) } else { Ok((name, value)) }
    };
    if let Some(text) = kernel_parameter {
        return split_assignment(text).map(|(name, value)| Requirement::KernelParameter { name, value });
    }
    if let Some(text) = kernel {
        return range(&fill(text)?).map(|range| Requirement::Kernel { range });
    }
    if let Some(text) = module_parameter {
        let (path, value) = split_assignment(text)?;
        return match (path.split_once('.'), value) {
            (Some((module, name)), Some(value)) => {
                Ok(Requirement::ModuleParameter { module: module.into(), name: name.into(), value })
            }
            _ => Err(format!("`{text}` is not a module parameter; write `amdgpu.cwsr_enable=0`")),
        };
    }
    if let Some(text) = package {
        let text = fill(text)?;
        let end = text.find(['<', '>', '=', '!']).unwrap_or(text.len());
        let (name, versions) = text.split_at(end);
        return match name.trim() {
            "" => Err("a package has no name".into()),
            name => range(versions).map(|range| Requirement::Package { name: name.into(), range }),
        };
    }
    if let Some(text) = file {
        return Ok(Requirement::File { path: fill(text)?.into() });
    }
    if let Some(text) = environment {
        return split_assignment(text).map(|(name, value)| Requirement::Environment { name, value });
    }
    if let Some(text) = fact {
        return split_assignment(text).map(|(name, value)| Requirement::Fact { name, value });
    }
    Ok(Requirement::Manual { change: fill(manual.as_deref().unwrap_or_default())? })
}

/// A dependency on another strategy.
pub(super) fn after(document: &DependencyDocument) -> Result<StrategyDependency, String> {
    let strategy = document.strategy.clone();
    let result = match (document.result, &document.phase, &document.past) {
        (None, None, None) | (Some(ResultWord::Ended), None, None) => RequiredResult::Ended,
        (Some(ResultWord::Passed), None, None) => RequiredResult::Passed,
        (Some(ResultWord::Failed), None, None) => RequiredResult::Failed,
        (None, Some(phase), None) => RequiredResult::Phase(phase.clone()),
        (None, None, Some(phase)) => RequiredResult::Past(phase.clone()),
        _ => return Err("`after` takes one of `result`, `phase` and `past`; use one table per entry".into()),
    };
    Ok(StrategyDependency { strategy, result })
}
