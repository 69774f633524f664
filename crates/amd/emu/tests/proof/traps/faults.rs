//! Errors that must abort a kernel with reason and location, and cases that must not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libtest_mimic::Failed;
use roci_emu::{Access, Chip, DispatchError, Error, Fault};

use super::{BOTH, Bench, GENERATIONS, Kernel, Trap, is_fault, kernel};
use crate::device;

pub(super) const ALL: &[Trap] = &[
    ("illegal_instruction", no_instruction),
    ("instruction_of_another_chip", other_chip),
    ("graphics_instruction", graphics),
    ("address_outside_every_allocation", outside),
    ("write_to_read_only_memory", read_only),
    ("access_across_the_end", across),
    ("register_beyond_allocation", register),
    ("scratch_beyond_allocation", scratch),
    ("program_counter_leaves_the_code", leaves),
    ("code_without_an_end", no_end),
    ("trap", trap),
    ("sethalt_stops", halt),
    ("endless_kernel_is_stopped", endless),
    ("workgroups_that_wait_for_each_other", spin),
    ("waves_that_wait_for_each_other", spin_in_group),
    ("report_has_the_location", report),
    ("too_many_work_items_and_too_much_lds", limits),
    ("code_is_not_writable", code),
    ("a_breakpoint_continues", breakpoint),
    ("private_memory_has_a_limit", too_private),
    ("a_grid_whose_size_overflows_can_be_stopped", huge),
];

fn no_instruction(bench: &Bench) -> Result<(), Failed> {
    for chip in GENERATIONS {
        let report = bench.fault(&kernel(chip, ".long 0xffffffff"))?;
        is_fault(&report, |fault| *fault == Fault::IllegalInstruction)?;
        super::equal(report.instruction, ".long 0xffffffff".to_owned())?;
    }
    // `v_illegal` has an encoding, but is illegal by definition.
    let report = bench.fault(&kernel(Chip::Gfx1030, ".long 0"))?;
    is_fault(&report, |fault| *fault == Fault::IllegalInstruction)
}

/// `v_dot2c_f32_f16 v4, v10, v11` exists on gfx1030, gfx1012 and gfx11, not on gfx1010 and gfx1013.
fn other_chip(bench: &Bench) -> Result<(), Failed> {
    for chip in [Chip::Gfx1010, Chip::Gfx1013] {
        let report = bench.fault(&kernel(chip, ".long 0x0408170a"))?;
        is_fault(&report, |fault| *fault == Fault::IllegalInstruction)?;
    }
    bench.run(&kernel(Chip::Gfx1030, ".long 0x0408170a"))?;
    Ok(())
}

/// An export: the chips have it, the emulator does not implement it.
fn graphics(bench: &Bench) -> Result<(), Failed> {
    for chip in GENERATIONS {
        let report = bench.fault(&kernel(chip, ".long 0xf8000000, 0"))?;
        is_fault(&report, |fault| *fault == Fault::Unimplemented)?;
    }
    Ok(())
}

fn outside(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let body =
            "v_mov_b32 v10, 0x1000\nv_mov_b32 v11, 0\ns_mov_b32 exec_lo, 0x100\nglobal_store_dword v[10:11], v8, off";
        let report = bench.fault(&kernel(chip, body))?;
        super::equal(report.fault, Fault::Memory { address: 0x1000, size: 4, write: true, lane: 8 })?;
        let body = "s_mov_b32 s20, 0x2000\ns_mov_b32 s21, 0\ns_load_dwordx2 s[22:23], s[20:21], 0x8";
        let report = bench.fault(&kernel(chip, body))?;
        is_fault(&report, |fault| matches!(fault, Fault::Memory { address: 0x2008, write: false, .. }))?;
        let body = "v_mov_b32 v10, 0x1000\nv_mov_b32 v11, 0\nflat_atomic_add v[10:11], v8";
        let report = bench.fault(&kernel(chip, body))?;
        is_fault(&report, |fault| matches!(fault, Fault::Memory { address: 0x1000, .. }))?;
    }
    Ok(())
}

fn read_only(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let kernel = kernel(chip, "v_mov_b32 v10, 0\nglobal_store_dword v10, v8, s[6:7]");
        let device = bench.load(&kernel)?;
        let output = device.words(&[0; 256]);
        let constant = device.emulator.memory().allocate(256, Access::Read);
        let run = device.run("trap", kernel.grid, kernel.block, &[output.address(), constant.address()]);
        match run {
            Err(Error::Dispatch(DispatchError::Fault(report))) => {
                let address = constant.address();
                super::equal(report.fault, Fault::Memory { address, size: 4, write: true, lane: 0 })?;
            }
            other => return Err(format!("no fault, but {other:?}").into()),
        }
    }
    Ok(())
}

fn across(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        // The input has 64 words: the last one is at 252.
        let body = "v_mov_b32 v10, 0\nglobal_load_dwordx2 v[4:5], v10, s[6:7] offset:252";
        let report = bench.fault(&kernel(chip, body))?;
        is_fault(&report, |fault| matches!(fault, Fault::Memory { size: 8, write: false, .. }))?;
    }
    Ok(())
}

fn register(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let mut kernel = kernel(chip, "v_mov_b32 v31, 1\nv_mov_b32 v40, 1");
        kernel.registers = 32;
        let report = bench.fault(&kernel)?;
        super::equal(report.fault, Fault::RegisterBeyondAllocation { register: 40, allocated: 32 })?;
    }
    Ok(())
}

fn scratch(bench: &Bench) -> Result<(), Failed> {
    let mut on_gfx11 = kernel(Chip::Gfx1100, "scratch_store_b32 off, v8, off offset:64");
    on_gfx11.descriptor = ".amdhsa_private_segment_fixed_size 64\n.amdhsa_enable_private_segment 1";
    let report = bench.fault(&on_gfx11)?;
    super::equal(report.fault, Fault::Scratch { offset: 64, lane: 0, allocated: 64 })?;
    // gfx10: through the descriptor in the first user SGPRs, with the wave's offset after the
    // workgroup ID.
    let mut on_gfx10 = kernel(Chip::Gfx1010, "buffer_store_dword v8, off, s[20:23], s24 offset:64");
    on_gfx10.descriptor = super::PRIVATE_BUFFER;
    on_gfx10.first = super::TAKE_PRIVATE_BUFFER;
    let report = bench.fault(&on_gfx10)?;
    is_fault(&report, |fault| matches!(fault, Fault::Scratch { offset: 64, lane: 0, allocated: 64 }))?;
    on_gfx10.body = "buffer_store_dword v8, off, s[20:23], s24 offset:60\ns_waitcnt_vscnt null, 0\n\
                     buffer_load_dword v4, off, s[20:23], s24 offset:60\ns_waitcnt vmcnt(0)";
    bench.expect(&on_gfx10, |lane| [lane])
}

fn leaves(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let report = bench.fault(&kernel(chip, "s_mov_b64 s[20:21], 0x1234\ns_setpc_b64 s[20:21]"))?;
        super::equal(report.fault, Fault::OutsideCode { address: 0x1234 })?;
    }
    Ok(())
}

fn no_end(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        // Padding follows the last instruction, or nothing.
        let report = bench.fault(&kernel(chip, "s_branch past\n.skip 0\n.text 1\npast:\nv_mov_b32 v4, 1\n.text 0"))?;
        is_fault(&report, |fault| matches!(fault, Fault::OutsideCode { .. } | Fault::IllegalInstruction))?;
    }
    Ok(())
}

fn trap(bench: &Bench) -> Result<(), Failed> {
    for chip in GENERATIONS {
        let report = bench.fault(&kernel(chip, "s_trap 2"))?;
        super::equal(report.fault, Fault::Trap { id: 2 })?;
        let builtin =
            "kernel void stop(global int *out) { if (out[__builtin_amdgcn_workitem_id_x()] == 5) __builtin_trap(); }";
        let object = bench.toolchain.device(&crate::toolchain::Source::Text(builtin), chip, &["-O2"])?;
        let device = device::Device::load(chip, &object)?;
        let (calm, bad) = (device.words(&[0; 32]), device.words(&[5; 32]));
        device.run("stop", [32, 1, 1], [32, 1, 1], &[calm.address()]).map_err(|error| error.to_string())?;
        match device.run("stop", [32, 1, 1], [32, 1, 1], &[bad.address()]) {
            Err(Error::Dispatch(DispatchError::Fault(report))) => {
                super::equal(report.fault, Fault::Trap { id: 2 })?;
            }
            other => return Err(format!("{chip}: no trap, but {other:?}").into()),
        }
    }
    Ok(())
}

fn halt(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let report = bench.fault(&kernel(chip, "again:\ns_sethalt 5\ns_branch again"))?;
        is_fault(&report, |fault| matches!(fault, Fault::Trap { .. }))?;
        bench.run(&kernel(chip, "s_sethalt 0"))?;
    }
    Ok(())
}

/// Stops a kernel that does not end by itself. Its grid is so large that the results do not matter.
fn stopped(bench: &Bench, kernel: &Kernel<'_>) -> Result<(), Failed> {
    let device = bench.load(kernel)?;
    let output = device.words(&[0; 4 * 320]);
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let timer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        flag.store(true, Ordering::Relaxed);
    });
    let arguments = [output.address(), output.address()];
    let run = device.run_until("trap", kernel.grid, kernel.block, &arguments, &stop);
    timer.join().map_err(|_| "the timer panicked")?;
    match run {
        Err(Error::Dispatch(DispatchError::Stopped)) => Ok(()),
        run => Err(format!("{}: {run:?}", kernel.chip).into()),
    }
}

fn endless(bench: &Bench) -> Result<(), Failed> {
    for (chip, body) in BOTH.into_iter().flat_map(|chip| {
        ["again:\ns_branch again", "again:\ns_sleep 1\ns_branch again", "again:\ns_barrier\ns_cbranch_scc0 again"]
            .map(|body| (chip, body))
    }) {
        let mut endless = kernel(chip, body);
        endless.grid = [320, 1, 1];
        stopped(bench, &endless)?;
        // The emulator still works.
        bench.expect(&kernel(chip, "v_mov_b32 v4, 1"), |_| [1])?;
    }
    Ok(())
}

/// The first workgroup waits for the last one; there are more workgroups than one thread keeps
/// resident.
fn spin(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0\nv_mov_b32 v11, 1\ns_cmp_lg_u32 s2, 0\ns_cbranch_scc1 others\nwait:\n\
                global_load_dword v4, v10, s[6:7] glc dlc\ns_waitcnt vmcnt(0)\nv_cmp_ne_u32 vcc_lo, 0, v4\n\
                s_cbranch_vccz wait\ns_branch finish\nothers:\ns_cmp_lg_u32 s2, 99\ns_cbranch_scc1 finish\n\
                global_store_dword v10, v11, s[6:7]";
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        kernel.grid = [3200, 1, 1];
        bench.expect(&kernel, |lane| [u32::from(lane < 32)])?;
    }
    Ok(())
}

fn spin_in_group(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0\nv_mov_b32 v11, 1\nv_readfirstlane_b32 s20, v8\ns_cmp_lg_u32 s20, 0\n\
                s_cbranch_scc1 others\nwait:\nds_read_b32 v4, v10\ns_waitcnt lgkmcnt(0)\nv_cmp_ne_u32 vcc_lo, 0, v4\n\
                s_cbranch_vccz wait\ns_branch finish\nothers:\nds_write_b32 v10, v11";
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        (kernel.grid, kernel.block) = ([64, 1, 1], [64, 1, 1]);
        kernel.descriptor = ".amdhsa_group_segment_fixed_size 16";
        bench.expect(&kernel, |lane| [u32::from(lane < 32)])?;
    }
    Ok(())
}

fn report(bench: &Bench) -> Result<(), Failed> {
    let mut kernel = kernel(
        Chip::Gfx1100,
        "s_cmp_lg_u32 s2, 1\ns_cbranch_scc1 finish\nv_readfirstlane_b32 s20, v8\ns_cmp_lg_u32 s20, 32\n\
         s_cbranch_scc1 finish\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\nglobal_load_dword v4, v[10:11], off offset:16",
    );
    (kernel.grid, kernel.block) = ([128, 1, 1], [64, 1, 1]);
    let report = bench.fault(&kernel)?;
    super::equal((report.workgroup, report.wave, report.kernel.as_str()), ([1, 0, 0], 1, "trap"))?;
    super::equal(report.instruction.as_str(), "global_load_b32 v4, v[10:11], off offset:16")?;
    super::equal(report.pc % 4, 0)?;
    let text = report.to_string();
    for part in ["read of 4 bytes at 0x10", "kernel trap", "workgroup (1, 0, 0)", "wave 1", "entry + 0x"] {
        if !text.contains(part) {
            return Err(format!("{part:?} is not in {text:?}").into());
        }
    }
    Ok(())
}

fn limits(bench: &Bench) -> Result<(), Failed> {
    let kernel = kernel(Chip::Gfx1010, "");
    let device = bench.load(&kernel)?;
    let output = device.words(&[0; 64]);
    for block in [[1025, 1, 1], [0, 1, 1], [64, 64, 1]] {
        let run = device.run("trap", [2048, 1, 1], block, &[output.address(), output.address()]);
        if !matches!(run, Err(Error::Launch(_))) {
            return Err(format!("{block:?}: {run:?}").into());
        }
    }
    Ok(())
}

fn code(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let body = "s_getpc_b64 s[20:21]\nv_mov_b32 v10, 0\nglobal_load_dword v4, v10, s[20:21]\ns_waitcnt vmcnt(0)\n\
                    global_store_dword v10, v4, s[20:21]";
        let report = bench.fault(&kernel(chip, body))?;
        is_fault(&report, |fault| matches!(fault, Fault::Memory { size: 4, write: true, .. }))?;
    }
    Ok(())
}

fn breakpoint(bench: &Bench) -> Result<(), Failed> {
    bench.same(&GENERATIONS, "s_trap 3\nv_mov_b32 v4, 1", [1])
}

fn too_private(bench: &Bench) -> Result<(), Failed> {
    for (chip, most) in [(Chip::Gfx1010, 0x1fff << 10), (Chip::Gfx1100, 0x7fff << 8)] {
        for (bytes, fits) in [(most / 32, true), (most / 32 + 4, false), (u32::MAX, false)] {
            let descriptor = format!(".amdhsa_private_segment_fixed_size {bytes}");
            let mut kernel = kernel(chip, "v_mov_b32 v4, 1");
            kernel.descriptor = &descriptor;
            match bench.try_run(&kernel)? {
                Ok(_) if fits => {}
                Err(Error::Launch(message)) if !fits && message.contains("private memory") => {}
                other => return Err(format!("{chip}: {bytes} bytes: {other:?}").into()),
            }
        }
    }
    Ok(())
}

fn huge(bench: &Bench) -> Result<(), Failed> {
    let mut huge = kernel(Chip::Gfx1010, "");
    huge.first = "s_endpgm";
    huge.grid = [u32::MAX; 3];
    stopped(bench, &huge)
}
