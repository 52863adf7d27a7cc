//! The modules that a file of JavaScript names: which it cannot do without, and what it uses of Node's.

use std::collections::{BTreeMap, BTreeSet};

use oxc::ast::ast::{
    Argument, ArrowFunctionExpression, BindingPattern, CallExpression, ConditionalExpression, Expression,
    Function, IfStatement, ImportExpression, LogicalExpression, ObjectProperty, Program,
    StaticMemberExpression, SwitchStatement, TryStatement, VariableDeclarator,
};
use oxc::ast_visit::{Visit, walk};
use oxc::syntax::module_record::{ImportImportName, ModuleRecord};
use oxc::syntax::scope::ScopeFlags;

use crate::node::table;

/// The modules that a file needs.
#[derive(Default)]
pub(crate) struct Needs {
    /// The modules that the file imports, and those it requires whenever it runs.
    pub(crate) certain: Vec<String>,
    /// The modules that the file requires somewhere.
    pub(crate) required: Vec<String>,
    /// The modules that the file imports dynamically.
    pub(crate) late: Vec<String>,
    /// What the file uses of Node's modules, by their names without `node:`.
    pub(crate) uses: BTreeMap<String, BTreeSet<String>>,
    /// Variables that hold a `require` which the file has made for itself (`createRequire`).
    made: Vec<String>,
    /// Variables that hold whole modules, with the module.
    known_as: Vec<(String, String)>,
    /// Member accesses: the variable and the member.
    members: Vec<(String, String)>,
    /// How many enclosing parts may never run: functions, branches, `try` blocks.
    around: usize,
}

impl Needs {
    /// Analyses a file.
    pub(crate) fn of(program: &Program<'_>, record: &ModuleRecord<'_>) -> Self {
        let mut needs = Self::default();
        needs.import(record);
        needs.visit_program(program);
        for (name, module) in std::mem::take(&mut needs.known_as) {
            let members = std::mem::take(&mut needs.members);
            let used = members.iter().filter(|(object, _)| *object == name);
            used.for_each(|(_, member)| needs.use_of(&module, member));
            needs.members = members;
        }
        needs
    }

    /// Reads the static imports.
    fn import(&mut self, record: &ModuleRecord<'_>) {
        let requested = record.requested_modules.iter();
        let requested = requested.filter(|(_, requests)| requests.iter().any(|request| !request.is_type));
        self.certain = requested.map(|(name, _)| name.to_string()).collect();
        self.certain.sort();
        for entry in &record.import_entries {
            let module = entry.module_request.name.as_str();
            match &entry.import_name {
                ImportImportName::Name(name) => self.use_of(module, name.name.as_str()),
                _ => self
                    .known_as
                    .push((entry.local_name.name.to_string(), module.into())),
            }
        }
    }

    fn use_of(&mut self, module: &str, name: &str) {
        if let Some(module) = table::imported(module) {
            self.uses.entry(module.into()).or_default().insert(name.into());
        }
    }

    /// The module that an expression is the whole of: `require("x")`, by whatever name the file has made it, also
    /// wrapped by a compiler's helper, or `await import("x")`.
    fn whole_module(&self, value: &Expression<'_>) -> Option<String> {
        let required = |value: &Expression<'_>| {
            let named = self.made.iter().find_map(|name| called(value, name));
            named.or_else(|| required(value))
        };
        let value = value.without_parentheses();
        if let Some(module) = required(value) {
            return Some(module);
        }
        match value {
            Expression::CallExpression(call) => {
                let mut arguments = call.arguments.iter().filter_map(Argument::as_expression);
                arguments.find_map(required)
            }
            Expression::AwaitExpression(awaited) => match awaited.argument.without_parentheses() {
                Expression::ImportExpression(import) => match &import.source {
                    Expression::StringLiteral(name) => Some(name.value.to_string()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn inside(&mut self, look: impl FnOnce(&mut Self)) {
        self.around += 1;
        look(self);
        self.around -= 1;
    }
}

impl<'a> Visit<'a> for Needs {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let (Some(Argument::StringLiteral(name)), Expression::Identifier(function)) =
            (call.arguments.first(), &call.callee)
            && function.name == "require"
        {
            let name = name.value.to_string();
            if self.around == 0 {
                self.certain.push(name.clone());
            }
            self.required.push(name);
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        if let Expression::StringLiteral(name) = &import.source {
            self.late.push(name.value.to_string());
        }
        walk::walk_import_expression(self, import);
    }

    fn visit_variable_declarator(&mut self, declared: &VariableDeclarator<'a>) {
        if let (Some(value), BindingPattern::BindingIdentifier(name)) = (&declared.init, &declared.id)
            && makes_require(value)
        {
            self.made.push(name.name.to_string());
        }
        if let Some(module) = declared.init.as_ref().and_then(|value| self.whole_module(value)) {
            match &declared.id {
                BindingPattern::BindingIdentifier(name) => {
                    self.known_as.push((name.name.to_string(), module))
                }
                BindingPattern::ObjectPattern(parts) => {
                    for part in &parts.properties {
                        if let Some(name) = part.key.static_name() {
                            self.use_of(&module, &name);
                        }
                    }
                }
                _ => {}
            }
        }
        walk::walk_variable_declarator(self, declared);
    }

    fn visit_object_property(&mut self, property: &ObjectProperty<'a>) {
        // A program with more than three streams, or with a channel, is what `fork` starts.
        if property.key.static_name().is_some_and(|name| name == "stdio")
            && let Expression::ArrayExpression(streams) = property.value.get_inner_expression()
            && streams.elements.len() > 3
        {
            self.use_of("child_process", "fork");
        }
        walk::walk_object_property(self, property);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        let name = member.property.name.as_str();
        let object = match member.object.without_parentheses() {
            // Members of a former ES module are used by way of its `default`.
            Expression::StaticMemberExpression(inner) if inner.property.name == "default" => &inner.object,
            other => other,
        };
        match object {
            Expression::Identifier(object) => self.members.push((object.name.to_string(), name.into())),
            other => {
                if let Some(module) = self.whole_module(other) {
                    self.use_of(&module, name);
                }
            }
        }
        walk::walk_static_member_expression(self, member);
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.inside(|needs| walk::walk_function(needs, function, flags));
    }

    fn visit_arrow_function_expression(&mut self, function: &ArrowFunctionExpression<'a>) {
        self.inside(|needs| walk::walk_arrow_function_expression(needs, function));
    }

    fn visit_try_statement(&mut self, attempt: &TryStatement<'a>) {
        self.inside(|needs| walk::walk_try_statement(needs, attempt));
    }

    fn visit_if_statement(&mut self, branch: &IfStatement<'a>) {
        self.inside(|needs| walk::walk_if_statement(needs, branch));
    }

    fn visit_conditional_expression(&mut self, branch: &ConditionalExpression<'a>) {
        self.inside(|needs| walk::walk_conditional_expression(needs, branch));
    }

    fn visit_logical_expression(&mut self, branch: &LogicalExpression<'a>) {
        self.inside(|needs| walk::walk_logical_expression(needs, branch));
    }

    fn visit_switch_statement(&mut self, branch: &SwitchStatement<'a>) {
        self.inside(|needs| walk::walk_switch_statement(needs, branch));
    }
}

/// The module that `require("x")` names.
pub(crate) fn required(value: &Expression<'_>) -> Option<String> {
    called(value, "require")
}

/// The text with which a function of this name is called.
fn called(value: &Expression<'_>, function: &str) -> Option<String> {
    let Expression::CallExpression(call) = value else {
        return None;
    };
    match call.arguments.first() {
        Some(Argument::StringLiteral(text)) if is_name(&call.callee, function) => {
            Some(text.value.to_string())
        }
        _ => None,
    }
}

/// Whether an expression makes a `require`: `createRequire(…)`, `module.createRequire(…)`.
fn makes_require(value: &Expression<'_>) -> bool {
    let Expression::CallExpression(call) = value.without_parentheses() else {
        return false;
    };
    match &call.callee {
        Expression::Identifier(name) => name.name.contains("createRequire"),
        Expression::StaticMemberExpression(member) => member.property.name == "createRequire",
        _ => false,
    }
}

/// Whether an expression is this name.
pub(crate) fn is_name(value: &Expression<'_>, name: &str) -> bool {
    matches!(value, Expression::Identifier(identifier) if identifier.name == name)
}

#[cfg(test)]
mod tests {
    use crate::facts::Facts;

    #[test]
    fn what_is_needed_for_certain_is_told_from_what_may_be() {
        for (source, needs, requires) in [
            ("import 'a'; export * from 'b'; import('c');", "a b", ""),
            (
                "const a = require('a'); module.exports = require('b')(1);",
                "a b",
                "a b",
            ),
            ("try { require('a') } catch {}", "", "a"),
            ("if (x) require('a'); else require('b');", "", "a b"),
            ("const a = x ? require('a') : y && require('b');", "", "a b"),
            (
                "function f() { require('a') } const g = () => require('b');",
                "",
                "a b",
            ),
            ("class A { load() { return require('a') } }", "", "a"),
            ("require(name); import(`${name}`); other('a');", "", ""),
        ] {
            let facts = Facts::of(source);
            assert_eq!(facts.needs.join(" "), needs, "{source}");
            assert_eq!(facts.requires.join(" "), requires, "{source}");
        }
        let facts = Facts::of("import './a'; f(() => import('./b')); import(name); await import('c');");
        assert_eq!(facts.late, ["./b", "c"]);
        let facts = Facts::of("new WebAssembly.Module(bytes); const WebSocket = 1; WebSocket;");
        assert_eq!(facts.globals, ["WebAssembly"]);
    }

    #[test]
    fn a_fourth_stream_of_a_program_is_seen() {
        for (source, is_seen) in [
            ("spawn('x', { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });", true),
            (
                "const options = { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] };",
                true,
            ),
            ("spawn('x', { stdio: ['ignore', 'pipe', 'pipe'] });", false),
        ] {
            let uses = Facts::of(source).uses;
            assert_eq!(uses.contains_key("child_process"), is_seen, "{source}");
        }
    }

    #[test]
    fn what_is_used_of_node_is_seen_in_all_its_shapes() {
        for source in [
            "import { connect as c } from 'node:net';",
            "import net from 'net'; net.connect();",
            "import * as net from 'net'; f(() => net.connect);",
            "const { connect } = require('net');",
            "const net = require('node:net'); net.connect(1);",
            "require('net').connect(1);",
            "const net = __toESM(require('net')); net.default.connect(1);",
            "async () => { const { connect } = await import('net'); }",
            "async () => (await import('net')).connect();",
            "const own = createRequire(import.meta.url); const { connect } = own('net');",
            "const own = module.createRequire(__filename); const net = yes ? 1 : own('node:net').connect;",
        ] {
            let uses = Facts::of(source).uses;
            let names: Vec<&str> = uses["net"].iter().map(String::as_str).collect();
            assert!(names.contains(&"connect"), "{source}: {uses:?}");
        }
        for source in [
            "import net from 'net'; other.connect();",
            "const { connect } = require('./net');",
            "connect('net');",
        ] {
            let uses = Facts::of(source).uses;
            let has = uses.get("net").is_some_and(|names| names.contains("connect"));
            assert!(!has, "{source}: {uses:?}");
        }
    }
}
