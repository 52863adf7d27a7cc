//! The choice of tools that the model is offered, as chibi's settings make it.
//!
//! The choice is made by a handler of `tools_offered`, so that it applies to every request and to sub-agents, like any
//! hook that takes tools away.

use becket_events::ToolOffer;
use becket_hooks::nearest;
use serde::Deserialize;

use super::Generation;
use super::generations::{CATEGORIES, between_type, tool_type};
use super::words::Words;

/// A choice among tools, by the names and kinds that either generation has for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ToolChoice {
    /// The only tools to keep.
    pub include: Option<Vec<String>>,
    /// Tools to take away.
    pub exclude: Vec<String>,
    /// Kinds of tools to take away.
    pub exclude_categories: Vec<String>,
}

impl ToolChoice {
    /// Checks that every kind is known: tools of an unknown kind would stay.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut kinds = self.exclude_categories.iter();
        let Some(unknown) = kinds.find(|kind| !CATEGORIES.contains(&kind.as_str())) else {
            return Ok(());
        };
        let hint = match nearest(unknown, CATEGORIES.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", CATEGORIES.join(", ")),
        };
        Err(format!(
            "`tools.exclude_categories` names `{unknown}`, which is not a category of tools here; {hint}"
        ))
    }

    /// The choice of a context combined with that of the home, as chibi combines them: both take tools away, and the
    /// tools to keep are the context's if it names any.
    pub fn within(mut self, home: &Self) -> Self {
        self.include = self.include.or_else(|| home.include.clone());
        self.exclude.extend(home.exclude.iter().cloned());
        self.exclude_categories
            .extend(home.exclude_categories.iter().cloned());
        self
    }

    /// Whether the choice is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a tool may be offered. Within a generation it may as long as one of its names there is not excluded; it
    /// is excluded if either generation excludes it, and included if any of its names is. Only newer versions have
    /// kinds in their settings.
    pub fn keeps(&self, offer: &ToolOffer) -> bool {
        let generations = [Generation::Newer, Generation::Older];
        let named = |list: &[String], name: &str| list.iter().any(|other| other == name);
        let stays = |generation: Generation| {
            let words = Words::of(generation);
            let mut names = words.names_of(offer).into_iter();
            names.any(|name| {
                let kinds = [
                    words.type_of(name, &offer.source),
                    between_type(name, &offer.source),
                ];
                let is_of_kind = |kind: &str| named(&self.exclude_categories, kind);
                let is_out = generation == Generation::Newer && kinds.into_iter().any(is_of_kind);
                !is_out && !named(&self.exclude, name)
            })
        };
        let is_included = |include: &Vec<String>| {
            let mut names = generations
                .into_iter()
                .flat_map(|generation| Words::of(generation).names_of(offer));
            names.any(|name| named(include, name)) || named(include, &offer.name)
        };
        !named(&self.exclude, &offer.name)
            && generations.into_iter().all(stays)
            && self.include.as_ref().is_none_or(is_included)
    }
}

/// Whether chibi has a tool with that name, in any of its versions.
pub fn has_tool(name: &str) -> bool {
    const VFS: [&str; 6] = [
        "vfs_copy",
        "vfs_delete",
        "vfs_info",
        "vfs_list",
        "vfs_mkdir",
        "vfs_move",
    ];
    let generations = [Generation::Newer, Generation::Older];
    let is_builtin = |generation| tool_type(generation, name, "builtin") != "plugin";
    match name.starts_with("vfs_") {
        true => VFS.contains(&name),
        false => {
            generations.into_iter().any(is_builtin)
                || generations
                    .into_iter()
                    .any(|generation| Words::of(generation).has_tool(name))
        }
    }
}

#[cfg(test)]
mod tests {
    use becket_events::OperationKind;

    use super::*;

    fn offer(name: &str, operation: Option<OperationKind>, source: &str) -> ToolOffer {
        ToolOffer {
            name: name.into(),
            operation,
            source: source.into(),
        }
    }

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tools_are_known_by_every_name_and_kind() {
        let shell = offer("shell", Some(OperationKind::Shell), "builtin");
        let excluded = |exclude: &[&str]| {
            let exclude = list(exclude);
            !ToolChoice {
                exclude,
                ..ToolChoice::default()
            }
            .keeps(&shell)
        };
        for name in ["shell", "shell_exec", "run_command"] {
            assert!(excluded(&[name]), "{name}");
        }
        assert!(!excluded(&["write_file"]));
        let without = |kind: &str| ToolChoice {
            exclude_categories: list(&[kind]),
            ..ToolChoice::default()
        };
        assert!(!without("shell").keeps(&shell));
        assert!(!without("coding").keeps(&shell));
        for kind in ["network", "plugin", "file"] {
            assert!(without(kind).keeps(&shell), "{kind}");
        }
        assert!(!without("plugin").keeps(&offer("mine", None, "mine")));
        assert!(!without("mcp").keeps(&offer("a_b", None, "mcp:a")));
        let only = |include: &[&str]| ToolChoice {
            include: Some(list(include)),
            ..ToolChoice::default()
        };
        assert!(only(&["shell_exec"]).keeps(&shell));
        assert!(!only(&["file_head"]).keeps(&shell));
        assert!(!only(&[]).keeps(&shell));
    }

    #[test]
    fn a_context_adds_to_what_the_home_takes_away() {
        let home = ToolChoice {
            include: Some(list(&["a", "b"])),
            exclude: list(&["c"]),
            exclude_categories: list(&["mcp"]),
        };
        let local = ToolChoice {
            exclude: list(&["d"]),
            ..ToolChoice::default()
        };
        let both = local.clone().within(&home);
        assert_eq!(both.include, home.include);
        assert_eq!(both.exclude, ["d", "c"]);
        assert_eq!(both.exclude_categories, ["mcp"]);
        let own = ToolChoice {
            include: Some(list(&["z"])),
            ..local
        };
        assert_eq!(own.within(&home).include, Some(list(&["z"])));
    }
}
