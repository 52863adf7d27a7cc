//! pi's own command line (`becket pi ARGS…`, and becket called `pi`), said in becket's words.
//!
//! The table has the options of pi 0.73 and 1.5. A run begins with a fresh context, as every run of pi does, and the
//! model gets pi's tools.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use becket_host::Service::{Differs, Refused, Served};
use becket_host::{ForeignArgs, ForeignCli, ForeignOption, ForeignValue, foreign_option as option};

use crate::options::{API_KEY, DEFAULT_TOOLS, NO_CONTEXT_FILES};

/// The name of pi's program.
pub const PROGRAM: &str = "pi";

/// pi's command line.
pub static CLI: ForeignCli = ForeignCli {
    name: PROGRAM,
    about: "Run becket with pi's own options",
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
        Served("`text`, `json` or `rpc`."),
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
             it is new. The file is written after the run has succeeded, not during it.",
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
            "Nothing: conversations are in becket's own store, and `becket sessions export` writes files.",
        ),
    ),
    option(&["--no-session"], NOTHING, Served("Keeps nothing.")),
    option(
        &["-n", "--name"],
        ForeignValue::One("NAME"),
        Differs("Nothing: `/name` in a chat and `becket sessions name` name a conversation."),
    ),
    option(
        &["--models"],
        ForeignValue::One("PATTERNS"),
        Differs(
            "Nothing: you can switch among the models that the session has used and those of extensions.",
        ),
    ),
    option(&["-nt", "--no-tools"], NOTHING, Served("Offers no tools.")),
    option(
        &["-nbt", "--no-builtin-tools"],
        NOTHING,
        Served("Offers only tools that are not built into pi."),
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
        Served("The thinking level; `max` means `xhigh`."),
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
        Differs("The current model and those of extensions; providers are not asked for theirs."),
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
        Refused(
            "what a project brings may be a guard: run with --no-extensions, or trust it with `becket hooks trust`",
        ),
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

fn translate(args: &ForeignArgs) -> Result<Vec<Vec<OsString>>, String> {
    if args.has("--version") {
        return Ok(vec![vec!["--version".into()]]);
    }
    if let Some(command) = args
        .words
        .first()
        .and_then(|word| COMMANDS.iter().find(|name| word == *name))
    {
        return Err(format!(
            "becket installs nothing and keeps no accounts, so it has no `{PROGRAM} {command}`; what pi has installed, \
             it finds"
        ));
    }
    if let Some(file) = args.value("--export") {
        let output = args.words.first().map(|page| ["-o".into(), page.clone()]);
        let line = ["sessions".into(), "page".into(), file.to_owned()].into_iter();
        return Ok(vec![line.chain(output.into_iter().flatten()).collect()]);
    }
    if args.has("--list-models") {
        let search = args.value("--list-models").map(OsStr::to_owned);
        let line = same(args).into_iter().chain(model(args)).chain(["models".into()]);
        return Ok(vec![line.chain(search).collect()]);
    }
    let around = Around::of(args)?;
    let mut line = same(args);
    line.extend(around.choice);
    line.extend(model(args));
    line.extend(tools(args));
    if let Some(key) = args.value("--api-key") {
        line.push(joined(&format!("--{API_KEY}="), key));
    }
    if args.has("--no-context-files") {
        line.push(format!("--{NO_CONTEXT_FILES}").into());
    }
    if args.has("--approve") {
        line.push("--trust".into());
    }
    let (files, words): (Vec<_>, Vec<_>) = args.words.iter().partition(|word| is_file(word));
    let given = files.iter().map(|file| GivenFile::read(file));
    let given: Vec<GivenFile> = given.collect::<Result<_, _>>()?;
    let first = first_prompt(&words);
    line.extend(place(args, first.is_none() && given.is_empty()));
    for picture in given.iter().filter_map(|file| file.picture.as_ref()) {
        line.push(joined("--image=", picture.as_os_str()));
    }
    let text: String = given.iter().map(|file| file.text.as_str()).collect();
    let mut words: Vec<OsString> = words.into_iter().cloned().collect();
    let first = first.or(words.len().checked_sub(1));
    match first.and_then(|first| words.get_mut(first)) {
        Some(first) => *first = joined(&text, first),
        None if text.is_empty() => {}
        None => words.push(text.into()),
    }
    line.extend(words);
    Ok([around.before, vec![line], around.after].concat())
}

/// What is done around a run whose conversation is in a file, or goes on from another one.
#[derive(Default)]
struct Around {
    before: Vec<Vec<OsString>>,
    /// The words by which the run finds its conversation.
    choice: Vec<OsString>,
    after: Vec<Vec<OsString>>,
}

impl Around {
    fn of(args: &ForeignArgs) -> Result<Self, String> {
        match (args.value("--fork"), args.value("--session")) {
            (Some(from), _) => Self::fork(args, from),
            (None, Some(file)) if is_session_file(file) => Ok(Self::in_file(file)),
            (None, Some(id)) => Ok(Self {
                choice: vec![joined("--session=", id)],
                ..Self::default()
            }),
            (None, None) => Ok(Self::default()),
        }
    }

    /// A copy of another conversation, under a name of its own.
    fn fork(args: &ForeignArgs, from: &OsStr) -> Result<Self, String> {
        let mut others = ["--session", "--continue", "--resume", "--no-session"].into_iter();
        if let Some(other) = others.find(|other| args.has(other)) {
            return Err(format!("--fork cannot be combined with {other}"));
        }
        let name = args.value("--session-id").map(OsStr::to_owned);
        let name = name.unwrap_or_else(|| fresh_name("fork"));
        let mut before = match is_session_file(from) {
            true => line(["sessions", "import"], from),
            false => vec![joined("--session=", from), "sessions".into(), "fork".into()],
        };
        before.extend(["--quiet".into(), "--to".into(), name.clone()]);
        Ok(Self {
            before: vec![before],
            choice: vec![joined("--context=", &name)],
            after: Vec::new(),
        })
    }

    /// A conversation that is read from a file and written back to it. becket's own copy is gone afterwards, so that
    /// the file is the only one.
    fn in_file(file: &OsStr) -> Self {
        let name = fresh_name(PROGRAM);
        let is_new = becket_fs::read_to_string(Path::new(file)).is_ok_and(|text| text.trim().is_empty());
        let is_there = becket_fs::exists(Path::new(file)) && !is_new;
        let mut import = line(["sessions", "import"], file);
        import.extend(["--quiet".into(), "--to".into(), name.clone()]);
        let mut export = line(["sessions", "export"], &name);
        export.extend(["--quiet".into(), "--output".into(), file.to_owned()]);
        let mut destroy = line(["context", "destroy"], &name);
        destroy.extend(["--quiet".into(), "--yes".into()]);
        Self {
            before: is_there.then_some(import).into_iter().collect(),
            choice: vec!["-C".into(), name],
            after: vec![export, destroy],
        }
    }
}

/// Two words of becket's and one that was given.
fn line(words: [&str; 2], given: &OsStr) -> Vec<OsString> {
    words
        .map(OsString::from)
        .into_iter()
        .chain([given.to_owned()])
        .collect()
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

/// The first word that is asked. Options of extensions are among the words, perhaps with a value behind them.
fn first_prompt(words: &[&OsString]) -> Option<usize> {
    let takes_next = |word: &OsStr| is_option(word) && !word.as_encoded_bytes().contains(&b'=');
    let is_value = |at: usize| at > 0 && takes_next(words[at - 1]);
    (0..words.len()).find(|at| !is_option(words[*at]) && !is_value(*at))
}

/// The options that becket has by the same name.
fn same(args: &ForeignArgs) -> Vec<OsString> {
    let mut line = Vec::new();
    for name in SAME {
        for value in args.all(name).filter_map(|values| values.first()) {
            line.push(joined(&format!("{name}="), value));
        }
    }
    let alone = SAME_ALONE.iter().filter(|name| args.has(name));
    line.extend(alone.map(OsString::from));
    line
}

/// The model, and how much it thinks, which may stand behind its name.
fn model(args: &ForeignArgs) -> Vec<OsString> {
    let name = args
        .value("--model")
        .map(|name| name.to_string_lossy().into_owned());
    let (name, behind) = match name.as_deref().and_then(|name| name.rsplit_once(':')) {
        Some((name, level)) if is_level(level) => (Some(name.to_owned()), Some(level.to_owned())),
        _ => (name, None),
    };
    let said = args
        .value("--thinking")
        .map(|level| level.to_string_lossy().into_owned());
    let level = said.or(behind).map(|level| match level.as_str() {
        "max" => "xhigh".to_owned(),
        _ => level,
    });
    let name = name.map(|name| format!("--model={name}").into());
    name.into_iter()
        .chain(level.map(|level| format!("--thinking={level}").into()))
        .collect()
}

fn is_level(word: &str) -> bool {
    matches!(
        word,
        "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max"
    )
}

/// The tools: pi's default ones unless some are chosen.
fn tools(args: &ForeignArgs) -> Vec<OsString> {
    let words = |name| args.value(name).map(|names| names.to_string_lossy().into_owned());
    let mut chosen: Vec<String> = words("--tools").into_iter().collect();
    if args.has("--no-tools") && chosen.is_empty() {
        chosen.push("none".to_owned());
    }
    if args.has("--no-builtin-tools") && chosen.is_empty() {
        chosen.push("-builtin".to_owned());
    }
    let out = words("--exclude-tools").unwrap_or_default();
    let out = out.split(',').map(str::trim).filter(|name| !name.is_empty());
    chosen.extend(out.map(|name| format!("-{name}")));
    match chosen.is_empty() {
        true => vec![
            format!("--tools={PROGRAM}").into(),
            format!("--{DEFAULT_TOOLS}").into(),
        ],
        false => vec![format!("--tools={}", chosen.join(",")).into()],
    }
}

/// Where the conversation is, and how becket speaks. pi begins anew unless it is told to go on.
fn place(args: &ForeignArgs, says_nothing: bool) -> Vec<OsString> {
    let mode = args.value("--mode").map(|mode| joined("--mode=", mode));
    let is_chat = says_nothing && mode.is_none() && !args.has("--print");
    let mut line: Vec<OsString> = Vec::new();
    let is_fork = args.has("--fork");
    if let Some(id) = args.value("--session-id").filter(|_| !is_fork) {
        line.push(joined("--context=", id));
    } else if is_chat {
        let is_named = ["--session", "--no-session", "--continue", "--resume", "--fork"]
            .iter()
            .any(|name| args.has(name));
        line.extend((!is_named).then(|| "--context=new".into()));
    } else if args.has("--continue") {
        line.push("--continue".into());
    }
    if is_chat {
        return line;
    }
    line.push(mode.unwrap_or_else(|| "--mode=text".into()));
    line
}

fn is_option(word: &OsStr) -> bool {
    word.len() > 2 && word.as_encoded_bytes().starts_with(b"--")
}

/// Whether a word names a file whose content is sent: `@FILE`.
fn is_file(word: &OsStr) -> bool {
    word.len() > 1 && word.as_encoded_bytes().starts_with(b"@")
}

/// A file that is sent with the first prompt: its text, or a picture.
struct GivenFile {
    text: String,
    picture: Option<std::path::PathBuf>,
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

fn joined(before: &str, value: &OsStr) -> OsString {
    let mut whole = OsString::from(before);
    whole.push(value);
    whole
}

#[cfg(test)]
mod tests {
    use becket_host::AskedOf;

    use super::*;

    fn said(line: &str) -> Result<String, String> {
        match CLI.read(line.split_whitespace().map(OsString::from))? {
            AskedOf::Runs(runs) => {
                let words = runs.concat();
                let words = words.iter().map(|word| word.to_string_lossy().into_owned());
                Ok(words.collect::<Vec<_>>().join(" "))
            }
            other => Ok(format!("{other:?}")),
        }
    }

    #[test]
    fn what_is_said_to_pi_is_said_to_becket() {
        let table = [
            ("", "--tools=pi --pi-default-tools --context=new"),
            ("-c", "--tools=pi --pi-default-tools"),
            ("hello", "--tools=pi --pi-default-tools --mode=text hello"),
            ("-p a b", "--tools=pi --pi-default-tools --mode=text a b"),
            (
                "-c hello",
                "--tools=pi --pi-default-tools --continue --mode=text hello",
            ),
            (
                "--mode json -p --no-session x",
                "--no-session --tools=pi --pi-default-tools --mode=json x",
            ),
            ("--mode rpc", "--tools=pi --pi-default-tools --mode=rpc"),
            (
                "--provider a --model b:high x",
                "--provider=a --model=b --thinking=high --tools=pi --pi-default-tools --mode=text x",
            ),
            (
                "--model a/b:free --thinking max x",
                "--model=a/b:free --thinking=xhigh --tools=pi --pi-default-tools --mode=text x",
            ),
            ("-t read,bash x", "--tools=read,bash --mode=text x"),
            ("-nt x", "--tools=none --mode=text x"),
            ("-nbt x", "--tools=-builtin --mode=text x"),
            ("-xt bash,edit x", "--tools=-bash,-edit --mode=text x"),
            (
                "-ne -e a.ts --preset p x y",
                "--extension=a.ts --no-extensions --tools=pi --pi-default-tools --mode=text --preset p x y",
            ),
            ("--plan x", "--tools=pi --pi-default-tools --context=new --plan x"),
            (
                "--api-key k --model a/b -nc -a x",
                "--model=a/b --tools=pi --pi-default-tools --api-key=k --no-context-files --trust --mode=text x",
            ),
            (
                "--offline --verbose --session-dir /s --models a,b x",
                "--tools=pi --pi-default-tools --mode=text x",
            ),
            (
                "--session-id s x",
                "--tools=pi --pi-default-tools --context=s --mode=text x",
            ),
            ("-v", "--version"),
            ("--help", "Help"),
        ];
        for (line, expected) in table {
            assert_eq!(said(line).as_deref(), Ok(expected), "pi {line}");
        }
    }

    /// The lines of a command line, with `NAME` for the name that was made up.
    fn lines(line: &str) -> Vec<String> {
        let Ok(AskedOf::Runs(runs)) = CLI.read(line.split_whitespace().map(OsString::from)) else {
            panic!("pi {line}");
        };
        let runs = runs.into_iter().map(|words| {
            let words = words.iter().map(|word| word.to_string_lossy().into_owned());
            words.collect::<Vec<_>>().join(" ")
        });
        let is_made_up = |word: &&str| word.starts_with("pi-1") || word.starts_with("fork-1");
        let runs: Vec<String> = runs.collect();
        let mut words = runs.iter().flat_map(|run| run.split([' ', '=']));
        let name = words.find(is_made_up).unwrap_or("?").to_owned();
        runs.iter().map(|run| run.replace(&name, "NAME")).collect()
    }

    #[test]
    fn conversations_in_files_are_brought_in_and_written_back() {
        let table: [(&str, &[&str]); 6] = [
            (
                "--session no/such.jsonl x",
                &[
                    "-C NAME --tools=pi --pi-default-tools --mode=text x",
                    "sessions export NAME --quiet --output no/such.jsonl",
                    "context destroy NAME --quiet --yes",
                ],
            ),
            (
                "--session 0198 x",
                &["--session=0198 --tools=pi --pi-default-tools --mode=text x"],
            ),
            (
                "--fork a.jsonl x",
                &[
                    "sessions import a.jsonl --quiet --to NAME",
                    "--context=NAME --tools=pi --pi-default-tools --mode=text x",
                ],
            ),
            (
                "--fork 0198 --session-id mine",
                &[
                    "--session=0198 sessions fork --quiet --to mine",
                    "--context=mine --tools=pi --pi-default-tools",
                ],
            ),
            ("--export a.jsonl b.html", &["sessions page a.jsonl -o b.html"]),
            ("--list-models par -e a.ts", &["--extension=a.ts models par"]),
        ];
        for (line, expected) in table {
            assert_eq!(lines(line), expected, "pi {line}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for line in ["--fork x --continue", "-na x", "install npm:x"] {
            assert!(said(line).is_err(), "pi {line}");
        }
    }
}
