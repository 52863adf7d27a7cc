//! Compressors and decompressors: deflate in its three wrappings, in pieces.
//!
//! gzip's head and tail are read here, because extensions look at the codes and texts of zlib's own errors, which no
//! crate for gzip in pieces gives.

use miniz_oxide::deflate::core::CompressorOxide;
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus, StreamResult};
use serde_json::Value;

use crate::host::HostError;

/// How many bytes are produced at a time.
const ROOM: usize = 32 << 10;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// How compressed bytes are wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrapping {
    Zlib,
    Raw,
    Gzip,
}

/// A compressor or decompressor.
pub(super) struct Coder {
    kind: Kind,
    /// How many bytes may be produced in all.
    most: usize,
    made: usize,
    /// The checksum of the uncompressed bytes, for gzip; `count` is their number.
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
    /// The wrapping; `None` until the first bytes show it.
    wrapping: Option<Wrapping>,
    stage: Stage,
    state: Box<InflateState>,
    /// Incomplete bytes of a header or a trailer, which wait for more.
    rest: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    Tail,
    /// The stream has ended; another one may follow.
    Over,
}

impl Coder {
    /// A coder as the script describes it; it may produce up to `limit` bytes.
    pub(super) fn new(limit: usize, arguments: &Value) -> Result<Self, HostError> {
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
        let most = arguments["most"].as_u64().map_or(limit, |most| most as usize);
        Ok(Self {
            kind,
            most: most.min(limit),
            made: 0,
            sum: 0,
            count: 0,
        })
    }

    /// The bytes that a piece becomes.
    pub(super) fn write(&mut self, data: &[u8], flush: MZFlush) -> Result<Vec<u8>, HostError> {
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
                // No name, no time, and an unspecified system.
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
            // A body that has not ended has consumed all that it can.
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

    /// Decompresses the available bytes, and returns how many were used.
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

    /// Reads the trailer of gzip.
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

    /// Runs a step until it has consumed all bytes and produced all that it can. Returns how many bytes were consumed,
    /// and whether the end was found.
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
    /// A placeholder while the real state is borrowed.
    fn spent() -> Self {
        Self {
            wrapping: None,
            stage: Stage::Over,
            state: InflateState::new_boxed(DataFormat::Raw),
            rest: Vec::new(),
        }
    }

    /// Reads the header if it is complete, and returns its length.
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

    /// Begins another stream: several of gzip may follow each other, and anything else after the end is ignored.
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

/// The length of gzip's header, if it is complete.
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

/// Whether the checksum at the end of gzip's header is right.
fn head_is_whole(head: &[u8]) -> bool {
    let (head, sum) = head.split_at(head.len() - 2);
    (crc32(0, head) as u16).to_le_bytes() == sum
}

fn wrong(code: &'static str, number: i32, words: &str) -> HostError {
    HostError::new(words).with("code", code).with("errno", number)
}

/// The checksum of gzip, continued from that of the bytes before.
pub(super) fn crc32(before: u32, bytes: &[u8]) -> u32 {
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
