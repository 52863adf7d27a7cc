//! Options that extensions bring to the command line. They are known when the extensions are loaded, and the command
//! line says which are loaded: so it is parsed twice, and extensions are loaded in between. If it can be parsed without
//! extensions, that is skipped.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use becket_agent::Budget;
use becket_face_kit::{LentRuntime, runtime};
use becket_host::{Asking, GivenFlag, GuestFlag, Guests, Interactive};
use becket_run::loading::load_kind;
use becket_run::options::Preloaded;
use becket_run::{Hosts, Setup, project_trust};
use becket_system::{CliError, Exit, Surroundings};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};
use tokio::runtime::Runtime;

use crate::args::{Args, Words, option_names};
use crate::help;
use crate::options::{self, Options};
use crate::process::check_working_directory;
use crate::typed::{CommandLine, told, unknown_argument};

/// A command line parsed with the options of guests, or the error in it.
type ReadAgain = Result<(Args, Options), clap::Error>;

/// Guests that were loaded to read the command line.
struct LoadedFirst {
    /// The runtime in which they live.
    runtime: Runtime,
    kind: &'static str,
    guests: Arc<dyn Guests>,
    /// The budget from which they pay.
    budget: Option<Budget>,
}

/// Parses a command line that cannot be parsed without extensions. An error is printed here.
pub fn read_with_extensions(
    mut line: CommandLine,
    error: clap::Error,
    (hosts, surroundings): (Hosts, &Surroundings),
) -> Result<(Args, Options), Exit> {
    let mut error = error;
    if unknown_argument(&error).as_deref() == Some("-n") && write_out(&mut line.arguments) {
        error = match Args::parse_words(&line.arguments, line.words) {
            Ok(args) => {
                let options = options::of(&args, hosts);
                return Ok((args, options));
            }
            Err(error) => error,
        };
    }
    if error.kind() == ErrorKind::DisplayHelp {
        return Err(told(
            &helped(&line, (hosts, surroundings)).unwrap_or(error),
            line.program,
            surroundings,
        ));
    }
    if !unknown_argument(&error).is_some_and(|argument| argument.starts_with("--")) {
        return Err(told(&error, line.program, surroundings));
    }
    match with_flags(&line, (hosts, surroundings)) {
        Ok(Some(Ok(args))) => Ok(args),
        Ok(Some(Err(error))) => Err(told(&error, line.program, surroundings)),
        Ok(None) => Err(told(&error, line.program, surroundings)),
        Err(problem) => {
            surroundings.complain(&problem.to_string());
            Err(problem.exit)
        }
    }
}

/// Expands short options of two letters, which clap does not know. Returns whether there were any.
fn write_out(arguments: &mut [OsString]) -> bool {
    let mut has_some = false;
    for argument in arguments {
        let long = SHORT.iter().find(|(short, _)| argument == short);
        if let Some((_, long)) = long {
            *argument = (*long).into();
            has_some = true;
        }
    }
    has_some
}

const SHORT: [(&str, &str); 3] = [
    ("-ne", "--no-extensions"),
    ("-ns", "--no-skills"),
    ("-np", "--no-prompt-templates"),
];

/// The help with the options of extensions. If they cannot be loaded, it has becket's own only.
fn helped(line: &CommandLine, (hosts, surroundings): (Hosts, &Surroundings)) -> Option<clap::Error> {
    let is_help = |argument: &OsString| argument == "--help" || argument == "-h";
    let others: Vec<OsString> = line
        .arguments
        .iter()
        .filter(|argument| !is_help(argument))
        .cloned()
        .collect();
    let first = without_unknown(others, line.words).filter(|first| first.command.is_none())?;
    let options = options::of(&first, hosts);
    let loaded = loaded(&options, surroundings).ok().flatten()?;
    read(line, &interactive(&loaded.guests)?.flags()).err()
}

/// Loads the extensions that the command line names, and parses it with their options; `None` if they have none.
fn with_flags(
    line: &CommandLine,
    (hosts, surroundings): (Hosts, &Surroundings),
) -> Result<Option<ReadAgain>, CliError> {
    let Some(first) = without_unknown(line.arguments.clone(), line.words) else {
        return Ok(None);
    };
    let Some(loaded) = loaded(&options::of(&first, hosts), surroundings)? else {
        return Ok(None);
    };
    let Some(interactive) = interactive(&loaded.guests) else {
        return Ok(None);
    };
    let flags = interactive.flags();
    if flags.is_empty() {
        return Ok(None);
    }
    Ok(Some(read(line, &flags).map(|(args, given)| {
        interactive.set_flags(&given);
        let mut options = options::of(&args, hosts);
        options.run.preloaded = Preloaded::new(loaded.kind, loaded.guests, loaded.budget);
        options.runtime = LentRuntime::new(loaded.runtime);
        (args, options)
    })))
}

fn interactive(guests: &Arc<dyn Guests>) -> Option<Arc<dyn Interactive>> {
    Arc::clone(guests).interactive()
}

/// Loads the extensions of a command line, with the runtime in which they live; `None` if there are none.
fn loaded(options: &Options, surroundings: &Surroundings) -> Result<Option<LoadedFirst>, CliError> {
    check_working_directory()?;
    project_trust::ask(&options.run, surroundings)?;
    let setup = Setup::read(&options.run, surroundings)?;
    if let Some(refusal) = &setup.project.refusal {
        return Err(refusal.clone());
    }
    let mut kinds = setup.found.iter();
    let Some((host, _)) = kinds.find(|(host, found)| host.brings_options() && found.may_load()) else {
        return Ok(None);
    };
    let runtime = runtime(options)?;
    let loading = load_kind(
        &setup,
        host.kind(),
        &options.run,
        surroundings,
        Asking::WhenChanged,
    );
    let Some(guests) = runtime.block_on(loading)? else {
        return Ok(None);
    };
    if surroundings.signals.cancelled() {
        return Err(CliError::cancelled());
    }
    Ok(Some(LoadedFirst {
        runtime,
        kind: host.kind(),
        guests,
        budget: setup.budget.clone(),
    }))
}

/// The command line without unknown options: enough to see which extensions it names.
fn without_unknown(mut arguments: Vec<OsString>, words: Words) -> Option<Args> {
    loop {
        let error = match Args::parse_words(&arguments, words) {
            Ok(args) => return Some(args),
            Err(error) => error,
        };
        let unknown = unknown_argument(&error)?;
        let at = arguments
            .iter()
            .skip(1)
            .position(|argument| is(argument, &unknown))?;
        arguments.remove(at + 1);
    }
}

/// Whether an argument is that option, with or without `=VALUE`.
fn is(word: &OsStr, option: &str) -> bool {
    let word = word.to_string_lossy();
    word == option
        || word
            .strip_prefix(option)
            .is_some_and(|rest| rest.starts_with('='))
}

/// Parses the command line with the options of extensions.
fn read(line: &CommandLine, flags: &[GuestFlag]) -> Result<(Args, Vec<GivenFlag>), clap::Error> {
    let mut command = line.words.command_line();
    let own = option_names(&command);
    let usable = |flag: &&GuestFlag| !own.contains(&flag.name);
    let flags: Vec<&GuestFlag> = flags.iter().filter(usable).collect();
    for flag in &flags {
        command = with_option(command, &argument(flag));
    }
    let matches = line.words.parse(command, &line.arguments)?;
    let args = Args::of(&matches)?;
    let given = flags.iter().filter_map(|flag| given(flag, &matches)).collect();
    Ok((args, given))
}

/// Adds an option to a command and to the commands below it that have none of that name.
fn with_option(command: Command, option: &Arg) -> Command {
    let has_own = command
        .get_arguments()
        .any(|own| own.get_long() == option.get_long());
    let command = command.mut_subcommands(|below| with_option(below, option));
    match has_own {
        true => command,
        false => command.arg(option),
    }
}

fn argument(flag: &GuestFlag) -> Arg {
    // clap wants names that last; the command line is read once.
    let (id, long): (&'static str, &'static str) = (id(&flag.name).leak(), flag.name.clone().leak());
    let about = flag.description.clone().unwrap_or_default();
    let about = format!("{about} (extension {})", flag.guest);
    let argument = Arg::new(id)
        .long(long)
        .help(about.trim_start().to_owned())
        .help_heading("Options of extensions");
    match flag.takes_text {
        false => argument.action(ArgAction::SetTrue),
        true => argument.action(ArgAction::Set).value_name("TEXT"),
    }
}

/// The value that the command line gives to an option, if it does.
fn given(flag: &GuestFlag, matches: &ArgMatches) -> Option<GivenFlag> {
    let id = id(&flag.name);
    // The option may stand before a command or behind it.
    let mut commands = std::iter::successors(Some(matches), |command| Some(command.subcommand()?.1));
    let text = match flag.takes_text {
        true => Some(commands.find_map(|command| command.try_get_one::<String>(&id).ok()?.cloned())?),
        false => {
            let is_given = |command: &ArgMatches| matches!(command.try_get_one(&id), Ok(Some(true)));
            commands.any(is_given).then_some(None)?
        }
    };
    let name = flag.name.clone();
    Some(GivenFlag { name, text })
}

/// The clap id of an extension's option. becket's own have no colon.
fn id(name: &str) -> String {
    format!("{}{name}", help::EXTENSION_OPTION)
}
