//! Hidden arguments and the dispatch packet, which the runtime of HIP or OpenCL would fill in.

use roci_codeobj::{Argument, ValueKind};
use roci_emu::Dispatch;

/// Writes the hidden arguments that the code object declares.
pub(crate) fn hidden(arguments: &[Argument], dispatch: &Dispatch, dynamic_lds: u32, kernarg: &mut [u8]) {
    let (grid, block) = (dispatch.grid, dispatch.block);
    for argument in arguments.iter().filter(|argument| argument.value_kind.is_hidden()) {
        // Other hidden arguments are null pointers or zero offsets.
        let value = match argument.value_kind {
            ValueKind::HiddenBlockCount(axis) => {
                let axis = usize::from(axis).min(2);
                u64::from(grid[axis].checked_div(block[axis]).unwrap_or(0))
            }
            ValueKind::HiddenGroupSize(axis) => u64::from(block[usize::from(axis).min(2)]),
            ValueKind::HiddenRemainder(axis) => {
                let axis = usize::from(axis).min(2);
                u64::from(grid[axis].checked_rem(block[axis]).unwrap_or(0))
            }
            ValueKind::HiddenGridDims => u64::from(dimensions(grid)),
            ValueKind::HiddenDynamicLdsSize => u64::from(dynamic_lds),
            _ => continue,
        };
        let size = usize::try_from(argument.size).unwrap_or(0).min(8);
        let offset = usize::try_from(argument.offset).ok();
        if let Some(range) = offset.and_then(|offset| kernarg.get_mut(offset..)?.get_mut(..size)) {
            range.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
}

/// The number of dimensions of a grid.
fn dimensions(grid: [u32; 3]) -> u16 {
    match grid {
        [_, 1, 1] => 1,
        [_, _, 1] => 2,
        _ => 3,
    }
}

/// The AQL dispatch packet, for kernels that read it.
pub(crate) fn packet(dispatch: &Dispatch, kernel_object: u64) -> [u8; 64] {
    let mut bytes = Vec::with_capacity(64);
    let kernel_dispatch = 2u16;
    bytes.extend(kernel_dispatch.to_le_bytes());
    bytes.extend(dimensions(dispatch.grid).to_le_bytes());
    for size in dispatch.block {
        bytes.extend((size as u16).to_le_bytes());
    }
    bytes.extend([0; 2]);
    for size in dispatch.grid {
        bytes.extend(size.to_le_bytes());
    }
    bytes.extend(dispatch.private.to_le_bytes());
    bytes.extend(dispatch.lds.to_le_bytes());
    bytes.extend(kernel_object.to_le_bytes());
    bytes.extend(dispatch.kernarg.to_le_bytes());
    bytes.resize(64, 0);
    let mut packet = [0; 64];
    packet.copy_from_slice(&bytes);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(kind: ValueKind, offset: u64, size: u64) -> Argument {
        Argument { value_kind: kind, offset, size, ..Argument::default() }
    }

    #[test]
    fn hidden_arguments_describe_the_launch() {
        let dispatch = Dispatch { grid: [100, 2, 1], block: [32, 1, 1], ..Dispatch::default() };
        let arguments = [
            argument(ValueKind::HiddenBlockCount(0), 0, 4),
            argument(ValueKind::HiddenGroupSize(0), 4, 2),
            argument(ValueKind::HiddenRemainder(0), 6, 2),
            argument(ValueKind::HiddenGridDims, 8, 2),
            argument(ValueKind::HiddenDynamicLdsSize, 12, 4),
            argument(ValueKind::HiddenHostcallBuffer, 16, 8),
            argument(ValueKind::HiddenGroupSize(1), 1000, 2),
        ];
        let mut kernarg = [0; 24];
        hidden(&arguments, &dispatch, 64, &mut kernarg);
        assert_eq!(kernarg[..16], [3, 0, 0, 0, 32, 0, 4, 0, 2, 0, 0, 0, 64, 0, 0, 0]);
        assert_eq!(kernarg[16..], [0; 8]);
    }

    #[test]
    fn the_packet_has_the_layout_of_hsa() {
        let dispatch = Dispatch { grid: [7, 1, 1], block: [4, 1, 1], lds: 9, kernarg: 0x1122, ..Dispatch::default() };
        let packet = packet(&dispatch, 0x3344);
        assert_eq!(packet[..6], [2, 0, 1, 0, 4, 0]);
        assert_eq!((packet[12], packet[28], packet[32], packet[40]), (7, 9, 0x44, 0x22));
    }
}
