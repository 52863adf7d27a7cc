//! Executes the commands of `--mode rpc`. Those that extensions have as well are executed by the same code.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becket_agent::Input;
use becket_agent::front::FrontUpdate;
use becket_agent::session_handle::{Delivery, Pace, SessionHandle, WhenIdle};
use becket_events::{InputSource, ModelChoice, Part};
use becket_host::{CommandEnd, ServedSession};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::client::ProgramUser;
use crate::extensions::Extensions;
use crate::host_call::{self, ForkPosition, HostCall, HostCallAsync};
use crate::messages::written_parts;
use crate::pages;
use crate::rpc::{Behaviour, Command, QueueMode, SessionState, bash_result, last_answer, session_stats};

/// The outcome of a command: a result, nothing, or why it failed.
type Answered = Result<Option<Value>, String>;

/// Executes commands.
pub struct Answers<'a> {
    session: ServedSession<'a>,
    extensions: &'a Extensions,
    /// The program as the user.
    pub user: &'a Arc<ProgramUser>,
    /// Cancels running shell commands of the user.
    commands: Mutex<Vec<CancellationToken>>,
    /// How many messages are delivered at once: of those that steer, and of the follow-ups.
    modes: Mutex<(QueueMode, QueueMode)>,
}

impl<'a> Answers<'a> {
    pub fn new(session: ServedSession<'a>, extensions: &'a Extensions, user: &'a Arc<ProgramUser>) -> Self {
        Self {
            session,
            extensions,
            user,
            commands: Mutex::default(),
            modes: Mutex::new((QueueMode::OneAtATime, QueueMode::OneAtATime)),
        }
    }

    /// The session handle.
    pub fn handle(&self) -> &SessionHandle {
        &self.session.handle
    }

    /// Waits until the session should end.
    pub async fn over(&self) {
        tokio::select! {
            () = self.session.cancel.cancelled() => {}
            () = self.session.ending.cancelled() => {}
        }
    }

    /// Executes a command.
    // tidy: a table
    pub async fn answer(&self, command: Command) -> Answered {
        match command {
            Command::Prompt {
                message,
                images,
                streaming_behavior,
            } => return self.prompt(message, images, streaming_behavior).await,
            Command::Steer { message, images } => self.queue(message, images, Behaviour::Steer)?,
            Command::FollowUp { message, images } => self.queue(message, images, Behaviour::FollowUp)?,
            Command::ClearQueue => return Ok(Some(self.clear_queue())),
            Command::Abort => {
                self.handle().abort();
                self.handle().idle().await;
            }
            Command::GetState => return self.state(),
            Command::SetModel { provider, model_id } => {
                return self.set_model(&provider, &model_id).map(Some);
            }
            Command::CycleModel => return self.cycle_model(),
            Command::GetAvailableModels => {
                return Ok(Some(json!({"models": self.models()?})));
            }
            Command::SetThinkingLevel { level } => self.set_thinking(&level)?,
            Command::CycleThinkingLevel => return self.cycle_thinking(),
            Command::GetAvailableThinkingLevels => {
                return Ok(Some(json!({"levels": self.ask(HostCall::ThinkingLevels)?})));
            }
            Command::SetSteeringMode { mode } => {
                self.handle().messages().set_pace(Delivery::Steering, pace(mode));
                self.modes.lock().unwrap_or_else(PoisonError::into_inner).0 = mode;
            }
            Command::SetFollowUpMode { mode } => {
                self.handle().messages().set_pace(Delivery::FollowUp, pace(mode));
                self.modes.lock().unwrap_or_else(PoisonError::into_inner).1 = mode;
            }
            Command::Compact { custom_instructions } => {
                self.handle().abort();
                let call = HostCallAsync::Compact { custom_instructions };
                return self.extensions.ask_later(call).await.map(Some);
            }
            Command::SetAutoCompaction { enabled } => self.handle().automation().set_compacts(enabled),
            Command::SetAutoRetry { enabled } => self.handle().automation().set_retries(enabled),
            Command::AbortRetry => self.handle().automation().give_up_retry(),
            Command::GetSessionStats => return self.stats(),
            Command::ExportHtml { output_path } => return self.export(output_path.as_deref()),
            Command::GetForkMessages => return self.fork_messages(),
            Command::GetEntries { since } => return self.entries(since.as_deref()),
            Command::GetTree => {
                let leaf = self.ask(HostCall::Session)?["leafId"].take();
                return Ok(Some(json!({"tree": tree(self.all_entries()?), "leafId": leaf})));
            }
            Command::GetLastAssistantText => {
                return Ok(Some(json!({"text": last_answer(&self.messages()?)})));
            }
            Command::SetSessionName { name } => self.name(name.trim())?,
            Command::GetMessages => return Ok(Some(json!({"messages": self.messages()?}))),
            Command::GetCommands => {
                return Ok(Some(json!({"commands": self.ask(HostCall::GetCommands)?})));
            }
            Command::NewSession { parent_session } => {
                let call = HostCallAsync::NewSession {
                    parent_session,
                    setup: None,
                };
                return self.go(call).await;
            }
            Command::SwitchSession { session_path } => {
                return self.go(HostCallAsync::SwitchSession { session_path }).await;
            }
            Command::Fork { entry_id } => {
                let position = ForkPosition::Before;
                return self.go(HostCallAsync::Fork { entry_id, position }).await;
            }
            Command::Clone => return self.go(self.cloning()?).await,
            Command::Bash { command } => return self.bash(&command).await,
            Command::AbortBash => self.end_commands(),
        }
        Ok(None)
    }

    fn ask(&self, call: HostCall) -> Result<Value, String> {
        self.extensions.ask(call)
    }

    // ---------------------------------------------------------------- messages

    /// Begins a run with a prompt, or queues it for the present one. A command of an extension runs at once.
    async fn prompt(&self, text: String, images: Option<Value>, behaviour: Option<Behaviour>) -> Answered {
        if let Some(called) = self.session.guests.command(&text) {
            let name = text
                .trim_start_matches('/')
                .split_whitespace()
                .next()
                .unwrap_or_default();
            let (why, words) = match called(self.session.cancel.clone()).await {
                CommandEnd::Done | CommandEnd::Cancelled => return Ok(None),
                CommandEnd::Threw { why, message } => (why, message),
                CommandEnd::Waits(why) => (why.clone(), why),
            };
            self.session.agent.front.show(FrontUpdate::Warning(&why));
            let path = format!("command:{name}");
            self.user.stream().failed(&path, "command", &words);
            return Ok(None);
        }
        let is_busy = self.user.stream().runs() || self.handle().messages().has_next();
        match behaviour {
            Some(behaviour) if is_busy => self.say(text, images, behaviour)?,
            None if is_busy => {
                return Err(
                    "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the \
                     message."
                        .into(),
                );
            }
            _ => {
                let input = input(text, images)?;
                self.handle()
                    .messages()
                    .say(input, Delivery::FollowUp)
                    .map_err(|error| error.to_string())?;
            }
        }
        Ok(None)
    }

    /// Queues a message for the present run, or for the next one if there is none.
    fn queue(&self, text: String, images: Option<Value>, behaviour: Behaviour) -> Result<(), String> {
        if self.session.guests.command(&text).is_some() {
            let name = text.split_whitespace().next().unwrap_or_default();
            return Err(format!(
                "Extension command \"{name}\" cannot be queued. Use prompt() or execute the command when not streaming."
            ));
        }
        self.say(text, images, behaviour)
    }

    fn say(&self, text: String, images: Option<Value>, behaviour: Behaviour) -> Result<(), String> {
        let delivery = match behaviour {
            Behaviour::Steer => Delivery::Steering,
            Behaviour::FollowUp => Delivery::FollowUp,
        };
        let input = input(text.clone(), images)?;
        self.user
            .stream()
            .queued(&text, host_call::Delivery::from(behaviour));
        self.handle()
            .messages()
            .say_when(input, delivery, WhenIdle::Hold)
            .map_err(|error| error.to_string())
    }

    /// Takes back the messages that wait for the model.
    fn clear_queue(&self) -> Value {
        let (mut steering, mut follow_ups) = (Vec::new(), Vec::new());
        for (delivery, words) in self.handle().messages().waiting_words() {
            match delivery {
                Delivery::Steering => steering.push(words),
                _ => follow_ups.push(words),
            }
        }
        self.handle().messages().take_back();
        self.user.stream().settled();
        json!({"steering": steering, "followUp": follow_ups})
    }

    // ---------------------------------------------------------------- other sessions

    async fn go(&self, call: HostCallAsync) -> Answered {
        self.extensions.ask_later(call).await.map(Some)
    }

    /// The call that copies the conversation.
    fn cloning(&self) -> Result<HostCallAsync, String> {
        let session = self.ask(HostCall::Session)?;
        let leaf = session["leafId"].as_str();
        let entry_id = leaf.ok_or("Cannot clone session: no current entry selected")?;
        Ok(HostCallAsync::Fork {
            entry_id: entry_id.to_owned(),
            position: ForkPosition::At,
        })
    }

    // ---------------------------------------------------------------- shell commands of the user

    async fn bash(&self, command: &str) -> Answered {
        let cancel = self.session.cancel.child_token();
        self.commands().push(cancel.clone());
        let (result, kept) = self
            .session
            .shell
            .perform(command, false, &cancel, self.handle())
            .await?;
        // A command that runs during a run of the agent is added to the conversation afterwards.
        if !self.handle().is_running() {
            kept.await.map_err(|error| error.to_string())?;
        }
        Ok(Some(bash_result(&result)))
    }

    fn end_commands(&self) {
        self.commands().drain(..).for_each(|command| command.cancel());
    }

    fn commands(&self) -> MutexGuard<'_, Vec<CancellationToken>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---------------------------------------------------------------- the state

    fn state(&self) -> Answered {
        let session = self.ask(HostCall::Session)?;
        let word = |name: &str| session[name].as_str().map(ToOwned::to_owned);
        let modes = *self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = &self.session.agent.settings.compaction;
        let compacts = self.user.compacts();
        let state = SessionState {
            model: self.ask(HostCall::Model)?,
            thinking_level: self.ask(HostCall::GetThinkingLevel)?,
            is_streaming: self.user.stream().runs() && !compacts,
            is_compacting: compacts,
            steering_mode: modes.0.word(),
            follow_up_mode: modes.1.word(),
            session_file: self.session_file()?,
            session_id: word("sessionId").unwrap_or_default(),
            session_name: word("name"),
            auto_compaction_enabled: self.handle().automation().compacts().unwrap_or(settings.auto),
            message_count: self.messages()?.len(),
            pending_message_count: self.user.stream().waiting(),
        };
        serde_json::to_value(state)
            .map(Some)
            .map_err(|error| error.to_string())
    }

    /// The file of the conversation, if it is stored.
    fn session_file(&self) -> Result<Option<String>, String> {
        let file = self.ask(HostCall::SessionFile)?;
        Ok(file.as_str().map(ToOwned::to_owned))
    }

    fn messages(&self) -> Result<Vec<Value>, String> {
        match self.ask(HostCall::SessionContext)?["messages"].take() {
            Value::Array(messages) => Ok(messages),
            _ => Ok(Vec::new()),
        }
    }

    fn stats(&self) -> Answered {
        let session = self.ask(HostCall::Session)?;
        let mut stats = session_stats(&self.messages()?);
        stats["sessionId"] = session["sessionId"].clone();
        if let Some(file) = self.session_file()? {
            stats["sessionFile"] = file.into();
        }
        stats["contextUsage"] = self.ask(HostCall::GetContextUsage)?;
        Ok(Some(stats))
    }

    fn export(&self, wanted: Option<&str>) -> Answered {
        let session = self.ask(HostCall::Session)?;
        let id = session["sessionId"].as_str().unwrap_or_default();
        let folder = &self.session.agent.settings.cwd;
        let file = pages::export(folder, wanted, id, &self.messages()?)?;
        Ok(Some(json!({"path": file.display().to_string()})))
    }

    fn all_entries(&self) -> Result<Vec<Value>, String> {
        match self.ask(HostCall::SessionEntries)? {
            Value::Array(entries) => Ok(entries),
            _ => Ok(Vec::new()),
        }
    }

    /// The entries, from the one after another on.
    fn entries(&self, since: Option<&str>) -> Answered {
        let mut entries = self.all_entries()?;
        if let Some(since) = since {
            let place = entries.iter().position(|entry| entry["id"] == since);
            let place = place.ok_or_else(|| format!("Entry not found: {since}"))?;
            entries.drain(..=place);
        }
        let leaf = self.ask(HostCall::Session)?["leafId"].take();
        Ok(Some(json!({"entries": entries, "leafId": leaf})))
    }

    /// The user messages, with their entries.
    fn fork_messages(&self) -> Answered {
        let entries = self.all_entries()?;
        let words = entries.iter().filter(|entry| entry["message"]["role"] == "user");
        let words = words.filter_map(|entry| {
            let text: String = match &entry["message"]["content"] {
                Value::String(text) => text.clone(),
                content => {
                    let parts = content.as_array()?.iter();
                    parts.filter_map(|part| part["text"].as_str()).collect()
                }
            };
            (!text.is_empty()).then(|| json!({"entryId": entry["id"], "text": text}))
        });
        Ok(Some(json!({"messages": words.collect::<Vec<_>>()})))
    }

    fn name(&self, name: &str) -> Result<(), String> {
        if name.is_empty() {
            return Err("Session name cannot be empty".into());
        }
        self.ask(HostCall::SetSessionName { name: name.into() })?;
        self.user.stream().named(name);
        Ok(())
    }

    // ---------------------------------------------------------------- models

    fn models(&self) -> Result<Vec<Value>, String> {
        match self.ask(HostCall::Models { available: true })? {
            Value::Array(models) => Ok(models),
            _ => Ok(Vec::new()),
        }
    }

    fn set_model(&self, provider: &str, id: &str) -> Result<Value, String> {
        match self.extensions.choose_model(provider, id, ModelChoice::Set) {
            true => self.ask(HostCall::Model),
            false => Err(format!("Model not found: {provider}/{id}")),
        }
    }

    /// Chooses the model after the one in use, if there is another.
    fn cycle_model(&self) -> Answered {
        let (models, current) = (self.models()?, self.ask(HostCall::Model)?);
        if models.len() < 2 {
            return Ok(Some(Value::Null));
        }
        let is_current =
            |model: &Value| model["provider"] == current["provider"] && model["id"] == current["id"];
        let place = models.iter().position(is_current).unwrap_or_default();
        let next = &models[(place + 1) % models.len()];
        let (provider, id) = (next["provider"].as_str(), next["id"].as_str());
        let (provider, id) = (provider.unwrap_or_default(), id.unwrap_or_default());
        if !self.extensions.choose_model(provider, id, ModelChoice::Cycle) {
            return Err(format!("No API key for {provider}/{id}"));
        }
        Ok(Some(json!({
            "model": next,
            "thinkingLevel": self.ask(HostCall::GetThinkingLevel)?,
            "isScoped": false,
        })))
    }

    /// Sets the thinking level, as far as the model has it.
    fn set_thinking(&self, level: &str) -> Result<(), String> {
        let before = self.ask(HostCall::GetThinkingLevel)?;
        self.ask(HostCall::SetThinkingLevel { level: level.into() })?;
        let now = self.ask(HostCall::GetThinkingLevel)?;
        if before != now {
            self.user.stream().thinks(now.as_str().unwrap_or_default());
        }
        Ok(())
    }

    fn cycle_thinking(&self) -> Answered {
        if self.ask(HostCall::Model)?["reasoning"] != true {
            return Ok(Some(Value::Null));
        }
        let current = self.ask(HostCall::GetThinkingLevel)?;
        let levels = self.ask(HostCall::ThinkingLevels)?;
        let levels = levels.as_array().map(Vec::as_slice).unwrap_or_default();
        let place = levels.iter().position(|level| *level == current);
        let next = place.map_or(0, |place| (place + 1) % levels.len());
        let next = levels.get(next).and_then(Value::as_str).unwrap_or("off");
        self.set_thinking(next)?;
        Ok(Some(json!({"level": next})))
    }
}

/// The entries as a tree, each with its label. An entry whose parent is missing is a root.
fn tree(entries: Vec<Value>) -> Vec<Value> {
    let mut labels: BTreeMap<String, (Value, Value)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry["type"] == "label") {
        let target = entry["targetId"].as_str().unwrap_or_default();
        labels.insert(
            target.to_owned(),
            (entry["label"].clone(), entry["timestamp"].clone()),
        );
    }
    let ids: BTreeSet<String> = entries.iter().filter_map(id_of).collect();
    let mut children: BTreeMap<Option<String>, Vec<Value>> = BTreeMap::new();
    // Children come after their parents, so from the end on every entry finds its own.
    let mut roots = Vec::new();
    for entry in entries.into_iter().rev() {
        let id = id_of(&entry);
        let mut below = children.remove(&id).unwrap_or_default();
        below.reverse();
        let parent = entry["parentId"].as_str().filter(|parent| ids.contains(*parent));
        let parent = parent.map(ToOwned::to_owned);
        let mut node = json!({"entry": entry, "children": below});
        let label = id.and_then(|id| labels.remove(&id));
        if let Some((label, time)) =
            label.filter(|(label, _)| label.as_str().is_some_and(|it| !it.is_empty()))
        {
            node["label"] = label;
            node["labelTimestamp"] = time;
        }
        match parent {
            Some(parent) => children.entry(Some(parent)).or_default().push(node),
            None => roots.push(node),
        }
    }
    roots.reverse();
    roots
}

fn id_of(entry: &Value) -> Option<String> {
    entry["id"].as_str().map(ToOwned::to_owned)
}

/// The mode in becket's terms.
fn pace(mode: QueueMode) -> Pace {
    match mode {
        QueueMode::All => Pace::All,
        QueueMode::OneAtATime => Pace::One,
    }
}

fn input(text: String, images: Option<Value>) -> Result<Input, String> {
    let images: Vec<Part> = match images.filter(|images| !images.is_null()) {
        Some(images) => written_parts(&images, "images").map_err(|failure| failure.to_string())?,
        None => Vec::new(),
    };
    Ok(Input {
        text,
        images,
        source: InputSource::Rpc,
    })
}
