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

/// Why a line that no command understands is no prompt either; `None` if it is one. Its first word looks like the name
/// of a command: what was meant as one must not reach a model, which costs money. A path is a prompt.
pub fn mistyped<'a>(line: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let name = word.strip_prefix('/')?;
    if name.contains('/') || !(rest.is_empty() || is_name(name)) {
        return None;
    }
    if names.clone().any(|name| name == word) {
        return Some(format!("{word} takes no words"));
    }
    let near = nearest(word, names).map(|near| format!("; did you mean {near}?"));
    let near = near.unwrap_or_else(|| "; /help lists them.".to_owned());
    Some(format!(
        "there is no command {word}{near} /{word} sends it to the model"
    ))
}

/// The words for the model that a line with two slashes means, where one slash would call a command: `//help me`. The
/// blank before them keeps everybody else from taking them for a command.
pub fn as_words(line: &str) -> Option<String> {
    let words = line.strip_prefix('/')?;
    let word = words.split_whitespace().next()?;
    is_name(word.strip_prefix('/')?).then(|| format!(" {words}"))
}

/// Whether a word can be the name of a command. Names of skills have a colon.
fn is_name(word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_:.".contains(letter);
    word.starts_with(|letter: char| letter.is_ascii_alphabetic()) && word.chars().all(is_part)
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
            Some("there is no command /modle; did you mean /model? //modle sends it to the model")
        );
        for line in ["/dance", "/dance with me", "/dance\nwith me", "/tmp is full"] {
            let words = why(line).unwrap_or_default();
            assert!(words.contains("/help lists them"), "{line}: {words:?}");
        }
        for prompt in [
            "hello",
            "/etc/passwd",
            "/etc/passwd is what?",
            "//dance with me",
            "/être ou ne pas être",
            "/* what is this? */",
            "/ is a division",
            "",
        ] {
            assert_eq!(why(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn two_slashes_send_what_one_would_call() {
        assert_eq!(as_words("//help me").as_deref(), Some(" /help me"));
        assert_eq!(as_words("//skill:a").as_deref(), Some(" /skill:a"));
        for line in [
            "/help",
            "// a comment",
            "//server/share is gone",
            "///a",
            "//",
            "hello",
        ] {
            assert_eq!(as_words(line), None, "{line}");
        }
    }
}
