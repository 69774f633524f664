//! Which code a device gets, and the error if there is none.

use roci_base::Hint;
use roci_codeobj::{CodeObject, TargetId};
use roci_device_library::{DeviceLibrary, Error};

fn library() -> DeviceLibrary {
    DeviceLibrary::embedded_whole().expect("the embedded library is valid")
}

fn target(text: &str) -> TargetId {
    text.parse().expect(text)
}

#[test]
fn exact_code_is_preferred_to_generic_code() {
    let library = library();
    let cases = [
        ("gfx1010", "gfx1010"),
        ("gfx1010:xnack-", "gfx1010"),
        ("gfx1010:xnack+", "gfx1010"),
        ("gfx1011:xnack-", "gfx10-1-generic"),
        ("gfx1013:xnack-", "gfx1013"),
        ("gfx1030", "gfx1030"),
        ("gfx1036", "gfx10-3-generic"),
        ("gfx1103", "gfx11-generic"),
        ("gfx1151", "gfx1151"),
        ("gfx1201", "gfx12-generic"),
        ("gfx900:xnack-", "gfx9-generic"),
        ("gfx906:sramecc+:xnack-", "gfx9-generic"),
    ];
    for (device, expected) in cases {
        let found = library.find(&target(device)).expect(device);
        assert_eq!(found.target, target(expected), "{device}");
        let code = CodeObject::parse(found.bytes).expect(device);
        assert_eq!(code.target(), found.target);
        assert_eq!(code.runs_on(&target(device)), Ok(()));
    }
}

#[test]
fn the_error_of_an_unsupported_device_lists_targets_and_the_rebuild_command() {
    let error = library().find(&target("gfx90a:sramecc+:xnack-")).expect_err("it is not embedded");
    let message = error.to_string();
    assert!(message.starts_with("there are no kernels for gfx90a:sramecc+:xnack-: this build has them for gfx1010,"));
    let hint = error.hint().expect("the error has a hint");
    assert!(hint.contains("ROCI_DEVICE_TARGETS=gfx1010,"), "{hint}");
    assert!(hint.contains(",gfx90a cargo run --release -p roci-device-build`"), "{hint}");
}

#[test]
fn a_selection_hides_other_targets() {
    let some = library().select("gfx11-generic, gfx10-1-generic").expect("both targets are in the library");
    assert_eq!(
        some.targets().map(|target| target.to_string()).collect::<Vec<_>>(),
        ["gfx10-1-generic", "gfx11-generic"]
    );
    assert_eq!(some.find(&target("gfx1010")).expect("a generic target covers it").target, target("gfx10-1-generic"));

    let error = some.find(&target("gfx1030")).expect_err("the target is excluded");
    assert!(error.to_string().contains("(ROCI_DEVICE_TARGETS excludes gfx1010,"), "{error}");
    assert_eq!(error.hint().as_deref(), Some("unset ROCI_DEVICE_TARGETS, or add the excluded target to it"));
    let hint = some.find(&target("gfx942")).expect_err("no target covers it").hint().unwrap_or_default();
    assert!(hint.contains("gfx12-generic") && hint.contains(",gfx942 cargo run"), "excluded targets are kept: {hint}");
}

#[test]
fn an_invalid_selection_is_an_error_with_the_reason() {
    let refused = |list: &str| {
        let error = library().select(list).expect_err(list);
        assert!(matches!(&error, Error::Selection { value, .. } if value == list));
        assert!(error.hint().is_some_and(|hint| hint.contains("gfx1010,")));
        error.to_string()
    };
    assert!(refused("gfx1010,gfx9999").contains("`gfx9999`"));
    assert!(refused("gfx1010,").contains("unknown AMD GPU processor"));
    assert_eq!(refused("gfx942"), "ROCI_DEVICE_TARGETS is `gfx942`: gfx942 is not embedded in this build");
}
