//! docker-agent's own command line, `docker-agent run FILE [MESSAGE…]`, in becket's words.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use becket_host::ForeignValue::{self, Attached, One};
use becket_host::Service::{self, Differs, Refused, Served};
use becket_host::{
    AskedOf, BOOLEAN, ForeignArgs, ForeignCli, ForeignOption, OwnLine, OwnOption, foreign_option as option,
};

use crate::run_options::{CONFIG_DIR, SAFETY, WORKING_DIR, WORKTREE, WORKTREE_BASE};

/// docker-agent's command line.
pub static CLI: ForeignCli = ForeignCli {
    name: "docker-agent",
    // Its name until it became a plugin of Docker's.
    aliases: &["cagent"],
    about: "Run an agent file with docker-agent's own options",
    version: None,
    options: OPTIONS,
    keeps_unknown: false,
    translate,
};

const NONE: ForeignValue = ForeignValue::None;
const NO_CONTAINER: Service = Refused(
    "becket starts no container; run it in one, or confine the model's commands by `sandbox.shell` in its settings",
);
const NEEDS_NO_CONTAINER: Service = Differs(
    "nothing: becket starts no container; `sandbox.shell` in its settings confines the model's commands",
);
const NO_SCREEN: Service = Differs("nothing: becket's chat has its own look");
const NO_LOG: Service = Differs("nothing: `becket trace` shows what happened");

/// The options of `docker-agent run`.
// tidy: a table
const OPTIONS: &[ForeignOption] = &[
    option(
        &["-a", "--agent"],
        One("NAME"),
        Served("The agent of the file to talk to."),
    ),
    option(
        &["--yolo"],
        NONE,
        Differs("Answers yes to every question. Guards, hooks and deny rules still apply."),
    ),
    option(
        &["--safety"],
        One("MODE"),
        Differs(
            "`strict` asks about every call, `restricted` refuses calls that need approval, `autonomous` is `--yolo`, \
             and `balanced` is becket's default: what only reads runs. The stricter of this and the file's applies.",
        ),
    ),
    option(
        &["--exec"],
        NONE,
        Differs(
            "Answers once and exits, as becket always does with a message. Without one, the message is read from a \
             pipe.",
        ),
    ),
    option(
        &["--json"],
        NONE,
        Differs("Prints becket's events, one JSON object per line."),
    ),
    option(
        &["--session"],
        One("ID"),
        Differs(
            "Continues that session; `-1` means the current context. Without it a new conversation starts.",
        ),
    ),
    option(
        &["--working-dir"],
        One("DIR"),
        Served("The directory in which the agent works."),
    ),
    option(
        &["-w", "--worktree"],
        Attached("NAME"),
        Served(
            "Runs in a new git worktree, after the hooks of `worktree_create`. The worktree stays after the run.",
        ),
    ),
    option(
        &["--worktree-base"],
        One("REF"),
        Differs("The commit that the worktree starts from. Nothing is fetched first."),
    ),
    option(
        &["--worktree-pr"],
        One("PR"),
        Refused("pull requests are not fetched; check it out and pass `--worktree-base`"),
    ),
    option(
        &["--config-dir"],
        One("DIR"),
        Served("docker-agent's configuration folder."),
    ),
    option(
        &["--model"],
        One("MODEL"),
        Differs("The model of all agents, as `provider/model`; not of a single one (`agent=…`)."),
    ),
    option(
        &["-c", "--command"],
        One("NAME"),
        Served("A command of the agent, followed by the message."),
    ),
    option(
        &["--attach"],
        One("FILE"),
        Differs("An image to send with the message, or a file whose text is added to it."),
    ),
    option(
        &["--prompt-file"],
        One("FILE"),
        Served("Adds the file's text to the message."),
    ),
    option(
        &["--on-event"],
        One("TYPE=COMMAND"),
        Served("A command for each runtime event."),
    ),
    option(&["--hook-pre-tool-use"], One("COMMAND"), Served("A hook.")),
    option(&["--hook-post-tool-use"], One("COMMAND"), Served("A hook.")),
    option(&["--hook-session-start"], One("COMMAND"), Served("A hook.")),
    option(&["--hook-session-end"], One("COMMAND"), Served("A hook.")),
    option(&["--hook-on-user-input"], One("COMMAND"), Served("A hook.")),
    option(&["--hook-stop"], One("COMMAND"), Served("A hook.")),
    option(
        &["-o", "--otel"],
        NONE,
        Served("Sends the spans of the run to a collector."),
    ),
    option(&["--hide-tool-results"], NONE, NO_SCREEN),
    option(&["--hide-tool-calls"], NONE, NO_SCREEN),
    option(&["--lean"], NONE, NO_SCREEN),
    option(&["--force-tui"], NONE, NO_SCREEN),
    option(&["--sidebar"], Attached(BOOLEAN), NO_SCREEN),
    option(&["--theme"], One("NAME"), NO_SCREEN),
    option(&["--app-name"], One("NAME"), NO_SCREEN),
    option(&["--tour"], NONE, NO_SCREEN),
    option(
        &["--exit-after-response"],
        NONE,
        Differs("nothing: becket answers a message once and exits anyway"),
    ),
    option(&["-d", "--debug"], NONE, NO_LOG),
    option(&["--log-file"], One("FILE"), NO_LOG),
    option(
        &["-s", "--session-db"],
        One("FILE"),
        Differs("nothing: conversations are kept in becket's own store"),
    ),
    option(
        &["--data-dir"],
        One("DIR"),
        Differs("nothing: becket has its own data folder"),
    ),
    option(
        &["--cache-dir"],
        One("DIR"),
        Differs("nothing: becket has its own cache"),
    ),
    option(
        &["--code-mode-tools"],
        NONE,
        Differs("nothing: tools are called one by one"),
    ),
    option(&["--sandbox"], Attached(BOOLEAN), NO_CONTAINER),
    option(&["--template"], One("IMAGE"), NO_CONTAINER),
    option(&["--sbx"], Attached(BOOLEAN), NEEDS_NO_CONTAINER),
    option(&["--no-kit"], NONE, NEEDS_NO_CONTAINER),
    option(
        &["--session-read-only"],
        NONE,
        Refused("`becket context show` shows a conversation without continuing it"),
    ),
    option(
        &["--disable-commands"],
        One("NAMES"),
        Refused("becket's own commands cannot be disabled"),
    ),
    option(
        &["--flavor"],
        One("NAME"),
        Refused("write the variant into the file itself"),
    ),
    option(&["--remote"], One("ADDRESS"), Refused("agents run here")),
    option(
        &["--listen"],
        One("ADDRESS"),
        Refused("becket has no server mode for runs"),
    ),
    option(
        &["--models-gateway"],
        One("ADDRESS"),
        Refused("set `base_url` of a provider in the file or in the settings"),
    ),
    option(
        &["--env-from-file"],
        One("FILE"),
        Refused("set the variables before becket starts"),
    ),
    option(
        &["--dry-run"],
        NONE,
        Differs("Says whether becket can run the file, as `becket doctor --files` does, and runs nothing."),
    ),
    option(
        &["--fake"],
        One("FILE"),
        Refused("cassettes are not played; `--model scripted/FILE` plays becket's own format"),
    ),
    option(
        &["--fake-stream"],
        Attached("MS"),
        Refused("cassettes are not played"),
    ),
    option(
        &["--record"],
        Attached("FILE"),
        Refused("cassettes are not recorded"),
    ),
    option(
        &["--agent-picker"],
        Attached("AGENTS"),
        Refused("name the agent file"),
    ),
    option(
        &["--mcp-oauth-redirect-uri"],
        One("URL"),
        Refused("servers get keys by their `headers`"),
    ),
];

/// Options that becket has under the same name.
const SAME: &[&str] = &[
    "--agent",
    "--on-event",
    "--hook-pre-tool-use",
    "--hook-post-tool-use",
    "--hook-session-start",
    "--hook-session-end",
    "--hook-on-user-input",
    "--hook-stop",
];

fn translate(args: &ForeignArgs) -> Result<AskedOf, String> {
    let (file, messages) = match args.words.as_slice() {
        [command] if command == "version" => return Ok(AskedOf::Version),
        [command, file, messages @ ..] if command == "run" || command == "exec" => (file, messages),
        [command] if command == "run" || command == "exec" => {
            let why = "becket does not look for one, because naming it trusts its hooks";
            return Err(format!(
                "name an agent file, as in `docker-agent run agent.yaml`; {why}"
            ));
        }
        [other, ..] => {
            return Err(format!(
                "becket supports only `run`, not `{}`",
                other.to_string_lossy()
            ));
        }
        [] => return Err("name a command and an agent file, as in `docker-agent run agent.yaml`".to_owned()),
    };
    let file = absolute(file)?;
    if args.has("--dry-run") {
        let survey = OwnLine::command(&["doctor"]).option(OwnOption::with("files", file));
        return Ok(AskedOf::Runs(vec![survey].into()));
    }
    let mut command_options = Vec::new();
    for name in SAME {
        let values = args.all(name).flatten();
        command_options.extend(values.map(|value| OwnOption::with(name.trim_start_matches('-'), value)));
    }
    command_options.extend(chosen(args)?);
    let messages = messages_of(args, messages)?;
    if !messages.is_empty() {
        // docker-agent reads standard input only for the message `-`.
        command_options.push(OwnOption::alone("no-stdin"));
    }
    let run = OwnLine {
        options: conversation(args, messages.len()).into_iter().collect(),
        command_options,
        ..OwnLine::command(&["run"])
    };
    let asking = |message: Option<&OsString>| run.clone().about([&file]).about(message);
    let lines: Vec<OwnLine> = match messages.is_empty() {
        true => vec![asking(None)],
        false => messages.iter().map(|message| asking(Some(message))).collect(),
    };
    Ok(AskedOf::Runs(lines.into()))
}

/// The options that becket has under other names.
fn chosen(args: &ForeignArgs) -> Result<Vec<OwnOption>, String> {
    let mut line = Vec::new();
    let safety = args
        .value("--safety")
        .map(|mode| mode.to_string_lossy().into_owned());
    match safety.as_deref() {
        Some(mode @ ("strict" | "restricted")) => line.push(OwnOption::with(SAFETY, mode)),
        None | Some("balanced" | "autonomous") => {}
        Some(other) => {
            return Err(format!(
                "there is no safety mode `{other}`; there are strict, balanced, restricted and autonomous"
            ));
        }
    }
    if args.has("--yolo") || safety.as_deref() == Some("autonomous") {
        line.push(OwnOption::alone("yes"));
    }
    for (theirs, own) in [("--json", "json"), ("--otel", "otel")] {
        line.extend(args.has(theirs).then(|| OwnOption::alone(own)));
    }
    for (theirs, ours) in [("--working-dir", WORKING_DIR), ("--config-dir", CONFIG_DIR)] {
        if let Some(folder) = args.value(theirs) {
            line.push(OwnOption::with(ours, absolute(folder)?));
        }
    }
    if args.has("--worktree") {
        let name = args.value("--worktree").unwrap_or(OsStr::new("auto"));
        line.push(OwnOption::with(WORKTREE, name));
    }
    if let Some(base) = args.value("--worktree-base") {
        line.push(OwnOption::with(WORKTREE_BASE, base));
    }
    if let Some(model) = args.value("--model") {
        if model.to_string_lossy().contains('=') {
            return Err(
                "--model: becket has one model for all agents; write it as `provider/model`".to_owned(),
            );
        }
        line.push(OwnOption::with("model", model));
    }
    for picture in args.all("--attach").flatten().filter(|file| is_picture(file)) {
        line.push(OwnOption::with("image", absolute(picture)?));
    }
    Ok(line)
}

/// Where the messages go: into a session that is named, else all into one new conversation. None of them changes which
/// conversation is the project's current one.
fn conversation(args: &ForeignArgs, count: usize) -> Option<OwnOption> {
    match args.value("--session") {
        Some(id) if id == "-1" => None,
        Some(id) => Some(OwnOption::with("session", id)),
        None if count > 1 => Some(OwnOption::with("transient", fresh_name())),
        None => Some(OwnOption::with("transient", "new")),
    }
}

/// A name that no other context has: several lines mean the same one.
fn fresh_name() -> OsString {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let moment = now.map_or(0, |now| now.as_millis());
    format!("docker-agent-{moment}-{}", std::process::id()).into()
}

/// The messages, with the command and the files that belong to the first.
fn messages_of(args: &ForeignArgs, words: &[OsString]) -> Result<Vec<OsString>, String> {
    let mut messages = words.to_vec();
    let mut first = messages.first().cloned().unwrap_or_default();
    if let Some(command) = args.value("--command") {
        let mut called = OsString::from("/");
        called.push(command);
        if !first.is_empty() {
            called.push(" ");
            called.push(&first);
        }
        first = called;
    }
    for file in args.all("--prompt-file").flatten() {
        let text = becket_fs::read_to_string(Path::new(file))
            .map_err(|error| format!("--prompt-file {}: {error}", file.to_string_lossy()))?;
        if !first.is_empty() {
            first.push("\n\n");
        }
        first.push(text);
    }
    for file in args.all("--attach").flatten().filter(|file| !is_picture(file)) {
        let name = file.to_string_lossy();
        let text = becket_fs::read_to_string(Path::new(file))
            .map_err(|error| format!("--attach {name}: {error}"))?;
        first.push(format!("\n\n<file name=\"{name}\">\n{text}\n</file>"));
    }
    if first.is_empty() && args.has("--exec") && messages.is_empty() {
        first = "-".into();
    }
    match messages.first_mut() {
        Some(message) => *message = first,
        None if !first.is_empty() => messages.push(first),
        None => {}
    }
    Ok(messages)
}

/// Whether a file is a picture, by its name.
fn is_picture(file: &OsStr) -> bool {
    let ending = Path::new(file)
        .extension()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    ["png", "jpg", "jpeg", "gif", "webp"].contains(&ending.to_lowercase().as_str())
}

/// A path as seen from the directory in which the program was started: the run may work elsewhere.
fn absolute(path: &OsStr) -> Result<OsString, String> {
    std::path::absolute(path)
        .map(Into::into)
        .map_err(|error| format!("{}: {error}", path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_host::AskedOf;

    fn read(line: &str) -> Result<String, String> {
        match CLI.read(line.split_whitespace().map(OsString::from))? {
            AskedOf::Runs(lines) => {
                let lines = lines
                    .all()
                    .map(|line| line.words().join(OsStr::new(" ")).into_string().unwrap());
                let lines: Vec<String> = lines.collect();
                let words = lines.join(" ");
                let mut words = words.split([' ', '=']);
                let made_up = words.find(|word| word.starts_with("docker-agent-"));
                let made_up = made_up.unwrap_or("?").to_owned();
                let here = std::path::absolute("x").unwrap().with_file_name("");
                let lines = lines.join("; ").replace(&here.display().to_string(), "HERE/");
                Ok(lines.replace(&made_up, "NAME"))
            }
            other => Ok(format!("{other:?}")),
        }
    }

    #[test]
    fn command_lines_are_told_in_beckets_words() {
        let new = "--transient=new";
        let table = [
            ("run a.yaml", format!("{new} run -- HERE/a.yaml")),
            ("run a.yaml hi", format!("{new} run --no-stdin -- HERE/a.yaml hi")),
            (
                "run --exec --yolo -a bob a.yaml hi",
                format!("{new} run --agent=bob --yes --no-stdin -- HERE/a.yaml hi"),
            ),
            (
                "run a.yaml one two",
                "--transient=NAME run --no-stdin -- HERE/a.yaml one; --transient=NAME run --no-stdin -- HERE/a.yaml two".into(),
            ),
            ("run a.yaml --session -1 hi", "run --no-stdin -- HERE/a.yaml hi".into()),
            (
                "run a.yaml --session=abc hi",
                "--session=abc run --no-stdin -- HERE/a.yaml hi".into(),
            ),
            (
                "run a.yaml --safety strict hi",
                format!("{new} run --safety=strict --no-stdin -- HERE/a.yaml hi"),
            ),
            (
                "run a.yaml --safety autonomous hi",
                format!("{new} run --yes --no-stdin -- HERE/a.yaml hi"),
            ),
            (
                "run a.yaml -c demo now",
                format!("{new} run --no-stdin -- HERE/a.yaml /demo now"),
            ),
            ("run a.yaml --exec", format!("{new} run --no-stdin -- HERE/a.yaml -")),
            ("version", "Version".into()),
            ("run a.yaml --dry-run", "doctor --files=HERE/a.yaml".into()),
            (
                "run a.yaml --sandbox=false --sidebar=true hi",
                format!("{new} run --no-stdin -- HERE/a.yaml hi"),
            ),
            (
                "run a.yaml --working-dir d --config-dir c -w=x hi",
                format!(
                    "{new} run --working-dir=HERE/d --docker-agent-config-dir=HERE/c --worktree=x --no-stdin -- HERE/a.yaml hi"
                ),
            ),
        ];
        for (line, expected) in table {
            assert_eq!(read(line).as_deref(), Ok(expected.as_str()), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_told() {
        let table = [
            ("", "name a command"),
            ("run", "name an agent file"),
            ("serve api a.yaml", "becket supports only `run`, not `serve`"),
            ("run a.yaml --sandbox", "--sandbox: becket starts no container"),
            ("run a.yaml --safety lax", "there is no safety mode `lax`"),
            ("run a.yaml --model bob=x/y", "--model: becket has one model"),
            ("run a.yaml --nonsense", "docker-agent has no option --nonsense"),
        ];
        for (line, expected) in table {
            let error = read(line).expect_err(line);
            assert!(error.starts_with(expected), "{line}: {error}");
        }
    }
}
