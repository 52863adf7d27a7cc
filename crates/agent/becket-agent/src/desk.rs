//! The desk: the handle by which code outside of the loop sees and steers a session while it runs.
//!
//! Extensions call in from a hook, from a running tool, or from a timer while nothing runs. Whatever they ask for is
//! answered at once and never waits for the loop: what they *see* is a copy that the session keeps up to date; what
//! they *say*, *remember* and *choose* is noted here, visible at once, and the loop obeys at its next safe moment
//! (`obey.rs`): before its next request, at the end of the run, or, while nothing runs, as soon as the front end calls
//! `Session::attend`. A desk belongs to the person's own session; what sub-agents do does not change what it shows.
//!
//! A desk exists before its session, so that extensions can hold it while they are loaded. Until the session has begun
//! there is nothing to see, and after its end nothing can be asked for any more: both are errors that say so.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use becket_events::{Message, ModelChoice, NoteDraft};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::compact::CompactEnd;
use crate::context_files::ContextFiles;
pub use crate::departure::{Destination, Moved, Planted, Planter, Site, Wish};
use crate::manners::Manners;
use crate::message::{from_draft, user};
use crate::provider::{Provider, ThinkingLevel};
pub use crate::queue::{Delivery, Pace, WhenIdle};
use crate::queue::{Queues, Said};
use crate::run::Input;
use crate::session::Agent;
use crate::session_judge::SessionJudge;
use crate::store::{Conversation, EntryContent, NewEntry, Origin, ShellRun, StoredEntry};
use crate::tool::{Tool, ToolSpec};
use crate::tree::{Branch, Tree};

/// A session, as code outside of its loop sees and steers it. Cloning gives another handle to the same desk.
#[derive(Clone, Default)]
pub struct Desk(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    queues: Queues,
    manners: Manners,
}

/// Why something cannot be seen or done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeskError {
    /// There is no session yet.
    #[error("the session has not begun yet; `session_start` tells when it has")]
    NotBegun,
    /// There is no session any more.
    #[error("the session is over")]
    Over,
    /// It was tried, and could not be done.
    #[error("{0}")]
    Failed(String),
}

/// Where a session runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Identifies the session.
    pub session_id: String,
    /// The context it runs in.
    pub context_name: String,
    /// The directory in which the agent works.
    pub cwd: String,
    /// The files of that context.
    pub files: ContextFiles,
    /// Where the conversation comes from, if it did not begin in its context.
    pub origin: Option<Origin>,
}

/// How full the model's window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextUsage {
    /// How many tokens the conversation has: as the provider counted them, and an estimate of what came after that.
    pub tokens: u64,
    /// How many the model can take.
    pub window: u64,
}

impl ContextUsage {
    /// The same in percent.
    pub fn percent(&self) -> f64 {
        match self.window {
            0 => 0.0,
            window => self.tokens as f64 * 100.0 / window as f64,
        }
    }
}

/// A tool of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSeen {
    /// How it presents itself.
    pub spec: ToolSpec,
    /// Whether the model is offered it.
    pub is_active: bool,
}

/// A model for the session.
#[derive(Clone)]
pub struct ChosenModel {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// How many tokens it can take; as many as the one before where nothing is said.
    pub context_window: Option<u64>,
    /// How it came to be chosen.
    pub choice: ModelChoice,
}

#[derive(Default)]
struct State {
    seen: Option<Seen>,
    over: bool,
    choices: Choices,
    /// How often something was chosen, and how often that was when the session last looked.
    revision: u64,
    heeded: u64,
    /// Entries that are visible already and wait to be stored.
    unstored: Vec<NewEntry>,
    compactions: VecDeque<CompactWish>,
    shell_runs: Vec<ShellWish>,
    moves: VecDeque<Wish>,
    /// Whether somebody is about to fulfil one.
    is_moving: bool,
    /// Ends the run in progress.
    cancel: Option<CancellationToken>,
    /// Whether it was ended here, and not by the person.
    aborted: bool,
    shutdown: bool,
}

/// What a session shows.
struct Seen {
    place: Place,
    tree: Tree,
    judge: Option<SessionJudge>,
    system_prompt: String,
    tokens: u64,
    base: Base,
}

/// What the session works with before anything is chosen.
pub(crate) struct Base {
    tools: Vec<Arc<dyn Tool>>,
    provider: Arc<dyn Provider>,
    thinking: Option<ThinkingLevel>,
    window: u64,
    /// Whether tools can be added. Members of a team have those that the person has given them, and no others.
    takes_tools: bool,
}

impl Base {
    pub(crate) fn of(agent: &Agent) -> Self {
        Self {
            tools: agent.tools.clone(),
            provider: Arc::clone(&agent.provider),
            thinking: agent.settings.options.thinking,
            window: agent.settings.compaction.context_window,
            takes_tools: agent.team.is_none(),
        }
    }
}

/// What was chosen at the desk.
#[derive(Clone, Default)]
pub(crate) struct Choices {
    pub(crate) model: Option<ChosenModel>,
    /// All that were ever chosen, each once.
    known_models: Vec<ChosenModel>,
    pub(crate) thinking: Option<ThinkingLevel>,
    /// Tools that were added. One with the name of another stands in its place.
    tools: Vec<Arc<dyn Tool>>,
    /// The tools that the model is offered; all of them when nothing was said.
    pub(crate) active: Option<Vec<String>>,
}

impl Choices {
    /// The tools of an agent, with those that were added.
    pub(crate) fn tools(&self, base: &[Arc<dyn Tool>], takes_tools: bool) -> Vec<Arc<dyn Tool>> {
        let mut added: Vec<&Arc<dyn Tool>> = match takes_tools {
            true => self.tools.iter().collect(),
            false => Vec::new(),
        };
        let mut tools: Vec<Arc<dyn Tool>> = Vec::with_capacity(base.len() + added.len());
        for tool in base {
            let place = added.iter().position(|other| name_of(other) == name_of(tool));
            tools.push(Arc::clone(place.map_or(tool, |place| added.remove(place))));
        }
        tools.extend(added.into_iter().cloned());
        tools
    }

    pub(crate) fn is_active(&self, tool: &Arc<dyn Tool>) -> bool {
        let active = self.active.as_ref();
        active.is_none_or(|active| active.iter().any(|name| name == name_of(tool)))
    }
}

fn name_of(tool: &Arc<dyn Tool>) -> &str {
    &tool.spec().face.name
}

/// Somebody wants the conversation summarised, and waits for it.
pub(crate) struct CompactWish {
    pub(crate) instructions: Option<String>,
    pub(crate) answer: oneshot::Sender<Result<CompactEnd, DeskError>>,
}

/// A command that the person ran is to be kept, and somebody may wait for that.
pub(crate) struct ShellWish {
    pub(crate) run: ShellRun,
    pub(crate) kept: oneshot::Sender<Result<(), DeskError>>,
}

/// Entries on their way into the store.
pub(crate) struct Written {
    /// Those that had waited.
    waited: Vec<NewEntry>,
    /// The ids of the others.
    new: Vec<String>,
}

/// A model, and how many tokens it can take.
pub type KnownModel = (Arc<dyn Provider>, u64);

/// What can be seen, at once and at any time while the session lasts and after it.
impl Desk {
    /// A desk whose session has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the session runs.
    pub fn place(&self) -> Result<Place, DeskError> {
        self.see(|seen| seen.place.clone())
    }

    /// The name that the conversation was given.
    pub fn name(&self) -> Result<Option<String>, DeskError> {
        self.see(|seen| seen.tree.name().map(ToOwned::to_owned))
    }

    /// The conversation with all its branches. Entries that still wait to be stored are there.
    pub fn tree(&self) -> Result<Tree, DeskError> {
        self.see(|seen| seen.tree.clone())
    }

    /// Identifies the conversation, in all sessions of its context: the id of the first of them.
    pub fn conversation_id(&self) -> Result<String, DeskError> {
        self.see(|seen| match seen.tree.entries().first() {
            Some(first) => first.session_id.clone(),
            None => seen.place.session_id.clone(),
        })
    }

    /// All entries of the conversation, on whichever branch, the oldest first.
    pub fn all_entries(&self) -> Result<Branch, DeskError> {
        self.see(|seen| seen.tree.entries().to_vec())
    }

    /// The entries of the conversation, from its root to where it stands.
    pub fn entries(&self) -> Result<Branch, DeskError> {
        self.see(|seen| seen.tree.path())
    }

    /// The entries from the root to this one; none for one that is not there.
    pub fn branch(&self, id: &str) -> Result<Branch, DeskError> {
        self.see(|seen| seen.tree.path_to(Some(id)))
    }

    /// The entries that come after this one, or without one those that begin a conversation.
    pub fn children(&self, id: Option<&str>) -> Result<Branch, DeskError> {
        self.see(|seen| seen.tree.children(id))
    }

    /// The entry with that id, on whichever branch.
    pub fn entry(&self, id: &str) -> Result<Option<Arc<StoredEntry>>, DeskError> {
        self.see(|seen| seen.tree.entry(id).cloned())
    }

    /// Where the conversation stands; `None` at its beginning.
    pub fn leaf_id(&self) -> Result<Option<String>, DeskError> {
        self.see(|seen| seen.tree.leaf_id().map(ToOwned::to_owned))
    }

    /// What an entry was labelled with.
    pub fn label(&self, entry_id: &str) -> Result<Option<String>, DeskError> {
        self.see(|seen| seen.tree.label(entry_id).map(|label| label.text.clone()))
    }

    /// The conversation as the model sees it: the messages since the last compaction, and those that it kept.
    pub fn messages(&self) -> Result<Vec<Message>, DeskError> {
        let entries = self.entries()?;
        Ok(Conversation::of(entries.iter().map(AsRef::as_ref)).messages)
    }

    /// Who asks hooks in the session's name, beside what runs.
    pub fn judge(&self) -> Result<SessionJudge, DeskError> {
        self.see(|seen| seen.judge.clone())?.ok_or(DeskError::Over)
    }

    /// The system prompt as it was last written; before the first prompt, what the agent was instructed with.
    pub fn system_prompt(&self) -> Result<String, DeskError> {
        self.see(|seen| seen.system_prompt.clone())
    }

    /// How full the model's window is.
    pub fn context_usage(&self) -> Result<ContextUsage, DeskError> {
        let state = self.state();
        let seen = state.seen.as_ref().ok_or(DeskError::NotBegun)?;
        let chosen = state.choices.model.as_ref();
        Ok(ContextUsage {
            tokens: seen.tokens,
            window: chosen
                .and_then(|model| model.context_window)
                .unwrap_or(seen.base.window),
        })
    }

    /// The tools there are, those included that the model is not offered.
    pub fn tools(&self) -> Result<Vec<ToolSeen>, DeskError> {
        let state = self.state();
        let Base {
            tools, takes_tools, ..
        } = &state.seen.as_ref().ok_or(DeskError::NotBegun)?.base;
        let tools = state.choices.tools(tools, *takes_tools).into_iter();
        let seen = tools.map(|tool| ToolSeen {
            spec: tool.spec().clone(),
            is_active: state.choices.is_active(&tool),
        });
        Ok(seen.collect())
    }

    /// The model in use.
    pub fn model(&self) -> Result<Arc<dyn Provider>, DeskError> {
        let state = self.state();
        let base = &state.seen.as_ref().ok_or(DeskError::NotBegun)?.base;
        let chosen = state.choices.model.as_ref();
        Ok(Arc::clone(chosen.map_or(&base.provider, |model| &model.provider)))
    }

    /// The models that the session has worked with, each with how many tokens it can take: the one that it began with,
    /// and those that were chosen since.
    pub fn models(&self) -> Result<Vec<KnownModel>, DeskError> {
        let state = self.state();
        let base = &state.seen.as_ref().ok_or(DeskError::NotBegun)?.base;
        let first = (Arc::clone(&base.provider), base.window);
        let chosen = state.choices.known_models.iter();
        let others = chosen.filter(|model| !is_same(&*model.provider, &*base.provider));
        let others = others.map(|model| {
            let window = model.context_window.unwrap_or(base.window);
            (Arc::clone(&model.provider), window)
        });
        Ok(std::iter::once(first).chain(others).collect())
    }

    /// How much the model is to think, if anybody said so.
    pub fn thinking(&self) -> Result<Option<ThinkingLevel>, DeskError> {
        let state = self.state();
        let base = &state.seen.as_ref().ok_or(DeskError::NotBegun)?.base;
        Ok(state.choices.thinking.or(base.thinking))
    }

    /// Whether nothing runs and nothing is about to: no prompt is being answered, and nothing that was asked for here
    /// waits to be done. Before a prompt's run has begun, while hooks hear its words, nothing runs yet.
    pub fn is_idle(&self) -> bool {
        self.0.queues.is_idle() && self.state().compactions.is_empty()
    }

    /// Whether something runs.
    pub fn is_running(&self) -> bool {
        self.0.queues.is_running()
    }

    /// Waits until everything is done that was said and asked for. Inside of a hook or a tool of the same session that
    /// is never.
    pub async fn idle(&self) {
        let all_written = || self.state().compactions.is_empty();
        self.0.queues.rested(all_written).await;
    }

    /// Whether something waits for the model to hear it.
    pub fn has_waiting(&self) -> bool {
        !self.0.queues.is_silent()
    }

    /// Whether something that was said runs by itself, in the run that there is or after it.
    pub fn has_next(&self) -> bool {
        !self.0.queues.is_empty()
    }

    /// The words of the person's that wait, and when they are heard.
    pub fn waiting_words(&self) -> Vec<(Delivery, String)> {
        self.0.queues.waiting_words()
    }

    /// Takes back what the person has said and nobody has heard yet.
    pub fn take_back(&self) -> Vec<String> {
        self.0.queues.take_back()
    }

    /// What waits for the model to hear it, as the messages that it would become.
    pub fn waiting(&self) -> Vec<Message> {
        let said = self.0.queues.all_waiting().into_iter();
        let messages = said.map(|said| match said {
            Said::Words(input) | Said::Line(input) => user(&input.text, input.images),
            Said::Note(note) => from_draft(note),
        });
        messages.collect()
    }

    /// Tells when the run in progress is cancelled; `None` while nothing runs.
    pub fn cancel(&self) -> Option<CancellationToken> {
        self.state().cancel.clone()
    }
}

/// What can be said and remembered. What is accepted is visible at once where it can be.
impl Desk {
    /// Words for the model, as the person would say them. While nothing runs they begin a run, unless they are to come
    /// with the next prompt.
    pub fn say(&self, words: Input, delivery: Delivery) -> Result<(), DeskError> {
        self.say_when(words, delivery, WhenIdle::Run)
    }

    /// The same where it is said what becomes of them while nothing runs.
    pub fn say_when(&self, words: Input, delivery: Delivery, when_idle: WhenIdle) -> Result<(), DeskError> {
        drop(self.open()?);
        self.0.queues.say(Said::Words(words), delivery, when_idle);
        Ok(())
    }

    /// The same for words in which a name of the shelf stands for what lies there, as when the person types it.
    pub fn type_line(&self, words: Input, delivery: Delivery) -> Result<(), DeskError> {
        drop(self.open()?);
        self.0.queues.say(Said::Line(words), delivery, WhenIdle::Run);
        Ok(())
    }

    /// A note for the model. While nothing runs it begins a run or is only kept, unless it is to come with the next
    /// prompt.
    pub fn note(&self, note: NoteDraft, delivery: Delivery, when_idle: WhenIdle) -> Result<(), DeskError> {
        drop(self.open()?);
        self.0.queues.say(Said::Note(note), delivery, when_idle);
        Ok(())
    }

    /// How much of what is said this way the model hears at once.
    pub fn set_pace(&self, delivery: Delivery, pace: Pace) {
        self.0.queues.set_pace(delivery, pace);
    }

    /// Adds an entry that the model never sees, and returns its id. It is stored before the next message, or before
    /// the prompt or the session ends.
    pub fn remember(&self, kind: &str, data: serde_json::Value) -> Result<String, DeskError> {
        let kind = kind.into();
        self.add(EntryContent::Custom { kind, data })
    }

    /// Keeps a command that the person ran. The model hears of it with the next prompt, unless it is hidden. While
    /// something runs, it becomes part of the conversation after that. The wish counts from the call on.
    pub fn keep_shell_run(
        &self,
        run: ShellRun,
    ) -> impl Future<Output = Result<(), DeskError>> + Send + use<> {
        let (kept, answered) = oneshot::channel();
        let wish = ShellWish { run, kept };
        let wished = self.open().map(|mut state| state.shell_runs.push(wish));
        self.0.queues.tell();
        async move {
            wished?;
            answered.await.unwrap_or(Err(DeskError::Over))
        }
    }

    /// Labels an entry, or takes its label away. Says when there is no such entry.
    pub fn set_label(&self, entry_id: &str, label: Option<&str>) -> Result<String, DeskError> {
        if self.entry(entry_id)?.is_none() {
            let words = format!("there is no entry {entry_id:?} in this conversation");
            return Err(DeskError::Failed(words));
        }
        self.add(EntryContent::Label {
            target_id: entry_id.into(),
            label: label.map(Into::into),
        })
    }

    /// Gives the conversation a name.
    pub fn set_name(&self, name: &str) -> Result<String, DeskError> {
        self.add(EntryContent::Name { name: name.into() })
    }

    /// An entry tells of a change that the session has made.
    pub(crate) fn note_change(&self, content: EntryContent) {
        // A session that is over changes nothing any more.
        let _ = self.add(content);
    }

    fn add(&self, content: EntryContent) -> Result<String, DeskError> {
        let mut state = self.open()?;
        let entry = NewEntry::new(content);
        let id = entry.id.clone();
        if let Some(seen) = &mut state.seen {
            seen.show(&entry);
        }
        state.unstored.push(entry);
        drop(state);
        self.0.queues.tell();
        Ok(id)
    }
}

/// What can be wished for that only whoever has the session can do.
impl Desk {
    /// Goes on elsewhere, as soon as nothing runs and the front end attends. The wish counts from the call on, whoever
    /// waits for it; inside of a hook or a tool of the same session nobody should.
    pub fn go(&self, to: Destination) -> impl Future<Output = Result<Moved, DeskError>> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let wished = self.open().map(|mut state| {
            let works = state.cancel.as_ref().is_some_and(|cancel| !cancel.is_cancelled());
            let interrupts = works && to.is_elsewhere();
            state
                .moves
                .push_back(Wish::new(to, interrupts, self.clone(), answer));
        });
        self.0.queues.tell();
        async move {
            wished?;
            answered.await.unwrap_or(Err(DeskError::Over))
        }
    }

    /// Whether somebody wants to go on elsewhere, or is on the way.
    pub fn is_moving(&self) -> bool {
        let state = self.state();
        state.is_moving || !state.moves.is_empty()
    }

    /// Waits until somebody wants to go on elsewhere in the middle of what the session does, and not only after it.
    pub async fn interrupted(&self) -> Wish {
        loop {
            if let Some(wish) = self.take_interrupting() {
                return wish;
            }
            self.0.queues.told().await;
        }
    }

    fn take_interrupting(&self) -> Option<Wish> {
        let mut state = self.state();
        let wish = state.moves.pop_front_if(|wish| wish.interrupts)?;
        state.is_moving = true;
        Some(wish)
    }

    /// The next wish to go on elsewhere, for whoever has the session.
    pub fn take_move(&self) -> Option<Wish> {
        let mut state = self.state();
        let wish = state.moves.pop_front();
        state.is_moving = wish.is_some();
        wish
    }

    pub(crate) fn moved(&self) {
        self.state().is_moving = false;
    }
}

/// What can be chosen: before the session as well, and from the next request on.
impl Desk {
    /// The model is offered all tools again.
    pub fn offer_all_tools(&self) {
        self.choose(|choices| choices.active = None);
    }

    /// Takes back the tools that somebody has added.
    pub fn take_tools_of(&self, source: &str) {
        self.choose(|choices| choices.tools.retain(|tool| tool.spec().source != source));
    }

    /// The tools that the model is offered, by the names it knows them by. Unknown names do not count.
    pub fn set_active_tools(&self, names: Vec<String>) {
        self.choose(|choices| choices.active = Some(names));
    }

    /// Adds a tool, which is offered to the model. One with the name of another stands in its place.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) {
        self.choose(|choices| {
            choices.tools.retain(|other| name_of(other) != name_of(&tool));
            if let Some(active) = &mut choices.active
                && !active.iter().any(|name| name == name_of(&tool))
            {
                active.push(name_of(&tool).into());
            }
            choices.tools.push(tool);
        });
    }

    /// Another model, for sub-agents as well. `model_change` tells when it is in use.
    pub fn set_model(&self, model: ChosenModel) {
        self.choose(|choices| {
            let known = &mut choices.known_models;
            if !known
                .iter()
                .any(|other| is_same(&*other.provider, &*model.provider))
            {
                known.push(model.clone());
            }
            choices.model = Some(model);
        });
    }

    /// How much the model is to think.
    pub fn set_thinking(&self, level: ThinkingLevel) {
        self.choose(|choices| choices.thinking = Some(level));
    }

    fn choose(&self, change: impl FnOnce(&mut Choices)) {
        let mut state = self.state();
        if state.over {
            return;
        }
        // A tool that goes away may look at the desk once more: not while it is held.
        let before = state.choices.clone();
        change(&mut state.choices);
        state.revision += 1;
        drop(state);
        drop(before);
        self.0.queues.tell();
    }
}

/// What can be ended.
impl Desk {
    /// Ends the run in progress, as a cancel by the person does. Nothing happens while nothing runs.
    pub fn abort(&self) {
        let mut state = self.state();
        let Some(cancel) = state.cancel.clone().filter(|cancel| !cancel.is_cancelled()) else {
            return;
        };
        state.aborted = true;
        drop(state);
        cancel.cancel();
    }

    /// Ends the program as soon as nothing runs.
    pub fn shut_down(&self) {
        self.state().shutdown = true;
        self.0.queues.tell();
    }

    /// Whether the program is to end; the front end asks between two prompts.
    pub fn shutdown_requested(&self) -> bool {
        self.state().shutdown
    }

    /// Summarises the conversation: while something runs, the part before the prompt that is being answered, before the
    /// next request; otherwise all of it, as soon as the front end attends. A run goes on after it.
    ///
    /// Whoever waits for it inside of a hook or a tool of the same session waits for itself: the loop goes on when the
    /// hook has answered. Start it and let it run. The wish counts from the call on, whoever waits for it.
    pub fn compact(
        &self,
        instructions: Option<String>,
    ) -> impl Future<Output = Result<CompactEnd, DeskError>> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let wish = CompactWish { instructions, answer };
        let wished = self.open().map(|mut state| state.compactions.push_back(wish));
        self.0.queues.tell();
        async move {
            wished?;
            answered.await.unwrap_or(Err(DeskError::Over))
        }
    }
}

/// For the front end.
impl Desk {
    /// Whether something is to be done while nothing runs: `Session::attend` does it. Also when the program is to end.
    pub fn has_wish(&self) -> bool {
        self.has_work() || (self.has_session() && self.0.queues.is_resting() && self.shutdown_requested())
    }

    /// The same without a wish that the program ends.
    pub fn has_work(&self) -> bool {
        let state = self.state();
        let asked = state.revision != state.heeded
            || !state.unstored.is_empty()
            || !state.compactions.is_empty()
            || !state.shell_runs.is_empty()
            || !state.moves.is_empty()
            || state.is_moving;
        drop(state);
        self.has_session() && self.0.queues.is_resting() && (asked || self.0.queues.has_wish())
    }

    /// Waits until something is to be done while nothing runs. One front end waits at a time.
    pub async fn wished(&self) {
        while !self.has_wish() {
            self.0.queues.told().await;
        }
    }

    /// The same without a wish that the program ends.
    pub async fn has_more_work(&self) {
        while !self.has_work() {
            self.0.queues.told().await;
        }
    }

    fn has_session(&self) -> bool {
        let state = self.state();
        state.seen.is_some() && !state.over
    }
}

/// For the session.
impl Desk {
    pub(crate) fn manners(&self) -> &Manners {
        &self.0.manners
    }

    pub(crate) fn queues(&self) -> Queues {
        self.0.queues.clone()
    }

    /// The session begins, perhaps in the place of another one. What was chosen holds for it too.
    pub(crate) fn begin(&self, place: Place, tree: Tree, base: Base, of_session: (&str, SessionJudge)) {
        let (instructions, judge) = of_session;
        let mut state = self.state();
        state.seen = Some(Seen {
            place,
            tree,
            judge: Some(judge),
            system_prompt: instructions.into(),
            tokens: 0,
            base,
        });
        state.heeded = 0;
        state.over = false;
    }

    /// The session is over: nothing can be asked for any more, and whoever waits is told.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.over = true;
        state.compactions.clear();
        state.shell_runs.clear();
        // A wish holds the desk, which must not hold it in turn.
        let moves = std::mem::take(&mut state.moves);
        state.cancel = None;
        // A tool may hold the desk, which must not hold it in turn.
        let choices = std::mem::take(&mut state.choices);
        let seen = state.seen.as_mut();
        let tools = seen.map(|seen| (std::mem::take(&mut seen.base.tools), seen.judge.take()));
        drop(state);
        drop((choices, tools, moves));
    }

    /// What was chosen, if that is something else than when the session last looked.
    pub(crate) fn news(&self) -> Option<Choices> {
        let mut state = self.state();
        if state.revision == state.heeded {
            return None;
        }
        state.heeded = state.revision;
        Some(state.choices.clone())
    }

    /// What was chosen so far.
    pub(crate) fn choices(&self) -> Choices {
        self.state().choices.clone()
    }

    /// Another agent has the word; what was chosen holds for it too.
    pub(crate) fn set_base(&self, base: Base) {
        let mut state = self.state();
        state.heeded = 0;
        if let Some(seen) = &mut state.seen {
            seen.base = base;
        }
    }

    pub(crate) fn set_system_prompt(&self, text: &str) {
        self.update(|seen| text.clone_into(&mut seen.system_prompt));
    }

    pub(crate) fn set_tokens(&self, tokens: u64) {
        self.update(|seen| seen.tokens = tokens);
    }

    /// The conversation begins anew.
    pub(crate) fn clear(&self) {
        self.set_tree(Tree::default());
    }

    /// The conversation stands elsewhere.
    pub(crate) fn set_tree(&self, tree: Tree) {
        let mut state = self.state();
        let unstored = state.unstored.clone();
        if let Some(seen) = &mut state.seen {
            seen.tree = tree;
            unstored.iter().for_each(|entry| seen.show(entry));
        }
    }

    pub(crate) fn set_cancel(&self, cancel: Option<CancellationToken>) {
        let mut state = self.state();
        state.aborted = false;
        state.cancel = cancel;
    }

    pub(crate) fn was_aborted(&self) -> bool {
        self.state().aborted
    }

    pub(crate) fn take_compaction(&self) -> Option<CompactWish> {
        self.state().compactions.pop_front()
    }

    pub(crate) fn take_shell_runs(&self) -> Vec<ShellWish> {
        std::mem::take(&mut self.state().shell_runs)
    }

    pub(crate) fn has_unstored(&self) -> bool {
        !self.state().unstored.is_empty()
    }

    /// Entries are about to be stored, after those that wait. They are seen from now on, so that whatever is added
    /// meanwhile stands behind them.
    pub(crate) fn write(&self, new: Vec<NewEntry>) -> (Vec<NewEntry>, Written) {
        let mut state = self.state();
        let waited = std::mem::take(&mut state.unstored);
        if let Some(seen) = &mut state.seen {
            new.iter().for_each(|entry| seen.show(entry));
        }
        let ids = new.iter().map(|entry| entry.id.clone()).collect();
        let entries = waited.iter().cloned().chain(new).collect();
        (entries, Written { waited, new: ids })
    }

    /// They could not be stored: what had waited waits again.
    pub(crate) fn unwrite(&self, written: Written) {
        let Written { waited, new } = written;
        let mut state = self.state();
        let later = std::mem::replace(&mut state.unstored, waited);
        state.unstored.extend(later);
        if let Some(seen) = &mut state.seen {
            seen.tree.remove(&new);
        }
    }

    fn see<T>(&self, look: impl FnOnce(&Seen) -> T) -> Result<T, DeskError> {
        self.state().seen.as_ref().map(look).ok_or(DeskError::NotBegun)
    }

    fn update(&self, change: impl FnOnce(&mut Seen)) {
        if let Some(seen) = &mut self.state().seen {
            change(seen);
        }
    }

    /// The state of a session that has begun and is not over.
    fn open(&self) -> Result<MutexGuard<'_, State>, DeskError> {
        let state = self.state();
        match (&state.seen, state.over) {
            (None, _) => Err(DeskError::NotBegun),
            (_, true) => Err(DeskError::Over),
            _ => Ok(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let held = self.0.state.lock();
        held.expect("no panic happens while the desk is held")
    }
}

impl Seen {
    /// Adds an entry behind the last one.
    fn show(&mut self, entry: &NewEntry) {
        let NewEntry { id, time_ms, content } = entry.clone();
        self.tree.push(StoredEntry {
            id,
            parent_id: self.tree.leaf_id().map(ToOwned::to_owned),
            session_id: self.place.session_id.clone(),
            time_ms,
            content,
            source: None,
        });
    }
}

/// Whether two mean the same model.
fn is_same(one: &dyn Provider, other: &dyn Provider) -> bool {
    (one.name(), one.model()) == (other.name(), other.model())
}

impl fmt::Debug for Desk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place().ok();
        formatter
            .debug_struct("Desk")
            .field("place", &place)
            .finish_non_exhaustive()
    }
}
