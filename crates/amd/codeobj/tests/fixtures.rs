//! Reads the committed fixtures without external tools. Their contents are known from their source.

use std::io::Write;

use roci_codeobj::{
    CodeObject, Compatibility, File, FileError, FileKind, FileSummary, ImageKind, LoadError, SymbolKind, UserSgpr,
    ValueKind,
};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../fixtures/", $name)).as_slice()
    };
}

#[test]
fn versions_and_targets_are_read() {
    let expected = [
        (fixture!("gfx1010-v6.co"), 6, "gfx1010:xnack-", 0),
        (fixture!("gfx1100-v5.co"), 5, "gfx1100", 0),
        (fixture!("gfx90a-v4.co"), 4, "gfx90a:sramecc+:xnack-", 0),
        (fixture!("gfx10-1-generic-v6.co"), 6, "gfx10-1-generic", 1),
    ];
    for (bytes, version, target, generic) in expected {
        let object = CodeObject::parse(bytes).expect(target);
        assert_eq!((object.version(), object.generic_version()), (version, generic));
        assert_eq!(object.target().to_string(), target);
        let stated = object.metadata().target.as_deref().map(|stated| stated.parse().expect("a target id"));
        assert_eq!(stated, Some(object.target()), "the header and the metadata agree");
    }
}

/// No available compiler writes version 3, which differs from version 4 only in the ELF header.
fn as_version_3(flags: u32) -> Vec<u8> {
    let mut bytes = fixture!("gfx90a-v4.co").to_vec();
    bytes[8] = 1;
    bytes[48..52].copy_from_slice(&flags.to_le_bytes());
    bytes
}

#[test]
fn version_3_has_one_bit_per_feature() {
    for (flags, target) in [
        (0x3f, "gfx90a:sramecc-:xnack-"),
        (0x13f, "gfx90a:sramecc-"),
        (0x23f, "gfx90a:sramecc+:xnack-"),
        (0x133, "gfx1010"),
        (0x336, "gfx1030"),
    ] {
        let bytes = as_version_3(flags);
        let object = CodeObject::parse(&bytes).expect(target);
        assert_eq!((object.version(), object.target().to_string()), (3, target.to_owned()));
    }
}

#[test]
fn other_elf_files_have_specific_errors() {
    let changed = |at: usize, value: u8| {
        let mut bytes = fixture!("gfx1010-v6.co").to_vec();
        bytes[at] = value;
        CodeObject::parse(&bytes).expect_err("invalid input").to_string()
    };
    assert!(changed(0, 0).contains("ELF file is damaged"));
    assert!(changed(18, 62).contains("machine 62"));
    assert!(changed(7, 66).contains("Mesa 3D"));
    assert!(changed(8, 0).contains("version 2 is not supported"));
    assert!(changed(8, 5).contains("version 7 is not supported"));
    assert!(changed(16, 1).contains("relocatable"));
    assert!(changed(48, 0xfe).contains("EF_AMDGPU_MACH 0xfe"));
    let mut bytes = fixture!("gfx1010-v6.co").to_vec();
    let offset =
        bytes.windows(9).position(|part| part == b"scale.kd\0").expect("the symbol's name in the string table");
    bytes[offset..offset + 2].copy_from_slice(b"\x1b[");
    let error = CodeObject::parse(&bytes).expect_err("the descriptor's symbol is gone");
    assert_eq!(error.to_string(), "kernel `scale` has no descriptor");
    assert!(CodeObject::parse(fixture!("host.so")).expect_err("not for a GPU").to_string().contains("machine 62"));
}

#[test]
fn kernels_come_with_descriptor_and_metadata() {
    let object = CodeObject::parse(fixture!("gfx1010-v6.co")).expect("valid input");
    let names: Vec<_> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["scale", "gather"]);
    let scale = object.kernel("scale").expect("it exists");
    assert_eq!(object.kernel("scale.kd"), Some(scale));
    assert_eq!(object.symbol("scale").and_then(|symbol| symbol.address), Some(scale.entry));
    assert_eq!(object.symbol("scale").map(|symbol| symbol.kind), Some(SymbolKind::Function));
    assert!(object.kernel("scal").is_none() && object.symbol("absent").is_none());
    assert_eq!(scale.kernarg_size(), 280);

    let descriptor = scale.descriptor;
    assert_eq!((descriptor.group_segment_fixed_size, descriptor.wave_size()), (256, 32));
    assert_eq!(descriptor.workgroup_ids(), [true, false, false]);
    assert!(descriptor.user_sgprs().any(|register| register == UserSgpr::KernargPointer));
    assert_eq!(descriptor.float_mode(), 0xf0);
    let metadata = scale.metadata.as_ref().expect("the compiler writes it");
    assert_eq!((metadata.group_segment_fixed_size, metadata.max_flat_workgroup_size), (256, 64));
    assert_eq!(metadata.reqd_workgroup_size, Some([64, 1, 1]));
    assert!(metadata.vgpr_count > 0 && metadata.vgpr_count <= descriptor.vgprs(object.target().processor));

    let [out, input, factor, count] = &metadata.args[..4] else { panic!("four arguments and hidden ones") };
    assert_eq!((&out.value_kind, out.offset, out.size), (&ValueKind::GlobalBuffer, 0, 8));
    assert_eq!((out.actual_access.as_deref(), out.is_restrict), (Some("write_only"), true));
    assert_eq!((input.address_space.as_deref(), input.is_const), (Some("global"), true));
    assert_eq!((&factor.value_kind, factor.offset, count.offset), (&ValueKind::ByValue, 16, 20));
    assert!(metadata.args[4..].iter().all(|argument| argument.value_kind.is_hidden()));

    let gather = object.kernel("gather").expect("it exists");
    assert!(gather.descriptor.private_segment_fixed_size >= 32 && gather.descriptor.private_segment());
}

#[test]
fn images_are_laid_out_and_relocated() {
    let object = CodeObject::parse(fixture!("gfx1010-v6.co")).expect("valid input");
    let base = 0x7000_0000_0000;
    let image = object.load_image(base).expect("it loads");
    assert_eq!(image.len() as u64, object.image_size());
    for segment in object.segments().iter().filter(|segment| segment.executable) {
        let start = segment.address as usize;
        assert_eq!(&image[start..start + segment.data.len()], segment.data, "code is position independent");
    }
    // `addresses` has the address of `counter` twice, and `counter` is 5.
    assert_eq!(object.relocations().len(), 2);
    for relocation in object.relocations() {
        let offset = relocation.address as usize;
        let address = u64::from_le_bytes(image[offset..offset + 8].try_into().expect("8 bytes"));
        let counter = (address - base) as usize;
        assert_eq!(image[counter..counter + 4], 5_u32.to_le_bytes());
    }
}

#[test]
fn oversized_images_are_rejected() {
    let mut bytes = fixture!("gfx1010-v6.co").to_vec();
    // The memory size of the last loaded segment.
    let header = 64 + 4 * 56;
    assert_eq!(bytes[header], 1);
    bytes[header + 40..header + 48].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let object = CodeObject::parse(&bytes).expect("valid tables");
    assert!(matches!(object.load_image(0), Err(LoadError::TooLarge(_))));
}

#[test]
fn code_runs_on_compatible_devices_only() {
    let runs =
        |bytes, device: &str| CodeObject::parse(bytes).expect("valid input").runs_on(&device.parse().expect(device));
    assert_eq!(runs(fixture!("gfx1010-v6.co"), "gfx1010:xnack-"), Ok(()));
    assert!(runs(fixture!("gfx1010-v6.co"), "gfx1012:xnack-").is_err());
    assert_eq!(runs(fixture!("gfx10-1-generic-v6.co"), "gfx1013:xnack-"), Ok(()));
    let mut unversioned = fixture!("gfx10-1-generic-v6.co").to_vec();
    unversioned[51] = 0;
    let error = runs(&unversioned, "gfx1013").expect_err("generic code has a version");
    assert_eq!(error.to_string(), "the code is for version 0 of gfx10-1-generic, which does not cover gfx1013");
}

#[test]
fn bundles_of_every_kind_contain_the_same_objects() {
    let objects = [fixture!("gfx1010-v6.co"), fixture!("gfx90a-v4.co")];
    for (bytes, compression) in [
        (fixture!("plain.bundle"), None),
        (fixture!("zstd-v2.bundle"), Some("zstd")),
        (fixture!("zstd-v3.bundle"), Some("zstd")),
        (fixture!("zlib-v1.bundle"), Some("zlib")),
        (fixture!("zlib-v2.bundle"), Some("zlib")),
    ] {
        let file = File::open(bytes).expect("valid input");
        assert_eq!((file.kind, file.problems.len()), (FileKind::Bundle, 0));
        let found: Vec<_> = file.images.iter().map(|found| found.bytes()).collect();
        assert_eq!(found, objects);
        let targets: Vec<_> = file.images.iter().map(|found| found.target()).collect();
        assert_eq!(targets, ["gfx1010:xnack-", "gfx90a:sramecc+:xnack-"]);
        for (index, found) in file.images.iter().enumerate() {
            assert_eq!(
                (found.location.bundle, found.location.entry),
                (Some(0), Some(index + 1)),
                "entry 0 is the host's"
            );
            assert_eq!(found.location.compression.map(|one| one.name()), compression);
            assert_eq!(found.kind, ImageKind::CodeObject);
        }
    }
}

#[test]
fn offload_binaries_are_read() {
    let file = File::open(fixture!("offload.binary")).expect("valid input");
    assert_eq!((file.kind, file.problems.len()), (FileKind::Bundle, 0));
    let found: Vec<_> = file.images.iter().map(|found| found.bytes()).collect();
    assert_eq!(found, [fixture!("gfx1010-v6.co"), fixture!("gfx90a-v4.co")]);
    let ids: Vec<_> =
        file.images.iter().filter_map(|found| found.entry.as_ref()).map(|entry| entry.id.as_str()).collect();
    let expected = ["hip-amdgcn-amd-amdhsa--gfx1010:xnack-", "openmp-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"];
    assert_eq!(ids, expected);
    assert_eq!(file.images[1].target(), "gfx90a:sramecc+:xnack-");

    // Version 2: several entries in one container, strings with sizes. Assembled by hand after
    // LLVM's layout.
    let mut bytes = b"\x10\xff\x10\xad".to_vec();
    bytes.extend(2_u32.to_le_bytes());
    let strings = b"triple\0amdgcn-amd-amdhsa\0arch\0gfx1010\0";
    let (text, tables) = (40 + 2 * 40 + 2 * 24, 40 + 2 * 40);
    let data = text + strings.len() as u64;
    for number in [data + 8, 40, 2, 0, 4 << 16, tables, 2, data, 4, 4 << 16, tables, 2, data + 4, 4] {
        bytes.extend(u64::to_le_bytes(number));
    }
    for (key, value, size) in [(0, 7, 17), (25, 30, 7)] {
        bytes.extend([text + key, text + value, size].map(u64::to_le_bytes).concat());
    }
    bytes.extend(strings);
    bytes.extend(b"BC\xc0\xde1234");
    let file = File::open(&bytes).expect("valid input");
    let targets: Vec<_> = file.images.iter().map(|found| (found.target(), found.kind, found.bytes().len())).collect();
    let target = "gfx1010".to_owned();
    assert_eq!(targets, [(target.clone(), ImageKind::Bitcode, 4), (target, ImageKind::Unknown, 4)]);
    bytes[4] = 3;
    assert_eq!(File::open(&bytes).expect_err("not known").to_string(), "the offload binary has an unknown version");
}

#[test]
fn bundles_one_after_another_are_all_found() {
    let pad = vec![0; 100];
    let v1 = fixture!("zlib-v1.bundle");
    let bytes = [fixture!("plain.bundle"), &pad, v1, &pad, v1, fixture!("zstd-v2.bundle"), fixture!("plain.bundle")];
    let bytes = bytes.concat();
    let file = File::open(&bytes).expect("valid input");
    assert_eq!((file.images.len(), file.problems), (10, Vec::new()));
    let offsets: Vec<_> = file.images.iter().map(|found| (found.location.bundle, found.location.offset)).collect();
    let second = fixture!("plain.bundle").len() as u64 + 100;
    assert_eq!(offsets[2..4], [(Some(1), second), (Some(1), second)]);
    for found in file.images.iter().filter(|found| found.location.compression.is_none()) {
        let start = found.location.offset as usize;
        assert_eq!(&bytes[start..start + found.bytes().len()], found.bytes(), "the offset is that of the object");
    }
}

#[test]
fn fat_host_files_are_searched_and_plain_ones_are_empty() {
    let file = File::open(fixture!("fat.so")).expect("valid input");
    assert_eq!((file.kind, file.images.len(), file.problems.len()), (FileKind::HostElf, 4, 0));
    for found in &file.images {
        assert_eq!(found.location.section.as_deref(), Some(".hip_fatbin"));
        assert_eq!(found.code_object().expect("valid input").kernels().len(), 2);
    }
    assert_eq!(file.images[3].location.to_string(), ".hip_fatbin:bundle1.2:zlib:0x1000");
}

#[test]
fn a_damaged_bundle_does_not_hide_the_others() {
    let mut bytes = fixture!("fat.so").to_vec();
    let offset = File::open(fixture!("fat.so")).expect("valid input").images[0].location.offset as usize;
    bytes[offset + 40] ^= 0xff;
    let file = File::open(&bytes).expect("a valid file");
    assert_eq!((file.images.len(), file.problems.len()), (2, 1));
    assert_eq!(file.problems[0].location.offset, offset as u64);
    let lone = File::open(&bytes[offset..offset + 1000]).expect_err("no intact part");
    assert_eq!(lone.to_string(), "the compressed bundle is shorter than its header says");
}

#[test]
fn archives_are_searched_member_by_member() {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, data) in
        [("notes.txt/", b"hello\n".as_slice()), ("fat.o/", fixture!("fat.so")), ("k.co/", fixture!("gfx1100-v5.co"))]
    {
        bytes.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).as_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    let file = File::open(&bytes).expect("valid input");
    assert_eq!((file.kind, file.images.len(), file.problems), (FileKind::Archive, 5, Vec::new()));
    let members: Vec<_> = file.images.iter().filter_map(|found| found.location.member.as_deref()).collect();
    assert_eq!(members, ["fat.o", "fat.o", "fat.o", "fat.o", "k.co"]);
}

#[test]
fn decompression_stops_at_the_limit() {
    let limit = fixture!("plain.bundle").len() as u64;
    assert!(File::open_with_limit(fixture!("zstd-v3.bundle"), limit).is_ok());
    let error = File::open_with_limit(fixture!("zstd-v3.bundle"), limit - 1).expect_err("one byte above the limit");
    assert_eq!(error, FileError::TooLarge { size: limit, limit: limit - 1 });
    let file = File::open_with_limit(fixture!("fat.so"), limit).expect("a valid file");
    assert_eq!((file.images.len(), file.problems.len()), (2, 1), "the limit is for the whole file");
    // One header claims less than the stream yields, the other far more.
    for (bytes, at) in
        [(fixture!("zstd-v2.bundle"), 12), (fixture!("zlib-v2.bundle"), 12), (fixture!("zlib-v1.bundle"), 8)]
    {
        for size in [10_u32, 1 << 30] {
            let mut bytes = bytes.to_vec();
            bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
            let error = File::open(&bytes).expect_err("the sizes differ");
            assert_eq!(error.to_string(), "the compressed bundle does not expand to the size in its header");
        }
    }
}

#[test]
fn files_of_other_kinds_are_rejected() {
    for bytes in [b"".as_slice(), b"\x7fEL", b"hello", b"MZ\x90\0", &[0; 4096]] {
        assert_eq!(File::open(bytes).expect_err("an unknown format"), FileError::UnknownFormat);
    }
    let file = File::open(fixture!("host.so")).expect("valid input");
    assert_eq!((file.kind, file.images.len(), file.problems.len()), (FileKind::HostElf, 0, 0));
}

fn on_disk(bytes: &[u8]) -> std::fs::File {
    let mut file = tempfile::tempfile().expect("temporary files can be written");
    file.write_all(bytes).expect("temporary files can be written");
    file
}

#[test]
fn a_survey_and_a_search_find_the_same_images() {
    let archive = {
        let data = fixture!("fat.so");
        let header = format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "fat.o/", 0, 0, 0, 644, data.len());
        [b"!<arch>\n", header.as_bytes(), data].concat()
    };
    for bytes in [
        fixture!("gfx1010-v6.co"),
        fixture!("plain.bundle"),
        fixture!("zstd-v2.bundle"),
        fixture!("zstd-v3.bundle"),
        fixture!("zlib-v1.bundle"),
        fixture!("zlib-v2.bundle"),
        fixture!("offload.binary"),
        fixture!("fat.so"),
        fixture!("host.so"),
        &archive,
    ] {
        let file = File::open(bytes).expect("valid input");
        let expected: Vec<_> =
            file.images.iter().map(|one| (one.location.clone(), one.target(), one.bytes().len() as u64)).collect();
        for summary in [FileSummary::of_bytes(bytes), FileSummary::of_file(&on_disk(bytes))] {
            let summary = summary.expect("valid input");
            let images: Vec<_> =
                summary.images.iter().map(|one| (one.location.clone(), one.target(), one.bytes)).collect();
            assert_eq!((summary.kind, images, summary.problems), (file.kind, expected.clone(), Vec::new()));
        }
    }
}

#[test]
fn a_survey_finds_bundles_in_data_and_ignores_false_magic_numbers() {
    for (before, lies) in [(100_000, 0), (4096 - 10, 1), (263_000, 3)] {
        let lie = b"__CLANG_OFFLOAD_BUNDLE__CCOB\x02\0\0\0".repeat(lies);
        let bytes =
            [&vec![7; before], lie.as_slice(), fixture!("plain.bundle"), &[7; 5000], fixture!("zstd-v3.bundle")];
        let bytes = bytes.concat();
        let summary = FileSummary::of_file(&on_disk(&bytes)).expect("valid input");
        assert_eq!((summary.kind, summary.images.len(), summary.problems.len()), (FileKind::Data, 4, 0), "{before}");
    }
    let lie = [b"text that names __CLANG_OFFLOAD_BUNDLE__ and CCOB".as_slice(), &[0; 5000]].concat();
    assert_eq!(FileSummary::of_bytes(&lie).expect_err("there is nothing"), FileError::UnknownFormat);
    // Without a section header table; some tools strip it.
    let mut stripped = fixture!("fat.so").to_vec();
    stripped[40..48].fill(0);
    assert_eq!(FileSummary::of_bytes(&stripped).expect("valid input").images.len(), 4);
}

/// A bundle that decompresses to megabytes. The file contains only its start.
#[test]
fn the_start_of_a_compressed_bundle_is_enough() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let mut noise = fastrand::Rng::with_seed(1);
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bundle.extend(1_u64.to_le_bytes());
    let id = b"hipv4-amdgcn-amd-amdhsa--gfx1013";
    for number in [4096, 3 << 20, id.len() as u64] {
        bundle.extend(number.to_le_bytes());
    }
    bundle.extend(id);
    bundle.resize(4096, 0);
    bundle.extend((0..3 << 20).map(|_| noise.u8(..)));
    let stream = compress_to_vec(bundle.as_slice(), CompressionLevel::Fastest);
    let total = 32 + stream.len() as u64;
    let mut bytes = b"CCOB\x03\0\x01\0".to_vec();
    bytes.extend([total.to_le_bytes(), (bundle.len() as u64).to_le_bytes(), [0; 8]].concat());
    bytes.extend(&stream);
    // Data after the first blocks is not read.
    let last = bytes.len() - 1000;
    bytes[last..].fill(0xff);
    let summary = FileSummary::of_file(&on_disk(&bytes)).expect("valid input");
    let image = &summary.images[0];
    assert_eq!((summary.images.len(), image.target(), image.bytes), (1, "gfx1013".to_owned(), 3 << 20));
    let cut = FileSummary::of_bytes(&bytes[..bytes.len() - 1]).expect("the kind is plain");
    assert_eq!(cut.problems[0].error.to_string(), "the compressed bundle is shorter than its header says");
}

#[test]
fn compatibility_is_classified() {
    let fit = |bytes: &[u8], device: &str| {
        let summary = FileSummary::of_bytes(bytes).expect("valid input");
        summary.images[0].compatibility(&device.parse().expect("a chip"))
    };
    let (exact, generic) = (fixture!("gfx1010-v6.co"), fixture!("gfx10-1-generic-v6.co"));
    assert_eq!((fit(exact, "gfx1010"), fit(generic, "gfx1013")), (Compatibility::Exact, Compatibility::Generic));
    assert_eq!((fit(exact, "gfx1013"), fit(exact, "gfx1030")), (Compatibility::Sibling, Compatibility::Other));
    assert!(matches!(fit(exact, "gfx1010:xnack+"), Compatibility::Mismatch(_)));
    assert!(fit(exact, "gfx1010").runs() && fit(generic, "gfx1010").runs() && !fit(exact, "gfx1013").runs());
    let mut relocatable = exact.to_vec();
    relocatable[16] = 1;
    assert!(matches!(fit(&relocatable, "gfx1010"), Compatibility::Unusable(_)));
    let mut unversioned = generic.to_vec();
    unversioned[51] = 0;
    assert!(matches!(fit(&unversioned, "gfx1013"), Compatibility::Mismatch(_)));
}
