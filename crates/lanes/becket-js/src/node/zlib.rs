//! Compressed bytes, whole or in pieces: the functions of `zlib`.

use miniz_oxide::MZFlush;
use serde_json::{Value, json};

use super::coder::{Coder, crc32};
use super::state::{Node, NodeResult, bytes_of};
use crate::host::HostError;

/// How many coders one extension may have open.
const MOST_CODERS: usize = 100;

pub(super) fn call(node: &Node, function: &str, arguments: &Value) -> NodeResult {
    let coders = || {
        node.coders
            .lock()
            .expect("no panic happens while coders are held")
    };
    let number = || arguments["id"].as_u64().unwrap_or_default();
    match function {
        "all" => {
            let data = bytes_of(&arguments["data"])?;
            let mut coder = Coder::new(node.kit.limits.memory, arguments)?;
            node.parcel(coder.write(&data, flush_of(arguments))?)
        }
        "open" => {
            if coders().len() >= MOST_CODERS {
                return Err(HostError::new(format!(
                    "there are {MOST_CODERS} open streams already"
                )));
            }
            let id = node.number();
            coders().insert(id, Coder::new(node.kit.limits.memory, arguments)?);
            Ok(json!(id))
        }
        "write" => {
            let data = bytes_of(&arguments["data"])?;
            let mut coders = coders();
            let coder = coders.get_mut(&number());
            let coder = coder.ok_or_else(|| HostError::new("the stream is closed"))?;
            node.parcel(coder.write(&data, flush_of(arguments))?)
        }
        "close" => {
            coders().remove(&number());
            Ok(Value::Null)
        }
        "crc32" => {
            let before = arguments["value"].as_u64().unwrap_or_default() as u32;
            Ok(json!(crc32(before, &bytes_of(&arguments["data"])?)))
        }
        _ => Err(HostError::new(format!("there is no function zlib.{function}"))),
    }
}

/// How much output must be flushed after a piece.
fn flush_of(arguments: &Value) -> MZFlush {
    match arguments["flush"].as_str() {
        Some("sync") => MZFlush::Sync,
        Some("full") => MZFlush::Full,
        Some("finish") => MZFlush::Finish,
        _ => MZFlush::None,
    }
}
