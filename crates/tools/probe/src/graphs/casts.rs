//! Conversions between types.

use roci_graph::DType;
use roci_graph::ops::Elementwise;

use super::ProbeList;

pub(super) fn add(list: &mut ProbeList) {
    let pairs = [
        (DType::F32, DType::F16, -100.0, 100.0),
        (DType::F16, DType::F32, -100.0, 100.0),
        (DType::F32, DType::BF16, -100.0, 100.0),
        (DType::BF16, DType::F32, -100.0, 100.0),
        (DType::F64, DType::F32, -100.0, 100.0),
        (DType::F32, DType::I32, -1000.0, 1000.0),
        (DType::I32, DType::F32, -1000.0, 1000.0),
        (DType::F32, DType::I64, -1000.0, 1000.0),
        (DType::I64, DType::I32, -1000.0, 1000.0),
        (DType::I64, DType::F32, -1000.0, 1000.0),
        (DType::I32, DType::I8, -100.0, 100.0),
        (DType::U8, DType::F32, 0.0, 255.0),
        (DType::F32, DType::U8, 0.0, 255.0),
        (DType::I8, DType::F32, -128.0, 127.0),
        (DType::I32, DType::Bool, 0.0, 3.0),
        (DType::F16, DType::I32, -100.0, 100.0),
    ];
    for (from, to, low, high) in pairs {
        list.add_typed(to, format!("cast {from} to {to}"), move |builder| {
            let x = builder.input_of(from, &[5, 41], low, high);
            vec![builder.op(Elementwise::Cast { to }, &[x])]
        });
    }
    list.add("bits of f32 as i32", |builder| {
        let x = builder.input(&[5, 41]);
        vec![builder.op(Elementwise::BitCast { to: DType::I32 }, &[x])]
    });
}
