//! The options by which hooks in docker-agent's words are given: one for each of its events.

use std::sync::LazyLock;

use becket_docker_agent::HookFlag;
use becket_host::GuestOptions;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

/// The flags, one for each event.
static FLAGS: LazyLock<Vec<HookFlag>> = LazyLock::new(HookFlag::all);

/// Hooks of the command line: `--hook-EVENT COMMAND`.
#[derive(Debug, Clone, Default)]
pub struct HookFlags(pub GuestOptions);

impl clap::Args for HookFlags {
    fn augment_args(command: Command) -> Command {
        FLAGS.iter().fold(command, |command, flag| {
            let arg = Arg::new(flag.name.as_str())
                .long(flag.name.as_str())
                .value_name("COMMAND")
                .help(format!(
                    "A shell command for docker-agent's event {}, for all tools; may be given several times",
                    flag.event
                ))
                .help_heading("Hooks in docker-agent's words")
                .hide_short_help(true)
                .action(ArgAction::Append)
                .value_parser(not_empty)
                .global(true);
            command.arg(arg)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// A command that is empty would guard nothing: a variable in the person's script may be unset.
fn not_empty(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("the command is empty"),
        _ => Ok(text.to_owned()),
    }
}

impl FromArgMatches for HookFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = GuestOptions::default();
        for flag in FLAGS.iter() {
            let commands = matches.get_many::<String>(&flag.name).into_iter().flatten();
            commands.for_each(|command| options.add(&flag.name, command));
        }
        Ok(Self(options))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
