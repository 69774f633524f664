//! The printed result.

use crate::measure::{Contestant, Rate, race};

/// The least share of the best peer that a case must reach, where the project states one.
pub(crate) type Floor = Option<f64>;

/// Runs a case and prints it; the first contestant is ours. Gives the rates.
pub(crate) fn case(
    title: &str,
    unit: &str,
    floor: Floor,
    rounds: usize,
    contestants: &mut [Contestant<'_>],
) -> Vec<Rate> {
    let rates = race(contestants, rounds);
    say(&format!("\n{title}, {unit}"));
    say(&format!("  {:<28} {:>9} {:>9}", "", "best", "median"));
    for (contestant, rate) in contestants.iter().zip(&rates) {
        say(&format!("  {:<28} {:>9.1} {:>9.1}", contestant.name, rate.best, rate.median));
    }
    let Some((ours, peers @ [_, ..])) = rates.split_first() else { return rates };
    let ratio = |of: fn(&Rate) -> f64| of(ours) / peers.iter().map(of).fold(0.0, f64::max);
    let (best, median) = (ratio(|rate| rate.best), ratio(|rate| rate.median));
    let verdict = match floor {
        Some(floor) if best >= floor => format!(", floor {floor:.2}: reached"),
        Some(floor) => format!(", floor {floor:.2}: MISSED"),
        None => String::new(),
    };
    say(&format!("  {:<28} {best:>8.2}x {median:>8.2}x{verdict}", "ours / best peer"));
    rates
}

/// Prints a line.
#[expect(clippy::print_stdout, reason = "a bench's output is its result")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
