//! Arrays in NumPy's file format.

use roci_npy::Array;

/// Reads an array, writes it, and reads it again: the result must be the same array.
pub fn target(data: &[u8]) {
    if let Ok(array) = Array::read(data) {
        assert_eq!(Array::read(&array.write()), Ok(array));
    }
}
