//! A program after expansion: no names, no macros, only what is computed from which variables.

use crate::place::SourcePlace;
use crate::value::{Symbol, Value};

/// A variable of a procedure, as an index into the unit's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Var(pub u32);

/// What is known about a variable.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: Symbol,
    /// Whether `set!` changes the variable.
    pub assigned: bool,
    /// How often the variable is mentioned; `called` is how often as the operator of a call.
    pub mentioned: u32,
    pub called: u32,
}

/// An expression.
#[derive(Debug)]
pub enum Expr {
    Constant(Value),
    Local(Var),
    Global(u32, SourcePlace),
    SetLocal(Var, Box<Expr>),
    SetGlobal(u32, Box<Expr>, SourcePlace),
    Define(u32, Box<Expr>),
    If(Box<(Expr, Expr, Expr)>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// The value of the first clause whose test holds, or else of the last expression.
    Cond(Vec<Clause>, Box<Expr>),
    Lambda(Box<Procedure>),
    Sequence(Vec<Expr>),
    Let(Box<Let>),
    /// Definitions and expressions in order; all variables are visible to all of them.
    Body(Box<Body>),
    Call(Box<Call>),
}

/// A clause of `cond`.
#[derive(Debug)]
pub struct Clause {
    pub test: Expr,
    pub then: Then,
}

/// The consequence of a clause whose test holds.
#[derive(Debug)]
pub enum Then {
    /// The value of the clause is that of the test.
    Test,
    Value(Expr),
    /// `=>`: calls this with the value of the test.
    Call(Expr, SourcePlace),
}

/// Variables that are visible to the body only.
#[derive(Debug)]
pub struct Let {
    pub bindings: Vec<(Var, Expr)>,
    pub body: Expr,
}

/// A body with definitions.
#[derive(Debug)]
pub struct Body {
    pub items: Vec<Item>,
    pub result: Expr,
}

/// A part of a body before the last expression.
#[derive(Debug)]
pub enum Item {
    Define(Var, Expr),
    Effect(Expr),
}

/// A call.
#[derive(Debug)]
pub struct Call {
    pub operator: Expr,
    pub operands: Vec<Expr>,
    pub place: SourcePlace,
}

/// A procedure: one clause, or several for `case-lambda`.
#[derive(Debug)]
pub struct Procedure {
    pub name: Option<Symbol>,
    pub clauses: Vec<Lambda>,
    pub place: SourcePlace,
}

/// One way to call a procedure.
#[derive(Debug)]
pub struct Lambda {
    pub parameters: Vec<Var>,
    pub rest: Option<Var>,
    pub body: Expr,
}

impl Expr {
    pub fn call(operator: Expr, operands: Vec<Expr>, place: SourcePlace) -> Self {
        Self::Call(Box::new(Call {
            operator,
            operands,
            place,
        }))
    }

    /// A sequence of expressions.
    pub fn sequence(mut items: Vec<Expr>) -> Self {
        match items.len() {
            0 => Self::Constant(Value::Unspecified),
            1 => items.remove(0),
            _ => Self::Sequence(items),
        }
    }

    /// A procedure without a name.
    pub fn lambda(lambda: Lambda, place: SourcePlace) -> Self {
        Self::Lambda(Box::new(Procedure {
            name: None,
            clauses: vec![lambda],
            place,
        }))
    }
}

impl Lambda {
    /// A lambda without parameters.
    pub fn thunk(body: Expr) -> Self {
        Self {
            parameters: Vec::new(),
            rest: None,
            body,
        }
    }
}
