//! The tools of one answer: judged in order, run beside each other where they may, with results in call order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_events::{
    CallRecord, Json, Message, PostTool, PostToolPayload, PostVfsWrite, PostVfsWritePayload, ToolCall,
    ToolStart, ToolStartPayload, ToolUpdate, ToolUpdatePayload, text_of,
};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::audit::{AuditRecord, Audited};
use crate::family::Beside;
use crate::front::{Company, Front, Sight};
use crate::gate::{Applicant, Gate, Judgement, Permit, VfsChange};
use crate::handoff::Word;
use crate::hooks::Hooks;
use crate::message::detailed_result;
use crate::output::{OutputOf, Settled};
use crate::repetition::Answered;
use crate::settings::AgentSettings;
use crate::store::{Span, SpanKind};
use crate::subagent::Parent;
use crate::tool::{Progress, Tool, ToolOutput, ToolRun};

/// How many tools of one answer run.
const MAX_CALLS: usize = 100;

/// How long a tool may take to end after a cancel; then it is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(3);

/// What running tools needs.
pub(crate) struct Batch<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) gate: &'a Gate,
    pub(crate) front: &'a dyn Front,
    pub(crate) settings: &'a AgentSettings,
    /// The tools that were offered with the request.
    pub(crate) tools: &'a [Arc<dyn Tool>],
    /// The call from within which these are made.
    pub(crate) within: Option<&'a str>,
    /// The session, for tools that work in its name.
    pub(crate) parent: &'a Parent,
}

impl<'a> Batch<'a> {
    /// The calls of a session in the middle of its turn.
    pub(crate) fn of(parent: &'a Parent) -> Self {
        Self {
            hooks: &parent.hooks,
            gate: &parent.gate,
            front: &*parent.agent.front,
            settings: &parent.agent.settings,
            tools: &parent.tools,
            within: None,
            parent,
        }
    }
}

/// A call after it was judged.
struct JudgedCall<'a> {
    call: &'a ToolCall,
    tool: Option<Arc<dyn Tool>>,
    own_name: String,
    original: Map<String, Value>,
    arguments: Map<String, Value>,
    /// The permit, or what the model is told instead.
    permit: Result<Permit, ToolOutput>,
    started: Instant,
    company: Company,
}

/// A call that is over.
pub(crate) struct FinishedCall {
    pub(crate) record: CallRecord,
    pub(crate) message: Message,
    /// Who has the word, if the call ran and said so.
    pub(crate) word: Option<Word>,
    /// Whether the model need not be asked again on its account.
    pub(crate) ends_run: bool,
    original: Map<String, Value>,
    settled: Settled,
    ran: bool,
    /// What it changed in the virtual file system.
    changes: Vec<VfsChange>,
    duration: Duration,
}

impl FinishedCall {
    /// The call with its result, as the model knows both.
    pub(crate) fn answering(&self, call: &ToolCall) -> Answered {
        Answered {
            tool_name: call.name.clone(),
            arguments: call.arguments.clone(),
            result: self.settled.full_text.clone(),
        }
    }

    /// The whole output, also where the model would see only a part.
    pub(crate) fn output(&self) -> &str {
        &self.settled.full_text
    }

    /// Whether the tool ran.
    pub(crate) fn ran(&self) -> bool {
        self.ran
    }
}

/// A batch that is over.
pub(crate) struct FinishedBatch {
    pub(crate) calls: Vec<FinishedCall>,
    /// Whether the person wants everything to stop.
    pub(crate) cancelled: bool,
}

/// What hooks want after the tools have run.
#[derive(Default)]
pub(crate) struct AfterTools {
    pub(crate) stop: Option<String>,
    pub(crate) context: Vec<String>,
}

impl Batch<'_> {
    /// Judges and runs the calls in order. Calls that may run beside each other are judged one after another and then
    /// run together; one that may not is judged when all before it have ended, so that nothing they did can change
    /// what its judges saw. With a `hindrance` none runs, and the model is told why.
    pub(crate) async fn run(&self, calls: &[ToolCall], hindrance: Option<&str>) -> FinishedBatch {
        let (calls, rest) = calls.split_at(calls.len().min(MAX_CALLS));
        let mut finished = Vec::with_capacity(calls.len() + rest.len());
        let mut cancelled = false;
        let together = |one: &ToolCall, next: &ToolCall| {
            let beside = self.beside(one);
            matches!(beside, Beside::Readers | Beside::Agents) && beside == self.beside(next)
        };
        for group in calls.chunk_by(together) {
            let family = &self.parent.family;
            let _turn = family.turn(self.beside(&group[0]), self.hooks.cancel()).await;
            let mut judged = Vec::with_capacity(group.len());
            for call in group {
                cancelled |= self.hooks.cancel().is_cancelled();
                let hindrance = if cancelled { Some("cancelled") } else { hindrance };
                let (mut call, cancels) = self.judge(call, hindrance).await;
                if group.len() > 1 {
                    call.company = Company::Others;
                }
                cancelled |= cancels;
                judged.push(call);
            }
            finished
                .extend(join_all(judged.into_iter().map(|call| self.finish(call.unless(cancelled)))).await);
        }
        let too_many =
            format!("not run: at most {MAX_CALLS} tools of one answer are; ask again for this one");
        for call in rest {
            let (judged, _) = self.judge(call, Some(&too_many)).await;
            finished.push(self.finish(judged).await);
        }
        FinishedBatch {
            calls: finished,
            cancelled: cancelled || self.hooks.cancel().is_cancelled(),
        }
    }

    fn beside(&self, call: &ToolCall) -> Beside {
        match self.tool(call) {
            _ if self.parent.is_in_passing() => Beside::OwnCalls,
            Some(tool) if tool.asks_agents() => Beside::Agents,
            Some(tool) if tool.makes_calls() => Beside::OwnCalls,
            Some(tool) if !tool.spec().parallel => Beside::Nobody,
            // A call to an unknown tool does nothing.
            _ => Beside::Readers,
        }
    }

    /// Tells hooks about every result, in call order, once it is stored.
    pub(crate) async fn after(&self, calls: &[FinishedCall]) -> AfterTools {
        let mut after = AfterTools::default();
        for call in calls {
            let payload = || PostToolPayload {
                tool_call_id: call.record.tool_call_id.clone(),
                tool_name: call.record.tool_name.clone(),
                called_as: call.record.called_as.clone(),
                operation: call.record.operation,
                arguments: call.record.arguments.clone(),
                original_arguments: call.original.clone(),
                result: call.settled.full_text.clone(),
                is_error: call.settled.is_error,
                ran: call.ran,
                cached: call.settled.cached,
                duration_ms: call.duration.as_millis() as u64,
            };
            let reply = self.hooks.tell::<PostTool>(payload).await;
            after.stop = after.stop.or(reply.stop.get());
            after.context.extend(reply.context);
            self.tell_changes(call).await;
        }
        after
    }

    /// Tells hooks what a call has changed in the virtual file system.
    async fn tell_changes(&self, call: &FinishedCall) {
        for change in &call.changes {
            let payload = || PostVfsWritePayload {
                tool_call_id: call.record.tool_call_id.clone(),
                tool_name: call.record.tool_name.clone(),
                called_as: call.record.called_as.clone(),
                path: change.address.to_string(),
                caller: self.hooks.scope().context_name.clone(),
                removed: change.removed,
            };
            self.hooks.tell::<PostVfsWrite>(payload).await;
        }
    }

    /// Finds the tool, reads the arguments, and asks the gate. Also says whether everything is to stop.
    async fn judge<'c>(&self, call: &'c ToolCall, hindrance: Option<&str>) -> (JudgedCall<'c>, bool) {
        let started = Instant::now();
        let tool = self.tool(call);
        let known = match &tool {
            None => Err(self.unknown_tool(&call.name)),
            Some(tool) => read_arguments(&call.arguments)
                .and_then(|arguments| tool.normalise(arguments))
                .map(|arguments| (Arc::clone(tool), arguments)),
        };
        let normalised = known.as_ref().ok().map(|(_, arguments)| arguments);
        self.hooks
            .tell::<ToolStart>(|| start_payload(call, tool.as_deref(), normalised))
            .await;
        let read = match hindrance {
            Some(words) => Err(words.to_string()),
            None => known,
        };
        let own_name = tool
            .as_ref()
            .map_or(&call.name, |tool| &tool.spec().own_name)
            .clone();
        let (original, arguments, permit, cancels) = match read {
            Ok((tool, original)) => {
                let (arguments, permit, cancels) = self.ask_gate(call, &*tool, &original).await;
                (original, arguments, permit, cancels)
            }
            Err(words) => {
                self.show_refusal(&own_name, &words, &[]);
                (Map::new(), Map::new(), Err(ToolOutput::error(words)), false)
            }
        };
        (
            JudgedCall {
                call,
                tool,
                own_name,
                original,
                arguments,
                permit,
                started,
                company: Company::Alone,
            },
            cancels,
        )
    }

    /// The final arguments, the permit or what the model is told instead, and whether everything is to stop.
    async fn ask_gate(
        &self,
        call: &ToolCall,
        tool: &dyn Tool,
        arguments: &Map<String, Value>,
    ) -> (Map<String, Value>, Result<Permit, ToolOutput>, bool) {
        let tool_name = tool.spec().own_name.as_str();
        self.front.show(Sight::ToolCall {
            tool_name,
            arguments,
            summary: tool.summary(arguments).as_deref(),
        });
        let applicant = Applicant {
            tool_call_id: &call.id,
            tool,
            arguments,
            parent_tool_call_id: self.within,
        };
        match self.gate.judge(self.hooks, applicant).await {
            Judgement::Permitted(permit) => {
                let judged = permit.arguments().clone();
                self.show_change(tool, arguments, &judged);
                (judged, Ok(permit), false)
            }
            Judgement::Refused {
                reason,
                arguments: judged,
                handlers,
                cancelled,
            } => {
                self.show_change(tool, arguments, &judged);
                self.show_refusal(tool_name, &reason, &handlers);
                let words = ToolOutput::error((self.settings.wording.refused)(&reason));
                (judged, Err(words), cancelled)
            }
        }
    }

    /// Shows what was judged where that is not what the model wrote.
    fn show_change(&self, tool: &dyn Tool, original: &Map<String, Value>, judged: &Map<String, Value>) {
        if judged != original {
            self.front.show(Sight::Changed {
                tool_name: &tool.spec().own_name,
                arguments: judged,
                summary: tool.summary(judged).as_deref(),
            });
        }
    }

    /// The tool that makes the call.
    fn tool(&self, call: &ToolCall) -> Option<Arc<dyn Tool>> {
        let named = self
            .tools
            .iter()
            .find(|tool| tool.spec().face.name == call.name)?;
        Some(
            named
                .in_its_place(&call.arguments)
                .unwrap_or_else(|| Arc::clone(named)),
        )
    }

    fn show_refusal(&self, tool_name: &str, reason: &str, handlers: &[String]) {
        self.front.show(Sight::Refused {
            tool_name,
            reason,
            handlers,
        });
    }

    fn show_result(
        &self,
        tool_name: &str,
        arguments: &Map<String, Value>,
        summary: Option<&str>,
        company: Company,
        settled: &Settled,
    ) {
        self.front.show(Sight::ToolResult {
            tool_name,
            arguments,
            summary,
            company,
            output: &text_of(&settled.content),
            is_error: settled.is_error,
        });
    }

    fn unknown_tool(&self, name: &str) -> String {
        let is_too_deep = |tool: &Arc<dyn Tool>| tool.asks_agents() && tool.spec().face.name == name;
        if self.parent.agent.tools.iter().any(is_too_deep) && self.parent.is_deepest() {
            return self.parent.too_deep();
        }
        let known = self.tools.iter().map(|tool| tool.spec().face.name.as_str());
        let hint = match becket_hooks::nearest(name, known) {
            Some(near) => format!("; did you mean `{near}`?"),
            None if self.parent.depth > 0 => "; a sub-agent has only the tools that it was given".into(),
            None => String::new(),
        };
        (self.settings.wording.unknown_tool)(name, &hint)
    }

    async fn finish(&self, judged: JudgedCall<'_>) -> FinishedCall {
        let JudgedCall {
            call,
            tool,
            own_name,
            original,
            arguments,
            permit,
            started,
            company,
        } = judged;
        let operation = tool.as_ref().and_then(|tool| tool.spec().operation);
        let handoff = tool.as_ref().and_then(|tool| tool.spec().handoff);
        let summary = tool.as_ref().and_then(|tool| tool.summary(&arguments));
        let facts = facts_of(&permit, &original, &arguments);
        let (output, ran, changes) = match (permit, tool) {
            (Ok(permit), Some(tool)) => {
                let (output, changes) = self.run_noting_changes(&*tool, permit, &call.name).await;
                (output, true, changes)
            }
            (Err(words), _) => (words, false, Vec::new()),
            (Ok(_), None) => unreachable!("the gate judges only known tools"),
        };
        let word = handoff
            .filter(|_| ran && !output.is_error)
            .map(|handoff| Word::given(handoff, &arguments));
        let way = OutputOf {
            hooks: self.hooks,
            settings: self.settings,
            tool_call_id: &call.id,
            tool_name: &own_name,
            called_as: &call.name,
            operation,
            arguments: &arguments,
            ran,
        };
        let ends_run = output.ends_run;
        let settled = way.settle(output).await;
        let duration = started.elapsed();
        way.tell_end(&settled, duration).await;
        self.record(&call.id, &own_name, started, facts, settled.is_error);
        if ran {
            self.account_for(&call.id, &own_name, duration, settled.is_error);
            self.show_result(&own_name, &arguments, summary.as_deref(), company, &settled);
        }
        let is_error = settled.is_error;
        let (content, details) = (settled.content.clone(), settled.details.clone());
        let message = detailed_result(&call.id, &call.name, content, is_error, details);
        let record = CallRecord {
            tool_call_id: call.id.clone(),
            tool_name: own_name,
            called_as: call.name.clone(),
            operation,
            arguments,
            is_error,
        };
        FinishedCall {
            record,
            message,
            word,
            ends_run,
            original,
            settled,
            ran,
            changes,
            duration,
        }
    }

    /// Records that a call is over.
    fn record(&self, id: &str, own_name: &str, started: Instant, mut facts: Value, is_error: bool) {
        let scope = self.hooks.scope();
        facts["is_error"] = is_error.into();
        let span = Span {
            tool_call_id: Some(id.into()),
            parent_tool_call_id: self.within.map(Into::into),
            ..Span::over(SpanKind::ToolCall, own_name, scope.turn, started).with(facts)
        };
        self.parent.agent.store.span(&scope.session_id, span);
    }

    /// Writes down that something was done.
    fn account_for(&self, id: &str, own_name: &str, duration: Duration, is_error: bool) {
        self.hooks.ledger().operations.add();
        let operation = Audited::Operation {
            tool_call_id: id.into(),
            tool_name: own_name.into(),
            is_error,
            duration_us: duration.as_micros() as u64,
        };
        let record = AuditRecord::now(self.hooks.scope(), operation);
        self.parent.agent.store.audit(record);
    }

    /// Runs a call, and says what it has changed in the virtual file system: nothing, if it failed.
    async fn run_noting_changes(
        &self,
        tool: &dyn Tool,
        permit: Permit,
        called_as: &str,
    ) -> (ToolOutput, Vec<VfsChange>) {
        let changes = permit.vfs_changes().to_vec();
        let output = self.run_permitted(tool, permit, called_as).await;
        let changes = if output.is_error { Vec::new() } else { changes };
        (output, changes)
    }

    async fn run_permitted(&self, tool: &dyn Tool, permit: Permit, called_as: &str) -> ToolOutput {
        let (progress, mut pieces) = mpsc::unbounded_channel();
        let spec = tool.spec();
        let arguments = match self.hooks.listens::<ToolUpdate>() {
            true => permit.arguments().clone(),
            false => Map::new(),
        };
        let update = ToolUpdatePayload {
            tool_call_id: permit.tool_call_id().to_string(),
            tool_name: spec.own_name.clone(),
            called_as: called_as.into(),
            operation: spec.operation,
            arguments,
            output: String::new(),
            partial: None,
        };
        let report = async |news: Progress| {
            let payload = || {
                let update = update.clone();
                match news {
                    Progress::Output(output) => ToolUpdatePayload { output, ..update },
                    Progress::Partial(partial) => ToolUpdatePayload {
                        partial: Some(partial),
                        ..update
                    },
                }
            };
            self.hooks.tell::<ToolUpdate>(payload).await;
        };
        let mut run = tool.run(
            permit.taken(),
            ToolRun {
                progress,
                cancel: self.hooks.cancel().clone(),
                parent: Some(self.parent.clone()),
            },
        );
        let mut overdue = std::pin::pin!(async {
            self.hooks.cancel().cancelled().await;
            match tool.makes_calls() {
                // Such calls end by themselves, and what agents leave behind shall be whole.
                true => std::future::pending().await,
                false => tokio::time::sleep(CANCEL_GRACE).await,
            }
        });
        let output = loop {
            tokio::select! {
                Some(piece) = pieces.recv() => report(piece).await,
                output = &mut run => break output,
                () = &mut overdue => break ToolOutput::error("cancelled; the tool did not end in time"),
            }
        };
        while let Ok(piece) = pieces.try_recv() {
            report(piece).await;
        }
        output
    }
}

impl JudgedCall<'_> {
    /// A call that was allowed does not run any more when the person wants everything to stop.
    fn unless(mut self, cancelled: bool) -> Self {
        if cancelled && self.permit.is_ok() {
            self.permit = Err(ToolOutput::error("cancelled"));
        }
        self
    }
}

/// What the record says about a call that was judged.
fn facts_of(
    permit: &Result<Permit, ToolOutput>,
    original: &Map<String, Value>,
    judged: &Map<String, Value>,
) -> Value {
    let mut facts = json!({"arguments": shortened(original)});
    match permit {
        Ok(permit) => facts["allowed_by"] = json!(permit.source()),
        Err(words) => facts["refused"] = text_of(&words.content).into(),
    }
    if judged != original {
        facts["rewritten"] = shortened(judged);
    }
    facts
}

/// Arguments for the record, which the conversation holds in full: long texts are cut.
fn shortened(arguments: &Map<String, Value>) -> Value {
    const LONGEST: usize = 400;
    let short = |value: &Value| match value {
        Value::String(text) if text.len() > LONGEST => {
            let kept: String = text.chars().take(LONGEST).collect();
            Value::String(format!("{kept}… ({} bytes)", text.len()))
        }
        Value::Array(_) | Value::Object(_) if value.to_string().len() > LONGEST => {
            Value::String(format!("({} bytes)", value.to_string().len()))
        }
        other => other.clone(),
    };
    let short = arguments.iter().map(|(name, value)| (name.clone(), short(value)));
    Value::Object(short.collect())
}

fn start_payload(
    call: &ToolCall,
    tool: Option<&dyn Tool>,
    normalised: Option<&Map<String, Value>>,
) -> ToolStartPayload {
    // Arguments that are no JSON are shown as the text that they are.
    let arguments = Json::parse(call.arguments.clone())
        .unwrap_or_else(|_| Json::from(Value::String(call.arguments.clone())));
    ToolStartPayload {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        own_name: tool.map(|tool| tool.spec().own_name.clone()),
        operation: tool.and_then(|tool| tool.spec().operation),
        arguments,
        normalised: normalised.cloned(),
    }
}

/// The arguments as an object; a model that needs none may write nothing.
fn read_arguments(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("the arguments must be a JSON object".into()),
        Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
    }
}
