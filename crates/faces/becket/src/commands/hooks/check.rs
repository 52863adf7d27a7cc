//! `becket hooks check`: says what is wrong with hooks before they run.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use becket_check::{
    Finding, HookFile, Kind, Machine, Severity, ToolNames, by_hook, check, sarif, seems_to_rewrite,
};
use becket_hooks::{HookEnvironment, OwnHook, guest_environment};
use becket_host::GuestSearch;
use becket_run::setup::{Setup, read_config};
use becket_run::tool_names::{tool_elsewhere, tool_names, tools_without_operation};
use becket_store::{KnownHook, RunEffect, SqliteStore};
use becket_system::counted;
use becket_system::project_root::project_root;
use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use becket_trust::Trust;

use crate::args::CheckForm;
use crate::hooks_check::{everything, given, untrusted};
use crate::options::Options;
use crate::printing::print;

/// After how many answers it is likely that a hook never rewrites anything.
const ENOUGH_ANSWERS: u64 = 100;

/// Checks the hooks of some files, or all that count here. The exit code is 1 if something is wrong.
pub fn run(
    options: &Options,
    format: CheckForm,
    paths: &[PathBuf],
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
    let files = match paths {
        [] => all_files(options, &folders, surroundings)?,
        paths => given(options.run.hosts, paths, surroundings)?,
    };
    let machine = machine(&folders, surroundings);
    let mut findings: Vec<Finding> = files.iter().flat_map(|file| check(file, &machine)).collect();
    findings.extend(suggestions(&files, &folders, (surroundings, &machine)));
    // What stands against reading the settings was found already.
    if let (true, Ok(setup)) = (paths.is_empty(), Setup::read(&options.run, surroundings)) {
        findings.extend(untrusted(&setup));
    }
    match format {
        CheckForm::Text => print(&told(options, &files, &findings))?,
        CheckForm::Sarif => print(&format!("{}\n", sarif(&findings, &surroundings.cwd)))?,
    }
    let wrong = findings.iter().any(|finding| finding.severity == Severity::Wrong);
    Ok(if wrong { Exit::Failed } else { Exit::Answered })
}

/// What the record says about hooks that wait for each other: one that has answered often and never rewritten anything
/// may be started together with its neighbours. A record that cannot be read is no reason not to check hooks.
fn suggestions(
    files: &[HookFile],
    folders: &Folders,
    (surroundings, machine): (&Surroundings, &Machine),
) -> Vec<Finding> {
    let mut waiting = Vec::new();
    for file in files {
        for hook in &file.hooks {
            let own = (&**hook as &dyn Any).downcast_ref::<OwnHook>();
            let own = own.filter(|own| own.may_wait() && !seems_to_rewrite(file, own, machine));
            waiting.extend(own.map(|own| (file, own)));
        }
    }
    if waiting.is_empty() || !folders.store_file().exists() {
        return Vec::new();
    }
    let counts = |store: SqliteStore| store.record().hook_counts(0).ok();
    let Some((known, counts)) = folders.open_store().ok().and_then(counts) else {
        return Vec::new();
    };
    let suggested = waiting.into_iter().filter_map(|(file, hook)| {
        let source = surroundings.cwd.join(&hook.info.source).display().to_string();
        let is_named = hook.info.name != hook.info.source;
        let name = if is_named { &hook.info.name } else { &source };
        let event = hook.event.info().name;
        let is_it =
            |known: &&KnownHook| known.event == event && known.handler == *name && known.source == source;
        let known = known.iter().find(is_it)?;
        let answers = |effect: RunEffect| {
            let counts = counts
                .iter()
                .filter(|count| (count.hook, count.effect) == (known.id, effect));
            counts.map(|count| count.count).sum::<u64>()
        };
        let count = answers(RunEffect::Passed) + answers(RunEffect::Denied);
        let is_likely = count >= ENOUGH_ANSWERS && answers(RunEffect::Rewrote) == 0;
        is_likely.then(|| Finding {
            file: file.file.clone(),
            line: hook.line(),
            kind: Kind::Waits,
            severity: Severity::Remark,
            message: format!("the hook has answered {count} times and never rewrote anything"),
            hint: Some("with `rewrites = false`, it is started together with its neighbours".into()),
        })
    });
    suggested.collect()
}

/// Something that keeps a hook from doing its work.
pub struct BrokenHook {
    /// The file of the hook, as the user names it.
    pub file: PathBuf,
    /// The line at which the hook begins, if that is known.
    pub line: Option<usize>,
    /// What is wrong, perhaps in another file.
    pub finding: Finding,
}

/// Everything that keeps a hook that is found here from doing its work.
pub fn broken_hooks(options: &Options, surroundings: &Surroundings) -> Result<Vec<BrokenHook>, CliError> {
    let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
    let machine = machine(&folders, surroundings);
    let breaks = |finding: &Finding| {
        finding.severity == Severity::Wrong
            && matches!(
                finding.kind,
                Kind::MissingProgram
                    | Kind::MissingFolder
                    | Kind::NotExecutable
                    | Kind::BadInterpreter
                    | Kind::LineEnds
                    | Kind::BadScript
            )
    };
    let mut broken = Vec::new();
    for file in all_files(options, &folders, surroundings)? {
        let of_file = file
            .findings
            .iter()
            .map(|finding| (finding.line, vec![finding.clone()]));
        for (line, findings) in of_file.chain(by_hook(&file, &machine)) {
            let findings = findings.into_iter().filter(breaks);
            broken.extend(findings.map(|finding| BrokenHook {
                file: file.file.clone(),
                line,
                finding,
            }));
        }
    }
    Ok(broken)
}

/// Every file whose hooks count here.
fn all_files(
    options: &Options,
    folders: &Folders,
    surroundings: &Surroundings,
) -> Result<Vec<HookFile>, CliError> {
    let project_root = project_root(&surroundings.cwd);
    // What is wrong with the settings is found by whoever reads their hooks.
    let settings = read_config(&folders.config_file(), options.run.hosts);
    let place = GuestSearch {
        surroundings,
        folders,
        project_root: &project_root,
        trust: &Trust::open(options.run.trust, folders, surroundings, &project_root),
        settings: &settings.map(|(_, settings)| settings).unwrap_or_default(),
        options: &options.run.guests,
        without: &[],
        sections: &options.run.hosts.sections(),
        operation_called: becket_dialects::operation_called,
    };
    everything(options.run.hosts, &place)
}

/// Adds the folder of becket's own `jq` to the path, if hooks would find it there in a run where the machine has none.
#[cfg(feature = "jq")]
fn own_jq(variables: &mut BTreeMap<OsString, OsString>, folders: &Folders) -> Option<PathBuf> {
    use becket_run::config::JqChoice;
    use becket_run::{own_jq, own_program};
    own_jq::choose(None, JqChoice::System, variables)?;
    let folder = own_program::place(&folders.cache, own_jq::NAME);
    own_program::put_last(variables, &folder);
    Some(folder)
}

#[cfg(not(feature = "jq"))]
fn own_jq(_: &mut BTreeMap<OsString, OsString>, _: &Folders) -> Option<PathBuf> {
    None
}

/// The machine as hooks would find it in a run. Nothing is created.
fn machine(folders: &Folders, surroundings: &Surroundings) -> Machine {
    let mut variables = guest_environment(surroundings.variables.clone());
    let own_jq = own_jq(&mut variables, folders);
    Machine {
        environment: HookEnvironment {
            variables: Arc::new(variables),
            keys: Arc::default(),
        },
        own_jq,
        directory: surroundings.cwd.clone(),
        tools: ToolNames {
            own: tool_names().collect(),
            without_operation: tools_without_operation().collect(),
            elsewhere: tool_elsewhere,
        },
        deciding: becket_dialects::deciding_words(),
    }
}

fn told(options: &Options, files: &[HookFile], findings: &[Finding]) -> String {
    let hooks: usize = files.iter().map(|file| file.hooks.len()).sum();
    if options.run.json {
        let told = serde_json::json!({"files": files.len(), "hooks": hooks, "findings": findings});
        return format!("{told}\n");
    }
    let mut text = String::new();
    for finding in findings {
        let place = match finding.line {
            Some(line) => format!("{}:{line}", finding.file.display()),
            None => finding.file.display().to_string(),
        };
        let remark = match finding.severity {
            Severity::Wrong => "",
            Severity::Remark => "remark: ",
        };
        text.push_str(&format!("{place}: {remark}{}\n", finding.message));
        if let Some(hint) = &finding.hint {
            text.push_str(&format!("  hint: {hint}\n"));
        }
    }
    let wrong = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Wrong);
    let wrong = match wrong.count() {
        0 => "no problems found".to_owned(),
        count => format!("{count} wrong"),
    };
    let (hooks, files) = (counted(hooks as u64, "hook"), counted(files.len() as u64, "file"));
    text.push_str(&format!("{hooks} in {files}: {wrong}\n"));
    harmless(&text)
}
