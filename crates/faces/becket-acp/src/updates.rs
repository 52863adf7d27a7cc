//! What happens in a session, as updates for an editor.
//!
//! An editor cannot take words back. So an answer that hooks may still replace is sent when it is complete, and what
//! becket itself has to say is a notice, or, for an editor that knows none, a paragraph of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandsUpdate, ConfigOptionUpdate, ContentBlock, ContentChunk,
    CurrentModeUpdate, ImageContent, MessageId, Notice, NoticeSeverity, SessionId, SessionInfoUpdate,
    SessionNotification, SessionUpdate, ToolCall, ToolCallContent, ToolCallId, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, UsageUpdate,
};
use becket_agent::front::{FrontUpdate, Preview, Question};
use becket_events::{Delta, Message, MessageBody, Part, StopReason};
use becket_front::{Output, Todos, retry_words, silence_words};
use becket_system::{Surroundings, harmless, harmless_name};
use serde_json::Value;

use super::plan;
use super::settings::Settings;
use super::tool_calls::{Call, CallEnd, Calls, Places, failed, fenced, status};
use super::wire::Editor;

/// Tells an editor what happens in one session.
pub struct Updates {
    editor: Arc<Editor>,
    id: SessionId,
    /// Whether the editor shows notices.
    has_notices: bool,
    places: Places,
    state: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    answer: StreamedAnswer,
    /// How many messages the editor was told since the session was opened.
    messages: u64,
    calls: Calls,
    /// Why the model stopped last.
    stopped: Option<StopReason>,
    /// Whether the next message of the user is the prompt, which the editor shows itself.
    expects_prompt: bool,
    /// Whether a prompt is at work.
    is_at_work: bool,
    /// Remarks that wait for a prompt: before it, an editor may show nothing.
    remarks: Vec<String>,
    /// The commands that the editor knows.
    commands: Vec<AvailableCommand>,
    /// Counts what models use.
    output: Option<Arc<Output>>,
}

/// The answer that arrives.
#[derive(Default)]
struct StreamedAnswer {
    /// Whether no hook can replace the answer when it is complete.
    settled: bool,
    has_words: bool,
    has_thoughts: bool,
}

/// Who says something.
#[derive(Clone, Copy)]
enum Speaker {
    User,
    Model,
    ModelToItself,
}

impl Updates {
    pub fn new(editor: Arc<Editor>, id: SessionId, surroundings: &Surroundings, has_notices: bool) -> Self {
        Self {
            editor,
            id,
            has_notices,
            places: Places::of(surroundings),
            state: Mutex::default(),
        }
    }

    /// The editor, for requests in the name of the session.
    pub fn editor(&self) -> &Editor {
        &self.editor
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Sends an update.
    pub fn send(&self, update: SessionUpdate) {
        let notification = SessionNotification::new(self.id.clone(), update);
        self.editor.notify("session/update", &notification);
    }

    // ---------------------------------------------------------------- about the session

    /// Counts from now on what models use.
    pub fn count_in(&self, output: Arc<Output>) {
        self.state().output = Some(output);
    }

    /// The mode or the model has changed.
    pub fn settings_changed(&self, settings: &Settings) {
        let mode = CurrentModeUpdate::new(settings.mode().word());
        self.send(SessionUpdate::CurrentModeUpdate(mode));
        self.options_changed(settings);
    }

    /// The options have changed, but for the mode.
    pub fn options_changed(&self, settings: &Settings) {
        let options = ConfigOptionUpdate::new(settings.options());
        self.send(SessionUpdate::ConfigOptionUpdate(options));
    }

    /// Offers the slash commands, if they are not those that the editor knows.
    pub fn offer_commands(&self, commands: Vec<AvailableCommand>) {
        let mut state = self.state();
        if state.commands != commands {
            state.commands.clone_from(&commands);
            drop(state);
            let update = AvailableCommandsUpdate::new(commands);
            self.send(SessionUpdate::AvailableCommandsUpdate(update));
        }
    }

    /// The todo list has changed, or a conversation goes on in which something is left to be done.
    pub fn plan(&self, todos: &Todos) {
        self.send(SessionUpdate::Plan(plan::of(todos)));
    }

    /// The conversation has another name.
    pub fn named(&self, name: &str) {
        let update = SessionInfoUpdate::new().title(name.to_owned());
        self.send(SessionUpdate::SessionInfoUpdate(update));
    }

    /// The conversation is as long as this.
    pub fn used(&self, usage: UsageUpdate) {
        self.send(SessionUpdate::UsageUpdate(usage));
    }

    // ---------------------------------------------------------------- turns

    /// A prompt is about to run.
    pub fn begin_turn(&self) {
        let mut state = self.state();
        (state.expects_prompt, state.stopped) = (true, None);
    }

    /// Nothing runs any more.
    pub fn end_turn(&self) {
        let mut state = self.state();
        (state.expects_prompt, state.is_at_work) = (false, false);
        let ended = state.calls.end_all();
        drop(state);
        for update in ended {
            self.send(SessionUpdate::ToolCallUpdate(update));
        }
    }

    /// Why the model stopped last.
    pub fn stopped(&self) -> Option<StopReason> {
        self.state().stopped
    }

    // ---------------------------------------------------------------- words

    /// Says something in becket's own words, as an answer.
    pub fn say(&self, words: &str) {
        let id = self.new_message();
        self.chunk(Speaker::Model, &harmless(words), id);
    }

    /// A prompt is at work from now on. What was remarked before is told.
    pub fn begin_work(&self) {
        let mut state = self.state();
        state.is_at_work = true;
        let remarks = std::mem::take(&mut state.remarks);
        drop(state);
        remarks.iter().for_each(|words| self.warn(words));
    }

    /// Tells the user what becket also writes to standard error, as soon as a prompt is at work.
    pub fn remark(&self, words: &str) {
        let mut state = self.state();
        if state.is_at_work {
            drop(state);
            self.warn(words);
        } else if !state.remarks.iter().any(|known| known == words) {
            state.remarks.push(words.to_owned());
        }
    }

    /// Warns the user.
    pub fn warn(&self, words: &str) {
        self.notice(NoticeSeverity::Warning, words);
    }

    /// Tells the user something that is no part of the conversation.
    pub fn notice(&self, severity: NoticeSeverity, words: &str) {
        let words = harmless(words.trim());
        let (title, more) = words.split_once('\n').unwrap_or((&words, ""));
        if title.is_empty() {
            return;
        }
        if self.has_notices {
            let more = Some(more.trim().to_owned()).filter(|more| !more.is_empty());
            let notice = Notice::new(severity, title).description(more);
            return self.send(SessionUpdate::Notice(notice));
        }
        let quoted = words.replace('\n', "\n> ");
        let id = self.new_message();
        self.chunk(Speaker::Model, &format!("\n\n> becket: {quoted}\n\n"), id);
    }

    /// Sends a whole message of a conversation, as it is stored.
    pub fn message(&self, message: &Message) {
        let id = MessageId::new(message.id());
        match message.body() {
            MessageBody::User { content } => self.parts(Speaker::User, content, id),
            MessageBody::Assistant { content, .. } => self.parts(Speaker::Model, content, id),
            MessageBody::Note {
                kind,
                content,
                display: true,
                ..
            } => {
                let kind = format!("[{}] ", harmless_name(kind));
                self.chunk(Speaker::Model, &kind, id.clone());
                self.parts(Speaker::Model, content, id);
            }
            MessageBody::Note { .. } | MessageBody::Tool { .. } => {}
        }
    }

    fn parts(&self, speaker: Speaker, parts: &[Part], id: MessageId) {
        for part in parts {
            match part {
                Part::Text { text } => self.chunk(speaker, text, id.clone()),
                Part::Thinking { text, .. } => self.chunk(Speaker::ModelToItself, text, id.clone()),
                Part::Image { media_type, data } => {
                    let image = ImageContent::new(data.clone(), media_type.clone());
                    self.block(speaker, ContentBlock::Image(image), id.clone());
                }
            }
        }
    }

    fn chunk(&self, speaker: Speaker, text: &str, id: MessageId) {
        if !text.is_empty() {
            self.block(speaker, text.into(), id);
        }
    }

    fn block(&self, speaker: Speaker, block: ContentBlock, id: MessageId) {
        let chunk = ContentChunk::new(block).message_id(id);
        self.send(match speaker {
            Speaker::User => SessionUpdate::UserMessageChunk(chunk),
            Speaker::Model => SessionUpdate::AgentMessageChunk(chunk),
            Speaker::ModelToItself => SessionUpdate::AgentThoughtChunk(chunk),
        });
    }

    /// The id of a message that begins now.
    fn new_message(&self) -> MessageId {
        let mut state = self.state();
        state.messages += 1;
        message_id(&state)
    }

    // ---------------------------------------------------------------- answers

    fn begin_answer(&self, settled: bool) {
        self.new_message();
        self.state().answer = StreamedAnswer {
            settled,
            ..StreamedAnswer::default()
        };
    }

    fn delta(&self, delta: &Delta) {
        let mut state = self.state();
        if !state.answer.settled {
            return;
        }
        let id = message_id(&state);
        match delta {
            Delta::Text { text } => {
                state.answer.has_words = true;
                drop(state);
                self.chunk(Speaker::Model, text, id);
            }
            Delta::Thinking { text, .. } => {
                state.answer.has_thoughts = true;
                drop(state);
                self.chunk(Speaker::ModelToItself, text, id);
            }
            Delta::ToolCall { .. } | Delta::Arguments { .. } | Delta::End => {}
        }
    }

    /// A message is complete. What was sent of it before is not sent again.
    fn complete(&self, message: &Message) {
        let mut state = self.state();
        match message.body() {
            MessageBody::User { .. } if std::mem::take(&mut state.expects_prompt) => {}
            MessageBody::Assistant {
                content,
                model,
                usage,
                stop_reason,
                ..
            } => {
                state.stopped = Some(*stop_reason);
                if let Some(output) = &state.output {
                    output.activity().add_answer(model, *usage);
                }
                let (id, answer) = (message_id(&state), std::mem::take(&mut state.answer));
                drop(state);
                let is_unsent = |part: &&Part| match part {
                    Part::Text { .. } => !answer.has_words,
                    Part::Thinking { .. } => !answer.has_thoughts,
                    Part::Image { .. } => true,
                };
                let unsent: Vec<Part> = content.iter().filter(is_unsent).cloned().collect();
                self.parts(Speaker::Model, &unsent, id);
            }
            _ => {
                drop(state);
                self.message(message);
            }
        }
    }

    // ---------------------------------------------------------------- tool calls

    /// A call is known.
    pub fn begin_call(&self, agent: Option<&str>, id: &str, call: Call<'_>) {
        let begun = self.state().calls.begin(agent, id, call, &self.places);
        self.send(SessionUpdate::ToolCall(begun));
    }

    /// Sends what has become of a call, if the editor knows it.
    fn tell_call(&self, of: impl FnOnce(&mut Calls) -> Option<ToolCallUpdate>) {
        let update = of(&mut self.state().calls);
        if let Some(update) = update {
            self.send(SessionUpdate::ToolCallUpdate(update));
        }
    }

    fn update_call(&self, id: ToolCallId, fields: ToolCallUpdateFields) {
        let update = ToolCallUpdate::new(id, fields);
        self.send(SessionUpdate::ToolCallUpdate(update));
    }

    /// A call is about to run.
    fn run_call(&self, agent: Option<&str>, id: &str, preview: Option<&Preview>) {
        let mut state = self.state();
        let Some(known) = state.calls.id(agent, id) else {
            return;
        };
        let changes = preview.and_then(|preview| state.calls.changes(agent, id, (preview, None)));
        drop(state);
        let changes = changes.filter(|changes| !changes.is_empty());
        self.update_call(known, status(ToolCallStatus::InProgress).content(changes));
    }

    /// A call is over.
    pub fn end_call(&self, agent: Option<&str>, id: &str, outcome: CallEnd<'_>) {
        self.tell_call(|calls| calls.end(agent, id, outcome));
    }

    fn refuse_call(&self, agent: Option<&str>, (id, tool_name): (&str, &str), why: &str) {
        let is_known = self.state().calls.id(agent, id).is_some();
        if !is_known {
            let arguments = serde_json::Map::new();
            let call = Call {
                tool_name,
                operation: None,
                arguments: &arguments,
                summary: None,
            };
            self.begin_call(agent, id, call);
        }
        self.end_call(agent, id, CallEnd::Failed(why));
    }

    /// The call that a question is about, as the editor is to show it beside the question.
    pub fn questioned(&self, question: &Question, title: &str, facts: &str) -> ToolCallUpdate {
        let (agent, call) = (question.agent.as_deref(), question.tool_call_id.as_deref());
        let known = call.and_then(|call| self.state().calls.asked(agent, call));
        let (Some((id, call_title)), Some(call)) = (known, call) else {
            return self.stand_in(title, vec![fenced(facts)]);
        };
        let judged = question
            .target
            .as_deref()
            .map(|target| self.places.absolute(target));
        let changes = question
            .preview
            .as_ref()
            .and_then(|preview| self.state().calls.changes(agent, call, (preview, judged)));
        let mut content = changes.unwrap_or_default();
        content.push(fenced(facts));
        let fields = status(ToolCallStatus::Pending)
            .title(call_title)
            .content(content)
            .raw_input(Value::Object(question.arguments.clone()));
        ToolCallUpdate::new(id, fields)
    }

    /// A call that stands for a question which is about none: editors show questions at calls.
    pub fn stand_in(&self, title: &str, content: Vec<ToolCallContent>) -> ToolCallUpdate {
        let id = self.state().calls.new_id("question");
        let call = ToolCall::new(id.clone(), title).content(content.clone());
        self.send(SessionUpdate::ToolCall(call));
        let fields = status(ToolCallStatus::Pending)
            .title(title.to_owned())
            .content(content);
        ToolCallUpdate::new(id, fields)
    }

    /// A call that stands for a question is over.
    pub fn answered(&self, id: ToolCallId, is_yes: bool) {
        let fields = match is_yes {
            true => status(ToolCallStatus::Completed),
            false => failed("no"),
        };
        self.update_call(id, fields);
    }

    fn state(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of the message that is being told. Stored messages have other ids.
fn message_id(state: &Progress) -> MessageId {
    MessageId::new(format!("live-{}", state.messages))
}

impl Updates {
    /// Tells about something that the agent shows; `agent` is the sub-agent that does it.
    // tidy: a table
    pub fn show_of(&self, agent: Option<&str>, update: &FrontUpdate<'_>) {
        match *update {
            FrontUpdate::Answer { settled } => self.begin_answer(settled),
            FrontUpdate::Delta(delta) => self.delta(delta),
            FrontUpdate::Message(message) => self.complete(message),
            FrontUpdate::ToolCall {
                tool_call_id,
                tool_name,
                operation,
                arguments,
                summary,
            } => {
                let call = Call {
                    tool_name,
                    operation,
                    arguments,
                    summary,
                };
                self.begin_call(agent, tool_call_id, call);
            }
            FrontUpdate::Changed {
                tool_call_id,
                tool_name,
                arguments,
                summary,
            } => {
                let call = Call {
                    tool_name,
                    operation: None,
                    arguments,
                    summary,
                };
                self.tell_call(|calls| calls.change(agent, tool_call_id, call));
            }
            FrontUpdate::Permitted {
                tool_call_id,
                preview,
            } => self.run_call(agent, tool_call_id, preview),
            FrontUpdate::Refused {
                tool_call_id,
                tool_name,
                reason,
                handlers,
            } => {
                let by = match handlers {
                    [] => String::new(),
                    names => format!(" (hook {})", names.join(", ")),
                };
                self.refuse_call(
                    agent,
                    (tool_call_id, tool_name),
                    &format!("refused: {reason}{by}"),
                );
            }
            FrontUpdate::ToolOutput { tool_call_id, text } => {
                self.tell_call(|calls| calls.grow(agent, tool_call_id, text));
            }
            FrontUpdate::ToolResult {
                tool_call_id,
                tool_name,
                arguments,
                output,
                is_error,
                ..
            } => {
                self.end_of(agent, tool_call_id, output, is_error);
                // What a sub-agent is about to do is not the plan of the session.
                if let Some(todos) = Todos::of(tool_name, arguments, output)
                    && !is_error
                    && agent.is_none()
                {
                    self.plan(&todos);
                }
            }
            FrontUpdate::Notice(text) => self.notice(NoticeSeverity::Info, &of_agent(agent, text)),
            FrontUpdate::Warning(text) => self.warn(&of_agent(agent, text)),
            FrontUpdate::HookFailed(failure) => {
                self.notice(NoticeSeverity::Error, &of_agent(agent, &failure.to_string()));
            }
            FrontUpdate::Retry { reason, delay_ms, .. } => {
                self.warn(&of_agent(agent, &retry_words(reason, delay_ms)));
            }
            FrontUpdate::Silent {
                provider,
                seconds,
                limit,
                has_begun,
            } => {
                let words = silence_words((provider, has_begun), seconds, limit);
                self.warn(&of_agent(agent, &words));
            }
            FrontUpdate::Replaced => {
                self.warn(&of_agent(agent, "the answer broke off, and is asked for again"));
            }
            FrontUpdate::Within { agent, update } => self.show_of(Some(agent), update),
            FrontUpdate::CompactionBegins { .. } => {
                self.notice(
                    NoticeSeverity::Info,
                    &of_agent(agent, "summarising the conversation"),
                );
            }
            FrontUpdate::ToolEnded { .. }
            | FrontUpdate::Progress { .. }
            | FrontUpdate::CompactionEnds { .. } => {}
        }
    }

    fn end_of(&self, agent: Option<&str>, id: &str, output: &str, is_error: bool) {
        let outcome = match is_error {
            true => CallEnd::Failed(output),
            false => CallEnd::Completed(output),
        };
        self.end_call(agent, id, outcome);
    }
}

fn of_agent(agent: Option<&str>, words: &str) -> String {
    agent.map_or_else(
        || words.to_owned(),
        |agent| format!("[{}] {words}", harmless_name(agent)),
    )
}
