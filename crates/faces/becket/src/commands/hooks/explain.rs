//! `becket hooks explain`: what would happen to a tool call, step by step, and who decides.
//!
//! The call is judged by a real gate, and the permit is dropped. So the steps shown are those that the gate took, not a
//! second description of the rules, which could differ.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use becket_agent::Hooks;
use becket_agent::front::{Front, FrontUpdate, Question, UserAnswer, user_at};
use becket_agent::gate::{Applicant, Gate, Judgement, Step};
use becket_agent::tool::{Tool, ToolSpec};
use becket_agent::vfs::Vfs;
use becket_events::{
    ApprovalSource, Effect, Event, EventId, PreFetch, PreFileRead, PreFileWrite, PreShell, PreTool,
};
use becket_face_kit::cancellable;
use becket_hooks::{DispatchTrace, ReportedFailure, Witness, nearest};
use becket_system::{CliError, Exit, Surroundings, harmless, in_ms};
use becket_workbench::{Lab, NotAsked, PayloadOverrides, effect_words, reasons, verdict_words};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::jq_report::{JqReport, in_words};
use crate::commands::tool_arguments;
use crate::lab::lab;
use crate::options::Options;
use crate::printing::print;

/// Judges the call and shows every step. The tool does not run.
pub fn run(
    options: &Options,
    tool: &str,
    arguments: &str,
    dry: bool,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let arguments = tool_arguments(arguments)?;
    let (mut jq, surroundings) = JqReport::begin(options, surroundings)?;
    let surroundings = &surroundings;
    cancellable(options, surroundings, async |cancel| {
        let diary = Arc::new(Diary::default());
        let lab = lab(options, surroundings, Some(diary.clone()), &cancel)
            .await?
            .begin()
            .await;
        if dry {
            lab.engine().hold_back();
        }
        let judged = judge(&lab, &diary, tool, arguments, cancel.clone()).await;
        lab.close(surroundings).await?;
        if cancel.is_cancelled() {
            return Err(CliError::cancelled());
        }
        let explained = Explained {
            jq: jq.news(),
            ..judged?
        };
        match options.run.json {
            true => print(&format!("{}\n", explained.json(dry)))?,
            false => print(&harmless(&explained.text(dry)))?,
        }
        Ok(Exit::Answered)
    })
}

/// The steps of the gate, in order.
#[derive(Default)]
struct Diary(Mutex<Vec<Happened>>);

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Happened {
    Step(Step),
    Asked(Box<DispatchTrace>),
    Person { person: Value },
}

impl Diary {
    fn add(&self, happened: Happened) {
        let mut diary = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        diary.push(happened);
    }

    fn all(&self) -> Vec<Happened> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Witness for Diary {
    fn dispatched(&self, trace: DispatchTrace) {
        self.add(Happened::Asked(Box::new(trace)));
    }

    fn failed(&self, _: &ReportedFailure) {}
}

/// A front that does not ask the user: that there would be a question is the explanation.
struct NobodyThere(Arc<Diary>);

impl Front for NobodyThere {
    fn show(&self, _: FrontUpdate<'_>) {}

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        let person = json!({
            "reason": question.reason,
            "handlers": question.handlers,
            "metadata": question.metadata,
        });
        self.0.add(Happened::Person { person });
        Box::pin(async { UserAnswer::Nobody })
    }
}

/// A call and the decision about it.
struct Explained {
    tool_name: String,
    called_as: String,
    arguments: Map<String, Value>,
    /// The arguments after all rewriting.
    judged: Map<String, Value>,
    happened: Vec<Happened>,
    /// The hooks that do not match the call: of `pre_tool`, and of the event about what the call touches.
    others: Vec<NotAsked>,
    /// Which jq has answered the hooks, and how often.
    jq: BTreeMap<String, usize>,
}

async fn judge(
    lab: &Lab,
    diary: &Arc<Diary>,
    name: &str,
    arguments: Map<String, Value>,
    cancel: CancellationToken,
) -> Result<Explained, CliError> {
    let agent = &lab.assembled.agent;
    let member = agent
        .team
        .as_ref()
        .and_then(|team| team.member(&agent.settings.agent_name));
    let tool = find(member.map_or(&agent.tools, |member| &member.tools), name)?;
    let text = Value::Object(arguments.clone()).to_string();
    let tool = tool.in_its_place(&text).unwrap_or(tool);
    let arguments = tool
        .normalise(arguments)
        .map_err(|why| CliError::usage(format!("the arguments of {name} cannot be read: {why}")))?;
    let user = user_at(Arc::new(NobodyThere(diary.clone())));
    let vfs = Vfs::new(&agent.settings.vfs);
    let listener = diary.clone();
    let gate = Gate::new(
        agent.settings.approval.clone(),
        &agent.settings.cwd,
        vfs,
        user.clone(),
    )
    .telling(Arc::new(move |step| listener.add(Happened::Step(step))));
    let hooks = Hooks::new(agent.engine.clone(), user, cancel, lab.scope());
    let applicant = Applicant {
        tool_call_id: "call-1",
        tool: &&*tool,
        arguments: &arguments,
        parent_tool_call_id: None,
    };
    // The permit is dropped: nothing runs.
    let judged = match gate.judge(&hooks, applicant).await {
        Judgement::Permitted(permit) => permit.arguments().clone(),
        Judgement::Refused { arguments, .. } => arguments,
    };
    let happened = diary.all();
    Ok(Explained {
        others: not_asked(lab, tool.spec(), &judged, &happened)?,
        tool_name: tool.spec().own_name.clone(),
        called_as: tool.spec().face.name.clone(),
        arguments,
        judged,
        happened,
        jq: BTreeMap::new(),
    })
}

/// The hooks that were not asked about a call although their event happened, each with the reason.
fn not_asked(
    lab: &Lab,
    spec: &ToolSpec,
    judged: &Map<String, Value>,
    happened: &[Happened],
) -> Result<Vec<NotAsked>, CliError> {
    let overrides = |more: Vec<(&str, Value)>| {
        let names = [
            ("tool_name", spec.own_name.clone().into()),
            ("called_as", spec.face.name.clone().into()),
        ];
        let fields = more.into_iter().chain(names);
        PayloadOverrides {
            fields: fields.map(|(name, value)| (name.to_owned(), value)).collect(),
            set: Vec::new(),
        }
    };
    let call = overrides(vec![("arguments", judged.clone().into())]);
    let mut others = lab.not_asked(PreTool::ID, &call)?;
    if let Some((event, fields)) = touched(spec, judged, happened) {
        let was_asked = |name: &str| {
            happened.iter().any(|happened| match happened {
                Happened::Asked(trace) => {
                    trace.event == event && trace.runs.iter().any(|run| run.handler == name)
                }
                _ => false,
            })
        };
        let of_event = lab.not_asked(event, &overrides(fields))?.into_iter();
        others.extend(of_event.filter(|(info, _)| !was_asked(&info.name)));
    }
    Ok(others)
}

/// The event about what a call touches, with its fields; `None` if the call did not get so far.
fn touched<'a>(
    spec: &ToolSpec,
    judged: &Map<String, Value>,
    happened: &[Happened],
) -> Option<(EventId, Vec<(&'a str, Value)>)> {
    let target = happened.iter().find_map(|happened| match happened {
        Happened::Step(Step::Resolved { target, .. }) => target.clone(),
        _ => None,
    })?;
    if target.starts_with("vfs:") {
        return None;
    }
    let given = |name: &str| judged.get(name).cloned().unwrap_or_default();
    Some(match spec.operation?.effect() {
        Effect::Execute => (
            PreShell::ID,
            vec![("command", given("command")), ("directory", target.into())],
        ),
        Effect::Read => (PreFileRead::ID, vec![("path", target.into())]),
        Effect::Write => (
            PreFileWrite::ID,
            vec![("path", target.into()), ("content", given("content"))],
        ),
        Effect::Network => (PreFetch::ID, vec![("url", target.into())]),
    })
}

/// The tool of that name, as the model or becket calls it.
fn find(tools: &[Arc<dyn Tool>], name: &str) -> Result<Arc<dyn Tool>, CliError> {
    let called = tools.iter().find(|tool| tool.spec().face.name == name);
    let found = called.or_else(|| tools.iter().find(|tool| tool.spec().own_name == name));
    found.cloned().ok_or_else(|| {
        let error = CliError::usage(format!("there is no tool `{name}`"));
        let known = tools.iter().map(|tool| tool.spec().face.name.as_str());
        match nearest(name, known.clone()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("there are {}", known.collect::<Vec<_>>().join(", "))),
        }
    })
}

impl Explained {
    fn json(&self, dry: bool) -> Value {
        json!({
            "tool_name": self.tool_name,
            "called_as": self.called_as,
            "arguments": self.arguments,
            "judged_arguments": self.judged,
            "hooks_asked": !dry,
            "steps": self.happened,
            "not_asked": self.others.iter().map(|(info, reason)| json!({
                "name": info.name, "source": info.source, "dialect": info.dialect, "reason": reason,
            })).collect::<Vec<_>>(),
            "decision": self.decision(),
            "jq": self.jq,
        })
    }

    fn decision(&self) -> Option<&Step> {
        self.happened.iter().rev().find_map(|happened| match happened {
            Happened::Step(step @ Step::Decided { .. }) => Some(step),
            _ => None,
        })
    }

    fn text(&self, dry: bool) -> String {
        let mut text = format!("{} {}\n", self.tool_name, Value::Object(self.arguments.clone()));
        text.push_str(match dry {
            true => "no hook runs, so this is what happens if none of them answers\n\n",
            false => "hooks run for real; the tool does not run\n\n",
        });
        for (index, happened) in self.happened.iter().enumerate() {
            text.push_str(&format!("{}. {}\n", index + 1, happened.text()));
        }
        for line in reasons(&self.others) {
            text.push_str(&format!("{line}\n"));
        }
        if !self.jq.is_empty() {
            text.push_str(&format!("{}\n", in_words(&self.jq)));
        }
        text
    }
}

impl Happened {
    fn text(&self) -> String {
        match self {
            Self::Step(step) => step_text(step),
            Self::Asked(trace) => asked_text(trace),
            Self::Person { person } => {
                let reason = person["reason"].as_str();
                let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                format!("you would be asked{reason}")
            }
        }
    }
}

fn step_text(step: &Step) -> String {
    match step {
        Step::Resolved { target, arguments } => {
            let target = target.as_deref().unwrap_or("nothing that has a name");
            format!("it touches {target}, with {}", Value::Object(arguments.clone()))
        }
        Step::Rules { verdict, rule } => match rule {
            Some(rule) => format!("rules: {verdict} ({rule})"),
            None => "rules: none match".into(),
        },
        Step::UrlPolicy { verdict, rule, class } => {
            let place = class.unwrap_or("open internet");
            format!("URL policy: {verdict} ({rule}), the address leads to: {place}")
        }
        Step::Question {
            reason,
            handlers,
            insists,
        } => {
            let who = match handlers.as_slice() {
                [] => String::new(),
                some => format!(" (requested by {})", some.join(", ")),
            };
            let why = reason.as_deref().unwrap_or("not approved yet");
            let alone = if *insists {
                "it needs your approval (`--yes` is not enough)"
            } else {
                "it needs approval"
            };
            format!("{alone}{who}: {why}")
        }
        Step::Decided {
            decision,
            source,
            handlers,
            reason,
        } => {
            let by = match handlers.as_slice() {
                [] => by_words(*source),
                some => format!("{}, {}", by_words(*source), some.join(", ")),
            };
            let why = reason
                .as_ref()
                .map_or(String::new(), |reason| format!(": {reason}"));
            format!("decision: {} by {by}{why}", word(decision))
        }
    }
}

fn asked_text(trace: &DispatchTrace) -> String {
    let mut text = trace.event.info().name.to_owned();
    for run in &trace.runs {
        let effect = effect_words(&run.effect);
        text.push_str(&format!(
            "\n     {} ({}, {})  {effect}  {}",
            run.handler,
            run.dialect.name,
            run.source,
            in_ms(run.duration_us)
        ));
    }
    if trace.verdict.is_some() {
        text.push_str(&format!("\n     {}", verdict_words(trace.verdict.as_ref())));
    }
    if let (Some(original), Some(effective)) = (&trace.original, &trace.effective) {
        let parsed =
            |json: &becket_events::Json| serde_json::from_str::<Value>(json.text()).unwrap_or_default();
        let (original, effective) = (parsed(original), parsed(effective));
        text.push_str(&format!(
            "\n     arguments: {} → {}",
            original["arguments"], effective["arguments"]
        ));
    }
    text
}

/// Who has decided.
fn by_words(source: ApprovalSource) -> String {
    match source {
        ApprovalSource::Headless => "default, as no one can be asked here".to_owned(),
        source => word(source),
    }
}

/// A value of an enum as it is written in JSON.
fn word(value: impl Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().replace('_', " ")
}
