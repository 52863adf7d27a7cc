//! Skills and prompts in a session: hooks bring more of them, and a line that names one stands for its text.

use becket_events::{
    OperationKind, PromptExpansion, PromptExpansionPayload, Resources, ResourcesPayload, StartReason,
};

use crate::endings::Ending;
use crate::front::FrontUpdate;
use crate::session::Session;
use crate::speaker::Speaker;

/// Asks hooks once more for skills and prompts, because those from elsewhere have changed.
pub(crate) async fn reload_library(session: &Session) {
    load_library(session, StartReason::Reload).await;
}

/// Asks hooks for more skills and prompts.
pub(crate) async fn load_library(session: &Session, reason: StartReason) {
    let Some(library) = &session.speaker.agent.settings.prompt_library else {
        return;
    };
    let brought = session
        .hooks
        .ask::<Resources>(|| ResourcesPayload { reason })
        .await;
    for remark in library.extend(&brought) {
        session.speaker.agent.front.show(FrontUpdate::Warning(&remark));
    }
    session.gate.let_read(library.folders());
}

/// The system prompt's text about skills; `None` if the model has no tool to read them with.
pub(crate) fn skills_text(speaker: &Speaker) -> Option<String> {
    let library = speaker.agent.settings.prompt_library.as_ref()?;
    let specs = speaker.agent.tools.iter().map(|tool| tool.spec());
    let reader =
        { specs }.find(|spec| spec.operation == Some(OperationKind::Read) && speaker.offers(spec))?;
    library.skills(&reader.face.name)
}

/// A text, or what it stands for if it calls a prompt or skill. Hooks may refuse that, or add to it.
pub(crate) async fn expand_name(session: &Session, words: String) -> Result<String, Ending> {
    let library = session.speaker.agent.settings.prompt_library.as_ref();
    let prompt = match library.and_then(|library| library.expand(&words)) {
        None => return Ok(words),
        Some(Ok(expanded)) => expanded,
        Some(Err(why)) => {
            session.warn(&why).await;
            return Ok(words);
        }
    };
    let line = words.trim().trim_start_matches('/');
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let payload = || PromptExpansionPayload {
        name: name.to_owned(),
        arguments: arguments.trim().to_owned(),
        prompt: prompt.clone(),
    };
    let (reply, handlers) = session.hooks.ask_whom::<PromptExpansion>(payload).await;
    session.agreed("this command", reply.verdict, handlers).await?;
    let texts = std::iter::once(prompt).chain(reply.context.0);
    Ok(texts.collect::<Vec<_>>().join("\n\n"))
}
