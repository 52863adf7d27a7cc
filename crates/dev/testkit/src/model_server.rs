//! A fake model provider: a small HTTP/1.1 server on this machine.
//!
//! The server answers from a list, byte for byte as a test wrote it, also wrongly: late, cut off, or never. Every
//! request is recorded as it came. All waits and sizes are bounded, and dropping the server ends it.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const LARGEST_HEAD: usize = 256 * 1024;
const LARGEST_BODY: usize = 256 * 1024 * 1024;
const MOST_CONNECTIONS: usize = 64;
const MOST_RECORDED: usize = 10_000;
const SOCKET_TIMEOUT: Duration = Duration::from_secs(30);
const LONGEST_HANG: Duration = Duration::from_secs(120);
const WAKE_INTERVAL: Duration = Duration::from_millis(10);

/// A fake model provider.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// Answers a request for which no answer is left.
type Answering = Box<dyn Fn(&Recorded) -> Response + Send + Sync>;

struct Shared {
    state: Mutex<ServerState>,
    answering: Option<Answering>,
    arrived: Condvar,
    stopped: AtomicBool,
    connections: AtomicUsize,
}

#[derive(Default)]
struct ServerState {
    responses: VecDeque<Response>,
    requests: Vec<Recorded>,
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The method, such as `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Recorded {
    /// The first header with that name, written in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the request's body is JSON")
    }
}

/// The server's answer to one request.
#[derive(Debug, Clone)]
pub struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    pieces: Vec<Piece>,
    before: Duration,
    ending: Ending,
}

/// Bytes of an answer's body that are written at once.
#[derive(Debug, Clone)]
pub struct Piece {
    /// The time to wait before the bytes.
    pub delay: Duration,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The answer is complete.
    Complete,
    /// The connection closes while more is expected.
    Cut,
    /// Nothing more comes, and the connection stays open until the client leaves or the server stops.
    Hang,
}

impl Response {
    /// An answer with that status and body.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            pieces: Vec::new(),
            before: Duration::ZERO,
            ending: Ending::Complete,
        }
        .piece(body)
    }

    /// An event stream, written in one piece.
    pub fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/event-stream", body)
    }

    /// An event stream, written in these pieces.
    pub fn event_pieces<P: Into<Vec<u8>>>(pieces: impl IntoIterator<Item = P>) -> Self {
        pieces.into_iter().fold(Self::events(""), Self::piece)
    }

    /// A JSON document.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds bytes to the body.
    #[must_use]
    pub fn piece(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.late_piece(Duration::ZERO, bytes)
    }

    /// Adds bytes to the body that are sent after a delay.
    #[must_use]
    pub fn late_piece(mut self, delay: Duration, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        if !bytes.is_empty() {
            self.pieces.push(Piece { delay, bytes });
        }
        self
    }

    /// Waits before the first byte.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.before = delay;
        self
    }

    /// Ends the answer in another way.
    #[must_use]
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }
}

impl ModelServer {
    /// Starts a server with these answers.
    pub fn start(responses: impl IntoIterator<Item = Response>) -> Self {
        Self::serving(responses.into_iter().collect(), None)
    }

    /// Starts a server that answers each request by itself.
    pub fn answering(answer: impl Fn(&Recorded) -> Response + Send + Sync + 'static) -> Self {
        Self::serving(VecDeque::new(), Some(Box::new(answer)))
    }

    fn serving(responses: VecDeque<Response>, answering: Option<Answering>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("this machine has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let state = ServerState {
            responses,
            requests: Vec::new(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            answering,
            arrived: Condvar::new(),
            stopped: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&shared);
        let listener = thread::spawn(move || accept(&listener, &serving));
        Self {
            address,
            shared,
            listener: Some(listener),
        }
    }

    /// The server's address, such as `http://127.0.0.1:41234`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds an answer.
    pub fn push(&self, response: Response) {
        self.shared.lock().responses.push_back(response);
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().requests.clone()
    }

    /// The only request so far.
    pub fn only_request(&self) -> Recorded {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "exactly one request was made");
        requests.remove(0)
    }

    /// Waits until that many requests have come, at most for `limit`, and returns what there is.
    pub fn wait_for(&self, count: usize, limit: Duration) -> Vec<Recorded> {
        let deadline = Instant::now() + limit;
        let mut state = self.shared.lock();
        while state.requests.len() < count {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.arrived.wait_timeout(state, left);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        state.requests.clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // The listener checks the flag when a connection wakes it.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Waits, but not beyond the server's end.
    fn pause(&self, time: Duration) {
        let deadline = Instant::now() + time.min(LONGEST_HANG);
        while !self.is_stopped() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(WAKE_INTERVAL));
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for connection in listener.incoming() {
        if shared.is_stopped() {
            return;
        }
        let Ok(connection) = connection else { continue };
        if shared.connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let serving = Arc::clone(shared);
        thread::spawn(move || {
            // A client that leaves early is no failure of the server.
            let _ = serve(connection, &serving);
            serving.connections.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

fn serve(mut connection: TcpStream, shared: &Shared) -> io::Result<()> {
    connection.set_read_timeout(Some(SOCKET_TIMEOUT))?;
    connection.set_write_timeout(Some(SOCKET_TIMEOUT))?;
    connection.set_nodelay(true)?;
    let request = read_request(&mut connection)?;
    let own = shared.answering.as_ref().map(|answer| answer(&request));
    let response = {
        let mut state = shared.lock();
        if state.requests.len() < MOST_RECORDED {
            state.requests.push(request);
        }
        state.responses.pop_front()
    };
    shared.arrived.notify_all();
    let response = response.or(own).unwrap_or_else(|| {
        let message = "the test's server has no answer left";
        Response::json(500, &json!({"error": {"message": message}}))
    });
    write_response(&mut connection, &response, shared)?;
    connection.shutdown(Shutdown::Write)?;
    // Closing with bytes unread would reset the connection and could cost the client the end of the answer.
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    let _ = connection.read(&mut [0; 64]);
    Ok(())
}

fn read_request(connection: &mut TcpStream) -> io::Result<Recorded> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > LARGEST_HEAD {
            return Err(io::Error::other("the head of the request is too large"));
        }
        read_more(connection, &mut bytes)?;
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    if length > LARGEST_BODY {
        return Err(io::Error::other("the body of the request is too large"));
    }
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        read_more(connection, &mut body)?;
    }
    Ok(Recorded {
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body,
    })
}

fn read_more(connection: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 64 * 1024];
    match connection.read(&mut buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            bytes.extend_from_slice(&buffer[..count]);
            Ok(())
        }
    }
}

fn write_response(connection: &mut TcpStream, response: &Response, shared: &Shared) -> io::Result<()> {
    shared.pause(response.before);
    let mut head = format!("HTTP/1.1 {} Answer\r\n", response.status);
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
    connection.write_all(head.as_bytes())?;
    for piece in &response.pieces {
        shared.pause(piece.delay);
        write!(connection, "{:x}\r\n", piece.bytes.len())?;
        connection.write_all(&piece.bytes)?;
        connection.write_all(b"\r\n")?;
    }
    match response.ending {
        Ending::Complete => connection.write_all(b"0\r\n\r\n"),
        Ending::Cut => Ok(()),
        Ending::Hang => hang(connection, shared),
    }
}

/// Keeps the connection open until the client leaves or the server stops.
fn hang(connection: &mut TcpStream, shared: &Shared) -> io::Result<()> {
    connection.set_read_timeout(Some(WAKE_INTERVAL))?;
    let deadline = Instant::now() + LONGEST_HANG;
    while !shared.is_stopped() && Instant::now() < deadline {
        match connection.read(&mut [0; 64]) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes the events of a chat completion.
#[derive(Debug, Clone)]
pub struct OpenAiStream {
    model: String,
    text: String,
}

impl OpenAiStream {
    /// An empty stream of that model.
    pub fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            text: String::new(),
        }
    }

    /// Adds any event.
    #[must_use]
    pub fn data(mut self, data: &str) -> Self {
        self.text.push_str(&format!("data: {data}\n\n"));
        self
    }

    /// Adds a delta of the message.
    #[must_use]
    pub fn delta(self, delta: Value) -> Self {
        self.choice(json!({"index": 0, "delta": delta, "finish_reason": null}))
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.delta(json!({"content": text}))
    }

    /// Adds a tool call, its arguments in these pieces.
    #[must_use]
    pub fn tool_call(self, index: usize, id: &str, name: &str, arguments: &[&str]) -> Self {
        let function = json!({"name": name, "arguments": ""});
        let call = json!({"index": index, "id": id, "type": "function", "function": function});
        let begun = self.delta(json!({"tool_calls": [call]}));
        arguments
            .iter()
            .fold(begun, |stream, piece| stream.arguments(index, piece))
    }

    /// Adds to a tool call's arguments.
    #[must_use]
    pub fn arguments(self, index: usize, text: &str) -> Self {
        self.delta(json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
    }

    /// Adds the reason for the end.
    #[must_use]
    pub fn finish(self, reason: &str) -> Self {
        self.choice(json!({"index": 0, "delta": {}, "finish_reason": reason}))
    }

    /// Adds the number of tokens.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Self {
        let usage = json!({"prompt_tokens": input, "completion_tokens": output});
        let chunk = json!({"id": "chatcmpl-1", "model": self.model, "choices": [], "usage": usage});
        self.data(&chunk.to_string())
    }

    /// Adds the last event and returns all events.
    pub fn done(self) -> String {
        self.data("[DONE]").text
    }

    /// The events so far.
    pub fn unfinished(self) -> String {
        self.text
    }

    fn choice(self, choice: Value) -> Self {
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": self.model, "choices": [choice]
        });
        self.data(&chunk.to_string())
    }
}

/// Writes the events of an answer of Anthropic's messages.
#[derive(Debug, Clone)]
pub struct AnthropicStream {
    text: String,
    blocks: u64,
}

impl AnthropicStream {
    /// The beginning of a message of that model, with the tokens of its input.
    pub fn new(model: &str, input_tokens: u64) -> Self {
        let stream = Self {
            text: String::new(),
            blocks: 0,
        };
        stream.event(json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "usage": {"input_tokens": input_tokens, "output_tokens": 1}
        }}))
    }

    /// Adds any event.
    #[must_use]
    pub fn event(mut self, event: Value) -> Self {
        let kind = event["type"].as_str().unwrap_or("message").to_owned();
        self.text.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
        self
    }

    /// Adds a whole block: its beginning, its deltas and its end.
    #[must_use]
    pub fn block(self, start: Value, deltas: impl IntoIterator<Item = Value>) -> Self {
        let index = self.blocks;
        let begun =
            self.event(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let mut filled = deltas.into_iter().fold(begun, |stream, delta| {
            stream.event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
        });
        filled.blocks += 1;
        filled.event(json!({"type": "content_block_stop", "index": index}))
    }

    /// Adds a text in these pieces.
    #[must_use]
    pub fn text(self, pieces: &[&str]) -> Self {
        let deltas = pieces
            .iter()
            .map(|text| json!({"type": "text_delta", "text": text}));
        self.block(json!({"type": "text", "text": ""}), deltas)
    }

    /// Adds a thought and its signature.
    #[must_use]
    pub fn thinking(self, text: &str, signature: &str) -> Self {
        let thought = json!({"type": "thinking_delta", "thinking": text});
        let seal = json!({"type": "signature_delta", "signature": signature});
        self.block(json!({"type": "thinking", "thinking": ""}), [thought, seal])
    }

    /// Adds a tool call, its arguments in these pieces.
    #[must_use]
    pub fn tool_call(self, id: &str, name: &str, arguments: &[&str]) -> Self {
        let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        let delta = |text: &&str| json!({"type": "input_json_delta", "partial_json": text});
        self.block(start, arguments.iter().map(delta))
    }

    /// Adds the reason for the end and the tokens of the output, and returns all events.
    pub fn stop(self, reason: &str, output_tokens: u64) -> String {
        let delta = json!({"stop_reason": reason, "stop_sequence": null});
        self.event(
            json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": output_tokens}}),
        )
        .event(json!({"type": "message_stop"}))
        .text
    }

    /// The events so far.
    pub fn unfinished(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(address: SocketAddr, request: &str) -> String {
        let mut connection = TcpStream::connect(address).unwrap();
        connection
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn requests_are_recorded_and_answers_are_given_in_order() {
        let server = ModelServer::start([Response::events("data: 1\n\n")
            .piece("data: 2\n\n")
            .header("x-a", "b")]);
        let request = "POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nContent-Length: 4\r\n\r\nbody";
        let answer = exchange(server.address, request);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains("x-a: b\r\n"), "{answer}");
        assert!(
            answer.ends_with("\r\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"),
            "{answer:?}"
        );
        let recorded = server.only_request();
        assert_eq!(
            (recorded.method.as_str(), recorded.path.as_str()),
            ("POST", "/v1/x?y=1")
        );
        assert_eq!(recorded.header("x-key"), Some("k"));
        assert_eq!(recorded.body, b"body");
        assert!(exchange(server.address, request).starts_with("HTTP/1.1 500 "));
        assert_eq!(server.wait_for(2, Duration::from_secs(10)).len(), 2);
    }

    #[test]
    fn dropping_the_server_ends_an_answer_that_hangs() {
        let server = ModelServer::start([Response::events("data: 1\n\n").ending(Ending::Hang)]);
        let address = server.address;
        let client = thread::spawn(move || exchange(address, "GET / HTTP/1.1\r\n\r\n"));
        assert_eq!(server.wait_for(1, Duration::from_secs(10)).len(), 1);
        drop(server);
        assert!(!client.join().unwrap().ends_with("0\r\n\r\n"));
    }
}
