//! Makes a failing program smaller: drops one statement at a time for as long as the failure stays.

use super::ast::{Program, Stmt};

/// At most this many smaller programs are tried; each may cost a compilation.
const MOST_TRIALS: usize = 400;

/// The smallest program found for which `fails` still holds.
pub(crate) fn run(program: &Program, fails: impl Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut trials = 0;
    // Large pieces first: a loop goes with all that is in it.
    loop {
        let before = count(&best);
        let mut at = 0;
        while at < count(&best) && trials < MOST_TRIALS {
            let mut smaller = best.clone();
            remove(&mut smaller, at);
            trials += 1;
            if fails(&smaller) {
                best = smaller;
            } else {
                at += 1;
            }
        }
        if count(&best) == before || trials >= MOST_TRIALS {
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

/// Removes the statement of that number, in the order of the text.
fn remove(program: &mut Program, wanted: usize) {
    let mut number = 0;
    visit(program, &mut |_| {
        number += 1;
        number - 1 == wanted
    });
}

/// Shows every statement to `drop`, which may have it removed.
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
