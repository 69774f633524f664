//! Transfers larger than the chunks of [`Device::write`] and [`Device::read`].

use roci_hal::null::NullDriver;
use roci_hal::{BufferDesc, Device, Error, Registry};

/// Two and a half chunks of 16 MiB, plus a few bytes.
const LENGTH: usize = (40 << 20) + 12;
/// Bytes before and after the written range.
const MARGIN: usize = 32;
const INITIAL: u8 = 0xa5;

fn device() -> Device {
    Registry::new().with(NullDriver::new(1)).open(&"null".parse().unwrap(), None).unwrap()
}

/// Bytes without repetition, so that misplaced data is detected.
fn numbered(salt: u32) -> Vec<u8> {
    (0..LENGTH as u32 / 4).flat_map(|word| (word ^ salt).wrapping_mul(0x9e37_79b1).to_le_bytes()).collect()
}

#[test]
fn large_transfers_are_complete() {
    let device = device();
    for desc in [BufferDesc::device, BufferDesc::host] {
        let buffer = device.allocate(desc((LENGTH + 2 * MARGIN) as u64)).unwrap();
        device.write(&buffer, &vec![INITIAL; LENGTH + 2 * MARGIN]).unwrap();
        let range = buffer.range(MARGIN as u64, LENGTH as u64).unwrap();
        let sent = numbered(0);
        device.write(&range, &sent).unwrap();
        // Plain `assert!`, because `assert_eq!` would print all bytes.
        assert!(device.read(&range).unwrap() == sent, "the read bytes differ from the written ones");

        let all = device.read(&buffer).unwrap();
        assert_eq!(all.len(), LENGTH + 2 * MARGIN);
        assert!(all[MARGIN..][..LENGTH] == sent, "the range does not contain the written bytes");
        let margins = all[..MARGIN].iter().chain(&all[MARGIN + LENGTH..]);
        assert!(margins.into_iter().all(|&byte| byte == INITIAL), "bytes outside of the range were written");

        let other = numbered(0x5555_5555);
        for wrong in [&other[4..], &[&other[..], &[0; 4]].concat()] {
            let error = device.write(&range, wrong).unwrap_err();
            assert!(matches!(error, Error::Invalid { .. }), "{error}");
        }
        assert!(device.read(&range).unwrap() == sent, "a rejected write changed the buffer");
    }
}
