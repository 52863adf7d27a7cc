//! The first lines of a guard, `INPUT=$(cat)` and `echo "$INPUT" | jq …`, in every shell that may run it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::{CommandLane, Invocation, Lane, Program, echo_proof, guest_environment};
use proptest::prelude::*;
use serde_json::json;
use testkit::needs;

/// What shells, `echo` and JSON might take for something else.
const COMMANDS: &[&str] = &[
    r"true \c; rm -rf build",
    r"printf 'a\nb\tc\\n' \a \b \e \f \r \v \0 \0101 \x41 \101",
    r"\",
    r"\\",
    r"\\\\c",
    r"a\",
    r#"\" "\\" '\''"#,
    r"\u005c \u0041 \U00000041 \u{41}",
    r"-n",
    r"-e \c",
    r"-nE -- -",
    "a\nb\n\n\tc\r\nd",
    "\u{1}\u{7}\u{8}\u{b}\u{c}\u{1b}[2J\u{7f}\u{80}\u{9b}",
    r"$HOME `id` $(id) ${x:-\c} !! ~ * ? [a] {a,b}",
    "%s %d %%",
    "ä € 😀 \u{2028} \u{feff} \u{ef80} \u{fffd}",
    "/ \\/ //",
    "{\"tool_input\":{\"command\":\"ls\"}}",
];

/// A shell, if it is there, and how a hook names it.
fn shell(name: &str, folder: &Path) -> Option<PathBuf> {
    if !needs(name) {
        return None;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
    let file = files.find(|file| file.is_file())?;
    if name != "busybox" {
        return Some(file);
    }
    // It is what it is called.
    let link = folder.join("sh");
    std::os::unix::fs::symlink(file, &link).unwrap();
    Some(link)
}

fn environment(variables: &[(&str, &str)]) -> Arc<BTreeMap<OsString, OsString>> {
    let given = variables
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()));
    let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
    Arc::new(guest_environment(path.into_iter().chain(given).collect()))
}

/// What a program says to some input.
async fn said(program: Program, input: String) -> String {
    let invocation = Invocation {
        input: input.into(),
        environment: Vec::new(),
        directory: std::env::temp_dir(),
        timeout: Duration::from_secs(60),
    };
    let finished = CommandLane::new(program).run(invocation).await.unwrap();
    assert_eq!(finished.stderr, "");
    String::from_utf8(finished.stdout).unwrap()
}

/// The ways in which becket starts a shell for a line: as the user's, and as the program that a hook names.
fn programs(shell: &Path, line: &str, environment: &Arc<BTreeMap<OsString, OsString>>) -> [Program; 2] {
    let words = [shell.as_os_str(), "-c".as_ref(), line.as_ref()];
    [Program::line_for(shell, line), Program::exec(words)]
        .map(|program| program.environment(Arc::clone(environment)))
}

const SHELLS: &[&str] = &["dash", "bash", "zsh", "mksh", "busybox"];

#[tokio::test]
async fn every_shell_finds_the_command_that_was_asked_for() {
    if !needs("jq") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let line = "INPUT=$(cat); CMD=$(echo \"$INPUT\" | jq -r .tool_input.command); printf %s \"$CMD\"";
    for shell in SHELLS.iter().filter_map(|name| shell(name, folder.path())) {
        for command in COMMANDS {
            let input = echo_proof(json!({"tool_input": {"command": command}}).to_string());
            for program in programs(&shell, line, &environment(&[])) {
                let found = said(program, input.clone()).await;
                assert_eq!(found, *command, "{}", shell.display());
            }
        }
    }
}

/// One run of each shell for many commands: what is echoed must be what was read.
#[test]
fn no_shell_changes_what_it_echoes() {
    let folder = tempfile::tempdir().unwrap();
    let shells: Vec<PathBuf> = SHELLS
        .iter()
        .filter_map(|name| shell(name, folder.path()))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let environment = environment(&[]);
    let text = prop_oneof![
        any::<String>(),
        r#"[\\"'$`abcefnrtuvxE0123456789 \n\t\r-]{0,40}"#,
        prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter),
    ];
    let config = ProptestConfig::with_cases(40);
    proptest!(config, |(commands in prop::collection::vec(text, 1..20))| {
        let input = echo_proof(json!({"tool_input": commands}).to_string());
        for shell in &shells {
            for program in programs(shell, "INPUT=$(cat); echo \"$INPUT\"", &environment) {
                let echoed = runtime.block_on(said(program, input.clone()));
                prop_assert_eq!(echoed.trim_end_matches('\n'), &input, "{}", shell.display());
            }
        }
    });
}

#[tokio::test]
async fn a_line_that_names_no_shell_is_run_by_bash_as_sh() {
    if !needs("bash") {
        return;
    }
    let line = r#"printf '%s ' "${0##*/}" "${BASH_VERSION:+bash}"; echo 'a\nb\c' -n"#;
    let variables = [
        ("BASHOPTS", "xpg_echo"),
        ("SHELLOPTS", "noglob"),
        ("ENV", "/nowhere"),
    ];
    let program = Program::shell(line).environment(environment(&variables));
    assert_eq!(said(program, String::new()).await, "sh bash a\\nb\\c -n\n");
    // Where there is no bash, what `sh` is runs it.
    let folder = tempfile::tempdir().unwrap();
    let nothing = guest_environment([("PATH".into(), folder.path().into())].into());
    let program = Program::shell("echo \"${0##*/}\"").environment(nothing.into());
    assert_eq!(said(program, String::new()).await, "sh\n");
}

fn write_script(file: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    // Another file under the same name, as an editor writes it.
    let new = file.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&new, file).unwrap();
}

#[tokio::test]
async fn a_line_that_only_starts_a_script_starts_it_without_a_shell_and_sees_every_change_of_it() {
    if !needs("bash") || !needs("dash") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let script = root.join("my guard.sh");
    // bash tells what it starts by which word it has started it; dash tells nothing.
    let text = "#!/usr/bin/env dash\necho \"$PWD|$*|$(printenv _)\"\n";
    write_script(&script, text);
    let folder = root.to_str().unwrap();
    let environment = environment(&[("GUARD_DIR", folder), ("PWD", "/nowhere")]);
    let program = |line: &str| Program::shell(line).environment(Arc::clone(&environment));
    let directory = std::env::temp_dir().canonicalize().unwrap();
    let direct = format!("{}|a b|\n", directory.display());
    for line in [
        "\"$GUARD_DIR/my guard.sh\" a b".to_owned(),
        format!("'{}' a b", script.display()),
    ] {
        assert_eq!(said(program(&line), String::new()).await, direct, "{line}");
    }
    let by_shell = said(program("\"$GUARD_DIR\"/my\\ guard.sh a b"), String::new()).await;
    assert!(by_shell.contains("|a b|/"), "{by_shell}");
    let program = program("\"$GUARD_DIR/my guard.sh\"");
    assert_eq!(
        said(program.clone(), String::new()).await,
        direct.replace("a b", "")
    );
    write_script(&script, "#!/bin/sh\necho replaced\n");
    assert_eq!(said(program, String::new()).await, "replaced\n");
}
