//! The queues of one edge of one job: a lane from every producer to every consumer, made when the job starts.
//!
//! An edge knows the type of its items, the job does not: behind [`Wire`] the edge makes all its ends, and the store of each
//! processor gets the type back ([`crate::signature`]).

use super::codec::ItemCodec;
use super::encoded::EncodedLink;
use super::link::{Link, RoutedLink};
use super::router::{Broadcast, HashItem, Hashed, Numbered, ToOne};
use super::spool::{Spool, SpoolSettings};
use super::unicast::UnicastLink;
use crate::counters::SpoolCounters;
use crate::inbox::Items;
use crate::job::JobCore;
use crate::outbox::Bucket;
use crate::signature::AnyEnd;
use crate::tasklet::Conduct;
use filbert_pool::WeakStages;
use filbert_sync::conveyor::{Conveyor, Sender};
use std::path::PathBuf;
use std::sync::Arc;

/// Which producer of an edge a link is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Producer {
    pub(crate) index: usize,
    /// The consumer of all-to-one edges, chosen once per job.
    pub(crate) chosen: usize,
}

/// Makes a producer's link from its lanes to all consumers.
pub(crate) trait MakeLink<T>: Send + Sync {
    fn link(&self, senders: Vec<Sender<T>>, producer: Producer) -> Box<dyn Link<T>>;
}

pub(crate) struct MakeUnicast;

impl<T: Send + 'static> MakeLink<T> for MakeUnicast {
    fn link(&self, senders: Vec<Sender<T>>, producer: Producer) -> Box<dyn Link<T>> {
        Box::new(UnicastLink::new(senders, producer.index))
    }
}

pub(crate) struct MakeBroadcast;

impl<T: Clone + Send + 'static> MakeLink<T> for MakeBroadcast {
    fn link(&self, senders: Vec<Sender<T>>, _: Producer) -> Box<dyn Link<T>> {
        Box::new(RoutedLink::new(senders, Broadcast))
    }
}

pub(crate) struct MakeHashed<F>(pub(crate) Arc<F>);

impl<T: Send + 'static, F: HashItem<T>> MakeLink<T> for MakeHashed<F> {
    fn link(&self, senders: Vec<Sender<T>>, _: Producer) -> Box<dyn Link<T>> {
        Box::new(RoutedLink::new(senders, Hashed::new(Arc::clone(&self.0))))
    }
}

pub(crate) struct MakeNumbered<F>(pub(crate) Arc<F>);

impl<T, F> MakeLink<T> for MakeNumbered<F>
where
    T: Send + 'static,
    F: Fn(&T) -> u32 + Send + Sync + 'static,
{
    fn link(&self, senders: Vec<Sender<T>>, _: Producer) -> Box<dyn Link<T>> {
        Box::new(RoutedLink::new(senders, Numbered::new(Arc::clone(&self.0))))
    }
}

pub(crate) struct MakeToOne;

impl<T: Send + 'static> MakeLink<T> for MakeToOne {
    fn link(&self, senders: Vec<Sender<T>>, producer: Producer) -> Box<dyn Link<T>> {
        Box::new(RoutedLink::new(senders, ToOne { consumer: producer.chosen }))
    }
}

/// All ends of an edge.
pub(crate) struct Ends {
    /// A [`Bucket`] for every producer.
    pub(crate) buckets: Vec<AnyEnd>,
    /// [`Items`] for every consumer.
    pub(crate) items: Vec<AnyEnd>,
    /// What stands between them on a buffered edge, one for every consumer.
    pub(crate) spools: Vec<Box<dyn Conduct>>,
}

/// How large an edge is made for one job.
#[derive(Clone)]
pub(crate) struct Size {
    pub(crate) producers: usize,
    pub(crate) consumers: usize,
    pub(crate) queue: usize,
    pub(crate) mark: usize,
    /// For all-to-one edges.
    pub(crate) chosen: usize,
    /// Items go through their codec, if the edge has one for other members.
    pub(crate) is_encoded: bool,
    pub(crate) buffer: Option<Buffer>,
}

/// How a buffered edge is made for one job.
#[derive(Clone)]
pub(crate) struct Buffer {
    pub(crate) memory: usize,
    pub(crate) folder: PathBuf,
    pub(crate) stages: WeakStages,
    /// Names the edge in errors.
    pub(crate) edge: Arc<str>,
    pub(crate) counters: Arc<SpoolCounters>,
    /// Is not over while a file is open.
    pub(crate) job: Arc<JobCore>,
}

/// An edge that can make its ends.
pub(crate) trait Wire: Send + Sync {
    fn ends(&self, size: Size) -> Ends;
}

/// What makes the ends of an edge of `T`.
pub(crate) struct Wiring<T> {
    pub(crate) make: Box<dyn MakeLink<T>>,
    pub(crate) copy: Option<fn(&T) -> T>,
    pub(crate) codec: Option<Arc<dyn ItemCodec<T>>>,
    /// Where not everything that travels is an item.
    pub(crate) is_item: Option<fn(&T) -> bool>,
}

impl<T: Send + 'static> Wiring<T> {
    fn bucket(&self, senders: Vec<Sender<T>>, index: usize, size: &Size) -> AnyEnd {
        let mut link = self.make.link(senders, Producer { index, chosen: size.chosen });
        if let (true, Some(codec)) = (size.is_encoded, &self.codec) {
            link = Box::new(EncodedLink { inner: link, codec: Arc::clone(codec) });
        }
        Box::new(Bucket::new(link, size.mark, self.copy).counting(self.is_item))
    }

    /// Puts a buffer behind the queues of a consumer; what is left for the consumer are the queues behind the buffer.
    fn buffered(
        &self,
        queues: Conveyor<T>,
        buffer: &Buffer,
        queue: usize,
    ) -> (Conveyor<T>, Box<dyn Conduct>) {
        let mut behind = Conveyor::new();
        let to = UnicastLink::new(vec![behind.add_lane(queue)], 0);
        let settings = SpoolSettings { codec: self.codec.clone(), buffer: buffer.clone() };
        (behind, Box::new(Spool::new(settings, queues, Box::new(to))))
    }
}

impl<T: Send + 'static> Wire for Wiring<T> {
    fn ends(&self, size: Size) -> Ends {
        let mut conveyors: Vec<Conveyor<T>> = (0..size.consumers).map(|_| Conveyor::new()).collect();
        let mut ends = Ends { buckets: Vec::new(), items: Vec::new(), spools: Vec::new() };
        for index in 0..size.producers {
            let senders = conveyors.iter_mut().map(|conveyor| conveyor.add_lane(size.queue)).collect();
            ends.buckets.push(self.bucket(senders, index, &size));
        }
        for mut queues in conveyors {
            if let Some(buffer) = &size.buffer {
                let (behind, spool) = self.buffered(queues, buffer, size.queue);
                ends.spools.push(spool);
                queues = behind;
            }
            ends.items.push(Box::new(Items::new(queues).counting(self.is_item)));
        }
        ends
    }
}
