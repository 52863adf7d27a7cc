//! Prepares a prompt: hooks hear and judge it, and the system prompt is written for it.

use becket_events::{
    ConfigChange, InputSource, LoopStart, LoopStartPayload, Message, NoteDraft, Part, UserInput,
    UserInputPayload, UserPrompt, UserPromptPayload, text_of,
};
use becket_gate::Hooks;
use becket_gate::flocks::{FlockTexts, Flocks};
use becket_gate::vfs::Vfs;

use crate::endings::Ending;
use crate::front::FrontUpdate;
use crate::input::Input;
use crate::letters::add_showing;
use crate::mail::Arrivals;
use crate::message::{from_draft, note, user};
use crate::progress::{Coming, Run};
use crate::prompt::{Notes, system_prompt};
use crate::queue::Said;
use crate::request::with_session_context;
use crate::session::Session;
use crate::skills::{expand_name, skills_text};
use crate::speaker::Speaker;
use crate::store::StoreError;
use crate::storing::take_title;
use crate::tasks::Tasks;

/// Writes the system prompt. Its hooks are always asked, but a prompt that hooks of `agent_start` wrote stays.
pub(crate) async fn write_system_prompt(session: &Session, run: &mut Run) {
    let settings = &session.speaker.agent.settings;
    let summary = session.summary();
    let notes = match session.is_subagent() {
        true => Notes::of_subagent(settings, !session.speaker.agent.tools.is_empty()),
        false => {
            let context = &session.hooks.scope().context_name;
            Notes::of_context(
                &session.speaker.agent,
                context,
                flock_texts(&session.hooks, &session.speaker),
                skills_text(&session.speaker),
            )
        }
    };
    let text = system_prompt(&session.hooks, notes, summary, &run.fuel).await;
    if !run.system_prompt_is_fixed {
        run.system_prompt = text;
    }
    show_system_prompt(session, run);
}

/// Shows the system prompt of a run at the session handle.
pub(crate) fn show_system_prompt(session: &Session, run: &Run) {
    if let Some(handle) = &session.inbox.handle {
        handle.set_system_prompt(&with_session_context(&session.context, &run.system_prompt));
    }
}

/// The texts of the context's flocks. What cannot be read is left out with a warning.
fn flock_texts(hooks: &Hooks, speaker: &Speaker) -> FlockTexts {
    let flocks = Flocks::new(Vfs::new(&speaker.agent.settings.vfs));
    let texts = flocks.texts(&hooks.scope().context_name);
    for problem in &texts.problems {
        speaker.agent.front.show(FrontUpdate::Warning(problem));
    }
    texts
}

/// The open tasks at the time of the prompt.
pub(crate) fn open_tasks(session: &Session) -> Option<String> {
    if session.is_subagent() {
        return None;
    }
    let vfs = Vfs::new(&session.speaker.agent.settings.vfs);
    let tasks = Tasks::of(&vfs, &session.hooks.scope().context_name);
    for remark in &tasks.remarks {
        session.speaker.agent.front.show(FrontUpdate::Warning(remark));
    }
    tasks.table
}

/// Tells hooks which files with settings and hooks have changed.
pub(crate) async fn tell_config_changes(session: &Session) {
    if session.is_subagent() || !session.hooks.listens::<ConfigChange>() {
        return;
    }
    for change in session.speaker.agent.settings.config_files.changes() {
        session.hooks.tell::<ConfigChange>(|| change).await;
    }
}

/// A prompt to which hooks have agreed.
pub(crate) struct Considered {
    /// The text that hooks leave.
    pub(crate) prompt: String,
    /// Text that the model sees until the prompt is answered.
    pub(crate) context: Vec<String>,
    /// What hooks add to the conversation.
    pub(crate) notes: Vec<Message>,
}

/// Texts of hooks as parts of the conversation.
pub(crate) fn hook_notes(texts: &[String]) -> Vec<Message> {
    texts.iter().map(|text| note("hook", text)).collect()
}

/// Passes a prompt through its hooks.
pub(crate) async fn consider_prompt(
    session: &mut Session,
    text: String,
    images: &[Part],
    source: InputSource,
    continuation: u32,
) -> Result<Considered, Ending> {
    let payload = || UserPromptPayload {
        prompt: text.clone(),
        images: images.to_vec(),
        source,
        summary: session.summary().map(ToOwned::to_owned),
        continuation,
    };
    let (reply, handlers) = session.hooks.ask_whom::<UserPrompt>(payload).await;
    session.agreed("this prompt", reply.verdict, handlers).await?;
    if let Some(title) = reply
        .title
        .get()
        .filter(|_| !session.is_subagent() && !session.beside)
    {
        take_title(session, &title).await;
    }
    Ok(Considered {
        prompt: reply.prompt.get().unwrap_or(text),
        context: reply.context.0,
        notes: hook_notes(&reply.notes.0),
    })
}

/// Decides who goes on after an answer: the configuration, until hooks of `loop_start` or later of `tool_batch`
/// decide otherwise. Their decision holds until the model is asked again without the user.
pub(crate) async fn start_loop(hooks: &Hooks, speaker: &Speaker, run: &mut Run) {
    run.fallback = speaker.agent.settings.fallback;
    let payload = || LoopStartPayload {
        fuel_remaining: run.fuel.remaining(),
        fuel_total: run.fuel.total,
        fallback: run.fallback,
        message: run.prompt.clone(),
        continuation: run.continuation,
    };
    let reply = hooks.ask::<LoopStart>(payload).await;
    run.fallback = reply.fallback.get().unwrap_or(run.fallback);
    run.fuel.adjust(reply.fuel);
}

/// Lets hooks rewrite a message or handle it. The name of a prompt or skill in it is expanded afterwards.
pub(crate) async fn hear_said(session: &Session, said: Said) -> Result<Said, Ending> {
    let may_name = said.may_name();
    let (Said::Words(input) | Said::Line(input)) = said else {
        return Ok(said);
    };
    let Input { text, images, source } = input;
    let payload = || UserInputPayload {
        text: text.clone(),
        images: images.clone(),
        source,
    };
    let reply = session.hooks.ask::<UserInput>(payload).await;
    if let Some(handled) = reply.handled.get() {
        return Err(Ending::Handled(handled.message));
    }
    let text = reply.text.get().unwrap_or(text);
    Ok(Said::Words(Input {
        text: match may_name {
            true => expand_name(session, text).await?,
            false => text,
        },
        images: reply.images.get().unwrap_or(images),
        source,
    }))
}

/// Converts queued messages, and returns the texts among them as well. Messages that a hook handles are left out.
pub(crate) async fn messages_of(session: &Session, said: Vec<Said>) -> (Vec<Message>, Vec<String>) {
    let (mut messages, mut words) = (Vec::new(), Vec::new());
    for said in said {
        match hear_said(session, said).await {
            Ok(Said::Note(note)) => messages.push(from_draft(note)),
            Ok(Said::Words(input) | Said::Line(input)) => {
                messages.push(user(&input.text, input.images));
                words.push(input.text);
            }
            Err(_) => {}
        }
    }
    (messages, words)
}

/// Prepares the prompt and what waited for one; they become part of the conversation with the next turn.
pub(crate) async fn expect_prompt(
    session: &mut Session,
    run: &mut Run,
    (note, images): (Option<NoteDraft>, Vec<Part>),
    notes: Vec<Message>,
    arrivals: Arrivals,
) {
    let first = match note {
        None => user(&run.prompt, images),
        Some(note) => from_draft(reworded(note, &run.prompt, images)),
    };
    let (waited, _) = messages_of(session, session.inbox.queues.take_with_next()).await;
    let messages = std::iter::once(first).chain(waited).chain(notes).collect();
    run.coming = Some(Coming { messages, arrivals });
    run.tasks = open_tasks(session);
}

/// Makes the prompt a part of the conversation, once.
pub(crate) async fn store_prompt(session: &mut Session, run: &mut Run) -> Result<(), StoreError> {
    match run.coming.take() {
        Some(Coming { messages, arrivals }) => add_showing(session, messages, &arrivals).await,
        None => Ok(()),
    }
}

/// The prompt that begins a run; a note stands for one as well.
pub(crate) fn opening(said: Said) -> (Input, Option<NoteDraft>) {
    match said {
        Said::Words(input) | Said::Line(input) => (input, None),
        Said::Note(note) => {
            let images = note.content.iter();
            let input = Input {
                text: text_of(&note.content),
                images: images
                    .filter(|part| matches!(part, Part::Image { .. }))
                    .cloned()
                    .collect(),
                source: InputSource::Hook,
            };
            (input, Some(note))
        }
    }
}

/// A note with the text that hooks have left of it.
fn reworded(note: NoteDraft, words: &str, images: Vec<Part>) -> NoteDraft {
    if text_of(&note.content) == words {
        return note;
    }
    NoteDraft {
        content: std::iter::once(Part::text(words)).chain(images).collect(),
        ..note
    }
}
