//! Arrays in NumPy's file format.

// The reader is a module of the command, which has no library.
#[path = "../../../crates/roci/src/npy.rs"]
mod reader;

use reader::Array;

/// Reads an array; what is written for it must read as the same array.
pub fn target(data: &[u8]) {
    if let Ok(array) = Array::read(data) {
        assert_eq!(Array::read(&array.write()), Ok(array));
    }
}
