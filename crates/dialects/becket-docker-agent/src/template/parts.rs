//! The parts of a template.

use serde_json::Value;

use super::functions::Function;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Hole(Expression),
    /// Gives a variable a value.
    Let(String, Expression),
    If(Expression, Vec<Piece>, Vec<Piece>),
    /// The variables are those of the index and the value.
    Range(Vec<String>, Expression, Vec<Piece>, Vec<Piece>),
    With(Expression, Vec<Piece>, Vec<Piece>),
}

/// An expression of an action.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    /// A path from the dot; the dot itself when empty.
    Field(Vec<String>),
    /// A path from a variable; `$` is the whole input.
    Variable(String, Vec<String>),
    Literal(Value),
    Call(Function, Vec<Expression>),
}
