//! The results of subgroup and atomic operations.

use super::ast::Value;
use super::eval::zip;
use super::semantics::{self, Undefined};
use super::values::Data;

/// Combines two values with a commutative operation.
pub(crate) fn combine(name: &str, a: Value, b: Value) -> Result<Value, Undefined> {
    let ends = |what: &str| name.ends_with(what);
    match () {
        () if ends("Add") => semantics::binary("+", a, b),
        () if ends("Mul") => semantics::binary("*", a, b),
        () if ends("And") => semantics::binary("&", a, b),
        () if ends("Xor") => semantics::binary("^", a, b),
        () if ends("Or") => semantics::binary("|", a, b),
        () if ends("Min") => semantics::by_component("min", &[a, b]),
        () if ends("Max") => semantics::by_component("max", &[a, b]),
        () => Err(format!("{name} is not a combining operation")),
    }
}

fn word(value: &Data) -> Result<usize, Undefined> {
    match value {
        Data::One(value) => Ok(value.bits() as usize),
        Data::Many(_) => Err("a lane number that is not a scalar".to_owned()),
    }
}

/// The results of all lanes of a subgroup from the arguments of all lanes.
pub(crate) fn apply(name: &str, given: &[Vec<Data>]) -> Result<Vec<Data>, Undefined> {
    let count = given.len();
    let own: Vec<&Data> = given.iter().map(|arguments| &arguments[0]).collect();
    let same = |value: Data| vec![value; count];
    let is_true = |value: &&Data| **value == Data::One(Value::Bool(true));
    let from = |lane_of: &dyn Fn(usize) -> Result<usize, Undefined>| -> Result<Vec<Data>, Undefined> {
        (0..count)
            .map(|lane| {
                let expected = lane_of(lane)?;
                own.get(expected).map(|&value| value.clone()).ok_or_else(|| format!("{name} of lane {expected}"))
            })
            .collect()
    };
    let second = |lane: usize| word(&given[lane][1]);
    let join = |a: &Data, b: &Data| zip(&[a.clone(), b.clone()], &mut |pair| combine(name, pair[0], pair[1]));
    match name {
        "subgroupAll" => Ok(same(Data::One(Value::Bool(own.iter().all(is_true))))),
        "subgroupAny" => Ok(same(Data::One(Value::Bool(own.iter().any(is_true))))),
        "subgroupBallot" => {
            let bits =
                own.iter().enumerate().fold(0u128, |bits, (lane, value)| bits | u128::from(is_true(value)) << lane);
            let words = (0..4).map(|word| Data::One(Value::U32((bits >> (32 * word)) as u32)));
            Ok(same(Data::Many(words.collect())))
        }
        "subgroupBroadcastFirst" => from(&|_| Ok(0)),
        "subgroupBroadcast" | "subgroupShuffle" => from(&second),
        "subgroupShuffleXor" => from(&|lane| Ok(lane ^ second(lane)?)),
        // Out-of-range lanes may get any value; the generator discards it.
        "subgroupShuffleUp" => from(&|lane| Ok(lane.checked_sub(second(lane)?).unwrap_or(lane))),
        "subgroupShuffleDown" => from(&|lane| Ok(Some(lane + second(lane)?).filter(|&to| to < count).unwrap_or(lane))),
        "quadBroadcast" => from(&|lane| Ok((lane & !3) + second(lane)?)),
        "quadSwapX" => from(&|lane| Ok(lane ^ 1)),
        "quadSwapY" => from(&|lane| Ok(lane ^ 2)),
        "quadSwapDiagonal" => from(&|lane| Ok(lane ^ 3)),
        _ if name.starts_with("subgroupInclusive") || name.starts_with("subgroupExclusive") => {
            let unit = u64::from(name.ends_with("Mul"));
            let mut before = zip(&[own[0].clone()], &mut |value| Ok(Value::from_bits(value[0].scalar(), unit)))?;
            let mut results = Vec::new();
            for &value in &own {
                let after = join(&before, value)?;
                results.push(if name.contains("Inclusive") { after.clone() } else { before });
                before = after;
            }
            Ok(results)
        }
        _ => {
            let mut whole = own[0].clone();
            for &value in &own[1..] {
                whole = join(&whole, value)?;
            }
            Ok(same(whole))
        }
    }
}
