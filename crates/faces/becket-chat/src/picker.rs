//! Lets the user choose a model: from those that are known, and those that the provider lists.

use std::collections::BTreeSet;
use std::time::Duration;

use becket_face_kit::{Conversation, known_models};
use becket_screen::{Entry, Question, Screen};
use becket_system::{Surroundings, harmless_name};

/// How long the provider may take to list its models.
const LIST_TIMEOUT: Duration = Duration::from_secs(4);

/// How long the user may take to choose.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The names of the models: first the one in use, then the others that are known and that the provider lists.
pub async fn names(conversation: &Conversation, surroundings: &Surroundings) -> Vec<String> {
    let current = conversation.models().current_name();
    let mut names: BTreeSet<String> = known_models(conversation).into_iter().collect();
    match conversation.models().of_provider(LIST_TIMEOUT).await {
        Ok(listed) => names.extend(listed),
        Err(why) => surroundings.remark(&format!(
            "the provider's own list is missing: {why}; /model PROVIDER/NAME takes any model"
        )),
    }
    names.remove(&current);
    std::iter::once(current).chain(names).collect()
}

/// The name of the chosen model; `None` if the user has cancelled or has chosen the one in use.
pub async fn choose(names: &[String], conversation: &Conversation, screen: &Screen) -> Option<String> {
    let models = conversation.models();
    let (prices, current) = (models.prices(), models.current());
    let entries = names.iter().enumerate().map(|(place, name)| {
        let (provider, model) = name.split_once('/').unwrap_or((name, ""));
        let price = prices.at(provider, model, current.base_url());
        let price =
            price.map(|price| format!("${} in, ${} out per million tokens", price.input, price.output));
        let used = (place == 0).then(|| "in use".to_owned());
        let about: Vec<String> = used.into_iter().chain(price).collect();
        Entry {
            label: harmless_name(name),
            description: about.join(", "),
            letter: None,
        }
    });
    let question = Question::new("Which model?").timeout(ANSWER_TIMEOUT);
    let chosen = screen.select(question, entries.collect()).await.ok()?;
    (chosen > 0).then(|| names[chosen].clone())
}
