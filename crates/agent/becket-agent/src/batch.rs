//! The tools of one answer: judged in order, run beside each other where they may, with results in call order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_events::{
    CallRecord, Json, Message, PostTool, PostToolPayload, PostVfsWrite, PostVfsWritePayload, PreToolOutput,
    ToolCall, ToolStart, ToolStartPayload, ToolUpdate, ToolUpdatePayload, lines_of, text_of,
};
use becket_gate::Hooks;
use becket_gate::arguments::Arguments;
use becket_gate::audit::{AuditRecord, Audited};
use becket_gate::gate::{Applicant, Gate, Judgement, Permit, VfsChange};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::at_work::AtWork;
use crate::direct_call::DirectCall;
use crate::family::Beside;
use crate::front::{Concurrency, Front, FrontUpdate};
use crate::handoff::NextSpeaker;
use crate::output::{OutputOf, Settled};
use crate::repetition::Answered;
use crate::settings::AgentSettings;
use crate::store::{Span, SpanKind};
use crate::tool::{Parent, Progress, Tool, ToolOutput, ToolRun};

/// The most tool calls of one answer that run; the rest is refused.
const MAX_CALLS: usize = 100;

/// How long a tool may take to end after a cancel; then it is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(3);

/// What the tool calls of one answer need in order to run.
pub(crate) struct Batch<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) gate: &'a Gate,
    pub(crate) front: &'a dyn Front,
    pub(crate) settings: &'a AgentSettings,
    /// The tools that were offered with the request.
    pub(crate) tools: &'a [Arc<dyn Tool>],
    /// The call from within which these calls are made.
    pub(crate) within: Option<&'a str>,
    /// The session, for tools that work in its name.
    pub(crate) parent: &'a Arc<AtWork>,
}

impl<'a> Batch<'a> {
    /// The calls of a session in the middle of its turn.
    pub(crate) fn of(parent: &'a Arc<AtWork>) -> Self {
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
    arguments: Arguments,
    /// The permit, or the error that the model is told instead.
    permit: Result<Permit, ToolOutput>,
    started: Instant,
    concurrency: Concurrency,
}

/// A call that is over.
pub(crate) struct FinishedCall {
    pub(crate) record: CallRecord,
    pub(crate) message: Message,
    /// Who speaks next, if the call ran and decided that.
    pub(crate) next_speaker: Option<NextSpeaker>,
    /// Whether the run may end after this call without asking the model again.
    pub(crate) ends_run: bool,
    arguments: Arguments,
    settled: Settled,
    ran: bool,
    /// What the call changed in the virtual file system.
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
    /// Whether the user wants everything to stop.
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
    /// what its judges saw. With a `skip_reason` none runs, and the model is told why.
    pub(crate) async fn run(&self, calls: &[ToolCall], skip_reason: Option<&str>) -> FinishedBatch {
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
                let halt = self.hooks.halt().map(|reason| format!("not run: {reason}"));
                let skip_reason = if cancelled { Some("cancelled") } else { skip_reason };
                let (mut call, cancels) = self.judge(call, skip_reason.or(halt.as_deref())).await;
                if group.len() > 1 {
                    call.concurrency = Concurrency::WithOthers;
                }
                cancelled |= cancels;
                judged.push(call);
            }
            // Only now is it known whether a question about one of the group has cancelled all of them.
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

    /// Judges all calls, and then runs them in order: none if one is refused, and no other after one that has failed.
    pub(crate) async fn run_whole(&self, calls: &[ToolCall]) -> FinishedBatch {
        let family = &self.parent.family;
        let beside = match self.parent.is_in_passing() {
            true => Beside::OwnCalls,
            false => Beside::Nobody,
        };
        let _turn = family.turn(beside, self.hooks.cancel()).await;
        let (mut judged, mut cancelled) = (Vec::with_capacity(calls.len()), false);
        let mut trouble: Option<String> = None;
        for call in calls {
            cancelled |= self.hooks.cancel().is_cancelled();
            trouble = trouble.or_else(|| self.hooks.halt().map(|reason| format!("not run: {reason}")));
            let skip_reason = if cancelled {
                Some("cancelled")
            } else {
                trouble.as_deref()
            };
            let (call, cancels) = self.judge(call, skip_reason).await;
            cancelled |= cancels;
            if call.permit.is_err() {
                trouble = trouble.or_else(|| Some("not run, because a part before it was refused".into()));
            }
            judged.push(call);
        }
        let mut failure = trouble.map(|_| "not run, because another part was refused");
        let mut finished = Vec::with_capacity(judged.len());
        for call in judged {
            let call = call.unless(cancelled).withdrawn(failure);
            let call = self.finish(call).await;
            if call.settled.is_error {
                failure = failure.or(Some("not run, because a part before it failed"));
            }
            finished.push(call);
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
        let mut after = AfterTools {
            context: self.hooks.take_context(),
            ..AfterTools::default()
        };
        for call in calls {
            let payload = || PostToolPayload {
                tool_source: call.record.tool_source.clone(),
                tool_call_id: call.record.tool_call_id.clone(),
                tool_name: call.record.tool_name.clone(),
                called_as: call.record.called_as.clone(),
                operation: call.record.operation,
                arguments: call.record.arguments.clone(),
                original_arguments: call.arguments.asked().clone(),
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
    async fn judge<'c>(&self, call: &'c ToolCall, skip_reason: Option<&str>) -> (JudgedCall<'c>, bool) {
        let started = Instant::now();
        let tool = self.tool(call);
        let known = match &tool {
            None => Err(self.unknown_tool(&call.name)),
            Some(tool) => Arguments::read(&call.arguments, |arguments| tool.normalise(arguments))
                .map(|arguments| (Arc::clone(tool), arguments)),
        };
        let normalised = known.as_ref().ok().map(|(_, arguments)| arguments.asked());
        self.hooks
            .tell::<ToolStart>(|| start_payload(call, tool.as_deref(), normalised))
            .await;
        let read = match skip_reason {
            Some(words) => Err(words.to_string()),
            None => known,
        };
        let own_name = tool
            .as_ref()
            .map_or(&call.name, |tool| &tool.spec().own_name)
            .clone();
        let (arguments, permit, cancels) = match read {
            Ok((tool, arguments)) => self.ask_gate(call, &*tool, arguments).await,
            Err(words) => {
                self.show_refusal((&call.id, &own_name), &words, &[]);
                (Arguments::default(), Err(ToolOutput::error(words)), false)
            }
        };
        (
            JudgedCall {
                call,
                tool,
                own_name,
                arguments,
                permit,
                started,
                concurrency: Concurrency::Alone,
            },
            cancels,
        )
    }

    /// The final arguments, the permit or what the model is told instead, and whether everything is to stop.
    async fn ask_gate(
        &self,
        call: &ToolCall,
        tool: &dyn Tool,
        arguments: Arguments,
    ) -> (Arguments, Result<Permit, ToolOutput>, bool) {
        let tool_name = tool.spec().own_name.as_str();
        self.front.show(FrontUpdate::ToolCall {
            tool_call_id: &call.id,
            tool_name,
            operation: tool.spec().operation,
            arguments: arguments.asked(),
            summary: tool.summary(arguments.asked()).as_deref(),
        });
        let applicant = Applicant {
            tool_call_id: &call.id,
            tool: &tool,
            arguments: arguments.asked(),
            parent_tool_call_id: self.within,
        };
        match self.gate.judge(self.hooks, applicant).await {
            Judgement::Permitted(permit) => {
                let arguments = arguments.judged_as(permit.arguments());
                self.show_change(&call.id, tool, &arguments);
                (arguments, Ok(permit), false)
            }
            Judgement::Refused {
                reason,
                arguments: judged,
                handlers,
                cancelled,
            } => {
                let arguments = arguments.judged_as(&judged);
                self.show_change(&call.id, tool, &arguments);
                self.show_refusal((&call.id, tool_name), &reason, &handlers);
                let words = ToolOutput::error((self.settings.wording.refused)(&reason));
                (arguments, Err(words), cancelled)
            }
        }
    }

    /// Shows what was judged where that is not what the model wrote.
    fn show_change(&self, tool_call_id: &str, tool: &dyn Tool, arguments: &Arguments) {
        if let Some(judged) = arguments.change() {
            self.front.show(FrontUpdate::Changed {
                tool_call_id,
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

    fn show_refusal(&self, (tool_call_id, tool_name): (&str, &str), reason: &str, handlers: &[String]) {
        self.front.show(FrontUpdate::Refused {
            tool_call_id,
            tool_name,
            reason,
            handlers,
        });
    }

    /// Shows that a call is about to run.
    async fn show_permitted(&self, tool: &dyn Tool, permit: &Permit) {
        let file = permit.target().file().filter(|_| self.front.wants_previews());
        let preview = match (permit.operation(), file) {
            (Some(operation), Some(file)) => tool.preview(operation, file).await,
            _ => None,
        };
        self.front.show(FrontUpdate::Permitted {
            tool_call_id: permit.tool_call_id(),
            preview: preview.as_ref(),
        });
    }

    fn show_result(
        &self,
        (tool_call_id, tool_name): (&str, &str),
        arguments: &Map<String, Value>,
        summary: Option<&str>,
        concurrency: Concurrency,
        settled: &Settled,
    ) {
        self.front.show(FrontUpdate::ToolResult {
            tool_call_id,
            tool_name,
            arguments,
            summary,
            concurrency,
            output: &lines_of(&settled.content),
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
            arguments,
            permit,
            started,
            concurrency,
        } = judged;
        let spec = tool.as_ref().map(|tool| tool.spec());
        let operation = spec.and_then(|spec| spec.operation);
        let handoff = spec.and_then(|spec| spec.handoff);
        let source = spec.map(|spec| spec.source.clone()).unwrap_or_default();
        let summary = tool.as_ref().and_then(|tool| tool.summary(arguments.judged()));
        let facts = facts_of(&permit, &arguments);
        let begun = Instant::now();
        let (output, ran, changes) = self.run_judged(permit, tool.as_deref(), &call.name).await;
        // Hooks hear how long the tool ran: not how long its guards or the user thought about it.
        let duration = begun.elapsed();
        let handoff = handoff.filter(|_| ran && !output.is_error);
        let next_speaker = handoff.map(|handoff| NextSpeaker::given(handoff, arguments.judged()));
        let way = OutputOf {
            hooks: self.hooks,
            settings: self.settings,
            tool_call_id: &call.id,
            tool_name: &own_name,
            called_as: &call.name,
            tool_source: &source,
            operation,
            arguments: arguments.judged(),
            ran,
            duration,
        };
        let (ends_run, settled) = (output.ends_run, way.settle(output).await);
        way.tell_end(&settled).await;
        self.record(&call.id, &own_name, started, facts, settled.is_error);
        if ran {
            self.account_for(&call.id, &own_name, duration, settled.is_error);
            let which = (&*call.id, &*own_name);
            self.show_result(which, way.arguments, summary.as_deref(), concurrency, &settled);
        }
        let message = settled.message(call);
        let record = CallRecord {
            tool_call_id: call.id.clone(),
            tool_name: own_name,
            called_as: call.name.clone(),
            tool_source: source,
            operation,
            arguments: arguments.judged().clone(),
            is_error: settled.is_error,
            content: settled.content.clone(),
        };
        FinishedCall {
            record,
            message,
            next_speaker,
            ends_run,
            arguments,
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

    /// Runs a tool if it has a permit. Returns the output, whether the tool ran, and what it has changed.
    async fn run_judged(
        &self,
        permit: Result<Permit, ToolOutput>,
        tool: Option<&dyn Tool>,
        name: &str,
    ) -> (ToolOutput, bool, Vec<VfsChange>) {
        match (permit, tool) {
            (Ok(permit), Some(tool)) => {
                let (output, changes) = self.run_noting_changes(tool, permit, name).await;
                (output, true, changes)
            }
            (Err(words), _) => (words, false, Vec::new()),
            (Ok(_), None) => unreachable!("the gate judges only known tools"),
        }
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

    /// What hooks are told about the progress of a call, without the progress.
    fn blank_update(&self, tool: &dyn Tool, permit: &Permit, called_as: &str) -> ToolUpdatePayload {
        let spec = tool.spec();
        let arguments = match self.hooks.listens::<ToolUpdate>() {
            true => permit.arguments().clone(),
            false => Map::new(),
        };
        ToolUpdatePayload {
            tool_call_id: permit.tool_call_id().to_string(),
            tool_name: spec.own_name.clone(),
            called_as: called_as.into(),
            operation: spec.operation,
            arguments,
            output: String::new(),
            partial: None,
        }
    }

    async fn run_permitted(&self, tool: &dyn Tool, permit: Permit, called_as: &str) -> ToolOutput {
        self.show_permitted(tool, &permit).await;
        let (progress, mut pieces) = mpsc::unbounded_channel();
        let update = self.blank_update(tool, &permit, called_as);
        // What hooks may still withhold is not shown before they have seen it.
        let is_shown = !self.hooks.listens::<PreToolOutput>();
        let report = async |news: Progress| {
            if let (Progress::Output(text), true) = (&news, is_shown) {
                let tool_call_id = &update.tool_call_id;
                self.front.show(FrontUpdate::ToolOutput { tool_call_id, text });
            }
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
                parent: Some(Parent::new(Arc::<AtWork>::clone(self.parent))),
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
        let tool_call_id = &update.tool_call_id;
        self.front.show(FrontUpdate::ToolEnded { tool_call_id });
        output
    }
}

impl JudgedCall<'_> {
    /// Withdraws the permit of an allowed call when the user wants everything to stop.
    fn unless(self, cancelled: bool) -> Self {
        self.withdrawn(cancelled.then_some("cancelled"))
    }

    /// Withdraws the permit of an allowed call, if there is a reason.
    fn withdrawn(mut self, reason: Option<&str>) -> Self {
        if let (Some(reason), Ok(_)) = (reason, &self.permit) {
            self.permit = Err(ToolOutput::error(reason));
        }
        self
    }
}

/// The facts about a judged call that its record holds.
fn facts_of(permit: &Result<Permit, ToolOutput>, arguments: &Arguments) -> Value {
    let mut facts = json!({"arguments": shortened(arguments.asked())});
    match permit {
        Ok(permit) => facts["allowed_by"] = json!(permit.source()),
        Err(words) => facts["refused"] = text_of(&words.content).into(),
    }
    if let Some(judged) = arguments.change() {
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

/// How a direct call ended, from the batch that it was alone in.
pub(crate) fn direct_call(finished: Option<&FinishedCall>, cancelled: bool) -> DirectCall {
    DirectCall {
        output: finished.map(|call| call.output().to_owned()).unwrap_or_default(),
        ran: finished.is_some_and(FinishedCall::ran),
        is_error: finished.is_none_or(|call| call.record.is_error),
        cancelled,
    }
}
