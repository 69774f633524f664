//! Examples of `lab`; its arguments are defined in `roci-lab`.

pub(super) const LAB_EXAMPLES: &str = "Examples:
  roci lab new --list                          the experiments that come with roci
  roci lab run gfx1151-rocm --set model=/models/a.gguf
  roci lab new my.toml && roci lab check my.toml && roci lab run my.toml
  roci lab resume                              continue after Ctrl-C, a crash or a reboot
  roci lab report                              results of the newest experiment, and what to do next
  roci lab show --run 12                       one run: phases, output, stacks, the kernel's log";
