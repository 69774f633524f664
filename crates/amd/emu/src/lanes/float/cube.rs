//! Cube map coordinates: the face that a direction (x, y, z) hits, and the position on it.

use crate::lanes::LaneOp;
use crate::lanes::macros::lane;

/// Selects by the axis of greatest magnitude; z takes precedence over y, y over x.
#[inline(always)]
fn by_axis(x: f32, y: f32, z: f32, on_x: f32, on_y: f32, on_z: f32) -> f32 {
    if (z.abs() >= x.abs()) & (z.abs() >= y.abs()) {
        on_z
    } else if y.abs() >= x.abs() {
        on_y
    } else {
        on_x
    }
}

#[inline(always)]
fn if_negative(value: f32, then: f32, otherwise: f32) -> f32 {
    if value < 0.0 { then } else { otherwise }
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    vec![
        (
            "v_cubeid_f32",
            lane!(|x: f32, y: f32, z: f32| -> f32 {
                by_axis(x, y, z, if_negative(x, 1.0, 0.0), if_negative(y, 3.0, 2.0), if_negative(z, 5.0, 4.0))
            }),
        ),
        (
            "v_cubesc_f32",
            lane!(|x: f32, y: f32, z: f32| -> f32 {
                by_axis(x, y, z, if_negative(x, z, -z), x, if_negative(z, -x, x))
            }),
        ),
        ("v_cubetc_f32", lane!(|x: f32, y: f32, z: f32| -> f32 { by_axis(x, y, z, -y, if_negative(y, -z, z), -y) })),
        ("v_cubema_f32", lane!(|x: f32, y: f32, z: f32| -> f32 { 2.0 * by_axis(x, y, z, x, y, z) })),
    ]
}
