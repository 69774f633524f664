//! Reduces a failing program: removes one statement at a time as long as the failure persists.

use super::ast::{Program, Stmt};

/// Limit on tried programs; each may need a compilation.
const MAX_TRIALS: usize = 400;

/// The smallest program found for which `fails` still holds.
pub(crate) fn run(program: &Program, fails: impl Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut trials = 0;
    // Statements in source order, so that an outer loop is removed before its body.
    loop {
        let before = count(&best);
        let mut at = 0;
        while at < count(&best) && trials < MAX_TRIALS {
            let mut smaller = best.clone();
            remove(&mut smaller, at);
            trials += 1;
            if fails(&smaller) {
                best = smaller;
            } else {
                at += 1;
            }
        }
        if count(&best) == before || trials >= MAX_TRIALS {
            return best;
        }
    }
}

fn count(program: &Program) -> usize {
    let mut total = 0;
    visit(&mut program.clone(), &mut |_| {
        total += 1;
        false
    });
    total
}

/// Removes the statement with this index, in source order.
fn remove(program: &mut Program, expected: usize) {
    let mut number = 0;
    visit(program, &mut |_| {
        number += 1;
        number - 1 == expected
    });
}

/// Calls `drop` for every statement and removes those for which it returns true.
fn visit(program: &mut Program, drop: &mut impl FnMut(&Stmt) -> bool) {
    visit_block(&mut program.body, drop);
    program.functions.iter_mut().for_each(|function| visit_block(&mut function.body, drop));
}

fn visit_block(body: &mut Vec<Stmt>, drop: &mut impl FnMut(&Stmt) -> bool) {
    body.retain_mut(|statement| {
        if drop(statement) {
            return false;
        }
        match statement {
            Stmt::If(_, accept, reject) => {
                visit_block(accept, drop);
                visit_block(reject, drop);
            }
            Stmt::Switch(_, cases) => cases.iter_mut().for_each(|(_, body)| visit_block(body, drop)),
            Stmt::For(_, _, body) | Stmt::While(_, body) | Stmt::Block(body) => visit_block(body, drop),
            Stmt::Loop(body, continuing, _) => {
                visit_block(body, drop);
                visit_block(continuing, drop);
            }
            _ => {}
        }
        true
    });
}
