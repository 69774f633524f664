//! Decoding of rows that stay as they are in a GGUF file, into a panel with a byte per code.
//!
//! Types of one to three bits per weight have no packed form that is as small: bytes would take
//! four times their memory. A product decodes the panel that it is about to read, into memory that
//! stays in the cache. Experts that stay in the file are decoded in the same way.

use std::cell::RefCell;

use roci_gguf::Type;
use roci_gguf::codes::{self, CodeGroup};

use super::blocks::Group;
use super::format::Format;
use super::pack::{PanelPacker, pack_blocks};
use crate::CacheLine;

thread_local! {
    /// A decoded panel, reused by later products of this thread.
    static DECODED: RefCell<Vec<CacheLine>> = const { RefCell::new(Vec::new()) };
}

/// A group in the order of the packed format, with its scales multiplied.
#[inline(always)]
fn packed(group: &CodeGroup, by: f32) -> Group<8, f32> {
    let mut words = [0; 8];
    for (words, both) in words.as_chunks_mut::<2>().0.iter_mut().zip(group.words) {
        *words = [both as u32, (both >> 32) as u32];
    }
    Group { words, scales: group.scales.map(|scale| scale * by), mins: [0.0; 2] }
}

/// Decodes sixteen rows of a type whose blocks have code groups, multiplied by `scale`, and runs
/// `work` with the panel.
pub(super) fn with_decoded_panel(
    kind: Type,
    format: Format,
    columns: usize,
    rows: &[u8],
    scale: f32,
    work: impl FnOnce(*const u8),
) {
    let bytes = format.panel(columns as u64).bytes() as usize;
    DECODED.with_borrow_mut(|decoded| {
        let lines = bytes.div_ceil(size_of::<CacheLine>());
        if decoded.len() < lines {
            decoded.resize(lines, CacheLine::ZERO);
        }
        let target = &mut bytemuck::cast_slice_mut(CacheLine::words(decoded))[..bytes];
        decode_rows(kind, PanelPacker { format, rows, row: rows.len() / super::ROWS, columns, target }, scale);
        work(decoded.as_ptr().cast());
    });
}

fn decode_rows(kind: Type, rows: PanelPacker<'_>, scale: f32) {
    /// Packs the blocks of a type: its function, and the number of scales per group.
    macro_rules! pack {
        ($function:ident 1) => {
            rows.pack::<8, 1, 0, _, _>(None, |block, group, _| packed(&codes::$function(block, group), scale))
        };
        ($function:ident 2) => {
            rows.pack::<8, 2, 0, _, _>(None, |block, group, _| packed(&codes::$function(block, group), scale))
        };
    }
    match kind {
        Type::IQ1_S => pack!(iq1_s 1),
        Type::IQ1_M => pack!(iq1_m 2),
        Type::IQ2_XXS => pack!(iq2_xxs 1),
        Type::IQ2_XS => pack!(iq2_xs 2),
        Type::IQ2_S => pack!(iq2_s 2),
        Type::IQ3_XXS => pack!(iq3_xxs 1),
        Type::IQ3_S => pack!(iq3_s 1),
        Type::TQ1_0 => pack!(tq1_0 1),
        Type::TQ2_0 => pack!(tq2_0 1),
        Type::Q1_0 => pack!(q1_0 1),
        Type::Q2_0 => pack!(q2_0 1),
        Type::NVFP4 => pack!(nvfp4 2),
        // These types have no factor.
        _ => pack_blocks(kind, rows),
    }
}
