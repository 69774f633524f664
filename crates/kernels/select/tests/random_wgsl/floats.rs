//! Random f32 and f16 expressions whose results have one correct bit pattern.

use super::ast::{Expr, Kind, Lvalue, Root, Scalar, Step, Type, Value};
use super::expressions::unary;
use super::generate::{Generator, WILD, binary, bitcast, builtin, convert, literal, load, word};
use super::random::TAME;

impl Generator {
    /// Any value except NaN, including infinities.
    pub(super) fn wild(&mut self, ty: &Type, depth: usize) -> Expr {
        let path = vec![Step::Index(self.index(16, depth.min(1)))];
        // Functions that use this buffer require the entry point to bind it, which every entry
        // point does.
        let from = load(Lvalue { root: Root::Buffer(WILD), path }, Type::F32);
        let from = self.shaped(ty, from);
        match self.random.below(4) {
            0 => unary("-", from),
            1 => builtin(self.random.name(&["abs", "floor", "ceil", "trunc", "round"]), ty.clone(), vec![from]),
            _ => from,
        }
    }

    pub(super) fn limited(&mut self, value: Expr, limit: f32) -> Expr {
        let ty = value.ty.clone();
        let high = literal(Value::F32(limit));
        let high = self.shaped(&ty, high);
        builtin("clamp", ty, vec![value, unary("-", high.clone()), high])
    }

    /// Normalizes a negative zero to a positive zero.
    fn plain_zero(&mut self, value: Expr) -> Expr {
        let zero = self.zero(&value.ty.clone());
        binary("+", value, zero)
    }

    pub(super) fn float(&mut self, ty: &Type, depth: usize) -> Expr {
        match self.random.below(12) {
            0..=1 => {
                let (a, b) = self.pair(ty, depth);
                let value = binary(self.random.name(&["+", "-", "*"]), a, b);
                self.limited(value, TAME)
            }
            2 => {
                let (a, b) = self.pair(ty, depth);
                let value = builtin("fma", ty.clone(), vec![a, b, self.expr(ty, depth)]);
                self.limited(value, TAME)
            }
            3 => {
                let (a, b) = self.pair(ty, depth);
                let value = builtin(self.random.name(&["min", "max"]), ty.clone(), vec![a, b]);
                self.plain_zero(value)
            }
            4..=5 => {
                let name = self.random.name(&["floor", "ceil", "trunc", "round", "abs", "fract", "sign", "saturate"]);
                let value = builtin(name, ty.clone(), vec![self.runtime(ty, depth)]);
                self.plain_zero(value)
            }
            6 => unary("-", self.runtime(ty, depth)),
            7 => {
                let from = loop {
                    let from = *self.random.pick(&self.scalars);
                    if from != Scalar::F32 {
                        break from;
                    }
                };
                let value = convert(ty.clone(), self.runtime(&ty.with(from), depth));
                self.limited(value, TAME)
            }
            8 => {
                // With the highest exponent bit cleared, every bit pattern is a number below two;
                // some are subnormal.
                let mask = word(0xbfff_ffff);
                let mask = self.shaped(&ty.with(Scalar::U32), mask);
                bitcast(ty.clone(), binary("&", self.runtime(&ty.with(Scalar::U32), depth), mask))
            }
            9 => {
                let value = self.wild(ty, depth);
                self.limited(value, TAME)
            }
            10 => match self.random.below(4) {
                0 => {
                    let (a, b) = self.pair(ty, depth);
                    builtin("step", ty.clone(), vec![a, b])
                }
                1 => {
                    let value = self.runtime(ty, depth);
                    let value = self.limited(value, 60000.0);
                    builtin("quantizeToF16", ty.clone(), vec![value])
                }
                2 => {
                    let member = self.random.name(&["fract", "whole"]);
                    let from = Box::new(self.runtime(ty, depth));
                    self.plain_zero(Expr { ty: ty.clone(), kind: Kind::Member("modf", member, from) })
                }
                _ => {
                    let from = Box::new(self.runtime(ty, depth));
                    self.plain_zero(Expr { ty: ty.clone(), kind: Kind::Member("frexp", "fract", from) })
                }
            },
            _ if *ty == Type::Vector(Scalar::F32, 2) => {
                let halves = binary("&", self.runtime(&Type::U32, depth), word(0xbfff_bfff));
                builtin("unpack2x16float", ty.clone(), vec![halves])
            }
            _ if ty.lanes() > 1 => {
                let value = binary("*", self.runtime(ty, depth), self.runtime(&Type::F32, depth));
                self.limited(value, TAME)
            }
            _ => self.leaf(ty),
        }
    }

    /// f16 operations that never round, because a device without f16 computes in f32.
    pub(super) fn half(&mut self, ty: &Type, depth: usize) -> Expr {
        match self.random.below(4) {
            0 => unary("-", self.runtime(ty, depth)),
            1 => builtin("abs", ty.clone(), vec![self.runtime(ty, depth)]),
            2 => {
                let (a, b) = self.pair(ty, depth);
                let value = builtin(self.random.name(&["min", "max"]), ty.clone(), vec![a, b]);
                self.plain_zero(value)
            }
            _ => {
                let value = self.runtime(&ty.with(Scalar::F32), depth);
                let value = self.limited(value, 60000.0);
                convert(ty.clone(), value)
            }
        }
    }
}
