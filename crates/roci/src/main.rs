//! The `roci` command.
fn main() {}
