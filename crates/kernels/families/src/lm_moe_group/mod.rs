//! `lm_moe_group`: groups pairs of a token and one of its experts by expert.

use roci_tolerance::Tolerance;

use crate::cases::{Case, Element, Random, case, untouched};
use crate::family::{constants, plain, read, write};
use crate::{Family, Params};

constants! {
    /// `lm_moe_group`: assigns pairs of a token and one of its experts to tiles, all of whose pairs
    /// have the same expert. A tile of `tiles` is its expert, then its pairs; places without a pair
    /// are at its end and hold [`Self::NO_PAIR`], as does the expert of a tile without pairs.
    pub struct LmMoeGroup {
        /// Number of pairs.
        pub pairs: u32,
        /// Number of experts.
        pub experts: u32,
        /// Pairs per tile.
        pub tile: u32,
    }
}

impl LmMoeGroup {
    /// In place of a pair.
    pub const NO_PAIR: u32 = u32::MAX;
    /// Pairs that invocations count together; they decide the order within an expert.
    const STEP: usize = 64;

    /// Number of tiles, for any choice of experts.
    pub fn tiles(&self) -> u32 {
        self.pairs / self.tile + self.experts
    }

    /// Words of all tiles.
    pub fn words(&self) -> usize {
        self.tiles() as usize * (self.tile as usize + 1)
    }

    /// The tiles of an expert, and what the kernel writes there.
    pub fn tiles_of(&self, expert: u32, selected: &[u32]) -> (usize, Vec<u32>) {
        let selected = &selected[..selected.len().min(self.pairs as usize)];
        let of = |pair: usize| selected[pair].min(self.experts.saturating_sub(1));
        let tile = self.tile.max(1) as usize;
        let before = (0..selected.len()).filter(|&pair| of(pair) < expert).count();
        let lanes = (0..Self::STEP).flat_map(|lane| (lane..selected.len()).step_by(Self::STEP));
        let own: Vec<u32> = lanes.filter(|&pair| of(pair) == expert).map(|pair| pair as u32).collect();
        let count = (before + own.len()) / tile + 1 - before / tile;
        let mut words = vec![Self::NO_PAIR; count * (tile + 1)];
        for (place, pair) in own.into_iter().enumerate() {
            let start = place / tile * (tile + 1);
            words[start] = expert;
            words[start + 1 + place % tile] = pair;
        }
        (before / tile + expert as usize, words)
    }

    /// All tiles.
    pub fn group(&self, selected: &[u32]) -> Vec<u32> {
        (0..self.experts).flat_map(|expert| self.tiles_of(expert, selected).1).collect()
    }
}

impl Params for LmMoeGroup {
    fn grid(&self) -> [u32; 3] {
        [self.experts, 1, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_moe_group.wgsl",
    text: include_str!("lm_moe_group.wgsl"),
    entry: "lm_moe_group",
    variants: &[plain("lm_moe_group")],
    bindings: &[read("selected"), write("tiles")],
    constants: LmMoeGroup::CONSTANTS,
    workgroup: [64, 1, 1],
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |pairs: u32, experts: u32, tile: u32, used: u32| {
        let params = LmMoeGroup { pairs, experts, tile };
        // Some experts have no pairs.
        let selected = (0..pairs).map(|_| random.word() % used).collect();
        let buffers = vec![selected, untouched(params.words())];
        let label = format!("{pairs} pairs of {experts} experts in tiles of {tile}");
        case(params, buffers, Element::Word, Tolerance::Exact, label)
    };
    vec![make(4, 4, 8, 2), make(90, 3, 16, 3), make(300, 128, 8, 100), make(256, 5, 32, 1), make(131, 9, 64, 9)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_in_one_tile_of_its_expert() {
        for (pairs, experts, tile) in [(1, 1, 8), (7, 3, 8), (16, 2, 8), (100, 7, 16), (640, 128, 32), (65, 4, 64)] {
            let params = LmMoeGroup { pairs, experts, tile };
            for stride in [1, 3, experts] {
                let selected: Vec<u32> = (0..pairs).map(|pair| pair * stride % experts).collect();
                let tiles = params.group(&selected);
                assert_eq!(tiles.len(), params.words(), "{params:?}");
                let mut found = Vec::new();
                for words in tiles.chunks_exact(tile as usize + 1) {
                    let own: Vec<u32> =
                        words[1..].iter().copied().filter(|&pair| pair != LmMoeGroup::NO_PAIR).collect();
                    assert_eq!(words[1..1 + own.len()], own, "places without a pair are last");
                    assert_eq!(own.is_empty(), words[0] == LmMoeGroup::NO_PAIR);
                    assert!(own.iter().all(|&pair| selected[pair as usize] == words[0]), "{params:?}");
                    found.extend(own);
                }
                found.sort_unstable();
                assert_eq!(found, (0..pairs).collect::<Vec<_>>(), "{params:?}");
            }
        }
    }
}
