//! Prints the results.

use crate::measure::{Implementation, Rate, measure};

/// The minimum ratio to the best baseline, for cases with a stated performance target.
pub(crate) type Target = Option<f64>;

/// Measures a case and prints it; the first implementation is ours. Returns the rates.
pub(crate) fn case(
    title: &str,
    unit: &str,
    target: Target,
    rounds: usize,
    implementations: &mut [Implementation<'_>],
) -> Vec<Rate> {
    let rates = measure(implementations, rounds);
    print(&format!("\n{title}, {unit}"));
    print(&format!("  {:<28} {:>9} {:>9}", "", "best", "median"));
    for (implementation, rate) in implementations.iter().zip(&rates) {
        print(&format!("  {:<28} {:>9.1} {:>9.1}", implementation.name, rate.best, rate.median));
    }
    let Some((ours, baselines @ [_, ..])) = rates.split_first() else { return rates };
    let ratio = |of: fn(&Rate) -> f64| of(ours) / baselines.iter().map(of).fold(0.0, f64::max);
    let (best, median) = (ratio(|rate| rate.best), ratio(|rate| rate.median));
    let verdict = match target {
        Some(target) if best >= target => format!(", target {target:.2}: reached"),
        Some(target) => format!(", target {target:.2}: MISSED"),
        None => String::new(),
    };
    print(&format!("  {:<28} {best:>8.2}x {median:>8.2}x{verdict}", "ours / best baseline"));
    rates
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
pub(crate) fn print(line: &str) {
    println!("{line}");
}
