//! Where each value of an execution is, on the host and on the device, and the transfers between
//! them.

use std::collections::BTreeMap;

use roci_graph::{DType, Fact, Graph, OpError, Tensor, Value, ValueId};
use roci_hal::{BufferRange, DeviceInfo};

use crate::device_state::DeviceState;
use crate::error::LoweringError;
use crate::precision::f16_words;
use crate::segment::{DeviceTensor, RecordedSegment, Segment, TensorId};
use crate::storage::encode;
use crate::{Error, Note, Precision};

/// Where a tensor is on the device.
#[derive(Clone)]
pub(crate) enum DeviceLocation {
    /// In the segment that is being collected.
    Segment(TensorId),
    /// In a buffer that outlives the segment.
    Buffer(BufferRange),
}

/// The copy of a tensor on the device.
#[derive(Clone)]
pub(crate) struct DeviceCopy {
    pub(crate) location: DeviceLocation,
    pub(crate) fact: Fact,
}

/// What is known about a value, and where its copies are.
#[derive(Clone, Default)]
pub(crate) struct ValueState {
    pub(crate) host: Option<Value>,
    pub(crate) device: Option<DeviceCopy>,
    /// The index of the graph input that the value is. Its elements may differ in the next run.
    pub(crate) input: Option<usize>,
    /// In a dry run: type and shape of a value that a run would have on the host.
    pub(crate) dry_fact: Option<Fact>,
    /// In a dry run: a run would precompute the value; the dry run skips that because it is too
    /// large.
    pub(crate) is_precomputed: bool,
}

impl ValueState {
    /// Whether the elements are known before anything runs.
    pub(crate) fn is_known(&self) -> bool {
        self.host.is_some() || self.is_precomputed
    }

    pub(crate) fn on_host(value: impl Into<Value>) -> Self {
        Self { host: Some(value.into()), ..Self::default() }
    }

    /// A tensor in the segment that is being collected. An empty tensor is on the host, because a
    /// run has nothing to compute for it.
    pub(crate) fn on_device(tensor: DeviceTensor) -> Result<Self, OpError> {
        let DeviceTensor { tensor_id, dtype, shape } = tensor;
        if shape.contains(&0) {
            return Ok(Self::on_host(Tensor::zeros(dtype, shape)?));
        }
        let device = DeviceCopy { location: DeviceLocation::Segment(tensor_id), fact: Fact::new(dtype, shape) };
        Ok(Self { device: Some(device), ..Self::default() })
    }
}

/// The states of all values of a graph during an execution, and the segment that is being
/// collected.
pub(crate) struct ValueTable<'a> {
    pub(crate) device_state: &'a mut DeviceState,
    graph: &'a Graph,
    /// The inputs of the run; empty in a dry run.
    pub(crate) inputs: &'a [Value],
    states: Vec<ValueState>,
    /// The dispatches that are not recorded yet.
    pub(crate) segment: Segment,
    /// Values that are, or were, in the segment that is being collected.
    in_segment: Vec<ValueId>,
    /// The buffer that each input is uploaded to, once a kernel reads it.
    pub(crate) input_ranges: Vec<Option<BufferRange>>,
    /// Inputs whose elements decided what is executed, by index, with those elements.
    pub(crate) fixed_inputs: BTreeMap<usize, Tensor>,
    /// Whether the execution can be replayed: no result was read back and used, and nothing changes
    /// from run to run.
    pub(crate) is_replayable: bool,
    pub(crate) notes: Vec<Note>,
    queue: usize,
}

impl<'a> ValueTable<'a> {
    /// Creates the table at the start of an execution: constants are on the host, inputs are not
    /// uploaded.
    pub(crate) fn new(device_state: &'a mut DeviceState, graph: &'a Graph, inputs: &'a [Value], queue: usize) -> Self {
        let mut states = vec![ValueState::default(); graph.values.len()];
        for (id, constant) in &graph.constants {
            states[id.index()].host = Some(constant.clone().into());
        }
        let mut is_replayable = true;
        for (index, (id, value)) in graph.inputs.iter().zip(inputs).enumerate() {
            states[id.index()].input = Some(index);
            // Sequences, maps and optional values stay on the host.
            if !matches!(value, Value::Tensor(_)) {
                states[id.index()].host = Some(value.clone());
                is_replayable = false;
            }
        }
        Self {
            device_state,
            graph,
            inputs,
            states,
            segment: Segment::default(),
            in_segment: Vec::new(),
            input_ranges: vec![None; graph.inputs.len()],
            fixed_inputs: BTreeMap::new(),
            is_replayable,
            notes: Vec::new(),
            queue,
        }
    }

    pub(crate) fn state(&self, id: ValueId) -> &ValueState {
        &self.states[id.index()]
    }

    /// Sets the state of a value that a node produced.
    pub(crate) fn set(&mut self, id: ValueId, state: ValueState) {
        self.states[id.index()] = state;
        self.in_segment.push(id);
    }

    /// Drops the copies of a value after its last use.
    pub(crate) fn drop_copies(&mut self, id: ValueId) {
        self.states[id.index()] = ValueState::default();
    }

    /// Sets what a dry run knows of a graph input.
    pub(crate) fn set_dry_fact(&mut self, id: ValueId, fact: Option<Fact>) {
        self.states[id.index()].dry_fact = fact;
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        self.device_state.dry_run.is_some()
    }

    /// Type and shape of a value, with its elements if it is on the host.
    pub(crate) fn fact(&self, id: ValueId) -> Option<Fact> {
        let state = &self.states[id.index()];
        if let Some(value) = &state.host {
            return value.tensor().ok().map(Fact::from);
        }
        if let Some(device) = &state.device {
            return Some(device.fact.clone());
        }
        if let Some(fact) = &state.dry_fact {
            return Some(fact.clone());
        }
        let tensor = self.inputs[state.input?].tensor().ok()?;
        Some(Fact::new(tensor.dtype(), tensor.shape()))
    }

    /// The elements of a value, if they are on the host.
    pub(crate) fn known(&self, id: ValueId) -> Option<&Tensor> {
        self.states[id.index()].host.as_ref().and_then(|value| value.tensor().ok())
    }

    /// The device that kernels are selected for.
    pub(crate) fn info(&self) -> &DeviceInfo {
        self.device_state.info()
    }

    /// The precision of matrix products.
    pub(crate) fn precision(&self) -> Precision {
        self.device_state.precision
    }

    /// Makes the elements of a value known on the host: takes those of the input, or reads them
    /// back.
    pub(crate) fn download(&mut self, id: ValueId) -> Result<(), LoweringError> {
        if self.is_dry_run() {
            return Err(LoweringError::UnknownValue(id));
        }
        if let Some(index) = self.states[id.index()].input {
            let value = self.inputs[index].clone();
            if let Value::Tensor(tensor) = &value {
                self.fixed_inputs.entry(index).or_insert_with(|| tensor.clone());
            }
            self.states[id.index()].host = Some(value);
            return Ok(());
        }
        self.flush()?;
        self.is_replayable = false;
        let Some(DeviceCopy { location: DeviceLocation::Buffer(range), fact }) = &self.states[id.index()].device else {
            return Err(OpError::invalid("no node produces an operand").into());
        };
        let tensor = self.device_state.download(range, fact)?;
        self.states[id.index()].host = Some(tensor.into());
        Ok(())
    }

    /// A value as a tensor of the segment, uploaded if it is not on the device yet.
    pub(crate) fn on_device(&mut self, id: ValueId) -> Result<DeviceTensor, LoweringError> {
        let fact = self.fact(id).ok_or_else(|| OpError::invalid("an operand is not a tensor"))?;
        let shape = fact.shape()?.to_vec();
        let location = self.states[id.index()].device.as_ref().map(|device| device.location.clone());
        let tensor_id = match location {
            Some(DeviceLocation::Segment(tensor_id)) => tensor_id,
            // Later uses in this segment share the tensor. A flush turns it back into a buffer.
            Some(DeviceLocation::Buffer(range)) => {
                let tensor_id = self.import(range, id);
                self.in_segment.push(id);
                if let Some(device) = &mut self.states[id.index()].device {
                    device.location = DeviceLocation::Segment(tensor_id);
                }
                tensor_id
            }
            None => {
                let range = self.upload(id, &fact, &shape)?;
                let tensor_id = self.import(range, id);
                self.in_segment.push(id);
                let fact = Fact::new(fact.dtype, shape.clone());
                self.states[id.index()].device =
                    Some(DeviceCopy { location: DeviceLocation::Segment(tensor_id), fact });
                tensor_id
            }
        };
        Ok(DeviceTensor { tensor_id, dtype: fact.dtype, shape })
    }

    /// Uploads a constant, an input or a result of the host. Constants are uploaded once per
    /// session.
    fn upload(&mut self, id: ValueId, fact: &Fact, shape: &[usize]) -> Result<BufferRange, LoweringError> {
        if let Some(range) = self.device_state.constants.get(&id) {
            return Ok(range.clone());
        }
        let state = &self.states[id.index()];
        let input = state.input;
        let tensor = match (&state.host, input, &state.dry_fact) {
            (Some(value), ..) => Some(value.tensor()?.clone()),
            (None, Some(index), None) => Some(self.inputs[index].tensor()?.clone()),
            (None, _, Some(_)) => None,
            (None, None, None) => return Err(OpError::invalid("no node produces an operand").into()),
        };
        let name = self.graph.name(id);
        if fact.dtype == DType::F64 {
            self.notes.push(Note::NarrowedF64(name.to_owned()));
        }
        let range = match tensor {
            Some(tensor) => self.device_state.upload(&tensor, name)?,
            None => self.device_state.allocate(roci_graph::shape::count(shape)?, name)?,
        };
        if let Some(index) = input {
            self.input_ranges[index] = Some(range.clone());
        } else if self.graph.constants.contains_key(&id) {
            self.device_state.constants.insert(id, range.clone());
        }
        Ok(range)
    }

    /// A tensor for a value in a buffer outside of the segment.
    fn import(&mut self, range: BufferRange, id: ValueId) -> TensorId {
        if !self.device_state.constants.contains_key(&id) {
            return self.segment.import(range);
        }
        let scalar = self.graph.constants.get(&id).filter(|tensor| tensor.len() == 1);
        let word = scalar.and_then(|tensor| encode(tensor).ok()?.first().copied());
        self.segment.import_constant(range, id, word)
    }

    /// A tensor for some bytes of an imported buffer; `None` if the tensor is not imported or too
    /// short.
    pub(crate) fn import_part(&mut self, tensor_id: TensorId, offset: u64, length: u64) -> Option<TensorId> {
        match &self.device_state.dry_run {
            Some(dry_run) => {
                self.segment.is_imported(tensor_id).then(|| self.segment.import(dry_run.placeholder.clone()))
            }
            None => self.segment.import_part(tensor_id, offset, length),
        }
    }

    /// A constant of the graph as f16, two elements per word; `None` if kernels read it as f32.
    pub(crate) fn constant_f16(&mut self, id: ValueId) -> Result<Option<DeviceTensor>, LoweringError> {
        let constant = self.graph.constants.get(&id).filter(|_| !self.device_state.is_host);
        let Some(tensor) = constant else { return Ok(None) };
        let shape = tensor.shape().to_vec();
        let range = match self.device_state.f16_constants.get(&id) {
            Some(range) => range.clone(),
            None => {
                let Some(words) = f16_words(tensor, self.device_state.precision) else { return Ok(None) };
                let range = self.device_state.upload(&Tensor::vector(words), self.graph.name(id))?;
                self.device_state.f16_constants.insert(id, range.clone());
                range
            }
        };
        Ok(Some(DeviceTensor { tensor_id: self.segment.import(range), dtype: DType::F32, shape }))
    }

    /// A lookup table in a buffer of its own, for this run and its replays.
    pub(crate) fn table(&mut self, words: &[u32]) -> Result<DeviceTensor, LoweringError> {
        let tensor = Tensor::vector(words.to_vec());
        let range = self.device_state.upload(&tensor, "table")?;
        let tensor_id = self.segment.import(range);
        Ok(DeviceTensor { tensor_id, dtype: tensor.dtype(), shape: tensor.shape().to_vec() })
    }

    /// Runs the segment before its results are read back; a dry run only plans it.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        if self.is_dry_run() {
            self.plan_segment()?;
        } else if self.record_and_run()?.is_some() {
            self.is_replayable = false;
        }
        Ok(())
    }

    /// Takes the segment, in which every tensor that a value still refers to outlives the segment.
    fn take_segment(&mut self) -> Segment {
        let mut segment = std::mem::take(&mut self.segment);
        for id in &self.in_segment {
            if let Some(DeviceCopy { location: DeviceLocation::Segment(tensor_id), .. }) =
                &self.states[id.index()].device
            {
                segment.keep_for(*tensor_id, *id);
            }
        }
        segment
    }

    /// Plans the segment ([`DeviceState::plan`]), records it ([`Segment::record`]), and submits it
    /// ([`DeviceState::submit`]). Values in it are in buffers from then on. `None` if the segment
    /// is empty.
    pub(crate) fn record_and_run(&mut self) -> Result<Option<RecordedSegment>, Error> {
        let mut segment = self.take_segment();
        let (is_empty, label) = (segment.is_empty(), self.graph.name.clone());
        let layout = self.device_state.plan(&mut segment, self.graph)?;
        let recorded = segment.record(&self.device_state.device, &mut self.device_state.kernels, layout)?;
        if !is_empty {
            let in_flight = self.device_state.submit(&recorded, &label, self.queue, None)?;
            self.device_state.wait(in_flight)?;
        }
        for id in self.in_segment.drain(..) {
            let state = &mut self.states[id.index()];
            if let Some(device) = &mut state.device
                && let DeviceLocation::Segment(tensor_id) = device.location
            {
                match recorded.range(tensor_id) {
                    Some(range) => device.location = DeviceLocation::Buffer(range.clone()),
                    None => state.device = None,
                }
            }
        }
        Ok(Some(recorded).filter(|_| !is_empty))
    }

    /// In a dry run: plans the memory of the segment, and counts its dispatches.
    pub(crate) fn plan_segment(&mut self) -> Result<(), Error> {
        let mut segment = self.take_segment();
        self.device_state.plan(&mut segment, self.graph)?;
        let Some(dry_run) = &mut self.device_state.dry_run else { return Ok(()) };
        dry_run.dispatches += segment.dispatches.len();
        for id in self.in_segment.drain(..) {
            let state = &mut self.states[id.index()];
            match &mut state.device {
                Some(DeviceCopy { location: DeviceLocation::Segment(tensor_id), .. })
                    if segment.is_released(*tensor_id) =>
                {
                    state.device = None;
                }
                Some(device) => device.location = DeviceLocation::Buffer(dry_run.placeholder.clone()),
                None => {}
            }
        }
        Ok(())
    }
}
