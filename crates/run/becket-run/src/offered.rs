//! The tools that the command line lets the model have, where it names them one by one.
//!
//! Names alone are the whole list. With a `+` before them they are added to the usual tools, with a `-` taken away.

use std::sync::{Arc, Mutex};

use becket_hooks::nearest;
use becket_host::{Interactive, SessionTool, ToolChoice};
use becket_system::{CliError, Surroundings};

use crate::tool_names::tool_elsewhere;

/// The word for no tools at all.
const NONE: &str = "none";

/// The word for the tools that becket has itself, behind a `-`.
const BUILTIN: &str = "builtin";

/// Why the choice of tools cannot be made, once a session has begun.
pub type Unmet = Arc<Mutex<Option<CliError>>>;

/// Lets sessions begin with the tools that the command line names. A name that no tool has is told; if none has one,
/// that is an error, which is left in what is returned.
pub fn choose_tools(
    words: &[String],
    interactive: &dyn Interactive,
    surroundings: &Surroundings,
) -> Result<Unmet, CliError> {
    if words.is_empty() {
        return Err(CliError::usage("`--tools` names no tool").hint("name some, such as `read,grep`"));
    }
    let unmet = Unmet::default();
    interactive.choose_tools(Box::new(ToolWords {
        words: Words::of(words),
        unmet: Arc::clone(&unmet),
        surroundings: surroundings.clone(),
    }));
    Ok(unmet)
}

/// The choice of the command line.
struct ToolWords {
    words: Words,
    unmet: Unmet,
    surroundings: Surroundings,
}

impl ToolChoice for ToolWords {
    fn first(&self, tools: &[SessionTool]) -> Option<Vec<String>> {
        match self.words.chosen(tools) {
            Ok((names, unknown)) => {
                if !unknown.is_empty() {
                    let unknown = unknown.join(", ");
                    self.surroundings
                        .remark(&format!("there is no tool called {unknown}"));
                }
                Some(names)
            }
            Err(error) => {
                *self.unmet.lock().expect("no panic happens while it is held") = Some(error);
                None
            }
        }
    }

    fn allows(&self, name: &str) -> bool {
        self.words.allow(name)
    }
}

/// The words of `--tools`.
struct Words {
    /// The tools that are the whole list; `None` stands for the usual ones.
    only: Option<Vec<String>>,
    added: Vec<String>,
    left_out: Vec<String>,
}

impl Words {
    fn of(words: &[String]) -> Self {
        let with = |sign: char| {
            let words = words.iter().filter_map(move |word| word.strip_prefix(sign));
            words.map(ToOwned::to_owned).collect()
        };
        let named = words.iter().filter(|word| !word.starts_with(['-', '+']));
        let named: Vec<String> = named.cloned().collect();
        Self {
            only: match named.as_slice() {
                [] => None,
                [none] if none == NONE => Some(Vec::new()),
                _ => Some(named),
            },
            added: with('+'),
            left_out: with('-'),
        }
    }

    /// The names of the tools that are offered, and those that no tool has.
    fn chosen(&self, tools: &[SessionTool]) -> Result<(Vec<String>, Vec<String>), CliError> {
        let usual = || {
            let usual = tools.iter().filter(|tool| tool.is_active);
            usual.map(|tool| tool.name.clone()).collect()
        };
        let mut names: Vec<String> = self.only.clone().unwrap_or_else(usual);
        names.extend(self.added.iter().cloned());
        names.retain(|name| !self.is_left_out(name, tools));
        let is_known = |name: &String| tools.iter().any(|tool| tool.name == *name);
        let unknown: Vec<String> = names.iter().filter(|name| !is_known(name)).cloned().collect();
        match unknown.len() == names.len() && !names.is_empty() {
            true => Err(no_such_tool(&names, tools)),
            false => Ok((names, unknown)),
        }
    }

    /// Whether a tool is left out by its name, or as one of becket's own.
    fn is_left_out(&self, name: &str, tools: &[SessionTool]) -> bool {
        let is_builtin = || tools.iter().any(|tool| tool.is_builtin && tool.name == name);
        let mut left_out = self.left_out.iter();
        left_out.any(|out| match out.as_str() {
            BUILTIN => is_builtin(),
            other => is_called(name, other),
        })
    }

    /// Whether the model may be offered a tool at all. Tools that are not built in may still come, and becket's own
    /// without being named may be activated, unless there is a whole list.
    fn allow(&self, name: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|own| is_called(name, own));
        let is_listed = self.only.as_deref().is_none_or(is_in) || is_in(&self.added);
        is_listed && !is_in(&self.left_out)
    }
}

fn is_called(name: &str, other: &str) -> bool {
    other == name || tool_elsewhere(name) == Some(other)
}

fn no_such_tool(names: &[String], tools: &[SessionTool]) -> CliError {
    let error = CliError::usage(format!(
        "there is no tool and no tool profile `{}`",
        names.join(",")
    ));
    let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let profiles: Vec<&str> = becket_dialects::profile_names().collect();
    error.hint(match nearest(&names[0], profiles.iter().chain(&known).copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "the profiles are {}; the tools are {}",
            profiles.join(", "),
            known.join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &str) -> Result<Vec<String>, String> {
        let tool = |name: &str, is_active, is_builtin| SessionTool {
            name: name.to_owned(),
            is_active,
            is_builtin,
        };
        let tools = [
            tool("read", true, true),
            tool("bash", true, true),
            tool("grep", false, true),
            tool("deploy", true, false),
        ];
        let words: Vec<String> = words.split(',').map(ToOwned::to_owned).collect();
        let chosen = Words::of(&words).chosen(&tools);
        chosen.map(|(names, _)| names).map_err(|error| error.message)
    }

    #[test]
    fn tools_are_named_added_and_left_out() {
        let table: [(&str, &[&str]); 8] = [
            ("none", &[]),
            ("none,+grep", &["grep"]),
            ("read,grep", &["read", "grep"]),
            ("-bash", &["read", "deploy"]),
            ("+grep", &["read", "bash", "deploy", "grep"]),
            ("-builtin", &["deploy"]),
            ("read,bash,-bash", &["read"]),
            ("read,missing", &["read", "missing"]),
        ];
        for (words, expected) in table {
            assert_eq!(names(words).unwrap(), *expected, "{words}");
        }
        let error = names("missing").unwrap_err();
        assert_eq!(error, "there is no tool and no tool profile `missing`");
    }

    #[test]
    fn what_a_list_leaves_out_is_not_allowed_later() {
        for (words, allowed) in [
            ("read", false),
            ("none", false),
            ("-grep", false),
            ("-bash", true),
            ("read,+grep", true),
        ] {
            let words: Vec<String> = words.split(',').map(ToOwned::to_owned).collect();
            assert_eq!(Words::of(&words).allow("grep"), allowed, "{words:?}");
        }
    }
}
