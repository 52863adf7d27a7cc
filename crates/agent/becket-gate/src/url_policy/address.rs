//! Reads web addresses as a browser does, and makes them fit to be shown.

use url::{Host, Url};

/// The longest address that is accepted.
const MAX_LENGTH: usize = 16 * 1024;

/// Parses an address as a browser does, and refuses what is no web address or is ambiguous.
pub fn read_url(text: &str) -> Result<Url, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("the address is longer than {MAX_LENGTH} bytes"));
    }
    let mut url = Url::parse(text)
        .map_err(|error| format!("`{}` is not an address: {error}", without_credentials(text)))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "`{}` cannot be fetched, only http and https",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address with a user name or a password is not fetched".into());
    }
    if url.port() == Some(0) {
        return Err("there is no port 0".into());
    }
    // The fragment is not sent, so no rule can allow or deny by it.
    url.set_fragment(None);
    let name = match url.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        _ => return Ok(url),
    };
    // With or without its last dot it is the same host, but not to a glob.
    let bare = name.strip_suffix('.').unwrap_or(&name);
    check_name(bare)?;
    if bare != name {
        url.set_host(Some(bare))
            .map_err(|error| format!("`{name}` is not a valid host name: {error}"))?;
    }
    Ok(url)
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.split('.').any(str::is_empty) {
        return Err("a part of the host name is empty".into());
    }
    if name.len() > 253 || name.split('.').any(|label| label.len() > 63) {
        return Err("the host name is too long".into());
    }
    Ok(())
}

/// An address fit to be shown: a name and a password in it are removed, even if it cannot be parsed.
pub fn without_credentials(text: &str) -> String {
    if let Some(mut url) = Url::parse(text).ok().filter(Url::has_host) {
        if url.username().is_empty() && url.password().is_none() {
            return text.to_owned();
        }
        // Only addresses with a host have a password, and for these removing it never fails.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        return url.to_string();
    }
    match text.rsplit_once('@') {
        None => text.to_owned(),
        Some((before, after)) => {
            let scheme = before.find("://").map_or("", |end| &before[..end + 3]);
            format!("{scheme}…@{after}")
        }
    }
}
