//! Command lines of other agents' programs: `becket NAME ARGS…`, or becket called by that name. The programs know
//! nothing of `--fail-on-refusal`, so it may stand before their names: `becket --fail-on-refusal pi -p "Run it"`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use becket_host::{AskedOf, ForeignCli, OwnLine, OwnLines};
use becket_run::Hosts;
use becket_system::{Exit, Surroundings};

use crate::args::{Command, Words};
use crate::printing::print;
use crate::typed::CommandLine;
use crate::{reading, run as run_own};

/// becket's own option that may stand before the name of another program.
const FAIL_ON_REFUSAL: &str = "--fail-on-refusal";

/// The command line of another program.
#[derive(Debug)]
pub struct ForeignLine {
    cli: &'static ForeignCli,
    arguments: Vec<OsString>,
    fails_on_refusal: bool,
}

/// The command line of another program, if this is one.
pub fn called(hosts: Hosts, words: &[OsString]) -> Option<ForeignLine> {
    let (program, arguments) = words.split_first()?;
    let by_name = |name: &OsStr| hosts.foreign_clis().find(|cli| cli.is_named(name));
    if let Some(cli) = Path::new(program).file_name().and_then(by_name) {
        return Some(ForeignLine {
            cli,
            arguments: arguments.to_vec(),
            fails_on_refusal: false,
        });
    }
    let fails_on_refusal = arguments.first().is_some_and(|word| word == FAIL_ON_REFUSAL);
    let (command, arguments) = arguments[usize::from(fails_on_refusal)..].split_first()?;
    Some(ForeignLine {
        cli: by_name(command)?,
        arguments: arguments.to_vec(),
        fails_on_refusal,
    })
}

/// Does what the command line of another program asks for. Other programs end with 1 for every failure; that a call was
/// refused keeps its code, since only becket's own option asks for that.
pub fn run(line: ForeignLine, of: (Hosts, &Surroundings)) -> Exit {
    match ended(line, of) {
        ended @ (Exit::Answered | Exit::Refused | Exit::HungUp | Exit::Cancelled | Exit::Terminated) => ended,
        _ => Exit::Failed,
    }
}

fn ended(line: ForeignLine, of: (Hosts, &Surroundings)) -> Exit {
    let cli = line.cli;
    let printed = match cli.read(line.arguments) {
        Ok(AskedOf::Runs(lines)) => return run_all((cli, line.fails_on_refusal), &lines, of),
        Ok(AskedOf::Help) => print(&cli.help()),
        Ok(AskedOf::Version) => match cli.version {
            Some(version) => print(&format!("{version}\n")),
            None => print(&format!("{} (becket {})\n", cli.name, env!("CARGO_PKG_VERSION"))),
        },
        Err(why) => {
            of.1.complain(&why);
            return Exit::Usage;
        }
    };
    match printed {
        Ok(()) => Exit::Answered,
        Err(error) => error.exit,
    }
}

/// The program that becket stands in for, and whether a refused call fails its runs.
type Program = (&'static ForeignCli, bool);

/// Runs becket's own command lines. What puts things in order at the end is done even if the run has failed.
fn run_all(program: Program, lines: &OwnLines, of: (Hosts, &Surroundings)) -> Exit {
    for warning in &lines.warnings {
        of.1.remark(warning);
    }
    let up_to_failure = |lines: &[OwnLine]| {
        let mut ends = lines.iter().map(|line| run_line(program, line, of));
        ends.find(|exit| *exit != Exit::Answered)
            .unwrap_or(Exit::Answered)
    };
    let begun = up_to_failure(&lines.before);
    if begun != Exit::Answered {
        return begun;
    }
    let ended = up_to_failure(&lines.lines);
    let mut afterwards = lines.after.iter().map(|line| run_line(program, line, of));
    let tidied = afterwards.by_ref().find(|exit| *exit != Exit::Answered);
    afterwards.for_each(drop);
    match ended {
        Exit::Answered => tidied.unwrap_or(Exit::Answered),
        failed => failed,
    }
}

/// Runs one of becket's own command lines.
fn run_line(
    (cli, fails_on_refusal): Program,
    line: &OwnLine,
    (hosts, surroundings): (Hosts, &Surroundings),
) -> Exit {
    match reading::read(command_line(cli, line), hosts, surroundings) {
        Ok((args, mut options)) => {
            // A rehearsal would look like a result.
            options.run.needs_model = asks_model(args.command.as_ref());
            // What only puts things in order makes no calls.
            options.fail_on_refusal |= fails_on_refusal && options.run.needs_model;
            run_own(args, options, surroundings)
        }
        Err(exit) => exit,
    }
}

/// Whether a command sends something to the model. One that has prompts may be without any, and then only switches.
fn asks_model(command: Option<&Command>) -> bool {
    match command {
        Some(Command::Ask { prompt, no_stdin }) => !(prompt.is_empty() && *no_stdin),
        None | Some(Command::Chat | Command::Compact { .. } | Command::Inbox { .. }) => true,
        #[cfg(feature = "docker-agent")]
        Some(Command::Run { .. }) => true,
        Some(_) => false,
    }
}

/// A line as becket reads it: without a command in it, none of its words is one.
fn command_line(cli: &'static ForeignCli, line: &OwnLine) -> CommandLine {
    CommandLine {
        arguments: std::iter::once("becket".into()).chain(line.words()).collect(),
        words: match line.command.is_empty() {
            true => Words::Prompts,
            false => Words::CommandsOrPrompts,
        },
        program: Some(cli),
    }
}

#[cfg(test)]
mod tests {
    use becket_host::{ForeignOption, ForeignValue, OwnOption};
    use clap::parser::ValueSource;
    use proptest::prelude::*;

    use super::*;
    use crate::args::{Args, command_names, own_option_names};

    /// The prompts of a line, if it is one that asks.
    fn prompts(cli: &'static ForeignCli, words: &[&str]) -> Vec<Vec<String>> {
        let lines = match cli.read(words.iter().map(OsString::from)) {
            Ok(AskedOf::Runs(lines)) => lines,
            other => panic!("{} {words:?}: {other:?}", cli.name),
        };
        let lines = lines.all().map(|line| {
            let line = command_line(cli, line);
            let args = Args::parse_words(&line.arguments, line.words);
            let args = args.unwrap_or_else(|error| panic!("{:?}: {error}", line.arguments));
            match args.command {
                None => args.asked.prompt,
                Some(Command::Ask { prompt, .. } | Command::Run { prompt, .. }) => prompt,
                other => panic!("{} {words:?} is the command {other:?}", cli.name),
            }
        });
        lines.collect()
    }

    #[test]
    fn no_prompt_of_another_program_is_a_command_or_an_option_of_beckets() {
        let names = command_names();
        let foreign = Hosts::default().foreign_clis().map(|cli| cli.name);
        let names = names.iter().map(String::as_str).chain(foreign);
        let names: Vec<&str> = names.chain(["help"]).collect();
        assert!(names.len() > 25, "{names:?}");
        for cli in Hosts::default().foreign_clis() {
            let before: &[&str] = match cli.name {
                "pi" => &["-p", "--session-id", "s"],
                "chibi" => &[],
                "docker-agent" => &["run", "agent.yaml"],
                other => panic!("how is a prompt given to {other}?"),
            };
            for name in &names {
                let asked = prompts(cli, &[before, &[*name]].concat());
                assert_eq!(asked, [[name.to_string()]], "{}", cli.name);
                let asked = prompts(cli, &[before, &[*name, "again"]].concat());
                let asked = asked.concat().join(" ");
                assert_eq!(asked, format!("{name} again"), "{}", cli.name);
            }
            let asked = prompts(cli, &[before, &["--", "help", "all"]].concat());
            assert_eq!(asked.concat().join(" "), "help all", "{}", cli.name);
            let asked = prompts(cli, &[before, &["--", "--yes"]].concat());
            assert_eq!(asked, [["--yes"]], "{}", cli.name);
        }
    }

    /// The commands of a line, and the options that it sets, or the error in it.
    fn shape(cli: &'static ForeignCli, line: &OwnLine) -> Result<Vec<String>, String> {
        let line = command_line(cli, line);
        let parsed = line.words.parse(line.words.command_line(), &line.arguments);
        let matches = parsed.map_err(|error| error.to_string())?;
        let mut shape = Vec::new();
        let mut level = Some(("becket", &matches));
        while let Some((command, matches)) = level {
            shape.push(command.to_owned());
            let mut set: Vec<String> = matches
                .ids()
                .filter(|id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine))
                .map(|id| id.as_str().to_owned())
                .collect();
            set.sort();
            shape.extend(set);
            level = matches.subcommand();
        }
        Ok(shape)
    }

    /// What becomes of an option of another program if all of its values are this one.
    fn shapes(
        cli: &'static ForeignCli,
        option: &ForeignOption,
        value: &str,
    ) -> Option<Result<Vec<Vec<String>>, String>> {
        let name = option.names[0];
        let words: Vec<String> = match option.value {
            ForeignValue::None | ForeignValue::Rest | ForeignValue::Optional(_) => return None,
            ForeignValue::Attached(_) => vec![format!("{name}={value}")],
            ForeignValue::One(_) => vec![name.to_owned(), value.to_owned()],
            ForeignValue::Two(..) => vec![name.to_owned(), value.to_owned(), value.to_owned()],
        };
        let before: &[&str] = match cli.name {
            "docker-agent" => &["run", "agent.yaml"],
            _ => &[],
        };
        let before = before.iter().map(ToString::to_string);
        let Ok(AskedOf::Runs(lines)) = cli.read(before.chain(words).map(OsString::from)) else {
            return None;
        };
        Some(lines.all().map(|line| shape(cli, line)).collect())
    }

    /// Words that would be options or commands of becket's if they stood alone, and other strange ones.
    fn strange_word() -> impl Strategy<Value = String> {
        let options = own_option_names().into_iter().map(|name| format!("--{name}"));
        let known = options
            .chain(command_names())
            .chain(["--", "-y", "-yc", "-h", "--help"].map(Into::into));
        prop_oneof![
            proptest::sample::select(known.collect::<Vec<_>>()),
            "-{1,3}[a-zA-Z]{1,8}(=[a-z-]{0,4})?",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn no_value_of_another_program_s_option_is_an_option_or_a_command(
            option in any::<proptest::sample::Index>(),
            value in strange_word(),
        ) {
            let all = Hosts::default().foreign_clis();
            let all = all.flat_map(|cli| cli.options.iter().map(move |option| (cli, option)));
            let all: Vec<_> = all.collect();
            let (cli, option) = *option.get(&all);
            if let (Some(Ok(plain)), Some(strange)) = (shapes(cli, option, "plain"), shapes(cli, option, &value)) {
                prop_assert_eq!(Ok(plain), strange, "{} {}", cli.name, option);
            }
        }
    }

    #[test]
    fn words_after_an_option_of_an_extension_are_no_commands() {
        for word in command_names() {
            let line = OwnLine {
                options: vec![OwnOption::with("mode", "text")],
                guest_words: vec![word.clone().into()],
                ..OwnLine::default()
            };
            let cli = Hosts::default().foreign_clis().next().expect("there is one");
            let line = command_line(cli, &line);
            let args = Args::parse_words(&line.arguments, line.words).expect("it is a prompt");
            assert!(args.command.is_none() && args.asked.prompt == [word]);
        }
    }
}
