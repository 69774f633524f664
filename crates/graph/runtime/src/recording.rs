//! A recorded run, replayed for inputs of the same shapes.

use roci_graph::{Fact, OpError, Tensor, Value};
use roci_hal::{BufferRange, Semaphore};

use crate::device_state::{DeviceState, InFlight};
use crate::segment::RecordedSegment;
use crate::{Error, Note};

/// What a recording is valid for: the queue that it is submitted to, and the shapes of the inputs.
pub(crate) type RecordingKey = (usize, Vec<Vec<usize>>);

/// The key of a recording for these inputs; `None` if one of them is not a tensor.
pub(crate) fn key(inputs: &[Value], queue: usize) -> Option<RecordingKey> {
    let shape = |value: &Value| value.tensor().ok().map(|tensor| tensor.shape().to_vec());
    inputs.iter().map(shape).collect::<Option<_>>().map(|shapes| (queue, shapes))
}

/// An output of a recorded run.
#[derive(Clone)]
pub(crate) enum Output {
    /// The same in every replay.
    Host(Value),
    /// Written by the replay.
    Device(BufferRange, Fact),
}

impl Output {
    /// Reads the output back to the host.
    pub(crate) fn download(&self, state: &DeviceState) -> Result<Value, Error> {
        match self {
            Self::Host(value) => Ok(value.clone()),
            Self::Device(range, fact) => {
                state.download(range, fact).map(Value::from).map_err(|error| Error::Input(format!("{error:?}")))
            }
        }
    }
}

/// A run that was recorded in one segment and can be replayed.
pub(crate) struct RecordedRun {
    /// `None` if the run has no dispatches.
    pub(crate) segment: Option<RecordedSegment>,
    /// Where the recording reads each input; `None` if it does not.
    pub(crate) inputs: Vec<Option<BufferRange>>,
    /// Inputs whose elements decided what was recorded, by index, with those elements.
    pub(crate) fixed_inputs: Vec<(usize, Tensor)>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) notes: Vec<Note>,
}

impl RecordedRun {
    /// Whether a replay is valid for these inputs, whose shapes match.
    pub(crate) fn is_valid_for(&self, inputs: &[Value]) -> bool {
        self.fixed_inputs.iter().all(|(index, tensor)| inputs[*index].tensor().is_ok_and(|given| given == tensor))
    }

    /// Uploads the inputs that the recording reads, except those that `skip` names by index.
    pub(crate) fn upload_inputs(
        &self,
        state: &DeviceState,
        inputs: &[Value],
        skip: impl Fn(usize) -> bool,
    ) -> Result<(), Error> {
        let invalid = |error: OpError| Error::Input(error.to_string());
        for (index, (range, value)) in self.inputs.iter().zip(inputs).enumerate() {
            if let Some(range) = range
                && !skip(index)
            {
                state.write(range, value.tensor().map_err(invalid)?)?;
            }
        }
        Ok(())
    }

    /// Submits the recording by [`DeviceState::submit`], after a semaphore if one is given; `None`
    /// if it has no dispatches.
    pub(crate) fn submit(
        &self,
        state: &DeviceState,
        label: &str,
        queue: usize,
        after: Option<&Semaphore>,
    ) -> Result<Option<InFlight>, Error> {
        self.segment.as_ref().map(|segment| state.submit(segment, label, queue, after)).transpose()
    }
}
