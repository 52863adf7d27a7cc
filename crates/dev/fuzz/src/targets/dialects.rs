//! Other files and messages of foreign systems.

use std::time::Duration;

use arbtest::arbitrary::{Result, Unstructured};
use becket_chibi::{contexts_with_messages, take_messages};
use becket_docker_agent::{
    EventCommand, OtherTools, RuleKind, Template, command_prompt, translate_rule, with_variables,
};
use becket_pi::arguments as pi_arguments;
use becket_pi::host_call::{HostCall, HostCallAsync};

use crate::text::{either, json, json_text, text};

const SESSION: &[&str] = &[
    "type",
    "session",
    "version",
    "id",
    "timestamp",
    "cwd",
    "message",
    "parentId",
    "role",
    "user",
    "assistant",
    "content",
    "text",
    "toolCall",
    "toolResult",
    "arguments",
    "usage",
    "stopReason",
    "model_change",
    "compaction",
    "summary",
    "firstKeptEntryId",
    "branch_summary",
    "custom",
    "label",
    "name",
    "data",
    "provider",
    "modelId",
    "thinkingLevel",
    "a",
    "b",
    "tokensBefore",
    "isError",
];

/// A session that pi wrote.
pub fn session_file(u: &mut Unstructured<'_>) -> Result<()> {
    const FILES: &[&str] = &[
        "{\"type\":\"session\",\"version\":3,\"id\":\"a\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/a\"}\n{\"type\":\"message\",\"id\":\"b\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hello\",\"timestamp\":1}}\n{\"type\":\"message\",\"id\":\"c\",\"parentId\":\"b\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"toolCall\",\"id\":\"d\",\"name\":\"bash\",\"arguments\":{}}],\"usage\":{},\"stopReason\":\"toolUse\"}}\n",
    ];
    let mut file = either(u, FILES, SESSION)?;
    for _ in 0..u.int_in_range(0..=4)? {
        file += &json_text(u, SESSION)?;
        file.push('\n');
    }
    let _ = becket_pi::session_file::read(&file);
    Ok(())
}

/// The inbox of a context, to which plugins append lines.
pub fn inbox(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "id",
        "from",
        "to",
        "content",
        "timestamp",
        "a",
        "\n",
        "\r",
        "\0",
        "é",
        "\u{202e}",
    ];
    const LINES: &[&str] = &["{\"id\":\"a\",\"from\":\"b\",\"to\":\"c\",\"content\":\"d\"}\n"];
    let mut lines = either(u, LINES, WORDS)?.into_bytes();
    for _ in 0..u.int_in_range(0..=4)? {
        lines.extend(json_text(u, WORDS)?.bytes());
        lines.push(*u.choose(b"\n\xff\r")?);
    }
    let contexts = tempfile::tempdir().expect("a folder can be made");
    let folder = contexts.path().join("a");
    std::fs::create_dir(&folder).expect("a folder can be made");
    std::fs::write(folder.join("inbox.jsonl"), lines).expect("a file can be written");
    drop(contexts_with_messages(contexts.path()));
    if let Ok(Some(taken)) = take_messages(contexts.path(), "a", Duration::from_secs(60)) {
        taken.forget().expect("what was read can be removed");
    }
    Ok(())
}

pub fn rpc(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "type",
        "prompt",
        "message",
        "id",
        "steer",
        "abort",
        "get_state",
        "set_model",
        "bash",
        "command",
        "images",
        "fork",
        "a",
    ];
    let line = json_text(u, WORDS)?;
    drop(becket_pi::rpc::read(&line));
    Ok(())
}

pub fn host_calls(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "call",
        "type",
        "name",
        "exec",
        "args",
        "options",
        "key",
        "value",
        "tool",
        "text",
        "id",
        "sendMessage",
        "content",
        "a",
    ];
    let call = json_text(u, WORDS)?;
    let _ = (HostCall::read(&call), HostCallAsync::read(&call));
    Ok(())
}

/// Tool arguments checked against a schema; both come from an extension.
pub fn arguments(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "type",
        "object",
        "properties",
        "required",
        "items",
        "$ref",
        "#",
        "#/properties/a",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "string",
        "number",
        "integer",
        "boolean",
        "array",
        "null",
        "minimum",
        "pattern",
        "(a+)+$",
        "additionalProperties",
        "a",
        "b",
        "$defs",
        "not",
        "format",
        "default",
        "maxLength",
        "prefixItems",
    ];
    let (schema, written) = (json(u, WORDS, 5)?, json(u, WORDS, 4)?);
    let _ = pi_arguments::validate("fuzz", &schema, &written);
    Ok(())
}

const TEMPLATES: &[&str] = &[
    "{{", "}}", "${", "}", "${env.", "${args[", "]", "${args}", "$1", "$@", ".", "||", "'", "\"", "`", "a",
    "if ", "end", "range ", "-", "|", "!`", "!tool(", ")", "\\", "=", ",", "@",
];

pub fn templates(u: &mut Unstructured<'_>) -> Result<()> {
    let (template, words) = (text(u, TEMPLATES)?, text(u, TEMPLATES)?);
    let _ = (Template::read(&template), command_prompt(&template, &words));
    let _ = with_variables(&template, &|_| Ok(Some("${env.A}".into())));
    Ok(())
}

/// Permission rules and fields of answers in docker-agent's format.
pub fn translated_rules(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "shell",
        ":",
        "cmd",
        "=",
        "*",
        "rm",
        " ",
        "mcp:",
        "{",
        "}",
        "[",
        "]",
        "\\",
        ",",
        "edit_file",
        "path",
        "?",
        "~/",
        "!",
    ];
    let rule = text(u, WORDS)?;
    for kind in [RuleKind::Deny, RuleKind::Allow, RuleKind::Ask] {
        let _ = translate_rule(&rule, kind, None);
    }
    let _ = becket_docker_agent::missing_tool(
        &rule,
        OtherTools {
            names: &["shell"],
            elsewhere: |_| None,
        },
    );
    for contract in becket_docker_agent::contracts() {
        drop(becket_docker_agent::meaningless_fields(&rule, &contract));
        drop(becket_docker_agent::rewriting_fields(&rule, &contract));
    }
    let _ = EventCommand::read(&rule);
    becket_check::has_key(&rule, "path", "rm");
    Ok(())
}

/// Skills, prompt templates and themes.
pub fn front_matter(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "---\n",
        "name: ",
        "description: ",
        "a",
        "\n",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "#ff0000",
        "colors",
        "vars",
        ":",
        ",",
        "&a ",
        "*a",
        "- ",
        "|\n",
    ];
    const TEXTS: &[&str] = &[
        "---\nname: a\ndescription: b c\n---\n\nbody $1\n",
        "{\"name\":\"a\",\"vars\":{\"x\":\"#123456\"},\"colors\":{\"accent\":\"x\",\"text\":7}}",
    ];
    becket_pi::is_theme_or_has_front_matter(&either(u, TEXTS, WORDS)?);
    Ok(())
}
