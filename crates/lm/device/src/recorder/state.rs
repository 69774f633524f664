//! State between recorded commands: work that a later command must do.

use super::ExpertTile;

/// Partial sums of a matrix product that was split along its columns. They are in
/// `Scratch::partial_sums`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartialSums {
    /// How many partial sums each element has.
    pub(crate) count: u32,
    /// Floats between partial sums of an element.
    pub(crate) stride: u32,
}

/// Where the partial sums of a split product are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    /// The product itself, except that sums for the residual stream may be deferred to its next
    /// reader.
    Product,
    /// The caller's next kernel.
    Caller,
    /// None: the product is not split.
    Unsplit,
}

/// A form into which the input of products is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputForm {
    /// 8-bit integers, on the CPU and for packed dot products.
    I8,
    /// 16-bit floats, for matrix units.
    F16,
}

/// Work that the commands recorded so far leave to later ones.
#[derive(Debug, Default)]
pub(super) struct StepState {
    /// Partial sums not yet added to the residual stream; its next reader adds them.
    residual_partials: Option<PartialSums>,
    /// Whether the input of the next products exists in each form. Products with matrices of
    /// several formats may read both.
    is_converted: [bool; 2],
    /// How the pairs of a token and a head are grouped, and the number of heads.
    pub(super) head_tile: Option<(ExpertTile, usize)>,
}

impl StepState {
    /// Defers the addition of a product's partial sums to the next reader of the residual stream,
    /// which must take them.
    pub(super) fn defer_to_residual(&mut self, partials: PartialSums) {
        debug_assert!(self.residual_partials.is_none(), "partial sums of the residual stream are already pending");
        self.residual_partials = Some(partials);
    }

    /// Takes the deferred partial sums; the caller must add them to the residual stream.
    pub(super) fn take_residual_partials(&mut self) -> Option<PartialSums> {
        self.residual_partials.take()
    }

    /// Marks the input as changed: no converted form of it exists.
    pub(super) fn input_changed(&mut self) {
        self.is_converted = [false; 2];
    }

    /// Marks the current input as converted to `form`.
    pub(super) fn input_converted(&mut self, form: InputForm) {
        self.is_converted[form as usize] = true;
    }

    /// Whether the current input has to be converted before a product that reads `form`.
    pub(super) fn needs_conversion(&self, form: InputForm) -> bool {
        !self.is_converted[form as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deferred_partial_sums_are_taken_once() {
        let mut state = StepState::default();
        let partials = PartialSums { count: 2, stride: 64 };
        state.defer_to_residual(partials);
        assert_eq!(state.take_residual_partials(), Some(partials));
        assert_eq!(state.take_residual_partials(), None);
    }

    #[test]
    fn an_input_is_converted_once_to_each_form() {
        let mut state = StepState::default();
        assert!(state.needs_conversion(InputForm::I8));
        state.input_converted(InputForm::I8);
        assert!(!state.needs_conversion(InputForm::I8));
        assert!(state.needs_conversion(InputForm::F16));
        state.input_changed();
        assert!(state.needs_conversion(InputForm::I8));
    }
}
