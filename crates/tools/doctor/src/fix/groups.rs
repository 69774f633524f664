//! Membership in the groups of device nodes.

use super::error::FixError;
use super::plan::{Draft, own};

/// Adds the user who works on the machine to groups.
pub(super) fn join_user(draft: &mut Draft<'_>, groups: &str) -> Result<(), FixError> {
    let user = draft.system.user.clone();
    let missing =
        || FixError::NoPlace("it is not known which user shall be in the groups; run it with sudo as that user".into());
    join(draft, &user.ok_or_else(missing)?, groups)
}

/// Adds the user of the compute service to groups.
pub(super) fn join_service(draft: &mut Draft<'_>, groups: &str) -> Result<(), FixError> {
    let fact = |name: &str| draft.system.fact(name).map(str::to_owned);
    let missing = || FixError::NoPlace("it is not known which user the service has".into());
    let (unit, user) = (fact("service.unit"), fact("service.user").ok_or_else(missing)?);
    join(draft, &user, groups)?;
    if let Some(unit) = unit.filter(|_| !draft.system.is_nixos()) {
        draft.then(&["systemctl", "restart", &unit]);
    }
    Ok(())
}

fn join(draft: &mut Draft<'_>, user: &str, groups: &str) -> Result<(), FixError> {
    let is_name = |name: &str| {
        name.len() <= 64
            && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-@".contains(c))
    };
    if !is_name(user) || user == "root" {
        return Err(FixError::Invalid(format!("`{}` is not the name of a user", user.escape_debug())));
    }
    if draft.system.is_nixos() {
        let list = groups.split(',').map(|group| format!("\"{group}\"")).collect::<Vec<_>>().join(" ");
        draft.options.push(format!("users.users.{user}.extraGroups = [ {list} ];"));
        return Ok(());
    }
    const FILE: &str = "/etc/group";
    let text = draft.text(FILE)?.ok_or_else(|| FixError::unexpected(FILE, "there is no such file"))?;
    let packaged = draft.system.tree.text("/usr/lib/group").ok().flatten().unwrap_or_default();
    let (mut new, mut joined) = (text.clone(), Vec::new());
    for group in groups.split(',') {
        let line = |text: &str| text.lines().find(|line| line.split(':').next() == Some(group)).map(str::to_owned);
        let own = line(&new);
        let members = own.as_deref().and_then(|line| line.split(':').nth(3)).unwrap_or_default();
        if members.split(',').any(|member| member == user) {
            continue;
        }
        match (own, line(&packaged)) {
            (Some(_), _) => joined.push(group),
            // Image-based systems have their groups in /usr, where tools do not change them.
            (None, Some(line)) => {
                let end = if new.is_empty() || new.ends_with('\n') { "" } else { "\n" };
                new.push_str(&format!("{end}{line}\n"));
                joined.push(group);
            }
            (None, None) => {}
        }
    }
    if new != text {
        draft.set(FILE, new.clone());
    }
    if joined.is_empty() {
        draft.note(format!("{user} is in the groups already; they count from the next login on."));
        return Ok(());
    }
    let list = joined.join(",");
    let leave = joined.iter().map(|group| own(&["gpasswd", "-d", user, group])).collect();
    draft.then_or(own(&["usermod", "-aG", &list, user]), leave);
    let member = |line: &str| {
        let mut fields = line.split(':');
        let is_joined = fields.next().is_some_and(|name| joined.contains(&name));
        let space = if fields.nth(2).is_none_or(str::is_empty) { "" } else { "," };
        if is_joined { format!("{line}{space}{user}\n") } else { format!("{line}\n") }
    };
    draft.by_command(FILE, new.lines().map(member).collect())
}
