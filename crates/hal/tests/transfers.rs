//! Transfers that are larger than the pieces in which [`Device::write`] and [`Device::read`] move them.

use roci_hal::null::NullDriver;
use roci_hal::{BufferDesc, Device, Error, Registry};

/// Two pieces of 16 MiB, and half of one with an odd end.
const LENGTH: usize = (40 << 20) + 12;
/// Bytes before and behind what is written.
const MARGIN: usize = 32;
const UNTOUCHED: u8 = 0xa5;

fn device() -> Device {
    Registry::new().with(NullDriver::new(1)).open(&"null".parse().unwrap(), None).unwrap()
}

/// Bytes of which no part is like another, so that none can stand in another's place.
fn numbered(salt: u32) -> Vec<u8> {
    (0..LENGTH as u32 / 4).flat_map(|word| (word ^ salt).wrapping_mul(0x9e37_79b1).to_le_bytes()).collect()
}

#[test]
fn large_transfers_arrive_whole() {
    let device = device();
    for desc in [BufferDesc::device, BufferDesc::host] {
        let buffer = device.allocate(desc((LENGTH + 2 * MARGIN) as u64)).unwrap();
        device.write(&buffer, &vec![UNTOUCHED; LENGTH + 2 * MARGIN]).unwrap();
        let range = buffer.range(MARGIN as u64, LENGTH as u64).unwrap();
        let sent = numbered(0);
        device.write(&range, &sent).unwrap();
        // Plain `assert!`: nobody wants to read the bytes.
        assert!(device.read(&range).unwrap() == sent, "what is read is not what was written");

        let all = device.read(&buffer).unwrap();
        assert_eq!(all.len(), LENGTH + 2 * MARGIN);
        assert!(all[MARGIN..][..LENGTH] == sent, "the range is not where it was");
        let margins = all[..MARGIN].iter().chain(&all[MARGIN + LENGTH..]);
        assert!(margins.into_iter().all(|&byte| byte == UNTOUCHED), "bytes outside of the range were written");

        let other = numbered(0x5555_5555);
        for wrong in [&other[4..], &[&other[..], &[0; 4]].concat()] {
            let error = device.write(&range, wrong).unwrap_err();
            assert!(matches!(error, Error::Invalid { .. }), "{error}");
        }
        assert!(device.read(&range).unwrap() == sent, "a refused write left something behind");
    }
}
