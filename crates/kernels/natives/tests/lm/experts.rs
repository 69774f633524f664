//! Products with experts are bit-identical to products with each expert's matrix.

use roci_families::LmExpertsPacked;

use super::*;

/// Experts of one type, each with two matrices, packed and as in a file.
struct Experts {
    kind: Type,
    rows: usize,
    columns: usize,
    experts: usize,
    /// The packed matrices, expert by expert.
    packed: Vec<u32>,
    /// The first matrices of all experts, then the second ones, as in a file, after 32 other bytes.
    file: Vec<u8>,
    bias: Vec<f32>,
    scales: Vec<f32>,
}

impl Experts {
    fn new(kind: Type, rows: usize, columns: usize, experts: usize) -> Experts {
        let mut random = Rng::with_seed(kind.id().into());
        let mut file = vec![0xa5; 32];
        let sources: Vec<Vec<u8>> = (0..2 * experts).map(|_| matrix(kind, rows * columns, &mut random)).collect();
        sources.iter().for_each(|source| file.extend_from_slice(source));
        let both = (0..experts).flat_map(|expert| [&sources[expert], &sources[experts + expert]]);
        let packed = both.flat_map(|source| packed(kind, source, [rows, columns])).collect();
        let bias = (0..2 * experts * rows).map(|_| unit(&mut random)).collect();
        let scales = (0..2 * experts).map(|_| 0.5 + random.f32()).collect();
        Experts { kind, rows, columns, experts, packed, file, bias, scales }
    }

    fn matrix_bytes(&self) -> usize {
        lm_cpu::packed_bytes(self.kind, self.rows, self.columns).expect("the type can be packed")
    }

    /// The constants of a product, packed or in place.
    fn constants(&self, pairs: usize, sharing: usize, flags: u32) -> LmExpertsPacked {
        let unit = LmExpertsPacked::UNIT as usize;
        let (starts, steps) = if flags & LmExpertsPacked::IN_PLACE == 0 {
            ([0, self.matrix_bytes() / unit], [2 * self.matrix_bytes() / unit; 2])
        } else {
            let bytes = (self.file.len() - 32) / (2 * self.experts);
            ([32 / unit, (32 + self.experts * bytes) / unit], [bytes / unit; 2])
        };
        LmExpertsPacked {
            rows: self.rows as u32,
            columns: self.columns as u32,
            pairs: pairs as u32,
            experts: self.experts as u32,
            sharing: sharing as u32,
            matrices: 2,
            format: self.kind.id(),
            x_stride: self.columns as u32,
            y_stride: 2 * self.rows as u32 + 3,
            y_offset: 1,
            flags,
            starts: starts.map(|start| start as u32),
            steps: steps.map(|step| step as u32),
        }
    }

    /// Results of both matrices for all pairs.
    fn run(&mut self, level: Level, x: &mut [f32], ids: &mut [u32], sharing: usize, flags: u32) -> Vec<f32> {
        let p = self.constants(ids.len(), sharing, flags);
        let mut y = vec![0.25; ids.len() * p.y_stride as usize];
        let mut whole = self.activations(level, x);
        let w = if flags & LmExpertsPacked::IN_PLACE == 0 { bound(&mut self.packed) } else { bound(&mut self.file) };
        let x = if self.kind.is_quantized() { bound(&mut whole) } else { bound(x) };
        let bindings = [w, x, bound(ids), bound(&mut self.bias), bound(&mut self.scales), bound(&mut y)];
        launch(level, "lm_experts_packed", &bindings, &p, 3).expect("the launch is valid");
        y
    }

    fn activations(&self, level: Level, x: &mut [f32]) -> Vec<u32> {
        let tokens = (x.len() / self.columns) as u32;
        if self.kind.is_quantized() { quantized(level, x, tokens, self.columns as u32, 2) } else { Vec::new() }
    }

    /// The same results from one product per pair and matrix.
    fn expected(&mut self, level: Level, x: &mut [f32], ids: &[u32], sharing: usize, flags: u32) -> Vec<f32> {
        let stride = 2 * self.rows + 3;
        let mut y = vec![0.25; ids.len() * stride];
        for (pair, y) in y.chunks_mut(stride).enumerate() {
            let x = &mut x[pair / sharing * self.columns..][..self.columns];
            let mut whole = self.activations(level, x);
            for matrix in 0..2 {
                let at = 2 * (ids[pair] as usize).min(self.experts - 1) + matrix;
                let p = LmMatmulPacked {
                    rows: self.rows as u32,
                    columns: self.columns as u32,
                    tokens: 1,
                    format: self.kind.id(),
                    flags: flags & (LmMatmulPacked::BIAS | LmMatmulPacked::SCALED),
                    scale: self.scales[at],
                    ..LmMatmulPacked::default()
                };
                let words = self.matrix_bytes() / 4;
                let w = bound(&mut self.packed[at * words..][..words]);
                let bias = bound(&mut self.bias[at * self.rows..][..self.rows]);
                let x = if self.kind.is_quantized() { bound(&mut whole) } else { bound(x) };
                let y = bound(&mut y[1 + matrix * self.rows..][..self.rows]);
                launch(level, "lm_matmul_packed", &[w, x, bias, y], &p, 1).expect("the launch is valid");
            }
        }
        y
    }
}

/// Expert ids, the last of which is out of range.
fn ids(pairs: usize, random: &mut Rng) -> Vec<u32> {
    (0..pairs).map(|_| random.u32(0..8)).map(|id| if id == 7 { u32::MAX } else { id % 6 }).collect()
}

#[test]
fn experts_match_products_with_each_matrix() {
    for kind in types() {
        let mut random = Rng::with_seed(5);
        for rows in [37, 48] {
            let mut experts = Experts::new(kind, rows, 512, 6);
            let in_place = lm_cpu::row_decoded_in_place(kind, 512).is_some() && rows.is_multiple_of(lm_cpu::ROWS);
            assert_eq!(in_place, kind.is_quantized() && rows == 48, "{kind}");
            // A single token with several experts, a row per pair, and a batch.
            for (tokens, sharing) in [(1, 4), (5, 1), (23, 3)] {
                let mut x: Vec<f32> = (0..tokens * 512).map(|_| unit(&mut random)).collect();
                let mut ids = ids(tokens * sharing, &mut random);
                for (number, level) in levels() {
                    let mut flags = vec![0, LmExpertsPacked::BIAS];
                    flags.extend(kind.has_code_groups().then_some(LmExpertsPacked::SCALED));
                    for flags in flags {
                        let what = format!("{kind}, {rows} rows, {tokens} tokens, flags {flags}, {number} {level}");
                        let expected = experts.expected(level, &mut x, &ids, sharing, flags);
                        assert_eq!(experts.run(level, &mut x, &mut ids, sharing, flags), expected, "{what}");
                        if in_place {
                            let flags = flags | LmExpertsPacked::IN_PLACE;
                            assert_eq!(experts.run(level, &mut x, &mut ids, sharing, flags), expected, "{what}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn invalid_launches_of_experts_are_rejected() {
    let mut experts = Experts::new(Type::Q4_0, 16, 32, 2);
    let p = LmExpertsPacked { y_stride: 32, y_offset: 0, ..experts.constants(4, 2, 0) };
    let (mut x, mut ids, mut y) = (vec![0_u32; 2 * 15], [0_u32; 4], vec![0.0_f32; 4 * 32]);
    experts.bias.truncate(63);
    let mut run = |p: LmExpertsPacked| {
        let (w, bias, scales) = (&mut experts.packed, &mut experts.bias, &mut experts.scales);
        let bindings = [bound(w), bound(&mut x), bound(&mut ids), bound(bias), bound(scales), bound(&mut y)];
        launch(Level::best(), "lm_experts_packed", &bindings, &p, 1)
    };
    assert_eq!(run(p), Ok(1));
    assert_eq!(run(LmExpertsPacked { pairs: 0, ..p }), Ok(0));
    for (wrong, word) in [
        (LmExpertsPacked { experts: 3, ..p }, "`w`"),
        (LmExpertsPacked { starts: [0, u32::MAX], ..p }, "`w`"),
        (LmExpertsPacked { rows: 17, ..p }, "overlap"),
        (LmExpertsPacked { sharing: 1, ..p }, "`x`"),
        (LmExpertsPacked { pairs: 5, sharing: 3, ..p }, "`ids`"),
        (LmExpertsPacked { flags: LmExpertsPacked::BIAS, ..p }, "`bias`"),
        (LmExpertsPacked { flags: LmExpertsPacked::SCALED, ..p }, "no scale"),
        (LmExpertsPacked { y_stride: 33, ..p }, "`y`"),
        (LmExpertsPacked { y_offset: 1, ..p }, "`y`"),
        (LmExpertsPacked { y_stride: 31, ..p }, "overlap"),
        (LmExpertsPacked { columns: 31, ..p }, "multiple of 32"),
        (LmExpertsPacked { matrices: 3, ..p }, "3 matrices"),
        (LmExpertsPacked { sharing: 0, ..p }, "0 pairs per row"),
        (LmExpertsPacked { experts: 0, ..p }, "0 experts"),
        (LmExpertsPacked { format: 999, ..p }, "type 999"),
        (LmExpertsPacked { flags: LmExpertsPacked::IN_PLACE, rows: 15, ..p }, "cannot be in place"),
        (LmExpertsPacked { flags: LmExpertsPacked::IN_PLACE, format: Type::F32.id(), ..p }, "must be packed"),
    ] {
        let error = run(wrong).expect_err("the launch is invalid");
        assert!(error.contains(word), "{wrong:?}: {error}");
    }
}
