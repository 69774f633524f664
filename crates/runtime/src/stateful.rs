//! A graph that is run again and again, and whose results are in part the inputs of the next run: parameters while a
//! network is trained. They stay on the device.

use roci_graph::{Tensor, Value};
use roci_hal::{CommandBuffer, Submit};

use crate::session::{Key, Session, fetch, write};
use crate::walk::{self, Output};
use crate::{Error, Note};

/// A session with tensors that go from run to run.
pub struct Stateful {
    session: Session,
    /// By tensor: its place among the inputs, and among the outputs.
    carried: Vec<(usize, usize)>,
    /// All inputs: the last ones, and of those that are carried what the host last knew.
    inputs: Vec<Value>,
    /// Where the carried ones are, if they are newer on the device.
    resident: Option<Resident>,
}

/// Tensors that a recording made and the same recording reads next.
struct Resident {
    key: Key,
    /// From where they were made to where they are read.
    copies: CommandBuffer,
}

impl Stateful {
    /// A session whose inputs and outputs at these places are carried from run to run, and what they are at first.
    pub fn new(session: Session, carried: Vec<(usize, usize)>, initial: Vec<Tensor>) -> Result<Self, Error> {
        let mut inputs = vec![Value::Optional(None); session.graph().inputs.len()];
        let outputs = session.graph().outputs.len();
        let outside = carried.iter().any(|(input, output)| *input >= inputs.len() || *output >= outputs);
        if outside || carried.len() != initial.len() {
            let text = format!("{} tensors to carry at the places {carried:?}", initial.len());
            return Err(Error::Input(text));
        }
        for ((place, _), tensor) in carried.iter().zip(initial) {
            inputs[*place] = tensor.into();
        }
        Ok(Self { session, carried, inputs, resident: None })
    }

    /// What there is to know of the last run.
    pub fn notes(&self) -> &[Note] {
        self.session.notes()
    }

    /// Whether the carried tensors are on the device alone, so that the next run hands none of them over.
    pub fn is_resident(&self) -> bool {
        self.resident.is_some()
    }

    /// Runs the graph on the inputs that are not carried, in its order, and gives back the outputs that are not.
    pub fn run(&mut self, data: &[Value]) -> Result<Vec<Value>, Error> {
        let places: Vec<usize> = (0..self.inputs.len()).filter(|&place| !self.carries_input(place)).collect();
        if places.len() != data.len() {
            return Err(Error::Input(format!("{} inputs are given, and {} are wanted", data.len(), places.len())));
        }
        for (&place, value) in places.iter().zip(data) {
            self.inputs[place] = value.clone();
        }
        if let Some(made) = self.replay()? {
            return Ok(made);
        }
        for ((place, _), value) in self.carried.iter().zip(self.state()?) {
            self.inputs[*place] = value;
        }
        // From here on the host knows best; an error leaves it as it was.
        self.resident = None;
        let made = self.session.run(&self.inputs)?;
        for (input, output) in &self.carried {
            self.inputs[*input] = made[*output].clone();
        }
        self.resident = self.settle()?;
        let others = made.into_iter().enumerate().filter(|(place, _)| !self.carries_output(*place));
        Ok(others.map(|(_, value)| value).collect())
    }

    /// What is carried, as it is now.
    pub fn state(&self) -> Result<Vec<Value>, Error> {
        let program = self.resident.as_ref().and_then(|resident| self.session.program(&resident.key));
        let one = |(input, output): &(usize, usize)| match program {
            Some(program) => fetch(&self.session.shelf, &program.outputs[*output]),
            None => Ok(self.inputs[*input].clone()),
        };
        self.carried.iter().map(one).collect()
    }

    fn carries_input(&self, place: usize) -> bool {
        self.carried.iter().any(|(input, _)| *input == place)
    }

    fn carries_output(&self, place: usize) -> bool {
        self.carried.iter().any(|(_, output)| *output == place)
    }

    /// Runs the recording on what the last run of it left; `None` if there is none, or it does not fit.
    fn replay(&mut self) -> Result<Option<Vec<Value>>, Error> {
        let Some(resident) = &self.resident else { return Ok(None) };
        if self.session.key(&self.inputs).as_ref() != Some(&resident.key) {
            return Ok(None);
        }
        let Some(program) = self.session.program(&resident.key) else { return Ok(None) };
        let fits = |(place, tensor): &(usize, Tensor)| self.inputs[*place].tensor().is_ok_and(|given| given == tensor);
        let (Some(recorded), true) = (&program.recorded, program.fixed.iter().all(fits)) else { return Ok(None) };
        let (shelf, queue) = (&self.session.shelf, resident.key.0);
        let moved = shelf.device.semaphore(0);
        shelf.device.queue(queue)?.submit(&resident.copies, Submit::new().signal(&moved, 1).label("state"))?;
        for (place, range) in program.inputs.iter().enumerate() {
            if let Some(range) = range
                && !self.carries_input(place)
            {
                write(shelf, range, &self.inputs[place])?;
            }
        }
        let label = &self.session.graph().name;
        let pending = walk::submit(shelf, recorded, label, queue, Some(&moved))?;
        let outputs: Vec<Output> = program
            .outputs
            .iter()
            .enumerate()
            .filter(|(place, _)| !self.carries_output(*place))
            .map(|(_, output)| output.clone())
            .collect();
        walk::wait(&mut self.session.shelf, pending)?;
        outputs.iter().map(|output| fetch(&self.session.shelf, output)).collect::<Result<_, _>>().map(Some)
    }

    /// After a run: how its results become inputs without the host, if that can be.
    fn settle(&self) -> Result<Option<Resident>, Error> {
        let key = self.session.key(&self.inputs);
        let Some((key, program)) = key.and_then(|key| self.session.program(&key).map(|program| (key, program))) else {
            return Ok(None);
        };
        let mut recorder = self.session.shelf.device.record();
        for (input, output) in &self.carried {
            let decided = program.fixed.iter().any(|(place, _)| place == input);
            let (Some(to), Output::Device(from, fact), false) =
                (&program.inputs[*input], &program.outputs[*output], decided)
            else {
                return Ok(None);
            };
            let bytes = fact.shape.as_ref().map_or(0, |shape| shape.iter().product::<usize>() as u64 * 4);
            recorder.copy(from.range(0, bytes)?, to.range(0, bytes)?)?;
        }
        Ok(Some(Resident { key, copies: recorder.finish()? }))
    }
}
