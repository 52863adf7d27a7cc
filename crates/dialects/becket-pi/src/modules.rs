//! The packages that pi gives its extensions (`js/modules`), as TypeScript texts under the names by which they are
//! imported.
//!
//! Both npm scopes and both names of typebox lead to the same module, so an extension for any version of pi finds its
//! imports. A package is little more than a list of names; their code is in separate modules (`pi:NAME`), each of which
//! is loaded on first use, because every extension has its own engine.
//!
//! The packages are becket's own TypeScript, because the real ones would bring Node's terminal, a Markdown parser and
//! five SDKs into each engine. A name that is not supported exists all the same and throws when it is used, because a
//! failing import would break the whole extension. A package that only re-exports others (`typebox-all.ts`) is for
//! files that may want all of it; a file that imports only names of the first part gets that part, since the rest would
//! cost it 140 kB.
//!
//! Where versions differ, schemas have the newest texts and values are read leniently: an error of `Value` has the
//! fields of both typeboxes, and `Parse` converts.

use super::prelude::Module;

/// Modules by their files, each with its names besides `pi:FILE`.
macro_rules! modules {
    ($($file:literal: [$($name:literal),*],)*) => {
        &[$(Module {
            names: &[$($name,)* concat!("pi:", $file)],
            source: include_str!(concat!("js/modules/", $file, ".ts")),
        }),*]
    };
}

/// All of pi's host packages with the modules behind them.
pub fn host_modules() -> &'static [Module] {
    MODULES
}

// tidy: a table
const MODULES: &[Module] = modules! {
    "pi-coding-agent": ["@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"],
    "pi-ai": [
        "@mariozechner/pi-ai",
        "@mariozechner/pi-ai/anthropic",
        "@mariozechner/pi-ai/azure-openai-responses",
        "@mariozechner/pi-ai/bedrock-provider",
        "@mariozechner/pi-ai/bun-oauth",
        "@mariozechner/pi-ai/compat",
        "@mariozechner/pi-ai/google",
        "@mariozechner/pi-ai/google-vertex",
        "@mariozechner/pi-ai/mistral",
        "@mariozechner/pi-ai/models",
        "@mariozechner/pi-ai/oauth",
        "@mariozechner/pi-ai/openai-codex-responses",
        "@mariozechner/pi-ai/openai-completions",
        "@mariozechner/pi-ai/openai-responses",
        "@mariozechner/pi-ai/providers/all",
        "@earendil-works/pi-ai",
        "@earendil-works/pi-ai/anthropic",
        "@earendil-works/pi-ai/azure-openai-responses",
        "@earendil-works/pi-ai/bedrock-provider",
        "@earendil-works/pi-ai/bun-oauth",
        "@earendil-works/pi-ai/compat",
        "@earendil-works/pi-ai/google",
        "@earendil-works/pi-ai/google-vertex",
        "@earendil-works/pi-ai/mistral",
        "@earendil-works/pi-ai/models",
        "@earendil-works/pi-ai/oauth",
        "@earendil-works/pi-ai/openai-codex-responses",
        "@earendil-works/pi-ai/openai-completions",
        "@earendil-works/pi-ai/openai-responses",
        "@earendil-works/pi-ai/providers/all"
    ],
    "pi-tui": ["@mariozechner/pi-tui", "@earendil-works/pi-tui"],
    "pi-agent-core": ["@mariozechner/pi-agent-core", "@earendil-works/pi-agent-core"],
    "typebox-all": ["typebox", "typebox/type", "@sinclair/typebox", "@sinclair/typebox/type"],
    "typebox-value": [
        "typebox/value",
        "typebox/error",
        "@sinclair/typebox/value",
        "@sinclair/typebox/errors"
    ],
    "typebox-compile": ["typebox/compile", "@sinclair/typebox/compiler"],

    // The modules behind the packages.
    "agent-chores": [],
    "agent-components": [],
    "agent-folder": [],
    "agent-screen": [],
    "agent-session": [],
    "agent-sessions": [],
    "agent-settings": [],
    "agent-skills": [],
    "agent-text": [],
    "ai-models": [],
    "ai-stream": [],
    "ai-text": [],
    "diff": [],
    "glob": [],
    "lazy": [],
    "pi-agent-core-rest": [],
    "pi-ai-rest": [],
    "pi-coding-agent-rest": [],
    "pi-tui-rest": [],
    "screen-editor": [],
    "screen-keys": [],
    "screen-markdown": [],
    "screen-parts": [],
    "screen-text": [],
    "tool-bash": [],
    "tool-files": [],
    "tool-search": [],
    "tool-sets": [],
    "tool-shared": [],
    "typebox": [],
    "typebox-compile-rest": [],
    "typebox-more": [],
    "typebox-rest": [],
    "typebox-value-rest": [],
    "yaml": [],
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::prelude_modules;

    /// The names after `from`, `room(` and the like that are modules behind these packages.
    fn rooms(source: &str) -> impl Iterator<Item = &str> {
        source.split('"').filter(|text| text.starts_with("pi:"))
    }

    #[test]
    fn every_name_leads_to_one_module() {
        let mut seen = BTreeSet::new();
        for name in MODULES.iter().flat_map(|module| module.names) {
            assert!(seen.insert(name), "`{name}` stands twice");
        }
    }

    #[test]
    fn both_scopes_lead_to_the_same_modules() {
        for module in MODULES {
            for name in module
                .names
                .iter()
                .filter_map(|name| name.strip_prefix("@mariozechner/"))
            {
                let newer = format!("@earendil-works/{name}");
                assert!(module.names.contains(&newer.as_str()), "`{newer}` is missing");
            }
        }
    }

    #[test]
    fn every_room_is_there_and_entered() {
        let all = MODULES.iter().chain(prelude_modules());
        let there: BTreeSet<&str> = all.flat_map(|module| module.names).copied().collect();
        let entered: BTreeSet<&str> = MODULES.iter().flat_map(|module| rooms(module.source)).collect();
        for room in &entered {
            assert!(there.contains(room), "`{room}` is imported and not there");
        }
        for module in MODULES {
            let room = module.names.iter().any(|name| entered.contains(name));
            assert!(
                room || module.names.len() > 1,
                "{:?} is there and never imported",
                module.names
            );
        }
    }

    #[test]
    fn a_module_says_what_it_is_for_in_lines_that_fit() {
        for module in MODULES {
            let name = module.names[0];
            assert!(
                module.source.starts_with("// "),
                "`{name}` does not say what it is for"
            );
            for (at, line) in module.source.lines().enumerate() {
                let columns = line.chars().count();
                assert!(
                    columns <= 120,
                    "line {} of `{name}` has {columns} columns",
                    at + 1
                );
            }
        }
    }
}
