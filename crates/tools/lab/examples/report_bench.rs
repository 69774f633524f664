//! Measures a report on many runs: `cargo run --release -p roci-lab --example report_bench [RUNS
//! [FOLDER]]`.
//!
//! The runs have phases, metrics, output and kernel log lines; the store is a file. With FOLDER,
//! the page is kept there.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use roci_lab::executor::Stream;
use roci_lab::report::{html, markdown};
use roci_lab::store::{Event, EventKind, Finished, KernelLine, MetricValue, NewExperiment, Output, PlannedRun};
use roci_lab::{Experiment, Outcome, Report, Store};

const REPEATS: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let runs: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let folder = arguments.next().map(std::path::PathBuf::from);
    let scratch = tempfile::tempdir()?;
    let mut out = std::io::stdout();
    for (name, strategies) in [("repeated", runs / REPEATS), ("matrix", runs)] {
        let path = scratch.path().join(format!("{name}.db"));
        fill(&mut Store::open(&path)?, name, strategies, runs / strategies)?;
        let start = Instant::now();
        let report = Report::load(&Store::open(&path)?, "latest")?;
        let read = start.elapsed();
        let (text, json, page) = (markdown::render(&report), report.json(), html::render(&report));
        let all = start.elapsed();
        writeln!(
            out,
            "{runs} runs of {strategies} strategies: read and judged in {read:.2?}, with Markdown ({} kB), JSON ({} kB) and page ({} kB) {all:.2?}",
            text.len() / 1000,
            json.len() / 1000,
            page.len() / 1000
        )?;
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("{name}.html")), page)?;
        }
    }
    Ok(())
}

/// An experiment whose strategies pass, hang, crash and stay pending in turn.
fn fill(store: &mut Store, name: &str, strategies: usize, repeats: usize) -> Result<(), Box<dyn std::error::Error>> {
    let names: Vec<_> = (0..strategies).map(|index| format!("\"{index}\"")).collect();
    let toml = format!(
        "name = \"{name}\"\ncommand = [\"llama-bench\"]\n[[phase]]\nname = \"load\"\npattern = 'load'\n[[phase]]\nname = \"graph\"\n\
         pattern = 'graph'\n[[metric]]\nname = \"generation\"\npattern = '([\\d.]+) t/s'\nunit = \"t/s\"\n[baseline]\nstrategy = \"0\"\n\
         [[matrix]]\n[[matrix.axis]]\nname = \"n\"\nvalues = [{}]\n[matrix.strategy]\nenv = {{ N = \"{{{{n}}}}\" }}\n",
        names.join(", ")
    );
    let variables = BTreeMap::new();
    let experiment = Experiment::parse(name, &toml, &variables)?;
    let mut results = Vec::with_capacity(strategies * repeats);
    for (index, strategy) in experiment.strategies.iter().enumerate() {
        for repeat in 0..repeats {
            let planned =
                PlannedRun { strategy: strategy.name.clone(), repeat: repeat as u32 + 1, executor: "local".into() };
            results.push((planned, finished(index, repeat)));
        }
    }
    let new = NewExperiment { name, toml: &toml, variables: &variables, source: "run", snapshot: None };
    store.import(&new, &results)?;
    Ok(())
}

fn finished(index: usize, repeat: usize) -> Finished {
    let outcome = match index % 5 {
        1 => Outcome::Hang { phase: Some("graph".into()), why: "no output".into(), stack: vec![], survivors: vec![] },
        2 => Outcome::Crash {
            phase: Some("load".into()),
            signal: Some(11),
            code: None,
            fault: Some("a fault".into()),
            last_line: None,
        },
        3 => Outcome::Pending { changes: vec!["boot with amdgpu.cwsr_enable=0".into()] },
        _ => Outcome::Pass,
    };
    let value = 60.0 + (index % 7) as f64 + ((index * 31 + repeat * 17) % 10) as f64 / 10.0;
    let phase = |at: i64, name: &str| Event { at, kind: EventKind::Phase, text: name.into() };
    let line = |number: usize| KernelLine {
        line: format!("[{number}.5] amdgpu: ring gfx timeout, seq={number}"),
        finding: Some("a ring hangs".into()),
    };
    let output = |at: i64| Output {
        stream: Stream::Out,
        at,
        bytes: b"a line of output that says where it is\n".repeat(20),
        omitted: 0,
    };
    Finished {
        started: Some(1_766_916_000_000),
        ended: 1_766_916_000_000 + 5000 + 100 * (index % 50) as i64,
        events: vec![phase(500, "load"), phase(2000 + 10 * (index % 90) as i64, "graph")],
        metrics: vec![MetricValue { name: "generation".into(), value, unit: "t/s".into() }],
        output: (0..5).map(|at| output(at * 500)).collect(),
        kernel_lines: if matches!(outcome, Outcome::Hang { .. }) { vec![line(index), line(repeat)] } else { vec![] },
        outcome,
    }
}
