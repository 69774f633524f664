//! Quantization, bit-exact with the Python package `gguf`.

use half::{bf16, f16};

use crate::{Error, Type};

impl Type {
    /// Whether [`quantize`](Self::quantize) supports this type.
    pub fn has_quantizer(self) -> bool {
        use Type::{BF16, F16, F32, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
        matches!(self, F32 | F16 | BF16 | Q4_0 | Q4_1 | Q5_0 | Q5_1 | Q8_0)
    }

    /// Quantizes whole rows of values and appends the blocks.
    ///
    /// # Errors
    /// If the values are not a whole number of blocks, if a block has a value that is not finite or
    /// too large for its scale, or if there is no quantizer for this type.
    pub fn quantize(self, values: &[f32], out: &mut Vec<u8>) -> Result<(), Error> {
        if !values.len().is_multiple_of(self.block_size()) {
            let expected = format!("a multiple of {}", self.block_size());
            return Err(Error::Length { kind: self, unit: "values", got: values.len(), expected });
        }
        match self {
            Self::F32 => out.extend(values.iter().flat_map(|value| value.to_le_bytes())),
            Self::F16 => out.extend(values.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes())),
            Self::BF16 => out.extend(values.iter().flat_map(|value| bf16::from_f32(*value).to_le_bytes())),
            Self::Q4_0 => self.blocks(values, out, |block, out| centered(block, 8, out))?,
            Self::Q4_1 => self.blocks(values, out, |block, out| from_min(block, 15, out))?,
            Self::Q5_0 => self.blocks(values, out, |block, out| centered(block, 16, out))?,
            Self::Q5_1 => self.blocks(values, out, |block, out| from_min(block, 31, out))?,
            Self::Q8_0 => self.blocks(values, out, q8_0)?,
            _ => return Err(Error::NoQuantizer(self)),
        }
        Ok(())
    }

    /// Quantizes block by block. `block` returns `None` if its scale does not fit f16.
    fn blocks(
        self,
        values: &[f32],
        out: &mut Vec<u8>,
        block: impl Fn(&[f32; 32], &mut Vec<u8>) -> Option<()>,
    ) -> Result<(), Error> {
        for (number, values) in values.as_chunks().0.iter().enumerate() {
            if values.iter().all(|value| value.is_finite()) && block(values, out).is_some() {
                continue;
            }
            let (at, value) = max_magnitude(values);
            return Err(Error::Range { kind: self, index: number * 32 + at, value });
        }
        Ok(())
    }
}

/// The first value of maximum magnitude, and its index. NaN counts as larger than any number.
fn max_magnitude(values: &[f32; 32]) -> (usize, f32) {
    let mut most = (0, values[0]);
    for (at, value) in values.iter().enumerate() {
        if value.abs().total_cmp(&most.1.abs()).is_gt() {
            most = (at, *value);
        }
    }
    most
}

/// The reciprocal of the scale, or 0 if the scale is 0.
fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}

/// Appends a scale as f16; `None` if it overflows.
fn put_scale(scale: f32, out: &mut Vec<u8>) -> Option<()> {
    let scale = f16::from_f32(scale);
    out.extend(scale.to_le_bytes());
    scale.is_finite().then_some(())
}

/// Appends codes of four or five bits: the fifth bits first, then the nibbles.
fn put_numbers(numbers: [u8; 32], fifth: bool, out: &mut Vec<u8>) {
    if fifth {
        let bits = numbers.iter().rev().fold(0u32, |bits, number| bits << 1 | u32::from(number >> 4));
        out.extend(bits.to_le_bytes());
    }
    let (first, last) = numbers.split_at(16);
    out.extend(first.iter().zip(last).map(|(first, last)| first & 0xf | last << 4));
}

/// Q4_0 (`half` is 8) and Q5_0 (16): the value of maximum magnitude maps to exactly `-half`.
fn centered(values: &[f32; 32], half: u8, out: &mut Vec<u8>) -> Option<()> {
    let (_, most) = max_magnitude(values);
    let scale = most / -f32::from(half);
    let inverse = inverse(scale);
    put_scale(scale, out)?;
    let numbers = values.map(|value| ((value * inverse + (f32::from(half) + 0.5)) as u8).min(2 * half - 1));
    put_numbers(numbers, half > 8, out);
    Some(())
}

/// Q4_1 (`steps` is 15) and Q5_1 (31): the minimum maps to 0, the maximum to `steps`.
fn from_min(values: &[f32; 32], steps: u8, out: &mut Vec<u8>) -> Option<()> {
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let greatest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let scale = (greatest - least) / f32::from(steps);
    let inverse = inverse(scale);
    put_scale(scale, out)?;
    put_scale(least, out)?;
    let numbers = values.map(|value| (((value - least) * inverse + 0.5) as u8).min(steps));
    put_numbers(numbers, steps > 15, out);
    Some(())
}

fn q8_0(values: &[f32; 32], out: &mut Vec<u8>) -> Option<()> {
    let (_, most) = max_magnitude(values);
    let scale = most.abs() / 127.0;
    let inverse = inverse(scale);
    put_scale(scale, out)?;
    out.extend(values.map(|value| (value * inverse).round() as i8 as u8));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_do_not_fit_are_rejected_by_index() {
        for kind in [Type::Q4_0, Type::Q4_1, Type::Q5_0, Type::Q5_1, Type::Q8_0] {
            for bad in [f32::NAN, f32::INFINITY, 1e30] {
                let mut values = [0.25; 64];
                values[37] = bad;
                let error = kind.quantize(&values, &mut Vec::new()).expect_err("no scale for this");
                assert!(error.to_string().starts_with("value 37 ("), "{error}");
                assert!(error.hint().is_some());
            }
            let error = kind.quantize(&[0.0; 31], &mut Vec::new()).expect_err("no whole block");
            assert_eq!(error.to_string(), format!("31 values of {kind}, expected a multiple of 32"));
        }
        assert!(matches!(Type::Q4_K.quantize(&[0.0; 256], &mut Vec::new()), Err(Error::NoQuantizer(Type::Q4_K))));
        assert!(
            Type::all()
                .filter(|kind| kind.has_quantizer())
                .all(|kind| kind.quantize(&[1.0; 256], &mut Vec::new()).is_ok())
        );
    }

    #[test]
    fn quantization_error_is_at_most_one_step() {
        let values: Vec<f32> = (0..256).map(|at| ((at * 7919) % 509) as f32 / 509.0 - 0.5).collect();
        for (kind, steps) in
            [(Type::Q4_0, 8.0), (Type::Q4_1, 15.0), (Type::Q5_0, 16.0), (Type::Q5_1, 31.0), (Type::Q8_0, 127.0)]
        {
            let mut blocks = Vec::new();
            kind.quantize(&values, &mut blocks).expect("they fit");
            let back = kind.to_f32(&blocks).expect("whole blocks");
            let worst = values.iter().zip(&back).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            // One step, not half: the symmetric types cannot represent the negation of the value of
            // maximum magnitude.
            assert!(worst <= 1.01 / steps, "{kind}: {worst}");
        }
    }
}
