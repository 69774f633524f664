//! Registration of a driver with the suite.

use std::fmt;
use std::time::Duration;

use roci_hal::{Device, Error};

/// Default timeout for one event, generous enough for a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A capability that not every backend has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Executes kernels.
    Dispatch,
    /// Survives a kernel that never ends: the device is lost, but the process and other devices
    /// continue. Leave it out if a hung kernel can take the machine down.
    Hang,
    /// Detects out-of-bounds accesses of a kernel.
    Bounds,
}

impl Tag {
    /// All tags. A backend must declare for each whether it has it.
    pub const ALL: &[Tag] = &[Tag::Dispatch, Tag::Hang, Tag::Bounds];
}

type Open = dyn Fn(Option<Duration>) -> Result<Device, Error> + Send + Sync;

/// A driver under test.
pub struct Backend {
    pub(crate) name: String,
    pub(crate) open: Box<Open>,
    pub(crate) second: Option<Box<Open>>,
    pub(crate) only: Option<&'static str>,
    pub(crate) tags: Vec<Tag>,
    pub(crate) missing: Vec<(Tag, &'static str)>,
    pub(crate) unsupported: Vec<(&'static str, &'static str)>,
    pub(crate) expected_failures: Vec<(&'static str, &'static str)>,
    pub(crate) timeout: Duration,
    pub(crate) spin_groups: u32,
    pub(crate) spin_rounds: u32,
}

impl Backend {
    /// A backend without tags. `open` opens a fresh logical device with a timeout per command
    /// (`None`: the driver's default).
    pub fn new(
        name: impl Into<String>,
        open: impl Fn(Option<Duration>) -> Result<Device, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            open: Box::new(open),
            second: None,
            only: None,
            tags: Vec::new(),
            missing: Vec::new(),
            unsupported: Vec::new(),
            expected_failures: Vec::new(),
            timeout: TIMEOUT,
            spin_groups: 1,
            spin_rounds: 0,
        }
    }

    /// Opens the second device of cases that need two. By default, `open` opens both.
    #[must_use]
    pub fn second_device(
        mut self,
        open: impl Fn(Option<Duration>) -> Result<Device, Error> + Send + Sync + 'static,
    ) -> Self {
        self.second = Some(Box::new(open));
        self
    }

    /// Runs only the cases of this group; another backend covers the rest.
    #[must_use]
    pub fn only(mut self, group: &'static str) -> Self {
        self.only = Some(group);
        self
    }

    /// Declares capabilities.
    #[must_use]
    pub fn tags(mut self, tags: &[Tag]) -> Self {
        self.tags.extend_from_slice(tags);
        self
    }

    /// Declares missing capabilities, each with the reason. A tag that is neither here nor in
    /// [`tags`](Self::tags) is a failure: otherwise a forgotten tag would silently skip cases.
    #[must_use]
    pub fn missing(mut self, list: &[(Tag, &'static str)]) -> Self {
        self.missing.extend_from_slice(list);
        self
    }

    /// Cases (`group/name`) that the backend can never pass, each with the reason. They are not
    /// run.
    #[must_use]
    pub fn unsupported(mut self, list: &[(&'static str, &'static str)]) -> Self {
        self.unsupported.extend_from_slice(list);
        self
    }

    /// Cases (`group/name`) that the backend does not pass yet, each with what the fix needs. A
    /// pass is a failure.
    #[must_use]
    pub fn expected_failures(mut self, list: &[(&'static str, &'static str)]) -> Self {
        self.expected_failures.extend_from_slice(list);
        self
    }

    /// Timeout for one event, 60 seconds by default. Raise it for slow devices.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Number of workgroups of a spinning kernel, 1 by default. Use more if the device terminates
    /// infinite loops by itself: the next workgroup then continues when one is terminated.
    #[must_use]
    pub fn spin_groups(mut self, groups: u32) -> Self {
        self.spin_groups = groups;
        self
    }

    /// Number of memory reads after which a spinning kernel ends; 0 means never. For devices that
    /// see host writes only through a queue, and so cannot be released while the kernel occupies
    /// that queue. Choose a few seconds' worth. Native kernels ignore it.
    #[must_use]
    pub fn spin_rounds(mut self, rounds: u32) -> Self {
        self.spin_rounds = rounds;
        self
    }

    /// Name of the backend in case names and lists.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").field("name", &self.name).field("tags", &self.tags).finish_non_exhaustive()
    }
}
