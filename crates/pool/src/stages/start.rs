//! Makes every stage out of the settings; the only place that knows which mechanism a stage has.

use super::builder::when_full;
use super::{Inner, Stages, shutdown};
use crate::blocking::{self, Dedicated, Io, Maintenance};
use crate::context::StageId;
use crate::env::Env;
use crate::event::{EventSettings, EventStage};
use crate::rules::StageKind;
use crate::settings::Settings;
use crate::shared::{Executor, SharedSettings};
use crate::steal::{StealSettings, WorkStealing};
use crate::striped::{Striped, StripedSettings};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

pub(super) fn all(env: Arc<Env>, settings: Settings) -> Stages {
    let io_host = blocking::start_io(
        &env,
        settings.threads(StageKind::Io),
        settings.size("io.capacity"),
        settings.limit("io.slow_ms"),
    );
    let mixed = blocking::start_mixed(
        &env,
        StageId::of(StageKind::Mixed),
        settings.threads(StageKind::Mixed),
        settings.size("mixed.blocking_threads"),
    );
    let maintenance_host = blocking::start_maintenance(&env, settings.threads(StageKind::Maintenance));
    let generic = Executor::start(&env, StageId::of(StageKind::Generic), &shared(&settings, "generic"));
    env.set_callbacks(Arc::downgrade(&generic.callbacks()));
    let executors: BTreeMap<String, Executor> = settings
        .executors()
        .map(|name| {
            let id = StageId::named(StageKind::Executor, name);
            (name.to_owned(), Executor::start(&env, id, &shared(&settings, &format!("executor.{name}"))))
        })
        .collect();
    let event = EventStage::start(&env, event(&settings));
    let striped = |kind| Striped::start(&env, StageId::of(kind), striped(&settings, kind));
    let steal = |kind| WorkStealing::start(&env, StageId::of(kind), steal(&settings, kind));
    let (partition, query) = (striped(StageKind::Partition), striped(StageKind::Query));
    let (fragment, flow, cpu) = (steal(StageKind::Fragment), steal(StageKind::Flow), steal(StageKind::Cpu));
    let dedicated = Dedicated::start(&env, settings.threads(StageKind::Dedicated));
    let engines: Vec<Arc<dyn crate::engine::Engine>> = vec![
        io_host.clone(),
        partition.engine(),
        query.engine(),
        event.engine(),
        generic.engine(),
        fragment.engine(),
        flow.engine(),
        cpu.engine(),
        mixed.clone(),
        maintenance_host.clone(),
        dedicated.engine(),
    ];
    let engines = engines.into_iter().chain(executors.values().map(Executor::engine));
    let inner = Inner {
        io: Io::new(io_host, settings.threads(StageKind::Io)),
        maintenance: Maintenance::new(maintenance_host),
        engines: Mutex::new(Vec::new()),
        engagements: Arc::default(),
        ending: shutdown::Progress::default(),
        executors: RwLock::new(executors.clone()),
        mixed_pools: Mutex::default(),
        env,
        settings,
        partition,
        query,
        event,
        generic,
        fragment,
        flow,
        cpu,
        mixed,
        dedicated,
    };
    engines.for_each(|engine| inner.add_engine(engine));
    Stages { inner: Arc::new(inner) }
}

fn shared(settings: &Settings, stage: &str) -> SharedSettings {
    SharedSettings {
        threads: settings.size(&format!("{stage}.threads")),
        capacity: settings.size(&format!("{stage}.capacity")),
        when_full: when_full(settings, stage),
        slow_limit: settings.limit(&format!("{stage}.slow_ms")),
    }
}

fn striped(settings: &Settings, kind: StageKind) -> StripedSettings {
    StripedSettings {
        threads: settings.threads(kind),
        mailbox_capacity: settings.size(&format!("{kind}.mailbox_capacity")),
        strands: settings.size(&format!("{kind}.strands")),
        takeover: settings.limit(&format!("{kind}.takeover_ms")),
        overload: if kind == StageKind::Partition { settings.limit("partition.overload_ms") } else { None },
        slow_limit: settings.limit(&format!("{kind}.slow_ms")),
    }
}

fn event(settings: &Settings) -> EventSettings {
    EventSettings {
        threads: settings.threads(StageKind::Event),
        capacity: settings.size("event.capacity"),
        reserved_per_topic: settings.size("event.reserved_per_topic"),
        offer_timeout: Duration::from_millis(settings.number("event.offer_timeout_ms")),
        takeover: settings.limit("event.takeover_ms"),
        slow_limit: settings.limit("event.slow_ms"),
    }
}

pub(super) fn steal(settings: &Settings, kind: StageKind) -> StealSettings {
    StealSettings {
        threads: settings.threads(kind),
        // Only queries run code that nobody wrote for turns.
        spares: if kind == StageKind::Fragment { settings.size("fragment.spare_threads") } else { 0 },
        held_up_after: if kind == StageKind::Fragment { settings.limit("fragment.held_up_ms") } else { None },
        injector_capacity: settings.size(&format!("{kind}.capacity")),
        min_leaf: settings.size("cpu.min_leaf"),
        slow_limit: settings.limit(&format!("{kind}.slow_ms")),
    }
}
