//! The books of a door: which connections there are, on which loops, from which addresses, and how the others ended.

use crate::link::{Link, Order};
use crate::log_budget::LogBudget;
use crate::protocol::ConnectionId;
use crate::reason::{CloseReason, RefuseReason};
use crate::settings::NetSettings;
use filbert_pool::{Origin, OriginName, OriginNames};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::watch;

/// Lines a minute in the log of a door about those who have not logged in: anybody can cause them.
const COMPLAINTS: u32 = 20;

/// The books of a door, or of a program's own outgoing connections.
#[derive(Debug)]
pub(crate) struct Ledger {
    books: Mutex<Books>,
    /// How many connections there are, for whoever waits until there is none.
    now: watch::Sender<usize>,
    /// Bytes that connections hold and the system has not taken.
    pub(crate) unwritten: Arc<AtomicUsize>,
    /// Of lines in the log about those who have not logged in.
    pub(crate) complaints: LogBudget,
}

#[derive(Debug)]
struct Books {
    live: HashMap<ConnectionId, Arc<Link>>,
    admitted: usize,
    per_address: HashMap<IpAddr, FromAddress>,
    per_loop: Vec<usize>,
    accepted: u64,
    refused: Vec<u64>,
    closed: Vec<u64>,
    past: Totals,
    /// What connections are told that come while the door ends.
    order: Order,
}

/// The connections from one address.
#[derive(Debug, Default)]
struct FromAddress {
    count: usize,
    /// Those that had not logged in when they were last looked at, the oldest first. Who has logged in or is gone is taken out when it is met,
    /// and when there are many of them.
    strangers: VecDeque<Arc<Link>>,
}

/// Strangers that were told to go and are still there, at most; then newcomers are refused until some have gone.
const GOING: usize = 64;

impl FromAddress {
    fn came(&mut self, link: &Arc<Link>) {
        if self.strangers.len() > 2 * self.count + GOING {
            self.strangers.retain(|link| is_stranger(link));
        }
        self.strangers.push_back(Arc::clone(link));
    }

    /// The one that waits for its login longest.
    fn oldest(&mut self) -> Option<Arc<Link>> {
        std::iter::from_fn(|| self.strangers.pop_front()).find(|link| is_stranger(link))
    }
}

fn is_stranger(link: &Link) -> bool {
    !link.counters.authenticated.load(Ordering::Relaxed) && !link.is_over()
}

#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    bytes_in: u64,
    bytes_out: u64,
    reads: u64,
    writes: u64,
    congestions: u64,
}

/// What a door has seen since it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DoorStats {
    /// Connections now, those in their handshake included.
    pub connections: usize,
    /// Connections taken.
    pub accepted: u64,
    /// Connections refused, by reason; all reasons are listed.
    pub refused: Vec<(RefuseReason, u64)>,
    /// Connections ended, by reason; all reasons are listed.
    pub closed: Vec<(CloseReason, u64)>,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Reads that brought bytes.
    pub reads: u64,
    /// Writes that took bytes.
    pub writes: u64,
    /// How often a connection stopped to be read because its peer did not keep up.
    pub congestions: u64,
    /// Bytes that wait for peers now.
    pub in_flight: usize,
}

impl DoorStats {
    /// How many connections ended for that reason.
    pub fn closed_by(&self, reason: CloseReason) -> u64 {
        self.closed[reason as usize].1
    }

    /// How many connections were refused for that reason.
    pub fn refused_by(&self, reason: RefuseReason) -> u64 {
        self.refused[reason as usize].1
    }
}

/// What one connection says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionStats {
    /// Its number.
    pub id: ConnectionId,
    /// The other end.
    pub peer: SocketAddr,
    /// True when it is encrypted.
    pub tls: bool,
    /// True when the peer has logged in.
    pub authenticated: bool,
    /// The user that has logged in, where the door has users.
    pub user: Option<Arc<str>>,
    /// When it was opened, in milliseconds since 1970.
    pub since_unix_ms: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Bytes that wait for the peer.
    pub in_flight: usize,
    /// Answers under way.
    pub owed: usize,
}

/// One admitted connection; counted out when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    ledger: Arc<Ledger>,
    address: IpAddr,
    /// The loop it lives on.
    pub(crate) on: usize,
}

impl Ledger {
    pub(crate) fn new(loops: usize) -> Arc<Self> {
        Arc::new(Self {
            books: Mutex::new(Books {
                live: HashMap::new(),
                admitted: 0,
                per_address: HashMap::new(),
                per_loop: vec![0; loops],
                accepted: 0,
                refused: vec![0; RefuseReason::ALL.len()],
                closed: vec![0; CloseReason::ALL.len()],
                past: Totals::default(),
                order: Order::Stay,
            }),
            now: watch::channel(0).0,
            unwritten: Arc::default(),
            complaints: LogBudget::new(COMPLAINTS),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Gives a connection its place, on the loop that has the fewest.
    pub(crate) fn admit(
        self: &Arc<Self>,
        address: IpAddr,
        settings: &NetSettings,
    ) -> Result<Seat, RefuseReason> {
        // An IPv4 peer on an IPv6 socket is the same address.
        let address = address.to_canonical();
        let mut books = self.lock();
        // A stranger who says nothing gives way to a newcomer: a thousand of them would lock all others of that address out.
        let from_address = books.per_address.get(&address).map_or(0, |from| from.count);
        let displaced = if from_address >= settings.connections_per_address {
            let has_room = from_address < settings.connections_per_address.saturating_add(GOING);
            let oldest =
                books.per_address.get_mut(&address).filter(|_| has_room).and_then(FromAddress::oldest);
            Some(oldest.ok_or(RefuseReason::TooManyFromAddress)?)
        } else if books.admitted >= settings.connections {
            let has_room = books.admitted < settings.connections.saturating_add(GOING);
            // Where most of them come from.
            let most =
                books.per_address.values_mut().filter(|_| has_room).max_by_key(|from| from.strangers.len());
            Some(most.and_then(FromAddress::oldest).ok_or(RefuseReason::TooMany)?)
        } else {
            None
        };
        let on = (0..books.per_loop.len()).min_by_key(|on| books.per_loop[*on]).unwrap_or(0);
        books.per_loop[on] += 1;
        books.admitted += 1;
        books.accepted += 1;
        books.per_address.entry(address).or_default().count += 1;
        self.now.send_replace(books.admitted);
        drop(books);
        if let Some(displaced) = displaced {
            displaced.order(Order::Close(CloseReason::Displaced));
        }
        Ok(Seat { ledger: Arc::clone(self), address, on })
    }

    fn leave(&self, seat: &Seat) {
        let mut books = self.lock();
        books.per_loop[seat.on] -= 1;
        books.admitted -= 1;
        if let Some(from) = books.per_address.get_mut(&seat.address) {
            from.count -= 1;
            if from.count == 0 {
                books.per_address.remove(&seat.address);
            }
        }
        self.now.send_replace(books.admitted);
    }

    pub(crate) fn refused(&self, reason: RefuseReason) {
        self.lock().refused[reason as usize] += 1;
    }

    pub(crate) fn opened(&self, link: &Arc<Link>) {
        let mut books = self.lock();
        books.live.insert(link.info.id, Arc::clone(link));
        if let Some(from) = books.per_address.get_mut(&link.info.peer.ip().to_canonical()) {
            from.came(link);
        }
        let order = books.order;
        drop(books);
        if order != Order::Stay {
            link.order(order);
        }
    }

    /// Tells every connection, also those that are just beginning. Returns how many there are.
    pub(crate) fn order_all(&self, order: Order) -> usize {
        let mut books = self.lock();
        books.order = order;
        let (links, admitted): (Vec<_>, _) = (books.live.values().cloned().collect(), books.admitted);
        drop(books);
        for link in links {
            link.order(order);
        }
        admitted
    }

    /// Tells the connections that `which` selects. Returns how many they are.
    pub(crate) fn order_those(&self, order: Order, which: impl Fn(&ConnectionStats) -> bool) -> usize {
        let links: Vec<_> = self.lock().live.values().cloned().collect();
        let chosen: Vec<_> = links.into_iter().filter(|link| which(&describe(link))).collect();
        chosen.iter().for_each(|link| link.order(order));
        chosen.len()
    }

    /// A connection ended; what it counted joins what others counted.
    pub(crate) fn closed(&self, id: ConnectionId, reason: CloseReason) {
        let mut books = self.lock();
        books.closed[reason as usize] += 1;
        if let Some(link) = books.live.remove(&id) {
            books.past.add(&link);
        }
    }

    /// Resolves when there is no connection left.
    pub(crate) async fn wait_until_empty(&self) {
        // An error is impossible: the sender is ours.
        let _ = self.now.subscribe().wait_for(|now| *now == 0).await;
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().admitted
    }

    pub(crate) fn stats(&self) -> DoorStats {
        let books = self.lock();
        let (mut totals, mut in_flight) = (books.past, 0);
        for link in books.live.values() {
            totals.add(link);
            in_flight += link.in_flight();
        }
        DoorStats {
            connections: books.admitted,
            accepted: books.accepted,
            refused: RefuseReason::ALL.iter().copied().zip(books.refused.iter().copied()).collect(),
            closed: CloseReason::ALL.iter().copied().zip(books.closed.iter().copied()).collect(),
            bytes_in: totals.bytes_in,
            bytes_out: totals.bytes_out,
            reads: totals.reads,
            writes: totals.writes,
            congestions: totals.congestions,
            in_flight,
        }
    }

    pub(crate) fn connections(&self) -> Vec<ConnectionStats> {
        let mut all: Vec<_> = self.lock().live.values().map(|link| describe(link)).collect();
        all.sort_by_key(|connection| connection.id);
        all
    }
}

fn describe(link: &Link) -> ConnectionStats {
    let counters = &link.counters;
    ConnectionStats {
        id: link.info.id,
        peer: link.info.peer,
        tls: link.info.tls || counters.encrypted.load(Ordering::Relaxed),
        authenticated: counters.authenticated.load(Ordering::Relaxed),
        user: link.user.get().cloned(),
        since_unix_ms: link.since_unix_ms,
        bytes_in: counters.bytes_in.load(Ordering::Relaxed),
        bytes_out: counters.bytes_out.load(Ordering::Relaxed),
        in_flight: link.in_flight(),
        owed: link.under_way(),
    }
}

impl OriginNames for Ledger {
    fn name(&self, origin: Origin) -> Option<OriginName> {
        let link = self.lock().live.get(&ConnectionId(origin.number())).cloned()?;
        let user = link.user.get().map(|user| user.to_string());
        Some(OriginName { client: link.info.peer.to_string(), user })
    }
}

impl Totals {
    fn add(&mut self, link: &Link) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.bytes_in += read(&link.counters.bytes_in);
        self.bytes_out += read(&link.counters.bytes_out);
        self.reads += read(&link.counters.reads);
        self.writes += read(&link.counters.writes);
        self.congestions += read(&link.counters.congestions);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.ledger.leave(self);
    }
}
