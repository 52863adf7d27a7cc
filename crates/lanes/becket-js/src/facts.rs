//! Facts about a file of JavaScript that must be known before it runs: whether it is an ES module, which names of
//! CommonJS it uses, what it imports by name, and what it exports if it is CommonJS. They are cached beside the
//! transformed code.

use std::collections::{BTreeMap, BTreeSet};

use oxc::allocator::Allocator;
use oxc::ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, CallExpression, Expression, ObjectPropertyKind,
};
use oxc::ast_visit::{Visit, walk};
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::syntax::module_record::{ExportExportName, ExportImportName, ImportImportName, ModuleRecord};
use serde::{Deserialize, Serialize};

use crate::needs::{Needs, is_name, required};
use crate::room::with_room;

/// Names that CommonJS gives to every file, and that extensions use in ES modules too.
const COMMONJS: &[&str] = &["require", "module", "exports", "__filename", "__dirname"];

/// Globals that only Node has.
const ONLY_NODE: &[&str] = &["BroadcastChannel", "EventSource", "WebAssembly", "WebSocket"];

/// Facts about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// Whether the file has `import`, `export` or `import.meta`.
    pub(crate) module_syntax: bool,
    /// The names of CommonJS that the file uses without declaring them.
    pub(crate) free: Vec<String>,
    /// What the file exports by CommonJS, as far as that is visible.
    pub(crate) names: Vec<String>,
    /// The modules whose exports the file re-exports by CommonJS.
    pub(crate) passed_on: Vec<String>,
    /// What the file exports as an ES module, except for `export *`; `None` if that is not visible.
    pub(crate) exports: Option<Vec<String>>,
    /// The modules that the file re-exports with `export *`.
    pub(crate) stars: Vec<String>,
    /// The names that the file imports from other modules, to use them or to re-export them.
    pub(crate) asks: BTreeMap<String, Vec<String>>,
    /// The modules of which the file uses nothing but these names.
    pub(crate) imports: BTreeMap<String, Vec<String>>,
    /// The modules that the file cannot do without: those it imports, and those it requires whenever it runs.
    pub(crate) needs: Vec<String>,
    /// The modules that the file requires somewhere, by name.
    pub(crate) requires: Vec<String>,
    /// The modules that the file imports dynamically, by name.
    pub(crate) late: Vec<String>,
    /// What the file uses of Node's modules, as far as that is visible.
    pub(crate) uses: BTreeMap<String, BTreeSet<String>>,
    /// Globals of Node that the file uses and that no engine without Node has.
    pub(crate) globals: Vec<String>,
}

impl Facts {
    /// Analyses JavaScript.
    pub(crate) fn of(source: &str) -> Self {
        with_room(source, || Self::looked_at(source)).unwrap_or_default()
    }

    fn looked_at(source: &str) -> Self {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, source, SourceType::unambiguous()).parse();
        let module_syntax = parsed.module_record.has_module_syntax;
        let semantic = SemanticBuilder::new().build(&parsed.program).semantic;
        let unresolved = semantic.scoping().root_unresolved_references();
        let is_free = |name: &&&str| unresolved.keys().any(|key| key.as_str() == **name);
        let free_of = |names: &[&str]| {
            let free = names.iter().filter(is_free);
            free.map(|name| (*name).to_string()).collect()
        };
        let mut exports = Exports::default();
        if !module_syntax {
            exports.visit_program(&parsed.program);
        }
        let needs = Needs::of(&parsed.program, &parsed.module_record);
        let is_understood = !parsed.panicked && parsed.diagnostics.errors().next().is_none();
        Self {
            exports: is_understood.then(|| exported(&parsed.module_record)),
            stars: stars(&parsed.module_record),
            asks: asks(&parsed.module_record),
            module_syntax,
            free: free_of(COMMONJS),
            names: exports.names,
            passed_on: exports.passed_on,
            imports: imports(&parsed.module_record),
            needs: needs.certain,
            requires: needs.required,
            late: needs.late,
            uses: needs.uses,
            globals: free_of(ONLY_NODE),
        }
    }
}

/// The names that an ES module exports.
fn exported(record: &ModuleRecord<'_>) -> Vec<String> {
    let entries = record.local_export_entries.iter();
    let names = entries
        .chain(&record.indirect_export_entries)
        .filter_map(|entry| match &entry.export_name {
            ExportExportName::Name(name) => Some(name.name.to_string()),
            ExportExportName::Default(_) => Some("default".into()),
            ExportExportName::Null => None,
        });
    names.collect()
}

fn stars(record: &ModuleRecord<'_>) -> Vec<String> {
    let modules = record.star_export_entries.iter();
    let modules = modules.filter_map(|entry| Some(entry.module_request.as_ref()?.name.to_string()));
    modules.collect()
}

fn asks(record: &ModuleRecord<'_>) -> BTreeMap<String, Vec<String>> {
    let mut asks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut ask = |module: &str, name: &str| {
        let names = asks.entry(module.into()).or_default();
        if is_plain(name) && !names.iter().any(|known| known == name) {
            names.push(name.into());
        }
    };
    for entry in &record.import_entries {
        match &entry.import_name {
            ImportImportName::Name(name) => ask(&entry.module_request.name, &name.name),
            ImportImportName::Default(_) => ask(&entry.module_request.name, "default"),
            ImportImportName::NamespaceObject => {}
        }
    }
    for entry in &record.indirect_export_entries {
        if let (Some(module), ExportImportName::Name(name)) = (&entry.module_request, &entry.import_name) {
            ask(&module.name, &name.name);
        }
    }
    asks
}

/// The imported names, for each module of which nothing else is used. A file with dynamic imports may want all of a
/// module, so nothing is known about it.
fn imports(record: &ModuleRecord<'_>) -> BTreeMap<String, Vec<String>> {
    let mut imports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if !record.dynamic_imports.is_empty() {
        return imports;
    }
    let mut whole: Vec<&str> = Vec::new();
    for entry in &record.import_entries {
        let module = entry.module_request.name.as_str();
        match &entry.import_name {
            ImportImportName::Name(name) => {
                imports
                    .entry(module.into())
                    .or_default()
                    .push(name.name.to_string());
            }
            ImportImportName::Default(_) => imports.entry(module.into()).or_default().push("default".into()),
            ImportImportName::NamespaceObject => whole.push(module),
        }
    }
    let passed_on = record
        .indirect_export_entries
        .iter()
        .chain(&record.star_export_entries);
    whole.extend(passed_on.filter_map(|entry| Some(entry.module_request.as_ref()?.name.as_str())));
    whole.into_iter().for_each(|module| drop(imports.remove(module)));
    imports
}

/// Collects what a file exports by CommonJS, wherever the statement stands.
#[derive(Default)]
struct Exports {
    names: Vec<String>,
    passed_on: Vec<String>,
}

impl Exports {
    fn name(&mut self, name: &str) {
        if name != "default" && is_plain(name) && !self.names.iter().any(|known| known == name) {
            self.names.push(name.into());
        }
    }

    fn pass_on(&mut self, module: &str) {
        if !self.passed_on.iter().any(|known| known == module) {
            self.passed_on.push(module.into());
        }
    }

    /// Reads the right side of `module.exports =`.
    fn whole(&mut self, value: &Expression<'_>) {
        match value {
            Expression::ObjectExpression(object) => {
                for property in &object.properties {
                    match property {
                        ObjectPropertyKind::ObjectProperty(property) => {
                            if let Some(name) = property.key.static_name() {
                                self.name(&name);
                            }
                        }
                        ObjectPropertyKind::SpreadProperty(spread) => self.whole_of_module(&spread.argument),
                    }
                }
            }
            Expression::AssignmentExpression(inner) => self.whole(&inner.right),
            other => self.whole_of_module(other),
        }
    }

    fn whole_of_module(&mut self, value: &Expression<'_>) {
        if let Some(module) = required(value) {
            self.pass_on(&module);
        }
    }
}

impl<'a> Visit<'a> for Exports {
    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        match &assignment.left {
            AssignmentTarget::StaticMemberExpression(member) => {
                if is_exports(&member.object) {
                    self.name(&member.property.name);
                } else if member.property.name == "exports" && is_name(&member.object, "module") {
                    self.whole(&assignment.right);
                }
            }
            AssignmentTarget::ComputedMemberExpression(member) if is_exports(&member.object) => {
                if let Expression::StringLiteral(name) = &member.expression {
                    self.name(&name.value);
                }
            }
            _ => {}
        }
        walk::walk_assignment_expression(self, assignment);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let function = match &call.callee {
            Expression::Identifier(name) => name.name.as_str(),
            Expression::StaticMemberExpression(member) => member.property.name.as_str(),
            _ => "",
        };
        let first = call.arguments.first().and_then(Argument::as_expression);
        match function {
            "defineProperty" if first.is_some_and(is_exports) => {
                if let Some(Argument::StringLiteral(name)) = call.arguments.get(1) {
                    self.name(&name.value);
                }
            }
            "__exportStar" | "__export" | "__reExport" => {
                let arguments = call.arguments.iter().filter_map(Argument::as_expression);
                arguments.for_each(|argument| self.whole_of_module(argument));
            }
            _ => {}
        }
        walk::walk_call_expression(self, call);
    }
}

fn is_plain(name: &str) -> bool {
    let mut letters = name.chars();
    let begins = letters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_' || first == '$');
    begins && letters.all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '$')
}

/// Whether an expression is `exports` or `module.exports`.
fn is_exports(value: &Expression<'_>) -> bool {
    match value {
        Expression::StaticMemberExpression(member) => {
            member.property.name == "exports" && is_name(&member.object, "module")
        }
        other => is_name(other, "exports"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_of_commonjs_are_seen_in_all_their_shapes() {
        for (source, names, passed_on) in [
            ("exports.a = exports.b = void 0; exports['c'] = 1;", "a b c", ""),
            (
                "module.exports = { a, b: 1, 'c': 2, 'not-plain': 3, ...require('./x') };",
                "a b c",
                "./x",
            ),
            ("module.exports = require('./y');", "", "./y"),
            (
                "Object.defineProperty(exports, 'late', { get() {} });",
                "late",
                "",
            ),
            (
                "Object.defineProperty(exports, '__esModule', { value: true });",
                "__esModule",
                "",
            ),
            ("tslib_1.__exportStar(require('./z'), exports);", "", "./z"),
            ("0 && (module.exports = { hinted });", "hinted", ""),
            (
                "(function (exports) { exports.inner = 1; })(exports);",
                "inner",
                "",
            ),
            ("module.exports = exports = { both: 1 };", "both", ""),
        ] {
            let facts = Facts::of(source);
            assert!(!facts.module_syntax, "{source}");
            assert_eq!(facts.names.join(" "), names, "{source}");
            assert_eq!(facts.passed_on.join(" "), passed_on, "{source}");
        }
    }

    #[test]
    fn a_module_of_which_only_names_are_used_is_seen() {
        for (source, names) in [
            (
                "import { a, b as c } from 'x'; import d from 'x';",
                Some("a b default"),
            ),
            ("import * as all from 'x'; import { a } from 'x';", None),
            ("import { a } from 'x'; export { b } from 'x';", None),
            ("import { a } from 'x'; export * from 'x';", None),
            ("import { a } from 'x'; import('x');", None),
            ("import { a } from 'y';", None),
        ] {
            let facts = Facts::of(source);
            let found = facts.imports.get("x").map(|names| names.join(" "));
            assert_eq!(found.as_deref(), names, "{source}");
        }
    }

    #[test]
    fn what_is_asked_of_others_and_exported_is_seen_in_all_shapes() {
        for (source, asks, exports, stars) in [
            ("import { a, b as c, a as d } from 'x';", "a b", "", ""),
            ("import a, * as all from 'x'; import 'x';", "default", "", ""),
            ("import { a } from 'x'; export { a, a as b };", "a", "a b", ""),
            (
                "export { a, default as b, c as default } from 'x';",
                "a default c",
                "a b default",
                "",
            ),
            ("export * from 'x'; export * as all from 'x';", "", "all", "x"),
            (
                "export const { a, b: [c] } = {}; export class D {} export default 1;",
                "",
                "D a c default",
                "",
            ),
            (
                "export { a as 'not plain' } from 'x'; import { 'odd-one' as b } from 'x';",
                "a",
                "not plain",
                "",
            ),
        ] {
            let facts = Facts::of(source);
            let asked = facts
                .asks
                .get("x")
                .map(|names| names.join(" "))
                .unwrap_or_default();
            assert_eq!(asked, asks, "{source}");
            let mut exported = facts.exports.expect("it can be read");
            exported.sort();
            assert_eq!(exported.join(" "), exports, "{source}");
            assert_eq!(facts.stars.join(" "), stars, "{source}");
        }
        assert_eq!(Facts::of("export const a = ;").exports, None);
    }

    #[test]
    fn names_that_a_file_declares_are_not_free() {
        let facts = Facts::of("import x from 'x'; const __dirname = x; require(__filename, __dirname);");
        assert!(facts.module_syntax);
        assert_eq!(facts.free, ["require", "__filename"]);
        assert!(Facts::of("console.log(import.meta.url)").module_syntax);
        assert!(!Facts::of("module.exports = () => import('x')").module_syntax);
    }
}
