//! The matrix as one page that needs nothing else: no other file, no network.

use super::date;
use super::report::{DeviceReport, ProbeReport, Report};

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/filter.js");

/// The page.
pub(super) fn render(report: &Report) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>What works where</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>What works where</h1>\n"
    );
    page.push_str(&format!(
        "<p class=\"faint\">Made by <code>roci matrix</code> {} on {}. Every result was compared with a reference in \
         double precision; probes run in processes of their own that may crash or hang.{}</p>\n",
        escaped(report.roci),
        date::utc(report.started),
        if report.interrupted { " This run was interrupted." } else { "" },
    ));
    devices(report, &mut page);
    grid(report, &mut page);
    reasons(report, &mut page);
    page.push_str(&format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"));
    page
}

fn devices(report: &Report, page: &mut String) {
    page.push_str("<ul class=\"devices\">\n");
    for device in &report.devices {
        let says = |part: &Option<String>| escaped(part.as_deref().unwrap_or_default());
        page.push_str(&format!("<li><strong>{}</strong>", escaped(&device.label)));
        match &device.error {
            Some(error) => page.push_str(&format!("<span class=\"bad-text\">not usable</span>: {}", escaped(error))),
            None => {
                let counts = report.counts(device);
                let counts: Vec<_> =
                    counts.iter().map(|(outcome, count)| format!("{count} {}", outcome.word())).collect();
                let (name, kind, driver) = (says(&device.name), says(&device.kind), says(&device.driver));
                page.push_str(&format!(
                    "{name}, {kind}<br><span class=\"faint\">{driver}</span><br>{}",
                    counts.join(", ")
                ));
            }
        }
        page.push_str("</li>\n");
    }
    page.push_str("</ul>\n");
}

fn grid(report: &Report, page: &mut String) {
    let used: Vec<_> = report.devices.iter().filter(|device| device.error.is_none()).collect();
    if used.is_empty() {
        return;
    }
    page.push_str(
        "<div class=\"bar\"><input type=\"search\" placeholder=\"Filter: conv2d, hangs, f16…\" aria-label=\"Filter\">\
         <label><input type=\"checkbox\"> only what fails</label> <span id=\"shown\" class=\"faint\"></span></div>\n\
         <div class=\"scroll\"><table>\n<thead><tr><th>Operation</th>",
    );
    for device in &used {
        page.push_str(&format!("<th>{}</th>", escaped(&device.label)));
    }
    page.push_str("</tr></thead>\n");
    for (group, probes) in report.groups() {
        let across = used.len();
        page.push_str(&format!(
            "<tbody>\n<tr class=\"group\"><th>{}</th><th colspan=\"{across}\"></th></tr>\n",
            escaped(group)
        ));
        for probe in probes {
            row(report, &used, group, probe, page);
        }
        page.push_str("</tbody>\n");
    }
    page.push_str("</table></div>\n");
}

fn row(report: &Report, devices: &[&DeviceReport], group: &str, probe: &ProbeReport, page: &mut String) {
    let found: Vec<_> = devices.iter().map(|device| report.finding(device, probe)).collect();
    let words: Vec<_> = found.iter().flatten().map(|finding| finding.verdict.outcome.word()).collect();
    let bad = found.iter().flatten().any(|finding| finding.verdict.outcome.is_bad());
    let text = format!("{group} {} {}", probe.name, words.join(" ")).to_lowercase();
    page.push_str(&format!(
        "<tr data-text=\"{}\" data-bad=\"{}\"><th>{}</th>",
        escaped(&text),
        u8::from(bad),
        escaped(&probe.name)
    ));
    for finding in found {
        let Some(finding) = finding else {
            page.push_str("<td></td>");
            continue;
        };
        let verdict = &finding.verdict;
        let detail = verdict.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        let title = format!("{}{detail} ({:.0} ms)", verdict.outcome.word(), finding.seconds * 1e3);
        let (word, mark) = (verdict.outcome.word(), verdict.mark().to_lowercase());
        page.push_str(&format!("<td class=\"{word}\" title=\"{}\"><span>{mark}</span></td>", escaped(&title)));
    }
    page.push_str("</tr>\n");
}

fn reasons(report: &Report, page: &mut String) {
    let label = |uri: &str| {
        let found = report.devices.iter().find(|device| device.uri == uri);
        escaped(found.map_or(uri, |device| device.label.as_str()))
    };
    let failures = report.failures().map(|(device, finding)| {
        let detail = escaped(finding.verdict.detail.as_deref().unwrap_or_default());
        let (label, probe, word) = (escaped(&device.label), escaped(&finding.probe), finding.verdict.outcome.word());
        format!("<li>{label}, {probe}: <span class=\"bad-text\">{word}</span>, {detail}</li>\n")
    });
    list("Failures", &failures.collect::<String>(), page);
    let changes = report.changes.iter();
    let changes =
        changes.map(|change| format!("<li>{}, {}</li>\n", label(&change.device), escaped(&change.describe())));
    list("Changes since the last run", &changes.collect::<String>(), page);
    let refusals = report.refusals().into_iter().map(|(label, reason, probes)| {
        let (label, probes) = (escaped(&label), escaped(&probes.join("; ")));
        format!("<li>{label}: {probes} <span class=\"faint\">({})</span></li>\n", escaped(&reason))
    });
    list("Not supported", &refusals.collect::<String>(), page);
    if report.results.iter().any(|finding| finding.verdict.mark().ends_with('*')) {
        page.push_str("<p class=\"faint\">ok*: right, without a kernel of its own.</p>\n");
    }
}

fn list(title: &str, entries: &str, page: &mut String) {
    if !entries.is_empty() {
        page.push_str(&format!("<h2>{title}</h2>\n<ul>\n{entries}</ul>\n"));
    }
}

/// Text that means itself, in attributes too.
fn escaped(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => made.push_str("&amp;"),
            '<' => made.push_str("&lt;"),
            '>' => made.push_str("&gt;"),
            '"' => made.push_str("&quot;"),
            '\'' => made.push_str("&#39;"),
            _ => made.push(letter),
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::matrix::report::example;

    #[test]
    fn nothing_that_a_driver_says_becomes_markup() {
        assert_eq!(escaped("<a href='x'>\"&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;");
        let page = render(&example());
        for raw in ["<nan>", "<b>", "Card <1>", "Mesa & 25", "\"two\""] {
            assert!(!page.contains(raw), "{raw}");
        }
        assert!(page.contains(
            "<td class=\"wrong\" title=\"wrong: got &lt;nan&gt; | want 1 (250 ms)\"><span>wrong</span></td>"
        ));
        assert!(page.contains("<tr data-text=\"products mm works hangs\" data-bad=\"1\"><th>mm</th>"));
        assert!(page.contains("<li>vulkan:0, mm: works -&gt; hangs (before: Mesa 24)</li>"));
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let page = render(&example());
        for word in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains("prefers-color-scheme: dark") && page.contains("width=device-width"));
    }
}
