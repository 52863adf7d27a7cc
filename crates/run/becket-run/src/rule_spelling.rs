//! Rules in the spelling of other agents: they look like protection and would match nothing. So they are errors, and
//! the hint says how becket writes them.

use becket_agent::Rules;
use becket_events::OperationKind;

use crate::tool_names::{meant_tool, tool_elsewhere, tool_names};

/// What is wrong with the spelling of a rule, if anything: `Bash(rm:*)`, `shell(rm*)`, `@server/tool`.
pub fn trouble(rule: &str) -> Option<String> {
    let tool = rule.split(':').next().unwrap_or_default().trim();
    if let Some((name, _)) = tool.split_once('(') {
        let (_, rest) = rule.split_once('(')?;
        let argument = rest.rsplit_once(')').map_or(rest, |(argument, _)| argument);
        let spelt = spelt(name.trim(), argument.trim());
        return Some(format!("rule `{rule}` is another system's spelling; {spelt}"));
    }
    let is_known = |letter: char| letter.is_alphanumeric() || "_-.*?[]{},!\\".contains(letter);
    let odd = tool.chars().find(|letter| !is_known(*letter))?;
    Some(format!(
        "rule `{rule}`: no tool has `{odd}` in its name; write `tool` or `tool:argument=glob`"
    ))
}

/// How becket writes the name of a tool that some other system knows.
pub fn own_name(name: &str) -> Option<&'static str> {
    let known = |name: &str| {
        let own = tool_names().find(|tool| *tool == name);
        own.or_else(|| tool_elsewhere(name))
    };
    let words = words(name);
    known(name)
        .or_else(|| known(&words.join("_")))
        .or_else(|| words.iter().rev().find_map(|word| known(word)))
        .or_else(|| meant_tool(name))
}

/// The words of a name such as `WebFetch` or `run_shell_command`, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        let ends = !letter.is_alphanumeric() || (letter.is_uppercase() && was_small);
        if ends && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        was_small = letter.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn spelt(name: &str, argument: &str) -> String {
    let Some(tool) = own_name(name) else {
        return "write `tool` or `tool:argument=glob`".into();
    };
    let kind = OperationKind::ALL.iter().find(|kind| kind.name() == tool);
    let names = ["command", "url", "path"];
    let main = kind.and_then(|kind| {
        let schema = kind.schema();
        names
            .into_iter()
            .find(|name| schema["properties"].get(name).is_some())
    });
    let whole = argument.is_empty() || argument == "*";
    match main.filter(|_| !whole) {
        None => format!("write `{tool}`"),
        Some(main) => {
            let glob = match main {
                "command" => argument.replace(":*", "*"),
                "url" => match argument.strip_prefix("domain:") {
                    Some(host) => format!("https://{host}/*"),
                    None => argument.to_owned(),
                },
                _ => argument.trim_start_matches("./").to_owned(),
            };
            let rule = format!("{tool}:{main}={glob}");
            match Rules::parse(std::slice::from_ref(&rule), &[], &[]) {
                Ok(_) => format!("write `{rule}`"),
                Err(_) => format!("write `{tool}:{main}=…`"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_spellings_come_with_becket_s_own() {
        let table = [
            ("shell(rm*)", "write `shell:command=rm*`"),
            ("Bash(rm:*)", "write `shell:command=rm*`"),
            ("Bash(git push *)", "write `shell:command=git push *`"),
            ("Bash()", "write `shell`"),
            ("Shell(*)", "write `shell`"),
            ("run_shell_command(rm -rf)", "write `shell:command=rm -rf`"),
            ("Read(./secrets/**)", "write `read:path=secrets/**`"),
            ("Read(~/.ssh/**)", "write `read:path=…`"),
            (
                "WebFetch(domain:example.com)",
                "write `fetch:url=https://example.com/*`",
            ),
            ("Whatever(x)", "write `tool` or"),
            ("@server/tool", "no tool has `@` in its name"),
            ("rm -rf", "no tool has ` ` in its name"),
        ];
        for (rule, words) in table {
            let trouble = trouble(rule).unwrap_or_default();
            assert!(trouble.contains(words), "{rule}: {trouble}");
        }
        let right = [
            "shell",
            "shell:command=a(b)*",
            "mcp_*",
            "{read,write}:path=*",
            "a.b",
        ];
        for rule in right {
            assert_eq!(trouble(rule), None, "{rule}");
        }
        let names = [
            ("Bash", "shell"),
            ("run_shell_command", "shell"),
            ("WebFetch", "fetch"),
        ];
        for (name, own) in names {
            assert_eq!(own_name(name), Some(own), "{name}");
        }
    }
}
