//! Attributes of symbols.

use roci_emu::Chip;
use roci_hsa::abi::{ExecutableSymbolInfo as Info, LoadedCodeObjectInfo as LoadedInfo, *};

use crate::clang::Clang;
use crate::session::Session;
use crate::sources::{PLAIN, VARIABLES};

#[test]
fn kernel_attributes_describe_a_dispatch() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let gpu = session.gpu(Chip::Gfx1010);
    let executable = session.executable();
    let loaded = session.load(executable, gpu, &clang.compile(PLAIN, "gfx1010")).expect("the code runs on this chip");
    let symbol = session.symbol(executable, Some(gpu), "plain.kd").expect("it exists");
    let word = |attribute| session.info::<u32>(symbol, attribute);
    assert_eq!(session.name(symbol), "plain.kd");
    assert_eq!(word(Info::TYPE), Ok(SymbolKind::KERNEL.0));
    assert_eq!(word(Info::LINKAGE), Ok(SymbolLinkage::PROGRAM.0));
    assert_eq!(word(Info::MODULE_NAME_LENGTH), Ok(0));
    assert_eq!(session.info(symbol, Info::IS_DEFINITION), Ok(true));
    assert_eq!(session.info(symbol, Info::AGENT), Ok(gpu));
    assert!(word(Info::KERNEL_KERNARG_SEGMENT_SIZE).is_ok_and(|size| size >= 8));
    assert_eq!(word(Info::KERNEL_KERNARG_SEGMENT_ALIGNMENT), Ok(16));
    assert_eq!(word(Info::KERNEL_GROUP_SEGMENT_SIZE), Ok(64));
    assert!(word(Info::KERNEL_PRIVATE_SEGMENT_SIZE).is_ok_and(|size| size >= 128));
    assert_eq!(session.info(symbol, Info::KERNEL_DYNAMIC_CALLSTACK), Ok(false));
    assert_eq!(word(Info::KERNEL_CALL_CONVENTION), Ok(0));
    let object: u64 = session.info(symbol, Info::KERNEL_OBJECT).expect("the code is loaded");
    let base: u64 = session.loaded_info(loaded, LoadedInfo::LOAD_BASE).expect("the code is loaded");
    let size: u64 = session.loaded_info(loaded, LoadedInfo::LOAD_SIZE).expect("the code is loaded");
    assert!((base..base + size).contains(&object) && object.is_multiple_of(64));
    for attribute in [Info::VARIABLE_SIZE, Info::INDIRECT_FUNCTION_OBJECT, ExecutableSymbolInfo(999)] {
        assert_eq!(session.info::<u64>(symbol, attribute), Err(Status::ERROR_INVALID_ARGUMENT), "{attribute}");
    }
    // The plain name is the symbol of the code; dispatches use the descriptor.
    for name in ["plain", "nothing", ""] {
        assert_eq!(session.symbol(executable, Some(gpu), name), Err(Status::ERROR_INVALID_SYMBOL_NAME), "{name:?}");
    }
    assert_eq!(session.symbol(executable, None, "plain.kd"), Err(Status::ERROR_INVALID_SYMBOL_NAME));
    let elsewhere = Some(session.gpu(Chip::Gfx1013));
    assert_eq!(session.symbol(executable, elsewhere, "plain.kd"), Err(Status::ERROR_INVALID_SYMBOL_NAME));
}

#[test]
fn a_dynamic_stack_is_reported() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let gpu = session.gpu(Chip::Gfx1100);
    let source = "
        .amdhsa_code_object_version 5
        .text
        .globl k
        .p2align 8
        .type k,@function
        k: s_endpgm
        .rodata
        .amdhsa_kernel k
        .amdhsa_next_free_vgpr 1
        .amdhsa_next_free_sgpr 1
        .amdhsa_uses_dynamic_stack 1
        .end_amdhsa_kernel
    ";
    let executable = session.executable();
    session
        .load(executable, gpu, &clang.build(source, "gfx1100", &["-x", "assembler"]))
        .expect("the code runs on this chip");
    let symbol = session.symbol(executable, Some(gpu), "k.kd").expect("it exists");
    assert_eq!(session.info(symbol, Info::KERNEL_DYNAMIC_CALLSTACK), Ok(true));
}

#[test]
fn variable_attributes_describe_it() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let gpu = session.gpu(Chip::Gfx1010);
    let executable = session.executable();
    session.define(executable, gpu, "outside", 0x1000).expect("the name is not defined yet");
    session.load(executable, gpu, &clang.compile(VARIABLES, "gfx1010")).expect("the code runs on this chip");
    let cases = [
        ("counter", 4, 4, false, SymbolLinkage::PROGRAM),
        ("zeros", 32, 64, false, SymbolLinkage::PROGRAM),
        ("table", 16, 4, true, SymbolLinkage::PROGRAM),
        ("weak", 4, 4, false, SymbolLinkage::MODULE),
        ("outside", 0, 0, false, SymbolLinkage::PROGRAM),
    ];
    for (name, size, alignment, constant, linkage) in cases {
        let symbol = session.symbol(executable, Some(gpu), name).expect(name);
        let word = |attribute| session.info::<u32>(symbol, attribute).expect(name);
        assert_eq!(session.name(symbol), name);
        assert_eq!(word(Info::TYPE), SymbolKind::VARIABLE.0, "{name}");
        assert_eq!(word(Info::LINKAGE), linkage.0, "{name}");
        assert_eq!(word(Info::VARIABLE_SIZE), size, "{name}");
        // The alignment of the section, which may be larger.
        assert!(word(Info::VARIABLE_ALIGNMENT) >= alignment, "{name}");
        assert_eq!(word(Info::VARIABLE_ALLOCATION), VariableAllocation::AGENT.0, "{name}");
        assert_eq!(word(Info::VARIABLE_SEGMENT), VariableSegment::GLOBAL.0, "{name}");
        assert_eq!(session.info(symbol, Info::VARIABLE_IS_CONST), Ok(constant), "{name}");
        assert_eq!(session.info(symbol, Info::AGENT), Ok(gpu), "{name}");
        let address: u64 = session.info(symbol, Info::VARIABLE_ADDRESS).expect(name);
        assert!(if name == "outside" { address == 0x1000 } else { address.is_multiple_of(alignment.into()) }, "{name}");
        let refused = session.info::<u32>(symbol, Info::KERNEL_GROUP_SEGMENT_SIZE);
        assert_eq!(refused, Err(Status::ERROR_INVALID_ARGUMENT), "{name}");
    }
    let counter = session.symbol(executable, Some(gpu), "counter").expect("it exists");
    let address: u64 = session.info(counter, Info::VARIABLE_ADDRESS).expect("it has one");
    // SAFETY: a variable of a loaded code object, and no kernel is running.
    assert_eq!(unsafe { std::ptr::with_exposed_provenance::<u32>(address as usize).read() }, 5);
}
