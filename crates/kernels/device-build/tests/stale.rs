//! The comparison detects and names every kind of change.

use roci_device_build::{Recipe, difference, stale};
use roci_device_library::{Archive, Object, Toolchain};

fn recipe(target: &str) -> Recipe {
    Recipe::new(target.parse().expect(target)).expect("every kernel translates to OpenCL C")
}

/// An archive that records the recipe, with arbitrary bytes as code.
fn archive(recipe: &Recipe) -> Archive {
    let object = Object {
        target: recipe.target,
        options: recipe.options(),
        kernels: recipe.fingerprints(),
        bytes: b"code".to_vec(),
    };
    Archive { toolchain: Toolchain::default(), objects: vec![object] }
}

#[test]
fn an_archive_of_the_same_recipe_is_not_stale() {
    let recipe = recipe("gfx1010");
    assert_eq!(stale(&archive(&recipe), &[recipe]), Vec::<String>::new());
}

#[test]
fn changed_added_and_removed_kernels_are_named() {
    let recipe = recipe("gfx1010");
    let archive = archive(&recipe);
    let mut other = recipe.clone();
    other.sources[0].text.push(' ');
    let changed = other.sources[0].name;
    let removed = other.sources.remove(1).name;
    let expected = [
        format!("gfx1010: the source of `{changed}` has changed"),
        format!("gfx1010: `{removed}` is no longer in the table"),
    ];
    assert_eq!(stale(&archive, &[other]), expected);

    let mut shorter = archive.clone();
    shorter.objects[0].kernels.remove(1);
    assert_eq!(stale(&shorter, &[recipe]), [format!("gfx1010: `{removed}` is missing")]);
}

#[test]
fn changed_options_and_other_targets_are_named() {
    let first = recipe("gfx1010");
    let archive = archive(&first);
    let mut other = first.clone();
    other.link.push("-O2".into());
    assert_eq!(stale(&archive, &[other]), ["gfx1010: the compiler or linker options have changed"]);
    let expected = ["gfx1010: it is in the library, but was not requested", "gfx9-generic: it is not in the library"];
    assert_eq!(stale(&archive, &[recipe("gfx9-generic")]), expected);
}

#[test]
fn the_first_differing_byte_is_named() {
    let archive = archive(&recipe("gfx1010"));
    let mut built = archive.objects[0].clone();
    assert_eq!(difference(&archive, &built), None);
    built.bytes = b"cole!".to_vec();
    let expected = "gfx1010: 4 bytes in the library, 5 built; the first difference is at byte 2";
    assert_eq!(difference(&archive, &built).as_deref(), Some(expected));
    assert!(difference(&Archive::default(), &built).is_some_and(|line| line.contains("not in the library")));
}

#[test]
fn gcn_code_uses_wave64() {
    let text = |target: &str| {
        let sources = recipe(target).sources;
        sources.into_iter().find(|source| source.name == "softmax").expect("the table has the kernel").text
    };
    assert!(text("gfx9-generic").contains("#define ROCI_SUBGROUP_SIZE 64u"));
    assert!(text("gfx12-generic").contains("#define ROCI_SUBGROUP_SIZE 32u"));
}
