//! `becket hooks new`: writes a hook and a test for it, and runs both.

use std::path::{Path, PathBuf};

use becket_system::{CliError, Exit, Surroundings};
use serde_json::{Value, json};

use super::{check, test};
use crate::args::{CheckForm, HookKind, HookLanguage, NewArgs, TestArgs};
use crate::options::Options;
use crate::printing::print;

/// The file with Claude Code's settings for a project.
const CLAUDE_SETTINGS: &str = ".claude/settings.json";

/// A file to be written, by its path in the folder.
struct NewFile {
    path: String,
    text: String,
    is_program: bool,
}

/// Writes the files, checks the hook and runs its test.
pub fn run(options: &Options, wanted: &NewArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let name = wanted.name.as_deref().unwrap_or(match wanted.kind {
        HookKind::Guard => "no-rm",
        HookKind::Transform => "no-pager",
        HookKind::Observe => "tool-log",
    });
    check_name(name)?;
    let files = files(wanted.kind, wanted.lang, name);
    let is_there = |file: &NewFile| surroundings.cwd.join(&file.path).exists();
    let existing = files
        .iter()
        .find(|file| file.path != CLAUDE_SETTINGS && is_there(file));
    if let Some(file) = existing {
        let error = CliError::usage(format!("{} exists already", file.path));
        return Err(error.hint("nothing was written; give the hook another name, or use another folder"));
    }
    for file in &files {
        let done = match is_there(file) {
            true => {
                add_entry(&surroundings.cwd.join(&file.path), &file.text)?;
                "added the hook to"
            }
            false => {
                write(&surroundings.cwd, file)?;
                "wrote"
            }
        };
        print(&format!("{done} {}\n", file.path))?;
    }
    let (hooks, tests): (Vec<_>, Vec<_>) = files
        .into_iter()
        .map(|file| PathBuf::from(file.path))
        .partition(|path| !path.to_string_lossy().ends_with(".hooktest.toml"));
    // Scheme is loaded by the test; `check` reads the files of the other languages.
    if let (Some(hook), false) = (hooks.first(), wanted.lang == HookLanguage::Scheme) {
        check::run(options, CheckForm::Text, std::slice::from_ref(hook), surroundings)?;
    }
    let mut options = options.clone();
    // The user has just asked for exactly these files.
    options.run.trust = true;
    let tests = TestArgs {
        files: tests,
        faults: false,
        update: false,
    };
    let exit = test::run(&options, &tests, surroundings)?;
    print(&format!("{}\n", usage(wanted.lang, name)))?;
    Ok(exit)
}

/// How a new hook is used.
fn usage(language: HookLanguage, name: &str) -> String {
    match language {
        HookLanguage::Toml | HookLanguage::Bash | HookLanguage::Python => format!(
            "to use it: becket --hooks {name}.toml PROMPT; for all runs here, move the entry into becket.toml and run \
             `becket hooks trust`"
        ),
        HookLanguage::Ts => format!("to use it: becket -e {name}.ts PROMPT"),
        HookLanguage::Scheme => format!("to use it: becket --chibi-home {name}-home PROMPT"),
        HookLanguage::Claude => {
            "to use it: `becket hooks trust` makes it active in this folder; Claude Code runs it, too"
                .to_owned()
        }
    }
}

/// Adds the entries of Claude Code's settings to those of a file that exists. The rest stays.
fn add_entry(file: &Path, new: &str) -> Result<(), CliError> {
    let shown = file.display();
    let unread = |why: String| {
        let error = CliError::usage(format!("the hook cannot be added to {shown}: {why}"));
        error.hint(format!("add this entry by hand:\n{new}"))
    };
    let text = std::fs::read_to_string(file).map_err(|error| unread(error.to_string()))?;
    let mut settings: Value = serde_json::from_str(&text).map_err(|error| unread(error.to_string()))?;
    let new: Value = serde_json::from_str(new).expect("the template is JSON");
    let events = new["hooks"].as_object().into_iter().flatten();
    for (event, entries) in events {
        let hooks = settings
            .as_object_mut()
            .map(|settings| settings.entry("hooks").or_insert_with(|| json!({})));
        let hooks = hooks.and_then(Value::as_object_mut);
        let list = hooks.map(|hooks| hooks.entry(event.as_str()).or_insert_with(|| json!([])));
        let Some(list) = list.and_then(Value::as_array_mut) else {
            return Err(unread(format!("`hooks.{event}` is no list")));
        };
        list.extend(entries.as_array().into_iter().flatten().cloned());
    }
    let written = std::fs::write(file, format!("{settings:#}\n"));
    written.map_err(|error| CliError::failed(format!("cannot write {shown}: {error}")))
}

fn check_name(name: &str) -> Result<(), CliError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    match !name.is_empty() && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(CliError::usage(format!(
            "the name `{name}` may have only letters, digits, hyphens and underscores"
        ))),
    }
}

fn write(folder: &Path, file: &NewFile) -> Result<(), CliError> {
    let path = folder.join(&file.path);
    let failed = |error| CliError::failed(format!("cannot write {}: {error}", path.display()));
    let above = path.parent().unwrap_or(folder);
    std::fs::create_dir_all(above).map_err(failed)?;
    std::fs::write(&path, &file.text).map_err(failed)?;
    #[cfg(unix)]
    if file.is_program {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    Ok(())
}

/// The files of a hook: what a run loads first, its test last.
fn files(kind: HookKind, language: HookLanguage, name: &str) -> Vec<NewFile> {
    let file = |path: String, text: &str| NewFile {
        path,
        text: text.replace("NAME", name),
        is_program: false,
    };
    let template = template(kind, language);
    let program = |path: String| NewFile {
        is_program: true,
        ..file(path, template)
    };
    let (hook, names, event) = match language {
        HookLanguage::Toml => (
            vec![file(format!("{name}.toml"), template)],
            format!("hooks = [\"{name}.toml\"]\n\n"),
            "tool_end",
        ),
        HookLanguage::Bash | HookLanguage::Python => {
            let (start, ending) = match language {
                HookLanguage::Bash => ("bash", "sh"),
                _ => ("python3", "py"),
            };
            let entry = file(format!("{name}.toml"), &started(kind, start, ending));
            let hook = vec![entry, program(format!("{name}.{ending}"))];
            (hook, format!("hooks = [\"{name}.toml\"]\n\n"), "tool_end")
        }
        HookLanguage::Ts => (
            vec![file(format!("{name}.ts"), template)],
            format!("extensions = [\"{name}.ts\"]\n\n"),
            "tool_end",
        ),
        HookLanguage::Scheme => (
            vec![file(format!("{name}-home/vfs/tools/shared/{name}.scm"), template)],
            format!("chibi_home = \"{name}-home\"\n\n"),
            "post_tool",
        ),
        HookLanguage::Claude => {
            let entry = file(CLAUDE_SETTINGS.into(), settings(kind));
            let hook = vec![entry, program(format!(".claude/hooks/{name}.sh"))];
            let how = "# Hooks of the project run when they are trusted: becket hooks test . --trust\n\n";
            (hook, how.to_owned(), "pre_tool_output")
        }
    };
    let test = names + &cases(kind).replace("EVENT", event);
    let mut files = hook;
    files.push(file(format!("{name}.hooktest.toml"), &test));
    files
}

/// The entry of a hook that is a program.
fn started(kind: HookKind, program: &str, ending: &str) -> String {
    let (event, matching) = match kind {
        HookKind::Guard => ("pre_tool", "match = { tool = \"shell\" }\nrewrites = false\n"),
        HookKind::Transform => ("pre_tool", "match = { tool = \"shell\" }\n"),
        HookKind::Observe => ("tool_end", ""),
    };
    format!(
        "[[hook]]\nname = \"NAME\"\nevent = \"{event}\"\n{matching}command = [\"{program}\", \"NAME.{ending}\"]\n\
         working_dir = \".\"\ntimeout = 5\n"
    )
}

/// Claude Code's settings with the hook.
fn settings(kind: HookKind) -> &'static str {
    match kind {
        HookKind::Guard | HookKind::Transform => include_str!("templates/guard.settings.json"),
        HookKind::Observe => include_str!("templates/observe.settings.json"),
    }
}

fn cases(kind: HookKind) -> &'static str {
    match kind {
        HookKind::Guard => include_str!("templates/guard.hooktest.toml"),
        HookKind::Transform => include_str!("templates/transform.hooktest.toml"),
        HookKind::Observe => include_str!("templates/observe.hooktest.toml"),
    }
}

fn template(kind: HookKind, language: HookLanguage) -> &'static str {
    use HookKind::{Guard, Observe, Transform};
    use HookLanguage::{Bash, Claude, Python, Scheme, Toml, Ts};
    match (kind, language) {
        (Guard, Toml) => include_str!("templates/guard.toml"),
        (Guard, Bash) => include_str!("templates/guard.sh"),
        (Guard, Python) => include_str!("templates/guard.py"),
        (Guard, Ts) => include_str!("templates/guard.ts"),
        (Guard, Scheme) => include_str!("templates/guard.scm"),
        (Guard, Claude) => include_str!("templates/guard.claude.sh"),
        (Transform, Toml) => include_str!("templates/transform.toml"),
        (Transform, Bash) => include_str!("templates/transform.sh"),
        (Transform, Python) => include_str!("templates/transform.py"),
        (Transform, Ts) => include_str!("templates/transform.ts"),
        (Transform, Scheme) => include_str!("templates/transform.scm"),
        (Transform, Claude) => include_str!("templates/transform.claude.sh"),
        (Observe, Toml) => include_str!("templates/observe.toml"),
        (Observe, Bash) => include_str!("templates/observe.sh"),
        (Observe, Python) => include_str!("templates/observe.py"),
        (Observe, Ts) => include_str!("templates/observe.ts"),
        (Observe, Scheme) => include_str!("templates/observe.scm"),
        (Observe, Claude) => include_str!("templates/observe.claude.sh"),
    }
}
