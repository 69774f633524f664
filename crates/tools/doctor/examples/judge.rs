//! Compares the doctor's conclusions with the known causes of texts from public issue threads.
//!
//!     cargo run -p roci-doctor --example judge [-- tune|held] [-v]
//!
//! `-v` lists the texts of the part `tune` that are not right. Texts of `held` are listed with
//! `--show-held` only: rules must not be written from them.

#[path = "../tests/evidence/mod.rs"]
mod evidence;

use std::io::{self, Write};

use evidence::{Judgement, Outcome, Text, counts, judged};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let parts: Vec<&str> = ["tune", "held"].into_iter().filter(|part| has(part)).collect();
    let parts = if parts.is_empty() { vec!["tune", "held"] } else { parts };
    let mut out = io::stdout().lock();
    writeln!(out, "part  texts  right        generic      silent       wrong        all-clear  false under Possible")?;
    for part in &parts {
        let judged = judged(part);
        let counts = counts(&judged);
        let share = |count: usize| format!("{count:3} ({:4.1} %)", 100.0 * count as f64 / counts.texts.max(1) as f64);
        let possible = format!("{} of {}", counts.false_possible, counts.possible);
        let columns = [counts.right, counts.generic, counts.silent, counts.wrong].map(share).join("  ");
        writeln!(out, "{part:4}  {:5}  {columns}  {:9}  {possible}", counts.texts, counts.all_clear)?;
        if has("-v") && (*part == "tune" || has("--show-held")) {
            list(&mut out, &judged)?;
        }
    }
    Ok(())
}

fn list(out: &mut impl Write, judged: &[(Text, Judgement)]) -> io::Result<()> {
    for outcome in [Outcome::AllClear, Outcome::Wrong, Outcome::Silent, Outcome::Generic] {
        for (text, judgement) in judged.iter().filter(|(_, judgement)| judgement.outcome == outcome) {
            writeln!(out, "{outcome:?}: {} {} ({})", text.cause, text.link, text.chip)?;
            writeln!(out, "    {} {:?} possible {:?}", judgement.verdict, judgement.causes, judgement.possible)?;
        }
    }
    Ok(())
}
