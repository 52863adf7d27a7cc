//! Slash commands that more than one face has, and what becomes of a line that looks like one and is none.

use becket_hooks::nearest;

/// A command, as it is typed and explained.
#[derive(Debug, Clone, Copy)]
pub struct SlashCommand {
    /// The name, with its slash.
    pub name: &'static str,
    /// What may stand behind the name; empty if nothing may.
    pub words: &'static str,
    pub about: &'static str,
}

const fn command(name: &'static str, words: &'static str, about: &'static str) -> SlashCommand {
    SlashCommand { name, words, about }
}

pub const HELP: SlashCommand = command("/help", "", "this list");

pub const STATUS: SlashCommand = command(
    "/status",
    "",
    "model, folder, conversation, context window, hooks",
);

pub const MODEL: SlashCommand = command("/model", "[NAME]", "choose another model");

pub const COST: SlashCommand = command("/cost", "", "tokens and cost of each model");

pub const HOOKS: SlashCommand = command("/hooks", "", "the hooks that are active");

pub const TOOLS: SlashCommand = command("/tools", "", "the tools that the model is offered");

pub const MCP: SlashCommand = command("/mcp", "", "the MCP servers and their tools");

pub const COMPACT: SlashCommand = command(
    "/compact",
    "[WORDS]",
    "replace the conversation with a summary; WORDS say what to keep",
);

pub const CLEAR: SlashCommand = command(
    "/clear",
    "",
    "archive the messages of the conversation, and start over",
);

pub const NAME: SlashCommand = command(
    "/name",
    "[WORDS]",
    "show the conversation's name, or set it to these words",
);

/// Why a line that no command understands is no prompt either; `None` if it is one. A path is a prompt, and so is a
/// sentence that begins with a slash, unless its first word is almost the name of a command.
pub fn mistyped(line: &str, names: impl Iterator<Item = &'static str> + Clone) -> Option<String> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if !word.starts_with('/') || word[1..].contains('/') {
        return None;
    }
    if names.clone().any(|name| name == word) {
        return Some(format!("{word} takes no words"));
    }
    let rest = rest.trim();
    // Short words of a sentence are near to too many names.
    let may_be_meant =
        |near: &&str| rest.is_empty() || (word.len() > 5 && near.as_bytes()[..2] == word.as_bytes()[..2]);
    match nearest(word, names).filter(may_be_meant) {
        Some(near) => Some(format!(
            "there is no command {word}; /help lists them. Did you mean {near}?"
        )),
        None if rest.is_empty() => Some(format!("there is no command {word}; /help lists them")),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_command_and_is_none_is_no_prompt() {
        let names = [HELP, MODEL, STATUS].map(|command| command.name);
        let why = |line: &str| mistyped(line, names.iter().copied());
        assert_eq!(why("/status now").as_deref(), Some("/status takes no words"));
        assert_eq!(
            why("/modle openai/x").as_deref(),
            Some("there is no command /modle; /help lists them. Did you mean /model?")
        );
        assert_eq!(
            why("/dance").as_deref(),
            Some("there is no command /dance; /help lists them")
        );
        for prompt in [
            "hello",
            "/etc/passwd",
            "/etc/passwd is what?",
            "/dance with me",
            "/mop up",
            "/être ou ne pas être",
            "",
        ] {
            assert_eq!(why(prompt), None, "{prompt}");
        }
    }
}
