//! Lowers vector memory and LDS instructions.

use roci_isa::{Fields, Instruction, Operand, Segment};

use crate::fault::Fault;
use crate::program::ProgramBuilder;
use crate::program::micro_op::{
    AccessKind, BufferOp, GridSyncOp, LANE_ROW, LdsFillOp, LdsFillSource, LdsOp, LdsOpKind, MemoryOp, MicroOp, NO_ROW,
    NO_SCALAR,
};
use crate::program::scalars;
use crate::program::semantics::LdsSemantics;

/// Rows of data and rows of result.
fn rows(access: AccessKind) -> (usize, usize) {
    match access {
        AccessKind::Load(dwords) => (0, usize::from(dwords)),
        AccessKind::LoadSmall { .. } => (0, 1),
        AccessKind::Store(dwords) => (usize::from(dwords), 0),
        AccessKind::StoreSmall { .. } => (1, 0),
        AccessKind::Atomic { op, wide, returns } => {
            let width = 1 + usize::from(wide);
            (width * op.operands(), if returns { width } else { 0 })
        }
    }
}

impl ProgramBuilder {
    /// First row of a vector operand; [`NO_ROW`] if there is none.
    fn rows_of(&self, operand: Operand, count: usize) -> Result<u16, Fault> {
        match operand {
            Operand::Vgpr(register) | Operand::VgprHalf { index: register, .. } => self.register(register, count),
            _ => Ok(NO_ROW),
        }
    }

    pub(super) fn memory(&mut self, instruction: &Instruction, access: AccessKind) -> Result<(), Fault> {
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
                let uop = MemoryOp {
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
                if segment != Segment::Scratch && uop.addr == NO_ROW && saddr == NO_SCALAR {
                    return Err(Fault::Unimplemented);
                }
                self.push(match segment {
                    Segment::Global if lds => {
                        MicroOp::Fill(Box::new(LdsFillOp { source: LdsFillSource::Global(uop), offset }))
                    }
                    _ if lds => return Err(Fault::Unimplemented),
                    Segment::Flat => MicroOp::Flat(uop),
                    Segment::Global => MicroOp::Global(uop),
                    Segment::Scratch => MicroOp::Scratch(uop),
                });
            }
            Fields::Buffer { data, vaddr, resource, soffset, offset, offen, idxen, glc, tfe, lds, .. } => {
                if tfe {
                    return Err(Fault::Unimplemented);
                }
                let access = returning(access, glc);
                let (data_rows, dst_rows) = rows(access);
                let Operand::Scalar(resource) = resource else { return Err(Fault::Unimplemented) };
                let uop = BufferOp {
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
                    let source = LdsFillSource::Buffer(uop);
                    MicroOp::Fill(Box::new(LdsFillOp { source, offset: i32::from(offset) }))
                } else {
                    MicroOp::Buffer(uop)
                });
            }
            _ => return Err(Fault::Unimplemented),
        }
        Ok(())
    }

    pub(super) fn lds(&mut self, instruction: &Instruction, semantics: LdsSemantics) -> Result<(), Fault> {
        let Fields::Lds { dst, addr, data, offset, gds } = instruction.fields else { return Err(Fault::Unimplemented) };
        if gds {
            return Err(Fault::Unimplemented);
        }
        let (data_rows, dst_rows) = match semantics.kind {
            LdsOpKind::One(AccessKind::Atomic { wide, returns, .. }) => {
                let width = 1 + usize::from(wide);
                (width, if returns { width } else { 0 })
            }
            LdsOpKind::One(access) => rows(access),
            LdsOpKind::Load2 { wide } => (0, 2 + 2 * usize::from(wide)),
            LdsOpKind::Store2 { wide } => (1 + usize::from(wide), 0),
            LdsOpKind::Exchange2 { wide } => (1 + usize::from(wide), 2 + 2 * usize::from(wide)),
            LdsOpKind::StoreThread => (1, 0),
            LdsOpKind::Permute | LdsOpKind::BackPermute => (1, 1),
            LdsOpKind::LoadThread | LdsOpKind::Swizzle(_) | LdsOpKind::Count { .. } => (0, 1),
        };
        let mut rows = [NO_ROW; 2];
        for (row, operand) in rows.iter_mut().zip(data) {
            *row = if operand == Operand::None { NO_ROW } else { self.rows_of(operand, data_rows)? };
        }
        if semantics.swapped {
            rows.swap(0, 1);
        }
        let offsets = match semantics.unit {
            0 => [u32::from(offset), 0],
            unit => [u32::from(offset & 0xff) * unit, u32::from(offset >> 8) * unit],
        };
        let kind = if let LdsOpKind::Swizzle(_) = semantics.kind { LdsOpKind::Swizzle(offset) } else { semantics.kind };
        self.push(MicroOp::Lds(LdsOp {
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
        self.push(MicroOp::GridSync(GridSyncOp { barrier, resource: offset as u8, data }));
        Ok(())
    }
}

/// `glc` makes an atomic operation return the old value.
pub(super) fn returning(access: AccessKind, glc: bool) -> AccessKind {
    match access {
        AccessKind::Atomic { op, wide, .. } => AccessKind::Atomic { op, wide, returns: glc },
        other => other,
    }
}
