//! Prints the diagnosis: the verdict first, then findings with a remedy.

use roci_doctor::{Cause, Diagnosis, Examined, GpuDiagnosis, Reboot, Severity, Snapshot, finding_text};

use crate::error::CliError;
use crate::printer::{BAD, Column, FAINT, GOOD, Printer, one_line};
use roci_probe::units;

/// Findings that are printed without `--verbose`.
const MAX_FINDINGS: usize = 6;

pub(super) fn diagnosis(
    found: &Diagnosis,
    snapshot: &Snapshot,
    verbose: bool,
    printer: &Printer,
) -> Result<(), CliError> {
    let style = if found.healthy { GOOD } else { BAD };
    printer.data(&format!("{style}{}{style:#}\n", found.verdict))?;
    if found.gpus.is_empty() {
        let remedy = "If this machine has one, run `lspci -nn -d 1002:`. A card that it does not list is not seated, has no \
                      power, or is disabled in the firmware settings; to a virtual machine it must be passed through.";
        printer.data(&finding_text::indented(remedy, ""))?;
        printer.data(&examined(found))?;
    } else {
        printer.data("\n")?;
        table(&found.gpus, printer)?;
    }
    if verbose {
        found.gpus.iter().try_for_each(|card| printer.data(&routes(card)))?;
        if !found.gpus.is_empty() {
            printer.data(&examined(found))?;
        }
    }
    for silent in found.failed_probes.iter().filter(|silent| verbose || silent.requested) {
        let text = format!("{} did not answer: {}.", silent.driver, one_line(silent.reason.trim_end_matches('.')));
        printer.data(&format!("\n{}", finding_text::indented(&text, "")))?;
    }
    let (shown, rest): (Vec<_>, Vec<_>) = found.findings.iter().partition(|cause| verbose || cause.is_a_problem());
    for cause in shown.iter().take(if verbose { usize::MAX } else { MAX_FINDINGS }) {
        printer.data(&finding(cause, verbose))?;
    }
    let hidden = rest.len() + if verbose { 0 } else { shown.len().saturating_sub(MAX_FINDINGS) };
    if hidden > 0 {
        let findings = if hidden == 1 { "finding" } else { "findings" };
        printer.data(&format!("\n{FAINT}{hidden} less severe {findings}: roci doctor -v{FAINT:#}\n"))?;
    }
    let fixable = shown.iter().filter(|cause| !cause.fix.is_empty()).count();
    if fixable > 0 {
        let text = format!(
            "`roci doctor fix` shows exact changes for {fixable} of these findings, and makes them after a yes."
        );
        printer.data(&format!("\n{}", finding_text::indented(&text, "")))?;
    }
    for card in &found.gpus {
        printer.data(&memory(card))?;
        if verbose || !found.healthy {
            printer.data(&known_good(card))?;
        }
    }
    if verbose {
        printer.data(&facts(snapshot))?;
    }
    if verbose && !found.unreadable.is_empty() {
        printer.data("\nNot readable for this user:\n")?;
        found.unreadable.iter().try_for_each(|line| printer.data(&format!("  {}\n", one_line(line))))?;
    }
    Ok(())
}

/// All facts about the machine.
fn facts(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    for (title, rows) in roci_doctor::sections(snapshot) {
        text.push_str(&format!("\n{title}:\n"));
        if rows.is_empty() {
            text.push_str("  none found\n");
        }
        rows.iter().for_each(|(name, value)| text.push_str(&format!("  {name:<30} {}\n", one_line(value))));
    }
    text
}

/// What was looked at, and what was there.
fn examined(found: &Diagnosis) -> String {
    let line = |one: &Examined| format!("  {:<30} {}\n", one.source, one_line(&one.found));
    format!("\nLooked at:\n{}", found.examined.iter().map(line).collect::<String>())
}

fn table(cards: &[GpuDiagnosis], printer: &Printer) -> Result<(), CliError> {
    let mut columns = vec![
        Column::Text("GPU"),
        Column::Text("NAME"),
        Column::Text("CHIP"),
        Column::Text("DRIVER"),
        Column::Number("OWN"),
        Column::Number("SHARED"),
        Column::Text("ROUTE"),
    ];
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".into(), units::bytes);
    let row = |card: &GpuDiagnosis| {
        let target = card.target.clone().unwrap_or_else(|| "?".into());
        let chip = match &card.forced {
            Some(forced) if Some(forced) != card.target.as_ref() => format!("{target} (forced: {forced})"),
            _ => target,
        };
        let driver = card.driver.clone().unwrap_or_else(|| "none".into());
        let mut row =
            vec![card.pci.clone(), card.name(), chip, driver, size(card.vram), size(card.gtt), card.best().into()];
        row.extend(card.computed.clone());
        row
    };
    // Either all devices were verified, or none.
    if cards.iter().all(|card| card.computed.is_some()) {
        columns.push(Column::Text("COMPUTED"));
    }
    printer.table(&columns, cards.iter().map(row).collect())?;
    Ok(())
}

/// Every route to the GPU with its state, and the names that drivers give the GPU.
fn routes(card: &GpuDiagnosis) -> String {
    let mut text = format!("\n{}\n", card.pci);
    for route in &card.routes {
        let word = if route.unknown { "unknown" } else { "closed" };
        let state = route.obstacle.as_ref().map_or_else(|| "open".into(), |obstacle| format!("{word}: {obstacle}"));
        text.push_str(&format!("  {:<30} {state}\n", route.kind.describe()));
    }
    let names = &card.names;
    let sources = [
        ("sold as", &names.product_name),
        ("compute driver", &names.kfd),
        ("graphics driver", &names.drm),
        ("HIP", &names.hip),
        ("Vulkan", &names.vulkan),
        ("OpenCL", &names.opencl),
    ];
    text.push_str(&format!("  {FAINT}{:<30} {}{FAINT:#}\n", "PCI", names.pci_id));
    for (source, name) in sources.into_iter().filter_map(|(source, name)| Some((source, name.as_ref()?))) {
        text.push_str(&format!("  {FAINT}{source:<30} {name}{FAINT:#}\n"));
    }
    text
}

/// The memory that an APU can use, if the limit can be raised.
fn memory(card: &GpuDiagnosis) -> String {
    let Some((memory, target)) = card.memory.as_ref().and_then(|memory| Some((memory, memory.target?))) else {
        return String::new();
    };
    let about = format!("Programs can use {} on {}: {}.", units::bytes(memory.usable), card.name(), memory.why);
    let raise = format!("To raise it to {}:\n", units::bytes(target));
    let lines = finding_text::remedy(&memory.raise, Reboot::Reboot, None, "  ");
    let fix = match memory.parameters.is_empty() {
        true => String::new(),
        false => "  Or: roci doctor fix MEMORY\n".to_owned(),
    };
    format!("\n{}{raise}{lines}{fix}", finding_text::indented(&about, ""))
}

/// Configurations of the chip that are known to work.
fn known_good(card: &GpuDiagnosis) -> String {
    let Some(good) = &card.known_good else { return String::new() };
    let parts = [
        ("kernel", &good.kernel),
        ("firmware", &good.firmware),
        ("Mesa", &good.mesa),
        ("ROCm", &good.rocm),
        ("PyTorch", &good.pytorch),
    ];
    let parts = parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
    let mut settings: Vec<_> = parts.chain(good.settings.iter().cloned()).collect();
    settings.insert(0, format!("by {}", good.route.describe()));
    let target = card.target.as_deref().unwrap_or("this chip");
    format!("\n{}", finding_text::indented(&format!("Known to work for {target}: {}.", settings.join("; ")), ""))
}

/// One finding with its remedy.
fn finding(cause: &Cause, verbose: bool) -> String {
    let style = if cause.severity <= Severity::High { BAD } else { FAINT };
    let place = if cause.gpus.is_empty() { String::new() } else { format!(" [{}]", cause.gpus.join(", ")) };
    let severity = finding_text::severity(cause.severity);
    format!("\n{style}{severity}{style:#} {} {}{place}\n{}", cause.id, cause.title, cause.text(verbose))
}
