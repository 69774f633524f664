//! Plots as SVG that stands within a page: colours are the page's, by class, so that they follow light and dark.

use std::fmt::Write;

use super::series::Series;
use super::text::{duration, html, number, shortened};

/// More rows than this are not drawn: nobody reads them, and the page would be slow.
pub(super) const MOST_ROWS: usize = 60;

const WIDTH: f64 = 760.0;
/// Where the drawing starts, after the names.
const LEFT: f64 = 200.0;
/// Where it ends, before the figures.
const RIGHT: f64 = 610.0;
const ROW: f64 = 26.0;
const TOP: f64 = 8.0;
/// Names longer than what lies left of the drawing are cut; the whole name is in the tooltip.
const NAME: usize = 28;
/// Colours of phases that the page has, `p0` and on.
const COLOURS: usize = 8;

/// One series of a metric.
pub(super) struct Bar<'a> {
    /// Whose it is.
    pub(super) name: &'a str,
    /// The figures.
    pub(super) series: &'a Series,
    /// Whether the others are compared with it.
    pub(super) is_baseline: bool,
}

/// One run along time.
pub(super) struct Track<'a> {
    /// Whose it is.
    pub(super) name: &'a str,
    /// When each phase began, in seconds since the start, in order; phases are numbers into the list of names.
    pub(super) phases: Vec<(f64, usize)>,
    /// When it ended.
    pub(super) end: f64,
    /// How it ended, in a word.
    pub(super) outcome: &'a str,
    /// Whether that was bad.
    pub(super) is_bad: bool,
}

/// A metric by strategy: medians as bars, least to most as whiskers, the baseline as a line.
pub(super) fn bars(title: &str, unit: &str, rows: &[Bar]) -> String {
    let rows = &rows[..rows.len().min(MOST_ROWS)];
    let most = rows.iter().map(|row| row.series.most).fold(0.0, f64::max);
    let most = nice(most);
    let at = |value: f64| LEFT + (RIGHT - LEFT) * share(value, most);
    let height = TOP + ROW * rows.len() as f64 + 26.0;
    let mut svg = open(title, height);
    axis(&mut svg, most, height, unit);
    for (index, row) in rows.iter().enumerate() {
        let (top, series) = (TOP + ROW * index as f64, row.series);
        let middle = top + ROW / 2.0;
        let class = if row.is_baseline { "bar base" } else { "bar" };
        let noise = series.noise.map_or("unknown".to_owned(), |noise| format!("± {}", number(noise)));
        let tip = format!(
            "{}: median {} {unit} of {} ({} to {}), noise {noise}",
            row.name,
            number(series.median),
            series.count,
            number(series.least),
            number(series.most)
        );
        let _ = write!(svg, "<g><title>{}</title>", html(&tip));
        name(&mut svg, row.name, middle);
        let (y, tall, wide) = (top + 4.0, ROW - 8.0, at(series.median) - LEFT);
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{wide:.1}\" height=\"{tall}\" rx=\"2\"/>"
        );
        if series.most > series.least {
            let (from, to) = (at(series.least), at(series.most));
            let (up, down) = (middle - 4.0, middle + 4.0);
            let _ = write!(
                svg,
                "<path class=\"spread\" d=\"M{from:.1} {middle}H{to:.1}M{from:.1} {up}V{down}M{to:.1} {up}V{down}\"/>"
            );
        }
        let said = format!("{} {unit}", number(series.median));
        let _ = writeln!(svg, "{}</g>", figure(&said, middle, "figure"));
    }
    if let Some(base) = rows.iter().find(|row| row.is_baseline) {
        let (x, bottom) = (at(base.series.median), height - 26.0);
        let _ = writeln!(svg, "<path class=\"mark\" d=\"M{x:.1} {TOP}V{bottom}\"/>");
    }
    svg.push_str("</svg>\n");
    svg
}

/// When runs were in which phase, and how they ended.
pub(super) fn time_line(title: &str, phases: &[&str], tracks: &[Track]) -> String {
    let tracks = &tracks[..tracks.len().min(MOST_ROWS)];
    let most = nice(tracks.iter().map(|track| track.end).fold(0.0, f64::max));
    let at = |value: f64| LEFT + (RIGHT - LEFT) * share(value, most);
    let height = TOP + ROW * tracks.len() as f64 + 26.0;
    let mut svg = open(title, height);
    axis(&mut svg, most, height, "s");
    for (index, track) in tracks.iter().enumerate() {
        let top = TOP + ROW * index as f64;
        let middle = top + ROW / 2.0;
        svg.push_str("<g>");
        name(&mut svg, track.name, middle);
        let started = track.phases.first().map_or(track.end, |&(start, _)| start);
        piece(&mut svg, "before", "before the first phase", (0.0, started), (at(0.0), at(started)), top);
        for (index, &(start, phase)) in track.phases.iter().enumerate() {
            let end = track.phases.get(index + 1).map_or(track.end, |&(next, _)| next);
            let called = phases.get(phase).copied().unwrap_or_default();
            let class = format!("p{}", phase % COLOURS);
            piece(&mut svg, &class, called, (start, end), (at(start), at(end)), top);
        }
        let class = if track.is_bad { "figure bad-fill" } else { "figure good-fill" };
        let said = format!("{} {}", track.outcome, duration(track.end));
        let _ = writeln!(svg, "{}</g>", figure(&said, middle, class));
    }
    svg.push_str("</svg>\n");
    svg
}

/// The names of phases beside their colours.
pub(super) fn legend(phases: &[&str]) -> String {
    let mut made = String::from("<ul class=\"legend\">");
    for (index, phase) in phases.iter().enumerate() {
        let _ = write!(
            made,
            "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"p{}\" width=\"12\" height=\"12\" rx=\"2\"/></svg> {}</li>",
            index % COLOURS,
            html(phase)
        );
    }
    made.push_str("</ul>\n");
    made
}

fn open(title: &str, height: f64) -> String {
    let title = html(title);
    format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>\n"
    )
}

/// Upright lines at round values, with their figures below.
fn axis(svg: &mut String, most: f64, height: f64, unit: &str) {
    let bottom = height - 26.0;
    for part in 0..=4 {
        let value = most * f64::from(part) / 4.0;
        let x = LEFT + (RIGHT - LEFT) * f64::from(part) / 4.0;
        let unit = if part == 4 { format!(" {unit}") } else { String::new() };
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{x} {TOP}V{bottom}\"/><text class=\"tick\" x=\"{x}\" y=\"{}\">{}{}</text>",
            bottom + 18.0,
            number(value),
            html(&shortened(&unit, 12))
        );
    }
}

fn name(svg: &mut String, name: &str, middle: f64) {
    let (x, y) = (LEFT - 8.0, middle + 4.0);
    let _ = write!(svg, "<text class=\"name\" x=\"{x}\" y=\"{y}\">{}</text>", html(&shortened(name, NAME)));
}

fn figure(text: &str, middle: f64, class: &str) -> String {
    format!(
        "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
        RIGHT + 8.0,
        middle + 4.0,
        html(&shortened(text, 24))
    )
}

fn piece(svg: &mut String, class: &str, called: &str, (start, end): (f64, f64), (from, to): (f64, f64), top: f64) {
    if end > start {
        let tip = html(&format!("{called}: {} from {}", duration(end - start), duration(start)));
        let (y, tall, wide) = (top + 5.0, ROW - 10.0, (to - from).max(1.0));
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{y}\" width=\"{wide:.1}\" height=\"{tall}\"><title>{tip}</title></rect>"
        );
    }
}

/// Where `value` lies between nothing and `most`; what is below nothing, or no number, lies at nothing.
fn share(value: f64, most: f64) -> f64 {
    let share = value / most;
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// The next round number that four parts give round ones of.
fn nice(most: f64) -> f64 {
    if !(most.is_finite() && most > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(most.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0];
    let found = steps.iter().map(|step| step * power).find(|&step| step >= most);
    found.filter(|step| step.is_finite() && *step > 0.0).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers_that_hold_all() {
        assert_eq!([721.0, 63.0, 1.0, 0.03, 0.0, f64::NAN].map(nice), [800.0, 80.0, 1.0, 0.032, 1.0, 1.0]);
        for value in [1e-300, 7.77e12, 9.99, f64::MAX, 5e-324] {
            assert!(nice(value) >= value, "{value}");
        }
    }

    #[test]
    fn bars_show_median_and_spread() {
        let (base, fast) = (Series::of([4.0]).expect("one"), Series::of([7.0, 8.0, 8.0]).expect("three"));
        let rows = [
            Bar { name: "vulkan", series: &base, is_baseline: true },
            Bar { name: "<rocm>", series: &fast, is_baseline: false },
        ];
        let svg = bars("t/s", "t/s", &rows);
        assert!(svg.contains("<rect class=\"bar base\" x=\"200\" y=\"12\" width=\"205.0\""), "{svg}");
        assert!(svg.contains("<rect class=\"bar\" x=\"200\" y=\"38\" width=\"410.0\""), "{svg}");
        assert!(svg.contains("d=\"M558.8 47H610.0"), "{svg}");
        assert!(svg.contains("&lt;rocm&gt;: median 8.00 t/s of 3 (7.00 to 8.00), noise ± 0.500"), "{svg}");
        assert!(!svg.contains("<rocm>"));
        assert_eq!(svg.matches("class=\"spread\"").count(), 1);
    }

    #[test]
    fn a_time_line_has_a_piece_for_each_phase() {
        let tracks = [
            Track { name: "a", phases: vec![(1.0, 0), (3.0, 1)], end: 10.0, outcome: "HANG", is_bad: true },
            Track { name: "b", phases: vec![], end: 0.0, outcome: "PENDING", is_bad: false },
        ];
        let svg = time_line("phases", &["load", "graph_reserve"], &tracks);
        assert!(svg.contains("class=\"p0\" x=\"241.0\" y=\"13\" width=\"82.0\""), "{svg}");
        assert!(svg.contains("<title>graph_reserve: 7.00 s from 3.00 s</title>"), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(svg.contains("HANG 10.0 s"));
        assert!(legend(&["<x>"]).contains("&lt;x&gt;"));
    }

    #[test]
    fn values_that_are_no_lengths_draw_nothing_odd() {
        let odd = Series { count: 2, median: -5.0, least: f64::NEG_INFINITY, most: f64::NAN, noise: None };
        let svg = bars("", "", &[Bar { name: "", series: &odd, is_baseline: true }]);
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("\"-"), "{svg}");
    }
}
