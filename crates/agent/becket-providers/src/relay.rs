//! The models of a run, for becket programs that its guests start. Guests see no key, so such a program has none: it
//! writes its requests itself, and the run sends them.
//!
//! The run listens at a socket ([`serve`]); the program below it has a provider that asks there ([`connect`]). One line
//! of JSON asks, lines of JSON answer, and each request has a connection of its own. Whoever reaches the socket can ask
//! the run's models: it lies in a folder that only the user can enter.

use std::io::{BufRead as _, BufReader as BlockingReader, Write as _};
use std::os::unix::net::{UnixListener as BlockingListener, UnixStream as BlockingStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_agent::provider::{
    AnswerPart, Answering, Begun, Billing, KEPT_VALUE, ModelRequest, Provider, ProviderError,
    ProviderErrorKind, SendOptions,
};
use becket_events::{Delta, Header, Json, StopReason, Usage};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};

use crate::api::Api;
use crate::http::{Endpoint, Timeouts};
use crate::remote::Remote;

/// The longest question, which holds the body of a request.
const LARGEST_QUESTION: u64 = 256 * 1024 * 1024;

/// How long a program waits until the run says which model there is.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

/// The model for a name, or the run's own for none; the error says why there is none.
pub type ModelLookup = Arc<dyn Fn(Option<&str>) -> Result<(Arc<dyn Provider>, Api), String> + Send + Sync>;

/// A question of a program to the run above it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
struct Question {
    /// The model, as `provider/name`; the run's own if there is none.
    model: Option<String>,
    /// The body to send. Without one the question is which model there is.
    body: Option<Json>,
    /// How it is sent.
    #[serde(default)]
    options: SendOptions,
}

/// A line of an answer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Model {
        provider: String,
        model: String,
        api: Api,
    },
    Begun(Begun),
    Data(Json),
    Delta(Delta),
    Completed {
        stop_reason: StopReason,
        usage: Usage,
        model: String,
    },
    Failed {
        kind: ProviderErrorKind,
        message: String,
        retry_after: Option<Duration>,
        window: Option<u64>,
    },
}

impl From<ProviderError> for Line {
    fn from(error: ProviderError) -> Self {
        Self::Failed {
            kind: error.kind,
            message: error.message,
            retry_after: error.retry_after,
            window: error.window,
        }
    }
}

impl From<AnswerPart> for Line {
    fn from(part: AnswerPart) -> Self {
        match part {
            AnswerPart::Begun(begun) => Self::Begun(begun),
            AnswerPart::Data(data) => Self::Data(data),
            AnswerPart::Delta(delta) => Self::Delta(delta),
            AnswerPart::Completed {
                stop_reason,
                usage,
                model,
            } => Self::Completed {
                stop_reason,
                usage,
                model,
            },
            AnswerPart::Sends(_) => {
                broken("a model that writes its own requests cannot be asked from here").into()
            }
        }
    }
}

impl TryFrom<Line> for AnswerPart {
    type Error = ProviderError;

    fn try_from(line: Line) -> Result<Self, ProviderError> {
        match line {
            Line::Begun(begun) => Ok(Self::Begun(begun)),
            Line::Data(data) => Ok(Self::Data(data)),
            Line::Delta(delta) => Ok(Self::Delta(delta)),
            Line::Completed {
                stop_reason,
                usage,
                model,
            } => Ok(Self::Completed {
                stop_reason,
                usage,
                model,
            }),
            Line::Failed {
                kind,
                message,
                retry_after,
                window,
            } => Err(ProviderError {
                kind,
                message,
                retry_after,
                window,
            }),
            Line::Model { .. } => Err(broken("the run above answered another question")),
        }
    }
}

fn broken(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Broken, message)
}

/// Answers programs that ask for the models of this run, for as long as it is polled. The listener does not block.
pub async fn serve(listener: BlockingListener, models: ModelLookup) {
    let Ok(listener) = UnixListener::from_std(listener) else {
        return;
    };
    let mut asking = tokio::task::JoinSet::new();
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let models = Arc::clone(&models);
            asking.spawn(async move {
                // A program that went away needs no answer.
                let _ = answer(stream, &models).await;
            });
        }
        while asking.try_join_next().is_some() {}
    }
}

async fn answer(stream: UnixStream, models: &ModelLookup) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut text = String::new();
    BufReader::new(read.take(LARGEST_QUESTION))
        .read_line(&mut text)
        .await?;
    let mut lines = lines(&text, models).await;
    while let Some(line) = lines.next().await {
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        write.write_all(&line).await?;
    }
    Ok(())
}

/// The lines that answer a question.
async fn lines(question: &str, models: &ModelLookup) -> stream::BoxStream<'static, Line> {
    let one = |line: Line| stream::once(async { line }).boxed();
    let question: Question = match serde_json::from_str(question) {
        Ok(question) => question,
        Err(error) => return one(broken(format!("the question cannot be read: {error}")).into()),
    };
    let (provider, api) = match models(question.model.as_deref()) {
        Ok(found) => found,
        Err(why) => return one(ProviderError::new(ProviderErrorKind::Rejected, why).into()),
    };
    let Some(body) = question.body else {
        let (provider, model) = (provider.name().to_owned(), provider.model().to_owned());
        return one(Line::Model { provider, model, api });
    };
    let mut options = question.options;
    // The program below knows no key, so that it cannot have named the header that holds it.
    if let Some(chosen) = &mut options.headers {
        let own = provider.headers(&body).into_iter();
        let is_named = |header: &Header| chosen.iter().any(|one| one.name == header.name);
        let kept: Vec<Header> = own
            .filter(|header| header.value == KEPT_VALUE && !is_named(header))
            .collect();
        chosen.extend(kept);
    }
    match provider.send_with(&body, &options).await {
        Err(error) => one(error.into()),
        Ok(Answering { begun, parts }) => {
            let begun = stream::iter(begun.map(Line::Begun));
            begun
                .chain(parts.map(|part| part.map_or_else(Line::from, Line::from)))
                .boxed()
        }
    }
}

/// A model of the run that has started this program, by its name, or the run's own; the error says why there is none.
pub fn connect(socket: &Path, model: Option<&str>) -> Result<Arc<dyn Provider>, String> {
    let told = |why: String| format!("The run above this one has no model for it: {why}");
    match greet(socket, model).map_err(|error| told(error.to_string()))? {
        Line::Model { provider, model, api } => {
            let endpoint = Endpoint {
                provider,
                model,
                base_url: "unix:/".parse().map_err(|error| told(format!("{error}")))?,
                key: None,
                headers: Default::default(),
                timeouts: Timeouts::default(),
            };
            Ok(Arc::new(Relay {
                written: Arc::new(Remote::new(api, endpoint)),
                socket: socket.to_owned(),
            }))
        }
        Line::Failed { message, .. } => Err(told(message)),
        _ => Err(told("it answered another question".into())),
    }
}

fn greet(socket: &Path, model: Option<&str>) -> std::io::Result<Line> {
    let mut stream = BlockingStream::connect(socket)?;
    stream.set_read_timeout(Some(GREETING_TIMEOUT))?;
    let model = model.map(ToOwned::to_owned);
    writeln!(
        stream,
        "{}",
        serde_json::to_string(&Question {
            model,
            body: None,
            options: SendOptions::default()
        })?
    )?;
    let mut line = String::new();
    BlockingReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// A model that the run above asks.
struct Relay {
    /// Writes the requests.
    written: Arc<dyn Provider>,
    socket: PathBuf,
}

impl Provider for Relay {
    fn name(&self) -> &str {
        self.written.name()
    }

    fn model(&self) -> &str {
        self.written.model()
    }

    /// The run above pays.
    fn billing(&self) -> Billing {
        Billing::Nothing
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<Json, ProviderError> {
        self.written.body(request)
    }

    fn reads(&self, signature: &str) -> bool {
        self.written.reads(signature)
    }

    fn headers(&self, body: &Json) -> Vec<Header> {
        self.written.headers(body)
    }

    fn send<'a>(&'a self, body: &'a Json) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(async move { self.send_with(body, &SendOptions::default()).await })
    }

    fn send_with<'a>(
        &'a self,
        body: &'a Json,
        options: &'a SendOptions,
    ) -> BoxFuture<'a, Result<Answering, ProviderError>> {
        Box::pin(async move {
            let gone = |error: std::io::Error| {
                broken(format!(
                    "{} cannot be asked, because the run that started this program is gone: {error}",
                    self.model()
                ))
            };
            let question = Question {
                model: Some(format!("{}/{}", self.name(), self.model())),
                body: Some(body.clone()),
                options: options.clone(),
            };
            let mut question = serde_json::to_vec(&question).map_err(|error| broken(error.to_string()))?;
            question.push(b'\n');
            let stream = UnixStream::connect(&self.socket).await.map_err(gone)?;
            let (read, mut write) = stream.into_split();
            write.write_all(&question).await.map_err(gone)?;
            let mut lines = BufReader::new(read).lines();
            let first = next(&mut lines).await?;
            // The writing half stays open as long as the answer is read: its end would say that nobody listens.
            let rest = stream::try_unfold((lines, write), |(mut lines, write)| async move {
                Ok(next(&mut lines).await?.map(|part| (part, (lines, write))))
            });
            Ok(match first {
                Some(AnswerPart::Begun(begun)) => Answering {
                    begun: Some(begun),
                    parts: Box::pin(rest),
                },
                first => Answering {
                    begun: None,
                    parts: Box::pin(stream::iter(first.map(Ok)).chain(rest)),
                },
            })
        })
    }
}

/// The next part of an answer. The run above watches the model's deadlines, and its end closes the connection.
async fn next(lines: &mut Lines<BufReader<OwnedReadHalf>>) -> Result<Option<AnswerPart>, ProviderError> {
    let line = lines.next_line().await;
    match line.map_err(|error| broken(format!("the answer broke off: {error}")))? {
        None => Ok(None),
        Some(line) => serde_json::from_str::<Line>(&line)
            .map_err(|error| broken(format!("the run above answered what cannot be read: {error}")))?
            .try_into()
            .map(Some),
    }
}

#[cfg(test)]
mod tests {
    use becket_agent::provider::RequestOptions;

    use super::*;
    use crate::scripted::Scripted;

    const SCRIPT: &str =
        r#"{"turns": [{"text": "Hello there."}, {"error": {"kind": "transient", "message": "overloaded"}}]}"#;

    /// A run that serves a scripted model.
    fn run_above(folder: &Path) -> (PathBuf, tokio::task::JoinHandle<()>) {
        let socket = folder.join("model.sock");
        let listener = BlockingListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let model: Arc<dyn Provider> = Arc::new(Scripted::parse(Path::new("s.json"), SCRIPT).unwrap());
        let models: ModelLookup = Arc::new(move |name| match name {
            None | Some("scripted/s") => Ok((Arc::clone(&model), Api::OpenAi)),
            Some(other) => Err(format!("there is no {other}")),
        });
        (socket, tokio::spawn(serve(listener, models)))
    }

    async fn connected(socket: &Path, model: Option<&'static str>) -> Result<Arc<dyn Provider>, String> {
        let socket = socket.to_owned();
        let connecting = tokio::task::spawn_blocking(move || connect(&socket, model));
        connecting.await.unwrap()
    }

    async fn text_of(provider: &dyn Provider) -> Result<String, ProviderError> {
        let request = ModelRequest {
            system_prompt: "",
            messages: &[],
            tools: &[],
            options: &RequestOptions::default(),
        };
        let body = provider.body(&request)?;
        let mut answering = provider.send(&body).await?;
        let (mut text, mut is_complete) = (String::new(), false);
        while let Some(part) = answering.parts.next().await {
            match part? {
                AnswerPart::Delta(Delta::Text { text: more }) => text.push_str(&more),
                AnswerPart::Completed { .. } => is_complete = true,
                _ => {}
            }
        }
        assert!(is_complete, "{text}");
        Ok(text)
    }

    #[tokio::test]
    async fn a_program_without_a_key_asks_the_model_of_the_run_above() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, serving) = run_above(folder.path());
        let provider = connected(&socket, None).await.unwrap();
        assert_eq!((provider.name(), provider.model()), ("scripted", "s"));
        assert_eq!(text_of(&*provider).await.unwrap(), "Hello there.");
        let failed = text_of(&*provider).await.unwrap_err();
        assert!(failed.message.contains("overloaded"), "{failed:?}");
        serving.abort();
        let _ = serving.await;
        let gone = text_of(&*provider).await.unwrap_err();
        assert!(gone.message.contains("is gone"), "{gone:?}");
        assert!(connected(&socket, None).await.is_err());
    }

    #[tokio::test]
    async fn a_model_that_the_run_above_lacks_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, _serving) = run_above(folder.path());
        let error = connected(&socket, Some("other/model")).await.err().unwrap();
        assert!(error.contains("there is no other/model"), "{error}");
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        stream.write_all(b"{\"model\": 7}\n").await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert!(said.contains("cannot be read"), "{said}");
    }
}
