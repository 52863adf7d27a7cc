//! What the text of a module shows without running it: its default export, what that does with its argument, and which
//! imports cannot be resolved.

use std::path::Path;

use oxc::allocator::Allocator;
use oxc::ast::ast::{
    Argument, ArrowFunctionBody, ArrowFunctionExpression, BinaryExpression, BindingPattern, CallExpression,
    ExportDefaultDeclarationKind, Expression, FormalParameter, FormalParameters, Function, FunctionBody,
    ObjectProperty, ObjectPropertyKind, Program, ReturnStatement, Statement, TSType, TSTypeName,
};
use oxc::ast_visit::{Visit, walk};
use oxc::parser::Parser;
use oxc::semantic::{Scoping, SemanticBuilder};
use oxc::span::{GetSpan, SourceType};
use oxc::syntax::scope::ScopeFlags;
use oxc::syntax::symbol::SymbolId;

use crate::facts::Facts;
use crate::node::table;
use crate::packages::{Asked, Packages};
use crate::room::with_room;
use crate::transform::{TransformError, Transformer, in_plain_words};

/// A module, as far as its text shows it.
#[derive(Debug, Default)]
pub struct Outline {
    /// The module's default export.
    pub default: DefaultExport,
    /// The calls of members of the object that the module's function is given.
    pub calls: Vec<ApiCall>,
    /// Texts with which a member of some object is compared.
    pub comparisons: Vec<Compared>,
    /// Texts that stand as `name` in some object.
    pub names: Vec<String>,
}

/// The default export of a module.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum DefaultExport {
    /// There is no default export.
    #[default]
    Missing,
    /// A function.
    Function,
    /// A value that cannot be called, with its line.
    NoFunction(usize),
    /// A value that is known only at run time.
    Unknown,
}

/// A call such as `api.on("event", handler)`.
#[derive(Debug)]
pub struct ApiCall {
    /// The member that is called.
    pub member: String,
    /// The first argument, if that is a text.
    pub first: Option<String>,
    /// The fields of the objects that the handler returns, as far as they are visible, each with its line.
    pub returned: Vec<(String, usize)>,
    /// The line of the call.
    pub line: usize,
}

/// A comparison such as `event.toolName === "bash"`.
#[derive(Debug)]
pub struct Compared {
    /// The member that is compared.
    pub member: String,
    /// The text that it is compared with.
    pub text: String,
    /// The line of the comparison.
    pub line: usize,
}

/// Analyses a module. Parameters of the type `api` are the same object as the one that its function is given.
pub fn outline(file: &Path, source: &str, api: &str) -> Result<Outline, TransformError> {
    with_room(source, || looked_at(file, source, api)).unwrap_or_else(|| Err(TransformError::too_deep(file)))
}

fn looked_at(file: &Path, source: &str, api: &str) -> Result<Outline, TransformError> {
    let allocator = Allocator::default();
    let kind = SourceType::from_path(file).unwrap_or_else(|_| SourceType::ts());
    let parsed = Parser::new(&allocator, source, kind).parse();
    if let Some(problem) = parsed.diagnostics.errors().next() {
        return Err(in_plain_words(file, source, problem));
    }
    let program = &parsed.program;
    let scoping = SemanticBuilder::new().build(program).semantic.into_scoping();
    let exported = exported(program);
    let is_free = |name: &str| {
        let mut free = scoping.root_unresolved_references().keys();
        free.any(|free| free.as_str() == name)
    };
    let default = match exported {
        Some(Exported::Function(_)) => DefaultExport::Function,
        Some(Exported::Other(offset)) => DefaultExport::NoFunction(line_of(source, offset)),
        Some(Exported::Unknown) => DefaultExport::Unknown,
        None if is_free("module") || is_free("exports") => DefaultExport::Unknown,
        None => DefaultExport::Missing,
    };
    let first = match exported {
        Some(Exported::Function(parameters)) => parameters.items.first().and_then(symbol_of),
        _ => None,
    };
    let mut looking = Looking {
        source,
        scoping: &scoping,
        api_type: api,
        apis: first.into_iter().collect(),
        outline: Outline {
            default,
            ..Outline::default()
        },
    };
    looking.visit_program(program);
    Ok(looking.outline)
}

/// The required modules of a file that cannot be found, each with its line. `is_host` says which names are modules of
/// the host.
pub fn missing_imports(file: &Path, source: &str, is_host: impl Fn(&str) -> bool) -> Vec<(String, usize)> {
    // The JavaScript no longer has imports that were only about types.
    let Ok(code) = Transformer::default().javascript(file, source) else {
        return Vec::new();
    };
    let packages = Packages::default();
    let folder = file.parent().unwrap_or(file);
    let is_there = |name: &str| {
        // Addresses are left to the engine.
        if is_host(name) || table::imported(name).is_some() || name.contains(':') {
            return true;
        }
        if name.starts_with(['.', '/']) {
            let path = name.split('?').next().unwrap_or_default();
            return packages.existing(&folder.join(path)).is_some();
        }
        let mut ways = [Asked::Import, Asked::Require].into_iter();
        ways.any(|asked| packages.find(folder, name, asked).is_ok())
    };
    let missing = Facts::of(&code).needs.into_iter().filter(|name| !is_there(name));
    missing
        .map(|name| {
            let quoted = ['"', '\''].map(|quote| format!("{quote}{name}{quote}"));
            let place = quoted.iter().find_map(|quoted| source.find(quoted.as_str()));
            (name, line_of(source, place.unwrap_or_default()))
        })
        .collect()
}

/// The value of a default export.
#[derive(Clone, Copy)]
enum Exported<'p, 'a> {
    Function(&'p FormalParameters<'a>),
    /// A value that is not a function, and where.
    Other(usize),
    Unknown,
}

fn exported<'p, 'a>(program: &'p Program<'a>) -> Option<Exported<'p, 'a>> {
    program.body.iter().find_map(|statement| match statement {
        Statement::ExportDefaultDeclaration(export) => Some(match &export.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                Exported::Function(&function.params)
            }
            ExportDefaultDeclarationKind::ClassDeclaration(class) => {
                Exported::Other(class.span.start as usize)
            }
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => return None,
            other => other
                .as_expression()
                .map_or(Exported::Unknown, |value| value_of(program, value)),
        }),
        Statement::ExportNamedDeclaration(export) => {
            let mut specifiers = export.specifiers.iter();
            let default = specifiers.find(|specifier| specifier.exported.name() == "default")?;
            Some(declared(program, default.local.name().as_str()))
        }
        Statement::ExportFromDeclaration(export) => {
            let mut specifiers = export.specifiers.iter();
            let is_there = specifiers.any(|specifier| specifier.exported.name() == "default");
            is_there.then_some(Exported::Unknown)
        }
        Statement::TSExportAssignment(export) => Some(value_of(program, &export.expression)),
        _ => None,
    })
}

fn value_of<'p, 'a>(program: &'p Program<'a>, value: &'p Expression<'a>) -> Exported<'p, 'a> {
    match value.get_inner_expression() {
        Expression::FunctionExpression(function) => Exported::Function(&function.params),
        Expression::ArrowFunctionExpression(function) => Exported::Function(&function.params),
        Expression::Identifier(name) => declared(program, name.name.as_str()),
        Expression::ObjectExpression(_)
        | Expression::ArrayExpression(_)
        | Expression::ClassExpression(_)
        | Expression::StringLiteral(_)
        | Expression::TemplateLiteral(_)
        | Expression::NumericLiteral(_)
        | Expression::BooleanLiteral(_)
        | Expression::NullLiteral(_)
        | Expression::RegExpLiteral(_) => Exported::Other(value.span().start as usize),
        _ => Exported::Unknown,
    }
}

/// The value of a name by its outermost declaration.
fn declared<'p, 'a>(program: &'p Program<'a>, name: &str) -> Exported<'p, 'a> {
    let found = program.body.iter().find_map(|statement| match statement {
        Statement::FunctionDeclaration(function) => {
            let is_it = function.id.as_ref().is_some_and(|id| id.name == name);
            is_it.then_some(Exported::Function(&function.params))
        }
        Statement::VariableDeclaration(variables) if variables.kind.is_const() => {
            let mut declarators = variables.declarations.iter();
            let declarator = declarators.find(|declarator| {
                matches!(&declarator.id, BindingPattern::BindingIdentifier(id) if id.name == name)
            })?;
            // Aliases of aliases may be circular.
            match declarator.init.as_ref()?.get_inner_expression() {
                Expression::Identifier(_) => None,
                value => Some(value_of(program, value)),
            }
        }
        _ => None,
    });
    found.unwrap_or(Exported::Unknown)
}

fn symbol_of(parameter: &FormalParameter<'_>) -> Option<SymbolId> {
    match &parameter.pattern {
        BindingPattern::BindingIdentifier(id) => id.symbol_id.get(),
        _ => None,
    }
}

/// Collects the contents of the outline.
struct Looking<'s> {
    source: &'s str,
    scoping: &'s Scoping,
    api_type: &'s str,
    /// The variables that hold the API object.
    apis: Vec<SymbolId>,
    outline: Outline,
}

impl Looking<'_> {
    fn line(&self, offset: u32) -> usize {
        line_of(self.source, offset as usize)
    }

    fn is_api(&self, value: &Expression<'_>) -> bool {
        let Expression::Identifier(identifier) = value.get_inner_expression() else {
            return false;
        };
        let reference = identifier.reference_id.get();
        let symbol = reference.and_then(|id| self.scoping.get_reference(id).symbol_id());
        symbol.is_some_and(|symbol| self.apis.contains(&symbol))
    }

    fn is_typed(&self, parameter: &FormalParameter<'_>) -> bool {
        let annotation = parameter.type_annotation.as_ref();
        annotation.is_some_and(|annotation| match &annotation.type_annotation {
            TSType::TSTypeReference(reference) => match &reference.type_name {
                TSTypeName::IdentifierReference(name) => name.name == self.api_type,
                _ => false,
            },
            _ => false,
        })
    }
}

impl<'a> Visit<'a> for Looking<'_> {
    fn visit_formal_parameter(&mut self, parameter: &FormalParameter<'a>) {
        if self.is_typed(parameter) {
            self.apis.extend(symbol_of(parameter));
        }
        walk::walk_formal_parameter(self, parameter);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Expression::StaticMemberExpression(member) = &call.callee
            && self.is_api(&member.object)
        {
            let mut returns = Returns::default();
            if let Some(handler) = call.arguments.get(1).and_then(Argument::as_expression) {
                returns.of_function(handler);
            }
            let returned = returns.fields.into_iter();
            let returned = returned.map(|(name, offset)| (name, self.line(offset)));
            let first = call.arguments.first().and_then(Argument::as_expression);
            let found = ApiCall {
                member: member.property.name.to_string(),
                first: first.and_then(text_of),
                returned: returned.collect(),
                line: self.line(call.span.start),
            };
            self.outline.calls.push(found);
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_binary_expression(&mut self, compared: &BinaryExpression<'a>) {
        let sides = [
            (&compared.left, &compared.right),
            (&compared.right, &compared.left),
        ];
        for (member, text) in sides.into_iter().filter(|_| compared.operator.is_equality()) {
            if let (Expression::StaticMemberExpression(member), Some(text)) = (member, text_of(text)) {
                let line = self.line(compared.span.start);
                let member = member.property.name.to_string();
                self.outline.comparisons.push(Compared { member, text, line });
            }
        }
        walk::walk_binary_expression(self, compared);
    }

    fn visit_object_property(&mut self, property: &ObjectProperty<'a>) {
        if property.key.static_name().is_some_and(|name| name == "name") {
            self.outline.names.extend(text_of(&property.value));
        }
        walk::walk_object_property(self, property);
    }
}

/// A text that is known without running anything.
fn text_of(value: &Expression<'_>) -> Option<String> {
    match value.get_inner_expression() {
        Expression::StringLiteral(text) => Some(text.value.to_string()),
        Expression::TemplateLiteral(text) => text.single_quasi().map(|text| text.to_string()),
        _ => None,
    }
}

/// Collects the fields of the objects that a function returns itself.
#[derive(Default)]
struct Returns {
    fields: Vec<(String, u32)>,
}

impl Returns {
    fn of_function(&mut self, handler: &Expression<'_>) {
        match handler.get_inner_expression() {
            Expression::FunctionExpression(function) => self.of_body(function.body.as_deref()),
            Expression::ArrowFunctionExpression(function) => match &function.body {
                ArrowFunctionBody::FunctionBody(body) => self.of_body(Some(body)),
                other => {
                    if let Some(value) = other.as_expression() {
                        self.of_value(value);
                    }
                }
            },
            _ => {}
        }
    }

    fn of_body(&mut self, body: Option<&FunctionBody<'_>>) {
        if let Some(body) = body {
            self.visit_function_body(body);
        }
    }

    fn of_value(&mut self, value: &Expression<'_>) {
        match value.get_inner_expression() {
            Expression::ObjectExpression(object) => {
                for property in &object.properties {
                    if let ObjectPropertyKind::ObjectProperty(property) = property
                        && let Some(name) = property.key.static_name()
                    {
                        self.fields.push((name.to_string(), property.span.start));
                    }
                }
            }
            Expression::ConditionalExpression(either) => {
                self.of_value(&either.consequent);
                self.of_value(&either.alternate);
            }
            Expression::LogicalExpression(both) => {
                self.of_value(&both.left);
                self.of_value(&both.right);
            }
            _ => {}
        }
    }
}

impl<'a> Visit<'a> for Returns {
    fn visit_return_statement(&mut self, statement: &ReturnStatement<'a>) {
        if let Some(value) = &statement.argument {
            self.of_value(value);
        }
    }

    // Nested functions return to their own callers.
    fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}

    fn visit_arrow_function_expression(&mut self, _: &ArrowFunctionExpression<'a>) {}
}

fn line_of(source: &str, offset: usize) -> usize {
    source.get(..offset).unwrap_or_default().matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(source: &str) -> Outline {
        outline(Path::new("x.ts"), source, "Api").expect("it can be read")
    }

    #[test]
    fn default_exports_are_seen_in_all_their_shapes() {
        for (source, expected) in [
            ("export default function (pi) {}", DefaultExport::Function),
            ("export default async (pi) => {};", DefaultExport::Function),
            (
                "export default ((pi: any) => {}) as Factory;",
                DefaultExport::Function,
            ),
            (
                "function g(pi) {}\nexport { g as default };",
                DefaultExport::Function,
            ),
            (
                "const g = (pi) => {};\nexport default g;",
                DefaultExport::Function,
            ),
            ("export { default } from './other';", DefaultExport::Unknown),
            (
                "import d from './other'; export default d;",
                DefaultExport::Unknown,
            ),
            ("export default make();", DefaultExport::Unknown),
            ("module.exports = (pi) => {};", DefaultExport::Unknown),
            ("\nexport default { name: 'x' };", DefaultExport::NoFunction(2)),
            ("export default class {}", DefaultExport::NoFunction(1)),
            ("const a = {};\nexport default a;", DefaultExport::NoFunction(1)),
            (
                "const a = b; const b = a; export default a;",
                DefaultExport::Unknown,
            ),
            ("export function main(pi) {}", DefaultExport::Missing),
            ("export * from './other';", DefaultExport::Missing),
            ("// export default function", DefaultExport::Missing),
        ] {
            assert_eq!(look(source).default, expected, "{source}");
        }
    }

    #[test]
    fn calls_of_what_the_function_is_given_are_told_from_others() {
        let outline = look(
            "function more(host: Api) { host.on('b', () => ({ x: 1 })); }\n\
             export default function (pi) {\n  // pi.on('no')\n  const s = `pi.on('no')`;\n  \
             pi.on(`a`, async (e) => { if (e.toolName === 'sh') return { y: 1, ...s }; \
             [].map(() => ({ z: 1 })); });\n  \
             { const pi = {}; pi.on('no'); }\n  other.on('no'); pi.events.on('no');\n}",
        );
        let told: Vec<_> = outline
            .calls
            .iter()
            .map(|call| (call.member.as_str(), call.first.as_deref(), call.line))
            .collect();
        assert_eq!(told, [("on", Some("b"), 1), ("on", Some("a"), 5)]);
        assert_eq!(outline.calls[0].returned, [("x".to_owned(), 1)]);
        assert_eq!(outline.calls[1].returned, [("y".to_owned(), 5)]);
        let compared = &outline.comparisons[0];
        assert_eq!(
            (compared.member.as_str(), compared.text.as_str(), compared.line),
            ("toolName", "sh", 5)
        );
    }
}
