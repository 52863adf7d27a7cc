//! The page of Node's modules in the embedded engine.

use becket_js::{NodeModule, Service, node_modules};

const INTRODUCTION: &str = "\
# Node's modules in the embedded engine

Generated from the table in `crates/lanes/becket-js/src/node/table.rs` by `cargo xtask generate`. Do not edit.

All of Node's modules can be imported, with and without `node:`, and export the same names as in Node. **served**:
everything works. **partly**: the names in the last column throw `not supported by becket's embedded engine:
MODULE.NAME` when they are used. **refused**: every name does. Names that differ between versions of Node all exist.

| module | state | throws when it is used |
|---|---|---|
";

/// The page of Node's modules.
pub fn page() -> String {
    node_modules().fold(String::from(INTRODUCTION), |page, module| page + &row(module))
}

fn row(module: &NodeModule) -> String {
    let state = match module.service() {
        Service::Served => "served",
        Service::Partly => "partly",
        Service::Refused => "refused",
    };
    let prefix = if module.needs_prefix() { "node:" } else { "" };
    let refused: Vec<String> = module
        .refused
        .split_ascii_whitespace()
        .map(|name| format!("`{name}`"))
        .collect();
    format!(
        "| `{prefix}{}` | {state} | {} |\n",
        module.name,
        refused.join(", ")
    )
}
