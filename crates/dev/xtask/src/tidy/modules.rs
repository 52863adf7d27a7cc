//! The dependencies between the modules of a crate: read from the paths in their code, whether in a `use` or not.
//!
//! A name that a module only re-exports (`pub use`) counts for the module it comes from, so that a crate's root is not
//! in a cycle with everything behind it.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::{astar, tarjan_scc};
use petgraph::graph::{DiGraph, NodeIndex};

use crate::workspace::SourceFile;

/// A module by its path from the crate's root, which is empty.
pub type Module = Vec<String>;

/// The modules of a crate, and which modules each uses.
pub struct Modules {
    /// The file of each module.
    pub files: BTreeMap<Module, String>,
    /// The modules that each module uses.
    pub uses: BTreeMap<Module, BTreeSet<Module>>,
}

/// Modules that use each other in turn.
pub struct Knot {
    /// All modules of the knot.
    pub modules: Vec<Module>,
    /// The shortest cycle through the first of them.
    pub circle: Vec<Module>,
}

/// A path in code, and the name by which it is re-exported, if it is.
struct Named {
    path: Vec<String>,
    passed_on_as: Option<String>,
}

impl Modules {
    /// Reads the files of a crate.
    pub fn of(files: &[&SourceFile]) -> Self {
        let modules: BTreeMap<Module, &SourceFile> = files
            .iter()
            .filter_map(|file| Some((module_of(&file.path)?, *file)))
            .collect();
        let named: BTreeMap<&Module, Vec<Named>> = modules
            .iter()
            .map(|(module, file)| (module, paths(&shipped(file))))
            .collect();
        let passed_on = passed_on(&modules, &named);
        let uses = named.iter().map(|(module, named)| {
            let own = named.iter().filter(|named| named.passed_on_as.is_none());
            let used = own.filter_map(|named| resolve(module, &named.path, &modules, &passed_on));
            let others = used.filter(|used| used != *module).collect();
            ((*module).clone(), others)
        });
        let uses = uses.collect();
        let files = modules
            .iter()
            .map(|(module, file)| (module.clone(), file.path.clone()));
        Self {
            files: files.collect(),
            uses,
        }
    }

    /// The knots of modules that use each other.
    pub fn knots(&self) -> Vec<Knot> {
        let mut graph = DiGraph::new();
        let nodes: BTreeMap<&Module, NodeIndex> = self
            .uses
            .keys()
            .map(|module| (module, graph.add_node(module)))
            .collect();
        for (module, used) in &self.uses {
            for used in used.iter().filter_map(|used| nodes.get(used)) {
                graph.add_edge(nodes[module], *used, ());
            }
        }
        let tied = tarjan_scc(&graph).into_iter().filter(|knot| knot.len() > 1);
        tied.filter_map(|knot| {
            let start = knot.iter().copied().min()?;
            let ways = graph.neighbors(start);
            let back = ways.filter_map(|next| astar(&graph, next, |at| at == start, |_| 1, |_| 0));
            let (_, back) = back.min_by_key(|(length, _)| *length)?;
            let circle = [vec![start], back].concat();
            let names = |nodes: Vec<NodeIndex>| nodes.into_iter().map(|node| graph[node].clone()).collect();
            Some(Knot {
                modules: names(knot),
                circle: names(circle),
            })
        })
        .collect()
    }
}

/// The module of a file.
fn module_of(path: &str) -> Option<Module> {
    let below = path.split_once("/src/")?.1.strip_suffix(".rs")?;
    let mut parts: Vec<String> = below.split('/').map(ToOwned::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    Some(parts)
}

/// The code of a file without comments, texts and tests.
fn shipped(file: &SourceFile) -> String {
    let lines = file.shipped_code();
    let code = lines.map(|line| match line.find("//") {
        Some(at) if !line[..at].contains('"') => &line[..at],
        _ => line,
    });
    code.collect::<Vec<_>>().join("\n")
}

/// The re-exports of each module, by their names there.
fn passed_on(
    modules: &BTreeMap<Module, &SourceFile>,
    named: &BTreeMap<&Module, Vec<Named>>,
) -> BTreeMap<(Module, String), Module> {
    let mut passed_on = BTreeMap::new();
    // What is passed on twice is found in the second round.
    for _ in 0..3 {
        for (module, paths) in named {
            for path in paths {
                let Some(name) = &path.passed_on_as else { continue };
                if let Some(from) = resolve(module, &path.path, modules, &passed_on) {
                    passed_on.insert(((*module).clone(), name.clone()), from);
                }
            }
        }
    }
    passed_on
}

/// The module that a path leads to: the deepest one on the way, or the origin of a re-export.
fn resolve(
    from: &Module,
    path: &[String],
    modules: &BTreeMap<Module, &SourceFile>,
    passed_on: &BTreeMap<(Module, String), Module>,
) -> Option<Module> {
    let (mut at, mut rest): (Module, &[String]) = match path.first().map(String::as_str)? {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (from.clone(), &path[1..]),
        "super" => (from[..from.len().checked_sub(1)?].to_vec(), &path[1..]),
        // The name of a child module.
        _ => (from.clone(), path),
    };
    let is_plain = !matches!(path[0].as_str(), "crate" | "self" | "super");
    let mut first = true;
    while let Some((name, further)) = rest.split_first() {
        if name == "super" {
            at.pop()?;
        } else {
            let below: Module = at.iter().chain([name]).cloned().collect();
            if modules.contains_key(&below) {
                at = below;
            } else if let Some(origin) = passed_on.get(&(at.clone(), name.clone())) {
                at = origin.clone();
            } else if is_plain && first {
                return None;
            } else {
                return Some(at);
            }
        }
        first = false;
        rest = further;
    }
    Some(at)
}

/// All paths in code: those of `use` with their braces resolved, and all others.
fn paths(code: &str) -> Vec<Named> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        // `use<'a>` in a type is no import.
        if tokens[at] == "use" && tokens.get(at + 1).is_some_and(|next| next != "<") {
            let is_public = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
            at = tree(&tokens, at + 1, &mut Vec::new(), is_public, &mut found);
            continue;
        }
        let begins = tokens.get(at + 1).is_some_and(|next| next == "::") && is_name(&tokens[at]);
        let goes_on = at > 0 && (tokens[at - 1] == "::" || tokens[at - 1] == ".");
        if begins && !goes_on {
            let mut path = vec![tokens[at].clone()];
            while tokens.get(at + 1).is_some_and(|next| next == "::")
                && tokens.get(at + 2).is_some_and(|name| is_name(name))
            {
                path.push(tokens[at + 2].clone());
                at += 2;
            }
            found.push(Named {
                path,
                passed_on_as: None,
            });
        }
        at += 1;
    }
    found
}

/// Parses one branch of a `use`, and returns where it ends.
fn tree(
    tokens: &[String],
    mut at: usize,
    before: &mut Vec<String>,
    is_public: bool,
    found: &mut Vec<Named>,
) -> usize {
    let depth = before.len();
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}" && token != ";") {
                    at = tree(tokens, at, before, is_public, found);
                    at += usize::from(tokens.get(at).is_some_and(|token| token == ","));
                }
                at += 1;
                break;
            }
            "," | ";" | "}" => break,
            "as" => at += 2,
            name => {
                if !(name == "self" && depth > 0) {
                    before.push(name.to_owned());
                }
                at += 1;
                if tokens.get(at).is_none_or(|next| next != "::") {
                    let alias = tokens
                        .get(at)
                        .filter(|next| *next == "as")
                        .and_then(|_| tokens.get(at + 1));
                    let name = alias.or(before.last()).cloned();
                    found.push(Named {
                        path: before.clone(),
                        passed_on_as: name.filter(|_| is_public),
                    });
                }
            }
        }
    }
    before.truncate(depth);
    at
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The tokens of code: names, `::` and other characters. String literals are left out.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        if let Some(raw) = rest.strip_prefix("r#\"") {
            rest = raw.split_once("\"#").map_or("", |(_, after)| after);
            continue;
        }
        let length = if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else if rest.starts_with("'\"'") {
            3
        } else if first == '"' {
            rest = after_text(&rest[1..]);
            continue;
        } else {
            first.len_utf8()
        };
        let token = &rest[..length];
        if !token.trim().is_empty() {
            tokens.push(token.to_owned());
        }
        rest = &rest[length..];
    }
    tokens
}

/// The code after a string literal whose first quote was read.
fn after_text(mut rest: &str) -> &str {
    while let Some(at) = rest.find(['"', '\\']) {
        let is_end = rest[at..].starts_with('"');
        let past = at + if is_end { 1 } else { 2 };
        rest = rest.get(past..).unwrap_or_default();
        if is_end {
            return rest;
        }
    }
    ""
}
