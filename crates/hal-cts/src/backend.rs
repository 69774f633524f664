//! What a driver registers.

use std::fmt;
use std::time::Duration;

use roci_hal::{Device, Error};

/// How long anything that should happen may take, unless a backend says otherwise: long, for machines that others keep busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Something that not every backend can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Runs kernels.
    Dispatch,
    /// Survives a kernel that never ends: the device is lost, the process and other devices go on. Leave it out where a
    /// hung kernel can take the machine down.
    Hang,
    /// Notices a kernel that leaves its bindings.
    Bounds,
}

impl Tag {
    /// All of them: a backend says of each whether it has it.
    pub const ALL: &[Tag] = &[Tag::Dispatch, Tag::Hang, Tag::Bounds];
}

type Open = dyn Fn(Option<Duration>) -> Result<Device, Error> + Send + Sync;

/// A driver as the suite sees it.
pub struct Backend {
    pub(crate) name: String,
    pub(crate) open: Box<Open>,
    pub(crate) other: Option<Box<Open>>,
    pub(crate) only: Option<&'static str>,
    pub(crate) tags: Vec<Tag>,
    pub(crate) lacks: Vec<(Tag, &'static str)>,
    pub(crate) unsupported: Vec<(&'static str, &'static str)>,
    pub(crate) expected_failures: Vec<(&'static str, &'static str)>,
    pub(crate) patience: Duration,
    pub(crate) spin_groups: u32,
    pub(crate) spin_rounds: u32,
}

impl Backend {
    /// A backend without tags, and the factory that opens a fresh logical device with a limit for one command
    /// (`None`: the default).
    pub fn new(
        name: impl Into<String>,
        open: impl Fn(Option<Duration>) -> Result<Device, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            open: Box::new(open),
            other: None,
            only: None,
            tags: Vec::new(),
            lacks: Vec::new(),
            unsupported: Vec::new(),
            expected_failures: Vec::new(),
            patience: PATIENCE,
            spin_groups: 1,
            spin_rounds: 0,
        }
    }

    /// A factory for the second device, in cases of two: of another kind than the first. Otherwise both are of one kind.
    #[must_use]
    pub fn beside(mut self, open: impl Fn(Option<Duration>) -> Result<Device, Error> + Send + Sync + 'static) -> Self {
        self.other = Some(Box::new(open));
        self
    }

    /// Only the cases of this group, for a backend whose others are asked of another one.
    #[must_use]
    pub fn only(mut self, group: &'static str) -> Self {
        self.only = Some(group);
        self
    }

    /// What it can do.
    #[must_use]
    pub fn tags(mut self, tags: &[Tag]) -> Self {
        self.tags.extend_from_slice(tags);
        self
    }

    /// What it cannot do, each with the reason. A tag that is neither here nor among [`tags`](Self::tags) is a failure:
    /// a forgotten one would leave out cases without a word.
    #[must_use]
    pub fn lacks(mut self, list: &[(Tag, &'static str)]) -> Self {
        self.lacks.extend_from_slice(list);
        self
    }

    /// Cases (`group/name`) that it can never pass, each with the reason; they are not run.
    #[must_use]
    pub fn unsupported(mut self, list: &[(&'static str, &'static str)]) -> Self {
        self.unsupported.extend_from_slice(list);
        self
    }

    /// Cases (`group/name`) that it does not pass yet, each with what the fix needs; a pass is a failure.
    #[must_use]
    pub fn expected_failures(mut self, list: &[(&'static str, &'static str)]) -> Self {
        self.expected_failures.extend_from_slice(list);
        self
    }

    /// How long anything that should happen may take: longer for slow devices, a minute otherwise.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How many workgroups a kernel that never ends has: more than one where the device ends loops by itself, so that the
    /// next goes on when one is cut off.
    #[must_use]
    pub fn spin_groups(mut self, groups: u32) -> Self {
        self.spin_groups = groups;
        self
    }

    /// After how many reads of memory a kernel that "never ends" ends: for devices that see what the host writes only through
    /// a queue, and do not let a kernel go that stands in it. It should be seconds. Host code is not limited.
    #[must_use]
    pub fn spin_rounds(mut self, rounds: u32) -> Self {
        self.spin_rounds = rounds;
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").field("name", &self.name).field("tags", &self.tags).finish_non_exhaustive()
    }
}
