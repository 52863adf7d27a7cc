//! The options of the command line that are about guests, as the kinds of guests declare them.
//!
//! They may stand before a command and after it. clap has global options for that, but a value after the command
//! replaces one before it: a guard that was named first would be lost. So each command has these options itself, and
//! all values are put together.

use std::path::PathBuf;
use std::sync::LazyLock;

use becket_host::{GuestOptions, HostOption, OptionValue};
use becket_run::hosts::HOSTS;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

/// The options of all kinds of guests, kept for as long as the program runs because clap borrows their names.
static OPTIONS: LazyLock<Vec<HostOption>> =
    LazyLock::new(|| HOSTS.iter().flat_map(|host| host.options()).collect());

/// The names of the options.
pub fn names() -> Vec<&'static str> {
    OPTIONS.iter().map(|option| &*option.name).collect()
}

/// Adds the options to a command and to all commands below it.
pub fn add_to(command: Command) -> Command {
    let command = OPTIONS.iter().fold(command, |command, option| {
        let arg = Arg::new(&*option.name)
            .long(&*option.name)
            .short(option.short)
            .help(&*option.help)
            .help_heading(option.heading)
            .hide_short_help(option.is_rare);
        command.arg(match option.value {
            OptionValue::Nothing => arg.action(ArgAction::SetTrue),
            OptionValue::OnePath(name) => {
                let arg = arg.action(ArgAction::Set).value_name(name);
                arg.value_parser(value_parser!(PathBuf))
            }
            OptionValue::Path(name) => taking(arg, name, value_parser!(PathBuf)),
            OptionValue::Text(name) => taking(arg, name, value_parser!(String)),
            OptionValue::Command => taking(arg, "COMMAND", not_empty.into()),
        })
    });
    command.mut_subcommands(add_to)
}

fn taking(arg: Arg, name: &'static str, parser: ValueParser) -> Arg {
    arg.action(ArgAction::Append)
        .value_name(name)
        .value_parser(parser)
}

/// Refuses an empty command, which would guard nothing: a variable in the user's script may be unset.
fn not_empty(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("the command is empty"),
        _ => Ok(text.to_owned()),
    }
}

/// The options that were given before a command and after it, in that order.
pub fn given(matches: &ArgMatches) -> GuestOptions {
    let mut options = GuestOptions::default();
    let mut level = Some(matches);
    while let Some(matches) = level {
        OPTIONS
            .iter()
            .for_each(|option| take(option, matches, &mut options));
        level = matches.subcommand().map(|(_, below)| below);
    }
    options
}

fn take(option: &HostOption, matches: &ArgMatches, options: &mut GuestOptions) {
    let name = &*option.name;
    match option.value {
        OptionValue::Nothing => {
            if matches.get_flag(name) {
                options.set(name);
            }
        }
        OptionValue::OnePath(_) | OptionValue::Path(_) => {
            let paths = matches.get_many::<PathBuf>(name).into_iter().flatten();
            paths.for_each(|path| options.add(name, path));
        }
        OptionValue::Text(_) | OptionValue::Command => {
            let texts = matches.get_many::<String>(name).into_iter().flatten();
            texts.for_each(|text| options.add(name, text));
        }
    }
}
