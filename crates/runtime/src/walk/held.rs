//! Where the values of a walk lie, and how they get from the host to the device and back.

use roci_graph::{DType, Fact, OpError, Tensor, Value, ValueId};
use roci_hal::BufferRange;

use super::Walk;
use super::shelf::{download, submit, wait};
use crate::error::Refusal;
use crate::half;
use crate::lower::Operand;
use crate::segment::{Recorded, Segment, Slot};
use crate::storage::encode;
use crate::{Error, Note, Precision};

/// Where a tensor lies on the device.
#[derive(Clone)]
pub(super) enum Home {
    /// In the segment that is being collected.
    Slot(Slot),
    /// In memory that outlives it.
    Range(BufferRange),
}

/// A tensor on the device.
#[derive(Clone)]
pub(super) struct OnDevice {
    pub(super) home: Home,
    pub(super) fact: Fact,
}

/// What is at hand of a value.
#[derive(Clone, Default)]
pub(super) struct Held {
    pub(super) host: Option<Value>,
    pub(super) device: Option<OnDevice>,
    /// Which of the graph's inputs it is: its elements may differ in the next run.
    pub(super) input: Option<usize>,
    /// In a walk that only tells what would happen: what would be at hand on the host.
    pub(super) told: Option<Fact>,
    /// In such a walk: it would be computed ahead, and is too large for that now.
    pub(super) ahead: bool,
}

impl Held {
    /// Whether its elements are known before anything runs.
    pub(super) fn is_known(&self) -> bool {
        self.host.is_some() || self.ahead
    }

    /// A value on the host.
    pub(super) fn on_host(value: impl Into<Value>) -> Self {
        Self { host: Some(value.into()), ..Self::default() }
    }
}

impl Walk<'_> {
    /// Makes the elements of a value known: the caller's, or read back from the device.
    pub(super) fn fetch(&mut self, id: ValueId) -> Result<(), Refusal> {
        if self.shelf.dry.is_some() {
            return Err(Refusal::Untold(id));
        }
        let held = &self.held[id.index()];
        if let Some(index) = held.input {
            let value = self.given[index].clone();
            if let Value::Tensor(tensor) = &value {
                self.fixed.entry(index).or_insert_with(|| tensor.clone());
            }
            self.held[id.index()].host = Some(value);
            return Ok(());
        }
        self.flush()?;
        self.read_back = true;
        let Some(OnDevice { home: Home::Range(range), fact }) = &self.held[id.index()].device else {
            return Err(OpError::invalid("an operand that nothing makes").into());
        };
        let tensor = download(&self.shelf.device, range, fact)?;
        self.held[id.index()].host = Some(tensor.into());
        Ok(())
    }

    /// A value on the device, brought there if need be.
    pub(crate) fn on_device(&mut self, id: ValueId) -> Result<Operand, Refusal> {
        let fact = self.fact(id).ok_or_else(|| OpError::invalid("an operand that is no tensor"))?;
        let shape = fact.shape()?.to_vec();
        let operand = |slot| Operand { slot, dtype: fact.dtype, shape: shape.clone() };
        if let Some(device) = &self.held[id.index()].device {
            let home = device.home.clone();
            let slot = match home {
                Home::Slot(slot) => slot,
                Home::Range(range) => {
                    let slot = self.given(range, id);
                    // Later uses in this segment share the slot; a flush makes it a range again.
                    self.collected.push(id);
                    if let Some(device) = &mut self.held[id.index()].device {
                        device.home = Home::Slot(slot);
                    }
                    slot
                }
            };
            return Ok(operand(slot));
        }
        let range = if let Some(range) = self.shelf.constants.get(&id) {
            range.clone()
        } else {
            let held = &self.held[id.index()];
            let input = held.input;
            let tensor = match (&held.host, input, &held.told) {
                (Some(value), ..) => Some(value.tensor()?.clone()),
                (None, Some(index), None) => Some(self.given[index].tensor()?.clone()),
                (None, _, Some(_)) => None,
                (None, None, None) => return Err(OpError::invalid("an operand that nothing makes").into()),
            };
            if fact.dtype == DType::F64 {
                self.notes.push(Note::Narrowed(self.graph.name(id).to_owned()));
            }
            let range = match tensor {
                Some(tensor) => self.shelf.upload(&tensor, self.graph.name(id))?,
                None => self.shelf.reserve(roci_graph::shape::count(&shape)?, self.graph.name(id))?,
            };
            if let Some(index) = input {
                self.inputs[index] = Some(range.clone());
            } else if self.graph.constants.contains_key(&id) {
                self.shelf.constants.insert(id, range.clone());
            }
            range
        };
        let slot = self.given(range, id);
        self.collected.push(id);
        self.held[id.index()].device =
            Some(OnDevice { home: Home::Slot(slot), fact: Fact::new(fact.dtype, shape.clone()) });
        Ok(operand(slot))
    }

    /// A slot for memory that is there.
    fn given(&mut self, range: BufferRange, id: ValueId) -> Slot {
        if !self.shelf.constants.contains_key(&id) {
            return self.segment.given(range);
        }
        let one = self.graph.constants.get(&id).filter(|tensor| tensor.len() == 1);
        let word = one.and_then(|tensor| encode(tensor).ok()?.first().copied());
        self.segment.constant(range, id, word)
    }

    /// Some bytes of a tensor in memory that is there; `None` for another.
    pub(crate) fn part_of(&mut self, slot: Slot, offset: u64, length: u64) -> Option<Slot> {
        match &self.shelf.dry {
            Some(dry) => self.segment.is_given(slot).then(|| self.segment.given(dry.nowhere.clone())),
            None => self.segment.part_of(slot, offset, length),
        }
    }

    /// A constant of the graph as 16-bit floats, two a word; `None` where kernels take it as it is.
    pub(crate) fn halves(&mut self, id: ValueId) -> Result<Option<Operand>, Refusal> {
        let Some(tensor) = self.graph.constants.get(&id).filter(|_| !self.shelf.is_host) else { return Ok(None) };
        let shape = tensor.shape().to_vec();
        let range = match self.shelf.halves.get(&id) {
            Some(range) => range.clone(),
            None => {
                let Some(words) = half::pairs(tensor, self.shelf.precision) else { return Ok(None) };
                let range = self.shelf.upload(&Tensor::vector(words), self.graph.name(id))?;
                self.shelf.halves.insert(id, range.clone());
                range
            }
        };
        Ok(Some(Operand { slot: self.segment.given(range), dtype: DType::F32, shape }))
    }

    /// What products are computed in.
    pub(crate) fn precision(&self) -> Precision {
        self.shelf.precision
    }

    /// Words in memory of their own, for this walk and what replays it.
    pub(crate) fn table(&mut self, words: &[u32]) -> Result<Operand, Refusal> {
        let tensor = Tensor::vector(words.to_vec());
        let range = self.shelf.upload(&tensor, "table")?;
        let slot = self.segment.given(range);
        Ok(Operand { slot, dtype: tensor.dtype(), shape: tensor.shape().to_vec() })
    }

    /// Runs what was collected.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        if self.shelf.dry.is_some() {
            self.imagine()?;
        } else if self.record()?.is_some() {
            self.read_back = true;
        }
        Ok(())
    }

    /// What was collected, in which everything is kept that is still at hand.
    pub(super) fn collected(&mut self) -> Segment {
        let mut segment = std::mem::take(&mut self.segment);
        for id in &self.collected {
            if let Some(OnDevice { home: Home::Slot(slot), .. }) = &self.held[id.index()].device {
                segment.keep_for(*slot, *id);
            }
        }
        segment
    }

    /// Records and runs what was collected; values that lie in it lie in memory of their own from then on.
    pub(super) fn record(&mut self) -> Result<Option<Recorded>, Error> {
        let mut segment = self.collected();
        let (empty, label) = (segment.is_empty(), self.graph.name.clone());
        let layout = self.shelf.settle(&mut segment, self.graph)?;
        let recorded = segment.record(&self.shelf.device, &mut self.shelf.kernels, layout)?;
        if !empty {
            let pending = submit(self.shelf, &recorded, &label, self.queue, None)?;
            wait(self.shelf, pending)?;
        }
        for id in self.collected.drain(..) {
            let held = &mut self.held[id.index()];
            if let Some(device) = &mut held.device
                && let Home::Slot(slot) = device.home
            {
                match recorded.place(slot) {
                    Some(range) => device.home = Home::Range(range.clone()),
                    None => held.device = None,
                }
            }
        }
        Ok(Some(recorded).filter(|_| !empty))
    }
}
