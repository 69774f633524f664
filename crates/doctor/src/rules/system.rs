//! Steps of a remedy by the system that they are for, so that people are shown what they can type.

use super::rule::Step;

/// Systems by the names they give themselves, and as steps name them.
const SYSTEMS: &[(&str, &str)] =
    &[("debian", "Debian"), ("ubuntu", "Ubuntu"), ("fedora", "Fedora"), ("rhel", "RHEL"), ("arch", "Arch")];

/// Leaves out the steps for other systems than the first of these that a step is for. All stay where none fits.
pub(super) fn of_system(steps: Vec<Step>, systems: &[String]) -> Vec<Step> {
    let names = systems.iter().filter_map(|id| SYSTEMS.iter().find(|(known, _)| known == id)).map(|(_, name)| *name);
    let is_for = |step: &Step, name: &str| named(step).is_some_and(|text| has_word(text, name));
    let Some(here) = names.into_iter().find(|name| steps.iter().any(|step| is_for(step, name))) else { return steps };
    steps.into_iter().filter(|step| named(step).is_none() || is_for(step, here)).collect()
}

/// Where a step says which systems it is for: the comment behind a command, or a sentence that begins with one.
fn named(step: &Step) -> Option<&str> {
    let any = |text: &&str| SYSTEMS.iter().any(|(_, name)| has_word(text, name));
    match step {
        Step::Run(command) => command.rsplit_once("  # ").map(|(_, comment)| comment).filter(any),
        // One that ends in a colon belongs to the next step.
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
    fn steps_of_other_systems_are_left_out() {
        let run = |text: &str| Step::Run(text.to_owned());
        let steps = vec![
            run("sudo apt install x   # Debian, Ubuntu"),
            run("sudo apt install y  # Ubuntu"),
            run("sudo dnf install x  # Fedora: the same"),
            Step::Say("Arch: sudo pacman -S x".to_owned()),
            run("x --version  # shows it"),
        ];
        let kept = |systems: &[&str]| {
            let systems: Vec<_> = systems.iter().map(|&id| id.to_owned()).collect();
            let kept = of_system(steps.clone(), &systems);
            kept.iter().map(|step| steps.iter().position(|one| one == step)).collect::<Option<Vec<_>>>()
        };
        assert_eq!(kept(&["ubuntu", "debian"]), Some(vec![0, 1, 4]));
        assert_eq!(kept(&["debian"]), Some(vec![0, 4]));
        assert_eq!(kept(&["cachyos", "arch"]), Some(vec![3, 4]));
        assert_eq!(kept(&["nixos"]), Some(vec![0, 1, 2, 3, 4]));
        assert_eq!(kept(&[]), Some(vec![0, 1, 2, 3, 4]));
    }
}
