//! The help: `becket --help` is one screen, `becket help all` is everything.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Arg, ArgMatches, Command, Id};

/// The commands that `becket --help` lists. `becket help all` lists the others too.
const GROUPS: &[(&str, &[&str])] = &[
    ("Talk", &["ask", "chat", "run", "compact", "undo"]),
    (
        "Hooks",
        &[
            "hooks",
            "bridge",
            "trace",
            "replay",
            "audit",
            "permissions",
            "web",
        ],
    ),
    (
        "Conversations",
        &["context", "sessions", "send", "inbox", "flock"],
    ),
    ("Project", &["tool", "index", "snapshots", "mcp"]),
    ("Set-up", &["config", "doctor", "completions"]),
];

/// How the clap ids of options begin that extensions bring.
pub const EXTENSION_OPTION: &str = "extension:";

const COMMON: &str = "Common options, such as -c NAME, -m MODEL, --json and --home FOLDER: `becket --help`.";

/// Parses words by a command line that has all commands, with help that fits a screen.
pub fn parse(command: Command, words: &[OsString]) -> Result<ArgMatches, clap::Error> {
    match words {
        [program, options @ .., help, all] if help == "help" && all == "all" && are_options(options) => {
            command.try_get_matches_from([program.clone(), "--help".into()])
        }
        _ => {
            let command = for_people(command);
            let overview = overview(&command);
            command.override_help(overview).try_get_matches_from(words)
        }
    }
}

/// Whether words in front of a command begin with an option, so that the command is not somebody else's argument.
fn are_options(words: &[OsString]) -> bool {
    let begins = words
        .first()
        .is_none_or(|word| word.as_encoded_bytes().starts_with(b"-"));
    begins && !words.iter().any(|word| word == "--")
}

/// A command line whose commands show their own options only, and not those that every command has.
pub fn for_people(mut command: Command) -> Command {
    command.build();
    let guests = crate::guest_options::names();
    let is_common = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        arg.is_global_set() || guests.contains(&id) || id.starts_with(EXTENSION_OPTION)
    };
    let common: Vec<Id> = command
        .get_arguments()
        .filter(is_common)
        .map(|arg| arg.get_id().clone())
        .collect();
    command.mut_subcommands(|below| hide(below, &common))
}

fn hide(command: Command, common: &[Id]) -> Command {
    let command = command.mut_args(|arg| {
        let is_hidden = arg.is_hide_set() || common.contains(arg.get_id());
        arg.hide(is_hidden)
    });
    command
        .mut_subcommands(|below| hide(below, common))
        .after_help(COMMON)
        // For manual pages.
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
}

/// The first screen: what a newcomer needs.
fn overview(command: &Command) -> StyledStr {
    let mut text = StyledStr::new();
    let heading = command.get_styles().get_header();
    let mut section = |title: &str, rows: &[(String, String)]| {
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let _ = writeln!(text, "\n{heading}{title}:{heading:#}");
        for (name, about) in rows {
            let _ = writeln!(text, "  {name:width$}  {about}");
        }
    };
    for (title, names) in GROUPS {
        let found = names.iter().filter_map(|name| command.find_subcommand(name));
        let rows: Vec<_> = found
            .map(|found| (found.get_name().into(), about(found)))
            .collect();
        section(title, &rows);
    }
    for title in option_headings(command) {
        let shown = shown_options(command).filter(|arg| arg.get_help_heading() == title);
        let rows: Vec<_> = shown.map(|arg| (name(arg), purpose(arg))).collect();
        section(title.unwrap_or("Options"), &rows);
    }
    let usage = command.get_styles().get_usage();
    let about = about(command);
    let after = told(command.get_after_help());
    let all = "All commands and options: `becket help all`. One command: `becket help COMMAND`.";
    StyledStr::from(format!(
        "{about}.\n\n{usage}Usage:{usage:#} becket [OPTIONS] [PROMPT]\n       becket [OPTIONS] COMMAND\n\n\
         With a prompt, becket answers it. Without one, it starts a chat or reads the prompt from a pipe.\n\
         {}\n{all}\n\n{after}",
        text.ansi()
    ))
}

fn shown_options(command: &Command) -> impl Iterator<Item = &Arg> {
    let options = command.get_arguments().filter(|arg| !arg.is_positional());
    options.filter(|arg| !arg.is_hide_set() && !arg.is_hide_short_help_set())
}

/// The headings of the options that are shown, in the order of the options.
fn option_headings(command: &Command) -> Vec<Option<&str>> {
    let mut headings: Vec<Option<&str>> = Vec::new();
    for heading in shown_options(command).map(Arg::get_help_heading) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings
}

fn about(command: &Command) -> String {
    told(command.get_about())
}

fn told(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

fn purpose(arg: &Arg) -> String {
    match arg.get_id() == "help" {
        // clap's own words tell two kinds of help apart.
        true => "Print help".to_owned(),
        false => told(arg.get_help()),
    }
}

/// An option as it is typed.
fn name(arg: &Arg) -> String {
    let short = arg
        .get_short()
        .map_or("    ".to_owned(), |short| format!("-{short}, "));
    let long = arg.get_long().unwrap_or_default();
    let value = match (arg.get_action().takes_values(), arg.get_value_names()) {
        (true, Some([value, ..])) => format!(" {value}"),
        _ => String::new(),
    };
    format!("{short}--{long}{value}")
}
