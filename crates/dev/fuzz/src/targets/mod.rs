//! The targets, by what they read.

mod agent;
mod answers;
mod dialects;
mod scheme;
mod screen;
mod settings;

use crate::Target;

/// Names a function as a target.
macro_rules! targets {
    ($($module:ident: $($name:ident),*;)*) => {
        /// Every reader of foreign text.
        pub const TARGETS: &[Target] = &[
            $($(Target { name: concat!(stringify!($module), "_", stringify!($name)), run: $module::$name },)*)*
        ];
    };
}

targets! {
    scheme: text, programs, numbers, libraries;
    settings: hook_file, config, project, hooktest, lock, agent_file, persons_settings, drop_in, yaml, chibi_settings,
        mcp, script, bridge, trust_record;
    answers: own, agent_hooks, chibi, docker_agent, pi, judge, schema, openai, anthropic, responses, gemini, models,
        trace, mcp_server, editor, audit;
    agent: patterns, rules, url_rules, urls, addresses, read_shell, follow_shell, follow_python, follow_scheme,
        check_shell, jq, imports, index, page, words;
    dialects: session_file, inbox, rpc, host_calls, arguments, templates, translated_rules, front_matter;
    screen: input, rows, markdown, harmless, signals;
}
