//! Fits an expression to samples of a dimension.

use crate::DType;
use crate::graph::Dim;

/// The divisors that are tried.
pub(super) const DIVISORS: usize = 32;

/// The parameters of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// The base sizes of a scale.
    Base(usize),
    /// One symbolic dimension is larger than its base.
    Step { scale: usize, symbol: usize, step: usize },
    /// All other dimensions are larger.
    All,
}

/// What is known about a value in a sample.
type InferredType = Option<(DType, Option<Vec<usize>>)>;

/// All samples.
pub(super) struct Samples<'a> {
    /// Names of the symbolic dimensions that vary independently; `None` for one without a name,
    /// whose dependents cannot be expressed.
    names: Vec<Option<&'a str>>,
    samples: Vec<(Sample, Vec<usize>, Vec<InferredType>)>,
}

/// A dimension in every sample that knows it.
struct DimensionSamples<'a> {
    rows: Vec<(Sample, &'a [usize], i128)>,
    names: &'a [Option<&'a str>],
}

impl<'a> Samples<'a> {
    pub(super) fn new(names: Vec<Option<&'a str>>) -> Self {
        Self { names, samples: Vec::new() }
    }

    pub(super) fn push(&mut self, kind: Sample, at: Vec<usize>, types: Vec<InferredType>) {
        self.samples.push((kind, at, types));
    }

    /// The type and dimensions of a value.
    pub(super) fn value(&self, index: usize) -> Option<(DType, Option<Vec<Dim>>)> {
        let mut types = self.samples.iter().filter_map(|(_, _, values)| values[index].as_ref());
        let dtype = types.next()?.0;
        let dims = self.rank(index).map(|rank| {
            (0..rank).map(|axis| self.dimension_samples(index, axis).dim().unwrap_or(Dim::Unknown)).collect()
        });
        Some((dtype, dims))
    }

    /// The rank of a value, if it is the same in all samples that know it.
    fn rank(&self, index: usize) -> Option<usize> {
        let mut shapes = self.samples.iter().filter_map(|(_, _, values)| values[index].as_ref());
        let rank = shapes.next()?.1.as_ref()?.len();
        shapes.all(|(_, shape)| shape.as_ref().is_some_and(|shape| shape.len() == rank)).then_some(rank)
    }

    fn dimension_samples(&self, index: usize, axis: usize) -> DimensionSamples<'_> {
        let rows = self.samples.iter().filter_map(|(kind, at, values)| {
            let size = *values[index].as_ref()?.1.as_ref()?.get(axis)?;
            Some((*kind, &at[..], size as i128))
        });
        DimensionSamples { rows: rows.collect(), names: &self.names }
    }

    /// Symbolic dimensions that alone determine a dimension of one of the first `count` values
    /// whose expression is not found yet.
    pub(super) fn divided(&self, count: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for index in 0..count {
            for axis in 0..self.rank(index).unwrap_or(0) {
                let dimension_samples = self.dimension_samples(index, axis);
                if let (None, [symbol]) = (dimension_samples.dim(), &dimension_samples.varying(1)[..])
                    && !found.contains(symbol)
                {
                    found.push(*symbol);
                }
            }
        }
        found
    }
}

impl DimensionSamples<'_> {
    /// The expression that matches all samples.
    fn dim(&self) -> Option<Dim> {
        (0..3).find_map(|scale| self.sum(scale).or_else(|| self.product(scale)).or_else(|| self.quotient(scale)))
    }

    fn at(&self, expected: Sample) -> Option<(&[usize], i128)> {
        self.rows.iter().find(|row| row.0 == expected).map(|row| (row.1, row.2))
    }

    /// The dimension at the base of a scale, and one step along each symbolic dimension from it;
    /// `None` if samples are missing.
    fn steps(&self, scale: usize) -> Option<(&[usize], i128, Vec<i128>)> {
        let (base, number) = self.at(Sample::Base(scale))?;
        let step = |symbol: usize, step: usize| self.at(Sample::Step { scale, symbol, step }).map(|row| row.1);
        let near = (0..self.names.len()).map(|symbol| step(symbol, 1)).collect::<Option<Vec<_>>>()?;
        let far = (0..self.names.len()).all(|symbol| step(symbol, 13).is_some());
        (far && (base.is_empty() || self.rows.iter().any(|row| row.0 == Sample::All))).then_some((base, number, near))
    }

    /// The symbolic dimensions that the dimension depends on, according to one scale's samples.
    fn varying(&self, scale: usize) -> Vec<usize> {
        let Some((_, number, near)) = self.steps(scale) else { return Vec::new() };
        let far = |symbol: usize| self.at(Sample::Step { scale, symbol, step: 13 }).map(|row| row.1);
        (0..near.len()).filter(|&symbol| near[symbol] != number || far(symbol) != Some(number)).collect()
    }

    /// The names of these symbolic dimensions.
    fn names_of(&self, symbols: &[usize]) -> Option<Vec<&str>> {
        symbols.iter().map(|&symbol| self.names[symbol]).collect()
    }

    fn agrees(&self, expression: impl Fn(&[usize]) -> i128) -> bool {
        self.rows.iter().all(|(_, at, number)| expression(at) == *number)
    }

    /// A sum of multiples, or a constant.
    fn sum(&self, scale: usize) -> Option<Dim> {
        let (base, number, near) = self.steps(scale)?;
        let slopes: Vec<i128> = near.iter().map(|one| one - number).collect();
        let sum = |at: &[usize]| slopes.iter().zip(at).map(|(slope, &at)| slope * at as i128).sum::<i128>();
        let rest = number - sum(base);
        if !self.agrees(|at| sum(at) + rest) {
            return None;
        }
        let used: Vec<usize> = (0..slopes.len()).filter(|&symbol| slopes[symbol] != 0).collect();
        if used.is_empty() {
            return usize::try_from(rest).ok().map(Dim::Known);
        }
        let mut text = String::new();
        for (name, &symbol) in self.names_of(&used)?.iter().zip(&used) {
            let sign = if slopes[symbol] < 0 {
                "-"
            } else if text.is_empty() {
                ""
            } else {
                "+"
            };
            let factor = match slopes[symbol].abs() {
                1 => String::new(),
                other => format!("{other}*"),
            };
            text += &format!("{sign}{factor}{name}");
        }
        Some(Dim::Symbol(text + &offset(rest)))
    }

    fn product(&self, scale: usize) -> Option<Dim> {
        let (base, number, _) = self.steps(scale)?;
        let used = self.varying(scale);
        let product = |at: &[usize]| used.iter().map(|&symbol| at[symbol] as i128).product::<i128>();
        let factor = Some(number / product(base)).filter(|factor| *factor > 0)?;
        if !self.agrees(|at| product(at) * factor) {
            return None;
        }
        let mut parts = self.names_of(&used)?.iter().map(ToString::to_string).collect::<Vec<_>>();
        if factor != 1 {
            parts.insert(0, factor.to_string());
        }
        Some(Dim::Symbol(parts.join("*")))
    }

    /// A quotient, rounded down.
    fn quotient(&self, scale: usize) -> Option<Dim> {
        let [symbol] = self.varying(scale)[..] else { return None };
        let name = self.names[symbol]?;
        // Without all remainders, different quotients are indistinguishable.
        let remainders =
            self.rows.iter().filter(|row| matches!(row.0, Sample::Step { symbol: one, .. } if one == symbol));
        if remainders.count() < 2 * DIVISORS - 1 {
            return None;
        }
        for divisor in 2..=DIVISORS as i128 {
            for more in 0..divisor {
                let floor = |at: &[usize]| (at[symbol] as i128 + more) / divisor;
                let (_, at, number) = self.rows.first()?;
                let rest = number - floor(at);
                if self.agrees(|at| floor(at) + rest) {
                    let text = match more {
                        0 => format!("floor({name}/{divisor})"),
                        more if more == divisor - 1 => format!("ceil({name}/{divisor})"),
                        more => format!("floor(({name}+{more})/{divisor})"),
                    };
                    return Some(Dim::Symbol(text + &offset(rest)));
                }
            }
        }
        None
    }
}

/// The constant term of an expression.
fn offset(number: i128) -> String {
    if number == 0 { String::new() } else { format!("{number:+}") }
}
