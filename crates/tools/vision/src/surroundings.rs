//! Texts around and between the rows of an image.

use crate::projector::Projector;

/// The texts of an image of `rows` rows, each with the number of rows before it. Tiles in a grid of
/// `columns` and `lines` have `tile` rows each, and an overview follows them.
pub(crate) fn texts(
    projector: &Projector,
    (columns, lines): (usize, usize),
    tile: usize,
    rows: usize,
) -> Vec<(usize, String)> {
    let mut texts = vec![(0, projector.around[0].to_owned())];
    for line in 0..lines {
        for column in 0..columns {
            let text = projector.tile.replace("ROW", &(line + 1).to_string());
            texts.push(((line * columns + column) * tile, text.replace("COLUMN", &(column + 1).to_string())));
        }
        if line + 1 < lines {
            texts.push(((line + 1) * columns * tile, projector.line_end.to_owned()));
        }
    }
    texts.push((columns * lines * tile, projector.overview[0].to_owned()));
    texts.push((rows, projector.overview[1].to_owned()));
    texts.push((rows, projector.around[1].to_owned()));
    texts.retain(|(_, text)| !text.is_empty());
    texts
}
