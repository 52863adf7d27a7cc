//! The meaning of a provider's failure: whether a retry helps, and what to tell the user.
//!
//! All interfaces answer with a status, some headers and a JSON error, and neither has a code for everything: that a
//! conversation is too long is partly only said in the message. All such knowledge is in this file.

use std::time::{Duration, SystemTime};

use becket_agent::provider::{ProviderError, ProviderErrorKind};
use chrono::{DateTime, Local};
use serde_json::Value;

use crate::catalog;

/// The longest part of a provider's message that is quoted.
const QUOTE_LIMIT: usize = 600;

/// The longest wait that a provider can ask for; longer ones count as this.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// From which wait on the user is told when it ends.
const SHORT_WAIT: Duration = Duration::from_secs(60);

/// Codes and types of error objects which mean that the conversation is too long.
const TOO_LONG_CODES: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "string_above_max_length",
];

/// Texts which mean that the conversation is too long, where a provider has no code for it.
const TOO_LONG_WORDS: &[&str] = &[
    "prompt is too long",
    "maximum context length",
    "context window of",
    "context_length_exceeded",
    "exceed context limit",
    "exceeds the available context size",
    "exceeds the context window",
    "exceeds the maximum number of tokens",
    "input is too long",
];

/// Codes and types of error objects after which a retry may help.
const TRANSIENT_CODES: &[&str] = &[
    "overloaded_error",
    "api_error",
    "server_error",
    "timeout_error",
    "overloaded",
];

/// Codes and types of error objects about a limit on the rate.
const RATE_CODES: &[&str] = &["rate_limit_error", "rate_limit_exceeded"];

/// Codes and types of error objects about the key.
const KEY_CODES: &[&str] = &[
    "authentication_error",
    "permission_error",
    "invalid_api_key",
    "api_key_invalid",
];

/// Codes of a refusal that looks like a rate limit but does not pass with time.
const SPENT_CODES: &[&str] = &[
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
];

/// Codes and types of error objects after which the same request fails again.
const FINAL_CODES: &[&str] = &[
    "invalid_request_error",
    "not_found_error",
    "model_not_found",
    "invalid_prompt",
    "content_filter",
    "content_policy_violation",
    "unsupported_parameter",
    "unsupported_value",
];

/// An error object as providers write it, inside an answer or as its body.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ErrorObject {
    /// The provider's own message.
    pub message: String,
    /// The error's codes and types, in lower case.
    pub codes: Vec<String>,
    /// A status inside the object, as gateways write it.
    pub status: Option<u16>,
    /// The wait that the object asks for, as Gemini writes it.
    pub retry_after: Option<Duration>,
}

impl ErrorObject {
    /// Reads the error out of a body: `{"error": {…}}`, `{"error": "…"}`, `{"message": …}`, `{"detail": …}`, or text.
    pub fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::of(&value),
            Err(_) => Self {
                message: title(body).unwrap_or_else(|| quote(body)),
                ..Self::default()
            },
        }
    }

    /// Reads the error out of a JSON value.
    pub fn of(value: &Value) -> Self {
        // Gemini puts it into a list where it would have streamed a list.
        let value = value.get(0).unwrap_or(value);
        let error = value.get("error").unwrap_or(value);
        let message = match error {
            Value::String(text) => text.clone(),
            _ => ["message", "detail", "error"]
                .iter()
                .find_map(|field| error.get(field).or_else(|| value.get(field)))
                .map(|found| found.as_str().map_or_else(|| found.to_string(), str::to_owned))
                .unwrap_or_else(|| error.to_string()),
        };
        let details = error.get("details").and_then(Value::as_array);
        let details = || details.into_iter().flatten();
        let cause = cause(error);
        let codes = ["code", "type"]
            .iter()
            .filter_map(|field| error.get(field)?.as_str())
            .chain(details().filter_map(|detail| detail.get("reason")?.as_str()))
            .map(str::to_ascii_lowercase)
            .chain(cause.iter().flat_map(|cause| cause.codes.clone()))
            .collect();
        let wait = details().find_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'));
        let wait = wait.and_then(|seconds| seconds.parse::<f64>().ok());
        let status = error
            .get("code")
            .and_then(Value::as_u64)
            .and_then(|code| u16::try_from(code).ok());
        let message = match cause.filter(|cause| !cause.message.is_empty()) {
            Some(cause) => format!("{}: {}", quote(&message), cause.message),
            None => quote(&message),
        };
        Self {
            message,
            codes,
            status: status.filter(|status| (400..600).contains(status)),
            retry_after: wait.and_then(seconds),
        }
    }

    fn has_code(&self, table: &[&str]) -> bool {
        self.codes.iter().any(|code| table.contains(&code.as_str()))
    }

    fn says_too_long(&self) -> bool {
        let words = self.message.to_ascii_lowercase();
        self.has_code(TOO_LONG_CODES) || TOO_LONG_WORDS.iter().any(|part| words.contains(part))
    }

    /// The kind of failure, from the codes first and then from the status.
    pub fn kind(&self, status: Option<u16>) -> ProviderErrorKind {
        let status = status.or(self.status);
        if status == Some(413) || self.says_too_long() {
            return ProviderErrorKind::ContextTooLong;
        }
        if self.has_code(SPENT_CODES) {
            return ProviderErrorKind::Rejected;
        }
        match status {
            Some(401 | 403) => ProviderErrorKind::Key,
            Some(400) if self.has_code(KEY_CODES) => ProviderErrorKind::Key,
            Some(429) => ProviderErrorKind::RateLimited,
            // A conflict passes: the request before still holds something.
            Some(408 | 409 | 425 | 500..) => ProviderErrorKind::Transient,
            Some(_) => ProviderErrorKind::Rejected,
            None if self.has_code(KEY_CODES) => ProviderErrorKind::Key,
            None if self.has_code(RATE_CODES) => ProviderErrorKind::RateLimited,
            None if self.has_code(TRANSIENT_CODES) => ProviderErrorKind::Transient,
            None if self.has_code(FINAL_CODES) => ProviderErrorKind::Rejected,
            // The provider had accepted the request before it failed.
            None => ProviderErrorKind::Broken,
        }
    }
}

/// What a gateway was told by the server behind it: OpenRouter's own message says only that there was an error.
fn cause(error: &Value) -> Option<ErrorObject> {
    match error.pointer("/metadata/raw")? {
        Value::String(text) => Some(ErrorObject::read(text)),
        Value::Null => None,
        value => Some(ErrorObject::of(value)),
    }
}

/// The failure of an answer with an error status.
pub(crate) fn from_status(
    status: u16,
    header: impl Fn(&str) -> Option<String>,
    body: &str,
    place: &str,
) -> ProviderError {
    let object = ErrorObject::read(body);
    let kind = match status {
        300..400 => ProviderErrorKind::Rejected,
        _ => object.kind(Some(status)),
    };
    let words = if object.message.is_empty() {
        "no explanation".to_owned()
    } else {
        object.message
    };
    let now = SystemTime::now();
    let retry_after = retry_after(header, now).or(object.retry_after);
    let wish = retry_after.filter(|wait| *wait >= SHORT_WAIT);
    let hint = match wish {
        Some(wait) => format!(
            ". It asks for a wait of {}, until {}",
            in_words(wait),
            clock_time(now + wait)
        ),
        None => hint(kind, Some(status)),
    };
    ProviderError {
        kind,
        window: catalog::named(&words).filter(|_| kind == ProviderErrorKind::ContextTooLong),
        message: format!("{words} (status {status}){hint}: {place}"),
        retry_after,
    }
}

/// The failure of an error object inside a stream.
pub(crate) fn from_stream(value: &Value, place: &str) -> ProviderError {
    let object = ErrorObject::of(value);
    let kind = object.kind(None);
    let hint = hint(kind, object.status);
    ProviderError {
        window: catalog::named(&object.message).filter(|_| kind == ProviderErrorKind::ContextTooLong),
        ..ProviderError::new(
            kind,
            format!("The answer broke off: {}{hint}: {place}", object.message),
        )
    }
}

/// A hint at what to try after a failure of that kind; empty where trying again is all there is, which becket does.
fn hint(kind: ProviderErrorKind, status: Option<u16>) -> String {
    let words = match (kind, status) {
        (_, Some(300..400)) => "Redirects are not followed; set the base URL to the final address",
        (_, Some(404)) => "Check the model's name and the base URL",
        (_, Some(402)) => "Check the account's credit",
        (ProviderErrorKind::Key, _) => "Check the provider's key and what it is allowed to use",
        (ProviderErrorKind::ContextTooLong, _) => {
            "Shorten or compact the conversation, or use a model with a larger context"
        }
        (ProviderErrorKind::Rejected, _) => {
            "Check the model's name, the account and what hooks changed in the request"
        }
        (
            ProviderErrorKind::Transient
            | ProviderErrorKind::RateLimited
            | ProviderErrorKind::Silent
            | ProviderErrorKind::Broken,
            _,
        ) => return String::new(),
    };
    format!(". {words}")
}

/// The wait that the provider asks for: `retry-after-ms`, or `retry-after` in seconds or as a date.
fn retry_after(header: impl Fn(&str) -> Option<String>, now: SystemTime) -> Option<Duration> {
    let number = |name: &str, unit: f64| {
        let value: f64 = header(name)?.trim().parse().ok()?;
        seconds(value * unit)
    };
    let wait = number("retry-after-ms", 0.001).or_else(|| number("retry-after", 1.0));
    wait.or_else(|| {
        let date = httpdate::parse_http_date(header("retry-after")?.trim()).ok()?;
        Some(
            date.duration_since(now)
                .unwrap_or_default()
                .min(LONGEST_RETRY_AFTER),
        )
    })
}

/// A wait of so many seconds, at most the longest one.
fn seconds(count: f64) -> Option<Duration> {
    let is_wait = count.is_finite() && count >= 0.0;
    is_wait.then(|| Duration::from_secs_f64(count.min(LONGEST_RETRY_AFTER.as_secs_f64())))
}

/// A wait in hours, minutes and seconds, without those that are zero.
fn in_words(wait: Duration) -> String {
    let seconds = wait.as_secs_f64().ceil() as u64;
    let units = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let words = units.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = words.map(|(count, unit)| format!("{count} {unit}")).collect();
    words.join(" ")
}

/// A time of the day on this machine's clock, with the date if it is another day.
fn clock_time(time: SystemTime) -> String {
    let (time, today) = (DateTime::<Local>::from(time), Local::now().date_naive());
    let form = match time.date_naive() == today {
        true => "%H:%M",
        false => "%H:%M on %Y-%m-%d",
    };
    time.format(form).to_string()
}

/// The title of a web page, else its first heading; `None` for a text that is no web page.
pub(crate) fn title(body: &str) -> Option<String> {
    // Letters keep their place: only those of ASCII become small.
    let page = body.to_ascii_lowercase();
    if !page.contains("<html") && !page.contains("<!doctype html") && !page.contains("<title") {
        return None;
    }
    let inside = |tag: &str| {
        let begins = page.find(&format!("<{tag}"))?;
        let begins = begins + page[begins..].find('>')? + 1;
        let ends = begins + page[begins..].find("</")?;
        Some(quote(&plain(&body[begins..ends]))).filter(|title| !title.is_empty())
    };
    Some(
        ["title", "h1"]
            .into_iter()
            .find_map(inside)
            .unwrap_or_else(|| "a web page".to_owned()),
    )
}

/// A text of HTML without the few signs that are written as names.
fn plain(text: &str) -> String {
    const SIGNS: &[(&str, &str)] = &[
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    SIGNS
        .iter()
        .fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign))
}

/// A provider's message on one line, cut to a readable length, without a full stop at its end.
fn quote(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut line: String = match line.char_indices().nth(QUOTE_LIMIT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    if line.ends_with('.') && !line.ends_with("..") {
        line.pop();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProviderErrorKind::*;

    // tidy: a table
    #[test]
    fn every_class_of_failure_is_recognised() {
        let table: &[(u16, &str, ProviderErrorKind)] = &[
            (
                429,
                r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#,
                RateLimited,
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
                Rejected,
            ),
            (500, "oops", Transient),
            (503, "", Transient),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Transient,
            ),
            (408, "", Transient),
            (409, "", Transient),
            (401, r#"{"error":{"message":"Incorrect API key provided"}}"#, Key),
            (
                403,
                r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#,
                Key,
            ),
            (
                400,
                r#"{"error":{"message":"too much","code":"context_length_exceeded"}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens."}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205000 tokens > 200000 maximum"}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
                ContextTooLong,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"big"}}"#,
                ContextTooLong,
            ),
            (400, r#"{"error":{"message":"bad tool"}}"#, Rejected),
            (
                404,
                r#"{"error":"model 'x' not found, try pulling it first"}"#,
                Rejected,
            ),
            (
                402,
                r#"{"error":{"message":"Insufficient credits","code":402}}"#,
                Rejected,
            ),
            (302, "", Rejected),
            (
                400,
                r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
                Key,
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."}}]"#,
                ContextTooLong,
            ),
        ];
        for (status, body, kind) in table {
            let error = from_status(*status, |_| None, body, "http://host/v1");
            assert_eq!(error.kind, *kind, "{status} {body}");
            assert!(error.message.contains("http://host/v1"), "{}", error.message);
            assert!(error.message.contains(&status.to_string()), "{}", error.message);
        }
    }

    #[test]
    fn error_objects_inside_a_stream_are_recognised() {
        let table = [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Transient,
            ),
            (r#"{"error":{"code":502,"message":"upstream"}}"#, Transient),
            (r#"{"error":{"code":429,"message":"slow down"}}"#, RateLimited),
            (
                r#"{"error":{"message":"prompt is too long","type":"invalid_request_error"}}"#,
                ContextTooLong,
            ),
            (r#"{"error":{"message":"no","type":"authentication_error"}}"#, Key),
            (
                r#"{"error":{"message":"no","type":"invalid_request_error"}}"#,
                Rejected,
            ),
            (r#"{"error":{"message":"no","code":"tokenizer_hiccup"}}"#, Broken),
            (r#"{"error":"plain"}"#, Broken),
            (
                r#"{"error":{"code":400,"message":"no","metadata":{"raw":{"code":"context_length_exceeded"}}}}"#,
                ContextTooLong,
            ),
        ];
        for (body, kind) in table {
            let value: Value = serde_json::from_str(body).unwrap();
            let error = from_stream(&value, "place");
            assert_eq!(error.kind, kind, "{body}");
            let names_model = error.message.contains("Check the model's name");
            assert_eq!(names_model, kind == Rejected, "{}", error.message);
        }
    }

    #[test]
    fn retry_after_is_read_in_each_form() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:00 GMT").unwrap();
        type Headers = &'static [(&'static str, &'static str)];
        let table: &[(Headers, Option<Duration>)] = &[
            (&[("retry-after", "7")], Some(Duration::from_secs(7))),
            (&[("retry-after", "0.5")], Some(Duration::from_millis(500))),
            (
                &[("retry-after-ms", "1500"), ("retry-after", "9")],
                Some(Duration::from_millis(1500)),
            ),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
                Some(Duration::from_secs(37)),
            ),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")],
                Some(Duration::ZERO),
            ),
            (&[("retry-after", "1e300")], Some(LONGEST_RETRY_AFTER)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "NaN")], None),
            (&[], None),
        ];
        for (headers, wait) in table {
            let header = |name: &str| {
                headers
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(retry_after(header, now), *wait, "{headers:?}");
        }
    }

    #[test]
    fn a_wait_may_be_named_in_the_error() {
        let body = r#"{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED",
            "details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2.5s"}]}}"#;
        let error = from_status(429, |_| None, body, "here");
        assert_eq!(error.kind, RateLimited);
        assert_eq!(error.retry_after, Some(Duration::from_millis(2_500)));
        let header = |name: &str| (name == "retry-after").then(|| "7".to_owned());
        let error = from_status(429, header, body, "here");
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    }

    #[test]
    fn web_pages_are_told_by_their_title() {
        let table = [
            (
                "<html><head><title>502 Bad\nGateway</title></head><h1>x</h1>",
                "502 Bad Gateway",
            ),
            (
                "<!DOCTYPE html><TITLE lang=en>Down &amp; out</TITLE>",
                "Down & out",
            ),
            ("<html><body><h1 class=\"x\">No service</h1>", "No service"),
            ("<html><title></title><p>nothing", "a web page"),
            ("<html><title>never ends", "a web page"),
            ("upstream <title", "a web page"),
            ("no such route", "no such route"),
        ];
        for (body, words) in table {
            assert_eq!(ErrorObject::read(body).message, words, "{body}");
        }
    }

    #[test]
    fn long_waits_are_told_with_their_end() {
        let told = |wait: &'static str| {
            let header = move |name: &str| (name == "retry-after").then(|| wait.to_owned());
            from_status(429, header, "slow down", "here").message
        };
        assert!(told("300").contains("a wait of 5 min, until "), "{}", told("300"));
        assert!(
            told("5400").contains("a wait of 1 h 30 min, until "),
            "{}",
            told("5400")
        );
        assert!(
            told("3").ends_with("slow down (status 429): here"),
            "{}",
            told("3")
        );
    }

    #[test]
    fn long_words_are_cut_to_one_line() {
        let object = ErrorObject::read(&"<html>\nä ".repeat(1000));
        assert!(object.message.chars().count() <= QUOTE_LIMIT + 1);
        assert!(!object.message.contains('\n'));
    }
}
