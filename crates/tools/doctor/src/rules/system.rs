//! Selects the steps of a remedy for the machine's distribution.

use super::rule::Step;

/// Distributions by `os-release` ID, and their names in steps.
const SYSTEMS: &[(&str, &str)] =
    &[("debian", "Debian"), ("ubuntu", "Ubuntu"), ("fedora", "Fedora"), ("rhel", "RHEL"), ("arch", "Arch")];

/// Removes steps for distributions other than the first of these that a step names. Keeps all if
/// none matches.
pub(super) fn for_distribution(steps: Vec<Step>, systems: &[String]) -> Vec<Step> {
    let names = systems.iter().filter_map(|id| SYSTEMS.iter().find(|(known, _)| known == id)).map(|(_, name)| *name);
    let is_for = |step: &Step, name: &str| distribution_text(step).is_some_and(|text| has_word(text, name));
    let Some(here) = names.into_iter().find(|name| steps.iter().any(|step| is_for(step, name))) else { return steps };
    steps.into_iter().filter(|step| distribution_text(step).is_none() || is_for(step, here)).collect()
}

/// The part of a step that names distributions: the comment of a command, or the start of a
/// sentence.
fn distribution_text(step: &Step) -> Option<&str> {
    let any = |text: &&str| SYSTEMS.iter().any(|(_, name)| has_word(text, name));
    match step {
        Step::Run(command) => command.rsplit_once("  # ").map(|(_, comment)| comment).filter(any),
        // A sentence that ends in a colon belongs to the next step.
        Step::Say(text) => {
            let begins = SYSTEMS.iter().any(|(_, name)| text.starts_with(name));
            Some(text.as_str()).filter(|text| begins && !text.ends_with(':'))
        }
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_for_other_distributions_are_removed() {
        let run = |text: &str| Step::Run(text.to_owned());
        let steps = vec![
            run("sudo apt install x   # Debian, Ubuntu"),
            run("sudo apt install y  # Ubuntu"),
            run("sudo dnf install x  # Fedora: the same"),
            Step::Say("Arch: sudo pacman -S x".to_owned()),
            run("x --version  # shows it"),
        ];
        let indices = |systems: &[&str]| {
            let systems: Vec<_> = systems.iter().map(|&id| id.to_owned()).collect();
            let indices = for_distribution(steps.clone(), &systems);
            indices.iter().map(|step| steps.iter().position(|one| one == step)).collect::<Option<Vec<_>>>()
        };
        assert_eq!(indices(&["ubuntu", "debian"]), Some(vec![0, 1, 4]));
        assert_eq!(indices(&["debian"]), Some(vec![0, 4]));
        assert_eq!(indices(&["cachyos", "arch"]), Some(vec![3, 4]));
        assert_eq!(indices(&["nixos"]), Some(vec![0, 1, 2, 3, 4]));
        assert_eq!(indices(&[]), Some(vec![0, 1, 2, 3, 4]));
    }
}
