//! Operations, generated from the tables.

include!(concat!(env!("OUT_DIR"), "/op.rs"));

impl Op {
    /// Mnemonic in lower case without suffix: `v_add_f32`.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Op;

    #[test]
    fn names_are_in_the_order_of_the_variants() {
        assert_eq!(Op::VAddF32.name(), "v_add_f32");
        assert_eq!(Op::GlobalLoadB32.name(), "global_load_b32");
        for (number, op) in Op::ALL.iter().enumerate() {
            assert_eq!(*op as usize, number);
            assert_eq!(format!("{op:?}").to_lowercase(), op.name().replace('_', ""));
        }
    }
}
