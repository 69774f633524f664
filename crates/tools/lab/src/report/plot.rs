//! Charts as SVG inside a page. Positions and labels are computed here; `page/bars.svg.jinja` and
//! `page/timeline.svg.jinja` draw them with CSS classes, so that colors follow the page's light or
//! dark theme.

use serde::Serialize;

use super::series::Series;
use super::text::{duration, number, shortened};

/// Maximum number of rows in a chart. More would make the page slow.
const MAX_ROWS: usize = 60;

const WIDTH: f64 = 760.0;
/// Left edge of the plot area, right of the row names.
const LEFT: f64 = 200.0;
/// Right edge of the plot area, left of the row values.
const RIGHT: f64 = 610.0;
const ROW_HEIGHT: f64 = 26.0;
const TOP: f64 = 8.0;
/// Characters of a row name that fit left of the plot area; the tooltip has the whole name.
const MAX_NAME: usize = 28;
/// Characters that fit right of the plot area.
const MAX_VALUE: usize = 24;
/// Colors of phases in the style sheet, `p0` to `p7`.
const PHASE_COLORS: usize = 8;

/// The measurements of a strategy or of the baseline for one metric.
pub(super) struct MetricBar<'a> {
    /// Name of the strategy, or label of the baseline.
    pub(super) name: &'a str,
    /// Its measurements.
    pub(super) series: &'a Series,
    /// Whether the others are compared with it.
    pub(super) is_baseline: bool,
}

/// The phases of one run over time.
pub(super) struct PhaseTrack<'a> {
    /// Name of the strategy.
    pub(super) name: &'a str,
    /// Start of each phase in seconds since the start of the run, in order, with the phase's index.
    pub(super) phases: Vec<(f64, usize)>,
    /// End of the run, in seconds.
    pub(super) end: f64,
    /// How the run ended, in one word.
    pub(super) outcome: &'a str,
    /// Whether the run failed.
    pub(super) is_bad: bool,
}

/// Layout of a chart that both kinds share.
#[derive(Serialize)]
struct Frame {
    title: String,
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    ticks: Vec<Tick>,
    /// Rows drawn.
    shown: usize,
    /// Rows left out because of [`MAX_ROWS`].
    omitted: usize,
    /// Value at the right edge.
    #[serde(skip)]
    max: f64,
}

/// A vertical grid line at a round value.
#[derive(Serialize)]
struct Tick {
    x: f64,
    label: String,
}

/// A metric by strategy: medians as bars, minimum to maximum as whiskers, the baseline as a line.
#[derive(Serialize)]
pub(super) struct BarChart {
    #[serde(flatten)]
    frame: Frame,
    higher_is_better: bool,
    rows: Vec<BarRow>,
    /// Position of the baseline's median.
    baseline: Option<f64>,
}

#[derive(Serialize)]
struct BarRow {
    name: String,
    value: String,
    tooltip: String,
    middle: f64,
    is_baseline: bool,
    length: f64,
    /// Positions of the minimum and the maximum, if they differ.
    range: Option<(f64, f64)>,
}

/// The phases of runs over time, and how the runs ended.
#[derive(Serialize)]
pub(super) struct Timeline {
    #[serde(flatten)]
    frame: Frame,
    phases: Vec<LegendEntry>,
    rows: Vec<TimelineRow>,
}

#[derive(Serialize)]
struct LegendEntry {
    class: String,
    name: String,
}

#[derive(Serialize)]
struct TimelineRow {
    name: String,
    value: String,
    middle: f64,
    is_bad: bool,
    segments: Vec<Segment>,
}

#[derive(Serialize)]
struct Segment {
    class: String,
    x: f64,
    width: f64,
    tooltip: String,
}

impl Frame {
    /// A frame for `count` rows whose values go up to `max`.
    fn new(title: &str, unit: &str, count: usize, max: f64) -> Self {
        let (shown, max) = (count.min(MAX_ROWS), round_up(max));
        let height = TOP + ROW_HEIGHT * shown as f64 + 26.0;
        let ticks = (0..=4).map(|quarter| {
            let share = f64::from(quarter) / 4.0;
            let unit = if quarter == 4 { format!(" {unit}") } else { String::new() };
            let label = format!("{}{}", number(max * share), shortened(&unit, 12));
            Tick { x: tenths(LEFT + (RIGHT - LEFT) * share), label }
        });
        Self {
            title: title.to_owned(),
            width: WIDTH,
            height,
            left: LEFT,
            right: RIGHT,
            top: TOP,
            bottom: height - 26.0,
            ticks: ticks.collect(),
            shown,
            omitted: count - shown,
            max,
        }
    }

    /// Horizontal position of a value. Negative values and NaN are at the left edge.
    fn x(&self, value: f64) -> f64 {
        let share = value / self.max;
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        tenths(LEFT + (RIGHT - LEFT) * share)
    }
}

/// Vertical center of a row.
fn middle(row: usize) -> f64 {
    TOP + ROW_HEIGHT * row as f64 + ROW_HEIGHT / 2.0
}

impl BarChart {
    pub(super) fn new(title: &str, unit: &str, higher_is_better: bool, bars: &[MetricBar]) -> Self {
        let visible = &bars[..bars.len().min(MAX_ROWS)];
        let max = visible.iter().map(|bar| bar.series.max).fold(0.0, f64::max);
        let frame = Frame::new(title, unit, bars.len(), max);
        let row = |(index, bar): (usize, &MetricBar)| {
            let series = bar.series;
            let noise = series.noise.map_or("unknown".to_owned(), |noise| format!("± {}", number(noise)));
            let tooltip = format!(
                "{}: median {} {unit} of {} ({} to {}), noise {noise}",
                bar.name,
                number(series.median),
                series.count,
                number(series.min),
                number(series.max)
            );
            BarRow {
                name: shortened(bar.name, MAX_NAME),
                value: shortened(&format!("{} {unit}", number(series.median)), MAX_VALUE),
                tooltip,
                middle: middle(index),
                is_baseline: bar.is_baseline,
                length: tenths(frame.x(series.median) - LEFT),
                range: (series.max > series.min).then(|| (frame.x(series.min), frame.x(series.max))),
            }
        };
        let rows = visible.iter().enumerate().map(row).collect();
        let baseline = visible.iter().find(|bar| bar.is_baseline).map(|bar| frame.x(bar.series.median));
        Self { frame, higher_is_better, rows, baseline }
    }
}

impl Timeline {
    pub(super) fn new(title: &str, phases: &[&str], tracks: &[PhaseTrack]) -> Self {
        let visible = &tracks[..tracks.len().min(MAX_ROWS)];
        let max = visible.iter().map(|track| track.end).fold(0.0, f64::max);
        let frame = Frame::new(title, "s", tracks.len(), max);
        let class = |phase: usize| format!("p{}", phase % PHASE_COLORS);
        let segment = |class: &str, phase: &str, start: f64, end: f64| {
            let (from, to) = (frame.x(start), frame.x(end));
            let tooltip = format!("{phase}: {} from {}", duration(end - start), duration(start));
            (end > start).then(|| Segment {
                class: class.to_owned(),
                x: from,
                width: tenths((to - from).max(1.0)),
                tooltip,
            })
        };
        let row = |(index, track): (usize, &PhaseTrack)| {
            let started = track.phases.first().map_or(track.end, |&(start, _)| start);
            let mut segments: Vec<_> = segment("before", "before the first phase", 0.0, started).into_iter().collect();
            for (index, &(start, phase)) in track.phases.iter().enumerate() {
                let end = track.phases.get(index + 1).map_or(track.end, |&(next, _)| next);
                let name = phases.get(phase).copied().unwrap_or_default();
                segments.extend(segment(&class(phase), name, start, end));
            }
            TimelineRow {
                name: shortened(track.name, MAX_NAME),
                value: shortened(&format!("{} {}", track.outcome, duration(track.end)), MAX_VALUE),
                middle: middle(index),
                is_bad: track.is_bad,
                segments,
            }
        };
        let rows = visible.iter().enumerate().map(row).collect();
        let entry = |(index, phase): (usize, &&str)| LegendEntry { class: class(index), name: (*phase).to_owned() };
        Self { phases: phases.iter().enumerate().map(entry).collect(), rows, frame }
    }
}

/// Rounded to tenths of a pixel.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The next round number whose quarters are round as well.
fn round_up(max: f64) -> f64 {
    if !(max.is_finite() && max > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(max.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0];
    let found = steps.iter().map(|step| step * power).find(|&step| step >= max);
    found.filter(|step| step.is_finite() && *step > 0.0).unwrap_or(max)
}

#[cfg(test)]
mod tests {
    use super::super::html::render_template;
    use super::*;

    #[derive(Serialize)]
    struct Context<T> {
        chart: T,
    }

    fn bars(bars: &[MetricBar]) -> String {
        render_template("bars.svg.jinja", Context { chart: BarChart::new("t/s", "t/s", true, bars) })
    }

    #[test]
    fn axes_end_at_round_numbers_not_below_the_maximum() {
        assert_eq!([721.0, 63.0, 1.0, 0.03, 0.0, f64::NAN].map(round_up), [800.0, 80.0, 1.0, 0.032, 1.0, 1.0]);
        for value in [1e-300, 7.77e12, 9.99, f64::MAX, 5e-324] {
            assert!(round_up(value) >= value, "{value}");
        }
    }

    #[test]
    fn bars_show_median_and_range() {
        let (base, fast) = (Series::of([4.0]).expect("one"), Series::of([7.0, 8.0, 8.0]).expect("three"));
        let rows = [
            MetricBar { name: "vulkan", series: &base, is_baseline: true },
            MetricBar { name: "<rocm>", series: &fast, is_baseline: false },
        ];
        let svg = bars(&rows);
        assert!(svg.contains("<rect class=\"bar base\" x=\"200\" y=\"12\" width=\"205\""), "{svg}");
        assert!(svg.contains("<rect class=\"bar\" x=\"200\" y=\"38\" width=\"410\""), "{svg}");
        assert!(svg.contains("d=\"M558.8 47H610M"), "{svg}");
        assert!(svg.contains("&lt;rocm&gt;: median 8.00 t/s of 3 (7.00 to 8.00), noise ± 0.500"), "{svg}");
        assert!(!svg.contains("<rocm>"));
        assert_eq!(svg.matches("class=\"spread\"").count(), 1);
    }

    #[test]
    fn a_timeline_has_a_segment_for_each_phase() {
        let tracks = [
            PhaseTrack { name: "a", phases: vec![(1.0, 0), (3.0, 1)], end: 10.0, outcome: "HANG", is_bad: true },
            PhaseTrack { name: "b", phases: vec![], end: 0.0, outcome: "PENDING", is_bad: false },
        ];
        let timeline = Timeline::new("phases", &["load", "graph_reserve"], &tracks);
        let svg = render_template("timeline.svg.jinja", Context { chart: timeline });
        assert!(svg.contains("class=\"p0\" x=\"241\" y=\"13\" width=\"82\""), "{svg}");
        assert!(svg.contains("<title>graph_reserve: 7.00 s from 3.00 s</title>"), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(svg.contains("HANG 10.0 s"));
    }

    #[test]
    fn non_finite_values_are_not_drawn() {
        let odd = Series { count: 2, median: -5.0, min: f64::NEG_INFINITY, max: f64::NAN, noise: None };
        let svg = bars(&[MetricBar { name: "", series: &odd, is_baseline: true }]);
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("\"-"), "{svg}");
    }
}
