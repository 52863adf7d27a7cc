//! Options that extensions bring to the command line. Which ones there are is known when they are loaded, and which
//! are loaded, the command line says: so it is read twice, and extensions are loaded in between. Where it can be read
//! without them, none of this happens.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use becket_host::{Asking, Guests};
use becket_pi::extensions::{GivenFlag, RegisteredFlag};
use becket_pi::host::{ExtensionGuests, FoundExtensions};
use becket_pi::host_call::{FlagDefinition, FlagKind, FlagValue};
use becket_system::{CliError, Exit, Surroundings};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser};
use tokio::runtime::Runtime;

use crate::args::{Args, Options};
use crate::assemble::Setup;
use crate::commands::runtime;
use crate::process::check_working_directory;
use crate::project_trust;

/// Extensions that were loaded to read the command line, in the runtime in which they live.
#[derive(Clone, Default)]
pub struct Preloaded(
    Arc<Mutex<Option<Runtime>>>,
    Arc<Mutex<Option<Arc<ExtensionGuests>>>>,
);

impl Preloaded {
    fn new(runtime: Runtime, extensions: Arc<ExtensionGuests>) -> Self {
        Self(
            Arc::new(Mutex::new(Some(runtime))),
            Arc::new(Mutex::new(Some(extensions))),
        )
    }

    /// The runtime, for the first who asks.
    pub fn take_runtime(&self) -> Option<Runtime> {
        take(&self.0)
    }

    /// The extensions, for the first who asks.
    pub fn take_guests(&self) -> Option<Arc<dyn Guests>> {
        take(&self.1).map(|guests| guests as Arc<dyn Guests>)
    }
}

fn take<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().expect("no panic happens while it is held").take()
}

impl fmt::Debug for Preloaded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Preloaded")
    }
}

/// Reads a command line that cannot be read without extensions. What is wrong with it is printed here.
pub fn read_with_extensions(
    mut arguments: Vec<OsString>,
    error: clap::Error,
    surroundings: &Surroundings,
) -> Result<Args, ExitCode> {
    let mut error = error;
    if unknown_argument(&error).as_deref() == Some("-n") && write_out(&mut arguments) {
        error = match Args::try_parse_from(&arguments) {
            Ok(args) => return Ok(args),
            Err(error) => error,
        };
    }
    if error.kind() == ErrorKind::DisplayHelp {
        return Err(told(
            &helped(&arguments, surroundings).unwrap_or(error),
            surroundings,
        ));
    }
    if !unknown_argument(&error).is_some_and(|argument| argument.starts_with("--")) {
        return Err(told(&error, surroundings));
    }
    match with_flags(&arguments, surroundings) {
        Ok(Some(Ok(args))) => Ok(args),
        Ok(Some(Err(error))) => Err(told(&error, surroundings)),
        Ok(None) => Err(told(&error, surroundings)),
        Err(problem) => {
            surroundings.complain(&problem.to_string());
            Err(problem.exit.into())
        }
    }
}

/// Writes out short options of two letters, which clap does not know. Says whether there were any.
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

/// Help with the options of extensions. Whatever keeps them from being loaded, becket's own are told all the same.
fn helped(arguments: &[OsString], surroundings: &Surroundings) -> Option<clap::Error> {
    let wish = |argument: &OsString| argument == "--help" || argument == "-h";
    let others: Vec<OsString> = arguments
        .iter()
        .filter(|argument| !wish(argument))
        .cloned()
        .collect();
    let first = without_unknown(&others).filter(|first| first.command.is_none())?;
    let (_, guests) = loaded(&first.options, surroundings).ok().flatten()?;
    read(arguments, &guests.extensions.flags()).err()
}

fn told(error: &clap::Error, surroundings: &Surroundings) -> ExitCode {
    if let Err(broken) = error.print() {
        surroundings.complain(&broken.to_string());
    }
    match error.use_stderr() {
        true => Exit::Usage.into(),
        false => Exit::Answered.into(),
    }
}

/// Loads the extensions that the command line wants, and reads it with their options; `None` if they have none.
fn with_flags(
    arguments: &[OsString],
    surroundings: &Surroundings,
) -> Result<Option<Result<Args, clap::Error>>, CliError> {
    let Some(first) = without_unknown(arguments) else {
        return Ok(None);
    };
    let Some((runtime, guests)) = loaded(&first.options, surroundings)? else {
        return Ok(None);
    };
    let flags = guests.extensions.flags();
    if flags.is_empty() {
        return Ok(None);
    }
    Ok(Some(read(arguments, &flags).map(|mut args| {
        guests.extensions.set_flags(&args.options.flags);
        args.options.preloaded = Preloaded::new(runtime, guests);
        args
    })))
}

/// The extensions of a command line, and the runtime in which they live; `None` if there are none.
fn loaded(
    options: &Options,
    surroundings: &Surroundings,
) -> Result<Option<(Runtime, Arc<ExtensionGuests>)>, CliError> {
    check_working_directory()?;
    project_trust::ask(options, surroundings)?;
    let setup = Setup::read(options, surroundings)?;
    if let Some(refusal) = &setup.project.refusal {
        return Err(refusal.clone());
    }
    let found = setup.found.get::<FoundExtensions>();
    if found.is_none_or(|found| found.found.extensions.is_empty()) {
        return Ok(None);
    }
    let runtime = runtime(options)?;
    let loading =
        setup.load_only::<FoundExtensions, ExtensionGuests>(options, surroundings, Asking::WhenChanged);
    let Some(guests) = runtime.block_on(loading)? else {
        return Ok(None);
    };
    if surroundings.signals.cancelled() {
        return Err(CliError::cancelled());
    }
    Ok(Some((runtime, guests)))
}

/// The command line without what nobody knows yet: enough to see which extensions are wanted.
fn without_unknown(arguments: &[OsString]) -> Option<Args> {
    let mut arguments = arguments.to_vec();
    loop {
        let error = match Args::try_parse_from(&arguments) {
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

fn unknown_argument(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => Some(argument.clone()),
        _ => None,
    }
}

/// Whether a word of the command line is that option, with or without a value behind a `=`.
fn is(word: &OsStr, option: &str) -> bool {
    let word = word.to_string_lossy();
    word == option
        || word
            .strip_prefix(option)
            .is_some_and(|rest| rest.starts_with('='))
}

/// Reads the command line with options of extensions.
fn read(arguments: &[OsString], flags: &[RegisteredFlag]) -> Result<Args, clap::Error> {
    let mut command = Args::command();
    let own = own_options(&command);
    let usable = |flag: &&RegisteredFlag| !own.contains(&flag.definition.name);
    let flags: Vec<&RegisteredFlag> = flags.iter().filter(usable).collect();
    for flag in &flags {
        command = command.arg(argument(flag));
    }
    let matches = command.try_get_matches_from(arguments)?;
    let mut args = Args::from_arg_matches(&matches)?;
    let given = flags
        .iter()
        .filter_map(|flag| value(flag, &matches).map(|value| (flag, value)));
    args.options.flags = given
        .map(|(flag, value)| GivenFlag {
            name: flag.definition.name.clone(),
            value,
        })
        .collect();
    Ok(args)
}

/// The names of becket's own options.
pub fn own_option_names() -> Vec<String> {
    own_options(&Args::command())
}

fn own_options(command: &clap::Command) -> Vec<String> {
    let long = command.get_arguments().filter_map(Arg::get_long);
    long.map(Into::into).collect()
}

fn argument(flag: &RegisteredFlag) -> Arg {
    let FlagDefinition {
        name,
        kind,
        description,
        ..
    } = &flag.definition;
    // clap wants names that last; the command line is read once.
    let (id, long): (&'static str, &'static str) = (id(name).leak(), name.clone().leak());
    let about = description.clone().unwrap_or_default();
    let about = format!("{about} (extension {})", flag.extension);
    let argument = Arg::new(id)
        .long(long)
        .help(about.trim_start().to_owned())
        .help_heading("Options of extensions")
        .global(true);
    match kind {
        FlagKind::Boolean => argument.action(ArgAction::SetTrue),
        FlagKind::String => argument.action(ArgAction::Set).value_name("TEXT"),
    }
}

fn value(flag: &RegisteredFlag, matches: &ArgMatches) -> Option<FlagValue> {
    let id = id(&flag.definition.name);
    match flag.definition.kind {
        FlagKind::Boolean => matches.get_flag(&id).then_some(FlagValue::Boolean(true)),
        FlagKind::String => matches.get_one::<String>(&id).cloned().map(FlagValue::String),
    }
}

/// becket's own options have no colon in their names.
fn id(name: &str) -> String {
    format!("extension:{name}")
}
