//! The operations as tools: a face of a profile in front, one of becket's implementations behind.

use std::path::PathBuf;
use std::sync::Arc;

use becket_agent::gate::{Permit, Target};
use becket_agent::provider::ToolFace;
use becket_agent::tool::{BUILTIN, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::{Effect, Face, Operation, Profile};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::place::Place;
use crate::settings::ToolSettings;
use crate::shell::Streams;
use crate::{edit, fetch, find, grep, list, read, shell, vfs, write};

/// One tool for each face of the profile.
pub fn operation_tools(profile: &Profile, settings: ToolSettings) -> Vec<Arc<dyn Tool>> {
    let settings = Arc::new(settings);
    profile
        .faces
        .iter()
        .map(|face| Arc::new(OperationTool::new(face.clone(), Arc::clone(&settings))) as Arc<dyn Tool>)
        .collect()
}

struct OperationTool {
    spec: ToolSpec,
    face: Face,
    settings: Arc<ToolSettings>,
}

impl OperationTool {
    fn new(face: Face, settings: Arc<ToolSettings>) -> Self {
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
        Self { spec, face, settings }
    }
}

impl Tool for OperationTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let operation = self.face.read_call(arguments)?;
        Ok(operation.arguments())
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match permit.operation() {
                Some(operation) if operation.kind() == self.face.operation => {
                    let answer = perform(operation, &permit, &self.face, &self.settings, run).await;
                    answer.told_by(&self.face, operation)
                }
                _ => not_what_was_judged(),
            }
        })
    }
}

async fn perform(
    operation: &Operation,
    permit: &Permit,
    face: &Face,
    settings: &ToolSettings,
    run: ToolRun,
) -> Answer {
    let target = permit.target();
    let place = Place::of(target);
    match (operation, target, target.file()) {
        (Operation::Shell(arguments), Target::Path(path), _) => {
            let streams = match face.output {
                Some(_) => Streams::Apart,
                None => Streams::Together,
            };
            shell::run(arguments, path, streams, settings, run).await
        }
        (Operation::Fetch(arguments), Target::Web(judged), _) => {
            let may_fetch = |from, url: String| async move { permit.may_fetch(&from, &url).await };
            fetch::run(arguments, judged, may_fetch, settings, run).await
        }
        (Operation::Read(arguments), _, Some(path)) if place == Place::Cache => {
            read::run_cached(arguments, path)
        }
        (Operation::Read(arguments), _, Some(path)) => read::run(arguments, path),
        (Operation::Write(arguments), _, Some(path)) => write::run(arguments, path).into(),
        (Operation::Edit(arguments), _, Some(path)) => edit::run(arguments, path).into(),
        (Operation::List(arguments), _, Some(path)) => list::run(arguments, path),
        (Operation::Find(arguments), _, Some(path)) => find::run(arguments, path, place, settings, run).await,
        (Operation::Grep(arguments), _, Some(path)) => {
            let may_show = |file: PathBuf| async move { permit.may_read(&file).await };
            grep::run(arguments, path, place, may_show, settings, run).await
        }
        _ => vfs::run(operation, target)
            .unwrap_or_else(not_what_was_judged)
            .into(),
    }
}

fn not_what_was_judged() -> ToolOutput {
    ToolOutput::error("Nothing was done: the permit is for another kind of call than this tool makes.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_events::OperationKind;
    use serde_json::json;

    fn tools() -> Vec<Arc<dyn Tool>> {
        operation_tools(&Profile::own(), ToolSettings::default())
    }

    #[test]
    fn the_own_profile_gives_one_tool_per_operation() {
        let tools = tools();
        assert_eq!(tools.len(), OperationKind::ALL.len());
        for (tool, kind) in tools.iter().zip(OperationKind::ALL) {
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
            let specs = tools.iter().map(|tool| tool.spec()).filter(|spec| wanted(spec));
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
