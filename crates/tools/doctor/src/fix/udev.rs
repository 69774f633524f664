//! Rules for the owners and permissions of device nodes.

use super::error::FixError;
use super::plan::Draft;

/// After the rules of distributions, which set the owners of device nodes in 50-udev-default.rules.
const FILE: &str = "/etc/udev/rules.d/70-roci-doctor.rules";

/// Adds a rule.
pub(super) fn add(draft: &mut Draft<'_>, rule: &str) -> Result<(), FixError> {
    if draft.system.is_nixos() {
        draft.options.push(format!("services.udev.extraRules = ''\n  {rule}\n'';"));
        return Ok(());
    }
    let text = draft.text(FILE)?.unwrap_or_default();
    if text.lines().any(|line| line.trim() == rule) {
        return Ok(());
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    draft.set(FILE, format!("{text}{end}{rule}\n"));
    draft.then(&["udevadm", "control", "--reload"]);
    draft.then(&["udevadm", "trigger"]);
    Ok(())
}
