//! Device nodes: presence, owner, and permissions of this user. Opening `/dev/kfd` would create a
//! KFD process, so permissions are checked instead.

use std::os::unix::fs::MetadataExt as _;

use serde::{Deserialize, Serialize};

use crate::root::Root;

use super::machine::groups;

/// Device nodes.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Nodes {
    kfd: Option<DeviceNode>,
    render: Vec<DeviceNode>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct DeviceNode {
    is: String,
    group: String,
    mode: String,
}

/// Whether a card's render node is `usable`, `forbidden` or `missing`.
pub(super) fn render_state(root: &Root, name: &str) -> String {
    node(root, &format!("/dev/dri/{name}")).map_or_else(|| "missing".to_owned(), |node| node.is)
}

impl Nodes {
    pub(super) fn gather(root: &Root) -> Self {
        let render = root.list("/dev/dri").into_iter().filter(|name| name.starts_with("renderD"));
        Self {
            kfd: node(root, "/dev/kfd"),
            render: render.filter_map(|name| node(root, &format!("/dev/dri/{name}"))).collect(),
        }
    }
}

fn node(root: &Root, path: &str) -> Option<DeviceNode> {
    let place = root.path(path);
    let metadata = std::fs::metadata(&place).ok()?;
    let usable = rustix::fs::access(&place, rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK).is_ok();
    let number = metadata.gid().to_string();
    let name = groups(root).into_iter().find(|(_, known)| *known == number).map(|(name, _)| name);
    Some(DeviceNode {
        is: if usable { "usable" } else { "forbidden" }.to_owned(),
        group: name.unwrap_or(number),
        mode: format!("{:04o}", metadata.mode() & 0o7777),
    })
}
