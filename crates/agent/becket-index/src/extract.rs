//! The walk through a syntax tree that collects definitions and references.

use std::collections::HashSet;
use std::num::NonZeroU16;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser};

use crate::grammar::{Around, Grammar, GrammarRule, Inside, OWNER, text};
use crate::symbol::{Extract, Reference, Symbol};

/// How long one file may take to be parsed.
const PARSE_LIMIT: Duration = Duration::from_secs(5);

/// The longest signature, in characters.
const LONGEST_SIGNATURE: usize = 200;

/// Extracts definitions and references from files, one after the other.
#[derive(Default)]
pub(crate) struct Extractor {
    parser: Parser,
}

impl Extractor {
    /// Extracts from a file. The error says why that was not possible.
    pub(crate) fn extract(
        &mut self,
        grammar: &'static Grammar,
        source: &[u8],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Extract, String> {
        self.parser
            .set_language(&grammar.language)
            .map_err(|error| format!("the grammar does not fit: {error}"))?;
        let deadline = Instant::now() + PARSE_LIMIT;
        let mut go_on = |_: &tree_sitter::ParseState| {
            if is_cancelled() || Instant::now() > deadline {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut go_on);
        let mut rest = |place: usize, _| source.get(place..).unwrap_or_default();
        let Some(tree) = self.parser.parse_with_options(&mut rest, None, Some(options)) else {
            // Without a reset, the parser would continue with this file.
            self.parser.reset();
            return Err(format!(
                "parsing took longer than {} seconds",
                PARSE_LIMIT.as_secs()
            ));
        };
        let mut walk = Walk {
            grammar,
            source,
            scopes: Vec::new(),
            above: Vec::new(),
            names: HashSet::new(),
            found: Extract::default(),
        };
        walk.through(tree.root_node());
        Ok(walk.found)
    }
}

/// An enclosing definition of the visited node.
struct Scope {
    node: usize,
    /// The definition's name; `None` for a scope that only makes its contents local.
    name: Option<String>,
    kind: &'static str,
}

/// The kind of a scope that only makes its contents local.
const LOCAL: &str = "local";

struct Walk<'a, 'tree> {
    grammar: &'static Grammar,
    source: &'a [u8],
    scopes: Vec<Scope>,
    /// The ancestors of the visited node.
    above: Vec<Node<'tree>>,
    /// The positions of names that are defined: these are no references.
    names: HashSet<usize>,
    found: Extract,
}

impl<'tree> Walk<'_, 'tree> {
    /// Visits every node. The walk is not recursive: a file may be nested deeper than the stack allows.
    fn through(&mut self, root: Node<'tree>) {
        let mut cursor = root.walk();
        loop {
            let node = cursor.node();
            if node.is_named() {
                self.enter(node);
            }
            if cursor.goto_first_child() {
                self.above.push(node);
                continue;
            }
            let mut left = node;
            loop {
                while self.scopes.last().is_some_and(|scope| scope.node == left.id()) {
                    self.scopes.pop();
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                let Some(parent) = self.above.pop() else { return };
                cursor.goto_parent();
                left = parent;
            }
        }
    }

    fn enter(&mut self, node: Node<'tree>) {
        let rule = self.grammar.rule(node);
        self.refer(node, rule);
        if let Some(kind) = rule.definition {
            self.define(node, kind);
        }
        if let Some(field) = rule.owner {
            let owner = node.child_by_field_id(field.get());
            let owner = owner.and_then(|owner| self.last_name(owner));
            let name = owner.map(|owner| text(owner, self.source).to_owned());
            self.scopes.push(Scope {
                node: node.id(),
                name,
                kind: OWNER,
            });
        }
        if rule.local {
            self.scopes.push(Scope {
                node: node.id(),
                name: None,
                kind: LOCAL,
            });
        }
    }

    fn define(&mut self, node: Node<'tree>, kind: &'static str) {
        let around = self.around();
        let Some(kind) = (self.grammar.table().refine)(node, kind, around) else {
            return;
        };
        let innermost = around.parent;
        let kind = match kind {
            "function" if innermost.is_some_and(is_type) => "method",
            "field" if !innermost.is_some_and(is_type) => return,
            "variable" | "constant" | "prototype" if innermost.is_some_and(is_body) => return,
            kind => kind,
        };
        let names = self.defined_names(node);
        let Some(first) = names.first() else { return };
        let scope = Scope {
            node: node.id(),
            name: Some(text(*first, self.source).to_owned()),
            kind,
        };
        for name in names {
            self.names.insert(name.start_byte());
            self.add_symbol(node, name, kind);
        }
        let holds = is_type(kind) || is_body(kind) || matches!(kind, "module" | "namespace");
        if holds && node.kind() != "enum_body" {
            self.scopes.push(scope);
        }
    }

    fn around(&self) -> Around<'_, 'tree> {
        Around {
            source: self.source,
            parent: self.scopes.last().map(|scope| scope.kind),
            above: &self.above,
        }
    }

    fn add_symbol(&mut self, node: Node<'tree>, name: Node<'tree>, kind: &'static str) {
        // Several names in one body: each is a definition of its own.
        let span = if node.kind() == "enum_body" { name } else { node };
        let name = text(name, self.source);
        if name.is_empty() || name == "_" {
            return;
        }
        let table = self.grammar.table();
        let (first, last) = (span.start_position(), span.end_position());
        let ends_before = usize::from(last.column == 0 && last.row > first.row);
        let symbol = Symbol {
            name: name.to_owned(),
            kind: kind.to_owned(),
            parent: self.parent_of(node, kind),
            line_start: line(first.row),
            line_end: line(last.row - ends_before),
            signature: Some(self.signature(span)).filter(|signature| !signature.is_empty()),
            visibility: (table.visibility)(node, name, self.around()).map(str::to_owned),
        };
        self.found.symbols.push(symbol);
    }

    /// The parent of a definition: the type of its receiver, or the nearest definition around it.
    fn parent_of(&self, node: Node<'tree>, kind: &str) -> Option<String> {
        let receiver = node
            .child_by_field_name("receiver")
            .and_then(|receiver| receiver.named_child(0))
            .and_then(|receiver| receiver.child_by_field_name("type"))
            .and_then(|owner| self.last_name(owner));
        if let Some(receiver) = receiver {
            return Some(text(receiver, self.source).to_owned());
        }
        // A type that is only given another name is no part of that name.
        let mut around = self
            .scopes
            .iter()
            .rev()
            .filter(|scope| scope.kind != "type" || !is_type(kind));
        around.find_map(|scope| scope.name.clone())
    }

    /// The declaration without its body, on one line.
    fn signature(&self, node: Node<'tree>) -> String {
        let row = node.start_position().row;
        let wrappers = self.grammar.table().wrappers;
        let belongs =
            |above: &&Node<'_>| wrappers.contains(&above.kind()) && above.start_position().row == row;
        let start = self
            .above
            .iter()
            .rev()
            .take_while(belongs)
            .last()
            .unwrap_or(&node);
        let value = node.child_by_field_name("value");
        let body = node
            .child_by_field_name("body")
            .or_else(|| value?.child_by_field_name("body"));
        let end = body.map_or(node.end_byte(), |body| body.start_byte());
        let bytes = self.source.get(start.start_byte()..end).unwrap_or_default();
        let told = String::from_utf8_lossy(bytes);
        // A definition without a body is described by its first line.
        let told = match body {
            Some(_) => &*told,
            None => told.lines().next().unwrap_or_default(),
        };
        let words: Vec<&str> = told.split_whitespace().collect();
        let line = words
            .join(" ")
            .replace("( ", "(")
            .replace(", )", ")")
            .replace(" )", ")");
        let line = line.trim_end_matches(['{', ':', '=', ';', ',', ' ']);
        let line = line
            .strip_suffix("=>")
            .or(line.strip_suffix("->"))
            .unwrap_or(line);
        match line.char_indices().nth(LONGEST_SIGNATURE) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line.trim_end().to_owned(),
        }
    }

    fn refer(&mut self, node: Node<'tree>, rule: GrammarRule) {
        let mut used = Vec::new();
        if let Some(kind) = rule.leaf {
            self.used_names(node, &mut used);
            self.add_references(&used, kind);
            used.clear();
        }
        if let Some((field, kind)) = rule.field {
            let mut cursor = node.walk();
            for target in node.children_by_field_id(field, &mut cursor) {
                self.used_names(target, &mut used);
            }
            self.add_references(&used, kind);
        }
    }

    fn add_references(&mut self, used: &[Node<'_>], kind: &str) {
        for node in used {
            let name = text(*node, self.source);
            let begins_well = name.starts_with(|first: char| first.is_alphabetic() || "_$#".contains(first));
            if !begins_well
                || matches!(name, "self" | "Self" | "super" | "this" | "crate")
                || self.names.contains(&node.start_byte())
            {
                continue;
            }
            self.found.refs.push(Reference {
                from_line: line(node.start_position().row),
                to_name: name.to_owned(),
                kind: Some(kind.to_owned()),
            });
        }
    }
    /// The names that a definition gives.
    fn defined_names(&self, node: Node<'tree>) -> Vec<Node<'tree>> {
        let mut names = Vec::new();
        let has = |field: &&NonZeroU16| node.child_by_field_id(field.get()).is_some();
        let Some(field) = self.grammar.naming.iter().find(has) else {
            return names;
        };
        let mut cursor = node.walk();
        for mut named in node.children_by_field_id(*field, &mut cursor) {
            while let Some(inner) = within_declarator(named) {
                named = inner;
            }
            match named.kind() {
                "pattern_list" | "tuple_pattern" => {
                    let mut parts = named.walk();
                    let parts = named.named_children(&mut parts);
                    names.extend(parts.filter(|part| part.kind() == "identifier"));
                }
                kind if named.is_named() && kind.ends_with("identifier") => names.push(named),
                _ => {}
            }
        }
        names
    }

    /// The last name of an expression or a type.
    fn last_name(&self, node: Node<'tree>) -> Option<Node<'tree>> {
        let mut names = Vec::new();
        self.used_names(node, &mut names);
        names.pop()
    }

    /// The names in which expressions, types and lists of them end.
    fn used_names(&self, node: Node<'tree>, names: &mut Vec<Node<'tree>>) {
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            let last = node.named_child_count().checked_sub(1);
            let last = last.and_then(|last| u32::try_from(last).ok());
            match (self.grammar.rule(node).inside, last) {
                (Inside::Nowhere, _) => {}
                (Inside::Each, _) => {
                    let mut cursor = node.walk();
                    let listed: Vec<Node<'tree>> = node.named_children(&mut cursor).collect();
                    pending.extend(listed.into_iter().rev());
                }
                (Inside::Last, Some(last)) => names.extend(node.named_child(last)),
                (Inside::Further, Some(_)) => {
                    let mut fields = self.grammar.towards_name.iter();
                    let towards = fields.find_map(|field| node.child_by_field_id(field.get()));
                    pending.extend(towards.or_else(|| node.named_child(0)));
                }
                (Inside::Further | Inside::Last, None) => names.push(node),
            }
        }
    }
}

/// Whether functions in such a definition are methods, and declarations fields.
fn is_type(kind: &str) -> bool {
    matches!(
        kind,
        "struct" | "enum" | "union" | "trait" | "class" | "interface" | "type" | "enumerator" | OWNER
    )
}

/// Whether what is declared in such a scope is local to it.
fn is_body(kind: &str) -> bool {
    matches!(kind, "function" | "method" | LOCAL)
}

/// The inner part of a declarator.
fn within_declarator(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "parenthesized_declarator" => node.named_child(0),
        kind if kind.ends_with("_declarator") => node.child_by_field_name("declarator"),
        _ => None,
    }
}

fn line(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
