//! Hashes, keyed hashes and randomness.

use hmac::digest::{Digest, KeyInit};
use hmac::{Hmac, Mac};
use md5::Md5;
use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

use super::state::{Node, NodeResult, bytes_of};
use crate::host::HostError;

/// The largest number of random bytes per request.
const RANDOM: u64 = 64 << 20;

pub(super) fn call(node: &Node, function: &str, arguments: &Value) -> NodeResult {
    match function {
        "hash" => {
            let algorithm = arguments["algorithm"].as_str().unwrap_or_default();
            let mut data = Vec::new();
            for piece in arguments["data"].as_array().into_iter().flatten() {
                data.extend(bytes_of(piece)?);
            }
            let digest = match &arguments["key"] {
                Value::Null => digest(algorithm, &data),
                key => keyed(algorithm, &bytes_of(key)?, &data),
            };
            let digest = digest.ok_or_else(|| {
                let words = format!("{algorithm} is no digest that the embedded engine serves");
                HostError::new(words).with("code", "ERR_CRYPTO_INVALID_DIGEST")
            })?;
            node.parcel(digest)
        }
        "random" => {
            let length = arguments["length"].as_u64().unwrap_or_default();
            if length > RANDOM {
                return Err(HostError::new(format!(
                    "at most {RANDOM} random bytes are given at once"
                )));
            }
            let mut bytes = vec![0; length as usize];
            getrandom::fill(&mut bytes)
                .map_err(|error| HostError::new(format!("the system gives no random bytes: {error}")))?;
            node.parcel(bytes)
        }
        "names" => Ok(json!(["md5", "sha1", "sha224", "sha256", "sha384", "sha512"])),
        _ => Err(HostError::new(format!("there is no function crypto.{function}"))),
    }
}

fn digest(algorithm: &str, data: &[u8]) -> Option<Vec<u8>> {
    Some(match algorithm {
        "md5" => Md5::digest(data).to_vec(),
        "sha1" => Sha1::digest(data).to_vec(),
        "sha224" => Sha224::digest(data).to_vec(),
        "sha256" => Sha256::digest(data).to_vec(),
        "sha384" => Sha384::digest(data).to_vec(),
        "sha512" => Sha512::digest(data).to_vec(),
        _ => return None,
    })
}

fn keyed(algorithm: &str, key: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    match algorithm {
        "md5" => mac::<Hmac<Md5>>(key, data),
        "sha1" => mac::<Hmac<Sha1>>(key, data),
        "sha224" => mac::<Hmac<Sha224>>(key, data),
        "sha256" => mac::<Hmac<Sha256>>(key, data),
        "sha384" => mac::<Hmac<Sha384>>(key, data),
        "sha512" => mac::<Hmac<Sha512>>(key, data),
        _ => None,
    }
}

fn mac<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let mut mac = <M as KeyInit>::new_from_slice(key).ok()?;
    mac.update(data);
    Some(mac.finalize().into_bytes().to_vec())
}
