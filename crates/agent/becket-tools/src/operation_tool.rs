//! The operations as tools: a face of a profile in front, one of becket's implementations behind.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use becket_agent::front::Preview;
use becket_agent::gate::{Permit, Target};
use becket_agent::provider::ToolFace;
use becket_agent::tool::{BUILTIN, Parent, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::{Effect, Face, Manner, Operation, OperationKind, Profile, Settle, Streams};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::answer::OperationAnswer;
use crate::buffers::{self, Buffers};
use crate::job_tools::{job_tools, start_job};
use crate::place::FileSource;
use crate::plural_tool::PluralTool;
use crate::settings::ToolSettings;
use crate::{edit, fetch, find, folder, grep, list, preview, read, remove, shell, vfs, write};

/// The tools of a profile: one for each face, those that stand for several calls, and those for background jobs.
pub fn operation_tools(profile: &Profile, settings: ToolSettings) -> Vec<Arc<dyn Tool>> {
    let jobs = job_tools(profile, &settings.jobs);
    let settings = Arc::new(settings);
    let tool = |face: &Face| Arc::new(OperationTool::new(profile, face.clone(), Arc::clone(&settings)));
    let tools: Vec<Arc<OperationTool>> = profile.faces.iter().map(tool).collect();
    let mut further: Vec<Arc<dyn Tool>> = Vec::new();
    for plural in &profile.plurals {
        let namesake = tools.iter().find(|tool| tool.face.name == plural.name);
        // Within the calls of the whole, a tool is asked for one call at a time, so it needs no plural itself.
        let each = |kind: &OperationKind| {
            let offered = || tools.iter().find(|tool| tool.face.operation == *kind);
            let namesake = namesake.filter(|tool| tool.face.operation == *kind);
            let face = namesake.or_else(offered).map(|tool| tool.face.clone());
            (
                *kind,
                tool(&face.unwrap_or_else(|| Face::own(*kind))) as Arc<dyn Tool>,
            )
        };
        let each = OperationKind::ALL.iter().map(each).collect();
        let whole = Arc::new(PluralTool::new(plural.clone(), each, profile.manner));
        match namesake {
            Some(tool) => {
                let _ = tool.plural.set(whole);
            }
            None => further.push(whole),
        }
    }
    let tools = tools.into_iter().map(|tool| tool as Arc<dyn Tool>);
    tools.chain(further).chain(jobs).collect()
}

struct OperationTool {
    spec: ToolSpec,
    face: Face,
    manner: Manner,
    settle: Option<Settle>,
    settings: Arc<ToolSettings>,
    /// Takes over calls that stand for several.
    plural: OnceLock<Arc<PluralTool>>,
}

impl OperationTool {
    fn new(profile: &Profile, face: Face, settings: Arc<ToolSettings>) -> Self {
        let effect = face.operation.effect();
        let spec = ToolSpec {
            face: ToolFace {
                name: face.name.to_owned(),
                description: face.description.to_owned(),
                parameters: face.parameters.clone(),
                operation: Some(face.operation),
            },
            own_name: face.operation.name().to_owned(),
            operation: Some(face.operation),
            source: BUILTIN.to_owned(),
            read_only: effect == Effect::Read,
            parallel: matches!(effect, Effect::Read | Effect::Network),
            handoff: None,
            extra_arguments: Vec::new(),
        };
        Self {
            spec,
            face,
            manner: profile.manner,
            settle: profile.wording.settle,
            settings,
            plural: OnceLock::new(),
        }
    }
}

impl Tool for OperationTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let arguments = match self.settle {
            Some(settle) => settle(self.face.name, &self.face.parameters, arguments)?,
            None => arguments,
        };
        let operation = self.face.read_call(arguments)?;
        Ok(operation.arguments())
    }

    fn preview<'a>(&'a self, operation: &'a Operation, file: &'a Path) -> BoxFuture<'a, Option<Preview>> {
        Box::pin(async move {
            let (Operation::Write(_) | Operation::Edit(_)) = operation else {
                return None;
            };
            let buffer = match self.buffers_for(file) {
                Some(buffers) => buffers.read(file).await,
                None => Ok(None),
            };
            let (operation, file, manner) = (operation.clone(), file.to_path_buf(), self.manner);
            let made = tokio::task::spawn_blocking(move || preview::of(&operation, &file, manner, buffer));
            made.await.ok().flatten()
        })
    }

    fn in_its_place(&self, arguments: &str) -> Option<Arc<dyn Tool>> {
        let plural = self.plural.get()?;
        plural
            .is_meant_by(arguments)
            .then(|| Arc::clone(plural) as Arc<dyn Tool>)
    }

    fn end_session<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if self.face.operation == OperationKind::Shell {
                self.settings.jobs.end_session(session_id).await;
            }
        })
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match permit.operation() {
                Some(operation) if operation.kind() == self.face.operation => {
                    let answer = self.perform(operation, &permit, run).await;
                    answer.told_by(&self.face, operation)
                }
                _ => not_what_was_judged(),
            }
        })
    }
}

impl OperationTool {
    /// The editor through which a file is written.
    fn buffers_for(&self, file: &Path) -> Option<&dyn Buffers> {
        self.settings
            .buffers
            .as_deref()
            .filter(|buffers| buffers.writes(file))
    }

    async fn perform(&self, operation: &Operation, permit: &Permit, run: ToolRun) -> OperationAnswer {
        let settings = &*self.settings;
        let target = permit.target();
        let place = FileSource::of(target);
        let buffers = match target {
            Target::Path(path) => self.buffers_for(path),
            _ => None,
        };
        match (operation, target, target.file()) {
            (Operation::Shell(arguments), Target::Path(path), _) if arguments.background == Some(true) => {
                let variables = run.parent.as_ref().map(Parent::environment);
                start_job(arguments, path, permit, (settings, variables)).into()
            }
            (Operation::Shell(arguments), Target::Path(path), _) => {
                let streams = self
                    .face
                    .output
                    .map_or(Streams::Together, |telling| telling.streams);
                let settings = (settings, permit.web_access());
                shell::run(arguments, path, (self.manner.shell, streams), settings, run).await
            }
            (Operation::Fetch(arguments), Target::Web(judged), _) => {
                let may_fetch = |from, url: String| async move { permit.may_fetch(&from, &url).await };
                fetch::run(arguments, judged, may_fetch, settings, run).await
            }
            (Operation::Read(arguments), _, Some(path)) if place == FileSource::Cache => {
                read::run_cached(arguments, path)
            }
            (Operation::Read(arguments), Target::Path(path), _) => {
                let buffer = match &settings.buffers {
                    Some(buffers) => buffers.read(path).await,
                    None => Ok(None),
                };
                read::run(arguments, path, buffer)
            }
            (Operation::Read(arguments), _, Some(path)) => read::run(arguments, path, Ok(None)),
            (Operation::Write(arguments), _, Some(path)) => match buffers {
                Some(buffers) => buffers::write(arguments, (path, permit.linked_file()), buffers).await,
                None => write::run(arguments, path, permit.linked_file()),
            },
            (Operation::Edit(arguments), _, Some(path)) => {
                let (file, manner) = ((path, permit.linked_file()), self.manner);
                match buffers {
                    Some(buffers) => buffers::edit(arguments, file, manner, buffers).await,
                    None => edit::run(arguments, file, manner),
                }
            }
            (Operation::List(arguments), _, Some(path)) => list::run(arguments, path),
            (Operation::Mkdir(arguments), Target::Path(path), _) => folder::make(arguments, path).into(),
            (Operation::Rmdir(arguments), Target::Path(path), _) => folder::remove(arguments, path).into(),
            (Operation::Remove(arguments), Target::Path(path), _) => remove::run(arguments, path).into(),
            (Operation::Find(arguments), _, Some(path)) => {
                find::run(arguments, path, place, settings, run).await
            }
            (Operation::Grep(arguments), _, Some(path)) => {
                let may_show = |file: PathBuf| async move { permit.may_read(&file).await };
                grep::run(arguments, path, place, may_show, settings, run).await
            }
            _ => vfs::run(operation, target)
                .unwrap_or_else(not_what_was_judged)
                .into(),
        }
    }
}

fn not_what_was_judged() -> ToolOutput {
    ToolOutput::error("Nothing was done: the permit is for another kind of call than this tool makes.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_events::JOB_EXTRAS;
    use serde_json::json;

    fn tools() -> Vec<Arc<dyn Tool>> {
        operation_tools(&Profile::own(), ToolSettings::default())
    }

    #[test]
    fn the_own_profile_gives_one_tool_per_operation() {
        let tools = tools();
        let kinds: Vec<&OperationKind> = OperationKind::ALL.iter().collect();
        let kinds = kinds.into_iter().filter(|kind| **kind != OperationKind::Remove);
        assert_eq!(tools.len(), kinds.clone().count() + JOB_EXTRAS.len());
        for (tool, kind) in tools.iter().zip(kinds) {
            let spec = tool.spec();
            assert_eq!(spec.own_name, kind.name());
            assert_eq!(spec.operation, Some(*kind));
            assert_eq!(spec.source, "builtin");
        }
    }

    #[test]
    fn only_reading_needs_no_yes_and_only_what_changes_nothing_runs_beside_others() {
        let names = |wanted: fn(&ToolSpec) -> bool| -> Vec<String> {
            let tools = tools();
            let specs = tools.iter().map(|tool| tool.spec());
            // Tools for jobs work only on the session's own jobs.
            let specs = specs.filter(|spec| spec.operation.is_some() && wanted(spec));
            specs.map(|spec| spec.own_name.clone()).collect()
        };
        assert_eq!(
            names(|spec| spec.read_only),
            [
                "read",
                "list",
                "find",
                "grep",
                "vfs_list",
                "vfs_info",
                "cache_list"
            ]
        );
        assert_eq!(
            names(|spec| spec.parallel),
            [
                "read",
                "list",
                "find",
                "grep",
                "fetch",
                "vfs_list",
                "vfs_info",
                "cache_list"
            ]
        );
    }

    #[test]
    fn aliases_end_in_normalise_and_errors_name_the_argument() {
        let shell = &tools()[0];
        let Value::Object(arguments) = json!({"cmd": "ls", "timeout": "5"}) else {
            unreachable!()
        };
        assert!(
            shell.normalise(arguments).is_err(),
            "an alias is not in the schema, so its text stays text"
        );
        let Value::Object(arguments) = json!({"cmd": "ls", "timeout_seconds": "5"}) else {
            unreachable!()
        };
        assert_eq!(
            Value::Object(shell.normalise(arguments).unwrap()),
            json!({"command": "ls", "timeout_seconds": 5})
        );
        let Value::Object(arguments) = json!({"command": ["ls"]}) else {
            unreachable!()
        };
        let error = shell.normalise(arguments).unwrap_err();
        assert!(error.contains("`command` must be of type string"), "{error}");
    }
}
