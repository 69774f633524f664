//! `roci doctor fix`: shows remedies as exact changes, applies them after a yes, takes them back.

use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::process::Stdio;

use roci_doctor::fix::{Change, Done, FixError, Plan, PlanView, System};
use roci_doctor::{Diagnosis, GpuDiagnosis, LogReader, Reboot, Root, RuleSet, Severity, Snapshot, finding_text};
use roci_probe::units;
use serde::Serialize;

use super::error::DoctorError;
use super::rules::unknown_rule;
use crate::cli::{DoctorArgs, DoctorFixArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{BAD, FAINT, GOOD, Printer, one_line};

#[derive(Serialize)]
struct FixReport<'a> {
    schema: &'static str,
    version: u32,
    remedies: &'a [Remedy],
    /// Remedies of earlier runs that can be taken back.
    applied: Vec<AppliedReport>,
}

#[derive(Serialize)]
struct AppliedReport {
    number: u32,
    id: String,
    title: String,
    files: Vec<String>,
    commands: Vec<String>,
}

#[derive(Serialize)]
struct UndoReport {
    schema: &'static str,
    version: u32,
    undone: AppliedReport,
}

impl From<Done> for AppliedReport {
    fn from(done: Done) -> Self {
        let Done { number, id, title, files, commands, .. } = done;
        Self { number, id, title, files, commands }
    }
}

/// What became of a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It can be applied.
    Proposed,
    Applied,
    /// The files have it already; it waits for a reboot or a login.
    Configured,
    /// What is to be removed is in no known file; it may have been removed before.
    Absent,
    /// The user has to change the description of the system.
    ByHand,
    /// A file is not as expected, or cannot be changed.
    Refused,
}

#[derive(Serialize)]
struct Remedy {
    id: String,
    title: String,
    severity: Severity,
    reboot: Reboot,
    state: State,
    /// Why it is refused.
    error: Option<String>,
    hint: Option<String>,
    plan: PlanView,
    #[serde(skip)]
    changes: Vec<Change>,
}

/// Shows the remedies of this machine, or of a copy of its files, and applies those with a yes.
pub(super) fn run(
    rule_set: &RuleSet,
    reader: &LogReader,
    environment: &BTreeMap<String, String>,
    arguments: &DoctorArgs,
    fix: &DoctorFixArgs,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    let json = arguments.json();
    let root = match fix.root.as_ref().or(arguments.root.as_ref()) {
        Some(folder) => {
            super::check_root(folder)?;
            Root::at(folder)
        }
        None => Root::system(),
    };
    let is_copy = fix.root.is_some() || arguments.root.is_some();
    let snapshot = match is_copy {
        true => Snapshot::gather_copy(&root),
        false => Snapshot::gather(&root, environment.clone().into_iter()),
    };
    let user = ["SUDO_USER", "USER"].iter().find_map(|name| environment.get(*name)).filter(|_| !is_copy);
    let system = System::new(&root, snapshot.facts(), user.cloned());
    if let Some(id) = &fix.undo {
        let done = system.undo(id.as_deref(), fix.force, &mut execute).map_err(DoctorError::Fix)?;
        return undone(done, is_copy, json, printer);
    }
    let found = Diagnosis::new(rule_set, reader, &snapshot);
    let mut remedies = remedies(rule_set, &found, fix)?;
    // Root can open what a user cannot, and sudo hides the user's variables.
    let by_sudo = !is_copy && environment.contains_key("SUDO_USER");
    for id in &fix.yes {
        if !remedies.iter().any(|remedy| remedy.id.eq_ignore_ascii_case(id)) {
            if id.eq_ignore_ascii_case(MEMORY) {
                return Err(DoctorError::NotFound { id: MEMORY.to_owned() }.into());
            }
            let may = by_sudo || found.findings.iter().any(|cause| cause.id.eq_ignore_ascii_case(id));
            remedies.push(unfound(rule_set, &snapshot, id, may)?);
        }
    }
    for remedy in &mut remedies {
        // An earlier remedy may have changed the same file.
        let plan = plan(&system, remedy);
        if !json {
            printer.data(&text(remedy))?;
        }
        let Some(plan) = plan.filter(|_| remedy.state == State::Proposed && !fix.dry_run) else { continue };
        let is_chosen = fix.yes.iter().any(|id| remedy.id.eq_ignore_ascii_case(id));
        if is_chosen || fix.yes.is_empty() && !json && agrees(&remedy.id, printer)? {
            apply(&system, remedy, &plan);
            if !json {
                printer.data(&outcome(remedy, is_copy))?;
            }
        }
    }
    let applied = system.applied().map_err(DoctorError::Fix)?;
    if json {
        let applied = applied.into_iter().map(AppliedReport::from).collect();
        printer.json(&FixReport { schema: "roci.doctor.fix", version: 1, remedies: &remedies, applied })?;
    } else {
        summary(&remedies, &applied, printer)?;
    }
    let is_done = |remedy: &Remedy| matches!(remedy.state, State::Applied | State::Configured);
    Ok(if remedies.iter().all(is_done) { ExitStatus::Success } else { ExitStatus::Problems })
}

/// The findings that have a remedy as data; those that are asked for, if any are.
fn remedies(rule_set: &RuleSet, found: &Diagnosis, fix: &DoctorFixArgs) -> Result<Vec<Remedy>, DoctorError> {
    let (own, ids): (Vec<_>, Vec<_>) = fix.ids.iter().partition(|id| id.eq_ignore_ascii_case(MEMORY));
    for id in ids {
        let rule = rule_set.find(id).ok_or_else(|| unknown_rule(rule_set, id))?;
        if !found.findings.iter().any(|cause| cause.id == rule.id) {
            return Err(DoctorError::NotFound { id: rule.id.clone() });
        }
        if rule.fix.is_empty() {
            return Err(DoctorError::NoFix { id: rule.id.clone() });
        }
    }
    let asked = |id: &str| fix.ids.is_empty() || fix.ids.iter().any(|one| one.eq_ignore_ascii_case(id));
    let mut remedies = Vec::new();
    if asked(MEMORY) {
        remedies.extend(found.gpus.iter().find_map(memory));
    }
    if remedies.is_empty() && !own.is_empty() {
        return Err(DoctorError::NotFound { id: MEMORY.to_owned() });
    }
    for cause in found.findings.iter().filter(|cause| !cause.fix.is_empty() && asked(&cause.id)) {
        remedies.push(Remedy {
            id: cause.id.clone(),
            title: cause.title.clone(),
            severity: cause.severity,
            reboot: cause.reboot,
            state: State::Proposed,
            error: None,
            hint: None,
            plan: PlanView::default(),
            changes: cause.fix.clone(),
        });
    }
    Ok(remedies)
}

/// Name of the remedy that raises the limit of an APU's memory.
const MEMORY: &str = "MEMORY";

/// More memory for programs on an APU, if it can have more.
fn memory(card: &GpuDiagnosis) -> Option<Remedy> {
    let memory = card.memory.as_ref().filter(|memory| !memory.parameters.is_empty())?;
    let (usable, target) = (units::bytes(memory.usable), units::bytes(memory.target?));
    Some(Remedy {
        id: MEMORY.to_owned(),
        title: format!("Programs on {} can use {target} of the system's memory instead of {usable}", card.name()),
        severity: Severity::Info,
        reboot: Reboot::Reboot,
        state: State::Proposed,
        error: None,
        hint: None,
        plan: PlanView::default(),
        changes: memory.parameters.iter().cloned().map(Change::KernelParameter).collect(),
    })
}

/// A remedy that is asked for although its rule does not apply to what root sees.
fn unfound(rule_set: &RuleSet, snapshot: &Snapshot, id: &str, may: bool) -> Result<Remedy, DoctorError> {
    let rule = rule_set.find(id).ok_or_else(|| unknown_rule(rule_set, id))?;
    if !may {
        return Err(DoctorError::NotFound { id: rule.id.clone() });
    }
    let changes = rule_set.changes(&rule.id, &snapshot.facts()).filter(|changes| !changes.is_empty());
    Ok(Remedy {
        id: rule.id.clone(),
        title: rule.title.clone(),
        severity: rule.severity,
        reboot: rule.reboot,
        state: State::Proposed,
        error: None,
        hint: None,
        plan: PlanView::default(),
        changes: changes.ok_or_else(|| DoctorError::NoFix { id: rule.id.clone() })?,
    })
}

/// Plans a remedy on the machine as it is now.
fn plan(system: &System, remedy: &mut Remedy) -> Option<Plan> {
    match system.plan(&remedy.changes) {
        Ok(plan) => {
            remedy.plan = plan.view();
            remedy.state = match (plan.is_empty(), remedy.plan.options.is_empty()) {
                (false, _) => State::Proposed,
                (true, false) => State::ByHand,
                (true, true) if remedy.changes.iter().all(removes) => State::Absent,
                (true, true) => State::Configured,
            };
            Some(plan)
        }
        Err(error) => {
            refuse(remedy, &error);
            None
        }
    }
}

/// Whether a change only removes something.
fn removes(change: &Change) -> bool {
    matches!(change, Change::RemoveParameter(_) | Change::RemoveEnvironment(_) | Change::RemoveBlacklist(_))
}

fn refuse(remedy: &mut Remedy, error: &FixError) {
    remedy.state = State::Refused;
    remedy.error = Some(error.to_string());
    remedy.hint = roci_base::Hint::hint(error).map(|hint| hint.replace("RULE", &remedy.id));
}

fn apply(system: &System, remedy: &mut Remedy, plan: &Plan) {
    match system.apply(&remedy.id, &remedy.title, plan, &mut execute) {
        Ok(_) => remedy.state = State::Applied,
        Err(error) => refuse(remedy, &error),
    }
}

/// Runs a command of root. What it prints is not the result of this command.
fn execute(words: &[String]) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let stderr = std::io::stderr().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    let mut command = std::process::Command::new(program);
    let status = command.args(arguments).stdin(Stdio::null()).stdout(stderr).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Asks whether to apply a remedy. Returns false if standard input or output is not a terminal.
fn agrees(id: &str, printer: &Printer) -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(false);
    }
    printer.data(&format!("  Apply {id}? [y/N] \n"))?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn text(remedy: &Remedy) -> String {
    let style = if remedy.severity <= Severity::High { BAD } else { FAINT };
    let severity = finding_text::severity(remedy.severity);
    let mut text = format!("{style}{severity}{style:#} {} {}\n", remedy.id, one_line(&remedy.title));
    text.push_str(&remedy.plan.text("  "));
    match remedy.state {
        State::Refused => text.push_str(&refusal(remedy)),
        State::Configured => {
            text.push_str("  Nothing to change: the files have it already.\n");
            text.push_str(&effect(remedy));
        }
        State::Absent => {
            let why = "Nothing to change: no file that this command knows sets it. If it was removed a moment ago, reboot or log in again.";
            text.push_str(&finding_text::indented(why, "  "));
        }
        State::ByHand => {
            text.push_str("  Set this in /etc/nixos/configuration.nix, then run: sudo nixos-rebuild boot\n");
            text.push_str(&effect(remedy));
        }
        State::Proposed | State::Applied => text.push_str(&effect(remedy)),
    }
    text.push('\n');
    text
}

fn effect(remedy: &Remedy) -> String {
    // A shell reads the variables of all logins only once.
    let is_variable = |change: &Change| matches!(change, Change::Environment(_) | Change::RemoveEnvironment(_));
    let when = match remedy.reboot {
        Reboot::None if remedy.changes.iter().any(is_variable) => "after you log out and in again",
        Reboot::None => "for programs that start afterwards",
        Reboot::Login => "after you log out and in again",
        Reboot::Module => "when the module is loaded again, or after a reboot",
        _ => "after a reboot",
    };
    format!("  Takes effect {when}.\n")
}

fn refusal(remedy: &Remedy) -> String {
    let mut text = format!("  {BAD}Refused:{BAD:#} {}\n", one_line(remedy.error.as_deref().unwrap_or_default()));
    if let Some(hint) = &remedy.hint {
        text.push_str(&finding_text::indented(hint, "  "));
    }
    text
}

/// The result of applying a remedy.
fn outcome(remedy: &Remedy, is_copy: bool) -> String {
    match remedy.state {
        State::Applied if is_copy && !remedy.plan.commands.is_empty() => {
            format!("  {GOOD}Applied{GOOD:#} to the copy. Run the commands with # on the machine itself.\n\n")
        }
        State::Applied => format!("  {GOOD}Applied.{GOOD:#} To take it back: roci doctor fix --undo {}\n\n", remedy.id),
        _ => refusal(remedy) + "\n",
    }
}

fn summary(remedies: &[Remedy], applied: &[Done], printer: &Printer) -> Result<(), CliError> {
    let open: Vec<_> = remedies.iter().filter(|remedy| remedy.state == State::Proposed).collect();
    if remedies.is_empty() {
        printer.data("No finding has a remedy that can be applied. `roci doctor` shows all findings.\n")?;
    }
    if let Some(first) = open.first() {
        let text = format!(
            "Nothing was changed for {} of {} remedies. To apply one: roci doctor fix --yes {}",
            open.len(),
            remedies.len(),
            first.id
        );
        printer.data(&finding_text::indented(&text, ""))?;
    }
    if !applied.is_empty() {
        let ids: Vec<_> = applied.iter().map(|done| done.id.as_str()).collect();
        let text = format!("Applied, and can be taken back with --undo: {}.", ids.join(", "));
        printer.data(&finding_text::indented(&text, ""))?;
    }
    Ok(())
}

fn undone(done: Done, is_copy: bool, json: bool, printer: &Printer) -> Result<ExitStatus, CliError> {
    if json {
        printer.json(&UndoReport { schema: "roci.doctor.fix.undo", version: 1, undone: done.into() })?;
        return Ok(ExitStatus::Success);
    }
    printer.data(&format!("{GOOD}Taken back:{GOOD:#} {} {}\n", done.id, one_line(&done.title)))?;
    done.files.iter().try_for_each(|file| printer.data(&format!("  {file} is as before\n")))?;
    let run = if is_copy { "Run on the machine itself" } else { "Ran" };
    done.commands.iter().try_for_each(|command| printer.data(&format!("  {run}: {command}\n")))?;
    Ok(ExitStatus::Success)
}
