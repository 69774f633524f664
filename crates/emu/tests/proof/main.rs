//! Proof that the emulator computes what the chips compute: C compiled for them and for the host agrees, random programs
//! agree, and each trap that emulators are known to fall into has a test of its own.
//!
//! One test a chip and level of optimisation, or a trap. clang 22 compiles; results are kept below the target folder.

mod c_kernels;
mod data;
mod device;
mod random;
mod toolchain;
mod traps;

use libtest_mimic::Arguments;
use roci_testkit::tools;

use toolchain::Toolchain;

fn main() {
    let arguments = Arguments::from_args();
    let clang = roci_testkit::require("clang", tools::clang());
    let mut trials = Vec::new();
    if let Some(clang) = clang {
        let toolchain = Toolchain::new(&clang);
        trials.extend(c_kernels::trials(&toolchain));
        trials.extend(traps::trials(&toolchain));
        trials.extend(random::trials(&toolchain));
    }
    libtest_mimic::run(&arguments, trials).exit();
}
