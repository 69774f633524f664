//! Dependencies between crates go down, as docs/reference/architecture.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::{metadata, regex, report, root};

/// Dependencies as pairs of folders below `crates/`.
type Edges = BTreeSet<(String, String)>;

/// Folders of the layers, from the lowest. A folder stands for everything below it.
const LAYERS: [&[&str]; 7] = [
    &["base", "npy", "testkit", "tolerance"],
    &["amd"],
    &["hal"],
    &["kernels"],
    &["graph", "lm"],
    &["tools"],
    &["roci", "rocinante", "fuzz"],
];

fn area(folder: &str) -> &str {
    folder.split('/').next().unwrap_or(folder)
}

fn layer(folder: &str) -> Option<usize> {
    LAYERS.iter().position(|areas| areas.contains(&area(folder)))
}

/// Whether the layers alone allow a dependency.
fn is_downward(from: &str, to: &str) -> bool {
    let (Some(above), Some(below)) = (layer(from), layer(to)) else { return false };
    let beside = area(from) == area(to) || above == 0;
    match (area(from), area(to)) {
        // One driver knows no other; only `hal/drivers` names them, to register them.
        ("hal", "hal") => from == "hal/drivers" || to == "hal/core",
        ("kernels", "hal") => to == "hal/core",
        ("tools", "lm") => false,
        _ => below < above || (below == above && beside),
    }
}

/// Dependencies of the crates, without those of tests and build scripts.
fn dependencies() -> Edges {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let folder_of: BTreeMap<String, String> = packages
        .iter()
        .map(|package| (text(&package["name"]), crate::folder(package).replace("crates/", "")))
        .collect();
    let mut edges = Edges::new();
    for package in packages {
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            if let Some(to) = folder_of.get(&text(&dependency["name"])).filter(|_| dependency["kind"].is_null()) {
                edges.insert((folder_of[&text(&package["name"])].clone(), to.clone()));
            }
        }
    }
    edges
}

/// The table of exceptions on the page.
fn listed(page: &str) -> Edges {
    let row = regex(r"(?m)^\| `([a-z-]+/[a-z-]+)` \| `([a-z-]+/[a-z-]+)` \| .* \|$");
    row.captures_iter(page).map(|row| (row[1].to_owned(), row[2].to_owned())).collect()
}

#[test]
fn dependencies_that_go_up_are_those_of_the_page() {
    let page = fs::read_to_string(root().join("docs/reference/architecture.md")).expect("the page");
    let edges = dependencies();
    assert!(edges.len() > 100, "only {} dependencies", edges.len());
    let upward: Edges = edges.into_iter().filter(|(from, to)| !is_downward(from, to)).collect();
    let listed = listed(&page);
    let mut problems: Vec<_> = upward
        .difference(&listed)
        .map(|(from, to)| format!("`{from}` depends on `{to}`, and architecture.md does not list it"))
        .collect();
    problems.extend(listed.difference(&upward).map(|(from, to)| {
        format!("architecture.md lists that `{from}` depends on `{to}`; it does not, or that goes down")
    }));
    report(&problems);
}

#[test]
fn upward_dependencies_are_found() {
    for (from, to) in
        [("hal/core", "base"), ("roci", "tools/lab"), ("hal/drivers", "hal/cpu"), ("lm/serve", "lm/engine")]
    {
        assert!(is_downward(from, to), "{from} → {to}");
    }
    for (from, to) in [
        ("base", "hal/core"),
        ("amd/emu", "hal/core"),
        ("hal/cpu", "hal/vulkan"),
        ("kernels/wgsl", "hal/cpu"),
        ("graph/runtime", "lm/gguf"),
        ("lm/device", "graph/core"),
        ("tools/matrix", "lm/engine"),
        ("hal/core", "unknown/crate"),
    ] {
        assert!(!is_downward(from, to), "{from} → {to}");
    }
}
