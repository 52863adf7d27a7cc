//! Inserts depth checks into a filter, wherever it could go on without end: at the start of every definition and of
//! every argument, after every step of a loop, and after everything that puts values into others.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::path::{Part, Path};

/// The name of the check. No filter can define or call a name like that.
pub(crate) const CHECK: &str = "!check";

type Syntax<'s> = Term<&'s str>;

/// A definition with its checks.
pub(crate) fn definition(definition: Def<&str>) -> Def<&str> {
    Def {
        // In front, so that a call at the end is still a tail call.
        body: pipe(check(), term(definition.body)),
        ..definition
    }
}

fn check<'s>() -> Syntax<'s> {
    Term::Call(CHECK, Vec::new())
}

fn pipe<'s>(left: Syntax<'s>, right: Syntax<'s>) -> Syntax<'s> {
    Term::BinOp(Box::new(left), BinaryOp::Pipe(None), Box::new(right))
}

fn boxed<'s>(mut inner: Box<Syntax<'s>>) -> Box<Syntax<'s>> {
    *inner = term(std::mem::take(&mut inner));
    inner
}

fn term<'s>(syntax: Syntax<'s>) -> Syntax<'s> {
    match syntax {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) => syntax,
        Term::Str(format, parts) => Term::Str(format, parts.into_iter().map(text).collect()),
        Term::Arr(inner) => pipe(Term::Arr(inner.map(boxed)), check()),
        Term::Obj(fields) => {
            let fields = fields.into_iter();
            let checked = fields.map(|(key, value)| (term(key), value.map(term)));
            pipe(Term::Obj(checked.collect()), check())
        }
        Term::Neg(inner) => Term::Neg(boxed(inner)),
        Term::BinOp(left, operator, right) => operation(boxed(left), operator, boxed(right)),
        Term::Label(name, inner) => Term::Label(name, boxed(inner)),
        Term::Fold(kind, over, into, mut steps) => {
            steps = steps.into_iter().map(term).collect();
            if let Some(update) = steps.get_mut(1) {
                *update = pipe(std::mem::take(update), check());
            }
            Term::Fold(kind, boxed(over), pattern(into), steps)
        }
        Term::TryCatch(inner, catch) => Term::TryCatch(boxed(inner), catch.map(boxed)),
        Term::IfThenElse(branches, otherwise) => {
            let branches = branches.into_iter();
            let checked = branches.map(|(condition, then)| (term(condition), term(then)));
            Term::IfThenElse(checked.collect(), otherwise.map(boxed))
        }
        Term::Def(definitions, inner) => {
            Term::Def(definitions.into_iter().map(definition).collect(), boxed(inner))
        }
        Term::Call(name, arguments) => Term::Call(name, arguments.into_iter().map(argument).collect()),
        Term::Path(from, Path(parts)) => {
            let parts = parts.into_iter();
            let checked = parts.map(|(part, optional)| (path_part(part), optional));
            Term::Path(boxed(from), Path(checked.collect()))
        }
    }
}

/// An argument with its checks: it may call the argument that it was made of, and so on.
fn argument<'s>(syntax: Syntax<'s>) -> Syntax<'s> {
    match syntax {
        Term::Id | Term::Recurse | Term::Num(_) => syntax,
        other => pipe(check(), term(other)),
    }
}

fn operation<'s>(left: Box<Syntax<'s>>, operator: BinaryOp<&'s str>, right: Box<Syntax<'s>>) -> Syntax<'s> {
    match operator {
        BinaryOp::Pipe(Some(into)) => Term::BinOp(left, BinaryOp::Pipe(Some(pattern(into))), right),
        BinaryOp::Assign | BinaryOp::Update | BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt => {
            pipe(Term::BinOp(left, operator, right), check())
        }
        _ => Term::BinOp(left, operator, right),
    }
}

fn text<'s>(part: StrPart<&'s str, Syntax<'s>>) -> StrPart<&'s str, Syntax<'s>> {
    match part {
        StrPart::Term(inner) => StrPart::Term(term(inner)),
        other => other,
    }
}

fn pattern(into: Pattern<&str>) -> Pattern<&str> {
    match into {
        Pattern::Var(name) => Pattern::Var(name),
        Pattern::Arr(items) => Pattern::Arr(items.into_iter().map(pattern).collect()),
        Pattern::Obj(fields) => {
            let fields = fields.into_iter();
            Pattern::Obj(fields.map(|(key, inner)| (term(key), pattern(inner))).collect())
        }
    }
}

fn path_part<'s>(part: Part<Syntax<'s>>) -> Part<Syntax<'s>> {
    match part {
        Part::Index(index) => Part::Index(term(index)),
        Part::Range(from, to) => Part::Range(from.map(term), to.map(term)),
    }
}
