//! Matrix products: register tiles, packing, blocks of one thread.

mod block;
mod panel;
mod tile;

pub use block::{Block, GemmElement};
pub use panel::{PANEL_ROWS, PanelTile, pack_columns};
pub use tile::{A_STRIDE, DEPTH, PANEL, Tile, convert, pack_panels, pack_rows};
