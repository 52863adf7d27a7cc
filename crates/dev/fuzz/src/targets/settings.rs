//! Settings and files of others: TOML, YAML and JSON from a user, a project or a package.

use std::path::Path;

use arbtest::arbitrary::{Result, Unstructured};
use becket_chibi::scheme::FileSettings;
use becket_chibi::{SettingsOf, bridge_file, read_bridge, read_settings};
use becket_dialect_kit::yaml::read_yaml;
use becket_docker_agent::{AgentFile, PersonsSettings, read_drop_in};
use becket_hooks::read_hook_file;
use becket_mcp::{Headers, ToolFilter, tool_name};
use becket_providers::scripted::Scripted;

use super::agent::reader;
use crate::text::{either, text};

/// Fragments of settings in TOML.
const TOML: &[&str] = &[
    "[[hook]]\n",
    "[hook]\n",
    "event = ",
    "\"pre_tool\"",
    "match = ",
    "{ tool = ",
    "arguments = ",
    "{",
    "}",
    "[",
    "]",
    "glob = ",
    "regex = ",
    "command = ",
    "\"\"\"",
    "'''",
    "timeout = ",
    "1e999",
    "-1",
    "9223372036854775808",
    "[permissions]\n",
    "deny = [",
    "allow = ",
    "ask = ",
    "\"shell(rm*)\"",
    "[tools.tiers]\n",
    "[chibi]\n",
    "[agent]\n",
    "model = ",
    "\"a\"",
    "true",
    "[[test]]\n",
    "expect = ",
    "payload = ",
    "# ",
    "\n",
    ".",
    "=",
    "\\u0000",
    "inf",
    "nan",
    "1979-05-27T07:32:00Z",
    "a.b.c = ",
    "\"{a,b}\"",
    "\"[\"",
    "\"**\"",
    "[mcp.a]\n",
    "url = ",
    "\"http://[::1]/\"",
    "on_failure = ",
    "\"continue\"",
    "version = 1\n",
    "hash = ",
    "files = ",
];

const HOOK_FILES: &[&str] = &[
    include_str!("../seeds/guard.toml"),
    include_str!("../seeds/first-hook.toml"),
    "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = \"shell\", arguments = { command = { glob = \"*git push*\" } } }\ncommand = \"exit 2\"\ntimeout = 2\n",
];

pub fn hook_file(u: &mut Unstructured<'_>) -> Result<()> {
    let _ = read_hook_file(&either(u, HOOK_FILES, TOML)?, Path::new("hooks.toml"));
    Ok(())
}

pub fn config(u: &mut Unstructured<'_>) -> Result<()> {
    reader("config")(&either(u, HOOK_FILES, TOML)?);
    Ok(())
}

pub fn project(u: &mut Unstructured<'_>) -> Result<()> {
    reader("project")(&either(u, HOOK_FILES, TOML)?);
    Ok(())
}

pub fn hooktest(u: &mut Unstructured<'_>) -> Result<()> {
    const TESTS: &[&str] = &[
        "hooks = [\"first-hook.toml\"]\n\n[[test]]\nname = \"nobody pushes\"\nevent = \"pre_tool\"\npayload = { tool_name = \"shell\", arguments = { command = \"git push --force\" } }\nexpect = { outcome = \"deny\", reason = \"only a human\" }\n",
    ];
    reader("hooktest")(&either(u, TESTS, TOML)?);
    Ok(())
}

pub fn lock(u: &mut Unstructured<'_>) -> Result<()> {
    const LOCKS: &[&str] =
        &["version = 1\n[[hook]]\nname = \"a\"\nguard = true\nhash = \"b\"\nfiles = { a = \"b\" }\n"];
    reader("lock")(&either(u, LOCKS, TOML)?);
    Ok(())
}

/// Fragments of settings in YAML.
const YAML: &[&str] = &[
    "agents:\n",
    "  root:\n",
    "    model: ",
    "    instruction: ",
    "|\n",
    ">-\n",
    "- ",
    "  ",
    ": ",
    "hooks:\n",
    "pre_tool_use:\n",
    "matcher: ",
    "type: command\n",
    "command: ",
    "&a ",
    "*a",
    "<<: *a\n",
    "!!str ",
    "!!binary ",
    "? ",
    "---\n",
    "...\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    "'",
    "\"",
    "#",
    "%YAML 1.2\n",
    "\t",
    "~",
    "null",
    "0x1f",
    "1e999",
    ".inf",
    "toolsets:\n",
    "type: mcp\n",
    "permissions:\n",
    "deny:\n",
    "shell:cmd=rm *",
    "timeout: ",
    "settings:\n",
    "models:\n",
    "${env.HOME}",
    "${args[0]}",
    "sub_agents: [a]\n",
    "version: \"2\"\n",
    "\u{feff}",
    "!<tag:a> ",
];

const AGENT_FILES: &[&str] = &[
    include_str!("../seeds/hooks.yaml"),
    "version: \"2\"\nagents:\n  root:\n    model: openai/gpt-4o\n    instruction: |\n      You help.\n    toolsets:\n      - type: shell\n    hooks:\n      pre_tool_use:\n        - matcher: \"shell|edit.*\"\n          hooks:\n            - type: command\n              command: \"exit 2\"\n              timeout: 5\n",
    "a: &a [*a, *a]\n",
    "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
];

pub fn agent_file(u: &mut Unstructured<'_>) -> Result<()> {
    let _ = AgentFile::read(&either(u, AGENT_FILES, YAML)?, Path::new("/nowhere/agent.yaml"));
    Ok(())
}

pub fn persons_settings(u: &mut Unstructured<'_>) -> Result<()> {
    let _ = PersonsSettings::read(&either(u, AGENT_FILES, YAML)?, Path::new("config.yaml"));
    Ok(())
}

pub fn drop_in(u: &mut Unstructured<'_>) -> Result<()> {
    let _ = read_drop_in(&either(u, AGENT_FILES, YAML)?, Path::new("hooks.d/a.yaml"));
    Ok(())
}

pub fn yaml(u: &mut Unstructured<'_>) -> Result<()> {
    let _ = read_yaml::<serde_json::Value>(&either(u, AGENT_FILES, YAML)?, Path::new("any.yaml"));
    Ok(())
}

pub fn chibi_settings(u: &mut Unstructured<'_>) -> Result<()> {
    const SETTINGS: &[&str] = &[
        "model = \"a\"\n[tools]\ninclude = [\"read\"]\nexclude = [\"shell\"]\n[tools.tiers]\n\"/tools/shared\" = 2\n[tools.http.allow]\n\"/tools/shared\" = [\"https://a/\"]\n",
        "[url_policy]\ndefault = \"allow\"\ndeny = [\"*\"]\n",
    ];
    let text = either(u, SETTINGS, TOML)?;
    for file in [SettingsOf::Home, SettingsOf::Context] {
        let _ = read_settings(&text, file);
    }
    let _ = FileSettings::of_home(&text);
    Ok(())
}

/// `mcp-bridge.toml`: the MCP servers of a chibi home.
pub fn bridge(u: &mut Unstructured<'_>) -> Result<()> {
    const SERVERS: &[&str] = &[
        "[servers.a]\ncommand = \"a\"\nargs = [\"b\"]\n[servers.b]\nurl = \"http://a/\"\n[servers.b.headers]\nA = \"b\"\n",
    ];
    let home = tempfile::tempdir().expect("a folder can be made");
    let file = bridge_file(home.path());
    let folder = file.parent().expect("it lies in a folder");
    std::fs::create_dir_all(folder).expect("a folder can be made");
    std::fs::write(&file, either(u, SERVERS, TOML)?).expect("a file can be written");
    let _ = read_bridge(home.path());
    Ok(())
}

/// The record of what the user trusts.
pub fn trust_record(u: &mut Unstructured<'_>) -> Result<()> {
    const RECORDS: &[&str] = &[
        "project = \"/a\"\nidentity = \"b\"\nkind = \"hook\"\nname = \"a\"\nsource = \"c\"\ntime_ms = 1\nentry = \"d\"\n[files.\"a.sh\"]\nhash = \"b\"\nplace = \"c\"\nstate = \"Plain\"\n",
    ];
    reader("trust_record")(&either(u, RECORDS, TOML)?);
    Ok(())
}

pub fn mcp(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "*",
        "?",
        "{",
        "}",
        "[",
        "]",
        "a",
        ",",
        "\\",
        "!",
        "^",
        "-",
        "X-Name",
        "\r\n",
        "é",
        "authorization",
    ];
    let (one, two) = (text(u, WORDS)?, text(u, WORDS)?);
    let _ = ToolFilter::read(std::slice::from_ref(&one), std::slice::from_ref(&two));
    let _ = Headers::read([(one.as_str(), two.as_str())]);
    let name = tool_name(&one, &two);
    assert!(name.len() <= 64, "{name}");
    Ok(())
}

pub fn script(u: &mut Unstructured<'_>) -> Result<()> {
    const SCRIPTS: &[&str] = &[
        "[{\"text\": \"a\"}, {\"tool_calls\": [{\"name\": \"a\", \"arguments\": {}}]}]",
        "[[turn]]\ntext = \"a\"\n",
    ];
    let name = *u.choose(&["a.json", "a.toml"])?;
    let _ = Scripted::parse(Path::new(name), &either(u, SCRIPTS, TOML)?);
    Ok(())
}
