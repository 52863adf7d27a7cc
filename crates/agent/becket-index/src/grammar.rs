//! The languages: which nodes of their syntax trees define something, and which use a name.
//!
//! There is one table for each language, read by one walk (`extract.rs`). The grammars bring queries for tags of their
//! own, but those call a struct, an enum and a union all a class, know neither fields nor constants, and differ in how
//! much they find; and a query costs more than the walk.

use std::num::NonZeroU16;
use std::sync::OnceLock;

use tree_sitter::{Language, Node};

/// A language, as the walk uses it.
pub(crate) struct Grammar {
    table: &'static Table,
    pub(crate) language: Language,
    /// The meaning of each kind of node, by its number.
    rules: Vec<GrammarRule>,
    /// Fields that hold the names that a definition gives; the first one counts.
    pub(crate) naming: Vec<NonZeroU16>,
    /// Fields that lead from an expression or a type to the name that it ends in; the first one counts.
    pub(crate) towards_name: Vec<NonZeroU16>,
}

/// The kind of a scope that belongs to a type without being its definition.
pub(crate) const OWNER: &str = "impl";

/// The meaning of a kind of node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GrammarRule {
    /// The kind of definition that the node is, if it is one.
    pub(crate) definition: Option<&'static str>,
    /// The field that names the type to which the node's parts belong, if the node itself defines nothing.
    pub(crate) owner: Option<NonZeroU16>,
    /// Whether everything in the node is local.
    pub(crate) local: bool,
    /// The field with a name that the node uses, and how it uses it.
    pub(crate) field: Option<(NonZeroU16, &'static str)>,
    /// How the node is used, if it is itself the name of something.
    pub(crate) leaf: Option<&'static str>,
    /// The part of the node that holds the name that is used.
    pub(crate) inside: Inside,
}

/// The part of a node that holds the name that is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Inside {
    /// One of the fields that lead to names, or the first part.
    #[default]
    Further,
    /// None: the name is used for something else, or there is none.
    Nowhere,
    /// Each of the parts.
    Each,
    /// The last part.
    Last,
}

const INSIDE: &[(&str, Inside)] = &[
    ("call_expression", Inside::Nowhere),
    ("call", Inside::Nowhere),
    ("keyword_argument", Inside::Nowhere),
    ("string", Inside::Nowhere),
    ("use_wildcard", Inside::Nowhere),
    ("wildcard_import", Inside::Nowhere),
    ("use_list", Inside::Each),
    ("argument_list", Inside::Each),
    ("dotted_name", Inside::Last),
];

const NAMING: &[&str] = &["name", "left", "property", "declarator"];

const TOWARDS_NAME: &[&str] = &[
    "list",
    "name",
    "field",
    "property",
    "attribute",
    "function",
    "path",
    "value",
    "type",
];

/// A language as a table.
pub(crate) struct Table {
    name: &'static str,
    language: fn() -> Language,
    /// Nodes, and the kind of what they define.
    definitions: &'static [(&'static str, &'static str)],
    /// Nodes whose parts belong to the type that a field names.
    owners: &'static [(&'static str, &'static str)],
    /// Nodes in which everything is local.
    locals: &'static [&'static str],
    /// Nodes with a field that names what they use, and how they use it.
    fields: &'static [(&'static str, &'static str, &'static str)],
    /// Nodes that are names of what is used, and how.
    leaves: &'static [(&'static str, &'static str)],
    /// Nodes around a definition that belong to its signature.
    pub(crate) wrappers: &'static [&'static str],
    /// The kind that a node really defines, given the one in the table; `None` for nothing.
    pub(crate) refine: fn(Node<'_>, &'static str, Around<'_, '_>) -> Option<&'static str>,
    /// Who may use a definition, by its node, its name and its surroundings.
    pub(crate) visibility: fn(Node<'_>, &str, Around<'_, '_>) -> Option<&'static str>,
}

/// The surroundings of a definition.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a, 'tree> {
    /// The text of the file.
    pub(crate) source: &'a [u8],
    /// The kind of the definition that this one is a part of.
    pub(crate) parent: Option<&'static str>,
    /// The ancestors of the node, the root first. Asking a node for its parent would search from the root each time.
    pub(crate) above: &'a [Node<'tree>],
}

impl<'tree> Around<'_, 'tree> {
    /// An ancestor of the node: the nearest has the number 1.
    fn above(&self, number: usize) -> Option<Node<'tree>> {
        let place = self.above.len().checked_sub(number)?;
        self.above.get(place).copied()
    }
}

impl Grammar {
    fn new(table: &'static Table) -> Self {
        let language = (table.language)();
        let mut rules = vec![GrammarRule::default(); language.node_kind_count()];
        for (node, inside) in INSIDE {
            // Number 0 is the end of the file: not every language has all of these nodes.
            let number = usize::from(language.id_for_node_kind(node, true));
            rules[number].inside = if number == 0 { Inside::default() } else { *inside };
        }
        let mut rule = |node: &str, set: &dyn Fn(&mut GrammarRule)| {
            let number = language.id_for_node_kind(node, true);
            assert!(number != 0, "{} has no node {node}", table.name);
            set(&mut rules[usize::from(number)]);
        };
        let field = |name: &str| {
            let number = language.field_id_for_name(name);
            number.unwrap_or_else(|| panic!("{} has no field {name}", table.name))
        };
        for (node, kind) in table.definitions {
            rule(node, &|rule| rule.definition = Some(kind));
        }
        for (node, name) in table.owners {
            rule(node, &|rule| rule.owner = Some(field(name)));
        }
        for node in table.locals {
            rule(node, &|rule| rule.local = true);
        }
        for (node, name, kind) in table.fields {
            rule(node, &|rule| rule.field = Some((field(name), kind)));
        }
        for (node, kind) in table.leaves {
            rule(node, &|rule| rule.leaf = Some(kind));
        }
        let existing = |names: &[&str]| {
            let numbers = names.iter().filter_map(|name| language.field_id_for_name(name));
            numbers.collect()
        };
        Self {
            table,
            naming: existing(NAMING),
            towards_name: existing(TOWARDS_NAME),
            rules,
            language,
        }
    }

    /// The grammar's name: that of the language, except where one language has two grammars.
    pub(crate) fn name(&self) -> &'static str {
        self.table.name
    }

    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    pub(crate) fn rule(&self, node: Node<'_>) -> GrammarRule {
        self.rules
            .get(usize::from(node.kind_id()))
            .copied()
            .unwrap_or_default()
    }
}

/// All grammars. Making them takes a millisecond, so it happens once and only when something is indexed.
pub(crate) fn all() -> &'static [Grammar] {
    static GRAMMARS: OnceLock<Vec<Grammar>> = OnceLock::new();
    let tables = [&RUST, &PYTHON, &JAVASCRIPT, &TYPESCRIPT, &TSX, &GO, &C, &JAVA];
    GRAMMARS.get_or_init(|| tables.into_iter().map(Grammar::new).collect())
}

const RUST: Table = Table {
    name: "rust",
    language: || tree_sitter_rust::LANGUAGE.into(),
    definitions: &[
        ("function_item", "function"),
        ("function_signature_item", "function"),
        ("struct_item", "struct"),
        ("enum_item", "enum"),
        ("union_item", "union"),
        ("trait_item", "trait"),
        ("type_item", "type"),
        ("associated_type", "type"),
        ("const_item", "constant"),
        ("static_item", "variable"),
        ("macro_definition", "macro"),
        ("mod_item", "module"),
        ("field_declaration", "field"),
        ("enum_variant", "enumerator"),
    ],
    owners: &[("impl_item", "type")],
    locals: &[],
    fields: &[
        ("call_expression", "function", "call"),
        ("macro_invocation", "macro", "call"),
        ("use_declaration", "argument", "import"),
        ("scoped_identifier", "path", "path"),
    ],
    leaves: &[("type_identifier", "type")],
    wrappers: &[],
    refine: |_, kind, _| Some(kind),
    visibility: |node, _, around| {
        let said = child_of_kind(node, "visibility_modifier").map(|node| text(node, around.source));
        let implemented = || around.above(2)?.child_by_field_name("trait");
        Some(match said {
            None if matches!(around.parent, Some("trait" | "enum" | "enumerator")) => "public",
            // An attribute before the macro decides who may use it.
            None if node.kind() == "macro_definition" => return None,
            // The method is as visible as its trait, which is somewhere else.
            None if around.parent == Some(OWNER) && implemented().is_some() => return None,
            None => "private",
            Some("pub") => "public",
            Some("pub(crate)") => "crate",
            Some(_) => "restricted",
        })
    },
};

const PYTHON: Table = Table {
    name: "python",
    language: || tree_sitter_python::LANGUAGE.into(),
    definitions: &[
        ("function_definition", "function"),
        ("class_definition", "class"),
        ("assignment", "variable"),
    ],
    owners: &[],
    locals: &["lambda"],
    fields: &[
        ("call", "function", "call"),
        ("class_definition", "superclasses", "type"),
        ("import_from_statement", "name", "import"),
        ("import_statement", "name", "import"),
        ("typed_parameter", "type", "type"),
        ("typed_default_parameter", "type", "type"),
    ],
    leaves: &[],
    wrappers: &[],
    refine: |_, kind, _| Some(kind),
    visibility: |_, name, _| {
        let is_special = name.starts_with("__") && name.ends_with("__");
        Some(if name.starts_with('_') && !is_special {
            "private"
        } else {
            "public"
        })
    },
};

const SCRIPT_FIELDS: &[(&str, &str, &str)] = &[
    ("call_expression", "function", "call"),
    ("new_expression", "constructor", "call"),
    ("import_specifier", "name", "import"),
];

const SCRIPT_LOCALS: &[&str] = &["arrow_function", "function_expression", "class_static_block"];

const SCRIPT_WRAPPERS: &[&str] = &["lexical_declaration", "variable_declaration", "export_statement"];

const JAVASCRIPT: Table = Table {
    name: "javascript",
    language: || tree_sitter_javascript::LANGUAGE.into(),
    definitions: &[
        ("function_declaration", "function"),
        ("generator_function_declaration", "function"),
        ("class_declaration", "class"),
        ("method_definition", "method"),
        ("field_definition", "field"),
        ("variable_declarator", "variable"),
    ],
    owners: &[],
    locals: SCRIPT_LOCALS,
    fields: SCRIPT_FIELDS,
    leaves: &[("class_heritage", "type")],
    wrappers: SCRIPT_WRAPPERS,
    refine: script_kind,
    visibility: script_visibility,
};

const TYPESCRIPT: Table = Table {
    name: "typescript",
    language: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    definitions: &[
        ("function_declaration", "function"),
        ("generator_function_declaration", "function"),
        ("function_signature", "function"),
        ("class_declaration", "class"),
        ("abstract_class_declaration", "class"),
        ("interface_declaration", "interface"),
        ("enum_declaration", "enum"),
        ("enum_assignment", "enumerator"),
        // Members without a value are names right in the body.
        ("enum_body", "enumerator"),
        ("type_alias_declaration", "type"),
        ("internal_module", "namespace"),
        ("module", "namespace"),
        ("method_definition", "method"),
        ("method_signature", "method"),
        ("abstract_method_signature", "method"),
        ("public_field_definition", "field"),
        ("property_signature", "field"),
        ("variable_declarator", "variable"),
    ],
    owners: &[],
    locals: SCRIPT_LOCALS,
    fields: SCRIPT_FIELDS,
    leaves: &[("type_identifier", "type"), ("extends_clause", "type")],
    wrappers: SCRIPT_WRAPPERS,
    refine: script_kind,
    visibility: script_visibility,
};

const TSX: Table = Table {
    name: "tsx",
    language: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    ..TYPESCRIPT
};

fn script_kind(node: Node<'_>, kind: &'static str, around: Around<'_, '_>) -> Option<&'static str> {
    if node.kind() != "variable_declarator" {
        return Some(kind);
    }
    let word = around.above(1).and_then(|declaration| declaration.child(0));
    Some(
        match node.child_by_field_name("value").map(|value| value.kind()) {
            Some("arrow_function" | "function_expression" | "generator_function") => "function",
            Some("class") => "class",
            _ if word.is_some_and(|word| word.kind() == "const") => "constant",
            _ => kind,
        },
    )
}

fn script_visibility(node: Node<'_>, name: &str, around: Around<'_, '_>) -> Option<&'static str> {
    if let Some(said) = child_of_kind(node, "accessibility_modifier") {
        return match text(said, around.source) {
            "private" => Some("private"),
            "protected" => Some("protected"),
            _ => Some("public"),
        };
    }
    if matches!(around.parent, Some("class" | "interface" | "enum")) {
        return Some(if name.starts_with('#') {
            "private"
        } else {
            "public"
        });
    }
    let outside = match node.kind() {
        "variable_declarator" => around.above(2),
        _ => around.above(1),
    };
    let is_exported = outside.is_some_and(|outside| outside.kind() == "export_statement");
    is_exported.then_some("public")
}

const GO: Table = Table {
    name: "go",
    language: || tree_sitter_go::LANGUAGE.into(),
    definitions: &[
        ("function_declaration", "function"),
        ("method_declaration", "method"),
        ("type_spec", "type"),
        ("type_alias", "type"),
        ("const_spec", "constant"),
        ("var_spec", "variable"),
        ("field_declaration", "field"),
        ("method_elem", "method"),
    ],
    owners: &[],
    locals: &["func_literal"],
    fields: &[("call_expression", "function", "call")],
    leaves: &[("type_identifier", "type")],
    wrappers: &["type_declaration", "const_declaration", "var_declaration"],
    refine: |node, kind, _| {
        let described = node.child_by_field_name("type").map(|node| node.kind());
        match (node.kind(), described) {
            ("type_spec", Some("struct_type")) => Some("struct"),
            ("type_spec", Some("interface_type")) => Some("interface"),
            _ => Some(kind),
        }
    },
    visibility: |_, name, _| {
        let is_exported = name.chars().next().is_some_and(char::is_uppercase);
        Some(if is_exported { "public" } else { "package" })
    },
};

const C: Table = Table {
    name: "c",
    language: || tree_sitter_c::LANGUAGE.into(),
    definitions: &[
        ("function_definition", "function"),
        ("declaration", "variable"),
        ("struct_specifier", "struct"),
        ("union_specifier", "union"),
        ("enum_specifier", "enum"),
        ("enumerator", "enumerator"),
        ("field_declaration", "field"),
        ("type_definition", "type"),
        ("preproc_def", "macro"),
        ("preproc_function_def", "macro"),
    ],
    owners: &[],
    locals: &[],
    fields: &[("call_expression", "function", "call")],
    leaves: &[("type_identifier", "type")],
    wrappers: &[],
    refine: |node, kind, _| match node.kind() {
        "struct_specifier" | "union_specifier" | "enum_specifier" => {
            node.child_by_field_name("body").map(|_| kind)
        }
        "declaration" if declares_function(node) => Some("prototype"),
        _ => Some(kind),
    },
    visibility: |node, _, around| {
        let mut cursor = node.walk();
        let is_static = node
            .children(&mut cursor)
            .any(|child| child.kind() == "storage_class_specifier" && text(child, around.source) == "static");
        let belongs = around.parent.is_none() && matches!(node.kind(), "function_definition" | "declaration");
        belongs.then_some(if is_static { "private" } else { "public" })
    },
};

/// Whether a declaration is that of a function, and not of a pointer to one.
fn declares_function(declaration: Node<'_>) -> bool {
    let mut declared = declaration.child_by_field_name("declarator");
    while let Some(node) = declared.filter(|node| node.kind() == "pointer_declarator") {
        declared = node.child_by_field_name("declarator");
    }
    let function = declared.filter(|node| node.kind() == "function_declarator");
    let name = function.and_then(|function| function.child_by_field_name("declarator"));
    name.is_some_and(|name| name.kind() == "identifier")
}

const JAVA: Table = Table {
    name: "java",
    language: || tree_sitter_java::LANGUAGE.into(),
    definitions: &[
        ("class_declaration", "class"),
        ("record_declaration", "class"),
        ("interface_declaration", "interface"),
        ("annotation_type_declaration", "interface"),
        ("enum_declaration", "enum"),
        ("enum_constant", "enumerator"),
        ("method_declaration", "method"),
        ("constructor_declaration", "method"),
        ("annotation_type_element_declaration", "method"),
        ("variable_declarator", "field"),
    ],
    owners: &[],
    locals: &["lambda_expression", "static_initializer", "block"],
    fields: &[("method_invocation", "name", "call")],
    leaves: &[("type_identifier", "type")],
    wrappers: &["field_declaration", "constant_declaration"],
    refine: |_, kind, _| Some(kind),
    visibility: |node, _, around| {
        let declaration = match node.kind() {
            "variable_declarator" => around.above(1)?,
            _ => node,
        };
        let said = child_of_kind(declaration, "modifiers").map(|node| text(node, around.source));
        let says = |word| said.is_some_and(|said| said.split_whitespace().any(|found| found == word));
        Some(match around.parent {
            _ if says("private") => "private",
            _ if says("protected") => "protected",
            _ if says("public") => "public",
            Some("interface") => "public",
            Some("enum") if node.kind() == "enum_constant" => "public",
            _ => "package",
        })
    },
};

fn child_of_kind<'tree>(node: Node<'tree>, kind: &str) -> Option<Node<'tree>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| child.kind() == kind)
}

/// The text of a node; empty if it is not UTF-8.
pub(crate) fn text<'a>(node: Node<'_>, source: &'a [u8]) -> &'a str {
    let bytes = source.get(node.byte_range()).unwrap_or_default();
    std::str::from_utf8(bytes).unwrap_or_default()
}
