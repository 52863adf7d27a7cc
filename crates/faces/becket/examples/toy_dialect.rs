//! A dialect in one file: what it takes to bring another system's hooks into becket.
//!
//! Its hooks stand in `.toy/hooks.txt` of a project, one in a line:
//!
//! ```text
//! guard NAME COMMAND    asked before each tool call; a command that fails refuses
//! key VARIABLE          a variable that no other program may see
//! ```
//!
//! The last line joins it to becket. `tests/blackbox/hosts.rs` runs it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use becket_check::{CheckedHook, HookFile, Start, boxed};
use becket_events::{Class, PreTool, PreToolReply, Strictest, Verdict};
use becket_hooks::{
    CommandLane, CommandLine, Dialect, Failure, Handler, HandlerInfo, Invocation, Lane, Occasion,
    Registration, USUAL_TIMEOUT,
};
use becket_host::{Found, FoundGuest, GuestSearch, Guests, Host, Loading, Report, Stage, Unloaded};
use becket_system::CliError;
use becket_system::files::read_regular;
use becket_trust::{CommandItem, Judged, Kind, refusal};
use futures_util::future::BoxFuture;

const KIND: &str = "toy hook";
const FILE: &str = ".toy/hooks.txt";

struct ToyHost;

impl Host for ToyHost {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn check_files(&self, place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
        let file = place.trust.root().join(FILE);
        let lines = read_regular(&file, 64 * 1024).unwrap_or_default();
        let commands = lines.lines().filter_map(|line| line.splitn(3, ' ').nth(2));
        let hooks = commands.map(|command| ToyLine(command.to_owned()));
        Ok(vec![HookFile::new(&file, &lines, Ok(boxed(hooks)))])
    }

    fn find(&self, place: &GuestSearch<'_>) -> Result<Box<dyn Found>, CliError> {
        let (trust, mut found) = (place.trust, FoundToys::default());
        let file = trust.root().join(FILE);
        let text = match read_regular(&file, 64 * 1024) {
            Ok(text) => text,
            Err(error) if error.is_absence() => String::new(),
            Err(error) => {
                let why = format!("cannot read {}: {error}", file.display());
                return Err(CliError::usage(why));
            }
        };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let mut words = line.splitn(3, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some("key"), Some(name), None) => found.keys.push(name.to_owned()),
                (Some("guard"), Some(name), Some(command)) => {
                    let command = CommandLine::Shell(command.to_owned());
                    found.judged.push(trust.command(&CommandItem {
                        file: &file,
                        name,
                        entry: line.to_owned(),
                        command: &command,
                        directory: trust.root(),
                        folder: trust.root(),
                        env: &BTreeMap::new(),
                        guards: true,
                    }));
                    found.commands.push(command);
                }
                // Nobody knows what it is, so it may be a guard.
                _ => found
                    .unread
                    .push(Unloaded::new(KIND, line, &file, "it is no hook")),
            }
        }
        let is_ours = |source: &Path, _: &Path| source == Path::new(FILE);
        let gone = trust.absences(&found.judged, &[Kind::Hook], is_ours);
        found.judged.extend(gone);
        found.refusal = refusal(&found.judged, trust);
        Ok(Box::new(found))
    }
}

#[derive(Debug)]
struct ToyLine(String);

impl CheckedHook for ToyLine {
    fn start(&self) -> Start<'_> {
        Start::Line(&self.0)
    }
}

#[derive(Default)]
struct FoundToys {
    /// The commands of the first of what was judged; behind them stands what is gone.
    commands: Vec<CommandLine>,
    judged: Vec<Judged>,
    refusal: Option<CliError>,
    unread: Vec<Unloaded>,
    keys: Vec<String>,
}

impl Found for FoundToys {
    fn guests(&self) -> Vec<FoundGuest> {
        let toys = self.judged.iter().zip(&self.commands);
        toys.map(|(judged, _)| FoundGuest::from(judged)).collect()
    }

    fn judged(&self) -> &[Judged] {
        &self.judged
    }

    fn refusal(&self) -> Option<CliError> {
        self.refusal.clone()
    }

    fn key_variables(&self) -> Vec<String> {
        self.keys.clone()
    }

    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>> {
        Box::pin(async move {
            let mut toys = Vec::new();
            let trusted = self.judged.iter().zip(&self.commands);
            for (judged, command) in trusted.filter(|(judged, _)| judged.is_trusted()) {
                let trust = loading.place.trust;
                let program = trust.program(judged, command, &BTreeMap::new(), loading.environment);
                let lane = CommandLane::new(program.map_err(CliError::failed)?);
                toys.push((judged.item.clone(), Arc::new(lane)));
            }
            let unread = self.unread.clone();
            Ok(Arc::new(Toys { toys, unread }) as Arc<dyn Guests>)
        })
    }
}

struct Toys {
    toys: Vec<(becket_trust::Item, Arc<CommandLane>)>,
    unread: Vec<Unloaded>,
}

impl Guests for Toys {
    fn unloaded(&self) -> Vec<Unloaded> {
        self.unread.clone()
    }

    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        for (item, lane) in &self.toys {
            let dialect = Dialect {
                order: 90,
                name: "toy",
                side_by_side: false,
            };
            let info = HandlerInfo::command(&item.name, &item.source, dialect, Class::Guard);
            let guard = Arc::new(Guard(Arc::clone(lane)));
            stage.engine.register(Registration::<PreTool>::new(info, guard));
        }
        Ok(Vec::new())
    }

    fn reports(&self) -> Vec<Report> {
        let what = self.toys.iter().map(|(item, _)| item.title());
        what.map(|what| Report::new(what, None)).collect()
    }
}

struct Guard(Arc<CommandLane>);

impl Handler<PreTool> for Guard {
    fn call<'a>(
        &'a self,
        occasion: &'a Occasion<'a, PreTool>,
    ) -> BoxFuture<'a, Result<PreToolReply, Failure>> {
        Box::pin(async move {
            let input = serde_json::to_string(occasion.payload).unwrap_or_default();
            let finished = self.0.run(Invocation {
                input: input.into(),
                environment: Vec::new(),
                directory: PathBuf::from(&occasion.scope.cwd),
                timeout: USUAL_TIMEOUT,
            });
            let finished = finished.await?;
            let refusal = Verdict::Deny(finished.stderr.trim().to_owned());
            Ok(PreToolReply {
                verdict: Strictest((finished.code != 0).then_some(refusal)),
                ..PreToolReply::default()
            })
        })
    }
}

fn main() -> ExitCode {
    becket::main_with(&[&ToyHost])
}
