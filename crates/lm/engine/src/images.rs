//! Images in prompts: rows of embeddings in place of tokens.
//!
//! Each row has its own token id, from [`FIRST_IMAGE_TOKEN`] on, beyond every vocabulary. The same
//! image always gets the same ids, and different images get different ids. So prefixes with images
//! are shared like those of text. The device model looks up rows by id.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// The first token id of image rows.
pub const FIRST_IMAGE_TOKEN: u32 = 1 << 31;
/// Bytes of image rows that are kept for later requests with the same images.
const RECENT_BYTES: usize = 64 << 20;
/// Maximum number of images whose ids are remembered.
const MAX_KNOWN: usize = 1 << 16;

/// Positions and attention mask of the rows of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImagePositions {
    /// The same as for text tokens.
    Causal,
    /// Positions as for text tokens; rows of the image attend to each other in the layers that
    /// allow it.
    Bidirectional,
    /// Three rotary positions (M-RoPE): the position of the image, the same plus the line, and the
    /// same plus the column. The position of the text after the image is that of the image plus the
    /// larger side of the grid.
    Grid {
        /// Rows per line of the grid.
        columns: usize,
        /// Lines of the grid.
        lines: usize,
    },
}

/// The rows of an image without token ids.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageRows {
    /// The values of all rows, row by row.
    pub rows: Vec<f32>,
    /// Length of a row.
    pub width: usize,
    /// Positions and attention mask.
    pub positions: ImagePositions,
    /// Texts around and between the rows, in order: each with the number of rows before it.
    pub texts: Vec<(usize, String)>,
}

/// An image as part of prompts.
#[derive(Debug)]
pub struct Image {
    first: u32,
    count: u32,
    content: ImageRows,
}

impl Image {
    /// The token ids of the rows.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = u32> + use<> {
        self.first..self.first + self.count
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Positions and attention mask of the rows.
    pub fn positions(&self) -> ImagePositions {
        self.content.positions
    }

    /// The index of the row with this token id.
    pub fn index(&self, token: u32) -> usize {
        token.saturating_sub(self.first) as usize
    }

    /// Texts around and between the rows, in order: each with the number of rows before it.
    pub fn texts(&self) -> &[(usize, String)] {
        &self.content.texts
    }

    /// The rows around one that no text divides.
    pub fn section(&self, index: usize) -> Range<usize> {
        let cuts = || self.content.texts.iter().map(|(at, _)| *at);
        let start = cuts().filter(|at| *at <= index).max().unwrap_or(0);
        start..cuts().filter(|at| *at > index).min().unwrap_or(usize::MAX).min(self.count())
    }

    /// The values of a row; empty if there is no such row.
    pub fn row(&self, index: usize) -> &[f32] {
        let width = self.content.width;
        self.content.rows.get(index * width..(index + 1) * width).unwrap_or_default()
    }

    /// Number of rows minus the number of rotary positions that the image takes.
    pub fn saved_positions(&self) -> usize {
        match self.content.positions {
            ImagePositions::Grid { columns, lines } => self.count().saturating_sub(columns.max(lines)),
            _ => 0,
        }
    }

    fn is_bidirectional(&self) -> bool {
        self.content.positions == ImagePositions::Bidirectional
    }
}

/// Images that prompts may contain, shared by callers and the model on its device.
#[derive(Debug, Default)]
pub struct Images {
    hashers: [RandomState; 2],
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// First token id and number of rows, by the hash of the content.
    ids: HashMap<[u64; 2], (u32, u32)>,
    /// Live images by their first id.
    live: BTreeMap<u32, Weak<Image>>,
    /// Images that are kept for later requests, oldest first.
    recent: VecDeque<Arc<Image>>,
    /// Number of ids handed out so far.
    used: u32,
}

/// All token ids for image rows are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many images since the model was loaded")]
pub struct OutOfImageTokens;

impl Images {
    /// Returns the image with this content (the bytes of a file). `encode` computes its rows if
    /// they are not known.
    ///
    /// # Errors
    /// Those of `encode`, and [`OutOfImageTokens`] after 2^31 rows.
    pub fn get<E: From<OutOfImageTokens>>(
        &self,
        content: &[u8],
        encode: impl FnOnce() -> Result<ImageRows, E>,
    ) -> Result<Arc<Image>, E> {
        // The keys are random, so that no client can make two images with the same hash.
        let key = [0, 1].map(|at| self.hashers[at].hash_one(content));
        if let Some(image) = self.known.lock().find(key) {
            return Ok(image);
        }
        let content = encode()?;
        Ok(self.known.lock().insert(key, content)?)
    }

    /// The live image that has a row with this id.
    pub fn with_token(&self, token: u32) -> Option<Arc<Image>> {
        let known = self.known.lock();
        let (_, image) = known.live.range(..=token).next_back()?;
        image.upgrade().filter(|image| token - image.first < image.count)
    }
}

impl Known {
    fn find(&mut self, key: [u64; 2]) -> Option<Arc<Image>> {
        let (first, _) = self.ids.get(&key)?;
        let image = self.live.get(first)?.upgrade()?;
        self.keep(&image);
        Some(image)
    }

    fn insert(&mut self, key: [u64; 2], content: ImageRows) -> Result<Arc<Image>, OutOfImageTokens> {
        if let Some(image) = self.find(key) {
            return Ok(image);
        }
        let rows = content.rows.len() / content.width.max(1);
        let count = u32::try_from(rows).map_err(|_| OutOfImageTokens)?;
        let (first, count) = match self.ids.get(&key) {
            Some(&(first, known)) if known == count => (first, count),
            _ => {
                let first = FIRST_IMAGE_TOKEN.checked_add(self.used).ok_or(OutOfImageTokens)?;
                self.used = self
                    .used
                    .checked_add(count)
                    .filter(|_| first.checked_add(count).is_some())
                    .ok_or(OutOfImageTokens)?;
                (first, count)
            }
        };
        if self.ids.len() >= MAX_KNOWN {
            self.ids.clear();
        }
        self.ids.insert(key, (first, count));
        let image = Arc::new(Image { first, count, content });
        self.live.retain(|_, image| image.strong_count() > 0);
        self.live.insert(first, Arc::downgrade(&image));
        self.keep(&image);
        Ok(image)
    }

    /// Keeps an image for later requests, and as many of the previous ones as fit.
    fn keep(&mut self, image: &Arc<Image>) {
        self.recent.retain(|other| other.first != image.first);
        self.recent.push_back(Arc::clone(image));
        let bytes = |image: &Arc<Image>| 4 * image.content.rows.len();
        let mut total: usize = self.recent.iter().map(bytes).sum();
        while total > RECENT_BYTES
            && let Some(oldest) = self.recent.pop_front()
        {
            total -= bytes(&oldest);
        }
    }
}

/// A section of an image in a prompt.
#[derive(Clone, Debug)]
pub(crate) struct PlacedImage {
    start: usize,
    count: usize,
    image: Arc<Image>,
}

impl PlacedImage {
    fn end(&self) -> usize {
        self.start + self.count
    }
}

/// The images of a sequence, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlacedImages(Vec<PlacedImage>);

impl PlacedImages {
    /// Finds the images in a prompt. The error is a token that is neither in the vocabulary nor
    /// part of a complete section of an image.
    pub(crate) fn find(tokens: &[u32], images: &[Arc<Image>], vocabulary: usize) -> Result<Self, u32> {
        let mut placed = Vec::new();
        let mut at = 0;
        while let Some(&token) = tokens.get(at) {
            if (token as usize) < vocabulary {
                at += 1;
                continue;
            }
            let has = |image: &&Arc<Image>| (image.first..image.first + image.count).contains(&token);
            let image = images.iter().find(has).ok_or(token)?;
            let section = image.section(image.index(token));
            let own = image.tokens().skip(section.start).take(section.len());
            let end = at + section.len();
            if !tokens.get(at..end).is_some_and(|tokens| tokens.iter().copied().eq(own)) {
                return Err(token);
            }
            placed.push(PlacedImage { start: at, count: section.len(), image: Arc::clone(image) });
            at = end;
        }
        Ok(Self(placed))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Minimum size of a chunk that holds any one of the bidirectional images.
    pub(crate) fn largest(&self) -> usize {
        self.0.iter().filter(|placed| placed.image.is_bidirectional()).map(|placed| placed.count).max().unwrap_or(0)
    }

    /// Minimum number of tokens of a chunk that starts at `start`: the rest of a bidirectional
    /// image; otherwise 0.
    pub(crate) fn least(&self, start: usize) -> usize {
        let inside = |placed: &&PlacedImage| placed.start <= start && start < placed.end();
        self.0
            .iter()
            .filter(|placed| placed.image.is_bidirectional())
            .find(inside)
            .map_or(0, |placed| placed.end() - start)
    }

    /// Length of a chunk of up to `count` tokens that starts at `start` and does not split a
    /// bidirectional image.
    pub(crate) fn cut(&self, start: usize, count: usize) -> usize {
        let end = start + count;
        let split = |placed: &&PlacedImage| start < placed.start && placed.start < end && end < placed.end();
        self.0
            .iter()
            .filter(|placed| placed.image.is_bidirectional())
            .find(split)
            .map_or(count, |placed| placed.start - start)
    }

    /// How far the images that end before `at` lower the rotary positions.
    pub(crate) fn saved_positions(&self, at: usize) -> u32 {
        self.0.iter().filter(|placed| placed.end() <= at).map(|placed| placed.image.saved_positions() as u32).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, positions: ImagePositions) -> ImageRows {
        ImageRows { rows: (0..2 * count).map(|at| at as f32).collect(), width: 2, positions, texts: Vec::new() }
    }

    fn image(images: &Images, content: &[u8], count: usize, positions: ImagePositions) -> Arc<Image> {
        images.get::<OutOfImageTokens>(content, || Ok(rows(count, positions))).expect("there are ids")
    }

    #[test]
    fn an_image_keeps_its_ids_and_is_encoded_once() {
        let images = Images::default();
        let cat = image(&images, b"cat", 3, ImagePositions::Causal);
        let dog = image(&images, b"dog", 2, ImagePositions::Causal);
        assert!(cat.tokens().all(|token| dog.tokens().all(|other| token != other)));
        let again = images.get::<OutOfImageTokens>(b"cat", || panic!("it is known")).expect("it is known");
        assert!(again.tokens().eq(cat.tokens()));
        let second = dog.tokens().nth(1).expect("two rows");
        let found = images.with_token(second).expect("it is live");
        assert_eq!(found.row(found.index(second)), [2.0, 3.0]);
        assert!(images.with_token(second + 1).is_none());
        assert!(images.with_token(5).is_none());
    }

    #[test]
    fn prompts_have_whole_images() {
        let images = Images::default();
        let cat = image(&images, b"cat", 3, ImagePositions::Bidirectional);
        let prompt: Vec<u32> = [1, 2].into_iter().chain(cat.tokens()).chain([3]).collect();
        let list = [Arc::clone(&cat)];
        let placed = PlacedImages::find(&prompt, &list, 10).expect("the image is whole");
        assert_eq!(placed.largest(), 3);
        assert_eq!([0, 2, 4, 5].map(|start| placed.least(start)), [0, 3, 1, 0]);
        assert_eq!([1, 2, 3, 4, 5, 6].map(|count| placed.cut(0, count)), [1, 2, 2, 2, 5, 6]);
        for wrong in [&prompt[..4], &prompt[3..], &[11], &[1 << 31 | 77]] {
            assert!(PlacedImages::find(wrong, &list, 10).is_err(), "{wrong:?}");
        }
        assert!(PlacedImages::find(&prompt, &[], 10).is_err());
    }

    #[test]
    fn texts_divide_an_image_into_sections() {
        let images = Images::default();
        let texts = [(0, "<"), (2, "|"), (2, "/"), (5, ">")].map(|(at, text)| (at, text.to_owned())).to_vec();
        let content = ImageRows { texts, ..rows(5, ImagePositions::Causal) };
        let cat = images.get::<OutOfImageTokens>(b"cat", || Ok(content)).expect("there are ids");
        assert_eq!([0, 1, 2, 4].map(|index| cat.section(index)), [0..2, 0..2, 2..5, 2..5]);
        let ids: Vec<u32> = cat.tokens().collect();
        let prompt = [&[1], &ids[..2], &[2, 3], &ids[2..], &[4]].concat();
        let placed = PlacedImages::find(&prompt, &[Arc::clone(&cat)], 10).expect("both sections are whole");
        assert_eq!(placed.0.iter().map(|placed| (placed.start, placed.end())).collect::<Vec<_>>(), [(1, 3), (5, 8)]);
        for wrong in [&ids[1..2], &ids[2..4], &[ids[0], 1, ids[1]]] {
            assert!(PlacedImages::find(wrong, &[Arc::clone(&cat)], 10).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn grids_take_fewer_positions_than_rows() {
        let images = Images::default();
        let cat = image(&images, b"cat", 6, ImagePositions::Grid { columns: 3, lines: 2 });
        let prompt: Vec<u32> = [1].into_iter().chain(cat.tokens()).chain([3]).chain(cat.tokens()).collect();
        let placed = PlacedImages::find(&prompt, &[cat], 10).expect("whole images");
        assert_eq!([1, 6, 7, 13, 14].map(|at| placed.saved_positions(at)), [0, 0, 3, 3, 6]);
        assert_eq!(placed.least(2), 0);
    }
}
