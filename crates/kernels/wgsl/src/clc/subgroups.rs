//! Subgroup operations, native or emulated in work-group memory. The prelude implements both under
//! the same names.

use naga::{CollectiveOperation, Direction, Expression, GatherMode, Handle, Scalar, ScalarKind, SubgroupOperation};

use super::error::Error;
use super::functions::Body;
use super::types::{Leaf, c_scalar, wgsl_scalar};
use super::writer::Parameter;

impl Body<'_, '_> {
    pub(super) fn subgroup_ballot(
        &mut self,
        result: Handle<Expression>,
        predicate: Option<Handle<Expression>>,
    ) -> Result<(), Error> {
        let predicate = match predicate {
            Some(predicate) => self.expression(predicate)?,
            None => "true".to_owned(),
        };
        self.enable("cl_khr_subgroup_ballot");
        let context = self.context();
        self.declare(result, &format!("roci_subgroup_ballot({context}{predicate})"));
        Ok(())
    }

    pub(super) fn subgroup_collective(
        &mut self,
        op: SubgroupOperation,
        collective: CollectiveOperation,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<(), Error> {
        let operation = match op {
            SubgroupOperation::All => "all",
            SubgroupOperation::Any => "any",
            SubgroupOperation::Add => "add",
            SubgroupOperation::Mul => "mul",
            SubgroupOperation::Min => "min",
            SubgroupOperation::Max => "max",
            SubgroupOperation::And => "and",
            SubgroupOperation::Or => "or",
            SubgroupOperation::Xor => "xor",
        };
        let kind = match collective {
            CollectiveOperation::Reduce => "",
            CollectiveOperation::InclusiveScan => "inclusive_",
            CollectiveOperation::ExclusiveScan => "exclusive_",
        };
        if matches!(op, SubgroupOperation::All | SubgroupOperation::Any) {
            let predicate = self.expression(argument)?;
            self.enable("cl_khr_subgroups");
            let context = self.context();
            self.declare(result, &format!("roci_subgroup_{operation}({context}{predicate})"));
            return Ok(());
        }
        // `cl_khr_subgroups` supports only these operations.
        match op {
            SubgroupOperation::Add | SubgroupOperation::Min | SubgroupOperation::Max => {}
            _ => self.enable("cl_khr_subgroup_non_uniform_arithmetic"),
        }
        self.by_lane(&format!("{kind}{operation}"), argument, None, result)
    }

    pub(super) fn subgroup_gather(
        &mut self,
        mode: GatherMode,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<(), Error> {
        let (name, extension, index) = match mode {
            GatherMode::BroadcastFirst => ("broadcast_first", "cl_khr_subgroup_ballot", None),
            GatherMode::Broadcast(index) => ("broadcast", "cl_khr_subgroups", Some(index)),
            GatherMode::Shuffle(index) => ("shuffle", "cl_khr_subgroup_shuffle", Some(index)),
            GatherMode::ShuffleXor(index) => ("shuffle_xor", "cl_khr_subgroup_shuffle", Some(index)),
            GatherMode::ShuffleDown(index) => ("shuffle_down", "cl_khr_subgroup_shuffle_relative", Some(index)),
            GatherMode::ShuffleUp(index) => ("shuffle_up", "cl_khr_subgroup_shuffle_relative", Some(index)),
            GatherMode::QuadBroadcast(index) => ("quad_broadcast", "cl_khr_subgroup_shuffle", Some(index)),
            GatherMode::QuadSwap(direction) => {
                let mask = match direction {
                    Direction::X => "1u",
                    Direction::Y => "2u",
                    Direction::Diagonal => "3u",
                };
                self.enable("cl_khr_subgroup_shuffle");
                return self.by_lane("shuffle_xor", argument, Some(mask.to_owned()), result);
            }
        };
        self.enable(extension);
        let index = match index {
            Some(index) => Some(self.expression(index)?),
            None => None,
        };
        self.by_lane(name, argument, index, result)
    }

    /// Calls `roci_subgroup_NAME_TYPE` on each component. f16 is passed as f32, 16-bit integers as
    /// 32-bit ones.
    fn by_lane(
        &mut self,
        name: &str,
        argument: Handle<Expression>,
        index: Option<String>,
        result: Handle<Expression>,
    ) -> Result<(), Error> {
        let own = self.leaf(argument)?;
        let text = self.expression(argument)?;
        let moved = match own.scalar.kind {
            ScalarKind::Float => own.with(Scalar::F32),
            _ if own.scalar.width == 2 => own.with(Scalar { width: 4, ..own.scalar }),
            _ => own,
        };
        self.enable("cl_khr_subgroups");
        self.writer.wide_subgroups |= moved.scalar.width == 8;
        let text = self.writer.convert_leaf(own, moved.scalar, text);
        let function = format!("roci_subgroup_{name}_{}", wgsl_scalar(moved.scalar));
        let called = self.subgroup_call(&function, moved, text, index);
        let back = self.writer.convert_leaf(moved, own.scalar, called);
        self.declare(result, &back);
        Ok(())
    }

    fn subgroup_call(&mut self, function: &str, leaf: Leaf, text: String, index: Option<String>) -> String {
        let c_type = c_scalar(leaf.scalar);
        let mut parameters = Vec::new();
        let mut arguments = Vec::new();
        if self.writer.emulates_subgroups() {
            parameters.push(Parameter::whole("private const roci_subgroup *"));
            arguments.push("roci_sg".to_owned());
        }
        parameters.push(Parameter::lanes(c_type));
        arguments.push(text);
        if let Some(index) = index {
            parameters.push(Parameter::whole("uint"));
            arguments.push(index);
        }
        self.writer.call_by_lane(function, c_type, leaf.size, &parameters, &arguments)
    }

    /// The first argument of emulated operations: their scratch memory and invocation.
    fn context(&self) -> &'static str {
        if self.writer.emulates_subgroups() { "roci_sg, " } else { "" }
    }

    fn enable(&mut self, extension: &'static str) {
        if !self.writer.emulates_subgroups() && !self.writer.is_amdgcn() {
            self.writer.extensions.insert(extension);
        }
    }
}
