//! The comparison can fail: each kind of change is noticed and named.

use roci_device_build::{Recipe, difference, stale};
use roci_device_library::{Archive, Object, Toolchain};

fn recipe(target: &str) -> Recipe {
    Recipe::new(target.parse().expect(target)).expect("every kernel can be written")
}

/// An archive that records the recipe, with made-up bytes.
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
    assert_eq!(stale(&archive, &[other]), ["gfx1010: the options of compiler or linker have changed"]);
    let expected = ["gfx1010: it is in the library, but not asked for", "gfx9-generic: it is not in the library"];
    assert_eq!(stale(&archive, &[recipe("gfx9-generic")]), expected);
}

#[test]
fn other_bytes_are_named_with_the_place() {
    let archive = archive(&recipe("gfx1010"));
    let mut built = archive.objects[0].clone();
    assert_eq!(difference(&archive, &built), None);
    built.bytes = b"cole!".to_vec();
    let expected = "gfx1010: 4 bytes there, 5 built, different from byte 2 on";
    assert_eq!(difference(&archive, &built).as_deref(), Some(expected));
    assert!(difference(&Archive::default(), &built).is_some_and(|line| line.contains("not in the library")));
}

#[test]
fn code_before_rdna_is_written_for_waves_of_64_lanes() {
    let text = |target: &str| {
        let sources = recipe(target).sources;
        sources.into_iter().find(|source| source.name == "softmax").expect("it is in the table").text
    };
    assert!(text("gfx9-generic").contains("#define ROCI_SUBGROUP_SIZE 64u"));
    assert!(text("gfx12-generic").contains("#define ROCI_SUBGROUP_SIZE 32u"));
}
