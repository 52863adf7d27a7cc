//! becket's events behind the questions of other agents, and what hooks say to them as one ruling.
//!
//! A call passes the gate as in becket's own agent, so hooks, rules and the URL policy judge what it really touches. It
//! gets no permit: the other agent runs it, and asks its user where nobody has spoken.

use std::path::Path;
use std::sync::Arc;

use becket_agent::front::{Front, user_at};
use becket_agent::gate::{Advice, Applicant, ApprovalSettings, Gate};
use becket_agent::store::log_of;
use becket_agent::vfs::Vfs;
use becket_agent::{AgentSettings, Hooks, SharedMode};
use becket_events::{
    Attention, AttentionPayload, AttentionReason, CompactReason, CompactScope, EndReason, InputSource,
    Operation, Part, PermissionRequest, PermissionRequestPayload, PostCompact, PostCompactPayload, PostTool,
    PostToolPayload, PreCompact, PreCompactPayload, PreSubagent, PreSubagentPayload, PreToolOutput,
    PreToolOutputPayload, Rule, RuleDecision, Schema, Scope, SessionEnd, SessionEndPayload, SessionStart,
    SessionStartPayload, StartReason, Stop, StopPayload, Strictest, ToolEnd, ToolEndPayload, ToolStart,
    ToolStartPayload, Usage, UserPrompt, UserPromptPayload, Verdict, text_of,
};
use becket_gate::called_tool::{CalledTool, NetworkUse, ToolFace, ToolSpec};
use becket_gate::question::Preview;
use becket_host::{Bridge, BridgedCall, CallPart, Moment, Ruling, SPAWN_AGENT};
use becket_run::assemble::Assembled;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::question::Mode;
use crate::said::Said;

/// What happens in one session of another agent.
pub(crate) struct Moments<'a> {
    hooks: Hooks,
    gate: Gate,
    settings: &'a AgentSettings,
}

impl<'a> Moments<'a> {
    pub fn new(assembled: &'a Assembled, scope: Scope, said: Arc<Said>, mode: Mode) -> Self {
        let agent = &assembled.agent;
        let user = user_at(said as Arc<dyn Front>);
        let approval = ApprovalSettings {
            mode: SharedMode::default(),
            keeper: None,
            ..agent.settings.approval.clone()
        };
        let vfs = Vfs::new(&agent.settings.vfs);
        let gate = Gate::new(approval, Path::new(&scope.cwd), vfs, Arc::clone(&user));
        Self {
            gate: gate
                .recording(log_of(assembled.store.clone()))
                .advising(mode == Mode::Shadow),
            hooks: Hooks::new(Arc::clone(&agent.engine), user, CancellationToken::new(), scope),
            settings: &agent.settings,
        }
    }

    /// Fires the events of a moment.
    pub async fn rule(&self, bridge: &Bridge, moment: &Moment) -> Ruling {
        let mut ruling = match moment {
            Moment::SessionStart(reason) => self.session_start(*reason).await,
            Moment::SessionEnd => self.session_end().await,
            Moment::Prompt(text) => self.prompt(bridge, text).await,
            Moment::Call(call) => self.call(bridge, call).await,
            Moment::Permission(call) => self.permission(bridge, call).await,
            Moment::Called {
                call,
                output,
                is_error,
                duration,
            } => {
                self.called(call, output, (*is_error, duration.as_millis() as u64))
                    .await
            }
            Moment::Stop { response, goes_on } => self.stop(response, *goes_on).await,
            Moment::PreCompact(reason) => self.pre_compact(*reason).await,
            Moment::PostCompact { reason, summary } => self.post_compact(*reason, summary).await,
            Moment::Attention(message) => self.attention(message).await,
        };
        ruling.context.extend(self.hooks.take_context());
        ruling.halt = ruling.halt.or_else(|| self.hooks.halt());
        // An agent may still make the call after which its run ends.
        if let (Moment::Call(_), Some(reason)) = (moment, &ruling.halt)
            && !matches!(ruling.verdict, Some(Verdict::Deny(_)))
        {
            ruling.verdict = Some(Verdict::Deny(reason.clone()));
        }
        ruling
    }

    async fn session_start(&self, reason: StartReason) -> Ruling {
        let payload = || SessionStartPayload {
            reason,
            home: self.home(),
            project_root: self.settings.project_root.display().to_string(),
            tool_count: 0,
            tools: Vec::new(),
            message_count: 0,
            previous_session_id: None,
            previous_session_file: None,
        };
        let reply = self.hooks.ask::<SessionStart>(payload).await;
        let notices = reply.first_prompt.get().map(|prompt| {
            format!("becket: a hook wants to start with a prompt, which is not possible here: {prompt}")
        });
        let variables = reply.environment.0.into_iter();
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Ruling {
            context: reply.context.0,
            variables: variables.map(|(name, value)| (name, text(value))).collect(),
            notices: notices.into_iter().collect(),
            ..Ruling::default()
        }
    }

    async fn session_end(&self) -> Ruling {
        let payload = || SessionEndPayload {
            reason: EndReason::Done,
            home: self.home(),
            project_root: self.settings.project_root.display().to_string(),
            tool_count: 0,
            usage: Usage::default(),
            next: None,
            next_session_file: None,
        };
        self.hooks.tell::<SessionEnd>(payload).await;
        Ruling::default()
    }

    fn home(&self) -> String {
        self.settings.home.display().to_string()
    }

    async fn prompt(&self, bridge: &Bridge, text: &str) -> Ruling {
        let payload = || UserPromptPayload {
            prompt: text.into(),
            images: Vec::new(),
            source: InputSource::Interactive,
            summary: None,
            continuation: 0,
        };
        let reply = self.hooks.ask::<UserPrompt>(payload).await;
        let rewritten = reply.prompt.get().filter(|new| new != text).map(|new| {
            let title = bridge.title;
            Verdict::Deny(format!(
                "a hook changed the prompt, which {title} does not support; send this: {new}"
            ))
        });
        Ruling {
            verdict: reply
                .verdict
                .0
                .filter(|verdict| *verdict != Verdict::Allow)
                .or(rewritten),
            context: [reply.context.0, reply.notes.0].concat(),
            ..Ruling::default()
        }
    }

    async fn call(&self, bridge: &Bridge, call: &BridgedCall) -> Ruling {
        self.hooks.tell::<ToolStart>(|| start_payload(call)).await;
        let mut verdicts = Vec::new();
        let mut rewritten = None;
        for part in &call.parts {
            let mut advice = self.advice(call, part).await;
            if part.own_name == SPAWN_AGENT && !matches!(advice.verdict, Some(Verdict::Deny(_))) {
                advice = self.subagent(bridge, part, advice).await;
            }
            let is_refused = matches!(advice.verdict, Some(Verdict::Deny(_)));
            verdicts.push(advice.verdict);
            rewritten = rewritten.or(advice.arguments);
            if is_refused {
                break;
            }
        }
        let verdict = together(verdicts);
        let mut ruling = Ruling {
            verdict,
            ..Ruling::default()
        };
        if let Some(Verdict::Deny(_)) = ruling.verdict {
            return ruling;
        }
        match rewritten.map(|own| (bridge.written)(call, &own)) {
            Some(Ok(arguments)) => ruling.arguments = Some(arguments).filter(|new| *new != call.arguments),
            Some(Err(why)) => ruling.verdict = Some(Verdict::Deny(why)),
            None => {}
        }
        ruling
    }

    async fn advice(&self, call: &BridgedCall, part: &CallPart) -> Advice {
        let tool = BridgedTool::new(call, part);
        let applicant = Applicant {
            tool_call_id: &call.id,
            tool: &tool,
            arguments: &part.arguments,
            parent_tool_call_id: None,
        };
        self.gate.advise(&self.hooks, applicant).await
    }

    /// Asks the guards of sub-agents about a call that starts one. The agent takes nothing but another input from them.
    async fn subagent(&self, bridge: &Bridge, part: &CallPart, advice: Advice) -> Advice {
        let arguments = advice.arguments.as_ref().unwrap_or(&part.arguments);
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let payload = || PreSubagentPayload {
            subagent_name: text("preset").map(ToOwned::to_owned),
            system_prompt: String::new(),
            input: text("input").unwrap_or_default().into(),
            subagent_model: text("model").unwrap_or(&self.hooks.scope().model).into(),
            temperature: None,
            max_tokens: None,
            tools: Vec::new(),
            depth: self.hooks.scope().agents_above.len() as u32 + 1,
        };
        let reply = self.hooks.ask::<PreSubagent>(payload).await;
        let title = bridge.title;
        let refused = reply
            .response
            .get()
            .map(|answer| format!("a hook answers in its place: {answer}"));
        let refused = refused.or_else(|| {
            let changes = reply.system_prompt.0.is_some() || reply.tools.0.is_some();
            changes.then(|| format!("a hook changed the sub-agent, which {title} does not support"))
        });
        let verdict = match refused {
            Some(reason) => Strictest::from(Verdict::Deny(reason)),
            None => reply.verdict,
        };
        let input = reply
            .input
            .get()
            .filter(|input| Some(input.as_str()) != text("input"));
        let rewritten = input.map(|input| {
            let mut arguments = arguments.clone();
            arguments.insert("input".into(), input.into());
            arguments
        });
        Advice {
            verdict: Strictest(advice.verdict).then(verdict).0,
            arguments: rewritten.or(advice.arguments),
            ..advice
        }
    }

    async fn permission(&self, bridge: &Bridge, call: &BridgedCall) -> Ruling {
        let mut verdicts = Vec::new();
        for part in &call.parts {
            verdicts.push(self.permission_of(bridge, call, part).await);
        }
        Ruling {
            verdict: together(verdicts),
            ..Ruling::default()
        }
    }

    async fn permission_of(&self, bridge: &Bridge, call: &BridgedCall, part: &CallPart) -> Option<Verdict> {
        let payload = || PermissionRequestPayload {
            tool_call_id: call.id.clone(),
            tool_name: part.own_name.clone(),
            called_as: call.name.clone(),
            tool_source: part.source.clone(),
            operation: part.operation,
            arguments: part.arguments.clone(),
            reason: None,
        };
        let reply = self.hooks.ask::<PermissionRequest>(payload).await;
        let rewritten = reply.arguments.get().filter(|new| *new != part.arguments);
        // Each question has a gate of its own, so nothing could keep them.
        let restricts = reply
            .rules
            .0
            .iter()
            .any(|rule| rule.decision != RuleDecision::Allow);
        match (reply.verdict.0, rewritten) {
            (Some(Verdict::Allow) | None, _) if restricts => {
                let title = bridge.title;
                Some(Verdict::Deny(format!(
                    "a hook returned session rules, which {title} does not support; put them into your settings"
                )))
            }
            // What is allowed with other arguments is not allowed with these.
            (Some(Verdict::Allow), Some(_)) => {
                let title = bridge.title;
                Some(Verdict::Deny(format!(
                    "a hook allows the call only with other arguments, which {title} does not support here"
                )))
            }
            (verdict, _) => verdict,
        }
    }

    async fn called(&self, call: &BridgedCall, output: &str, (is_error, duration_ms): (bool, u64)) -> Ruling {
        let Some(part) = call.parts.first() else {
            return Ruling::default();
        };
        let content = vec![Part::text(output)];
        let payload = || PreToolOutputPayload {
            tool_call_id: call.id.clone(),
            tool_name: part.own_name.clone(),
            called_as: call.name.clone(),
            tool_source: part.source.clone(),
            operation: part.operation,
            arguments: part.arguments.clone(),
            content: content.clone(),
            is_error,
            ran: true,
            details: Value::Null,
            duration_ms,
        };
        let reply = self.hooks.tell::<PreToolOutput>(payload).await;
        let withheld = reply.withheld.get();
        let replaced = withheld.or_else(|| reply.content.get().map(|content| text_of(&content)));
        let replaced = replaced.filter(|text| text != output);
        let result = replaced.as_deref().unwrap_or(output);
        let ended = || ToolEndPayload {
            tool_call_id: call.id.clone(),
            tool_name: part.own_name.clone(),
            called_as: call.name.clone(),
            operation: part.operation,
            content: vec![Part::text(result)],
            details: Value::Null,
            is_error,
            ran: true,
            duration_ms,
        };
        self.hooks.tell::<ToolEnd>(ended).await;
        let after = || PostToolPayload {
            tool_call_id: call.id.clone(),
            tool_name: part.own_name.clone(),
            called_as: call.name.clone(),
            tool_source: part.source.clone(),
            operation: part.operation,
            arguments: part.arguments.clone(),
            original_arguments: part.arguments.clone(),
            result: result.to_owned(),
            is_error,
            ran: true,
            cached: false,
            duration_ms,
        };
        let last = self.hooks.tell::<PostTool>(after).await;
        Ruling {
            output: replaced,
            context: [reply.context.0, last.context.0].concat(),
            halt: last.stop.get(),
            ..Ruling::default()
        }
    }

    async fn stop(&self, response: &str, goes_on: bool) -> Ruling {
        let payload = || StopPayload {
            response: response.into(),
            prompt: String::new(),
            continuations: goes_on.into(),
            entries: Vec::new(),
            go_on: false,
        };
        let reply = self.hooks.ask::<Stop>(payload).await;
        Ruling {
            go_on: reply.continue_with.get(),
            ..Ruling::default()
        }
    }

    async fn pre_compact(&self, reason: CompactReason) -> Ruling {
        let payload = || PreCompactPayload {
            reason,
            scope: CompactScope::Full,
            message_count: 0,
            messages: Vec::new(),
            first_kept_id: None,
            kept: Vec::new(),
            summary: None,
            instructions: None,
            input_tokens: 0,
            output_tokens: 0,
            context_limit: None,
        };
        let reply = self.hooks.ask::<PreCompact>(payload).await;
        Ruling {
            verdict: reply.verdict.0.filter(|verdict| *verdict != Verdict::Allow),
            ..Ruling::default()
        }
    }

    async fn post_compact(&self, reason: CompactReason, summary: &str) -> Ruling {
        let payload = || PostCompactPayload {
            reason,
            scope: CompactScope::Full,
            message_count_before: 0,
            message_count: 0,
            summary: summary.into(),
            entry_id: String::new(),
            parent_id: None,
            first_kept_id: None,
            details: None,
            by_hook: false,
            input_tokens: 0,
            output_tokens: 0,
            context_limit: None,
        };
        let reply = self.hooks.tell::<PostCompact>(payload).await;
        Ruling {
            context: reply.context.0,
            ..Ruling::default()
        }
    }

    async fn attention(&self, message: &str) -> Ruling {
        let payload = || AttentionPayload {
            reason: AttentionReason::Question,
            message: message.into(),
        };
        self.hooks.ask::<Attention>(payload).await;
        Ruling::default()
    }
}

/// The verdict about a call from those about its parts: the strictest, and an allow only if all parts are allowed.
fn together(verdicts: Vec<Option<Verdict>>) -> Option<Verdict> {
    let all_allow = verdicts.iter().all(|verdict| *verdict == Some(Verdict::Allow));
    let strictest = verdicts.into_iter().flatten().max_by_key(Verdict::strictness);
    strictest.filter(|verdict| *verdict != Verdict::Allow || all_allow)
}

fn start_payload(call: &BridgedCall) -> ToolStartPayload {
    let part = call.parts.first();
    ToolStartPayload {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        own_name: part.map(|part| part.own_name.clone()),
        operation: part.and_then(|part| part.operation),
        arguments: call.arguments.clone().into(),
        normalised: part.map(|part| part.arguments.clone()),
    }
}

/// A tool of another agent, as the gate sees it.
struct BridgedTool(ToolSpec);

impl BridgedTool {
    fn new(call: &BridgedCall, part: &CallPart) -> Self {
        Self(ToolSpec {
            face: ToolFace {
                name: call.name.clone(),
                description: String::new(),
                parameters: Schema::default(),
                operation: part.operation,
            },
            own_name: part.own_name.clone(),
            operation: part.operation,
            source: part.source.clone(),
            read_only: false,
            parallel: false,
            handoff: None,
            extra_arguments: part.extra.clone(),
        })
    }
}

impl CalledTool for BridgedTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, _: &Map<String, Value>) -> Option<String> {
        None
    }

    fn other_names(&self) -> &[String] {
        &[]
    }

    fn network(&self, _: &Map<String, Value>) -> NetworkUse {
        NetworkUse::None
    }

    fn preview<'a>(&'a self, _: &'a Operation, _: &'a Path) -> BoxFuture<'a, Option<Preview>> {
        Box::pin(std::future::ready(None))
    }

    fn reaches_others(&self) -> bool {
        false
    }

    fn is_installed(&self) -> bool {
        false
    }
}
