//! Applies remedies as exact changes, and takes them back.
//!
//! A rule states its remedy as data ([`Change`]). [`System::plan`] turns it into edits of files and
//! commands for this machine's boot loader, initramfs and users. Nothing is written until
//! [`System::apply`]. It keeps a copy of each file first, from which [`System::undo`] restores it
//! byte by byte.

mod apply;
mod boot;
mod change;
mod environment;
mod error;
mod groups;
mod modprobe;
mod parameters;
mod plan;
mod record;
mod tree;
mod udev;
mod view;

pub use apply::{Done, Runner};
pub use change::Change;
pub use error::FixError;
pub use plan::{Plan, System};
pub use view::{FileView, LineChange, PlanView};
