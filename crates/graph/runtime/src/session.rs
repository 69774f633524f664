//! A graph on a device.

use std::collections::HashMap;
use std::fmt;

use roci_graph::{Graph, Value, simplify};
use roci_hal::{CodeFormat, Device};

use crate::device_state::{DeviceState, InFlight};
use crate::execution::execute;
use crate::input_checks::{InputCheck, check_inputs, input_checks};
use crate::memory::check_fits;
use crate::recording::{self, Output, RecordedRun, RecordingKey};
use crate::split::{self, SplitCache};
use crate::timing::{Timing, TimingCollector};
use crate::{Error, MemoryUsage, Note, Precision};

/// Constants with fewer elements may be shapes, which stay on the host.
const LARGE_CONSTANT: usize = 1024;

/// A graph on a device, ready for any number of runs.
///
/// The first run with given input shapes records the dispatches; later runs with the same shapes
/// replay the recording.
pub struct Session {
    graph: Graph,
    pub(crate) state: DeviceState,
    recordings: HashMap<RecordingKey, RecordedRun>,
    notes: Vec<Note>,
    input_checks: Vec<InputCheck>,
    split_cache: SplitCache,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("graph", &self.graph.name)
            .field("device", &self.state.info().uri.to_string())
            .field("recordings", &self.recordings.len())
            .field("memory", &self.state.memory)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Creates a session and simplifies the graph. Nothing is uploaded before the first run.
    pub fn new(mut graph: Graph, device: Device) -> Self {
        simplify(&mut graph);
        let is_host = device.info().formats.first() == Some(&CodeFormat::Native);
        let input_checks = input_checks(&graph);
        Self {
            graph,
            state: DeviceState::new(device, is_host),
            recordings: HashMap::new(),
            notes: Vec::new(),
            input_checks,
            split_cache: SplitCache::default(),
        }
    }

    /// Sets the precision of matrix products. Call it before the first run.
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.state.precision = precision;
        self
    }

    /// The simplified graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Notes about the last run.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Device memory that all runs so far allocated.
    pub fn memory(&self) -> MemoryUsage {
        self.state.memory
    }

    /// Runs the graph on inputs, in the graph's order.
    ///
    /// On a logical device of several physical ones, the batch is split over them if every node is
    /// known to compute each row independently.
    pub fn run(&mut self, inputs: &[Value]) -> Result<Vec<Value>, Error> {
        if inputs.len() != self.graph.inputs.len() {
            let (given, expected) = (inputs.len(), self.graph.inputs.len());
            return Err(Error::Input(format!("the model takes {expected} inputs, but {given} are given")));
        }
        check_inputs(&self.input_checks, &self.graph, inputs)?;
        let queues = split::queues(self.state.device.info());
        let Some(shards) = split::shards(&self.graph, inputs, queues.len(), &mut self.split_cache)? else {
            return self.start(inputs, queues[0])?.finish(&mut self.state);
        };
        // Start all shards before waiting for the first.
        let runs = shards
            .iter()
            .zip(&queues)
            .map(|(shard, &queue)| self.start(shard, queue))
            .collect::<Result<Vec<_>, _>>()?;
        let outputs = runs.into_iter().map(|run| run.finish(&mut self.state)).collect::<Result<Vec<_>, _>>()?;
        split::join(&self.graph, outputs)
    }

    /// Runs the graph and measures each dispatch. Fails on a device without timestamps.
    pub fn run_timed(&mut self, inputs: &[Value]) -> Result<(Vec<Value>, Vec<Timing>), Error> {
        self.state.timings = Some(TimingCollector::default());
        let outputs = self.run(inputs);
        let timings = self.state.timings.take().unwrap_or_default();
        outputs.map(|values| (values, timings.into_timings()))
    }

    /// The key of a recording for these inputs on one physical device.
    pub(crate) fn key(&self, inputs: &[Value]) -> Option<RecordingKey> {
        recording::key(inputs, split::queues(self.state.device.info())[0])
    }

    /// The recording of this key, if there is one.
    pub(crate) fn recording(&self, key: &RecordingKey) -> Option<&RecordedRun> {
        self.recordings.get(key)
    }

    /// Starts a run on one queue: replays the recording for these shapes, or calls [`execute`],
    /// which makes one. A replay is in flight when this returns; the first run of given shapes is
    /// finished.
    fn start(&mut self, inputs: &[Value], queue: usize) -> Result<StartedRun, Error> {
        let key = recording::key(inputs, queue);
        if let Some(recording) = key.as_ref().and_then(|key| self.recordings.get(key))
            && recording.is_valid_for(inputs)
        {
            self.notes.clone_from(&recording.notes);
            recording.upload_inputs(&self.state, inputs, |_| false)?;
            let in_flight = recording.submit(&self.state, &self.graph.name, queue, None)?;
            return Ok(StartedRun { outputs: recording.outputs.clone(), in_flight });
        }
        // Weights alone may not fit. Check that before the first upload.
        let weights = self.graph.constants.values().map(|tensor| tensor.len()).filter(|&len| len > LARGE_CONSTANT);
        check_fits(&self.state.device, weights.map(|len| len as u64 * 4).sum())?;
        let executed = execute(&mut self.state, &self.graph, inputs, queue)?;
        self.notes = executed.notes;
        if let (Some(key), Some(recording)) = (key, executed.recording) {
            self.recordings.insert(key, recording);
        }
        Ok(StartedRun { outputs: executed.outputs.into_iter().map(Output::Host).collect(), in_flight: None })
    }
}

/// A run that may still be in flight.
struct StartedRun {
    outputs: Vec<Output>,
    in_flight: Option<InFlight>,
}

impl StartedRun {
    /// Waits for the run and reads its outputs back.
    fn finish(self, state: &mut DeviceState) -> Result<Vec<Value>, Error> {
        if let Some(in_flight) = self.in_flight {
            state.wait(in_flight)?;
        }
        self.outputs.iter().map(|output| output.download(state)).collect()
    }
}
