//! The names of becket's own tools, and which of them was probably meant by another name.

use becket_events::{JOB_EXTRAS, OperationKind};
use becket_hooks::nearest;
use becket_tools::{
    context_tool_names, memory_tool_names, own_tool_names, subagent_tool_names, team_tool_names,
    todo_tool_names,
};

/// The names of the tools of the code index.
#[cfg(feature = "index")]
fn index_tool_names() -> impl Iterator<Item = &'static str> {
    becket_index::index_tool_names()
}

#[cfg(not(feature = "index"))]
fn index_tool_names() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// The tool that a rule names, unless the rule is a pattern.
pub fn exact_tool(rule: &str) -> Option<&str> {
    let tool = rule.split(':').next().unwrap_or_default().trim();
    (!tool.contains(['*', '?', '[', '{', '\\'])).then_some(tool)
}

/// The names of all of becket's own tools.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    let operations = OperationKind::ALL.iter().map(|kind| kind.name());
    operations.chain(tools_without_operation())
}

/// The names of becket's tools that are no operation.
pub fn tools_without_operation() -> impl Iterator<Item = &'static str> {
    own_tool_names()
        .chain(context_tool_names())
        .chain(index_tool_names())
        .chain(subagent_tool_names())
        .chain(team_tool_names())
        .chain(todo_tool_names())
        .chain(memory_tool_names())
        .chain(JOB_EXTRAS.iter().copied())
        .chain(becket_dialects::tool_names())
}

/// The tool that was probably meant by a name that no tool has.
pub fn meant_tool(name: &str) -> Option<&'static str> {
    tool_elsewhere(name).or_else(|| nearest(name, tool_names()))
}

/// The tool that some other system knows by that name.
pub fn tool_elsewhere(name: &str) -> Option<&'static str> {
    Some(becket_dialects::operation_called(name)?.name())
}

/// The error about an unknown tool name, with a suggestion; `None` if there is such a tool.
pub fn unknown_tool(name: &str) -> Option<String> {
    let own = tool_names;
    if own().any(|tool| tool == name) {
        return None;
    }
    Some(match meant_tool(name) {
        Some(meant) => format!("`{name}`, which does not exist; did you mean `{meant}`?"),
        None => format!(
            "`{name}`, which does not exist; there are {}",
            own().collect::<Vec<_>>().join(", ")
        ),
    })
}
