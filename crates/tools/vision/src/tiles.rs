//! The grid of tiles that an image is cut into. Rounding decides: the arithmetic is that of
//! llama.cpp.

use roci_gguf::Metadata;

use crate::Error;
use crate::description::check;
use crate::projector::Size;

/// Metadata key: length of the longest side in pixels.
pub(crate) const PREPROCESSED: &str = "clip.vision.preproc_image_size";
/// Metadata key: maximum number of tiles of an image.
pub(crate) const MAX_TILES: &str = "clip.vision.preproc_max_tiles";
/// Maximum number of tiles of an image in a file.
const LIMIT: u32 = 256;
/// Maximum number of tiles per side.
const MAX_SIDE: usize = 16;

/// How images are cut into tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tiling {
    /// The length of the longest side in pixels, and the most tiles per side.
    LongestSide { length: usize, most: usize },
    /// Columns and lines of each possible grid.
    BestGrid(Vec<(usize, usize)>),
}

impl Tiling {
    pub(crate) fn read(metadata: &Metadata, size: Size) -> Result<Option<Self>, Error> {
        match size {
            Size::Square | Size::Dynamic { .. } => Ok(None),
            Size::LongestSide => {
                let length = check(PREPROCESSED, metadata.expect_u32(PREPROCESSED)?)?;
                Ok(Some(Self::LongestSide { length, most: MAX_SIDE }))
            }
            Size::BestGrid => {
                let count = |key: &str, usual: u32| match metadata.get::<u32>(key)?.unwrap_or(usual) {
                    count @ 1..=LIMIT => Ok(count as usize),
                    count => Err(Error::value(key, count, "expected 1 to 256")),
                };
                let least = count("clip.vision.preproc_min_tiles", 1)?;
                let most = count(MAX_TILES, 12)?;
                let lines = |columns: usize| least.div_ceil(columns).max(least)..=most / columns;
                let grids = (least..=most).flat_map(|columns| lines(columns).map(move |lines| (columns, lines)));
                let grids: Vec<(usize, usize)> = grids.collect();
                if grids.is_empty() {
                    let key = "clip.vision.preproc_min_tiles";
                    return Err(Error::value(key, least, "expected a number of tiles that a grid can have"));
                }
                Ok(Some(Self::BestGrid(grids)))
            }
        }
    }

    /// The most tiles that an image can have.
    pub(crate) fn most(&self) -> usize {
        match self {
            Self::LongestSide { most, .. } => most * most,
            Self::BestGrid(grids) => grids.iter().map(|(columns, lines)| columns * lines).max().unwrap_or(0),
        }
    }

    /// Maximum pixels of all tiles of this side together.
    pub(crate) fn max_pixels(&self, tile: usize) -> usize {
        match self {
            Self::LongestSide { length, most } => {
                let side = (*length).min(most * tile).next_multiple_of(tile);
                side.saturating_mul(side)
            }
            Self::BestGrid(_) => self.most().saturating_mul(tile * tile),
        }
    }

    /// Limits the number of tiles of an image, to one at least.
    pub(crate) fn limit(&mut self, tiles: usize) {
        match self {
            Self::LongestSide { most, .. } => *most = (*most).min(tiles.isqrt()).max(1),
            Self::BestGrid(grids) => {
                grids.retain(|(columns, lines)| columns * lines <= tiles);
                if grids.is_empty() {
                    grids.push((1, 1));
                }
            }
        }
    }

    /// Width and height of an image before it is stretched to whole tiles of this side: the shorter
    /// side is even. None if it is not stretched.
    pub(crate) fn before(&self, width: usize, height: usize, tile: usize) -> Option<(usize, usize)> {
        let Self::LongestSide { length, most } = self else { return None };
        let length = (*length).min(most * tile);
        let aspect = width as f64 / height as f64;
        let even = |size: f64| (size as usize).next_multiple_of(2).clamp(1, length);
        Some(if width >= height {
            (length, even(length as f64 / aspect))
        } else {
            (even(length as f64 * aspect), length)
        })
    }

    /// Columns and lines of tiles of this side for an image; none if the overview is enough.
    pub(crate) fn grid(&self, width: usize, height: usize, tile: usize) -> (usize, usize) {
        match self {
            Self::LongestSide { .. } => {
                let (width, height) = self.before(width, height, tile).unwrap_or_default();
                (width.div_ceil(tile), height.div_ceil(tile))
            }
            Self::BestGrid(_) if width <= tile && height <= tile => (0, 0),
            Self::BestGrid(grids) => best_grid(grids, width, height, tile),
        }
    }
}

/// The grid that keeps most pixels of the image, and of such grids the smallest.
fn best_grid(grids: &[(usize, usize)], width: usize, height: usize, tile: usize) -> (usize, usize) {
    let kept = |(columns, lines): (usize, usize)| {
        let [wide, high] = [(columns * tile) as f32 / width as f32, (lines * tile) as f32 / height as f32];
        let scaled = |size: usize| (size as f32 * wide.min(high)) as usize;
        (scaled(width) * scaled(height)).min(width * height)
    };
    let mut best = (0, 0);
    let (mut most, mut wasted) = (0, usize::MAX);
    for &grid in grids {
        let kept = kept(grid);
        let waste = (grid.0 * grid.1 * tile * tile).saturating_sub(kept);
        if kept > most || (kept == most && waste < wasted) {
            (best, most, wasted) = (grid, kept, waste);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_side_decides_the_number_of_tiles() {
        let mut tiling = Tiling::LongestSide { length: 2048, most: 16 };
        assert_eq!(tiling.before(640, 479, 512), Some((2048, 1532)), "the shorter side is even");
        assert_eq!(tiling.before(640, 481, 512), Some((2048, 1540)), "an odd side grows");
        assert_eq!(tiling.grid(640, 480, 512), (4, 3));
        assert_eq!(tiling.grid(480, 640, 512), (3, 4));
        assert_eq!(tiling.grid(1, 100_000, 512), (1, 4), "a strip is not empty");
        tiling.limit(5);
        assert_eq!((tiling.grid(640, 480, 512), tiling.most()), ((2, 2), 4));
    }

    #[test]
    fn the_grid_keeps_the_aspect_ratio() {
        let file = Metadata::new();
        let mut tiling = Tiling::read(&file, Size::BestGrid).expect("defaults").expect("tiles");
        assert_eq!(tiling.grid(448, 448, 448), (0, 0));
        assert_eq!(tiling.grid(896, 448, 448), (2, 1));
        assert_eq!(tiling.grid(600, 1800, 448), (2, 5));
        assert_eq!(tiling.most(), 12);
        tiling.limit(0);
        assert_eq!(tiling.grid(896, 448, 448), (1, 1));
        for (least, most) in [(0, 12), (3, 2), (1, 300)] {
            let keys = ["clip.vision.preproc_min_tiles", "clip.vision.preproc_max_tiles"];
            let file: Metadata = keys.into_iter().zip([least, most].map(roci_gguf::Value::U32)).collect();
            assert!(Tiling::read(&file, Size::BestGrid).is_err(), "{least} {most}");
        }
    }
}
