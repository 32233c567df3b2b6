//! Who may have how much of the event stage's capacity: a pure account, without a lock or a clock.
//!
//! Of the capacity, `topics * reserve` places are kept, `reserve` for each topic; the rest is shared. A topic's first
//! `reserve` events use its own places, the others use shared ones; so a topic over its share can fill the shared places and no
//! more, and every other topic still finds its own.
//!
//! `reserve` is the setting, but at most half of the capacity over all topics. It changes when topics come and go; what was
//! admitted before stays, so right after a topic came the shared places can be overdrawn. Nothing more is admitted to them
//! until they are not, and the capacity itself is never exceeded.

/// The places of one event stage.
#[derive(Debug)]
pub(super) struct Accounts {
    capacity: usize,
    setting: usize,
    /// Events per topic; `None` for an id that is free.
    queued: Vec<Option<usize>>,
    /// The ids that are free: with a topic for each listener there are many, and each search would take as long.
    free: Vec<usize>,
    topics: usize,
    reserve: usize,
    /// Events beyond their topics' reserves.
    shared: usize,
    total: usize,
}

impl Accounts {
    pub(super) fn new(capacity: usize, reserved_per_topic: usize) -> Self {
        Self {
            capacity,
            setting: reserved_per_topic,
            queued: Vec::new(),
            free: Vec::new(),
            topics: 0,
            reserve: 0,
            shared: 0,
            total: 0,
        }
    }

    /// A new topic; its id.
    pub(super) fn open(&mut self) -> usize {
        let id = self.free.pop().unwrap_or_else(|| {
            self.queued.push(None);
            self.queued.len() - 1
        });
        self.queued[id] = Some(0);
        self.topics += 1;
        self.share_out();
        id
    }

    /// A topic without events is gone.
    pub(super) fn close(&mut self, id: usize) {
        debug_assert_eq!(self.queued[id], Some(0), "a topic with events is not gone");
        self.queued[id] = None;
        self.free.push(id);
        self.topics -= 1;
        self.share_out();
    }

    fn share_out(&mut self) {
        let reserve = self.setting.min(self.capacity / (2 * self.topics.max(1)));
        if reserve == self.reserve {
            return;
        }
        self.reserve = reserve;
        self.shared = self.queued.iter().flatten().map(|queued| queued.saturating_sub(self.reserve)).sum();
    }

    /// Takes a place for one event; false when there is none for this topic.
    pub(super) fn admit(&mut self, id: usize) -> bool {
        let Some(queued) = &mut self.queued[id] else { return false };
        let own = *queued < self.reserve;
        if self.total == self.capacity || !own && self.shared >= self.capacity - self.topics * self.reserve {
            return false;
        }
        *queued += 1;
        self.total += 1;
        self.shared += usize::from(!own);
        true
    }

    /// Gives a place back.
    pub(super) fn leave(&mut self, id: usize) {
        let Some(queued) = &mut self.queued[id] else { return };
        self.shared -= usize::from(*queued > self.reserve);
        *queued -= 1;
        self.total -= 1;
    }

    /// The places a topic has taken.
    pub(super) fn queued(&self, id: usize) -> usize {
        self.queued[id].unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Action {
        Open,
        Close(usize),
        Admit(usize),
        Leave(usize),
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            1 => Just(Action::Open),
            1 => (0..8_usize).prop_map(Action::Close),
            8 => (0..8_usize).prop_map(Action::Admit),
            5 => (0..8_usize).prop_map(Action::Leave),
        ]
    }

    proptest! {
        /// Against a plain list of events per topic, with the rule written down a second time.
        #[test]
        fn the_capacity_is_never_exceeded_and_a_reserve_is_always_there(
            capacity in 0..40_usize,
            setting in 0..10_usize,
            actions in prop::collection::vec(action(), 1..300),
        ) {
            let mut accounts = Accounts::new(capacity, setting);
            let mut model: Vec<(usize, usize)> = Vec::new();
            for action in actions {
                match action {
                    Action::Open => model.push((accounts.open(), 0)),
                    Action::Close(topic) if topic < model.len() && model[topic].1 == 0 => {
                        accounts.close(model.swap_remove(topic).0);
                    }
                    Action::Admit(topic) if topic < model.len() => {
                        let reserve = setting.min(capacity / (2 * model.len()));
                        let total: usize = model.iter().map(|(_, queued)| queued).sum();
                        let beyond: usize = model.iter().map(|(_, queued)| queued.saturating_sub(reserve)).sum();
                        let shared = capacity - model.len() * reserve;
                        let admitted = accounts.admit(model[topic].0);
                        let overdrawn = beyond > shared;
                        if model[topic].1 < reserve && !overdrawn {
                            prop_assert!(admitted, "no room within the reserve");
                        }
                        if model[topic].1 >= reserve {
                            prop_assert_eq!(admitted, beyond < shared && total < capacity);
                        }
                        model[topic].1 += usize::from(admitted);
                    }
                    Action::Leave(topic) if topic < model.len() && model[topic].1 > 0 => {
                        accounts.leave(model[topic].0);
                        model[topic].1 -= 1;
                    }
                    _ => {}
                }
                prop_assert!(model.iter().map(|(_, queued)| queued).sum::<usize>() <= capacity);
                for (id, queued) in &model {
                    prop_assert_eq!(accounts.queued(*id), *queued);
                }
            }
        }
    }
}
