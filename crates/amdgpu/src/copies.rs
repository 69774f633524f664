//! Who copies: the driver's own kernels or the copy engines (SDMA).

use roci_hal::Error;
use roci_hal::command::Operand;
use roci_hal::uri::DeviceUri;

use crate::memory::{Home, Memory};
use crate::settings::{Settings, bad_value};

/// The URI parameter that chooses.
pub(crate) const COPY: &str = "copy";
/// Chips whose copy engines are known to corrupt or hang.
const BAD_ENGINES: &[&str] = &["gfx1013", "gfx1151"];
/// Below this a kernel is done before an engine has been told.
const WORTH_AN_ENGINE: u64 = 64 << 10;
/// Fewer bytes than this no kernel here can copy.
const WORD: u64 = 4;

/// Who copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Kernels.
    Shader,
    /// Copy engines.
    Sdma,
    /// Engines between host and GPU where it is worth it, kernels otherwise, as AMD's own runtime does.
    Mixed,
}

/// Who copies, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copies {
    pub(crate) way: Way,
    reason: String,
}

impl Copies {
    /// What the URI says, or else the environment, or else what is known of the chip.
    pub(crate) fn choose(uri: Option<&DeviceUri>, settings: &Settings, chip: &str) -> Result<Self, Error> {
        let because = |way, reason: String| Ok(Self { way, reason });
        if let Some((uri, asked)) = uri.and_then(|uri| Some((uri, uri.parameter(COPY)?))) {
            let way = match asked {
                "shader" => Way::Shader,
                "sdma" => Way::Sdma,
                other => return Err(bad_value(uri, COPY, other, "`shader` or `sdma`")),
            };
            return because(way, format!("`{COPY}={asked}` asks for it"));
        }
        match settings.enable_sdma.as_deref() {
            Some("0") => because(Way::Shader, "HSA_ENABLE_SDMA=0".into()),
            Some("1") => because(Way::Sdma, "HSA_ENABLE_SDMA=1".into()),
            _ if BAD_ENGINES.contains(&chip) => {
                because(Way::Shader, format!("the copy engines of {chip} are known bad"))
            }
            _ => because(Way::Mixed, "nothing is known against the copy engines".into()),
        }
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let who = match self.way {
            Way::Shader => "kernels copy",
            Way::Sdma => "copy engines copy",
            Way::Mixed => "copy engines copy between host and GPU from 64 KiB on, kernels otherwise",
        };
        format!("{who}: {}", self.reason)
    }

    /// Whether an engine copies this.
    pub(crate) fn by_engine(&self, source: &Operand, target: &Operand) -> bool {
        let bytes = source.length();
        match self.way {
            // Their own kernels do what is no word; the runtime picks its means for those few bytes.
            _ if bytes < WORD => bytes > 0,
            Way::Shader => false,
            Way::Sdma => true,
            // What a slot will be bound to is not known when commands are recorded.
            Way::Mixed => {
                let homes = home(source).zip(home(target));
                bytes >= WORTH_AN_ENGINE && homes.is_some_and(|(source, target)| source != target)
            }
        }
    }
}

/// Where an operand's memory is, if that is known.
fn home(operand: &Operand) -> Option<Home> {
    match operand {
        Operand::Fixed(range) => range.buffer.downcast::<Memory>().map(Memory::home),
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

    fn chosen(uri: &str, enable_sdma: Option<&str>, chip: &str) -> Result<(Way, String), Error> {
        let copies = Copies::choose(Some(&uri.parse()?), &settings(enable_sdma), chip)?;
        Ok((copies.way, copies.describe()))
    }

    #[test]
    fn the_uri_counts_before_the_environment_and_that_before_the_chip() {
        for (uri, variable, chip, way, why) in [
            ("amdgpu", None, "gfx1010", Way::Mixed, "nothing is known"),
            ("amdgpu", None, "gfx1013", Way::Shader, "kernels copy: the copy engines of gfx1013 are known bad"),
            ("amdgpu", None, "gfx1151", Way::Shader, "gfx1151"),
            ("amdgpu", Some("0"), "gfx1010", Way::Shader, "kernels copy: HSA_ENABLE_SDMA=0"),
            ("amdgpu", Some("1"), "gfx1013", Way::Sdma, "HSA_ENABLE_SDMA=1"),
            ("amdgpu", Some("maybe"), "gfx1013", Way::Shader, "known bad"),
            ("amdgpu?copy=sdma", Some("0"), "gfx1013", Way::Sdma, "`copy=sdma`"),
            ("amdgpu?copy=shader", Some("1"), "gfx1010", Way::Shader, "`copy=shader`"),
        ] {
            let (got, said) = chosen(uri, variable, chip).expect("a value that is known");
            assert_eq!(got, way, "{uri} {variable:?} {chip}");
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn another_value_is_refused_with_those_that_count() {
        let error = chosen("amdgpu?copy=dma", None, "gfx1010").expect_err("no such way");
        assert!(error.to_string().contains("`copy` is `dma`"), "{error}");
    }

    #[test]
    fn what_is_no_word_is_left_to_the_runtime() {
        let slot = |length| Operand::Slot { slot: 0, offset: 0, length };
        let by = |way, length| Copies { way, reason: String::new() }.by_engine(&slot(length), &slot(length));
        assert!(by(Way::Shader, 3) && by(Way::Mixed, 1) && by(Way::Sdma, 5));
        assert!(!by(Way::Shader, 5) && !by(Way::Shader, 0) && !by(Way::Mixed, 1 << 20));
    }
}
