//! `lab`: its arguments are the lab's own; here is how it is used.

pub(super) const LAB_EXAMPLES: &str = "Examples:
  roci lab new --list                          experiments that come along
  roci lab run gfx1151-rocm --set model=/models/a.gguf
  roci lab new my.toml && roci lab check my.toml && roci lab run my.toml
  roci lab resume                              goes on after Ctrl-C, a crash or a reboot
  roci lab report                              what came of the newest experiment, and what to do next
  roci lab show --run 12                       one run: phases, output, stacks, the kernel's log";
