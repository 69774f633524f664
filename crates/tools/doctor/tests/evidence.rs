//! The doctor's conclusions about texts from public issue threads stay at least as good as recorded.
//!
//! Only totals are compared for the part `held`: rules must not be written from its texts.

#[path = "evidence/mod.rs"]
mod evidence;

use std::collections::BTreeSet;

use evidence::{Counts, Judgement, Outcome, Text, causes, counts, judged, texts};
use roci_doctor::RuleSet;

/// Least and most of a part.
struct Bounds {
    right: usize,
    silent: usize,
    wrong: usize,
    false_possible: usize,
}

fn compare(part: &str, bounds: &Bounds) {
    let judged = judged(part);
    let found = counts(&judged);
    let Counts { right, silent, wrong, all_clear, false_possible, .. } = found;
    assert!(judged.iter().all(|(text, judgement)| !text.chip.is_empty() && !judgement.verdict.is_empty()));
    let known = causes();
    let named = |(text, judgement): &(Text, Judgement)| {
        judgement.outcome != Outcome::Right || !judgement.causes.is_empty() || known[&text.cause].healthy
    };
    assert!(judged.iter().all(named), "{part}: a right cause that is not listed");
    assert!(right >= bounds.right, "{part}: {right} right causes instead of {} or more: {found:?}", bounds.right);
    assert!(silent <= bounds.silent && wrong <= bounds.wrong, "{part}: too many silent or wrong: {found:?}");
    assert_eq!(all_clear, 0, "{part}: a false all-clear: {found:?}");
    assert!(false_possible <= bounds.false_possible, "{part}: too many false entries under Possible: {found:?}");
}

#[test]
fn conclusions_about_tuned_texts_do_not_get_worse() {
    compare("tune", &Bounds { right: 236, silent: 7, wrong: 1, false_possible: 2 });
}

#[test]
fn conclusions_about_held_texts_do_not_get_worse() {
    compare("held", &Bounds { right: 94, silent: 12, wrong: 3, false_possible: 0 });
}

/// A hash of the link decides about the part, so that all texts of a thread are in one.
#[test]
fn parts_are_split_by_thread() {
    let is_held = |link: &str| {
        let hash = link
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        hash.is_multiple_of(3)
    };
    let (tune, held) = (texts("tune"), texts("held"));
    assert!(tune.len() + held.len() >= 400, "{} texts", tune.len() + held.len());
    for text in &tune {
        assert!(!is_held(&text.link), "{} belongs to `held`", text.link);
    }
    for text in &held {
        assert!(is_held(&text.link), "{} belongs to `tune`", text.link);
    }
    let links: BTreeSet<&str> = tune.iter().chain(&held).map(|text| text.link.as_str()).collect();
    assert_eq!(links.len(), tune.len() + held.len(), "a thread has two texts");
}

#[test]
fn texts_are_short_output_of_machines() {
    for text in texts("tune").iter().chain(&texts("held")) {
        let lines = text.log.lines().filter(|line| !line.trim().is_empty()).count();
        assert!((1..=14).contains(&lines), "{}: {lines} lines", text.link);
        for (folder, name) in [("/home/", "user"), ("\\Users\\", "USER")] {
            let mut after = text.log.split(folder).skip(1).map(|rest| rest.trim_start_matches('\\'));
            assert!(after.all(|rest| rest.starts_with(name)), "{}: a name after {folder}", text.link);
        }
    }
}

#[test]
fn causes_name_existing_rules_and_are_used() {
    let (rules, causes) = (RuleSet::builtin().expect("rules"), causes());
    let used: BTreeSet<String> = texts("tune").into_iter().chain(texts("held")).map(|text| text.cause).collect();
    for (name, cause) in &causes {
        assert!(used.contains(name), "{name}: no text has this cause");
        assert!(!cause.words.is_empty() && !cause.component.is_empty(), "{name}");
        assert!(!cause.healthy || cause.rules.is_empty(), "{name}: a rule for a healthy machine");
        for rule in cause.rules.iter().chain(&cause.near) {
            assert!(rules.find(rule).is_some(), "{name}: there is no rule {rule}");
        }
    }
}

#[test]
fn rules_are_not_from_held_threads() {
    let held: BTreeSet<String> = texts("held").into_iter().map(|text| text.link).collect();
    let rules = RuleSet::builtin().expect("rules");
    let named = |rule: &&roci_doctor::Rule| {
        rule.checked.as_deref() == Some("2026-11-20") && rule.sources.iter().any(|source| held.contains(source))
    };
    let from: Vec<_> = rules.rules().iter().filter(named).map(|rule| rule.id.clone()).collect();
    assert!(from.is_empty(), "{from:?}");
}
