//! What clients learn of the system, of agents, and of their memory, caches and instruction sets, through the C interface.

mod agents;
mod ask;
mod memory;
mod system;
