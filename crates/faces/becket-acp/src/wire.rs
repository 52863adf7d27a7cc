//! JSON-RPC 2.0 between an editor and becket, one message in a line.
//!
//! A line that cannot be understood is answered with an error, and the next one is read. Answers to becket's own
//! requests are delivered by the thread that reads: whatever waits for one may be what keeps everything else waiting.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{Error, ErrorCode, PROTOCOL_LEVEL_METHOD_NAMES};
use becket_host::{LineWriter, ReadLine, read_line};
use becket_system::CliError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// A message of the editor.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// A request, which must be answered.
    Request {
        /// The id that the answer repeats.
        id: Value,
        method: String,
        params: Value,
    },
    /// A notification, which has no answer.
    Notification { method: String, params: Value },
}

/// A message, or the answer to a line that is none.
#[derive(Debug, PartialEq)]
enum Read {
    Message(Incoming),
    /// The answer to one of becket's requests.
    Answer(i64, Result<Value, Error>),
    /// A line that cannot be understood: the id that it has, and what is wrong.
    Broken(Value, Error),
    /// A line without anything in it.
    Nothing,
}

/// becket's own requests that wait for an answer, by their ids.
type Waiting = HashMap<i64, oneshot::Sender<Result<Value, Error>>>;

/// Why a request of becket's has no answer that can be used.
#[derive(Debug)]
pub enum Unanswered {
    /// The editor answered with an error.
    Refused(Error),
    /// No answer came that can be understood; in words.
    Lost(String),
}

impl Unanswered {
    /// Whether the editor says that it does not have what it was asked for.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(error) if error.code == ErrorCode::ResourceNotFound)
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Refused(error) => &error.message,
            Self::Lost(why) => why,
        })
    }
}

/// The editor, as becket talks to it.
pub struct Editor {
    writer: Arc<LineWriter>,
    /// The requests that wait for an answer; `None` when no more answers will come.
    waiting: Mutex<Option<Waiting>>,
    last_id: AtomicI64,
}

impl Editor {
    /// Begins to write to standard output.
    pub fn begin() -> Arc<Self> {
        Arc::new(Self {
            writer: LineWriter::begin(),
            waiting: Mutex::new(Some(HashMap::new())),
            last_id: AtomicI64::new(0),
        })
    }

    /// Reads standard input on a thread of its own, because a read cannot be cancelled. The channel ends when it does.
    pub fn listen(self: &Arc<Self>) -> UnboundedReceiver<Incoming> {
        let (sender, messages) = unbounded_channel();
        let editor = Arc::clone(self);
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            while let Some(line) = read_line(&mut input) {
                let read = match line {
                    ReadLine::Line(line) => read(&line),
                    ReadLine::TooLong => Read::Broken(Value::Null, broken("the line is too long")),
                };
                match read {
                    Read::Message(message) => {
                        if sender.send(message).is_err() {
                            return;
                        }
                    }
                    Read::Nothing => {}
                    Read::Answer(id, answer) => editor.answered(id, answer),
                    Read::Broken(id, error) => editor.reply(&id, Err(error)),
                }
            }
            editor.leave();
        });
        messages
    }

    /// Is cancelled when the editor does not read any more.
    pub fn gone(&self) -> &CancellationToken {
        &self.writer.gone
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: &impl Serialize) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request.
    pub fn reply(&self, id: &Value, answer: Result<Value, Error>) {
        self.send(&match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        });
    }

    /// Sends a request and waits for the answer. Dropping the future tells the editor that the answer is not needed any
    /// more.
    pub async fn request<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, Unanswered> {
        let gone = || Unanswered::Lost("the editor does not answer any more".to_owned());
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        self.waiting().as_mut().ok_or_else(gone)?.insert(id, sender);
        let open = Open { editor: self, id };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = answer.await.map_err(|_| gone())?;
        drop(open);
        let answer = answer.map_err(Unanswered::Refused)?;
        serde_json::from_value(answer)
            .map_err(|error| Unanswered::Lost(format!("the editor's answer makes no sense: {error}")))
    }

    /// Waits until everything is written.
    pub async fn finish(&self) -> Result<(), CliError> {
        self.writer.finish().await
    }

    fn send(&self, message: &Value) {
        self.writer.push(message.to_string());
    }

    /// Delivers an answer. An answer without a request is ignored.
    fn answered(&self, id: i64, answer: Result<Value, Error>) {
        let waiting = self.waiting().as_mut().and_then(|waiting| waiting.remove(&id));
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
    }

    /// No more answers will come: requests that wait get none.
    fn leave(&self) {
        self.waiting().take();
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits until it is dropped.
struct Open<'a> {
    editor: &'a Editor,
    id: i64,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let waited = self
            .editor
            .waiting()
            .as_mut()
            .and_then(|waiting| waiting.remove(&self.id));
        if waited.is_some() {
            let method = PROTOCOL_LEVEL_METHOD_NAMES.cancel_request;
            self.editor.notify(method, &json!({"requestId": self.id}));
        }
    }
}

/// The error about a request whose parameters are wrong.
pub fn wrong(words: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidParams.into(), words)
}

/// The error about something that failed.
pub fn failed(words: impl Into<String>) -> Error {
    Error::new(ErrorCode::InternalError.into(), words)
}

/// The error about a message that is no request.
fn invalid(words: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidRequest.into(), words)
}

/// The error about a line that is no message.
fn broken(words: impl Into<String>) -> Error {
    Error::new(ErrorCode::ParseError.into(), words)
}

/// The message in a line, if it holds one.
pub fn message(line: &str) -> Option<Incoming> {
    match read(line) {
        Read::Message(message) => Some(message),
        Read::Answer(..) | Read::Broken(..) | Read::Nothing => None,
    }
}

/// Parses a line.
fn read(line: &str) -> Read {
    if line.trim().is_empty() {
        return Read::Nothing;
    }
    let mut message = match serde_json::from_str(line) {
        Ok(Value::Object(message)) => message,
        Ok(Value::Array(_)) => {
            let why = invalid("becket takes one message in a line, and no batches");
            return Read::Broken(Value::Null, why);
        }
        Ok(_) => return Read::Broken(Value::Null, invalid("a message is a JSON object")),
        Err(error) => return Read::Broken(Value::Null, broken(format!("the line is no JSON: {error}"))),
    };
    let id = message.remove("id");
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64() || id.is_null();
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return Read::Broken(Value::Null, invalid("`id` is a text or a whole number"));
    }
    let params = message.remove("params").unwrap_or(Value::Null);
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Read::Message(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Read::Message(Incoming::Notification { method, params }),
        (None, Some(id)) if message.contains_key("result") || message.contains_key("error") => {
            answer(&id, message.remove("result"), message.remove("error"))
        }
        (_, id) => Read::Broken(
            id.unwrap_or_default(),
            invalid("a message has a `method`, or a `result` or an `error`"),
        ),
    }
}

/// The answer to one of becket's requests. becket's ids are numbers; an answer with another id is to nothing.
fn answer(id: &Value, result: Option<Value>, error: Option<Value>) -> Read {
    let Some(id) = id.as_i64() else {
        return Read::Nothing;
    };
    let error = error.filter(|error| !error.is_null());
    Read::Answer(
        id,
        match error {
            Some(error) => Err(serde_json::from_value(error).unwrap_or_else(|_| failed("an error"))),
            None => Ok(result.unwrap_or_default()),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> (Value, i32) {
        match read(line) {
            Read::Broken(id, error) => (id, error.code.into()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_is_no_message_has_an_error_with_the_id_that_it_has() {
        assert_eq!(code("{"), (Value::Null, -32700));
        assert_eq!(code("3"), (Value::Null, -32600));
        assert_eq!(code("[]"), (Value::Null, -32600));
        assert_eq!(code(r#"{"id":[],"method":"a"}"#), (Value::Null, -32600));
        assert_eq!(code(r#"{"id":7}"#), (json!(7), -32600));
        assert_eq!(code(r#"{"id":"x","method":3}"#), (json!("x"), -32600));
        assert_eq!(code("{}"), (Value::Null, -32600));
        assert_eq!(read(" \r"), Read::Nothing);
    }

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let request = read(r#"{"jsonrpc":"2.0","id":"x","method":"a","params":{"b":1}}"#);
        let (method, params) = ("a".to_owned(), json!({"b": 1}));
        let id = json!("x");
        assert_eq!(request, Read::Message(Incoming::Request { id, method, params }));
        let notification = read(r#"{"method":"a"}"#);
        let (method, params) = ("a".to_owned(), Value::Null);
        assert_eq!(
            notification,
            Read::Message(Incoming::Notification { method, params })
        );
        assert_eq!(
            read(r#"{"id":3,"result":null}"#),
            Read::Answer(3, Ok(Value::Null))
        );
        assert_eq!(read(r#"{"id":"other","result":1}"#), Read::Nothing);
        let refused = read(r#"{"id":3,"error":{"code":-32601,"message":"no"}}"#);
        assert!(matches!(refused, Read::Answer(3, Err(error)) if error.message == "no"));
    }
}
