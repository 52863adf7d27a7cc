//! `syntax-rules`: patterns and templates, compiled once, matched and filled in for each use.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Expander;
use crate::fault::Fault;
use crate::macros::{Element, ListPattern, Macro, Pattern, SyntaxRule, Template};
use crate::names::Binding;
use crate::place::SourcePlace;
use crate::special::Special;
use crate::syntax::{Form, Ident, Scope, Syntax};

/// What a variable of a pattern matched.
#[derive(Clone, Debug)]
enum Match {
    One(Syntax),
    Many(Arc<Vec<Match>>),
}

/// Compiles the rules of one macro.
struct Compiler<'e, 'a> {
    expander: &'e mut Expander<'a>,
    scope: Scope,
    literals: FxHashSet<Ident>,
    ellipsis: Option<Ident>,
    /// The variables of the pattern, by number.
    variables: FxHashMap<Ident, usize>,
    /// How many ellipses each variable is under, by its number.
    depths: Vec<usize>,
}

impl Expander<'_> {
    /// The macro that a form such as `(syntax-rules …)` describes, or the keyword that it names.
    pub(super) fn macro_of(&mut self, form: &Syntax, scope: Scope) -> Result<Binding, Fault> {
        if let Some(ident) = form.ident() {
            return match self.resolve(ident, scope)? {
                Some(binding @ (Binding::Special(_) | Binding::Macro(_))) => Ok(binding),
                _ => self.wrong(form, "this is no keyword"),
            };
        }
        let (items, head) = match form.list() {
            Some(items) if !items.is_empty() => (items, &items[0]),
            _ => return self.wrong(form, "a macro is written with syntax-rules"),
        };
        if !self.is_keyword(head, scope, Special::SyntaxRules) {
            return self.wrong(form, "a macro is written with syntax-rules");
        }
        let (ellipsis, rest) = match items {
            [_, custom, rest @ ..] if custom.ident().is_some() => (custom.ident(), rest),
            [_, rest @ ..] => (None, rest),
            [] => (None, items),
        };
        let Some((literals, rules)) = rest.split_first() else {
            return self.wrong(form, "syntax-rules needs a list of literals");
        };
        let Some(literals) = literals.list() else {
            return self.wrong(literals, "the literals of syntax-rules are a list of names");
        };
        let literals = literals.iter().filter_map(Syntax::ident).collect();
        let mut compiler = Compiler {
            expander: self,
            scope,
            literals,
            ellipsis,
            variables: FxHashMap::default(),
            depths: Vec::new(),
        };
        let rules = rules
            .iter()
            .map(|rule| compiler.rule(rule))
            .collect::<Result<_, _>>()?;
        self.names.macros.push(Arc::new(Macro { rules, scope }));
        Ok(Binding::Macro((self.names.macros.len() - 1) as u32))
    }
}

impl Compiler<'_, '_> {
    fn rule(&mut self, rule: &Syntax) -> Result<SyntaxRule, Fault> {
        let Some([pattern, template]) = rule.list() else {
            return self.expander.wrong(rule, "a rule is a pattern and a template");
        };
        self.variables.clear();
        self.depths.clear();
        // The first word of a pattern is the macro's own name, whatever it says.
        let pattern = match pattern.form() {
            Form::List(items, tail) if !items.is_empty() => {
                Pattern::List(Box::new(self.list(&items[1..], tail.as_ref(), 0)?))
            }
            _ => return self.expander.wrong(pattern, "the pattern of a rule is a list"),
        };
        let template = self.template(template, Dots::Meant)?;
        Ok(SyntaxRule {
            pattern,
            template,
            variables: self.depths.len(),
        })
    }

    fn is_ellipsis(&self, form: &Syntax) -> bool {
        let Some(ident) = form.ident() else { return false };
        match self.ellipsis {
            Some(custom) => ident == custom,
            None => {
                !self.literals.contains(&ident)
                    && self.expander.is_keyword(form, self.scope, Special::Ellipsis)
            }
        }
    }

    fn pattern(&mut self, form: &Syntax, depth: usize) -> Result<Pattern, Fault> {
        self.expander.count()?;
        match form.form() {
            Form::Ident(ident) if self.literals.contains(ident) => Ok(Pattern::Literal(*ident)),
            Form::Ident(_) if self.expander.is_keyword(form, self.scope, Special::Underscore) => {
                Ok(Pattern::Anything)
            }
            Form::Ident(ident) => {
                if self.variables.insert(*ident, self.depths.len()).is_some() {
                    let name = self.expander.name_of(*ident).to_owned();
                    return self
                        .expander
                        .wrong(form, format!("`{name}` is twice in the pattern"));
                }
                self.depths.push(depth);
                Ok(Pattern::Variable(self.depths.len() - 1))
            }
            Form::List(items, tail) => Ok(Pattern::List(Box::new(self.list(items, tail.as_ref(), depth)?))),
            Form::Vector(items) => Ok(Pattern::Vector(Box::new(self.list(items, None, depth)?))),
            _ => Ok(Pattern::Datum(form.clone())),
        }
    }

    fn list(&mut self, items: &[Syntax], tail: Option<&Syntax>, depth: usize) -> Result<ListPattern, Fault> {
        self.expander.depth += 1;
        if self.expander.depth > crate::reader::DEEPEST_SOURCE {
            return Err(Fault::Limit(crate::limits::Limit::Nesting(
                crate::reader::DEEPEST_SOURCE,
            )));
        }
        let dots = items.iter().position(|item| self.is_ellipsis(item));
        let list = match dots {
            Some(0) => {
                return self
                    .expander
                    .wrong(&items[0], "an ellipsis must follow something");
            }
            Some(at) => {
                let before = self.patterns(&items[..at - 1], depth)?;
                let first = self.depths.len();
                let repeated = self.pattern(&items[at - 1], depth + 1)?;
                let variables = (first..self.depths.len()).collect();
                if let Some(second) = items[at + 1..].iter().find(|item| self.is_ellipsis(item)) {
                    return self.expander.wrong(second, "a list can have one ellipsis");
                }
                let after = self.patterns(&items[at + 1..], depth)?;
                ListPattern {
                    before,
                    repeated: Some((repeated, variables)),
                    after,
                    tail: None,
                }
            }
            None => {
                let before = self.patterns(items, depth)?;
                ListPattern {
                    before,
                    repeated: None,
                    after: Vec::new(),
                    tail: None,
                }
            }
        };
        let tail = tail.map(|tail| self.pattern(tail, depth)).transpose()?;
        self.expander.depth -= 1;
        Ok(ListPattern { tail, ..list })
    }

    fn patterns(&mut self, items: &[Syntax], depth: usize) -> Result<Vec<Pattern>, Fault> {
        items.iter().map(|item| self.pattern(item, depth)).collect()
    }

    fn template(&mut self, form: &Syntax, dots: Dots) -> Result<Template, Fault> {
        self.expander.count()?;
        match form.form() {
            Form::Ident(ident) => Ok(match self.variables.get(ident) {
                Some(index) => Template::Variable(*index),
                None => Template::Name(*ident),
            }),
            Form::List(items, None)
                if items.len() == 2 && dots == Dots::Meant && self.is_ellipsis(&items[0]) =>
            {
                self.template(&items[1], Dots::Literal)
            }
            Form::List(items, tail) => {
                let elements = self.elements(items, dots)?;
                let tail = tail.as_ref().map(|tail| self.template(tail, dots)).transpose()?;
                Ok(Template::List(elements, tail.map(Box::new)))
            }
            Form::Vector(items) => Ok(Template::Vector(self.elements(items, dots)?)),
            Form::Value(value) => {
                // A macro outlives collections, so the machine must hold its values.
                let name = self.expander.heap.intern("macro");
                self.expander.heap.global(name, *value);
                Ok(Template::Datum(form.clone()))
            }
            _ => Ok(Template::Datum(form.clone())),
        }
    }

    fn elements(&mut self, items: &[Syntax], dots: Dots) -> Result<Vec<Element>, Fault> {
        self.expander.depth += 1;
        if self.expander.depth > crate::reader::DEEPEST_SOURCE {
            return Err(Fault::Limit(crate::limits::Limit::Nesting(
                crate::reader::DEEPEST_SOURCE,
            )));
        }
        let mut elements: Vec<Element> = Vec::new();
        let mut at = 0;
        while at < items.len() {
            let template = self.template(&items[at], dots)?;
            let is_dots = |item: &Syntax| dots == Dots::Meant && self.is_ellipsis(item);
            let ellipses = items[at + 1..].iter().take_while(|item| is_dots(item)).count();
            let mut variables = Vec::new();
            if ellipses > 0 {
                collect_variables(&template, &mut variables);
                variables.retain(|index| self.depths[*index] > 0);
                if variables.is_empty() {
                    return self
                        .expander
                        .wrong(&items[at], "nothing in front of the ellipsis is repeated");
                }
            }
            elements.push(Element {
                template,
                ellipses,
                variables,
            });
            at += 1 + ellipses;
        }
        self.expander.depth -= 1;
        Ok(elements)
    }
}

/// Whether an ellipsis repeats something, or is a name like any other: `(... ...)`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dots {
    Meant,
    Literal,
}

fn collect_variables(template: &Template, out: &mut Vec<usize>) {
    match template {
        Template::Variable(index) => out.push(*index),
        Template::List(elements, tail) => {
            elements
                .iter()
                .for_each(|element| collect_variables(&element.template, out));
            tail.iter().for_each(|tail| collect_variables(tail, out));
        }
        Template::Vector(elements) => {
            elements
                .iter()
                .for_each(|element| collect_variables(&element.template, out));
        }
        Template::Name(_) | Template::Datum(_) => {}
    }
}

impl Macro {
    /// Expands a use of the macro.
    pub(super) fn apply(
        &self,
        expander: &mut Expander<'_>,
        name: Ident,
        form: &Syntax,
        scope: Scope,
    ) -> Result<Syntax, Fault> {
        let Form::List(items, tail) = form.form() else {
            let name = expander.name_of(name).to_owned();
            return expander.wrong(
                form,
                format!("`{name}` is a macro: it must be used like a procedure"),
            );
        };
        let matcher = Matcher {
            scope: self.scope,
            used: scope,
        };
        for rule in &self.rules {
            let mut found = vec![None; rule.variables];
            let Pattern::List(pattern) = &rule.pattern else {
                continue;
            };
            if matcher.list(expander, pattern, &items[1..], tail.as_ref(), &mut found)? {
                let mut filler = Filler {
                    scope: self.scope,
                    renamed: FxHashMap::default(),
                    place: form.place(),
                };
                return filler.fill(expander, &rule.template, &found);
            }
        }
        let name = expander.name_of(name).to_owned();
        expander.wrong(
            form,
            format!("no rule of `{name}` fits {}", expander.text_of(form)),
        )
    }
}

/// Matches a form. Literals mean what they mean where the macro was written.
struct Matcher {
    /// Where the macro was written.
    scope: Scope,
    /// Where the macro is used.
    used: Scope,
}

impl Matcher {
    fn list(
        &self,
        expander: &Expander<'_>,
        pattern: &ListPattern,
        items: &[Syntax],
        tail: Option<&Syntax>,
        found: &mut [Option<Match>],
    ) -> Result<bool, Fault> {
        let (before, after) = (pattern.before.len(), pattern.after.len());
        let fixed = before + after;
        if items.len() < fixed
            || (pattern.repeated.is_none() && pattern.tail.is_none() && items.len() > fixed)
        {
            return Ok(false);
        }
        let middle = if pattern.repeated.is_some() {
            items.len() - fixed
        } else {
            0
        };
        let all = |patterns: &[Pattern], items: &[Syntax], found: &mut [Option<Match>]| {
            for (pattern, item) in patterns.iter().zip(items) {
                if !self.matches(expander, pattern, item, found)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        if !all(&pattern.before, items, found)? {
            return Ok(false);
        }
        if let Some((repeated, variables)) = &pattern.repeated {
            let mut many: Vec<Vec<Match>> = variables.iter().map(|_| Vec::new()).collect();
            for item in &items[before..before + middle] {
                if !self.matches(expander, repeated, item, found)? {
                    return Ok(false);
                }
                for (matches, variable) in many.iter_mut().zip(variables) {
                    matches.extend(found[*variable].take());
                }
            }
            for (matches, variable) in many.into_iter().zip(variables) {
                found[*variable] = Some(Match::Many(Arc::new(matches)));
            }
        }
        if !all(&pattern.after, &items[before + middle..], found)? {
            return Ok(false);
        }
        let rest = &items[before + middle + after..];
        match (&pattern.tail, tail) {
            (None, None) => Ok(true),
            (None, Some(_)) => Ok(false),
            (Some(pattern), tail) => {
                expander.heap.spend(rest.len())?;
                let place = rest.first().map_or(SourcePlace::default(), Syntax::place);
                let rest = Syntax::joined(rest.to_vec(), tail.cloned(), place);
                self.matches(expander, pattern, &rest, found)
            }
        }
    }

    fn matches(
        &self,
        expander: &Expander<'_>,
        pattern: &Pattern,
        form: &Syntax,
        found: &mut [Option<Match>],
    ) -> Result<bool, Fault> {
        expander.heap.spend(1)?;
        Ok(match pattern {
            Pattern::Anything => true,
            Pattern::Variable(index) => {
                found[*index] = Some(Match::One(form.clone()));
                true
            }
            Pattern::Literal(literal) => form
                .ident()
                .is_some_and(|ident| expander.names.same((ident, self.used), (*literal, self.scope))),
            Pattern::Datum(datum) => same_datum(datum, form),
            Pattern::List(pattern) => match form.form() {
                Form::List(items, tail) => self.list(expander, pattern, items, tail.as_ref(), found)?,
                _ => false,
            },
            Pattern::Vector(pattern) => match form.form() {
                Form::Vector(items) => self.list(expander, pattern, items, None, found)?,
                _ => false,
            },
        })
    }
}

fn same_datum(a: &Syntax, b: &Syntax) -> bool {
    match (a.form(), b.form()) {
        (Form::Bool(a), Form::Bool(b)) => a == b,
        (Form::Number(a), Form::Number(b)) => a == b,
        (Form::Char(a), Form::Char(b)) => a == b,
        (Form::String(a), Form::String(b)) => a == b,
        (Form::Bytes(a), Form::Bytes(b)) => a == b,
        (Form::Value(a), Form::Value(b)) => a.is(*b),
        _ => false,
    }
}

/// Fills in a template. Names that are not variables are renamed, the same way within one use.
struct Filler {
    scope: Scope,
    renamed: FxHashMap<Ident, Ident>,
    /// Where the macro is used: the place of everything it makes.
    place: SourcePlace,
}

impl Filler {
    fn fill(
        &mut self,
        expander: &mut Expander<'_>,
        template: &Template,
        found: &[Option<Match>],
    ) -> Result<Syntax, Fault> {
        expander.count()?;
        Ok(match template {
            Template::Variable(index) => match &found[*index] {
                Some(Match::One(form)) => form.clone(),
                _ => {
                    return Err(Fault::syntax(
                        "a variable of the pattern needs an ellipsis",
                        Some(self.place),
                    ));
                }
            },
            Template::Name(ident) => {
                let alias = self.renamed.entry(*ident);
                let alias = alias.or_insert_with(|| expander.names.alias(*ident, self.scope));
                Syntax::new(Form::Ident(*alias), self.place)
            }
            Template::Datum(form) => form.clone(),
            Template::List(elements, tail) => {
                let items = self.elements(expander, elements, found)?;
                let tail = match tail {
                    Some(tail) => Some(self.fill(expander, tail, found)?),
                    None => None,
                };
                expander.made(Syntax::joined(items, tail, self.place))?
            }
            Template::Vector(elements) => {
                let items = self.elements(expander, elements, found)?;
                expander.made(Syntax::new(Form::Vector(items), self.place))?
            }
        })
    }

    fn elements(
        &mut self,
        expander: &mut Expander<'_>,
        elements: &[Element],
        found: &[Option<Match>],
    ) -> Result<Vec<Syntax>, Fault> {
        let mut items = Vec::new();
        for element in elements {
            self.repeat(expander, element, element.ellipses, found, &mut items)?;
        }
        Ok(items)
    }

    fn repeat(
        &mut self,
        expander: &mut Expander<'_>,
        element: &Element,
        ellipses: usize,
        found: &[Option<Match>],
        items: &mut Vec<Syntax>,
    ) -> Result<(), Fault> {
        if ellipses == 0 {
            items.push(self.fill(expander, &element.template, found)?);
            return Ok(());
        }
        let count = |index: &usize| match &found[*index] {
            Some(Match::Many(matches)) => Some(matches.len()),
            _ => None,
        };
        let mut counts = element.variables.iter().filter_map(count);
        let Some(count) = counts.next() else {
            return Err(Fault::syntax("too many ellipses", Some(self.place)));
        };
        if counts.any(|other| other != count) {
            let message = "the variables in front of the ellipsis stand for different numbers of forms";
            return Err(Fault::syntax(message, Some(self.place)));
        }
        expander.heap.spend(found.len())?;
        let mut inner = found.to_vec();
        for round in 0..count {
            for index in &element.variables {
                if let Some(Match::Many(matches)) = &found[*index] {
                    inner[*index] = matches.get(round).cloned();
                }
            }
            self.repeat(expander, element, ellipses - 1, &inner, items)?;
        }
        Ok(())
    }
}
