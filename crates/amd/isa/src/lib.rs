//! Decoder and disassembler for AMD RDNA machine code (gfx10.1 to gfx11.5): bytes to
//! [`Instruction`]s, and instructions to the text that LLVM prints.
//!
//! ```
//! use roci_isa::{Chip, Op, WaveSize, decode};
//!
//! let instruction = decode(Chip::Gfx1100, WaveSize::Wave32, &[0x02, 0x07, 0x02, 0x06])?;
//! assert_eq!((instruction.op, instruction.size), (Op::VAddF32, 4));
//! assert_eq!(instruction.text(Chip::Gfx1100, WaveSize::Wave32), "v_add_f32_e32 v1, v2, v3");
//! # Ok::<(), roci_isa::DecodeError>(())
//! ```
//!
//! Start reading at `instruction` (the decoded form), then `decode` (bytes to instructions), `text`
//! (the disassembler), `access` (registers read and written) and the tables under `tables/`, from
//! which `build.rs` generates Rust.

#![forbid(unsafe_code)]

mod access;
mod chip;
mod decode;
mod instruction;
mod op;
mod operand;
mod rows;
mod text;

pub use access::{Access, Register, RegisterPart};
pub use chip::{Chip, Family, UnknownChip, WaveSize};
pub use decode::{DecodeError, decode};
pub use instruction::{Dpp16, Encoding, Fields, Instruction, LaneControl, Sdwa, SdwaPart, Segment, Valu, VopdHalf};
pub use op::Op;
pub use operand::Operand;
