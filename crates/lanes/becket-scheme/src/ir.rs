//! A program after expansion: no names, no macros, only what is computed from which variables.

use crate::syntax::Place;
use crate::value::{Symbol, Value};

/// A variable of a procedure, as the place of its description in the unit's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Var(pub u32);

/// What is known about a variable.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: Symbol,
    /// Whether `set!` changes it.
    pub assigned: bool,
    /// How often it is mentioned, and how often that is to call it.
    pub mentioned: u32,
    pub called: u32,
}

/// Something that has a value.
#[derive(Debug)]
pub enum Expr {
    Constant(Value),
    Local(Var),
    Global(u32, Place),
    SetLocal(Var, Box<Expr>),
    SetGlobal(u32, Box<Expr>, Place),
    Define(u32, Box<Expr>),
    If(Box<(Expr, Expr, Expr)>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// The first clause whose test holds; the last one is what else.
    Cond(Vec<Clause>, Box<Expr>),
    Lambda(Box<Procedure>),
    Sequence(Vec<Expr>),
    Let(Box<Let>),
    /// Definitions and expressions in order, all variables being visible to all of them.
    Body(Box<Body>),
    Call(Box<Call>),
}

/// A clause of `cond`.
#[derive(Debug)]
pub struct Clause {
    pub test: Expr,
    pub then: Then,
}

/// What a clause does if its test holds.
#[derive(Debug)]
pub enum Then {
    /// Its value is that of the test.
    Test,
    Value(Expr),
    /// `=>`: calls this with the value of the test.
    Call(Expr, Place),
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
    pub place: Place,
}

/// A procedure: one clause, or several for `case-lambda`.
#[derive(Debug)]
pub struct Procedure {
    pub name: Option<Symbol>,
    pub clauses: Vec<Lambda>,
    pub place: Place,
}

/// One way to call a procedure.
#[derive(Debug)]
pub struct Lambda {
    pub parameters: Vec<Var>,
    pub rest: Option<Var>,
    pub body: Expr,
}

impl Expr {
    pub fn call(operator: Expr, operands: Vec<Expr>, place: Place) -> Self {
        Self::Call(Box::new(Call {
            operator,
            operands,
            place,
        }))
    }

    /// Expressions one after another.
    pub fn sequence(mut items: Vec<Expr>) -> Self {
        match items.len() {
            0 => Self::Constant(Value::Unspecified),
            1 => items.remove(0),
            _ => Self::Sequence(items),
        }
    }

    /// A procedure without a name.
    pub fn lambda(lambda: Lambda, place: Place) -> Self {
        Self::Lambda(Box::new(Procedure {
            name: None,
            clauses: vec![lambda],
            place,
        }))
    }
}

impl Lambda {
    /// One without parameters.
    pub fn thunk(body: Expr) -> Self {
        Self {
            parameters: Vec::new(),
            rest: None,
            body,
        }
    }
}
