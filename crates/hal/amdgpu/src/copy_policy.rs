//! Copy policy: whether the built-in kernels or the copy engines (SDMA) copy.

use roci_hal::Error;
use roci_hal::command::Operand;
use roci_hal::uri::DeviceUri;

use crate::buffer::{Buffer, MemoryLocation};
use crate::settings::{Settings, bad_value};

/// URI parameter that selects the method.
pub(crate) const COPY_KEY: &str = "copy";
/// Chips whose copy engines are known to corrupt data or hang.
const BROKEN_ENGINES: &[&str] = &["gfx1013", "gfx1151"];
/// Minimum size of a copy by an engine: below it, a kernel finishes before an engine starts.
const MIN_ENGINE_BYTES: u64 = 64 << 10;
/// Minimum size in bytes of a copy by a built-in kernel, which copies words.
const MIN_KERNEL_BYTES: u64 = 4;

/// How to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyMethod {
    /// Kernels.
    Shader,
    /// Copy engines.
    Sdma,
    /// Engines for large copies between host and GPU, kernels otherwise, like AMD's own runtime.
    Mixed,
}

/// The copy method and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyPolicy {
    pub(crate) method: CopyMethod,
    reason: String,
}

impl CopyPolicy {
    /// Chooses by URI, else by environment, else by chip.
    pub(crate) fn choose(uri: Option<&DeviceUri>, settings: &Settings, chip: &str) -> Result<Self, Error> {
        let because = |method, reason: String| Ok(Self { method, reason });
        if let Some((uri, asked)) = uri.and_then(|uri| Some((uri, uri.parameter(COPY_KEY)?))) {
            let method = match asked {
                "shader" => CopyMethod::Shader,
                "sdma" => CopyMethod::Sdma,
                other => return Err(bad_value(uri, COPY_KEY, other, "`shader` or `sdma`")),
            };
            return because(method, format!("requested by `{COPY_KEY}={asked}`"));
        }
        match settings.enable_sdma.as_deref() {
            Some("0") => because(CopyMethod::Shader, "HSA_ENABLE_SDMA=0".into()),
            Some("1") => because(CopyMethod::Sdma, "HSA_ENABLE_SDMA=1".into()),
            _ if BROKEN_ENGINES.contains(&chip) => {
                because(CopyMethod::Shader, format!("the copy engines of {chip} are known to corrupt data or hang"))
            }
            _ => because(CopyMethod::Mixed, "no known problem with its copy engines".into()),
        }
    }

    /// Description for display, one line.
    pub(crate) fn describe(&self) -> String {
        let who = match self.method {
            CopyMethod::Shader => "kernels copy",
            CopyMethod::Sdma => "copy engines copy",
            CopyMethod::Mixed => "copy engines copy between host and GPU from 64 KiB on, kernels otherwise",
        };
        format!("{who}: {}", self.reason)
    }

    /// Whether the runtime, not a kernel, copies this range.
    pub(crate) fn uses_engine(&self, source: &Operand, target: &Operand) -> bool {
        let bytes = source.length();
        match self.method {
            // Less than a word: the kernel cannot copy it, so the runtime does.
            _ if bytes < MIN_KERNEL_BYTES => bytes > 0,
            CopyMethod::Shader => false,
            CopyMethod::Sdma => true,
            // The location of a slot is unknown at record time.
            CopyMethod::Mixed => {
                let locations = location(source).zip(location(target));
                bytes >= MIN_ENGINE_BYTES && locations.is_some_and(|(source, target)| source != target)
            }
        }
    }
}

/// Owner of an operand's memory; `None` for slots.
fn location(operand: &Operand) -> Option<MemoryLocation> {
    match operand {
        Operand::Fixed(range) => range.buffer.downcast::<Buffer>().map(Buffer::location),
        Operand::Slot { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(enable_sdma: Option<&str>) -> Settings {
        Settings {
            root: "/".into(),
            allow_hsa: false,
            overrides: Vec::new(),
            enable_sdma: enable_sdma.map(str::to_owned),
            library_named: false,
        }
    }

    fn chosen(uri: &str, enable_sdma: Option<&str>, chip: &str) -> Result<(CopyMethod, String), Error> {
        let copies = CopyPolicy::choose(Some(&uri.parse()?), &settings(enable_sdma), chip)?;
        Ok((copies.method, copies.describe()))
    }

    #[test]
    fn the_uri_overrides_the_environment_which_overrides_the_chip() {
        for (uri, variable, chip, method, why) in [
            ("amdgpu", None, "gfx1010", CopyMethod::Mixed, "no known problem"),
            (
                "amdgpu",
                None,
                "gfx1013",
                CopyMethod::Shader,
                "kernels copy: the copy engines of gfx1013 are known to corrupt data",
            ),
            ("amdgpu", None, "gfx1151", CopyMethod::Shader, "gfx1151"),
            ("amdgpu", Some("0"), "gfx1010", CopyMethod::Shader, "kernels copy: HSA_ENABLE_SDMA=0"),
            ("amdgpu", Some("1"), "gfx1013", CopyMethod::Sdma, "HSA_ENABLE_SDMA=1"),
            ("amdgpu", Some("maybe"), "gfx1013", CopyMethod::Shader, "known to corrupt"),
            ("amdgpu?copy=sdma", Some("0"), "gfx1013", CopyMethod::Sdma, "`copy=sdma`"),
            ("amdgpu?copy=shader", Some("1"), "gfx1010", CopyMethod::Shader, "`copy=shader`"),
        ] {
            let (got, message) = chosen(uri, variable, chip).expect("a valid value");
            assert_eq!(got, method, "{uri} {variable:?} {chip}");
            assert!(message.contains(why), "{message}");
        }
    }

    #[test]
    fn the_error_of_an_unknown_value_lists_the_valid_ones() {
        let error = chosen("amdgpu?copy=dma", None, "gfx1010").expect_err("no such method");
        assert!(error.to_string().contains("`copy` is `dma`"), "{error}");
    }

    #[test]
    fn partial_words_are_copied_by_the_runtime() {
        let slot = |length| Operand::Slot { slot: 0, offset: 0, length };
        let by =
            |method, length| CopyPolicy { method, reason: String::new() }.uses_engine(&slot(length), &slot(length));
        assert!(by(CopyMethod::Shader, 3) && by(CopyMethod::Mixed, 1) && by(CopyMethod::Sdma, 5));
        assert!(!by(CopyMethod::Shader, 5) && !by(CopyMethod::Shader, 0) && !by(CopyMethod::Mixed, 1 << 20));
    }
}
