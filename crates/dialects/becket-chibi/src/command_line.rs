//! chibi's own command line, in becket's words.
//!
//! Of one command line, what prepares the context comes first, then what was asked about it, then the prompt. Options
//! that print something, or are about other contexts, send no prompt unless `-X` is given, as in chibi.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use becket_host::{
    AskedOf, ForeignArgs, ForeignCli, ForeignOption, ForeignValue, OwnLine, OwnOption, Service,
    foreign_option as option,
};
use chrono::{DateTime, Local};
use serde_json::json;

use crate::home::{HOME_OPTION, ROOT_OPTION, SETTING_OPTION};
use crate::local_settings::model_named;

use ForeignValue::{None as NoValue, One, Rest, Two};
use Service::{Differs, Served};

/// chibi's command line.
pub static CLI: ForeignCli = ForeignCli {
    name: "chibi",
    aliases: &[],
    about: "Run becket with chibi's own options",
    version: None,
    options: OPTIONS,
    keeps_unknown: false,
    translate,
};

const SWITCH: &str = "--switch-context";
const EPHEMERAL: &str = "--ephemeral-context";
const PROMPT: &str = "--set-current-system-prompt";
const PROMPT_OF: &str = "--set-system-prompt";
const TRUST: &str = "--trust";
const CALL_USER: &str = "--force-call-user";
const CALL_AGENT: &str = "--force-call-agent";

/// All options. Names of earlier versions stand before the current one.
// tidy: a table
const OPTIONS: &[ForeignOption] = &[
    option(
        &["PROMPT"],
        Rest,
        Served("The prompt; default: stdin, or a chat at a terminal."),
    ),
    option(
        &["-c", SWITCH],
        One("NAME"),
        Differs("The context stays current in this project; chibi has one current context for all."),
    ),
    option(
        &["-C", "-S", "--sub-context", "--transient-context", EPHEMERAL],
        One("NAME"),
        Served("The context for this run only."),
    ),
    option(
        &["-l", "--list-current-context"],
        NoValue,
        Served("Shows the current context."),
    ),
    option(&["-L", "--list-contexts"], NoValue, Served("Lists the contexts.")),
    option(
        &["-d", "--delete-current-context", "--destroy-current-context"],
        NoValue,
        Served("Destroys the current context; asks first."),
    ),
    option(
        &["-D", "--delete-context", "--destroy-context"],
        One("CTX"),
        Served("Destroys a context; asks first."),
    ),
    option(
        &["-a", "--archive-current-history"],
        NoValue,
        Served("Archives the conversation."),
    ),
    option(
        &["-A", "--archive-history"],
        One("CTX"),
        Differs("Archives a conversation; hooks run, which they do not in chibi."),
    ),
    option(
        &["-z", "--compact-current-context"],
        NoValue,
        Served("Replaces the conversation by a summary."),
    ),
    option(
        &["-Z", "--compact-context"],
        One("CTX"),
        Differs("The model writes the summary; in chibi it does not."),
    ),
    option(
        &["-r", "--rename-current-context"],
        One("NEW"),
        Served("Renames the current context."),
    ),
    option(
        &["-R", "--rename-context"],
        Two("OLD", "NEW"),
        Served("Renames a context."),
    ),
    option(
        &["-g", "--show-current-log"],
        One("N"),
        Served("Shows the last entries, or with a negative N the first ones."),
    ),
    option(
        &["-G", "--show-log"],
        Two("CTX", "N"),
        Served("Shows the last entries of a context, or the first ones."),
    ),
    option(&["-n", "--inspect-current"], One("THING"), Differs(INSPECTS)),
    option(&["-N", "--inspect"], Two("CTX", "THING"), Differs(INSPECTS)),
    option(
        &["-y", "-e", "--set-prompt", PROMPT],
        One("PROMPT"),
        Served("Sets the context's system prompt: a text, or a file with it."),
    ),
    option(
        &["-Y", PROMPT_OF],
        Two("CTX", "PROMPT"),
        Served("Sets the system prompt of a context."),
    ),
    option(
        &["-u", "--username", "--set-username"],
        One("NAME"),
        Served("Sets the user's name in the context."),
    ),
    option(
        &[
            "-U",
            "--temp-username",
            "--transient-username",
            "--ephemeral-username",
        ],
        One("NAME"),
        Served("The user's name for this run."),
    ),
    option(
        &["-p", "--plugin"],
        Two("NAME", "ARGS"),
        Differs("Runs a plugin; hooks and rules judge the call."),
    ),
    option(
        &["-P", "--call-tool"],
        Two("TOOL", "JSON"),
        Differs("Calls a tool; hooks and rules judge the call."),
    ),
    option(&["--model-metadata"], One("MODEL"), Differs(ABOUT_MODELS)),
    option(&["--model-metadata-full"], One("MODEL"), Differs(ABOUT_MODELS)),
    option(
        &["-m", "--set-model"],
        One("MODEL"),
        Differs("Sets the context's model; becket does not check whether it exists."),
    ),
    option(
        &["-M", "--set-model-for-context"],
        Two("CTX", "MODEL"),
        Differs("Sets a context's model; becket does not check whether it exists."),
    ),
    option(
        &["-b", "--check-all-inboxes"],
        NoValue,
        Served("Runs every context that has unread messages."),
    ),
    option(
        &["-B", "--check-inbox-for"],
        One("CTX"),
        Served("Runs a context if it has unread messages."),
    ),
    option(
        &["--flock-create"],
        One("NAME"),
        Served("Creates a flock and adds the current context to it."),
    ),
    option(
        &["--flock-delete"],
        One("NAME"),
        Served("Removes a flock from the list."),
    ),
    option(
        &["--flock-join"],
        Two("CTX", "FLOCK"),
        Served("Adds a context to a flock."),
    ),
    option(
        &["--flock-leave"],
        Two("CTX", "FLOCK"),
        Served("Removes a context from a flock."),
    ),
    option(&["--flock-list"], NoValue, Served("Lists the flocks.")),
    option(
        &["--clear-cache"],
        NoValue,
        Served("Removes cached outputs of the current context."),
    ),
    option(
        &["--clear-cache-for"],
        One("CTX"),
        Served("Removes cached outputs of a context."),
    ),
    option(
        &["--cleanup-cache"],
        NoValue,
        Served("Removes old cached outputs."),
    ),
    option(
        &["-t", TRUST],
        NoValue,
        Differs("Answers yes to every question; guards and deny rules still apply."),
    ),
    option(
        &["-x", "--no-chibi", CALL_USER],
        NoValue,
        Served("Sends no prompt."),
    ),
    option(
        &["-X", "--force-chibi", CALL_AGENT],
        NoValue,
        Served("Sends the prompt even after an option that prints something."),
    ),
    option(
        &["-s", "--set"],
        One("KEY=VALUE"),
        Served("A setting for this run, as in config.toml."),
    ),
    option(
        &["--no-tool-calls"],
        NoValue,
        Served("Offers the model no tools."),
    ),
    option(
        &["--destroy-at"],
        One("TIMESTAMP"),
        Served("Destroys the context at that time."),
    ),
    option(
        &["--destroy-after-inactive"],
        One("SECS"),
        Served("Destroys the context when it has not been used for that long."),
    ),
    option(&["--home"], One("PATH"), Served("The chibi home.")),
    option(
        &["--project-root"],
        One("PATH"),
        Differs("becket's working directory; chibi keeps it apart from the project's."),
    ),
    option(
        &["-v", "--verbose"],
        NoValue,
        Differs("Nothing: `becket trace` shows what happened."),
    ),
    option(
        &["--hide-tool-calls"],
        NoValue,
        Differs("Nothing: tool calls are always shown on stderr."),
    ),
    option(
        &["--show-thinking"],
        NoValue,
        Differs("Nothing: the model's thoughts are not shown."),
    ),
    option(
        &["--raw"],
        NoValue,
        Differs("Nothing: in a pipe the answer is plain text anyway."),
    ),
    option(
        &["--debug"],
        One("KEY"),
        Differs("Nothing: `becket trace` shows what was sent."),
    ),
];

const INSPECTS: &str = "`system_prompt` is shown by itself, anything else as part of the context's details or of the \
    configuration.";
const ABOUT_MODELS: &str = "Prints what becket knows about a model, as JSON; it asks no registry.";

/// Translates a command line of chibi into those of becket.
fn translate(args: &ForeignArgs) -> Result<AskedOf, String> {
    if args.has(CALL_USER) && !args.words.is_empty() {
        return Err("-x (force-call-user) is incompatible with a prompt".into());
    }
    let (settings, actions) = (changes(args), actions(args)?);
    let prints = actions.iter().any(|action| !action.goes_with_prompt);
    let is_asked = match (args.has(CALL_USER), args.has(CALL_AGENT), args.words.is_empty()) {
        (true, false, _) => false,
        (_, true, false) => true,
        (.., false) => !prints,
        // Without words, the prompt is on standard input.
        (.., true) => settings.is_empty() && actions.is_empty(),
    };
    let mut lines: Vec<Line> = settings.into_iter().chain(actions).collect();
    if is_asked {
        lines.push(prompt(args));
    }
    Ok(AskedOf::Runs(in_context(args, lines).into()))
}

/// One of becket's command lines.
struct Line {
    own: OwnLine,
    /// Whether the line is about the chosen context, and not about one that it names, or none.
    is_in_context: bool,
    /// Whether a prompt may follow.
    goes_with_prompt: bool,
}

impl Line {
    /// A line about the chosen context.
    fn here(command: &[&'static str]) -> Self {
        Self {
            own: OwnLine::command(command),
            is_in_context: true,
            goes_with_prompt: true,
        }
    }

    /// A line about something that it names, after which no prompt is sent.
    fn elsewhere(command: &[&'static str]) -> Self {
        Self {
            is_in_context: false,
            ..Self::here(command).printing()
        }
    }

    /// A line after which no prompt is sent.
    fn printing(mut self) -> Self {
        self.goes_with_prompt = false;
        self
    }

    /// The same line about these names and texts.
    fn about<T: Into<OsString>>(mut self, values: impl IntoIterator<Item = T>) -> Self {
        self.own = self.own.about(values);
        self
    }

    /// The same line with an option of its command.
    fn option(mut self, option: OwnOption) -> Self {
        self.own = self.own.option(option);
        self
    }

    /// The same line with an option that stands before its command.
    fn with(mut self, option: OwnOption) -> Self {
        self.own.options.push(option);
        self
    }
}

/// chibi's tools, which a call or a prompt has.
fn own_tools() -> OwnOption {
    OwnOption::with("tools", "chibi")
}

/// Changes of the context that last, before anything else happens in it.
fn changes(args: &ForeignArgs) -> Vec<Line> {
    let set = |key: OsString, value: OsString| Line::here(&["context", "set"]).about([key, value]);
    let mut lines = Vec::new();
    if let Some(text) = args.value(PROMPT) {
        lines.push(Line::here(&["context", "prompt"]).option(text_or_file(text)));
    }
    if let Some(name) = args.value("--set-username") {
        lines.push(set("username".into(), name.to_owned()));
    }
    if let Some(model) = args.value("--set-model") {
        lines.push(set("model".into(), whole_model(model)));
    }
    for (name, key, unit) in [
        ("--destroy-at", "destroy_at", ""),
        ("--destroy-after-inactive", "destroy_after_inactive", "s"),
    ] {
        if let Some(value) = args.value(name) {
            let value = format!("{}{unit}", value.to_string_lossy());
            lines.push(set(key.into(), value.into()));
        }
    }
    lines
}

/// What is to be done besides the prompt.
fn actions(args: &ForeignArgs) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (name, command, prints) in [
        ("--archive-current-history", &["context", "clear"][..], false),
        ("--compact-current-context", &["compact"], false),
        ("--clear-cache", &["cache", "clear", "--here"], true),
        ("--list-current-context", &["context", "show"], true),
        ("--destroy-current-context", &["context", "destroy"], true),
    ] {
        if args.has(name) {
            let line = Line::here(command);
            lines.push(if prints { line.printing() } else { line });
        }
    }
    if let Some(new) = args.value("--rename-current-context") {
        lines.push(Line::here(&["context", "rename"]).about([new]));
    }
    for (name, command) in [
        ("--list-contexts", &["contexts"][..]),
        ("--flock-list", &["flock", "list"]),
        ("--cleanup-cache", &["cache", "clean"]),
        ("--check-all-inboxes", &["inbox"]),
    ] {
        if args.has(name) {
            lines.push(Line::elsewhere(command));
        }
    }
    lines.extend(about_named(args));
    lines.extend(about_pairs(args)?);
    lines.extend(shown(args)?);
    lines.extend(calls(args)?);
    if args.has(TRUST) {
        for line in &mut lines {
            line.own.options.insert(0, OwnOption::alone("yes"));
        }
    }
    Ok(lines)
}

/// What is asked about the context or the flock that an option names.
fn about_named(args: &ForeignArgs) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, command) in [
        ("--destroy-context", &["context", "destroy"][..]),
        ("--archive-history", &["context", "clear"]),
        ("--compact-context", &["compact"]),
        ("--check-inbox-for", &["inbox"]),
        ("--clear-cache-for", &["cache", "clear"]),
        ("--flock-delete", &["flock", "delete"]),
    ] {
        if let Some(value) = args.value(name) {
            lines.push(Line::elsewhere(command).about([value]));
        }
    }
    if let Some(flock) = args.value("--flock-create") {
        lines.push(Line::here(&["flock", "join"]).about([flock]).printing());
    }
    lines
}

/// What is asked about a context by an option that names it and something else.
fn about_pairs(args: &ForeignArgs) -> Result<Vec<Line>, String> {
    let made = |context: &OsString| Line::elsewhere(&["context", "create", "--if-new"]).about([context]);
    let mut lines = Vec::new();
    if let Some([old, new]) = pair(args, "--rename-context") {
        lines.push(Line::elsewhere(&["context", "rename"]).about([old, new]));
    }
    if let Some([context, count]) = pair(args, "--show-log") {
        let log = Line::elsewhere(&["context", "log"]).about([context]);
        lines.push(entries(count)?.into_iter().fold(log, Line::option));
    }
    if let Some([context, text]) = pair(args, PROMPT_OF) {
        let prompt = Line::elsewhere(&["context", "prompt"]).option(text_or_file(text));
        lines.extend([made(context), prompt.about([context])]);
    }
    if let Some([context, model]) = pair(args, "--set-model-for-context") {
        let set = Line::elsewhere(&["context", "set"]);
        let set = set.about(["model".into(), whole_model(model), context.clone()]);
        lines.extend([made(context), set]);
    }
    for (name, command) in [
        ("--flock-join", ["flock", "join"]),
        ("--flock-leave", ["flock", "leave"]),
    ] {
        if let Some([context, flock]) = pair(args, name) {
            lines.push(Line::elsewhere(&command).about([flock, context]));
        }
    }
    Ok(lines)
}

/// What is to be shown of a context or of a model.
fn shown(args: &ForeignArgs) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    if let Some(thing) = args.value("--inspect-current") {
        lines.push(Line::here(inspection(thing)).printing());
    }
    if let Some([context, thing]) = pair(args, "--inspect") {
        let line = Line::elsewhere(inspection(thing));
        lines.push(match thing == "home" {
            true => line,
            false => line.with(OwnOption::with("transient", context)),
        });
    }
    if let Some(count) = args.value("--show-current-log") {
        let log = Line::here(&["context", "log"]).printing();
        lines.push(entries(count)?.into_iter().fold(log, Line::option));
    }
    for name in ["--model-metadata", "--model-metadata-full"] {
        if let Some(model) = args.value(name) {
            let arguments = json!({"model": model.to_string_lossy()}).to_string();
            let call = Line::elsewhere(&["tool"]).about(["model_info".to_owned(), arguments]);
            lines.push(call.with(own_tools()));
        }
    }
    Ok(lines)
}

/// Calls of plugins and tools.
fn calls(args: &ForeignArgs) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    if let Some([plugin, arguments]) = pair(args, "--plugin") {
        let arguments = split(&arguments.to_string_lossy())?;
        let words = std::iter::once(plugin.clone()).chain(arguments.into_iter().map(OsString::from));
        lines.push(Line::here(&["plugin"]).about(words).printing());
    }
    if let Some([tool, arguments]) = pair(args, "--call-tool") {
        let call = Line::here(&["tool"]).about([tool, arguments]).printing();
        lines.push(call.with(own_tools()));
    }
    Ok(lines)
}

/// The prompt, with the options that are about this run.
fn prompt(args: &ForeignArgs) -> Line {
    let setting = |text: OsString| OwnOption::with(SETTING_OPTION, text);
    let mut options = vec![own_tools()];
    options.extend(args.has(TRUST).then(|| OwnOption::alone("yes")));
    options.extend(args.all("--set").flatten().cloned().map(setting));
    if args.has("--no-tool-calls") {
        options.push(setting("no_tool_calls=true".into()));
    }
    if let Some(user) = args.value("--ephemeral-username") {
        options.push(setting(format!("username={}", user.to_string_lossy()).into()));
    }
    let is_asked = !args.words.is_empty();
    // chibi takes no notice of what is piped in beside a prompt.
    let command: &[&str] = if is_asked { &["ask", "--no-stdin"] } else { &[] };
    let mut line = Line::here(command).about(is_asked.then(|| args.words.join(OsStr::new(" "))));
    line.own.options = options;
    line
}

/// The lines in the context that was chosen, which is made if it is new.
fn in_context(args: &ForeignArgs, lines: Vec<Line>) -> Vec<OwnLine> {
    // Each line may go to another directory, from which a relative path would lead elsewhere.
    let absolute = |path: &OsStr| std::path::absolute(path).map_or_else(|_| path.to_owned(), OsString::from);
    let place = [("--home", HOME_OPTION), ("--project-root", ROOT_OPTION)];
    let place = place.map(|(theirs, own)| Some(OwnOption::with(own, absolute(args.value(theirs)?))));
    let chosen = args.value(EPHEMERAL).map(|name| ("transient", name));
    let chosen = chosen.or(args.value(SWITCH).map(|name| ("context", name)));
    let is_prompt = |line: &Line| line.own.options.first() == Some(&own_tools());
    let needs_it = lines.len() != 1 || !lines.iter().all(is_prompt);
    let mut done: Vec<OwnLine> = Vec::new();
    let mut choice =
        chosen.map(|(option, name)| (option, if needs_it { made_up(name) } else { name.to_owned() }));
    if let Some((_, name)) = choice.as_ref().filter(|(_, name)| needs_it && name != "-") {
        done.push(OwnLine::command(&["context", "create", "--if-new"]).about([name]));
    }
    if matches!(choice, Some(("context", _))) && !lines.iter().any(|line| line.is_in_context) {
        done.extend(choice.take().map(|(option, name)| OwnLine {
            options: vec![OwnOption::with(option, name)],
            ..OwnLine::command(&["ask", "--no-stdin"])
        }));
    }
    for line in lines {
        let mut own = line.own;
        if let Some((option, name)) = choice.as_ref().filter(|_| line.is_in_context) {
            own.options.insert(0, OwnOption::with(option, name));
        }
        // Who has switched is there; a second switch would go back, or on to another fresh one.
        choice = choice.filter(|(option, _)| *option == "transient" || !line.is_in_context);
        done.push(own);
    }
    for own in &mut done {
        own.options.splice(0..0, place.iter().flatten().cloned());
    }
    done
}

/// The name of a context; for a fresh one it is made up here, so that several lines mean the same.
fn made_up(name: &OsStr) -> OsString {
    let now: DateTime<Local> = Local::now();
    let moment = now.format("%Y%m%d_%H%M%S");
    match name.to_str() {
        Some("new") => moment.to_string().into(),
        Some(text) => match text.strip_prefix("new:") {
            Some(prefix) => format!("{prefix}_{moment}").into(),
            None => name.to_owned(),
        },
        None => name.to_owned(),
    }
}

fn pair<'a>(args: &'a ForeignArgs, name: &'static str) -> Option<&'a [OsString; 2]> {
    args.all(name).last()?.try_into().ok()
}

/// A system prompt, which is a text or the name of a file with one.
fn text_or_file(text: &OsStr) -> OwnOption {
    let path = Path::new(text);
    match std::path::absolute(path)
        .ok()
        .filter(|_| becket_fs::is_file(path))
    {
        Some(path) => OwnOption::with("file", path),
        None => OwnOption::with("set", text),
    }
}

/// A model in becket's words.
fn whole_model(model: &OsStr) -> OsString {
    let named = model.to_str().and_then(model_named);
    named.map_or_else(|| model.to_owned(), OsString::from)
}

fn inspection(thing: &OsStr) -> &'static [&'static str] {
    match thing.to_str() {
        Some("system_prompt" | "prompt") => &["context", "prompt"],
        Some("tasks" | "todos" | "goals" | "list") => &["context", "show"],
        _ => &["config"],
    }
}

/// How many entries are shown: the last ones, or with a negative number the first.
fn entries(count: &OsStr) -> Result<Vec<OwnOption>, String> {
    let number = count.to_str().and_then(|count| count.parse::<i64>().ok());
    let number = number.ok_or_else(|| format!("Invalid number: {}", count.to_string_lossy()))?;
    let first = (number < 0).then(|| OwnOption::alone("first"));
    let shown = OwnOption::with("count", number.unsigned_abs().to_string());
    Ok([shown].into_iter().chain(first).collect())
}

/// Splits a text into words as a shell does, with quotes and backslashes and nothing else.
fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = letters.next().ok_or("a backslash ends the arguments")?;
                let word = word.get_or_insert_default();
                // Between quotes, a backslash is itself before anything that it could not protect.
                if quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(next);
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(open) = quote {
        return Err(format!("the arguments have a {open} without its end: {text}"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use becket_host::AskedOf;

    use super::*;

    fn read(words: &[&str]) -> Result<Vec<String>, String> {
        match CLI.read(words.iter().map(OsString::from))? {
            AskedOf::Runs(lines) => {
                let shown = lines
                    .all()
                    .map(|line| line.words().join(OsStr::new(" ")).into_string().unwrap());
                Ok(shown.collect())
            }
            other => Ok(vec![format!("{other:?}")]),
        }
    }

    // tidy: a table
    #[test]
    fn command_lines_of_chibi_say_the_same_in_beckets_words() {
        let ask = |words: &str| format!("--tools=chibi ask --no-stdin -- {words}");
        let table: &[(&[&str], &[&str])] = &[
            (&["What", "is", "Rust?"], &[&ask("What is Rust?")]),
            (&["hello", "-v", "--help"], &[&ask("hello -v --help")]),
            (&["--", "-starts"], &[&ask("-starts")]),
            (&["-c", "work", "go"], &[&format!("--context=work {}", ask("go"))]),
            (&["-C", "new", "go"], &[&format!("--transient=new {}", ask("go"))]),
            (&["-c-", "go"], &[&format!("--context=- {}", ask("go"))]),
            (&[], &["--tools=chibi"]),
            (&["-v"], &["--tools=chibi"]),
            (&["-c", "work"], &["--context=work --tools=chibi"]),
            (
                &["-xc", "work"],
                &["context create --if-new -- work", "--context=work ask --no-stdin"],
            ),
            (
                &["-S", "helper", "-e", "Be brief.", "the task"],
                &[
                    "context create --if-new -- helper",
                    "--transient=helper context prompt --set=Be brief.",
                    &format!("--transient=helper {}", ask("the task")),
                ],
            ),
            (
                &["-c", "work", "-y", "Be brief.", "go"],
                &[
                    "context create --if-new -- work",
                    "--context=work context prompt --set=Be brief.",
                    &ask("go"),
                ],
            ),
            (&["-y", "yes"], &["context prompt --set=yes"]),
            (&["-u", "Ada"], &["context set -- username Ada"]),
            (&["-u", "Ada", "go"], &["context set -- username Ada", &ask("go")]),
            (&["-L"], &["contexts"]),
            (&["-L", "hello"], &["contexts"]),
            (&["-XL", "hello"], &["contexts", &ask("hello")]),
            (&["-a", "hello"], &["context clear", &ask("hello")]),
            (&["-td"], &["--yes context destroy"]),
            (&["-Dold"], &["context destroy -- old"]),
            (&["-D", "--yes"], &["context destroy -- --yes"]),
            (&["-A", "-y"], &["context clear -- -y"]),
            (&["-p", "greet", "--yes"], &["plugin -- greet --yes"]),
            (
                &["-C", "--yes", "go"],
                &[&format!("--transient=--yes {}", ask("go"))],
            ),
            (&["-t", "go"], &["--tools=chibi --yes ask --no-stdin -- go"]),
            (&["-g", "5"], &["context log --count=5"]),
            (&["-g", "-5"], &["context log --count=5 --first"]),
            (&["--clear-cache"], &["cache clear --here"]),
            (&["-G", "work", "5"], &["context log --count=5 -- work"]),
            (&["-n", "system_prompt"], &["context prompt"]),
            (&["-N", "work", "goals"], &["--transient=work context show"]),
            (
                &["-Y", "work", "Hi"],
                &[
                    "context create --if-new -- work",
                    "context prompt --set=Hi -- work",
                ],
            ),
            (&["-p", "greet", "Ada 'b c'"], &["plugin -- greet Ada b c"]),
            (&["-P", "greet", "{}"], &["--tools=chibi tool -- greet {}"]),
            (&["-m", "a/b"], &["context set -- model openrouter/a/b"]),
            (&["--flock-join", "work", "infra"], &["flock join -- infra work"]),
            (&["--home", "/h", "-l"], &["--chibi-home=/h context show"]),
            (
                &["--project-root", "/x", "-L"],
                &["--chibi-project-root=/x contexts"],
            ),
            (
                &["-s", "fuel=3", "--no-tool-calls", "-U", "Ada", "go"],
                &[
                    "--tools=chibi --chibi-set=fuel=3 --chibi-set=no_tool_calls=true --chibi-set=username=Ada ask \
                   --no-stdin -- go",
                ],
            ),
            (
                &["--destroy-after-inactive", "60"],
                &["context set -- destroy_after_inactive 60s"],
            ),
            (&["--help"], &["Help"]),
        ];
        for (words, expected) in table {
            assert_eq!(read(words).unwrap(), *expected, "{words:?}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        for (words, why) in [
            (&["-x", "hello"][..], "incompatible with a prompt"),
            (&["-p", "greet", "it's"], "without its end"),
            (&["--frobnicate"], "no option"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(why), "{words:?}: {error}");
        }
    }

    #[test]
    fn arguments_of_plugins_are_split_as_a_shell_does() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            (" a  b ", &["a", "b"]),
            (
                r#"'a b' "c \" d" e\ f '' x"y"z"#,
                &["a b", "c \" d", "e f", "", "xyz"],
            ),
            (r#""\n" '\n'"#, &["\\n", "\\n"]),
        ];
        for (text, expected) in table {
            assert_eq!(split(text).unwrap(), *expected, "{text}");
        }
        assert!(split("a\\").is_err());
    }
}
