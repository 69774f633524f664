//! Several residual streams and branches beside attention, with their weights on a device.
//!
//! Blocks read and write the residual stream of `Scratch`, as in other models. All streams are
//! planes of one buffer: a layer copies the prediction of the active one to the residual stream,
//! and corrects all of them by what it has become.

use roci_hal::{BufferDesc, BufferRange, Device};
use roci_kernels::params::LmMixStreams;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{Linear, LowRankBranch, StreamMixing, Streams};

use crate::Error;
use crate::layer::{DeviceLinear, LayerBuilder};
use crate::limits::MAX_ALIGNMENT;
use crate::norms::DeviceNorm;
use crate::pack::GROUP;
use crate::scratch::RowBuffer;
use crate::vectors::row_of;

/// Rows of coefficients of a stream: one for each stream, padded.
const MOST: usize = LmMixStreams::MOST as usize;

/// The residual streams of a model.
pub(crate) struct DeviceStreams {
    /// Projections of the embedding to all streams but the first.
    pub(crate) starts: Vec<DeviceLinear>,
    /// Projections of all streams but the first at the end.
    pub(crate) ends: Vec<DeviceLinear>,
    pub(crate) active: usize,
    /// The streams, then the scaled active one, which is the input of per-layer embeddings.
    pub(crate) planes: Vec<RowBuffer>,
    /// All planes.
    pub(crate) all: BufferRange,
    /// Scores of a token that coefficients depend on.
    pub(crate) scores: RowBuffer,
}

/// How a layer reads and writes the residual streams.
#[derive(Clone)]
pub(crate) struct DeviceStreamMixing {
    pub(crate) router_norm: DeviceNorm,
    pub(crate) router: DeviceLinear,
    /// Constants of the prediction, without those of a step and of the streams' buffer.
    pub(crate) mix: LmMixStreams,
    pub(crate) predict: BufferRange,
    /// Coefficients of the correction, then the factors of the active stream.
    pub(crate) correct: BufferRange,
}

/// A branch beside attention.
#[derive(Clone)]
pub(crate) struct DeviceLowRank {
    pub(crate) down: DeviceLinear,
    pub(crate) up: DeviceLinear,
    pub(crate) post_norm: DeviceNorm,
}

/// Floats of a plane, and of the scores.
fn floats(streams: &Streams, tokens: usize) -> [usize; 2] {
    let embedding = streams.starts.first().map_or(0, |linear| linear.matrix.columns);
    let plane = (tokens * embedding.next_multiple_of(GROUP)).next_multiple_of(MAX_ALIGNMENT);
    [plane, tokens * GROUP]
}

/// Bytes of the buffers on the device, without weights.
pub(crate) fn buffer_bytes(model: &Model, tokens: usize) -> [u64; 2] {
    model.streams.as_ref().map_or([0; 2], |streams| {
        let [plane, scores] = floats(streams, tokens);
        [plane * (streams.starts.len() + 2), scores].map(|floats| 4 * floats as u64)
    })
}

impl DeviceStreams {
    pub(crate) fn new(
        builder: &LayerBuilder<'_>,
        block: &Streams,
        device: &Device,
        tokens: usize,
    ) -> Result<Self, Error> {
        let [plane, scores] = floats(block, tokens);
        let stride = block.starts.first().map_or(0, |linear| linear.matrix.columns).next_multiple_of(GROUP);
        let mut recorder = device.record();
        let mut zeroed = |floats: usize| -> Result<BufferRange, Error> {
            let range = device.allocate(BufferDesc::device(4 * floats as u64).label("scratch"))?.whole();
            recorder.fill(&range, 0)?;
            Ok(range)
        };
        let count = block.starts.len() + 2;
        let (all, scores) = (zeroed(plane * count)?, zeroed(scores)?);
        let done = device.semaphore(0);
        device.queue(0)?.submit(&recorder.finish()?, roci_hal::Submit::new().signal(&done, 1).label("scratch"))?;
        done.wait(1, roci_hal::Deadline::default())?;
        let bytes = 4 * plane as u64;
        let plane = |index: usize| all.range(index as u64 * bytes, bytes);
        let planes = (0..count).map(plane).collect::<Result<Vec<_>, _>>()?;
        let linears = |linears: &[Linear]| -> Result<Vec<_>, Error> {
            linears.iter().map(|linear| builder.linear(linear, 0)).collect()
        };
        Ok(Self {
            starts: linears(&block.starts)?,
            ends: linears(&block.ends)?,
            active: block.active,
            planes: planes.into_iter().map(|range| RowBuffer { range, stride }).collect(),
            all,
            scores: RowBuffer { range: scores, stride: GROUP },
        })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.planes.len() - 1
    }

    /// Floats from a plane to the next one.
    pub(crate) fn plane(&self) -> usize {
        self.all.length() as usize / 4 / self.planes.len()
    }
}

impl LayerBuilder<'_> {
    pub(crate) fn stream_mixing(&self, block: &StreamMixing) -> Result<DeviceStreamMixing, Error> {
        let (count, embedding) = (block.router.matrix.outputs(), block.router.matrix.columns);
        let mut correct = self.coefficients(&block.correct, count)?;
        correct.extend(self.loader.host_floats(&block.correct_scale)?);
        Ok(DeviceStreamMixing {
            router_norm: self.norm(&block.router_norm, embedding)?,
            router: self.exact_linear(&block.router, 0)?,
            mix: LmMixStreams {
                columns: embedding as u32,
                streams: count as u32,
                scale: 1.0 / embedding as f32,
                ..LmMixStreams::default()
            },
            predict: self.loader.padded_floats(self.coefficients(&block.predict, count)?)?,
            correct: self.loader.padded_floats(correct)?,
        })
    }

    /// Rows of coefficients, in groups of one per stream. Groups and rows are padded with zeros.
    fn coefficients(&self, linear: &Linear, count: usize) -> Result<Vec<f32>, Error> {
        let matrix = &linear.matrix;
        let values = self.loader.host_tensor(&matrix.tensor)?;
        let mut floats = Vec::new();
        for output in 0..matrix.outputs() {
            floats.extend(row_of(&values, matrix, output)?);
            floats.resize(floats.len().next_multiple_of(MOST), 0.0);
            if (output + 1).is_multiple_of(count) {
                floats.resize(floats.len().next_multiple_of(MOST * MOST), 0.0);
            }
        }
        Ok(floats)
    }

    pub(crate) fn low_rank(&self, block: &LowRankBranch) -> Result<DeviceLowRank, Error> {
        let post_norm = self.norm(&block.post_norm, block.up.matrix.outputs())?;
        Ok(DeviceLowRank {
            down: self.linear(&block.down, 0)?,
            up: self.linear(&block.up, 0)?,
            // The norm adds to the sum of the residual stream and the other outputs.
            post_norm: DeviceNorm { factor: std::f32::consts::FRAC_1_SQRT_2, ..post_norm },
        })
    }
}
