//! The disassembler: prints instructions as LLVM 22 does.

mod immediate;
mod lanes;
mod memory;
mod operand;
mod scalar;
mod vector;

use std::fmt::{self, Write};

use crate::rows::{ROWS, Row};
use crate::{Chip, Fields, Instruction, WaveSize};

/// What the text of an operand depends on.
#[derive(Clone, Copy)]
struct Context<'a> {
    chip: Chip,
    wave: WaveSize,
    row: &'static Row,
    target: Option<&'a str>,
}

impl Instruction {
    /// The line that LLVM's disassembler prints, without leading whitespace. Branches show their
    /// distance in words.
    pub fn text(&self, chip: Chip, wave: WaveSize) -> String {
        self.line(chip, wave, None)
    }

    /// The same line, with `target` as the target of a branch.
    pub fn text_with_target(&self, chip: Chip, wave: WaveSize, target: &str) -> String {
        self.line(chip, wave, Some(target))
    }

    fn line(&self, chip: Chip, wave: WaveSize, target: Option<&str>) -> String {
        let mut text = String::with_capacity(64);
        let context = Context { chip, wave, row: &ROWS[usize::from(self.row)], target };
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, &context);
        text
    }

    fn write(&self, out: &mut String, context: &Context<'_>) -> fmt::Result {
        match self.fields {
            Fields::Scalar { dst, src, simm } => scalar::write(out, context, dst, src, simm),
            Fields::ScalarMemory { .. } => memory::scalar(out, context, &self.fields),
            Fields::Vector(ref valu) => vector::write(out, context, valu),
            Fields::Dual { x, y } => vector::dual(out, context, &x, &y),
            Fields::Lds { .. } => memory::lds(out, context, &self.fields),
            Fields::Flat { .. } => memory::flat(out, context, &self.fields),
            Fields::Buffer { .. } => memory::buffer(out, context, &self.fields),
        }
    }
}

/// Writes operands: a space before the first, commas between them.
struct OperandList<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> OperandList<'a> {
    fn new(out: &'a mut String) -> Self {
        Self { out, first: true }
    }

    /// Writes the separator and returns the output.
    fn next(&mut self) -> Result<&mut String, fmt::Error> {
        self.out.write_str(if self.first { " " } else { ", " })?;
        self.first = false;
        Ok(self.out)
    }
}

/// Writes ` name` for each flag that is set.
fn flags(out: &mut String, flags: &[(&str, bool)]) -> fmt::Result {
    flags.iter().filter(|(_, set)| *set).try_for_each(|(name, _)| write!(out, " {name}"))
}
