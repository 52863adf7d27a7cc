//! The reference page of the command line, made from the doc comments of its types.

use clap::{Arg, Command};

const INTRODUCTION: &str = "\
# Command line

Generated from the types in `crates/faces/becket/src/args.rs` by `cargo xtask generate`. Do not edit.

Options may come before or after a command.

";

/// The page of a program with all its commands.
pub fn page(program: &Command) -> String {
    let mut page = String::from(INTRODUCTION);
    section(&mut page, program, (program, &[]));
    if let Some(after) = program.get_after_help() {
        page.push_str(&format!("## Exit codes\n\n{}\n", exit_codes(&after.to_string())));
    }
    page
}

/// The section of a command and of everything below it. Options of the program itself are told once.
fn section(page: &mut String, command: &Command, (program, parents): (&Command, &[&str])) {
    let words: Vec<&str> = parents.iter().copied().chain([command.get_name()]).collect();
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    page.push_str(&format!(
        "## `{}`\n\n{}\n\n",
        usage(command, &words),
        as_sentence(&about)
    ));
    let is_told = |argument: &Arg| {
        let mut of_program = program.get_arguments();
        !parents.is_empty() && of_program.any(|other| other.get_id() == argument.get_id())
    };
    let shown = || {
        let arguments = command.get_arguments();
        arguments
            .filter(|argument| !argument.is_hide_set() && (argument.is_positional() || !is_told(argument)))
    };
    table(
        page,
        "argument",
        shown().filter(|argument| argument.is_positional()),
    );
    table(
        page,
        "option",
        shown().filter(|argument| !argument.is_positional()),
    );
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        section(page, below, (program, &words));
    }
}

/// The usage of a command, with what has to follow its name.
fn usage(command: &Command, words: &[&str]) -> String {
    let positionals = command.get_positionals().map(|argument| {
        if argument.is_required_set() {
            name_of(argument)
        } else {
            format!("[{}]", name_of(argument))
        }
    });
    let mut usage: Vec<String> = words.iter().map(ToString::to_string).chain(positionals).collect();
    if command.is_subcommand_required_set() {
        usage.push("COMMAND".into());
    }
    usage.join(" ")
}

fn table<'a>(page: &mut String, title: &str, arguments: impl Iterator<Item = &'a Arg>) {
    let rows: Vec<String> = arguments.map(row).collect();
    if !rows.is_empty() {
        page.push_str(&format!("| {title} | meaning |\n|---|---|\n{}\n", rows.concat()));
    }
}

fn row(argument: &Arg) -> String {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let mut meaning = as_sentence(&help.map(ToString::to_string).unwrap_or_default());
    if argument.get_action().takes_values() {
        let values = argument.get_possible_values();
        if !values.is_empty() {
            let names: Vec<String> = values
                .iter()
                .map(|value| format!("`{}`", value.get_name()))
                .collect();
            meaning.push_str(&format!(" One of {}.", names.join(", ")));
        }
        if let Some(default) = argument.get_default_values().first() {
            meaning.push_str(&format!(" Default: `{}`.", default.to_string_lossy()));
        }
    }
    let cell = meaning.replace('\n', " ").replace('|', "\\|");
    format!("| `{}` | {} |\n", name_with_dashes(argument), cell.trim())
}

fn name_with_dashes(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let dashed: Vec<String> = [short, long].into_iter().flatten().collect();
    match (dashed.is_empty(), argument.get_action().takes_values()) {
        (true, _) => name_of(argument),
        (false, true) => format!("{} {}", dashed.join(", "), name_of(argument)),
        (false, false) => dashed.join(", "),
    }
}

/// The placeholder for a value.
fn name_of(argument: &Arg) -> String {
    match argument.get_value_names() {
        Some([name, ..]) => name.to_string(),
        _ => argument.get_id().to_string().to_uppercase(),
    }
}

/// A text with a full stop, which clap removes from the end of a doc comment.
fn as_sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '!', '?']) {
        text.into()
    } else {
        format!("{text}.")
    }
}

/// A sentence such as "Exit codes: 0 answered, 1 failed." as a table.
fn exit_codes(sentence: &str) -> String {
    let list = sentence.split_once(": ").map_or(sentence, |(_, list)| list);
    let rows: Vec<String> = list
        .trim_end_matches('.')
        .split(',')
        .filter_map(|entry| entry.trim().split_once(' '))
        .map(|(code, meaning)| format!("| {code} | {meaning} |\n"))
        .collect();
    format!("| code | meaning |\n|---|---|\n{}", rows.concat())
}
