//! What a member tells those who watch it: figures for Prometheus, the same as JSON, and whether it is well.
//!
//! | Page | Who reads it |
//! |---|---|
//! | `/metrics` | Prometheus |
//! | `/status` | `filbert top`, and programs: the same figures, with connections, queries and jobs |
//! | `/health/live`, `/health/ready` | whoever restarts a member that hangs, or sends it clients |
//!
//! Everything is read when it is asked for; nothing here costs a member that nobody watches. Pages are made on stage `mixed`, so a member whose
//! threads do nothing at all does not answer, which is what `/health/live` is for. A stage that is stuck while others go on is told by
//! `/health/ready`: to start the member anew would lose what it holds in memory, to send it no more clients does not.

mod figures;
mod prometheus;
mod stuck;

use crate::doors::Listening;
use figures::Figures;
use filbert_cube::CubeMemory;
use filbert_flow::FlowMemory;
use filbert_gate::http::{Page, Pages};
use filbert_grid::{Grid, RecoveredMap, Service};
use filbert_pool::Stages;
use filbert_sql::Sql;
use filbert_wire::PARTITION_COUNT;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What there is to watch of a member.
#[derive(Debug, Clone)]
pub(crate) struct Monitor {
    grid: Grid,
    sql: Sql,
    cubes: CubeMemory,
    jobs: FlowMemory,
    doors: Vec<Listening>,
    /// Whoever reads figures may read the texts of statements.
    shows_texts: Arc<AtomicBool>,
    /// A stage that has been stuck for longer is told; `None`: none is.
    stuck_after: Option<Duration>,
    /// When it began, by the clock of the stages.
    began: Duration,
    is_ending: Arc<AtomicBool>,
}

/// With less room than this, the member says that writes are refused: larger ones are.
const NEARLY_FULL_BYTES: usize = 4 << 10;

const PAGES: &str = "/metrics        figures, for Prometheus\n/status         figures, connections, queries and jobs, as JSON\n\
                     /health/live    200 while the member answers\n/health/ready   200 while it takes clients and gets on with its work\n";

impl Monitor {
    pub(crate) fn new(
        grid: &Grid,
        sql: &Sql,
        (cubes, jobs): (&CubeMemory, &FlowMemory),
        doors: Vec<Listening>,
        shows_texts: bool,
        stuck_after: Option<Duration>,
    ) -> Self {
        let began = grid.stages().clock().now();
        let (grid, sql, cubes, jobs) = (grid.clone(), sql.clone(), cubes.clone(), jobs.clone());
        let shows_texts = Arc::new(AtomicBool::new(shows_texts));
        Self { grid, sql, cubes, jobs, doors, shows_texts, stuck_after, began, is_ending: Arc::default() }
    }

    /// From now on the texts of statements are shown, or not.
    pub(crate) fn shows_texts(&self, shown: bool) {
        self.shows_texts.store(shown, Ordering::Release);
    }

    /// From now on the member takes nobody in.
    pub(crate) fn ends(&self) {
        self.is_ending.store(true, Ordering::Release);
    }

    fn stages(&self) -> &Stages {
        self.grid.stages()
    }

    fn ready(&self) -> Page {
        if self.is_ending.load(Ordering::Acquire) {
            return Page::text("ending\n").unwell();
        }
        let stuck = self.stuck();
        let rest = format!("{}{}{}", self.full(), self.unwritable(), self.damaged());
        if stuck.is_empty() {
            Page::text(format!("ready\n{rest}"))
        } else {
            Page::text(format!("stuck\n{stuck}{rest}")).unwell()
        }
    }

    /// A line for each stage that does not get on with its work.
    fn stuck(&self) -> String {
        let lines = |limit| stuck::lines(&self.stages().snapshot(), limit);
        self.stuck_after.map(lines).unwrap_or_default()
    }

    /// A line when writes are refused for want of memory: a member in that state is ready, for reads and removals.
    fn full(&self) -> String {
        let memory = self.grid.memory();
        let line = || {
            format!(
                "memory: the data takes {} of {} bytes; writes are refused (grid.memory_bytes)\n",
                memory.used(),
                memory.limit()
            )
        };
        if memory.has_room(NEARLY_FULL_BYTES) { String::new() } else { line() }
    }

    /// A line for each map whose writes cannot be kept on disk: a member with one is ready, for reads, and for all other maps. The reason names
    /// paths of the machine, and this page needs no login: `/status` and the log have it.
    fn unwritable(&self) -> String {
        let maps = self.grid.structures().list().into_iter().filter(|(service, _)| *service == Service::Map);
        let maps = maps.filter_map(|(_, name)| self.grid.find_map(&name));
        let refused = maps.filter(|map| map.why_writes_are_refused().is_some());
        let line = |map: &str| format!("map {map:?}: writes are refused: they cannot be kept on disk\n");
        refused.map(|map| line(map.name())).collect()
    }

    /// A line for each map that lacks something: a member with one is ready, for the rest of it and all others are served.
    fn damaged(&self) -> String {
        let damaged = |map: &RecoveredMap| {
            let partitions = self.grid.damaged_partitions(&map.name);
            let line = format!(
                "map {:?}: {partitions} of {PARTITION_COUNT} partitions are damaged and not served\n",
                map.name
            );
            (partitions > 0).then_some(line)
        };
        let definitions = match self.grid.damaged_definitions().len() {
            0 => None,
            places => Some(format!("Compact schemas and indexes: {places} places on disk cannot be read\n")),
        };
        let directory =
            self.grid.damaged_directory().map(|damage| format!("data directory: {}\n", damage.problem));
        directory
            .into_iter()
            .chain(definitions)
            .chain(self.grid.recovered().iter().filter_map(damaged))
            .collect()
    }
}

impl Pages for Monitor {
    fn page(&self, path: &str) -> Option<BoxFuture<'static, Page>> {
        let monitor = self.clone();
        Some(match path {
            "/" => Box::pin(async { Page::text(PAGES) }),
            "/health/live" => Box::pin(async move { Page::text(format!("live\n{}", monitor.stuck())) }),
            "/health/ready" => Box::pin(async move { monitor.ready() }),
            "/metrics" => Box::pin(async move {
                let figures = Figures::of(&monitor).await;
                Page::text(prometheus::text(&figures)).of("text/plain; version=0.0.4; charset=utf-8")
            }),
            "/status" => Box::pin(async move {
                let figures = Figures::of(&monitor).await.with_details(&monitor).await;
                match serde_json::to_string(&figures) {
                    Ok(json) => Page::text(json).of("application/json"),
                    Err(error) => Page::text(format!("{error}\n")).unwell(),
                }
            }),
            _ => return None,
        })
    }

    fn is_public(&self, path: &str) -> bool {
        path.starts_with("/health/")
    }
}
