//! The filters that mean the same in every jq: a closed list of syntax and functions.
//!
//! A filter that has passed is changed in a few places, where only the values show whether all versions agree: a guard
//! there ([`Guard`]) looks at the value, and raises doubt if they may not.
//!
//! Where an operand has several results, versions differ in their order, so most operands must have one at most
//! ([`is_single`]). Where one of several has none and another fails, they differ in whether that is an error, so
//! several operands must have one each ([`may_be_empty`]). What fails with an error may fail with another message
//! elsewhere, so a message must never become a value: `try` has no `catch`.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Opt, Part, Path};

use super::pattern::{self, Subject};

type Syntax<'s> = Term<&'s str>;

/// A check of a value that the filter's author did not write. No filter can call a name like that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    /// The value is an array or null. An object at a number is null here, and an error in jq.
    List,
    /// The value is a text of ASCII characters, if it is a text.
    Ascii,
    /// The same without line ends.
    Line,
    /// The value is plain JSON text, if it is a text.
    Json,
    /// The value is a text. What some functions do with another value differs.
    Text,
}

impl Guard {
    pub(super) const ALL: [Self; 5] = [Self::List, Self::Ascii, Self::Line, Self::Json, Self::Text];

    /// The name by which a filter calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::List => "!list",
            Self::Ascii => "!ascii",
            Self::Line => "!line",
            Self::Json => "!json",
            Self::Text => "!text",
        }
    }
}

/// What a function of the list demands of its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arguments {
    /// One result at most. The function has as many itself.
    Single,
    /// Any number, but one result at most of the function itself.
    Folded,
    /// Any number, and as many of the function.
    Many,
}

/// The functions, with their number of arguments.
const FUNCTIONS: &[(&str, usize, Arguments)] = &[
    ("all", 0, Arguments::Single),
    ("all", 1, Arguments::Single),
    ("any", 0, Arguments::Single),
    ("any", 1, Arguments::Single),
    ("arrays", 0, Arguments::Single),
    ("ascii_downcase", 0, Arguments::Single),
    ("ascii_upcase", 0, Arguments::Single),
    ("booleans", 0, Arguments::Single),
    ("empty", 0, Arguments::Single),
    ("endswith", 1, Arguments::Single),
    ("error", 1, Arguments::Single),
    ("false", 0, Arguments::Single),
    ("first", 1, Arguments::Folded),
    ("fromjson", 0, Arguments::Single),
    ("has", 1, Arguments::Single),
    ("join", 1, Arguments::Single),
    ("keys", 0, Arguments::Single),
    ("keys_unsorted", 0, Arguments::Single),
    ("length", 0, Arguments::Single),
    ("map", 1, Arguments::Folded),
    ("not", 0, Arguments::Single),
    ("null", 0, Arguments::Single),
    ("nulls", 0, Arguments::Single),
    ("numbers", 0, Arguments::Single),
    ("objects", 0, Arguments::Single),
    ("recurse", 0, Arguments::Many),
    ("scalars", 0, Arguments::Single),
    ("select", 1, Arguments::Single),
    ("sort", 0, Arguments::Single),
    ("split", 1, Arguments::Single),
    ("startswith", 1, Arguments::Single),
    ("strings", 0, Arguments::Single),
    ("to_entries", 0, Arguments::Single),
    ("tojson", 0, Arguments::Single),
    ("tostring", 0, Arguments::Single),
    ("true", 0, Arguments::Single),
    ("type", 0, Arguments::Single),
    ("unique", 0, Arguments::Single),
    ("values", 0, Arguments::Single),
    ("@base64", 0, Arguments::Single),
    ("@json", 0, Arguments::Single),
    ("@sh", 0, Arguments::Single),
    ("@text", 0, Arguments::Single),
];

/// Functions that may have no result.
const SELECTING: &[&str] = &[
    "arrays", "booleans", "empty", "error", "first", "nulls", "numbers", "objects", "scalars", "select",
    "strings", "values",
];

/// The most digits of a number in a filter.
const MOST_DIGITS: usize = 13;

/// The filter with its guards, if it is of the list.
pub(super) fn listed(term: Syntax<'_>) -> Option<Syntax<'_>> {
    Some(match term {
        Term::Id | Term::Recurse => term,
        // The order of what these two hold differs.
        Term::Var("$ENV" | "$ARGS") => return None,
        Term::Var(_) => term,
        Term::Num(digits) => Term::Num(number(digits)?),
        Term::Str(None, parts) => {
            let count = parts
                .iter()
                .filter(|part| matches!(part, StrPart::Term(_)))
                .count();
            (count <= 1 || !may_be_empty(&Term::Str(None, parts.clone()))).then_some(())?;
            Term::Str(None, parts.into_iter().map(text).collect::<Option<_>>()?)
        }
        Term::Arr(None) => Term::Arr(None),
        Term::Arr(Some(inner)) => Term::Arr(Some(boxed(*inner)?)),
        Term::Obj(fields) => {
            let is_alone = matches!(&fields[..], [(key, _)] if literal(key).is_some());
            (is_alone || !may_be_empty(&Term::Obj(fields.clone()))).then_some(())?;
            Term::Obj(fields.into_iter().map(field).collect::<Option<_>>()?)
        }
        // The negation of zero is printed differently.
        Term::Neg(inner) => match *inner {
            Term::Num(digits) if digits != "0" => Term::Neg(Box::new(Term::Num(number(digits)?))),
            _ => return None,
        },
        Term::BinOp(left, operator, right) => operation(*left, operator, *right)?,
        Term::TryCatch(inner, None) => Term::TryCatch(boxed(*inner)?, None),
        // Without an `else`, a condition is an error in older versions.
        Term::IfThenElse(branches, Some(otherwise)) => {
            let branches = branches.into_iter().map(|(condition, then)| {
                let condition = single(condition)?;
                Some((condition, listed(then)?))
            });
            Term::IfThenElse(branches.collect::<Option<_>>()?, Some(boxed(*otherwise)?))
        }
        Term::Call(name, arguments) => call(name, arguments)?,
        Term::Path(from, Path(parts)) => path(*from, parts)?,
        Term::Str(Some(_), _)
        | Term::Label(..)
        | Term::Break(_)
        | Term::Fold(..)
        | Term::TryCatch(_, Some(_))
        | Term::IfThenElse(_, None)
        | Term::Def(..) => return None,
    })
}

fn boxed(term: Syntax<'_>) -> Option<Box<Syntax<'_>>> {
    listed(term).map(Box::new)
}

/// A filter of the list that has one result at most.
fn single(term: Syntax<'_>) -> Option<Syntax<'_>> {
    is_single(&term).then(|| listed(term))?
}

/// Whether a filter has one result at most.
fn is_single(term: &Syntax<'_>) -> bool {
    match term {
        Term::Id | Term::Num(_) | Term::Arr(_) | Term::Var(_) | Term::Neg(_) => true,
        // Their parts are single, or they are not of the list.
        Term::Str(..) | Term::Obj(_) => true,
        Term::BinOp(_, BinaryOp::Comma, _) => false,
        Term::BinOp(left, _, right) => is_single(left) && is_single(right),
        Term::TryCatch(inner, _) => is_single(inner),
        Term::IfThenElse(branches, otherwise) => {
            branches.iter().all(|(_, then)| is_single(then))
                && otherwise.as_ref().is_none_or(|otherwise| is_single(otherwise))
        }
        Term::Call(name, arguments) => matches!(
            (function(name, arguments.len()), *name),
            (Some(Arguments::Single | Arguments::Folded), _)
                | (None, "test" | "contains" | "ltrimstr" | "rtrimstr")
        ),
        Term::Path(from, Path(parts)) => {
            let iterates = |(part, _): &(Part<Syntax<'_>>, Opt)| matches!(part, Part::Range(None, None));
            is_single(from) && !parts.iter().any(iterates)
        }
        _ => false,
    }
}

/// Whether a filter may have no result.
fn may_be_empty(term: &Syntax<'_>) -> bool {
    match term {
        Term::TryCatch(..) => true,
        Term::Path(from, Path(parts)) => {
            may_be_empty(from)
                || parts
                    .iter()
                    .any(|(_, optional)| matches!(optional, Opt::Optional))
        }
        Term::Call(name, arguments) => SELECTING.contains(name) || arguments.iter().any(may_be_empty),
        Term::BinOp(_, BinaryOp::Alt, right) => may_be_empty(right),
        Term::BinOp(left, _, right) => may_be_empty(left) || may_be_empty(right),
        Term::IfThenElse(branches, otherwise) => {
            let mut parts = branches.iter().flat_map(|(condition, then)| [condition, then]);
            parts.any(may_be_empty) || otherwise.as_ref().is_none_or(|otherwise| may_be_empty(otherwise))
        }
        Term::Obj(fields) => {
            let mut parts = fields.iter().flat_map(|(key, value)| [Some(key), value.as_ref()]);
            parts.any(|part| part.is_some_and(may_be_empty))
        }
        Term::Str(_, parts) => parts
            .iter()
            .any(|part| matches!(part, StrPart::Term(inner) if may_be_empty(inner))),
        _ => false,
    }
}

/// Whether a filter has one result, or fails.
fn is_one(term: &Syntax<'_>) -> bool {
    is_single(term) && !may_be_empty(term)
}

fn function(name: &str, arguments: usize) -> Option<Arguments> {
    let found = FUNCTIONS
        .iter()
        .find(|(known, count, _)| *known == name && *count == arguments);
    found.map(|(_, _, demand)| *demand)
}

fn number(digits: &str) -> Option<&str> {
    let is_plain = digits.len() <= MOST_DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    is_plain.then_some(digits)
}

fn text<'s>(part: StrPart<&'s str, Syntax<'s>>) -> Option<StrPart<&'s str, Syntax<'s>>> {
    match part {
        StrPart::Term(inner) => single(inner).map(StrPart::Term),
        StrPart::Char('\0' | '\u{7f}' | '\u{fffd}') => None,
        other => Some(other),
    }
}

fn field<'s>((key, value): (Syntax<'s>, Option<Syntax<'s>>)) -> Option<(Syntax<'s>, Option<Syntax<'s>>)> {
    let value = match value {
        Some(value) => Some(single(value)?),
        None => None,
    };
    Some((single(key)?, value))
}

fn call<'s>(name: &'s str, mut arguments: Vec<Syntax<'s>>) -> Option<Syntax<'s>> {
    match name {
        "test" => return test(arguments),
        "contains" | "ltrimstr" | "rtrimstr" => {
            literal(arguments.first()?)?;
            return Some(pipe(guard(Guard::Text), Term::Call(name, arguments)));
        }
        _ => {}
    }
    let demand = function(name, arguments.len())?;
    if name == "fromjson" {
        return Some(pipe(guard(Guard::Json), Term::Call(name, arguments)));
    }
    for argument in &mut arguments {
        let taken = std::mem::take(argument);
        *argument = match demand {
            Arguments::Single => single(taken)?,
            Arguments::Folded | Arguments::Many => listed(taken)?,
        };
    }
    Some(Term::Call(name, arguments))
}

/// A match against a pattern that stands in the filter, without flags but the one for small and capital letters.
fn test(arguments: Vec<Syntax<'_>>) -> Option<Syntax<'_>> {
    let pattern = literal(arguments.first()?)?;
    match arguments.get(1).map(literal) {
        None => {}
        Some(Some(flags)) if flags == "i" => {}
        Some(_) => return None,
    }
    let needed = match pattern::subject(&pattern)? {
        Subject::Ascii => Guard::Ascii,
        Subject::Line => Guard::Line,
    };
    Some(pipe(guard(needed), Term::Call("test", arguments)))
}

/// The text of a string without interpolation.
fn literal(term: &Syntax<'_>) -> Option<String> {
    let Term::Str(None, parts) = term else {
        return None;
    };
    let mut text = String::new();
    for part in parts {
        match part {
            StrPart::Str(more) => text.push_str(more),
            StrPart::Char(character) => text.push(*character),
            StrPart::Term(_) => return None,
        }
    }
    Some(text)
}

fn path<'s>(from: Syntax<'s>, parts: Vec<(Part<Syntax<'s>>, Opt)>) -> Option<Syntax<'s>> {
    let is_named =
        |(part, _): &(Part<Syntax<'_>>, Opt)| matches!(part, Part::Index(name) if literal(name).is_some());
    let mut whole = match from {
        Term::Var("$ENV") if parts.first().is_some_and(is_named) => from,
        _ => listed(from)?,
    };
    for (part, optional) in parts {
        whole = match &part {
            Part::Index(index) if literal(index).is_some() => whole,
            Part::Index(Term::Num(digits)) if number(digits).is_some() => pipe(whole, guard(Guard::List)),
            Part::Index(Term::Neg(index)) if matches!(&**index, Term::Num(digits) if number(digits).is_some()) => {
                pipe(whole, guard(Guard::List))
            }
            Part::Range(None, None) => whole,
            _ => return None,
        };
        whole = Term::Path(Box::new(whole), Path(vec![(part, optional)]));
    }
    Some(whole)
}

/// An operation whose operands are read in the same way everywhere.
fn operation<'s>(left: Syntax<'s>, operator: BinaryOp<&'s str>, right: Syntax<'s>) -> Option<Syntax<'s>> {
    use BinaryOp::{Alt, And, Assign, Cmp, Comma, Math as Calculation, Or, Pipe};
    let is_bound = |term: &Syntax<'_>| {
        matches!(
            term,
            Term::Id
                | Term::Path(..)
                | Term::Call(..)
                | Term::Var(_)
                | Term::Arr(_)
                | Term::Obj(_)
                | Term::Str(..)
        )
    };
    let compares = |term: &Syntax<'_>| matches!(term, Term::BinOp(_, Cmp(_), _));
    let assigns = |term: &Syntax<'_>| matches!(term, Term::BinOp(_, Assign, _));
    let may = match &operator {
        Pipe(None) | Comma => true,
        // Whether operators to the left belong to the value is read differently.
        Pipe(Some(Pattern::Var(_))) => is_bound(&left),
        // The order of these two is not the same everywhere.
        Alt => !assigns(&left) && !assigns(&right),
        Or | And | Calculation(Math::Add | Math::Sub) => is_one(&left) && is_one(&right),
        // Elsewhere they need parentheses, which cannot be seen any more.
        Cmp(_) => is_one(&left) && is_one(&right) && !compares(&left) && !compares(&right),
        Assign => is_field(&left) && is_one(&right) && !matches!(right, Term::BinOp(_, Alt | Assign, _)),
        _ => false,
    };
    may.then_some(())?;
    Some(Term::BinOp(boxed(left)?, operator, boxed(right)?))
}

/// Whether a path names one member of objects, such as `.a.b`.
fn is_field(term: &Syntax<'_>) -> bool {
    let Term::Path(from, Path(parts)) = term else {
        return false;
    };
    let is_name = |(part, optional): &(Part<Syntax<'_>>, Opt)| {
        matches!(part, Part::Index(name) if literal(name).is_some()) && matches!(optional, Opt::Essential)
    };
    matches!(**from, Term::Id) && parts.iter().all(is_name)
}

fn guard<'s>(guard: Guard) -> Syntax<'s> {
    Term::Call(guard.name(), Vec::new())
}

fn pipe<'s>(left: Syntax<'s>, right: Syntax<'s>) -> Syntax<'s> {
    Term::BinOp(Box::new(left), BinaryOp::Pipe(None), Box::new(right))
}
