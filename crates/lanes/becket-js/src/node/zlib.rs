//! Compressed bytes: deflate in its three wrappings, whole or piece by piece.

use std::collections::HashMap;
use std::sync::Mutex;

use miniz_oxide::deflate::core::CompressorOxide;
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus, StreamResult};
use serde_json::{Value, json};

use super::{Answer, Node, bytes_of};
use crate::host::HostError;

/// Coders between two pieces, by their numbers.
pub(super) type Coders = Mutex<HashMap<u64, Coder>>;

/// How many bytes are made at a time.
const ROOM: usize = 32 << 10;

/// How many coders one extension may have open.
const MOST_CODERS: usize = 100;

const GZIP: [u8; 2] = [0x1f, 0x8b];

pub(super) fn call(node: &Node, function: &str, arguments: &Value) -> Answer {
    let coders = || {
        node.coders
            .lock()
            .expect("no panic happens while coders are held")
    };
    let number = || arguments["id"].as_u64().unwrap_or_default();
    match function {
        "all" => {
            let data = bytes_of(&arguments["data"])?;
            let mut coder = Coder::new(node, arguments)?;
            node.parcel(coder.write(&data, flush_of(arguments))?)
        }
        "open" => {
            if coders().len() >= MOST_CODERS {
                return Err(HostError::new(format!(
                    "there are {MOST_CODERS} open streams already"
                )));
            }
            let id = node.number();
            coders().insert(id, Coder::new(node, arguments)?);
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

/// What must have come out when a piece is through.
fn flush_of(arguments: &Value) -> MZFlush {
    match arguments["flush"].as_str() {
        Some("sync") => MZFlush::Sync,
        Some("full") => MZFlush::Full,
        Some("finish") => MZFlush::Finish,
        _ => MZFlush::None,
    }
}

/// How compressed bytes are wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrapping {
    Zlib,
    Raw,
    Gzip,
}

/// Compresses, or undoes it.
pub(super) struct Coder {
    kind: Kind,
    /// How many bytes may be made, all in all.
    most: usize,
    made: usize,
    /// A checksum and a count of what is plain, for gzip.
    sum: u32,
    count: u32,
}

enum Kind {
    Deflate {
        wrapping: Wrapping,
        state: Box<CompressorOxide>,
        begun: bool,
    },
    Inflate(Inflate),
}

struct Inflate {
    /// `None` until the first bytes tell.
    wrapping: Option<Wrapping>,
    stage: Stage,
    state: Box<InflateState>,
    /// Bytes that wait for more: of a head, or of the end.
    rest: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    Tail,
    /// Another one may follow.
    Over,
}

impl Coder {
    fn new(node: &Node, arguments: &Value) -> Result<Self, HostError> {
        let wrapping = match arguments["wrapping"].as_str() {
            Some("zlib") => Some(Wrapping::Zlib),
            Some("raw") => Some(Wrapping::Raw),
            Some("gzip") => Some(Wrapping::Gzip),
            _ => None,
        };
        let kind = match (arguments["level"].as_i64(), wrapping) {
            (Some(level), Some(wrapping)) => {
                let mut state = Box::<CompressorOxide>::default();
                let level = u8::try_from(level).unwrap_or(6).min(9);
                state.set_format_and_level(format(wrapping), level);
                Kind::Deflate {
                    wrapping,
                    state,
                    begun: false,
                }
            }
            (Some(_), None) => return Err(HostError::new("there is no such compression")),
            (None, wrapping) => Kind::Inflate(Inflate {
                wrapping,
                stage: Stage::Head,
                state: InflateState::new_boxed(format(wrapping.unwrap_or(Wrapping::Raw))),
                rest: Vec::new(),
            }),
        };
        let limit = node.kit.limits.memory;
        let most = arguments["most"].as_u64().map_or(limit, |most| most as usize);
        Ok(Self {
            kind,
            most: most.min(limit),
            made: 0,
            sum: 0,
            count: 0,
        })
    }

    fn write(&mut self, data: &[u8], flush: MZFlush) -> Result<Vec<u8>, HostError> {
        let mut made = Vec::new();
        let mut kind = std::mem::replace(&mut self.kind, Kind::Inflate(Inflate::spent()));
        let result = match &mut kind {
            Kind::Deflate {
                wrapping,
                state,
                begun,
            } => self.compress((*wrapping, begun), state, (data, flush), &mut made),
            Kind::Inflate(inflate) => self.restore(inflate, (data, flush), &mut made),
        };
        self.kind = kind;
        result.map(|()| made)
    }

    fn compress(
        &mut self,
        (wrapping, begun): (Wrapping, &mut bool),
        state: &mut CompressorOxide,
        (data, flush): (&[u8], MZFlush),
        made: &mut Vec<u8>,
    ) -> Result<(), HostError> {
        if wrapping == Wrapping::Gzip {
            if !*begun {
                // No name, no time, and a system that is not told.
                made.extend([GZIP[0], GZIP[1], 8, 0, 0, 0, 0, 0, 0, 3]);
            }
            self.count_plain(data);
        }
        *begun = true;
        let step = |left: &[u8], room: &mut [u8]| deflate(state, left, room, flush);
        self.turn(data, made, flush, step)?;
        if wrapping == Wrapping::Gzip && flush == MZFlush::Finish {
            made.extend(self.sum.to_le_bytes());
            made.extend(self.count.to_le_bytes());
        }
        Ok(())
    }

    fn restore(
        &mut self,
        inflate: &mut Inflate,
        (data, flush): (&[u8], MZFlush),
        made: &mut Vec<u8>,
    ) -> Result<(), HostError> {
        let mut left = std::mem::take(&mut inflate.rest);
        left.extend_from_slice(data);
        loop {
            let stage = inflate.stage;
            let used = match stage {
                Stage::Head => inflate.head(&left)?,
                Stage::Body => Some(self.body(inflate, &left, made)?),
                Stage::Tail => self.tail(inflate, &left)?,
                Stage::Over => inflate.again(&left),
            };
            left.drain(..used.unwrap_or_default());
            // A body that is not at its end has taken all that it can.
            if used.is_none() || (stage, inflate.stage) == (Stage::Body, Stage::Body) {
                break;
            }
        }
        if flush == MZFlush::Finish && inflate.stage != Stage::Over {
            return Err(wrong("Z_BUF_ERROR", -5, "unexpected end of file"));
        }
        inflate.rest = left;
        Ok(())
    }

    /// Undoes the compression of what there is, and gives back how many bytes were used.
    fn body(&mut self, of: &mut Inflate, left: &[u8], made: &mut Vec<u8>) -> Result<usize, HostError> {
        let begin = made.len();
        let state = &mut of.state;
        let step = |left: &[u8], room: &mut [u8]| inflate(state, left, room, MZFlush::None);
        let (used, ended) = self.turn(left, made, MZFlush::None, step)?;
        if of.wrapping == Some(Wrapping::Gzip) {
            self.count_plain(&made[begin..]);
        }
        if ended {
            of.stage = match of.wrapping {
                Some(Wrapping::Gzip) => Stage::Tail,
                _ => Stage::Over,
            };
        }
        Ok(used)
    }

    /// Reads what stands behind gzip's bytes.
    fn tail(&mut self, of: &mut Inflate, left: &[u8]) -> Result<Option<usize>, HostError> {
        let Some(tail) = left.get(..8) else {
            return Ok(None);
        };
        if tail[..4] != self.sum.to_le_bytes() {
            return Err(wrong("Z_DATA_ERROR", -3, "incorrect data check"));
        }
        if tail[4..] != self.count.to_le_bytes() {
            return Err(wrong("Z_DATA_ERROR", -3, "incorrect length check"));
        }
        (self.sum, self.count) = (0, 0);
        of.stage = Stage::Over;
        Ok(Some(8))
    }

    /// Runs a step until it has taken all bytes and made all of what it can. Gives back how many bytes were taken, and
    /// whether the end was found.
    fn turn(
        &mut self,
        data: &[u8],
        made: &mut Vec<u8>,
        flush: MZFlush,
        mut step: impl FnMut(&[u8], &mut [u8]) -> StreamResult,
    ) -> Result<(usize, bool), HostError> {
        let (mut used, mut room) = (0, vec![0; ROOM]);
        loop {
            let result = step(&data[used..], &mut room);
            used += result.bytes_consumed;
            made.extend_from_slice(&room[..result.bytes_written]);
            self.made += result.bytes_written;
            if self.made > self.most {
                let words = format!("Cannot create a Buffer larger than {} bytes", self.most);
                return Err(HostError::new(words).with("code", "ERR_BUFFER_TOO_LARGE"));
            }
            match result.status {
                Ok(MZStatus::StreamEnd) => return Ok((used, true)),
                // Nothing is left to be done with these bytes.
                Err(MZError::Buf) => return Ok((used, false)),
                Ok(_) if result.bytes_consumed == 0 && result.bytes_written == 0 => return Ok((used, false)),
                Ok(_) if used == data.len() && result.bytes_written < ROOM && flush != MZFlush::Finish => {
                    return Ok((used, false));
                }
                Ok(_) => {}
                Err(_) => return Err(wrong("Z_DATA_ERROR", -3, "invalid compressed data")),
            }
        }
    }

    fn count_plain(&mut self, plain: &[u8]) {
        self.sum = crc32(self.sum, plain);
        self.count = self.count.wrapping_add(plain.len() as u32);
    }
}

impl Inflate {
    /// Stands in while the real one works.
    fn spent() -> Self {
        Self {
            wrapping: None,
            stage: Stage::Over,
            state: InflateState::new_boxed(DataFormat::Raw),
            rest: Vec::new(),
        }
    }

    /// Reads the head, if all of it is there, and gives back its length.
    fn head(&mut self, left: &[u8]) -> Result<Option<usize>, HostError> {
        let wrong_head = || wrong("Z_DATA_ERROR", -3, "incorrect header check");
        if self.wrapping != Some(Wrapping::Raw) && left.len() < 2 {
            return Ok(None);
        }
        let is_gzip = left.starts_with(&GZIP);
        let wrapping = match self.wrapping {
            Some(wrapping) => wrapping,
            None if is_gzip => Wrapping::Gzip,
            None => Wrapping::Zlib,
        };
        let length = match wrapping {
            Wrapping::Raw => 0,
            Wrapping::Zlib
                if !u16::from_be_bytes([left[0], left[1]]).is_multiple_of(31) || left[0] & 15 != 8 =>
            {
                return Err(wrong_head());
            }
            Wrapping::Zlib => 0,
            Wrapping::Gzip if !is_gzip => return Err(wrong_head()),
            Wrapping::Gzip => match gzip_head(left) {
                Some(length) if left[3] & 2 != 0 && !head_is_whole(&left[..length]) => {
                    return Err(wrong("Z_DATA_ERROR", -3, "header crc mismatch"));
                }
                Some(length) => length,
                None => return Ok(None),
            },
        };
        self.wrapping = Some(wrapping);
        self.state.reset(format(wrapping));
        self.stage = Stage::Body;
        Ok(Some(length))
    }

    /// Several pieces of gzip may follow each other; everything else behind the end counts for nothing.
    fn again(&mut self, left: &[u8]) -> Option<usize> {
        let follows = self.wrapping == Some(Wrapping::Gzip) && left.starts_with(&GZIP);
        if follows {
            self.stage = Stage::Head;
        }
        follows.then_some(0)
    }
}

fn format(wrapping: Wrapping) -> DataFormat {
    match wrapping {
        Wrapping::Zlib => DataFormat::Zlib,
        Wrapping::Raw | Wrapping::Gzip => DataFormat::Raw,
    }
}

/// The length of gzip's head, if all of it is there.
fn gzip_head(bytes: &[u8]) -> Option<usize> {
    let flags = *bytes.get(3)?;
    let mut at = 10;
    if flags & 4 != 0 {
        let length = [*bytes.get(at)?, *bytes.get(at + 1)?];
        at += 2 + usize::from(u16::from_le_bytes(length));
    }
    for text in [8, 16] {
        if flags & text != 0 {
            at += bytes.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    at += if flags & 2 != 0 { 2 } else { 0 };
    (bytes.len() >= at).then_some(at)
}

/// Whether the checksum at the end of gzip's head fits.
fn head_is_whole(head: &[u8]) -> bool {
    let (head, sum) = head.split_at(head.len() - 2);
    (crc32(0, head) as u16).to_le_bytes() == sum
}

fn wrong(code: &'static str, number: i32, words: &str) -> HostError {
    HostError::new(words).with("code", code).with("errno", number)
}

fn crc32(before: u32, bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    let step = |sum: u32, byte: &u8| TABLE[usize::from(sum as u8 ^ byte)] ^ (sum >> 8);
    !bytes.iter().fold(!before, step)
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut sum = at as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 {
                0xedb8_8320 ^ (sum >> 1)
            } else {
                sum >> 1
            };
            bit += 1;
        }
        table[at] = sum;
        at += 1;
    }
    table
}
