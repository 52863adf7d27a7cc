//! A foreign tool: a program that reads its arguments and writes its result.
//!
//! A program may replace one of becket's own operations (`stand_in.rs`).

use std::sync::Arc;
use std::time::Duration;

use becket_agent::gate::{Permit, Target};
use becket_agent::provider::ToolFace;
use becket_agent::tool::{Handoff, NetworkUse, Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::{Face, OperationKind, Part};
use becket_hooks::{Cause, Failure, Finished, Invocation, Lane};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::stand_in::StandIn;

/// How far apart two processes may receive the same signal.
const SAME_MOMENT: Duration = Duration::from_millis(100);

/// Makes what a program gets besides its arguments, standard input and environment variables, from the text of the
/// arguments and the name of the context.
pub type Telling = Arc<dyn Fn(String, &str) -> (String, Vec<(String, String)>) + Send + Sync>;

/// A program as a tool.
pub struct ProgramTool {
    spec: ToolSpec,
    stands_in_for: Option<StandIn>,
    summary_arguments: Vec<String>,
    uses_network: bool,
    lane: Arc<dyn Lane>,
    telling: Telling,
    timeout: Duration,
}

/// A program's description for the model.
#[derive(Debug, Clone)]
pub struct ProgramFace {
    /// The tool's name.
    pub name: String,
    /// What the tool does.
    pub description: String,
    /// The JSON Schema of its arguments; `null` for none.
    pub parameters: Value,
    /// The tool's source, such as the name of a plugin.
    pub source: String,
    /// Whether the tool may run beside other calls.
    pub parallel: bool,
    /// Who speaks next after the tool, if it decides that. Such a program never runs.
    pub handoff: Option<Handoff>,
    /// The names of the arguments that describe a call in a few words.
    pub summary_arguments: Vec<String>,
    /// Whether the user has declared that the tool uses the network.
    pub uses_network: bool,
}

impl ProgramTool {
    /// A tool from a program.
    pub fn new(face: ProgramFace, lane: Arc<dyn Lane>, telling: Telling, timeout: Duration) -> Self {
        let parameters = match face.parameters {
            // Providers want a schema, also for a tool without arguments.
            Value::Null => json!({"type": "object", "properties": {}}),
            parameters => parameters,
        };
        let spec = ToolSpec {
            own_name: face.name.clone(),
            face: ToolFace {
                name: face.name,
                description: face.description,
                parameters: parameters.into(),
                operation: None,
            },
            operation: None,
            source: face.source,
            read_only: false,
            parallel: face.parallel,
            handoff: face.handoff,
            extra_arguments: Vec::new(),
        };
        Self {
            spec,
            stands_in_for: None,
            summary_arguments: face.summary_arguments,
            uses_network: face.uses_network,
            lane,
            telling,
            timeout,
        }
    }

    /// The tool in place of one of becket's own: it is judged as that one is.
    pub fn standing_in_for(mut self, face: Face) -> Self {
        self.stands_in_for = Some(StandIn::take_place(face, &mut self.spec));
        self
    }

    async fn perform(&self, permit: Permit, run: ToolRun) -> ToolOutput {
        let arguments = match self.judged_arguments(&permit) {
            Ok(arguments) => arguments,
            Err(reason) => return ToolOutput::error(reason),
        };
        if let Some(words) = self
            .spec
            .handoff
            .and_then(|handoff| last_words(handoff, &arguments))
        {
            return ToolOutput::text(words);
        }
        let (input, environment) =
            (self.telling)(Value::Object(arguments).to_string(), &permit.scope().context_name);
        // A command runs where it was judged to run.
        let directory = match (self.spec.operation, permit.target()) {
            (Some(OperationKind::Shell), Target::Path(directory)) => directory.clone(),
            _ => permit.directory().to_path_buf(),
        };
        let invocation = Invocation {
            input: input.into(),
            environment,
            directory,
            timeout: self.timeout,
        };
        tokio::select! {
            biased;
            // Dropping the run ends the program with everything it started.
            () = run.cancel.cancelled() => cancelled(),
            result = self.lane.run(invocation) => match result {
                Ok(finished) => report(finished),
                Err(failure) if failure.cause == Cause::KilledBySignal && is_cancelled_now(&run).await => cancelled(),
                Err(failure) => broken(&failure),
            },
        }
    }

    /// The arguments that were judged, under the program's own names.
    fn judged_arguments(&self, permit: &Permit) -> Result<Map<String, Value>, String> {
        match &self.stands_in_for {
            Some(stand_in) => stand_in.judged(&self.spec, permit),
            None => Ok(permit.arguments().clone()),
        }
    }
}

impl Tool for ProgramTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        match &self.stands_in_for {
            None => Ok(arguments),
            Some(stand_in) => stand_in.normalise(&self.spec, arguments),
        }
    }

    fn summary(&self, arguments: &Map<String, Value>) -> Option<String> {
        let arguments = match &self.stands_in_for {
            None => arguments.clone(),
            Some(stand_in) => stand_in.foreign(arguments),
        };
        let words: Vec<String> = self
            .summary_arguments
            .iter()
            .filter_map(|name| arguments.get(name))
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    fn network(&self, arguments: &Map<String, Value>) -> NetworkUse {
        if !self.uses_network {
            return NetworkUse::None;
        }
        named_address(arguments)
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.perform(permit, run))
    }
}

/// The address in the arguments of a tool that uses the network. It may use any that it is given, so there can be only
/// one.
pub fn named_address(arguments: &Map<String, Value>) -> NetworkUse {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    };
    let mut named = ["url", "uri"]
        .iter()
        .filter_map(|name| arguments.get(*name))
        .filter(|value| !is_empty(value));
    match (named.next(), named.next()) {
        (None, _) => NetworkUse::Unnamed,
        (Some(one), Some(other)) if one != other => {
            NetworkUse::Unclear("`url` and `uri` are two different addresses; give one of them".into())
        }
        (Some(Value::String(url)), _) => NetworkUse::Address(url.clone()),
        // The program may find an address in any value, so it must be one that can be judged.
        (Some(other), _) => NetworkUse::Address(other.to_string()),
    }
}

/// The message of a tool that decides at once who speaks next, and for that does not run.
fn last_words(handoff: Handoff, arguments: &Map<String, Value>) -> Option<String> {
    let name = match handoff {
        Handoff::Person => "message",
        Handoff::Model => "prompt",
        Handoff::ModelLater | Handoff::Member => return None,
    };
    let words = arguments.get(name).and_then(Value::as_str);
    Some(words.unwrap_or_default().to_owned())
}

fn cancelled() -> ToolOutput {
    ToolOutput::error("[ended: the call was cancelled]")
}

/// Whether the signal that ended a program has also cancelled the run: at the terminal, Ctrl-C goes to both.
async fn is_cancelled_now(run: &ToolRun) -> bool {
    tokio::time::timeout(SAME_MOMENT, run.cancel.cancelled())
        .await
        .is_ok()
}

/// The output of a program that has ended.
fn report(finished: Finished) -> ToolOutput {
    let Finished {
        stdout, stderr, code, ..
    } = finished;
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    let details = Some(json!({"exit_code": code, "stderr": stderr}));
    let text = match code {
        0 => stdout,
        code => {
            let stderr = match stderr.trim_end() {
                "" => String::new(),
                stderr => format!("[standard error]\n{stderr}\n"),
            };
            format!("{}{stderr}[exit code {code}]", with_line_end(stdout))
        }
    };
    ToolOutput {
        content: vec![Part::text(text)],
        is_error: code != 0,
        details,
        ends_run: false,
    }
}

/// The output for a program that did not end by itself.
fn broken(failure: &Failure) -> ToolOutput {
    let what = match failure.cause {
        Cause::TimedOut => format!("[{failure}]"),
        _ => format!("[the program failed: {failure}]"),
    };
    let (stdout, stderr) = (failure.stdout.clone(), failure.stderr.clone());
    ToolOutput::error(format!(
        "{}{}{what}",
        with_line_end(stdout),
        with_line_end(stderr)
    ))
}

fn with_line_end(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_hides_behind_another() {
        let metadata = "http://169.254.169.254/";
        let judged = || NetworkUse::Address(metadata.into());
        for (arguments, expected) in [
            (json!({"query": "x"}), Some(NetworkUse::Unnamed)),
            (json!({"url": " ", "uri": null}), Some(NetworkUse::Unnamed)),
            (json!({"url": metadata}), Some(judged())),
            (json!({"uri": metadata}), Some(judged())),
            (json!({"url": "", "uri": metadata}), Some(judged())),
            (json!({"url": null, "uri": metadata}), Some(judged())),
            (json!({"url": metadata, "uri": metadata}), Some(judged())),
            (
                json!({"url": [metadata]}),
                Some(NetworkUse::Address(format!("[\"{metadata}\"]"))),
            ),
            (json!({"url": "http://a.example/", "uri": metadata}), None),
            (json!({"url": [], "uri": metadata}), None),
        ] {
            let found = named_address(arguments.as_object().expect("an object"));
            match expected {
                Some(expected) => assert_eq!(found, expected, "{arguments}"),
                None => assert!(matches!(found, NetworkUse::Unclear(_)), "{arguments}: {found:?}"),
            }
        }
    }
}
