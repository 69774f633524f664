//! Vector memory and LDS instructions.

use roci_isa::{Fields, Instruction, Operand, Segment};

use crate::fault::Fault;
use crate::program::Builder;
use crate::program::meaning::LdsMeaning;
use crate::program::scalars;
use crate::program::step::{
    Access, BufferStep, FillSource, FillStep, GridSyncStep, LANE_ROW, Lds, LdsStep, MemoryStep, NO_ROW, NO_SCALAR, Step,
};

/// Data and destination rows of an access.
fn rows(access: Access) -> (usize, usize) {
    match access {
        Access::Load(dwords) => (0, usize::from(dwords)),
        Access::LoadSmall { .. } => (0, 1),
        Access::Store(dwords) => (usize::from(dwords), 0),
        Access::StoreSmall { .. } => (1, 0),
        Access::Atomic { op, wide, returns } => {
            let width = 1 + usize::from(wide);
            (width * op.operands(), if returns { width } else { 0 })
        }
    }
}

impl Builder {
    /// The first row of a vector operand; [`NO_ROW`] if there is none.
    fn rows_of(&self, operand: Operand, count: usize) -> Result<u16, Fault> {
        match operand {
            Operand::Vgpr(register) | Operand::VgprHalf { index: register, .. } => self.register(register, count),
            _ => Ok(NO_ROW),
        }
    }

    pub(super) fn memory(&mut self, instruction: &Instruction, access: Access) -> Result<(), Fault> {
        match instruction.fields {
            Fields::Flat { segment, dst, addr, data, saddr, offset, glc, lds, .. } => {
                let access = returning(access, glc);
                let (data_rows, dst_rows) = rows(access);
                let saddr = match saddr {
                    Operand::Scalar(124) | Operand::None => NO_SCALAR,
                    Operand::Scalar(register) => register,
                    _ => return Err(Fault::Unimplemented),
                };
                let addr_rows = if segment != Segment::Scratch && saddr == NO_SCALAR { 2 } else { 1 };
                let step = MemoryStep {
                    access,
                    addr: match instruction.op.name() {
                        "global_load_addtid_b32" | "global_store_addtid_b32" if saddr != NO_SCALAR => LANE_ROW,
                        _ => self.rows_of(addr, addr_rows)?,
                    },
                    data: if data_rows > 0 { self.rows_of(data, data_rows)? } else { NO_ROW },
                    dst: if dst_rows > 0 && !lds { self.rows_of(dst, dst_rows)? } else { NO_ROW },
                    saddr,
                    offset,
                };
                if segment != Segment::Scratch && step.addr == NO_ROW && saddr == NO_SCALAR {
                    return Err(Fault::Unimplemented);
                }
                self.push(match segment {
                    Segment::Global if lds => {
                        Step::Fill(Box::new(FillStep { source: FillSource::Global(step), offset }))
                    }
                    _ if lds => return Err(Fault::Unimplemented),
                    Segment::Flat => Step::Flat(step),
                    Segment::Global => Step::Global(step),
                    Segment::Scratch => Step::Scratch(step),
                });
            }
            Fields::Buffer { data, vaddr, resource, soffset, offset, offen, idxen, glc, tfe, lds, .. } => {
                if tfe {
                    return Err(Fault::Unimplemented);
                }
                let access = returning(access, glc);
                let (data_rows, dst_rows) = rows(access);
                let Operand::Scalar(resource) = resource else { return Err(Fault::Unimplemented) };
                let step = BufferStep {
                    access,
                    vaddr: if offen || idxen {
                        self.rows_of(vaddr, usize::from(offen) + usize::from(idxen))?
                    } else {
                        NO_ROW
                    },
                    data: if lds { NO_ROW } else { self.rows_of(data, data_rows.max(dst_rows))? },
                    resource,
                    offen,
                    idxen,
                    soffset: scalars::word(soffset),
                    offset,
                };
                self.push(if lds {
                    let source = FillSource::Buffer(step);
                    Step::Fill(Box::new(FillStep { source, offset: i32::from(offset) }))
                } else {
                    Step::Buffer(step)
                });
            }
            _ => return Err(Fault::Unimplemented),
        }
        Ok(())
    }

    pub(super) fn lds(&mut self, instruction: &Instruction, meaning: LdsMeaning) -> Result<(), Fault> {
        let Fields::Lds { dst, addr, data, offset, gds } = instruction.fields else { return Err(Fault::Unimplemented) };
        if gds {
            return Err(Fault::Unimplemented);
        }
        let (data_rows, dst_rows) = match meaning.kind {
            Lds::One(Access::Atomic { wide, returns, .. }) => {
                let width = 1 + usize::from(wide);
                (width, if returns { width } else { 0 })
            }
            Lds::One(access) => rows(access),
            Lds::Load2 { wide } => (0, 2 + 2 * usize::from(wide)),
            Lds::Store2 { wide } => (1 + usize::from(wide), 0),
            Lds::Exchange2 { wide } => (1 + usize::from(wide), 2 + 2 * usize::from(wide)),
            Lds::StoreThread => (1, 0),
            Lds::Permute | Lds::BackPermute => (1, 1),
            Lds::LoadThread | Lds::Swizzle(_) | Lds::Count { .. } => (0, 1),
        };
        let mut rows = [NO_ROW; 2];
        for (row, operand) in rows.iter_mut().zip(data) {
            *row = if operand == Operand::None { NO_ROW } else { self.rows_of(operand, data_rows)? };
        }
        if meaning.swapped {
            rows.swap(0, 1);
        }
        let offsets = match meaning.unit {
            0 => [u32::from(offset), 0],
            unit => [u32::from(offset & 0xff) * unit, u32::from(offset >> 8) * unit],
        };
        let kind = if let Lds::Swizzle(_) = meaning.kind { Lds::Swizzle(offset) } else { meaning.kind };
        self.push(Step::Lds(LdsStep {
            kind,
            addr: self.rows_of(addr, 1)?,
            data: rows,
            dst: if dst_rows > 0 { self.rows_of(dst, dst_rows)? } else { NO_ROW },
            offsets,
        }));
        Ok(())
    }

    pub(super) fn grid_sync(&mut self, instruction: &Instruction, barrier: bool) -> Result<(), Fault> {
        let Fields::Lds { addr, offset, .. } = instruction.fields else { return Err(Fault::Unimplemented) };
        let data = self.rows_of(addr, 1)?;
        if data == NO_ROW {
            return Err(Fault::IllegalInstruction);
        }
        self.push(Step::GridSync(GridSyncStep { barrier, resource: offset as u8, data }));
        Ok(())
    }
}

/// Atomics return the old value where `glc` says so.
pub(super) fn returning(access: Access, glc: bool) -> Access {
    match access {
        Access::Atomic { op, wide, .. } => Access::Atomic { op, wide, returns: glc },
        other => other,
    }
}
