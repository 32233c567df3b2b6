//! One connection: a request, its page, and again.

use super::answer::{Answer, Page};
use super::door::Host;
use super::request::{Refused, Request, head_end};
use crate::hazelcast::{Credentials, whose};
use bytes::BytesMut;
use filbert_net::{Close, Stream};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn broken(error: std::io::Error) -> Close {
    Close::because(error.to_string())
}

/// Serves a connection until one side has enough.
pub(super) async fn serve(host: Arc<Host>, mut stream: Stream) -> Result<(), Close> {
    if stream.can_encrypt() {
        stream.encrypt().await.map_err(broken)?;
    }
    let limit = stream.settings().before_login_bytes;
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
    loop {
        let head = loop {
            if let Some(end) = head_end(&input) {
                break Ok(input.split_to(end));
            }
            if input.len() >= limit {
                break Err(Refused(
                    "431 Request Header Fields Too Large",
                    "the head of the request is too long",
                ));
            }
            let room = limit - input.len();
            if (&mut stream).take(room as u64).read_buf(&mut input).await.map_err(broken)? == 0 {
                return Ok(());
            }
        };
        // It speaks HTTP: from now on it may be silent for as long as others.
        stream.authenticated();
        let request = head.and_then(|head| Request::parse(&head));
        let (answer, is_head, stays) = match request {
            // What comes behind cannot be told from a body.
            Err(refused) => (refused.into(), false, false),
            Ok(request) => {
                let peer = stream.info().peer.ip();
                (host.answer(&request, peer).await, request.is_head, request.stays)
            }
        };
        let stays = stays && !stream.is_draining();
        answer.write(is_head, stays, &mut out);
        stream.write_all_buf(&mut out).await.map_err(broken)?;
        stream.flush().await.map_err(broken)?;
        if !stays {
            return Ok(());
        }
    }
}

impl Host {
    async fn answer(&self, request: &Request, peer: IpAddr) -> Answer {
        let users = self.users.now();
        let is_public = self.pages.is_public(&request.path);
        if !is_public && users.is_empty() && !request.is_for_us(&self.hosts) {
            return Refused(
                "421 Misdirected Request",
                "this is no name of the member; ask for localhost or an address, or add the name to the setting http.hosts",
            )
            .into();
        }
        if !is_public && !users.is_empty() {
            let user = match request.credentials() {
                None => None,
                Some(shown) => {
                    let name = if let Credentials::Password { name, .. } = shown { name } else { None };
                    let (name, clock) = (name.unwrap_or_default(), self.stages.clock());
                    if !self.guesses.wait(peer, name, &clock).await {
                        let why = "too many logins of this user failed from this address; try again in a few seconds";
                        return Refused("429 Too Many Requests", why).into();
                    }
                    let user = whose(&users, &shown);
                    match user {
                        Some(_) => self.guesses.succeeded(peer, name),
                        None => self.guesses.failed(peer, name, clock.now()),
                    }
                    user
                }
            };
            match user {
                None => return Answer::from(Refused("401 Unauthorized", "say who you are")).asking(),
                Some(user) if !user.may.are_everything() => {
                    return Refused("403 Forbidden", "this needs a user with all rights").into();
                }
                Some(_) => {}
            }
        }
        let Some(page) = self.pages.page(&request.path) else {
            return Refused("404 Not Found", "there is no such page; / lists those that there are").into();
        };
        let made = match self.stages.mixed().spawn("page", page) {
            Ok(made) => made.await.ok(),
            Err(_) => None,
        };
        made.unwrap_or_else(|| Page::text("the member ends, or has too much to do\n").unwell()).into()
    }
}
