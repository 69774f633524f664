//! Instruction sets of this CPU, and code that is compiled once for each.

use std::fmt;
use std::sync::OnceLock;

use crate::portable::Portable;
use crate::vector::Simd;
#[cfg(target_arch = "x86_64")]
use crate::{amx, x86, x86_int8};

/// An instruction set that was detected on this CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(pub(crate) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    /// With AMX, where the CPU has it.
    Avx512(x86::Avx512, Option<amx::Amx>),
}

impl Level {
    /// Every level that this CPU supports, the widest last. The portable level is always supported.
    pub fn available() -> &'static [Level] {
        static LEVELS: OnceLock<Vec<Level>> = OnceLock::new();
        LEVELS.get_or_init(|| {
            let mut levels = vec![Level(Kind::Portable(Portable))];
            #[cfg(target_arch = "x86_64")]
            levels.extend(x86::Avx2::detect().map(|token| Level(Kind::Avx2(token))));
            #[cfg(target_arch = "x86_64")]
            levels.extend(x86::Avx512::detect().map(|token| Level(Kind::Avx512(token, amx::Amx::detect()))));
            levels
        })
    }

    /// The widest level of this CPU.
    pub fn best() -> Level {
        let levels = Level::available();
        levels[levels.len() - 1]
    }

    /// The same level without AMX, to test or measure what a CPU without it runs.
    pub fn without_amx(self) -> Level {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(token, _) => Level(Kind::Avx512(token, None)),
            kind => Level(kind),
        }
    }

    /// AMX, if this level has it. It implies VNNI.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn amx(self) -> Option<amx::Amx> {
        match self.0 {
            Kind::Avx512(..) if x86_int8::Vnni::of_level(self).is_none() => None,
            Kind::Avx512(_, units) => units,
            _ => None,
        }
    }

    /// f32 lanes of a vector.
    pub fn lanes(self) -> usize {
        struct Lanes;
        impl Task for Lanes {
            type Output = usize;

            fn run<S: Simd>(self, _: S) -> usize {
                S::LANES
            }
        }
        self.run(Lanes)
    }

    /// Runs `task` compiled for this level.
    #[inline]
    pub fn run<T: Task>(self, task: T) -> T::Output {
        match self.0 {
            Kind::Portable(token) => token.run(task),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(token) => token.run(task),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(token, _) => token.run(task),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Portable(_) => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(..) => "avx512",
        })
    }
}

/// Work that [`Level::run`] compiles once for each level.
///
/// Mark `run` and what its hot loops call `#[inline(always)]`: a function that is not inlined is
/// compiled for the baseline CPU.
pub trait Task {
    /// Result type.
    type Output;

    /// Does the work.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}
