//! Attributes of the system, of agents, and of their memory, caches and ISAs through the C
//! interface.

mod agents;
mod memory;
mod query;
mod system;
