//! The report for a bug tracker: Markdown with JSON next to it, and a page.

use std::path::PathBuf;

use roci_doctor::{Diagnosis, Identity, LogReader, RuleSet, Snapshot};
use roci_probe::verify::RouteReport;
use serde::Serialize;

use super::error::DoctorError;
use super::{PROGRAM, json, save, verify};
use crate::cli::DoctorArgs;
use crate::error::CliError;
use crate::printer::Printer;

/// The report as JSON.
#[derive(Serialize)]
struct BugReport<'a> {
    schema: &'static str,
    version: u32,
    program: &'static str,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    /// The results of `--verify`; null without it.
    verified: Option<&'a [RouteReport]>,
    snapshot: &'a Snapshot,
}

/// Writes the files of `--report` and `--html`, masked.
pub(super) fn write(
    arguments: &DoctorArgs,
    rule_set: &RuleSet,
    reader: &LogReader,
    snapshot: &Snapshot,
    identity: &Identity,
    verified: Option<&[RouteReport]>,
    printer: &Printer,
) -> Result<(), CliError> {
    // The output of a process that died may contain names, too.
    let unmasked = (snapshot.clone(), verified.map(<[RouteReport]>::to_vec));
    let masked = roci_doctor::mask(&unmasked, identity).map_err(DoctorError::Internal)?;
    let (snapshot, verified) = &masked.value;
    let mut diagnosis = Diagnosis::new(rule_set, reader, snapshot);
    if let Some(reports) = verified {
        verify::fold(&mut diagnosis, reports);
    }
    let computed = verified.as_ref().map(|reports| reports.iter().map(verify::line).collect::<Vec<_>>());
    let computed = computed.as_deref();
    let mut written = Vec::new();
    if let Some(path) = &arguments.report {
        let name = path.to_string_lossy();
        let stem = name.strip_suffix(".md").or_else(|| name.strip_suffix(".json")).unwrap_or(&name);
        let (markdown, data) = (PathBuf::from(format!("{stem}.md")), PathBuf::from(format!("{stem}.json")));
        save(&markdown, &roci_doctor::markdown(snapshot, &diagnosis, computed, PROGRAM))?;
        let report = BugReport {
            schema: "roci.doctor.report",
            version: 2,
            program: PROGRAM,
            diagnosis: &diagnosis,
            verified: verified.as_deref(),
            snapshot,
        };
        save(&data, &json(&report)?)?;
        written.extend([markdown, data]);
    }
    if let Some(path) = &arguments.html {
        save(path, &roci_doctor::html(snapshot, &diagnosis, computed, PROGRAM))?;
        written.push(path.clone());
    }
    let names: Vec<_> = written.iter().map(|path| format!("`{}`", path.display())).collect();
    printer.note(&format!("wrote {}; {}", names.join(" and "), masked.describe()));
    Ok(())
}
