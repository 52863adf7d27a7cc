//! pi's own command line (`becket pi ARGS…`, and becket called `pi`), said in becket's words.
//!
//! The table has the options of pi 0.73 and 1.5. A run begins with a fresh context, as every run of pi does, and the
//! model gets pi's tools.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use becket_host::Service::{Differs, Served};
use becket_host::{
    AskedOf, ForeignArgs, ForeignCli, ForeignOption, ForeignValue, OwnLine, OwnLines, OwnOption,
    foreign_option as option,
};

use crate::options::{API_KEY, DEFAULT_TOOLS, NO_CONTEXT_FILES, NO_PROJECT};

/// The name of pi's program.
pub const PROGRAM: &str = "pi";

/// The version of pi whose extensions becket runs, as extensions see it.
const VERSION: &str = "0.73.1";

/// pi's command line.
pub static CLI: ForeignCli = ForeignCli {
    name: PROGRAM,
    aliases: &[],
    about: "Run becket with pi's own options",
    version: Some(VERSION),
    options: OPTIONS,
    // Extensions bring options of their own.
    keeps_unknown: true,
    translate,
};

const NOTHING: ForeignValue = ForeignValue::None;

// tidy: a table
const OPTIONS: &[ForeignOption] = &[
    option(
        &["--provider"],
        ForeignValue::One("NAME"),
        Served("The provider of the model in `--model`."),
    ),
    option(
        &["--model"],
        ForeignValue::One("ID"),
        Differs(
            "The model, by its full name: becket has no list in which to look up a part of a name. `:LEVEL` after it \
             sets the thinking level.",
        ),
    ),
    option(
        &["--api-key"],
        ForeignValue::One("KEY"),
        Served("The API key for the model's provider."),
    ),
    option(
        &["--system-prompt"],
        ForeignValue::One("TEXT"),
        Served("Replaces the usual instructions: a text, or a file."),
    ),
    option(
        &["--append-system-prompt"],
        ForeignValue::One("TEXT"),
        Served("Adds instructions: a text, or a file."),
    ),
    option(
        &["--mode"],
        ForeignValue::One("MODE"),
        Differs(
            "`text`, `json` or `rpc`. At a terminal, answers are shown while they arrive, not only the last.",
        ),
    ),
    option(&["-p", "--print"], NOTHING, Served("Answers and exits.")),
    option(
        &["-c", "--continue"],
        NOTHING,
        Served("Continues the project's current conversation."),
    ),
    option(
        &["-r", "--resume"],
        NOTHING,
        Differs("Starts a chat; `/resume` in it lists what you can resume."),
    ),
    option(
        &["--session"],
        ForeignValue::One("FILE|ID"),
        Differs(
            "The conversation of that session (its id or the beginning of it), or of that file, which is created if \
             it is new. The file is written when the run is over, not during it.",
        ),
    ),
    option(
        &["--session-id"],
        ForeignValue::One("ID"),
        Differs("The context of that name, which is created if there is none."),
    ),
    option(
        &["--fork"],
        ForeignValue::One("FILE|ID"),
        Served("A new conversation that continues that of a file or a session."),
    ),
    option(
        &["--session-dir"],
        ForeignValue::One("FOLDER"),
        Differs(
            "The folder for the file of the conversation, and where `--session` and `--continue` look for one. The \
             file is written when the run is over, not during it.",
        ),
    ),
    option(&["--no-session"], NOTHING, Served("Keeps nothing.")),
    option(
        &["-n", "--name"],
        ForeignValue::One("NAME"),
        Served("Names the conversation."),
    ),
    option(
        &["--models"],
        ForeignValue::One("PATTERNS"),
        Differs(
            "The first of them is the model unless `--model` names one; it must be a full name. You can switch among \
             the models that the session has used and those of extensions.",
        ),
    ),
    option(&["-nt", "--no-tools"], NOTHING, Served("Offers no tools.")),
    option(
        &["-nbt", "--no-builtin-tools"],
        NOTHING,
        Served("Offers only tools that are not becket's own."),
    ),
    option(
        &["-t", "--tools"],
        ForeignValue::One("NAMES"),
        Served("Offers only these tools; names that begin with `-` are left out."),
    ),
    option(
        &["-xt", "--exclude-tools"],
        ForeignValue::One("NAMES"),
        Served("Leaves these tools out."),
    ),
    option(
        &["--thinking"],
        ForeignValue::One("LEVEL"),
        Served("The thinking level; `max` means `xhigh`. An unknown one is ignored with a warning."),
    ),
    option(
        &["-e", "--extension"],
        ForeignValue::One("PATH"),
        Served("An extension: a file or a folder, or what is installed under `npm:` and `git:`."),
    ),
    option(
        &["-ne", "--no-extensions"],
        NOTHING,
        Served("Only the extensions that `-e` names."),
    ),
    option(
        &["--no-mcp"],
        NOTHING,
        Differs(
            "Nothing: becket does not read pi's file of MCP servers; its own servers are in its settings.",
        ),
    ),
    option(&["--skill"], ForeignValue::One("PATH"), Served("A skill.")),
    option(
        &["-ns", "--no-skills"],
        NOTHING,
        Served("Only skills that are named."),
    ),
    option(
        &["--prompt-template"],
        ForeignValue::One("PATH"),
        Served("A prompt template."),
    ),
    option(
        &["-np", "--no-prompt-templates"],
        NOTHING,
        Served("Only prompt templates that are named."),
    ),
    option(&["--theme"], ForeignValue::One("PATH"), Served("A theme.")),
    option(&["--no-themes"], NOTHING, Served("Only themes that are named.")),
    option(
        &["--use-theme"],
        ForeignValue::One("NAME"),
        Differs("Nothing: extensions choose the theme."),
    ),
    option(
        &["-nc", "--no-context-files"],
        NOTHING,
        Served("Does not read AGENTS.md and CLAUDE.md."),
    ),
    option(
        &["--export"],
        ForeignValue::One("FILE"),
        Differs(
            "Writes a session file as an HTML page, to the path that follows it; the page is simpler than pi's.",
        ),
    ),
    option(
        &["--list-models"],
        ForeignValue::Optional("SEARCH"),
        Differs(
            "The known models of providers with a key, and those of extensions; nobody is asked for a new list.",
        ),
    ),
    option(
        &["--verbose"],
        NOTHING,
        Differs("Nothing: becket always says what it does."),
    ),
    option(
        &["--tui-mode"],
        ForeignValue::One("MODE"),
        Differs("Nothing: the chat uses the terminal's own scrollback."),
    ),
    option(
        &["-a", "--approve"],
        NOTHING,
        Served("Trusts the project for this run."),
    ),
    option(
        &["-na", "--no-approve"],
        NOTHING,
        Served("Runs without what the project brings for pi, guards among it."),
    ),
    option(
        &["--offline"],
        NOTHING,
        Served("becket uses the network for requests to the model only."),
    ),
    option(&["-v", "--version"], NOTHING, Served("Prints the version.")),
];

/// Options that becket has by the same name: those with a value, and those without.
const SAME: &[&str] = &[
    "--provider",
    "--system-prompt",
    "--append-system-prompt",
    "--extension",
    "--skill",
    "--prompt-template",
    "--theme",
];
const SAME_ALONE: &[&str] = &[
    "--no-session",
    "--no-extensions",
    "--no-skills",
    "--no-prompt-templates",
    "--no-themes",
];

/// Commands of pi's program about packages and accounts.
const COMMANDS: &[&str] = &[
    "install",
    "remove",
    "uninstall",
    "update",
    "list",
    "config",
    "auth",
    "mcp",
];

fn translate(args: &ForeignArgs) -> Result<AskedOf, String> {
    if args.has("--version") {
        return Ok(AskedOf::Version);
    }
    if let Some(command) = args
        .command
        .as_ref()
        .and_then(|word| COMMANDS.iter().find(|name| word == *name))
    {
        return Err(format!(
            "becket installs nothing and keeps no accounts, so it has no `{PROGRAM} {command}`; what pi has installed, \
             it finds"
        ));
    }
    if let Some(file) = args.value("--export") {
        let page = OwnLine::command(&["sessions", "page"]).about([file]);
        let output = args.words.first().map(|output| OwnOption::with("output", output));
        let page = output.into_iter().fold(page, OwnLine::option);
        return Ok(AskedOf::Runs(vec![page].into()));
    }
    if args.has("--list-models") {
        let line = OwnLine {
            options: same(args).into_iter().chain(model(args)).collect(),
            ..OwnLine::command(&["models"])
        };
        let line = line.about(args.value("--list-models"));
        return Ok(AskedOf::Runs(vec![line].into()));
    }
    run(args).map(AskedOf::Runs)
}

/// A run, and what is done around it.
fn run(args: &ForeignArgs) -> Result<OwnLines, String> {
    let around = Around::of(args)?;
    let (level, warning) = thinking(args);
    if args.has("--approve") && args.has("--no-approve") {
        return Err("--approve cannot be combined with --no-approve".to_owned());
    }
    let is_chosen = around.choice.is_some();
    let mut options = same(args);
    options.extend(around.choice);
    options.extend(model(args));
    options.extend(level);
    options.extend(tools(args));
    if let Some(key) = args.value("--api-key") {
        options.push(OwnOption::with(API_KEY, key));
    }
    if args.has("--no-context-files") {
        options.push(OwnOption::alone(NO_CONTEXT_FILES));
    }
    if args.has("--approve") {
        options.push(OwnOption::alone("trust"));
    }
    if args.has("--no-approve") {
        options.push(OwnOption::alone(NO_PROJECT));
    }
    let (files, words): (Vec<_>, Vec<_>) = args.words.iter().partition(|word| is_file(word));
    let given = files.iter().map(|file| GivenFile::read(file));
    let given: Vec<GivenFile> = given.collect::<Result<_, _>>()?;
    options.extend(place(args, words.is_empty() && given.is_empty(), is_chosen)?);
    if let Some(name) = args.value("--name") {
        options.push(OwnOption::with("session-name", name));
    }
    for picture in given.iter().filter_map(|file| file.picture.as_ref()) {
        options.push(OwnOption::with("image", picture));
    }
    let text: String = given.iter().map(|file| file.text.as_str()).collect();
    let mut prompts: Vec<OsString> = words.into_iter().cloned().collect();
    match prompts.first_mut() {
        Some(first) => {
            let asked = std::mem::replace(first, text.into());
            first.push(asked);
        }
        None if text.is_empty() => {}
        None => prompts.push(text.into()),
    }
    let line = OwnLine {
        options,
        guest_words: args.unknown.clone(),
        values: prompts,
        ..OwnLine::default()
    };
    Ok(OwnLines {
        before: around.before,
        lines: vec![line],
        after: around.after,
        warnings: warning.into_iter().chain(unread_models(args)).collect(),
    })
}

/// What is done around a run whose conversation is in a file, or goes on from another one.
#[derive(Default)]
struct Around {
    before: Vec<OwnLine>,
    /// The option by which the run finds its conversation.
    choice: Option<OwnOption>,
    after: Vec<OwnLine>,
}

impl Around {
    fn of(args: &ForeignArgs) -> Result<Self, String> {
        let folder = args.value("--session-dir").filter(|_| !args.has("--no-session"));
        let here = |id: &OsStr| folder.and_then(|folder| file_with_id(folder, id));
        if let Some(from) = args.value("--fork") {
            let name = args.value("--session-id").map(OsStr::to_owned);
            let name = name.unwrap_or_else(|| fresh_name("fork"));
            let fork = Self::fork(args, &here(from).unwrap_or_else(|| from.to_owned()), &name)?;
            return Ok(match folder {
                Some(folder) => fork.with_file_in(&in_folder(folder), name),
                None => fork,
            });
        }
        let named = args.value("--session");
        if let Some(file) = named.filter(|name| is_session_file(name)) {
            return Ok(Self::in_file(file));
        }
        if let Some(file) = named.and_then(here) {
            return Ok(Self::in_file(&file));
        }
        if let Some(id) = named {
            return Ok(Self {
                choice: Some(OwnOption::with("session", id)),
                ..Self::default()
            });
        }
        let goes_on = args.has("--continue") || args.has("--resume");
        match (folder, args.value("--session-id")) {
            (Some(folder), _) if goes_on && let Some(newest) = newest_file(folder) => {
                Ok(Self::in_file(&newest))
            }
            (Some(folder), None) => {
                let name = fresh_name(PROGRAM);
                let fresh = Self {
                    choice: Some(OwnOption::with("transient", &name)),
                    ..Self::default()
                };
                Ok(fresh.with_file_in(&in_folder(folder), name))
            }
            (_, Some(id)) => Ok(Self {
                choice: Some(OwnOption::with("context", id)),
                ..Self::default()
            }),
            (None, None) => Ok(Self::default()),
        }
    }

    /// A copy of another conversation, under this name.
    fn fork(args: &ForeignArgs, from: &OsStr, name: &OsStr) -> Result<Self, String> {
        let mut others = ["--session", "--continue", "--resume", "--no-session"].into_iter();
        if let Some(other) = others.find(|other| args.has(other)) {
            return Err(format!("--fork cannot be combined with {other}"));
        }
        let copy = match is_session_file(from) {
            true => OwnLine::command(&["sessions", "import", "--quiet"]).about([from]),
            false => OwnLine {
                options: vec![OwnOption::with("session", from)],
                ..OwnLine::command(&["sessions", "fork", "--quiet"])
            },
        };
        Ok(Self {
            before: vec![copy.option(OwnOption::with("to", name))],
            choice: Some(OwnOption::with("context", name)),
            after: Vec::new(),
        })
    }

    /// A conversation that is read from a file and written back to it.
    fn in_file(file: &OsStr) -> Self {
        let name = fresh_name(PROGRAM);
        let is_new = becket_fs::read_to_string(Path::new(file)).is_ok_and(|text| text.trim().is_empty());
        let is_there = becket_fs::exists(Path::new(file)) && !is_new;
        let import = OwnLine::command(&["sessions", "import", "--quiet"]).about([file]);
        let import = import.option(OwnOption::with("to", &name));
        Self {
            before: is_there.then_some(import).into_iter().collect(),
            choice: Some(OwnOption::with("transient", &name)),
            after: Vec::new(),
        }
        .with_file_in(file, name)
    }

    /// The conversation of this name is written to a file, or to one in a folder, and becket's own copy is gone
    /// afterwards, so that the file is the only one. A run that has said nothing leaves no file.
    fn with_file_in(mut self, place: &OsStr, name: OsString) -> Self {
        let export = OwnLine::command(&["sessions", "export", "--if-any", "--quiet"]);
        let export = export.option(OwnOption::with("output", place)).about([&name]);
        let destroy = OwnLine::command(&["context", "destroy", "--if-any", "--quiet", "--yes"]);
        self.after = vec![export, destroy.about([name])];
        self
    }
}

/// A folder as the place of a file that has no name yet.
fn in_folder(folder: &OsStr) -> OsString {
    Path::new(folder).join("").into()
}

/// The file in a folder whose session has an id that begins so. pi's files are named after the moment and the id.
fn file_with_id(folder: &OsStr, id: &OsStr) -> Option<OsString> {
    let id = id.to_str().filter(|id| !id.is_empty())?;
    let mut files = session_files(folder).into_iter();
    let found = files.find(|file| {
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.split_once('_').is_some_and(|(_, own)| own.starts_with(id)))
    })?;
    Some(found.into())
}

/// The session file in a folder that was written last.
fn newest_file(folder: &OsStr) -> Option<OsString> {
    let written = |file: &PathBuf| becket_fs::metadata(file).and_then(|about| about.modified()).ok();
    Some(session_files(folder).into_iter().max_by_key(written)?.into())
}

fn session_files(folder: &OsStr) -> Vec<PathBuf> {
    let listed = becket_fs::read_dir(folder).into_iter().flatten().flatten();
    let files = listed.map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    files
}

/// Whether the name of a session is that of a file.
fn is_session_file(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.contains('/') || name.ends_with(".jsonl")
}

/// A name that no other context has: several lines mean the same one.
fn fresh_name(prefix: &str) -> OsString {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let moment = now.map_or(0, |now| now.as_millis());
    format!("{prefix}-{moment}-{}", std::process::id()).into()
}

/// The options that becket has by the same name.
fn same(args: &ForeignArgs) -> Vec<OwnOption> {
    let mut line = Vec::new();
    for name in SAME {
        let values = args.all(name).filter_map(|values| values.first());
        line.extend(values.map(|value| OwnOption::with(without_hyphens(name), value)));
    }
    let alone = SAME_ALONE.iter().filter(|name| args.has(name));
    line.extend(alone.map(|name| OwnOption::alone(without_hyphens(name))));
    line
}

/// The first of the models among which the user may switch, which is the model if no other is named.
fn first_model(args: &ForeignArgs) -> Option<String> {
    let models = args
        .value("--models")
        .filter(|_| !args.has("--model"))?
        .to_string_lossy();
    let first = models.split(',').map(str::trim).find(|name| !name.is_empty())?;
    Some(first.to_owned())
}

/// Whether a pattern is the full name of a model.
fn is_full_name(pattern: &str) -> bool {
    pattern.contains('/') && !pattern.contains(['*', '?', '['])
}

/// A warning about a pattern that would choose the model.
fn unread_models(args: &ForeignArgs) -> Option<String> {
    let first = first_model(args).filter(|first| !is_full_name(first))?;
    Some(format!(
        "--models: `{first}` is no full name of a model (provider/name), so the usual one answers"
    ))
}

fn without_hyphens(name: &'static str) -> &'static str {
    name.trim_start_matches('-')
}

/// The name of the model, and the thinking level that may stand behind it.
fn model_and_level(args: &ForeignArgs) -> (Option<String>, Option<String>) {
    let named = args
        .value("--model")
        .map(|name| name.to_string_lossy().into_owned());
    let name = named.or_else(|| first_model(args).filter(|first| is_full_name(first)));
    match name.as_deref().and_then(|name| name.rsplit_once(':')) {
        Some((name, level)) if is_level(level) => (Some(name.to_owned()), Some(level.to_owned())),
        _ => (name, None),
    }
}

fn model(args: &ForeignArgs) -> Option<OwnOption> {
    let (name, _) = model_and_level(args);
    name.map(|name| OwnOption::with("model", name))
}

/// How much the model thinks, and a warning about a level that there is not.
fn thinking(args: &ForeignArgs) -> (Option<OwnOption>, Option<String>) {
    let said = args
        .value("--thinking")
        .map(|level| level.to_string_lossy().into_owned());
    let warning = said.as_ref().filter(|level| !is_level(level)).map(|level| {
        format!(
            "Invalid thinking level \"{level}\". Valid values: {}",
            LEVELS.join(", ")
        )
    });
    let level = said
        .filter(|level| is_level(level))
        .or_else(|| model_and_level(args).1);
    let level = level.map(|level| match level.as_str() {
        "max" => OwnOption::with("thinking", "xhigh"),
        level => OwnOption::with("thinking", level),
    });
    (level, warning)
}

/// pi's thinking levels.
const LEVELS: [&str; 7] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

fn is_level(word: &str) -> bool {
    LEVELS.contains(&word)
}

/// The tools: pi's default ones unless some are chosen.
fn tools(args: &ForeignArgs) -> Vec<OwnOption> {
    let named = |name| {
        let names = args.value(name).map(|names| names.to_string_lossy().into_owned());
        let names = names.unwrap_or_default();
        let names = names.split(',').map(|name| name.trim().to_owned());
        // A `+` adds tools in becket; in pi nothing does.
        let names = names.filter(|name| !name.is_empty() && !name.starts_with('+'));
        names.collect::<Vec<String>>()
    };
    let mut chosen = named("--tools");
    if chosen.is_empty() && (args.has("--no-tools") || args.has("--tools")) {
        chosen.push("none".to_owned());
    }
    if chosen.is_empty() && args.has("--no-builtin-tools") {
        chosen.push("-builtin".to_owned());
    }
    chosen.extend(named("--exclude-tools").iter().map(|name| format!("-{name}")));
    let tools = match chosen.as_slice() {
        [] => PROGRAM.to_owned(),
        // With a comma it is a list, and no set of tools that becket knows by that name.
        [only] => format!("{only},"),
        several => several.join(","),
    };
    vec![OwnOption::with("tools", tools), OwnOption::alone(DEFAULT_TOOLS)]
}

/// How becket speaks, and where the conversation is if nothing else has chosen it. pi begins anew unless it is told to
/// go on.
fn place(args: &ForeignArgs, says_nothing: bool, is_chosen: bool) -> Result<Vec<OwnOption>, String> {
    let mode = args
        .value("--mode")
        .map(|mode| mode.to_string_lossy().into_owned());
    if let Some(other) = mode.as_ref().filter(|mode| !MODES.contains(&mode.as_str())) {
        return Err(format!(
            "Invalid mode \"{other}\". Valid values: {}",
            MODES.join(", ")
        ));
    }
    let is_chat = says_nothing && mode.is_none() && !args.has("--print");
    let goes_on = ["--no-session", "--continue", "--resume"]
        .iter()
        .any(|name| args.has(name));
    let place = match (is_chosen, is_chat) {
        (false, true) if !goes_on => Some(OwnOption::with("context", "new")),
        (false, false) if args.has("--continue") => Some(OwnOption::alone("continue")),
        _ => None,
    };
    let mode = (!is_chat).then(|| OwnOption::with("mode", mode.as_deref().unwrap_or("text")));
    Ok(place.into_iter().chain(mode).collect())
}

/// How pi speaks to the program that runs it.
const MODES: [&str; 3] = ["text", "json", "rpc"];

/// Whether a word names a file whose content is sent: `@FILE`.
fn is_file(word: &OsStr) -> bool {
    word.len() > 1 && word.as_encoded_bytes().starts_with(b"@")
}

/// A file that is sent with the first prompt: its text, or a picture.
struct GivenFile {
    text: String,
    picture: Option<PathBuf>,
}

impl GivenFile {
    fn read(word: &OsStr) -> Result<Self, String> {
        let name = word.to_string_lossy();
        let path = Path::new(&name[1..]);
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        if matches!(
            ending.to_lowercase().as_str(),
            "png" | "jpg" | "jpeg" | "gif" | "webp"
        ) {
            return Ok(Self {
                text: String::new(),
                picture: Some(path.to_path_buf()),
            });
        }
        let content = becket_fs::read_to_string(path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        Ok(Self {
            text: format!("<file name=\"{}\">\n{content}\n</file>\n", path.display()),
            picture: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use becket_host::AskedOf;

    use super::*;

    fn said(line: &str) -> Result<String, String> {
        match CLI.read(line.split_whitespace().map(OsString::from))? {
            AskedOf::Runs(lines) => Ok(lines.all().map(shown).collect::<Vec<_>>().join(" ")),
            other => Ok(format!("{other:?}")),
        }
    }

    fn shown(line: &OwnLine) -> String {
        let words = line.words().join(OsStr::new(" "));
        words.to_string_lossy().into_owned()
    }

    #[test]
    fn the_version_is_the_one_that_extensions_see() {
        let module = include_str!("js/modules/pi-coding-agent.ts");
        assert!(module.contains(&format!("export const VERSION = \"{VERSION}\";")));
    }

    // tidy: a table
    #[test]
    fn what_is_said_to_pi_is_said_to_becket() {
        let table = [
            ("", "--tools=pi --pi-default-tools --context=new"),
            ("-c", "--tools=pi --pi-default-tools"),
            ("hello", "--tools=pi --pi-default-tools --mode=text -- hello"),
            ("-p a b", "--tools=pi --pi-default-tools --mode=text -- a b"),
            (
                "-c hello",
                "--tools=pi --pi-default-tools --continue --mode=text -- hello",
            ),
            (
                "--mode json -p --no-session x",
                "--no-session --tools=pi --pi-default-tools --mode=json -- x",
            ),
            ("--mode rpc", "--tools=pi --pi-default-tools --mode=rpc"),
            (
                "--provider a --model b:high x",
                "--provider=a --model=b --thinking=high --tools=pi --pi-default-tools --mode=text -- x",
            ),
            (
                "--model a/b:free --thinking max x",
                "--model=a/b:free --thinking=xhigh --tools=pi --pi-default-tools --mode=text -- x",
            ),
            (
                "-t read,bash x",
                "--tools=read,bash --pi-default-tools --mode=text -- x",
            ),
            (
                "-t becket x",
                "--tools=becket, --pi-default-tools --mode=text -- x",
            ),
            ("-t +grep x", "--tools=none, --pi-default-tools --mode=text -- x"),
            ("-nt x", "--tools=none, --pi-default-tools --mode=text -- x"),
            ("-nbt x", "--tools=-builtin, --pi-default-tools --mode=text -- x"),
            (
                "-xt bash,edit x",
                "--tools=-bash,-edit --pi-default-tools --mode=text -- x",
            ),
            (
                "-ne -e a.ts --preset p x y",
                "--extension=a.ts --no-extensions --tools=pi --pi-default-tools --mode=text --preset p -- x y",
            ),
            ("--plan x", "--tools=pi --pi-default-tools --context=new --plan x"),
            (
                "--plan=1 x",
                "--tools=pi --pi-default-tools --mode=text --plan=1 -- x",
            ),
            ("-p mcp", "--tools=pi --pi-default-tools --mode=text -- mcp"),
            (
                "-p -- --yes",
                "--tools=pi --pi-default-tools --mode=text -- --yes",
            ),
            ("-p ---x", "--tools=pi --pi-default-tools --mode=text -- ---x"),
            (
                "--thinking bogus --model a/b:low -n it x",
                "--model=a/b --thinking=low --tools=pi --pi-default-tools --mode=text --session-name=it -- x",
            ),
            (
                "--api-key k --model a/b -nc -a x",
                "--model=a/b --tools=pi --pi-default-tools --api-key=k --no-context-files --trust --mode=text -- x",
            ),
            (
                "--offline --verbose --no-session --session-dir /s --models a,b x",
                "--no-session --tools=pi --pi-default-tools --mode=text -- x",
            ),
            (
                "--models p/a:low,p/b -na x",
                "--model=p/a --thinking=low --tools=pi --pi-default-tools --pi-no-project --mode=text -- x",
            ),
            (
                "--models p/a --model q/c x",
                "--model=q/c --tools=pi --pi-default-tools --mode=text -- x",
            ),
            (
                "--session-id s x",
                "--context=s --tools=pi --pi-default-tools --mode=text -- x",
            ),
            ("-v", "Version"),
            ("--help", "Help"),
        ];
        for (line, expected) in table {
            assert_eq!(said(line).as_deref(), Ok(expected), "pi {line}");
        }
    }

    /// The lines of a command line, with `NAME` for the name that was made up.
    fn lines(line: &str) -> Vec<String> {
        let Ok(AskedOf::Runs(lines)) = CLI.read(line.split_whitespace().map(OsString::from)) else {
            panic!("pi {line}");
        };
        let is_made_up = |word: &&str| word.starts_with("pi-1") || word.starts_with("fork-1");
        let runs: Vec<String> = lines.all().map(shown).collect();
        let mut words = runs.iter().flat_map(|run| run.split([' ', '=']));
        let name = words.find(is_made_up).unwrap_or("?").to_owned();
        runs.iter().map(|run| run.replace(&name, "NAME")).collect()
    }

    #[test]
    fn conversations_in_files_are_brought_in_and_written_back() {
        let table: [(&str, &[&str]); 7] = [
            (
                "--session no/such.jsonl x",
                &[
                    "--transient=NAME --tools=pi --pi-default-tools --mode=text -- x",
                    "sessions export --if-any --quiet --output=no/such.jsonl -- NAME",
                    "context destroy --if-any --quiet --yes -- NAME",
                ],
            ),
            (
                "--session-dir no/such x",
                &[
                    "--transient=NAME --tools=pi --pi-default-tools --mode=text -- x",
                    "sessions export --if-any --quiet --output=no/such/ -- NAME",
                    "context destroy --if-any --quiet --yes -- NAME",
                ],
            ),
            (
                "--session 0198 x",
                &["--session=0198 --tools=pi --pi-default-tools --mode=text -- x"],
            ),
            (
                "--fork a.jsonl x",
                &[
                    "sessions import --quiet --to=NAME -- a.jsonl",
                    "--context=NAME --tools=pi --pi-default-tools --mode=text -- x",
                ],
            ),
            (
                "--fork 0198 --session-id mine",
                &[
                    "--session=0198 sessions fork --quiet --to=mine",
                    "--context=mine --tools=pi --pi-default-tools",
                ],
            ),
            (
                "--export a.jsonl b.html",
                &["sessions page --output=b.html -- a.jsonl"],
            ),
            ("--list-models par -e a.ts", &["--extension=a.ts models -- par"]),
        ];
        for (line, expected) in table {
            assert_eq!(lines(line), expected, "pi {line}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for line in [
            "--fork x --continue",
            "-na -a x",
            "install npm:x",
            "-y x",
            "--mode loud x",
        ] {
            assert!(said(line).is_err(), "pi {line}");
        }
    }
}
