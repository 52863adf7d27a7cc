//! The toolset `user_prompt`: a tool that asks the user a question and gives the model the answer.
//!
//! An object with several fields is asked for field by field.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use becket_agent::tool::Tool;
use becket_host::{Dialog, DialogAnswer, Ui};
use becket_tools::{PlainTool, plain_spec};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// How tools reach the user, once the run has begun.
pub type UserAccess = Arc<OnceLock<Arc<dyn Ui>>>;

/// How long the user has to answer.
const DEADLINE: Duration = Duration::from_secs(3600);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    message: String,
    title: Option<String>,
    #[serde(default)]
    schema: Map<String, Value>,
}

/// The tool.
pub(super) fn tool(user: UserAccess) -> Arc<dyn Tool> {
    let parameters = json!({
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "The question."},
            "title": {"type": "string", "description": "A title for it."},
            "schema": {
                "type": "object",
                "description": "The JSON Schema of the answer: an object with properties, or a single value.",
            },
        },
        "required": ["message"],
        "additionalProperties": false,
    });
    let about = "Ask the user a question and wait for the answer: JSON with `action` (accept, decline or cancel) and \
                 `content`.";
    PlainTool::waiting(
        plain_spec("user_prompt", about, parameters),
        move |question, _| {
            let user = Arc::clone(&user);
            Box::pin(async move { asked(&user, question).await })
        },
    )
}

async fn asked(user: &UserAccess, question: Question) -> Result<String, String> {
    let Some(ui) = user.get() else {
        return Err("there is no user to ask".to_owned());
    };
    match tokio::time::timeout(DEADLINE, answers(&**ui, &question)).await {
        Ok(Some(content)) => Ok(json!({"action": "accept", "content": content}).to_string()),
        Ok(None) | Err(_) => Err(json!({"action": "cancel"}).to_string()),
    }
}

/// The user's answers by field; `None` if there is one that they did not give.
async fn answers(ui: &dyn Ui, question: &Question) -> Option<Map<String, Value>> {
    let single = Map::from_iter([("response".to_owned(), Value::Object(question.schema.clone()))]);
    let fields = question
        .schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&single);
    let mut content = Map::new();
    for (name, schema) in fields {
        let about = schema["description"]
            .as_str()
            .or_else(|| schema["title"].as_str());
        let words = match (fields.len(), about) {
            (1, _) => question.message.clone(),
            (_, Some(about)) => format!("{}\n{name}: {about}", question.message),
            (_, None) => format!("{}\n{name}", question.message),
        };
        content.insert(name.clone(), answer(ui, question, words, schema).await?);
    }
    Some(content)
}

async fn answer(ui: &dyn Ui, question: &Question, words: String, schema: &Value) -> Option<Value> {
    let kind = schema["type"].as_str().unwrap_or("string");
    let options = schema["enum"].as_array();
    let title = match &question.title {
        Some(title) => format!("{title}: {words}"),
        None => words.clone(),
    };
    let dialog = match (options, kind) {
        (Some(options), _) => Dialog::Select {
            title,
            options: options.iter().map(shown).collect(),
        },
        (None, "boolean") => Dialog::Confirm {
            title: question.title.clone().unwrap_or_else(|| "Question".to_owned()),
            message: words,
        },
        (None, _) => Dialog::Input {
            title,
            placeholder: None,
        },
    };
    match ui.ask("user_prompt", dialog, Some(DEADLINE)).await {
        DialogAnswer::Confirmed(yes) => Some(Value::Bool(yes)),
        DialogAnswer::Words(text) => {
            let chosen = options.and_then(|options| options.iter().find(|option| shown(option) == text));
            Some(match (chosen, kind) {
                (Some(option), _) => option.clone(),
                (None, "integer" | "number") => {
                    text.trim().parse().map_or(Value::String(text), Value::Number)
                }
                (None, _) => Value::String(text),
            })
        }
        DialogAnswer::Nobody => None,
    }
}

fn shown(option: &Value) -> String {
    option
        .as_str()
        .map_or_else(|| option.to_string(), ToOwned::to_owned)
}
