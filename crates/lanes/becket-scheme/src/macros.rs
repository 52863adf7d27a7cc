//! Macros as data: the patterns and templates into which the expander compiles `syntax-rules`.

use crate::syntax::{Ident, Scope, Syntax};

/// A macro: rules, and where they were written.
#[derive(Debug)]
pub struct Macro {
    pub rules: Vec<SyntaxRule>,
    pub scope: Scope,
}

/// A rule: the pattern, the template, and how many variables they share.
#[derive(Debug)]
pub struct SyntaxRule {
    pub pattern: Pattern,
    pub template: Template,
    pub variables: usize,
}

/// The pattern that a form must match.
#[derive(Debug)]
pub enum Pattern {
    Anything,
    Variable(usize),
    Literal(Ident),
    Datum(Syntax),
    List(Box<ListPattern>),
    Vector(Box<ListPattern>),
}

/// The patterns of the parts of a list.
#[derive(Debug)]
pub struct ListPattern {
    pub before: Vec<Pattern>,
    /// The pattern that may match any number of times, and its variables.
    pub repeated: Option<(Pattern, Vec<usize>)>,
    pub after: Vec<Pattern>,
    pub tail: Option<Pattern>,
}

/// The template for a use of the macro.
#[derive(Debug)]
pub enum Template {
    Variable(usize),
    Name(Ident),
    Datum(Syntax),
    List(Vec<Element>, Option<Box<Template>>),
    Vector(Vec<Element>),
}

/// A part of a list in a template, repeated for as many ellipses as follow it.
#[derive(Debug)]
pub struct Element {
    pub template: Template,
    pub ellipses: usize,
    /// The variables in the element that are repeated.
    pub variables: Vec<usize>,
}
