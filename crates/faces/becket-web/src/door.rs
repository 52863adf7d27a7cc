//! Access control: requests must have the token, and come from a page of this very address.
//!
//! The token is behind the `#` of the printed address, which no browser sends anywhere; the page takes it from there
//! and sends it as a header. A cookie would go to every other program that listens on this machine.

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode};

/// A secret of one server, newly made when it starts.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new token of 256 random bits.
    pub fn random() -> Result<Self, getrandom::Error> {
        Ok(Self(random_hex::<32>()?))
    }

    /// A token that the user chose; `None` if it could be guessed because it is too short.
    pub fn chosen(text: &str) -> Option<Self> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (text.len() >= 32 && is_plain).then(|| Self(text.to_owned()))
    }

    /// The text of the token.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether a text is the token. The time that this takes does not reveal how much of it is right.
    fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let differences = own
            .iter()
            .zip(given)
            .fold(0u8, |found, (one, other)| found | (one ^ other));
        own.len() == given.len() && std::hint::black_box(differences) == 0
    }
}

/// `BYTES` random bytes, in hexadecimal digits.
pub(crate) fn random_hex<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The token, and the port at which the server listens.
pub(crate) struct Door {
    pub(crate) token: Token,
    pub(crate) port: u16,
}

/// Why a request is refused.
pub(crate) type Refusal = (StatusCode, &'static str);

impl Door {
    /// Checks what holds for every request: only reading, only under the address of this machine, and for no other
    /// page. A foreign page whose name leads to this machine has another `Host`.
    pub(crate) fn greet(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        if method != Method::GET {
            return Err((
                StatusCode::METHOD_NOT_ALLOWED,
                "there is nothing to change here: only GET",
            ));
        }
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let host = only_one(headers, HOST.as_str())?.unwrap_or_default();
        if !hosts.iter().any(|known| known == host) {
            return Err((
                StatusCode::FORBIDDEN,
                "this is not the address that becket printed",
            ));
        }
        let origin = only_one(headers, ORIGIN.as_str())?;
        if origin.is_some_and(|origin| origin != format!("http://{host}")) {
            return Err((StatusCode::FORBIDDEN, "only becket's own page may ask"));
        }
        let site = only_one(headers, "sec-fetch-site")?;
        // A link to the page may be anywhere, even in a terminal that is itself a page. Following it carries no token.
        let follows_link = only_one(headers, "sec-fetch-mode")? == Some("navigate");
        if !follows_link && site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err((StatusCode::FORBIDDEN, "only becket's own page may ask"));
        }
        Ok(())
    }

    /// Checks that the caller has the token.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let given = only_one(headers, AUTHORIZATION.as_str())?.unwrap_or_default();
        match given
            .strip_prefix("Bearer ")
            .is_some_and(|given| self.token.is(given))
        {
            true => Ok(()),
            false => Err((
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong: open the address that `becket web` printed",
            )),
        }
    }
}

/// A header that must not occur twice: two readers could use different ones.
fn only_one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Refusal> {
    let unclear = (StatusCode::BAD_REQUEST, "a header is there twice, or is no text");
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(unclear);
    }
    first.map(|value| value.to_str().map_err(|_| unclear)).transpose()
}
