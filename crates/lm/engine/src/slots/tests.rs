use proptest::prelude::*;

use super::*;

#[test]
fn a_sequence_reads_a_checkpoint_once_and_then_its_own_state() {
    let mut slots = Slots::new(3);
    let mut first = slots.start(None).expect("a slot");
    assert_eq!(first.slots(0), StateSlots { read: None, write: 0 });
    slots.advance(&mut first);
    assert_eq!(first.slots(4), StateSlots { read: Some(0), write: 0 });
    slots.save(&mut first, 7);
    assert_eq!(first.slots(4), StateSlots { read: Some(0), write: 1 });
    slots.advance(&mut first);
    assert_eq!(first.slots(5), StateSlots { read: Some(1), write: 1 });
    let second = slots.start(slots.checkpoint_of(7)).expect("a slot");
    assert_eq!(second.slots(4), StateSlots { read: Some(0), write: 2 });
}

#[test]
fn the_least_recently_used_unread_checkpoint_is_evicted_first() {
    let mut slots = Slots::new(3);
    for page in [7, 8] {
        let mut state = slots.start(None).expect("a slot");
        slots.save(&mut state, page);
        slots.release(state);
    }
    let mut reader = slots.start(slots.checkpoint_of(7)).expect("a slot");
    // Page 8 was used less recently, and the checkpoint of page 7 is still read.
    let other = slots.start(None).expect("a slot");
    assert_eq!((slots.checkpoint_of(8), slots.saved()), (None, 1));
    assert_eq!(slots.start(None), None);
    slots.advance(&mut reader);
    assert!(slots.start(None).is_some());
    assert_eq!(slots.saved(), 0);
    slots.release(other);
    slots.release(reader);
}

#[test]
fn no_checkpoint_is_saved_without_a_slot_to_go_on_with() {
    let mut slots = Slots::new(1);
    let mut state = slots.start(None).expect("a slot");
    slots.save(&mut state, 3);
    assert_eq!((slots.saved(), state.slots(4)), (0, StateSlots { read: Some(0), write: 0 }));
}

#[derive(Clone, Debug)]
enum Op {
    Start(Option<u32>),
    Advance(usize),
    Save(usize, u32),
    Release(usize),
    EvictPage(u32),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        prop::option::of(0u32..4).prop_map(Op::Start),
        any::<usize>().prop_map(Op::Advance),
        (any::<usize>(), 0u32..4).prop_map(|(sequence, page)| Op::Save(sequence, page)),
        any::<usize>().prop_map(Op::Release),
        (0u32..4).prop_map(Op::EvictPage),
    ]
}

proptest! {
    /// A state that a sequence owns or will read is not overwritten, and no slot leaks.
    #[test]
    fn slots_neither_leak_nor_are_overwritten(ops in prop::collection::vec(op(), 0..60), count in 1usize..6) {
        let mut slots = Slots::new(count);
        let mut sequences: Vec<SequenceState> = Vec::new();
        for op in ops {
            let length = sequences.len();
            match op {
                Op::Start(page) => {
                    let checkpoint = page.and_then(|page| slots.checkpoint_of(page));
                    let read: Vec<u32> = sequences.iter().filter_map(|state| state.checkpoint).chain(checkpoint).collect();
                    match slots.start(checkpoint) {
                        Some(state) => {
                            prop_assert_eq!(state.checkpoint, checkpoint);
                            prop_assert!(!read.contains(&state.own));
                            sequences.push(state);
                        }
                        None => prop_assert!(length + read.len() >= count),
                    }
                }
                Op::Advance(at) if length > 0 => slots.advance(&mut sequences[at % length]),
                Op::Save(at, page) if length > 0 => slots.save(&mut sequences[at % length], page),
                Op::Release(at) if length > 0 => slots.release(sequences.swap_remove(at % length)),
                Op::EvictPage(page) => {
                    // A page in use is not evicted.
                    let slot = slots.checkpoint_of(page);
                    if slot.is_some_and(|slot| sequences.iter().all(|state| state.checkpoint != Some(slot))) {
                        slots.page_evicted(page);
                        prop_assert_eq!(slots.checkpoint_of(page), None);
                    }
                }
                Op::Advance(_) | Op::Save(..) | Op::Release(_) => {}
            }
            let mut owned: Vec<u32> = sequences.iter().map(|state| state.own).collect();
            owned.sort_unstable();
            owned.dedup();
            prop_assert_eq!(owned.len(), sequences.len(), "a slot has two owners");
            for state in &sequences {
                prop_assert!(slots.checkpoints[state.own as usize].is_none(), "a checkpoint is written");
                prop_assert!(state.checkpoint.is_none_or(|slot| slots.checkpoints[slot as usize].is_some()));
            }
            prop_assert_eq!(slots.free.len() + owned.len() + slots.saved(), count);
        }
    }
}
