//! What a client gets: a status, a few headers, a page.

use super::request::Refused;
use bytes::{BufMut, BytesMut};
use std::fmt::Write;

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Its media type.
    pub media: &'static str,
    /// What it says.
    pub body: String,
    /// False when it says that something is not well: then the status is 503.
    pub is_well: bool,
}

impl Page {
    /// Of plain text.
    pub fn text(body: impl Into<String>) -> Self {
        Self { media: "text/plain; charset=utf-8", body: body.into(), is_well: true }
    }

    /// Of another media type.
    #[must_use]
    pub fn of(mut self, media: &'static str) -> Self {
        self.media = media;
        self
    }

    /// One that says that something is not well.
    #[must_use]
    pub fn unwell(mut self) -> Self {
        self.is_well = false;
        self
    }
}

/// An answer, as it is sent.
#[derive(Debug)]
pub(super) struct Answer {
    status: &'static str,
    page: Page,
    /// Asks who it is.
    asks: bool,
}

impl From<Page> for Answer {
    fn from(page: Page) -> Self {
        let status = if page.is_well { "200 OK" } else { "503 Service Unavailable" };
        Self { status, page, asks: false }
    }
}

impl From<Refused> for Answer {
    fn from(Refused(status, why): Refused) -> Self {
        Self { status, page: Page::text(format!("{why}\n")), asks: false }
    }
}

impl Answer {
    /// The same, with a word about how to say who one is.
    pub(super) fn asking(mut self) -> Self {
        self.asks = true;
        self
    }

    /// Appends it; without the page for `HEAD`.
    pub(super) fn write(&self, is_head: bool, stays: bool, out: &mut BytesMut) {
        let Self { status, page, asks } = self;
        let asking =
            if *asks { "WWW-Authenticate: Basic realm=\"filbert\", charset=\"UTF-8\"\r\n" } else { "" };
        let connection = if stays { "keep-alive" } else { "close" };
        let written = write!(
            out,
            "HTTP/1.1 {status}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\n{asking}Connection: {connection}\r\n\r\n",
            page.media,
            page.body.len(),
        );
        debug_assert!(written.is_ok(), "a buffer takes everything");
        if !is_head {
            out.put_slice(page.body.as_bytes());
        }
    }
}
