//! Stress: many threads, and random graphs checked against a sequential model.

use roci_hal::{Buffer, BufferDesc, CommandBuffer, Device, Kernel, Semaphore, Submit};

use super::{accumulated, linear_grid, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult, Failure};
use crate::check::same;
use crate::context::Context;
use crate::random::Random;

const GROUP: &str = "stress";
const THREADS: u64 = 8;
const STEPS: u64 = 250;
/// Words per buffer.
const WORDS: usize = 256;

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "many_threads_submit_thousands_of_batches", many_threads),
    Case::new(GROUP, "random_graphs_match_a_sequential_model", random_graphs),
    Case::new(GROUP, "a_long_chain_is_released_by_one_signal", long_chain),
    Case::new(GROUP, "devices_are_opened_and_closed_repeatedly", devices_are_opened_and_closed_repeatedly),
];

/// The workload of the suite's child processes: a graph with transfers, kernels and semaphores.
pub(crate) fn workload(context: &Context) -> CaseResult {
    (0..5).try_for_each(|seed| graph(context, seed, 100))
}

fn many_threads(context: &Context) -> CaseResult {
    let device = context.open()?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn({
                    let device = &device;
                    move || one_thread(context, device, thread)
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(Failure::Wrong("a submitting thread panicked".into())))
        })
    })
}

/// A chain that copies a value back and forth between two buffers, through scratch memory.
fn one_thread(context: &Context, device: &Device, thread: u64) -> CaseResult {
    let queues = device.info().queues.len();
    let (a, b) = (context.words(device, &[thread as u32; WORDS])?, context.words(device, &[0; WORDS])?);
    let (there, back) = (
        context.record(device, |recorder| recorder.copy(&a, &b).map(drop))?,
        context.record(device, |recorder| recorder.copy(&b, &a).map(drop))?,
    );
    let time = device.semaphore(0);
    for step in 0..STEPS {
        let queue = device.queue((thread + step) as usize % queues)?;
        let next = Submit::new().wait(&time, 2 * step).signal(&time, 2 * step + 1);
        if step % 16 == 15 {
            queue.write(&a, bytemuck::cast_slice(&[(thread + step) as u32; WORDS]).to_vec(), next)?;
        } else {
            queue.submit(&there, next)?;
        }
        queue.submit(&back, Submit::new().wait(&time, 2 * step + 1).signal(&time, 2 * step + 2))?;
    }
    context.wait(&time, 2 * STEPS)?;
    // The write of each step with 15 modulo 16 is overwritten by the copy of the older value.
    same(&format!("thread {thread}"), &context.read_words(device, &a)?, &[thread as u32; WORDS])
}

fn random_graphs(context: &Context) -> CaseResult {
    (0..6).try_for_each(|seed| {
        graph(context, seed, 300).map_err(|failure| Failure::Wrong(format!("seed {seed}: {failure}")))
    })
}

/// One node of a graph, with the buffers it reads and writes.
enum Node {
    Fill { target: usize, pattern: u32 },
    Copy { source: usize, target: usize },
    Add { source: usize, target: usize, value: u32 },
    Accumulate { target: usize, value: u32 },
}

impl Node {
    fn random(random: &mut Random, buffers: usize, kernels: bool) -> Self {
        let target = random.below(buffers);
        let source = (target + 1 + random.below(buffers - 1)) % buffers;
        let value = random.next() as u32;
        match random.below(if kernels { 4 } else { 2 }) {
            0 => Self::Fill { target, pattern: value },
            1 => Self::Copy { source, target },
            2 => Self::Add { source, target, value },
            _ => Self::Accumulate { target, value },
        }
    }

    fn target(&self) -> usize {
        match self {
            Self::Fill { target, .. } | Self::Copy { target, .. } => *target,
            Self::Add { target, .. } | Self::Accumulate { target, .. } => *target,
        }
    }

    /// The buffer it reads in addition to its target.
    fn source(&self) -> Option<usize> {
        match self {
            Self::Copy { source, .. } | Self::Add { source, .. } => Some(*source),
            Self::Fill { .. } | Self::Accumulate { .. } => None,
        }
    }

    /// Applies the node to the model.
    fn apply(&self, model: &mut [Vec<u32>]) {
        match *self {
            Self::Fill { target, pattern } => model[target].fill(pattern),
            Self::Copy { source, target } => model[target] = model[source].clone(),
            Self::Add { source, target, value } => {
                model[target] = model[source].iter().map(|word| word.wrapping_add(value)).collect();
            }
            Self::Accumulate { target, value } => {
                model[target].iter_mut().for_each(|word| *word = accumulated(*word, value));
            }
        }
    }
}

/// The kernels of the nodes, if the backend runs kernels.
struct NodeKernels {
    add: Kernel,
    accumulate: Kernel,
}

/// Submits random nodes in random order, each waiting for exactly the nodes it depends on, and
/// compares the result with the model.
fn graph(context: &Context, seed: u64, nodes: usize) -> CaseResult {
    const BUFFERS: usize = 8;
    let device = context.open()?;
    let mut random = Random::new(seed);
    let kernels = if context.has(Tag::Dispatch) {
        let (add, accumulate) = (context.kernel(&device, "add_constant")?, context.kernel(&device, "accumulate")?);
        Some(NodeKernels { add, accumulate })
    } else {
        None
    };
    let mut model: Vec<_> = (0..BUFFERS).map(|_| random.words(WORDS)).collect();
    let buffers: Vec<_> = model.iter().map(|words| context.words(&device, words)).collect::<Result<_, _>>()?;
    let ends: Vec<_> = (0..nodes).map(|_| device.semaphore(0)).collect();
    let mut writer = [None; BUFFERS];
    let mut readers = vec![Vec::new(); BUFFERS];
    let mut ready = Vec::new();
    for (index, end) in ends.iter().enumerate() {
        let node = Node::random(&mut random, BUFFERS, kernels.is_some());
        let commands = record(context, &device, &node, &buffers, kernels.as_ref())?;
        let target = node.target();
        let mut before: Vec<usize> = writer[target].into_iter().chain(readers[target].drain(..)).collect();
        if let Some(source) = node.source() {
            before.extend(writer[source]);
            readers[source].push(index);
        }
        writer[target] = Some(index);
        let submit = before.iter().fold(Submit::new(), |submit, &earlier| submit.wait(&ends[earlier], 1));
        ready.push((commands, submit.signal(end, 1).label(format!("node {index}"))));
        node.apply(&mut model);
    }
    let queues = device.info().queues.len();
    while !ready.is_empty() {
        let (commands, submit) = ready.swap_remove(random.below(ready.len()));
        device.queue(random.below(queues))?.submit(&commands, submit)?;
    }
    wait_all(context, &ends)?;
    for (index, (buffer, expected)) in buffers.iter().zip(&model).enumerate() {
        same(&format!("buffer {index}"), &context.read_words(&device, buffer)?, expected)?;
    }
    Ok(())
}

fn record(
    context: &Context,
    device: &Device,
    node: &Node,
    buffers: &[Buffer],
    kernels: Option<&NodeKernels>,
) -> Result<CommandBuffer, Failure> {
    let commands = context.record(device, |recorder| {
        match (node, kernels) {
            (Node::Fill { target, pattern }, _) => recorder.fill(&buffers[*target], *pattern)?,
            (Node::Copy { source, target }, _) => recorder.copy(&buffers[*source], &buffers[*target])?,
            (Node::Add { source, target, value }, Some(NodeKernels { add, .. })) => {
                let bindings = [(&buffers[*source]).into(), (&buffers[*target]).into()];
                recorder.dispatch(add, linear_grid(WORDS), &bindings, &params(WORDS, *value))?
            }
            (Node::Accumulate { target, value }, Some(NodeKernels { accumulate, .. })) => recorder.dispatch(
                accumulate,
                linear_grid(WORDS),
                &[(&buffers[*target]).into()],
                &params(WORDS, *value),
            )?,
            (Node::Add { .. } | Node::Accumulate { .. }, None) => recorder,
        };
        Ok(())
    })?;
    Ok(commands)
}

fn wait_all(context: &Context, ends: &[Semaphore]) -> CaseResult {
    for (index, end) in ends.iter().enumerate() {
        context.wait(end, 1).map_err(|error| Failure::Wrong(format!("node {index}: {error}")))?;
    }
    Ok(())
}

fn long_chain(context: &Context) -> CaseResult {
    let device = context.open()?;
    let queues = device.info().queues.len();
    let buffer = context.words(&device, &[0; 16])?;
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 7).map(drop))?;
    let time = device.semaphore(0);
    for step in 1..=3000u64 {
        let submit = Submit::new().wait(&time, step).signal(&time, step + 1);
        device.queue(step as usize % queues)?.submit(&commands, submit)?;
    }
    time.signal(1)?;
    context.wait(&time, 3001)?;
    same("the end of the chain", &context.read_words(&device, &buffer)?, &[7; 16])
}

fn devices_are_opened_and_closed_repeatedly(context: &Context) -> CaseResult {
    for round in 0..20u32 {
        let device = context.open()?;
        let buffer = device.allocate(BufferDesc::device(4096))?;
        let commands = context.record(&device, |recorder| recorder.fill(&buffer, round).map(drop))?;
        let done = device.semaphore(0);
        device.queue(0)?.submit(&commands, Submit::new().signal(&done, 1))?;
        // Every second device is dropped with work in flight; the work must still complete.
        if round % 2 == 0 {
            drop((device, buffer, commands));
        }
        context.wait(&done, 1)?;
    }
    Ok(())
}
