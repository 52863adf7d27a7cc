//! `/thinking`: how much the model thinks before it answers.

use std::time::Duration;

use becket_agent::provider::ThinkingLevel;
use becket_face_kit::{Conversation, thinking_level};
use becket_screen::{Entry, Question, Screen};
use becket_system::{Surroundings, harmless_name};

/// How long the user may take to choose.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The names of all levels.
pub fn names() -> impl Iterator<Item = &'static str> {
    ThinkingLevel::ALL.iter().map(|level| level.name())
}

/// Shows the level, or sets the one of this name.
pub fn set(name: &str, conversation: &Conversation, surroundings: &Surroundings) -> Result<(), String> {
    let all = || names().collect::<Vec<_>>().join(", ");
    if name.is_empty() {
        let level =
            thinking_level(conversation).map_or("not set, so the provider decides", ThinkingLevel::name);
        surroundings.remark(&format!(
            "thinking is {level}; /thinking LEVEL sets it: {}",
            all()
        ));
        return Ok(());
    }
    let Some(level) = ThinkingLevel::ALL.iter().find(|level| level.name() == name) else {
        let name = harmless_name(name);
        return Err(format!(
            "there is no thinking level `{name}`; there are {}",
            all()
        ));
    };
    let handle = conversation.handle();
    let handle = handle.ok_or("this session cannot change how much the model thinks")?;
    handle.config().set_thinking(*level);
    surroundings.remark(&format!("thinking is {} from the next request on", level.name()));
    Ok(())
}

/// Lets the user choose a level; `None` if they have cancelled.
pub async fn choose(conversation: &Conversation, screen: &Screen) -> Option<&'static str> {
    let current = thinking_level(conversation);
    let entries = ThinkingLevel::ALL.iter().map(|level| Entry {
        label: level.name().to_owned(),
        description: match level {
            level if current == Some(*level) => "in use".to_owned(),
            ThinkingLevel::Off => "what the provider does by itself".to_owned(),
            _ => String::new(),
        },
        letter: None,
    });
    let question = Question::new("How much thinking?").timeout(ANSWER_TIMEOUT);
    let chosen = screen.select(question, entries.collect()).await.ok()?;
    ThinkingLevel::ALL.get(chosen).map(|level| level.name())
}
