//! A session that feeds some outputs of each run back as inputs of the next, such as parameters
//! during training. These tensors stay on the device.

use std::fmt;

use roci_graph::{Tensor, Value};
use roci_hal::{CommandBuffer, Submit};

use crate::recording::{Output, RecordingKey};
use crate::session::Session;
use crate::{Error, Note};

/// A session with tensors that are carried from run to run.
pub struct StatefulSession {
    session: Session,
    /// The input index and the output index of each carried tensor.
    carried: Vec<(usize, usize)>,
    /// All inputs. Those of carried tensors are stale while `resident` is set.
    inputs: Vec<Value>,
    /// Set while the current state exists on the device only.
    resident: Option<ResidentState>,
}

/// State that a recording wrote and that the next replay of the same recording reads.
struct ResidentState {
    key: RecordingKey,
    /// Copies every carried output to its input.
    copies: CommandBuffer,
}

impl fmt::Debug for StatefulSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatefulSession")
            .field("session", &self.session)
            .field("carried", &self.carried)
            .field("is_resident", &self.is_resident())
            .finish_non_exhaustive()
    }
}

impl StatefulSession {
    /// Creates a session that carries `(input index, output index)` pairs from run to run, with the
    /// initial tensor of each pair.
    pub fn new(session: Session, carried: Vec<(usize, usize)>, initial: Vec<Tensor>) -> Result<Self, Error> {
        let mut inputs = vec![Value::Optional(None); session.graph().inputs.len()];
        let outputs = session.graph().outputs.len();
        let outside = carried.iter().any(|(input, output)| *input >= inputs.len() || *output >= outputs);
        if outside || carried.len() != initial.len() {
            return Err(Error::Input(format!(
                "{} initial tensors do not match the carried (input, output) indices {carried:?}",
                initial.len()
            )));
        }
        for ((index, _), tensor) in carried.iter().zip(initial) {
            inputs[*index] = tensor.into();
        }
        Ok(Self { session, carried, inputs, resident: None })
    }

    /// Notes about the last run.
    pub fn notes(&self) -> &[Note] {
        self.session.notes()
    }

    /// Whether the carried tensors are on the device only, so that the next run uploads none of
    /// them.
    pub fn is_resident(&self) -> bool {
        self.resident.is_some()
    }

    /// Runs the graph on the inputs that are not carried, in order, and returns the outputs that
    /// are not carried.
    pub fn run(&mut self, data: &[Value]) -> Result<Vec<Value>, Error> {
        let indices: Vec<usize> = (0..self.inputs.len()).filter(|&index| !self.carries_input(index)).collect();
        if indices.len() != data.len() {
            let (expected, given) = (indices.len(), data.len());
            return Err(Error::Input(format!("the model takes {expected} inputs, but {given} are given")));
        }
        for (&index, value) in indices.iter().zip(data) {
            self.inputs[index] = value.clone();
        }
        if let Some(outputs) = self.replay()? {
            return Ok(outputs);
        }
        for ((index, _), value) in self.carried.iter().zip(self.state()?) {
            self.inputs[*index] = value;
        }
        // From here on the host has the current state; an error leaves it unchanged.
        self.resident = None;
        let outputs = self.session.run(&self.inputs)?;
        for (input, output) in &self.carried {
            self.inputs[*input] = outputs[*output].clone();
        }
        self.resident = self.record_copies()?;
        let others = outputs.into_iter().enumerate().filter(|(index, _)| !self.carries_output(*index));
        Ok(others.map(|(_, value)| value).collect())
    }

    /// The current carried tensors, read back if they are on the device only.
    pub fn state(&self) -> Result<Vec<Value>, Error> {
        let recording = self.resident.as_ref().and_then(|resident| self.session.recording(&resident.key));
        let tensor = |(input, output): &(usize, usize)| match recording {
            Some(recording) => recording.outputs[*output].download(&self.session.state),
            None => Ok(self.inputs[*input].clone()),
        };
        self.carried.iter().map(tensor).collect()
    }

    fn carries_input(&self, index: usize) -> bool {
        self.carried.iter().any(|(input, _)| *input == index)
    }

    fn carries_output(&self, index: usize) -> bool {
        self.carried.iter().any(|(_, output)| *output == index)
    }

    /// Replays the recording on the state that its last run left on the device; `None` if the state
    /// is not resident or the recording is not valid for the inputs.
    fn replay(&mut self) -> Result<Option<Vec<Value>>, Error> {
        let Some(resident) = &self.resident else { return Ok(None) };
        if self.session.key(&self.inputs).as_ref() != Some(&resident.key) {
            return Ok(None);
        }
        let Some(recording) = self.session.recording(&resident.key) else { return Ok(None) };
        if recording.segment.is_none() || !recording.is_valid_for(&self.inputs) {
            return Ok(None);
        }
        let (state, queue) = (&self.session.state, resident.key.0);
        let copied = state.device.semaphore(0);
        state.device.queue(queue)?.submit(&resident.copies, Submit::new().signal(&copied, 1).label("state"))?;
        recording.upload_inputs(state, &self.inputs, |index| self.carries_input(index))?;
        let in_flight = recording.submit(state, &self.session.graph().name, queue, Some(&copied))?;
        let outputs: Vec<Output> = recording
            .outputs
            .iter()
            .enumerate()
            .filter(|(index, _)| !self.carries_output(*index))
            .map(|(_, output)| output.clone())
            .collect();
        if let Some(in_flight) = in_flight {
            self.session.state.wait(in_flight)?;
        }
        outputs.iter().map(|output| output.download(&self.session.state)).collect::<Result<_, _>>().map(Some)
    }

    /// Records the copies from carried outputs to carried inputs; `None` if the last run left no
    /// recording or one of the tensors is not on the device.
    fn record_copies(&self) -> Result<Option<ResidentState>, Error> {
        let key = self.session.key(&self.inputs);
        let Some((key, recording)) = key.and_then(|key| self.session.recording(&key).map(|recording| (key, recording)))
        else {
            return Ok(None);
        };
        let mut recorder = self.session.state.device.record();
        for (input, output) in &self.carried {
            let is_fixed = recording.fixed_inputs.iter().any(|(index, _)| index == input);
            let (Some(to), Output::Device(from, fact), false) =
                (&recording.inputs[*input], &recording.outputs[*output], is_fixed)
            else {
                return Ok(None);
            };
            let bytes = fact.shape.as_ref().map_or(0, |shape| shape.iter().product::<usize>() as u64 * 4);
            recorder.copy(from.range(0, bytes)?, to.range(0, bytes)?)?;
        }
        Ok(Some(ResidentState { key, copies: recorder.finish()? }))
    }
}
