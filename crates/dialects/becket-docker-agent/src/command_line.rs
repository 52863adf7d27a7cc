//! docker-agent's own command line, `docker-agent run FILE [MESSAGE…]`, in becket's words.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use becket_host::ForeignValue::{self, Attached, One};
use becket_host::Service::{self, Differs, Refused, Served};
use becket_host::{AskedOf, ForeignArgs, ForeignCli, ForeignOption, OwnLine, foreign_option as option};

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
const NO_SANDBOX: Service = Refused("becket has no sandbox; run it in a container");
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
            "`strict` asks about every call, `restricted` refuses what would need approval, `autonomous` is `--yolo`, \
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
        Differs("An image to send with the message; other files are not sent."),
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
    option(&["--sidebar"], Attached("BOOL"), NO_SCREEN),
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
    option(&["--sandbox"], Attached("BOOL"), NO_SANDBOX),
    option(&["--template"], One("IMAGE"), NO_SANDBOX),
    option(
        &["--sbx"],
        Attached("BOOL"),
        Differs("nothing: becket has no sandbox"),
    ),
    option(&["--no-kit"], NONE, Differs("nothing: becket has no sandbox")),
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
        Refused("`becket doctor --files` says whether a file runs"),
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
    let mut command = vec![OsString::from("run"), absolute(file)?];
    for name in SAME {
        for values in args.all(name) {
            command.push(name.into());
            command.extend_from_slice(values);
        }
    }
    command.extend(chosen(args)?);
    let messages = messages_of(args, messages)?;
    if !messages.is_empty() {
        // docker-agent reads standard input only for the message `-`.
        command.push("--no-stdin".into());
    }
    let options = conversation(args, messages.len());
    let asking = |message: Option<&OsString>| OwnLine {
        options: options.clone(),
        prompts: message.into_iter().cloned().collect(),
        ..OwnLine::command(command.clone())
    };
    let lines: Vec<OwnLine> = match messages.is_empty() {
        true => vec![asking(None)],
        false => messages.iter().map(|message| asking(Some(message))).collect(),
    };
    Ok(AskedOf::Runs(lines.into()))
}

/// The options that becket has under other names.
fn chosen(args: &ForeignArgs) -> Result<Vec<OsString>, String> {
    let mut line: Vec<OsString> = Vec::new();
    let safety = args
        .value("--safety")
        .map(|mode| mode.to_string_lossy().into_owned());
    match safety.as_deref() {
        Some("strict" | "restricted") => {
            line.extend([flag(SAFETY), safety.clone().unwrap_or_default().into()])
        }
        None | Some("balanced" | "autonomous") => {}
        Some(other) => {
            return Err(format!(
                "there is no safety mode `{other}`; there are strict, balanced, restricted and autonomous"
            ));
        }
    }
    if args.has("--yolo") || safety.as_deref() == Some("autonomous") {
        line.push("--yes".into());
    }
    for name in ["--json", "--otel"].into_iter().filter(|name| args.has(name)) {
        line.push(name.into());
    }
    for (theirs, ours) in [("--working-dir", WORKING_DIR), ("--config-dir", CONFIG_DIR)] {
        if let Some(folder) = args.value(theirs) {
            line.extend([flag(ours), absolute(folder)?]);
        }
    }
    if args.has("--worktree") {
        let name = args.value("--worktree").unwrap_or(OsStr::new("auto"));
        line.extend([flag(WORKTREE), name.to_owned()]);
    }
    if let Some(base) = args.value("--worktree-base") {
        line.extend([flag(WORKTREE_BASE), base.to_owned()]);
    }
    if let Some(model) = args.value("--model") {
        if model.to_string_lossy().contains('=') {
            return Err(
                "--model: becket has one model for all agents; write it as `provider/model`".to_owned(),
            );
        }
        line.extend(["--model".into(), model.to_owned()]);
    }
    for picture in args.all("--attach").flatten() {
        line.extend(["--image".into(), absolute(picture)?]);
    }
    Ok(line)
}

fn flag(name: &str) -> OsString {
    format!("--{name}").into()
}

/// Where the messages go: into a session that is named, else all into one new conversation. None of them changes which
/// conversation is the project's current one.
fn conversation(args: &ForeignArgs, count: usize) -> Vec<OsString> {
    match args.value("--session") {
        Some(id) if id == "-1" => Vec::new(),
        Some(id) => vec!["--session".into(), id.to_owned()],
        None if count > 1 => vec!["--transient".into(), fresh_name()],
        None => vec!["--transient".into(), "new".into()],
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
                let made_up = lines.all().flat_map(|line| &line.options);
                let made_up = made_up.map(|word| word.to_string_lossy());
                let made_up = made_up.into_iter().find(|word| word.starts_with("docker-agent-"));
                let made_up = made_up.map_or("?".to_owned(), |name| name.into_owned());
                let lines = lines
                    .all()
                    .map(|line| line.words().join(OsStr::new(" ")).into_string().unwrap());
                let lines: Vec<String> = lines.collect();
                let here = std::path::absolute("x").unwrap().with_file_name("");
                let lines = lines.join("; ").replace(&here.display().to_string(), "HERE/");
                Ok(lines.replace(&made_up, "NAME"))
            }
            other => Ok(format!("{other:?}")),
        }
    }

    #[test]
    fn command_lines_are_told_in_beckets_words() {
        let new = "--transient new";
        let table = [
            ("run a.yaml", format!("{new} run HERE/a.yaml")),
            ("run a.yaml hi", format!("{new} run HERE/a.yaml --no-stdin -- hi")),
            (
                "run --exec --yolo -a bob a.yaml hi",
                format!("{new} run HERE/a.yaml --agent bob --yes --no-stdin -- hi"),
            ),
            (
                "run a.yaml one two",
                "--transient NAME run HERE/a.yaml --no-stdin -- one; --transient NAME run HERE/a.yaml --no-stdin -- two".into(),
            ),
            ("run a.yaml --session -1 hi", "run HERE/a.yaml --no-stdin -- hi".into()),
            (
                "run a.yaml --session=abc hi",
                "--session abc run HERE/a.yaml --no-stdin -- hi".into(),
            ),
            (
                "run a.yaml --safety strict hi",
                format!("{new} run HERE/a.yaml --safety strict --no-stdin -- hi"),
            ),
            (
                "run a.yaml --safety autonomous hi",
                format!("{new} run HERE/a.yaml --yes --no-stdin -- hi"),
            ),
            (
                "run a.yaml -c demo now",
                format!("{new} run HERE/a.yaml --no-stdin -- /demo now"),
            ),
            ("run a.yaml --exec", format!("{new} run HERE/a.yaml --no-stdin -- -")),
            ("version", "Version".into()),
            (
                "run a.yaml --working-dir d --config-dir c -w=x hi",
                format!(
                    "{new} run HERE/a.yaml --working-dir HERE/d --docker-agent-config-dir HERE/c --worktree x --no-stdin -- hi"
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
            ("run a.yaml --sandbox", "--sandbox: becket has no sandbox"),
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
