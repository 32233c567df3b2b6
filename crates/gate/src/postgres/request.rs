//! What a client sends, taken out of its bytes. Every read is checked against the end of the message: a length that lies is an error, and
//! nothing is allocated by a count that the bytes do not bear out.

use super::failure::Failure;
use bytes::{Buf, Bytes};

/// The first packet of a connection; there may be several until one starts a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// May we go over to TLS?
    Encrypt,
    /// May we go over to Kerberos encryption? We may not.
    EncryptGss,
    /// Cancel what another connection runs.
    Cancel { process: i32, key: Bytes },
    /// Begin a session.
    Start { minor: u16, parameters: Vec<(String, String)> },
}

/// A message of a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    Query(String),
    Parse {
        name: String,
        text: String,
        types: Vec<u32>,
    },
    Bind {
        portal: String,
        statement: String,
        formats: Vec<i16>,
        values: Vec<Option<Bytes>>,
        results: Vec<i16>,
    },
    Describe(Named),
    Close(Named),
    Execute {
        portal: String,
        rows: usize,
    },
    Flush,
    Sync,
    Terminate,
    /// A password, or a step of SASL: what is in it depends on what was asked.
    Password(Bytes),
    /// Bytes of rows to copy in. Too late, as the next two are, unless a `COPY` awaits them: it failed, and the client did not know yet.
    CopyData(Bytes),
    /// There are no more.
    CopyDone,
    /// There are no more, and why.
    CopyFail(String),
}

/// A statement or a portal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    Statement(String),
    Portal(String),
}

const ENCRYPT: i32 = 80_877_103;
const ENCRYPT_GSS: i32 = 80_877_104;
const CANCEL: i32 = 80_877_102;

/// The keys of cancellation have four bytes here; newer clients may be given up to 256.
const MOST_KEY_BYTES: usize = 256;

impl Opening {
    /// Reads a packet without its length.
    pub(super) fn read(packet: Bytes) -> Result<Self, Failure> {
        let mut fields = Fields(packet);
        match fields.int32()? {
            ENCRYPT => fields.end(Self::Encrypt),
            ENCRYPT_GSS => fields.end(Self::EncryptGss),
            CANCEL => {
                let process = fields.int32()?;
                let key = fields.rest();
                if key.is_empty() || key.len() > MOST_KEY_BYTES {
                    return Err(Failure::malformed("the key of a cancel request"));
                }
                Ok(Self::Cancel { process, key })
            }
            version if version >> 16 == 3 => {
                let mut parameters = Vec::new();
                loop {
                    let name = fields.text()?;
                    if name.is_empty() {
                        return fields.end(Self::Start { minor: version as u16, parameters });
                    }
                    parameters.push((name, fields.text()?));
                }
            }
            version => Err(Failure::fatal(
                "0A000",
                format!(
                    "protocol version {}.{} is not served; use version 3 of the PostgreSQL protocol",
                    version >> 16,
                    version as u16
                ),
            )),
        }
    }
}

impl Request {
    /// Reads a message of that kind, without kind and length.
    pub(super) fn read(kind: u8, body: Bytes) -> Result<Self, Failure> {
        let mut fields = Fields(body);
        let read = match kind {
            b'Q' => Self::Query(fields.text()?),
            b'P' => {
                let (name, text) = (fields.text()?, fields.text()?);
                Self::Parse {
                    name,
                    text,
                    types: fields.list(4, |fields| fields.int32().map(|oid| oid as u32))?,
                }
            }
            b'B' => {
                let (portal, statement) = (fields.text()?, fields.text()?);
                let formats = fields.list(2, Fields::int16)?;
                let values = fields.list(4, Fields::value)?;
                Self::Bind { portal, statement, formats, values, results: fields.list(2, Fields::int16)? }
            }
            b'D' => Self::Describe(fields.named()?),
            b'C' => Self::Close(fields.named()?),
            b'E' => {
                let portal = fields.text()?;
                // Nothing or less is no limit.
                Self::Execute { portal, rows: usize::try_from(fields.int32()?).unwrap_or(0) }
            }
            b'H' => Self::Flush,
            b'S' => Self::Sync,
            b'X' => Self::Terminate,
            b'p' => Self::Password(fields.rest()),
            b'd' => Self::CopyData(fields.rest()),
            b'c' => Self::CopyDone,
            b'f' => Self::CopyFail(fields.text()?),
            b'F' => {
                return Err(Failure::fatal(
                    "0A000",
                    "function calls of the protocol are not served; use SELECT",
                ));
            }
            other => {
                return Err(Failure::fatal(
                    "08P01",
                    format!("there is no message of kind {:?}", other as char),
                ));
            }
        };
        fields.end(read)
    }

    /// True for messages whose failure makes the session skip all until the next `Sync`.
    pub(super) fn is_extended(&self) -> bool {
        matches!(
            self,
            Self::Parse { .. }
                | Self::Bind { .. }
                | Self::Describe(_)
                | Self::Close(_)
                | Self::Execute { .. }
                | Self::Flush
        )
    }
}

/// What is left of a message.
pub(super) struct Fields(pub(super) Bytes);

impl Fields {
    fn need(&self, bytes: usize) -> Result<(), Failure> {
        if self.0.len() < bytes { Err(Failure::malformed("a message that ends too early")) } else { Ok(()) }
    }

    pub(super) fn int16(&mut self) -> Result<i16, Failure> {
        self.need(2)?;
        Ok(self.0.get_i16())
    }

    pub(super) fn int32(&mut self) -> Result<i32, Failure> {
        self.need(4)?;
        Ok(self.0.get_i32())
    }

    /// Up to a zero byte.
    pub(super) fn text(&mut self) -> Result<String, Failure> {
        let Some(length) = self.0.iter().position(|byte| *byte == 0) else {
            return Err(Failure::malformed("a text without its end"));
        };
        let text = self.0.split_to(length);
        self.0.advance(1);
        String::from_utf8(text.into())
            .map_err(|_| Failure::fatal("22021", "a text is not UTF-8; set client_encoding to UTF8"))
    }

    /// A length and as many bytes; the length -1 is NULL.
    pub(super) fn value(&mut self) -> Result<Option<Bytes>, Failure> {
        let length = match self.int32()? {
            -1 => return Ok(None),
            length => {
                usize::try_from(length).map_err(|_| Failure::malformed("a value with a length below -1"))?
            }
        };
        self.need(length)?;
        Ok(Some(self.0.split_to(length)))
    }

    /// A count and as many of what `read` reads, each of at least `least` bytes.
    fn list<T>(
        &mut self,
        least: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let count = usize::from(self.int16()? as u16);
        self.need(count * least)?;
        (0..count).map(|_| read(self)).collect()
    }

    fn named(&mut self) -> Result<Named, Failure> {
        self.need(1)?;
        match self.0.get_u8() {
            b'S' => self.text().map(Named::Statement),
            b'P' => self.text().map(Named::Portal),
            _ => Err(Failure::malformed("neither a statement nor a portal")),
        }
    }

    pub(super) fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.0)
    }

    fn end<T>(self, read: T) -> Result<T, Failure> {
        if self.0.is_empty() {
            Ok(read)
        } else {
            Err(Failure::malformed("a message that is longer than what is in it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: u8, body: &'static [u8]) -> Result<Request, Failure> {
        Request::read(kind, Bytes::from_static(body))
    }

    #[test]
    fn messages_are_read() {
        assert_eq!(read(b'Q', b"SELECT 1\0").unwrap(), Request::Query("SELECT 1".into()));
        let parse = Request::Parse { name: "s".into(), text: "t".into(), types: vec![23] };
        assert_eq!(read(b'P', b"s\0t\0\0\x01\0\0\0\x17").unwrap(), parse);
        let bind = Request::Bind {
            portal: String::new(),
            statement: "s".into(),
            formats: vec![1],
            values: vec![Some(Bytes::from_static(b"ab")), None],
            results: vec![],
        };
        assert_eq!(read(b'B', b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\0").unwrap(), bind);
        let execute = Request::Execute { portal: String::new(), rows: 5 };
        assert_eq!(read(b'E', b"\0\0\0\0\x05").unwrap(), execute);
    }

    #[test]
    fn every_prefix_of_a_message_is_refused_without_a_panic() {
        let whole: [(u8, &[u8]); 4] = [
            (b'P', b"s\0t\0\0\x01\0\0\0\x17"),
            (b'B', b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\0"),
            (b'E', b"\0\0\0\0\x05"),
            (b'D', b"Sa\0"),
        ];
        for (kind, body) in whole {
            assert!(Request::read(kind, Bytes::copy_from_slice(body)).is_ok());
            for length in 0..body.len() {
                assert!(Request::read(kind, Bytes::copy_from_slice(&body[..length])).is_err(), "{length}");
            }
        }
        // Counts that no body bears out.
        assert!(read(b'B', b"\0\0\xff\xff").is_err());
        assert!(read(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff").is_err());
    }

    #[test]
    fn openings_are_read() {
        let open = |body: &'static [u8]| Opening::read(Bytes::from_static(body));
        assert_eq!(open(&[4, 210, 22, 47]).unwrap(), Opening::Encrypt);
        let parameters = vec![("user".to_owned(), "ann".to_owned())];
        assert_eq!(open(b"\0\x03\0\0user\0ann\0\0").unwrap(), Opening::Start { minor: 0, parameters });
        assert!(open(b"\0\x03\0\0user\0ann\0").is_err());
        assert!(open(b"\0\x02\0\0").unwrap_err().message.contains("2.0"));
        assert!(open(b"GET ").is_err() && open(b"").is_err());
    }
}
