//! Reads JSON text into values, unless it is nested too deeply.

use jaq_json::{Val, read};

use crate::bounds::{TOO_DEEP, is_text_too_deep};

/// The values of JSON text, up to the first error.
pub(crate) fn parse_many(text: &[u8]) -> impl Iterator<Item = Result<Val, String>> + '_ {
    let parsed = (!is_text_too_deep(text)).then(|| read::parse_many(text));
    let too_deep = parsed.is_none().then(|| Err(TOO_DEEP.into()));
    let values = parsed.into_iter().flatten();
    until_broken(
        values
            .map(|value| value.map_err(|error| error.to_string()))
            .chain(too_deep),
    )
}

/// The single value of JSON text.
pub(crate) fn parse_single(text: &[u8]) -> Result<Val, String> {
    match is_text_too_deep(text) {
        true => Err(TOO_DEEP.into()),
        false => read::parse_single(text).map_err(|error| error.to_string()),
    }
}

/// The values up to the first error: after invalid JSON nothing can be read.
pub(crate) fn until_broken(
    values: impl Iterator<Item = Result<Val, String>>,
) -> impl Iterator<Item = Result<Val, String>> {
    let mut broken = false;
    values.map_while(move |value| {
        if broken {
            return None;
        }
        broken = value.is_err();
        Some(value)
    })
}
