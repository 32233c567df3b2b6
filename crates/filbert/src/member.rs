//! One Filbert process: its stages, its grid, SQL over it, and the doors through which others reach it.

use crate::config::MemberConfig;
use crate::doors::{DoorSettings, Doors};
use crate::memory::{MemorySettings, SetLimits};
use filbert_cube::{Cube, CubeBuilder, CubeMemory, Forest, Table};
use filbert_flow::{Dag, FlowMemory, Job, JobError, JobSettings};
use filbert_gate::hazelcast::{DoorError, HazelcastSettings};
use filbert_gate::http::{self, HttpSettings};
use filbert_gate::postgres::{self, PostgresSettings};
use filbert_grid::{
    EntryProcessor, Grid, GridSettings, GridSettingsError, MapSettings, RecoveryProgress, Registry,
    StoreError, TypedMap,
};
use filbert_pool::{
    Settings, SettingsError, Shutdown, ShutdownRefused, ShutdownReport, StageKind, Stages, StagesBuilder,
    current,
};
use filbert_sql::{Sql, SqlError, SqlSettings};
use filbert_wire::Data;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// How long answers that are under way may take when a member ends.
const DRAIN: Duration = Duration::from_secs(10);

/// A running Filbert, where every program begins: a handle that is cheap to clone.
///
/// It ends with [`Member::shutdown`]; when the last handle is dropped without that, what has not begun is cancelled.
///
/// ```
/// use filbert::{Member, Shutdown};
///
/// let member = Member::builder().set("partition.threads", 2).executor("reports").start()?;
/// let cities = member.map::<String, i64>("cities");
/// cities.set("Oslo", &709_000).wait()?;
/// assert_eq!(cities.get("Oslo").wait()?, Some(709_000));
/// let report = member.stages().executor("reports")?.submit("report", || "done")?;
/// assert_eq!(report.wait()?, "done");
/// member.shutdown(Shutdown::Drain)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Member {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    stages: Stages,
    grid: Grid,
    sql: Sql,
    cubes: CubeMemory,
    jobs: FlowMemory,
    /// `None` when the member has ended.
    doors: Mutex<Option<Doors>>,
    listening: Vec<(&'static str, SocketAddr)>,
}

/// Why a member did not start; nothing of it runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The settings do not fit.
    #[error("{} in the settings of the member; nothing was started:\n  {}", mistakes(.problems.len()), .problems.join("\n  "))]
    Settings {
        /// One line each: the setting, what is wrong with it, what would be right.
        problems: Vec<String>,
    },
    /// A settings file has mistakes.
    #[error("{} in the settings file {}:\n  {}", mistakes(.problems.len()), .path.display(), .problems.join("\n  "))]
    File {
        /// The file.
        path: PathBuf,
        /// One line each: the setting, what is wrong with it, what would be right.
        problems: Vec<String>,
    },
    /// A settings file cannot be read.
    #[error("cannot read the settings file {}: {error}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: std::io::Error,
    },
    /// The data directory cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// SQL does not start.
    #[error("SQL does not start: {0}")]
    Sql(#[source] SqlError),
    /// A door does not open.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// The door for PostgreSQL clients does not open.
    #[error(transparent)]
    Postgres(postgres::DoorError),
    /// The door for those who watch does not open.
    #[error(transparent)]
    Http(http::DoorError),
}

impl StartError {
    /// What is wrong with the settings, one line each.
    pub fn problems(&self) -> &[String] {
        match self {
            StartError::Settings { problems }
            | StartError::File { problems, .. }
            | StartError::Door(DoorError::Settings { problems })
            | StartError::Postgres(postgres::DoorError::Settings { problems })
            | StartError::Http(http::DoorError::Settings { problems }) => problems,
            _ => &[],
        }
    }
}

fn mistakes(count: usize) -> String {
    if count == 1 { "a mistake".to_owned() } else { format!("{count} mistakes") }
}

impl From<SettingsError> for StartError {
    fn from(SettingsError { problems }: SettingsError) -> Self {
        StartError::Settings { problems }
    }
}

impl From<GridSettingsError> for StartError {
    fn from(GridSettingsError { problems }: GridSettingsError) -> Self {
        StartError::Settings { problems }
    }
}

/// Settings first, then [`MemberBuilder::start`].
///
/// A mistake in a setting is kept until `start`, which names all of them.
#[derive(Debug, Clone, Default)]
#[must_use = "call `start`"]
pub struct MemberBuilder {
    stages: StagesBuilder,
    grid: GridSettings,
    /// Not set: what the memory of the machine allows.
    sql: Option<SqlSettings>,
    memory: MemorySettings,
    registry: Registry,
    doors: DoorSettings,
    on_recovery: OnRecovery,
    problems: Vec<String>,
}

/// Told how far maps are back from disk.
#[derive(Clone, Default)]
struct OnRecovery(Option<Arc<Told>>);

/// Is told how far a recovery is.
type Told = dyn Fn(&RecoveryProgress) + Send + Sync;

impl std::fmt::Debug for OnRecovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OnRecovery").field(&self.0.is_some()).finish()
    }
}

impl Member {
    /// A member with all defaults, and no door.
    pub fn start() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// Settings first.
    pub fn builder() -> MemberBuilder {
        MemberBuilder::default()
    }

    /// The stages that all work runs on.
    pub fn stages(&self) -> &Stages {
        &self.inner.stages
    }

    /// The grid: every structure, also without types.
    pub fn grid(&self) -> &Grid {
        &self.inner.grid
    }

    /// The map of that name, with the types of its keys and values.
    pub fn map<K, V>(&self, name: &str) -> TypedMap<K, V> {
        self.inner.grid.typed_map(name)
    }

    /// Runs a dataflow job on the stage `flow`; returns at once. The same DAG can be submitted many times.
    ///
    /// ```
    /// use filbert::Member;
    /// use filbert::flow::{DagBuilder, processors};
    ///
    /// let mut dag = DagBuilder::new("squares");
    /// let numbers = dag.vertex("numbers", processors::iterate(|share| share.part_of(0..1_000)));
    /// let squares = dag.vertex("squares", processors::map(|n: u64| n * n));
    /// let list = processors::Collected::new();
    /// let sink = dag.vertex("sink", processors::collect(&list));
    /// dag.edge(numbers.output().to(squares.input()));
    /// dag.edge(squares.output().to(sink.input()));
    ///
    /// let member = Member::start()?;
    /// member.submit(&dag.build()?)?.wait()?;
    /// assert_eq!(list.take().len(), 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit(&self, dag: &Dag) -> Result<Job, JobError> {
        self.submit_with(dag, JobSettings::new())
    }

    /// Runs a job with settings of its own: where it spills, how much its state may take. Its state counts with that of all other jobs of
    /// the member, under [`MemorySettings::flow_bytes`], unless the settings name another account.
    pub fn submit_with(&self, dag: &Dag, mut settings: JobSettings) -> Result<Job, JobError> {
        settings.memory.get_or_insert_with(|| self.inner.jobs.clone());
        dag.submit_with(&self.inner.stages, settings)
    }

    /// Returns the memory that the state of all jobs takes, and may take.
    pub fn flow_memory(&self) -> &FlowMemory {
        &self.inner.jobs
    }

    /// SQL: every map of the grid is a table.
    ///
    /// It is there from the start, and costs an idle member one sleeping thread. Queries run on the stages `query` and `fragment`; their
    /// rows are a stream of Arrow batches that can be read on any thread that may wait, or awaited.
    ///
    /// ```
    /// use filbert::Member;
    /// use filbert::arrow::util::pretty::pretty_format_batches;
    ///
    /// let member = Member::start()?;
    /// let cities = member.map::<String, i64>("cities");
    /// cities.set("Oslo", &709_000).wait()?;
    /// cities.set("Bergen", &290_000).wait()?;
    /// let query = member.sql().session().query("SELECT __key AS city FROM cities WHERE this > 300000")?;
    /// let batches = member.stages().mixed().spawn("read", query.collect())?.wait()??;
    /// println!("{}", pretty_format_batches(&batches)?);
    /// assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sql(&self) -> &Sql {
        &self.inner.sql
    }

    /// A cube: measures over a table, which may be in memory, or a map or files through SQL.
    ///
    /// ```
    /// use filbert::cube::{Aggregator, Forest, Query, SqlTable};
    /// use filbert::{Json, Member};
    ///
    /// let member = Member::start()?;
    /// let trades = member.map::<i64, Json<serde_json::Value>>("trades");
    /// for (number, (desk, pnl)) in (0..).zip([("FX", 1.5), ("Rates", 2.0), ("FX", 3.0)]) {
    ///     trades.set(&number, &Json(serde_json::json!({ "desk": desk, "pnl": pnl }))).wait()?;
    /// }
    /// let session = member.sql().session();
    /// let opened = async move { SqlTable::open(session, "trades").await };
    /// let table = member.stages().mixed().spawn("open table", opened)?.wait()??;
    /// let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).build()?;
    /// let cube = member.cube(forest, table).build()?;
    /// let answer = cube.query(Query::new(["pnl"]).by(["desk"]))?.wait()?;
    /// assert_eq!(answer.to_csv()?, "desk,pnl\nFX,4.5\nRates,2.0\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// What its queries and caches hold counts with those of all other cubes of the member, under [`MemorySettings::cube_bytes`].
    pub fn cube(&self, forest: Forest, table: impl Table + 'static) -> CubeBuilder {
        Cube::builder(&self.inner.stages, forest, table).memory(&self.inner.cubes)
    }

    /// The memory that all cubes of the member hold, and may hold.
    pub fn cube_memory(&self) -> &CubeMemory {
        &self.inner.cubes
    }

    /// Where Hazelcast clients connect to, if that door is open.
    pub fn hazelcast_address(&self) -> Option<SocketAddr> {
        self.address_for(Doors::HAZELCAST)
    }

    /// Where PostgreSQL clients connect to, if that door is open.
    pub fn postgres_address(&self) -> Option<SocketAddr> {
        self.address_for(Doors::POSTGRES)
    }

    /// Where metrics and health are to be had over HTTP, if that door is open.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.address_for(Doors::HTTP)
    }

    fn address_for(&self, whom: &str) -> Option<SocketAddr> {
        self.inner.listening.iter().find(|(other, _)| *other == whom).map(|(_, address)| *address)
    }

    /// Every door that was opened at the start: whom it is for, and where it listens.
    pub fn listening(&self) -> &[(&'static str, SocketAddr)] {
        &self.inner.listening
    }

    /// Locks the doors that are open; `None` when the member has ended.
    pub(crate) fn doors(&self) -> MutexGuard<'_, Option<Doors>> {
        self.inner.doors.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Ends the member; call it from a thread that is none of its own. With [`Shutdown::Drain`] clients get the answers that are under
    /// way first.
    pub fn shutdown(&self, how: Shutdown) -> Result<ShutdownReport, ShutdownRefused> {
        // Refused where the caller stands: then the member goes on, and so do its doors.
        if current().kind != StageKind::Application {
            return self.inner.stages.shutdown(how);
        }
        let doors = self.doors().take();
        if let (Some(doors), Shutdown::Drain) = (&doors, how) {
            doors.drain(DRAIN);
        }
        drop(doors);
        // They have no end to wait for.
        futures::executor::block_on(self.inner.sql.end_jobs());
        if how == Shutdown::Drain {
            // What cannot be written is in the log; the member ends all the same.
            let _ = self.inner.grid.flush_stores(DRAIN);
        }
        let mut report = self.inner.stages.shutdown(how)?;
        // Now nothing changes any more. The member has ended all the same.
        let failures = self.inner.grid.close_all();
        let is_unsaved =
            |error: &&StoreError| !matches!(error, StoreError::NotSealed { is_flushed: true, .. });
        report.unsaved = failures.iter().filter(is_unsaved).map(ToString::to_string).collect();
        Ok(report)
    }
}

impl MemberBuilder {
    /// Sets a number of a stage, by its key in the [table of settings](crate::settings_table): `set("partition.threads", 8)`.
    pub fn set(mut self, key: &str, value: u64) -> Self {
        self.stages = self.stages.set(key, value);
        self
    }

    /// Sets a word of a stage, by its key: `set_word("generic.when_full", "wait")`.
    pub fn set_word(mut self, key: &str, value: &str) -> Self {
        self.stages = self.stages.set_word(key, value);
        self
    }

    /// Sets the threads of a stage.
    pub fn threads(mut self, kind: StageKind, threads: usize) -> Self {
        self.stages = self.stages.threads(kind, threads);
        self
    }

    /// Declares an executor; its settings are `executor.<name>.*`.
    pub fn executor(mut self, name: &str) -> Self {
        self.stages = self.stages.executor(name);
        self
    }

    /// Replaces all settings by those of a settings file's text, see [`MemberConfig`]; `[hazelcast]`, `[postgres]` and `[http]` in
    /// it open those doors.
    pub fn toml(self, text: &str) -> Self {
        let opens = |door: &str| text.parse::<toml::Table>().is_ok_and(|table| table.contains_key(door));
        match MemberConfig::from_toml(text) {
            Ok(config) => {
                let before = self.doors.clone();
                let doors = DoorSettings {
                    hazelcast: opens("hazelcast").then_some(config.hazelcast).or(before.hazelcast),
                    postgres: opens("postgres").then_some(config.postgres).or(before.postgres),
                    http: opens("http").then_some(config.http).or(before.http),
                };
                let builder = Self { doors, ..self }.memory(config.memory);
                builder.stage_settings(config.stages).grid(config.grid).sql(config.sql)
            }
            Err(error) => {
                let mut builder = self;
                builder.problems.extend(error.problems().iter().cloned());
                builder
            }
        }
    }

    /// Replaces all settings by those of a file that was read, and opens all doors.
    pub fn config(self, config: MemberConfig) -> Self {
        let builder =
            self.memory(config.memory).stage_settings(config.stages).grid(config.grid).sql(config.sql);
        builder.hazelcast(config.hazelcast).postgres(config.postgres).http(config.http)
    }

    /// Replaces all settings of the stages.
    pub fn stage_settings(mut self, settings: Settings) -> Self {
        self.stages = self.stages.settings(settings);
        self
    }

    /// Replaces all settings of the grid.
    pub fn grid(mut self, settings: GridSettings) -> Self {
        self.grid = settings;
        self
    }

    /// Replaces all settings of SQL: what queries may use.
    pub fn sql(mut self, settings: SqlSettings) -> Self {
        self.sql = Some(settings);
        self
    }

    /// Replaces how much memory the member may take in all. Data, queries and cubes have shares of it, unless they have settings of their own.
    pub fn memory(mut self, settings: MemorySettings) -> Self {
        self.memory = settings;
        self
    }

    /// What maps of that name, or that match that pattern, are made with.
    pub fn map(mut self, pattern: &str, settings: MapSettings) -> Self {
        self.grid.maps.set(pattern, settings);
        self
    }

    /// Where maps with [`MapSettings::persistence`] are kept; one member at a time uses the folder.
    ///
    /// ```
    /// use filbert::{Member, MapSettings, PersistenceSettings, Shutdown};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let persistence = Some(PersistenceSettings::default());
    /// let builder = Member::builder()
    ///     .data_directory(folder.path())
    ///     .map("cities", MapSettings { persistence, ..Default::default() });
    /// let member = builder.clone().start()?;
    /// member.map::<String, i64>("cities").set("Oslo", &709_000).wait()?;
    /// member.shutdown(Shutdown::Drain)?;
    /// drop(member);
    ///
    /// let again = builder.start()?;
    /// assert_eq!(again.map::<String, i64>("cities").get("Oslo").wait()?, Some(709_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn data_directory(mut self, folder: impl AsRef<Path>) -> Self {
        self.grid.data_directory = folder.as_ref().display().to_string();
        self
    }

    /// While maps come back from disk, `told` hears how far they are, on the thread that starts the member.
    pub fn on_recovery(mut self, told: impl Fn(&RecoveryProgress) + Send + Sync + 'static) -> Self {
        self.on_recovery = OnRecovery(Some(Arc::new(told)));
        self
    }

    /// Registers an entry processor: `make` makes it from the argument of a call.
    pub fn entry_processor<P: EntryProcessor + 'static>(
        mut self,
        name: &str,
        make: impl Fn(&Data) -> Result<P, String> + Send + Sync + 'static,
    ) -> Self {
        self.registry = self.registry.with_processor(name, make);
        self
    }

    /// All user code at once: entry processors, tasks, comparators.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Opens the door for Hazelcast clients.
    pub fn hazelcast(mut self, settings: HazelcastSettings) -> Self {
        self.doors.hazelcast = Some(settings);
        self
    }

    /// Opens the door for PostgreSQL clients: psql, drivers, BI tools. Without users in its settings it asks for those of the door for
    /// Hazelcast clients, where that has some.
    pub fn postgres(mut self, settings: PostgresSettings) -> Self {
        self.doors.postgres = Some(settings);
        self
    }

    /// Opens the door for those who watch: `/metrics` for Prometheus, `/health/live`, `/health/ready`, `/status` for `filbert top`.
    ///
    /// ```
    /// use filbert::{HttpSettings, Member};
    ///
    /// let settings = HttpSettings { address: "127.0.0.1:0".parse()?, ..HttpSettings::default() };
    /// let member = Member::builder().http(settings).start()?;
    /// println!("http://{}/metrics", member.http_address().expect("it is open"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn http(mut self, settings: HttpSettings) -> Self {
        self.doors.http = Some(settings);
        self
    }

    /// Starts the member, or says everything that is wrong with the settings and starts nothing.
    pub fn start(self) -> Result<Member, StartError> {
        if !self.problems.is_empty() {
            return Err(StartError::Settings { problems: self.problems });
        }
        // Checked before the stages have threads.
        self.grid.check()?;
        let unregistered = self.grid.unregistered(&self.registry);
        if !unregistered.is_empty() {
            return Err(StartError::Settings { problems: unregistered });
        }
        let (mut memory, mut shared, mut of_grid) = (self.memory, SqlSettings::default(), self.grid);
        memory.share_with_queries(&mut of_grid, &mut shared, SetLimits::default());
        let settings = self.sql.unwrap_or(shared);
        let (cubes, jobs) = (memory.cubes(), memory.jobs());
        let problems: Vec<String> =
            settings.problems().into_iter().map(|problem| format!("sql.{problem}")).collect();
        if !problems.is_empty() {
            return Err(StartError::Settings { problems });
        }
        let stages = self.stages.start()?;
        let told = self.on_recovery.0;
        let progress = |progress: &RecoveryProgress| told.iter().for_each(|told| told(progress));
        let grid = Grid::open(&stages, of_grid, self.registry, &progress)?;
        let sql = Sql::start(&stages, settings).map_err(StartError::Sql)?;
        sql.attach(&grid).map_err(StartError::Sql)?;
        let doors = Doors::open(&grid, &sql, &cubes, &jobs, self.doors)?;
        let listening = doors.listening();
        let listening = listening.iter().map(|door| (door.whom, door.watcher.local_addr())).collect();
        let doors = Mutex::new(Some(doors));
        Ok(Member { inner: Arc::new(Inner { stages, grid, sql, cubes, jobs, doors, listening }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_gate::hazelcast::{Rights, User};
    use futures::StreamExt;

    /// How many rows a query gives.
    fn rows(member: &Member, text: &str) -> Result<usize, SqlError> {
        let query = member.sql().session().query(text)?;
        let batches = member.stages().mixed().spawn("read", query.collect())?.wait()??;
        Ok(batches.iter().map(|batch| batch.num_rows()).sum())
    }

    #[test]
    fn maps_are_tables_also_those_made_later() {
        let member = Member::start().unwrap();
        member.map::<i64, String>("later").set(&1, &"one".to_owned()).wait().unwrap();
        assert_eq!(rows(&member, "SELECT this FROM later WHERE __key = 1").unwrap(), 1);
        assert_eq!(rows(&member, "SINK INTO later VALUES (2, 'two')").unwrap(), 1);
        assert_eq!(member.map::<i64, String>("later").get(&2).wait().unwrap().as_deref(), Some("two"));
        member.shutdown(Shutdown::Drain).unwrap();
        assert!(rows(&member, "SELECT 1").is_err());
    }

    /// What reads files would be the first to go.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is a program with threads of its own")]
    fn a_drain_waits_for_a_query_that_reads_a_file() {
        const ROWS: usize = 300_000;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.csv");
        let lines: String = (0..ROWS).map(|number| format!("{number}\n")).collect();
        std::fs::write(&path, format!("n\n{lines}")).unwrap();
        let sql = SqlSettings { files: vec![folder.path().to_owned()], ..Default::default() };
        let member = Member::builder().sql(sql).start().unwrap();
        let table = format!(
            "CREATE EXTERNAL TABLE numbers STORED AS CSV LOCATION '{}' OPTIONS ('format.has_header' 'true')",
            path.display()
        );
        rows(&member, &table).unwrap();
        let mut query = member.sql().session().query("SELECT n FROM numbers").unwrap();
        let reader = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut read = reader.block_on(query.next()).unwrap().unwrap().num_rows();
        let ending = member.clone();
        let ended = std::thread::spawn(move || ending.shutdown(Shutdown::Drain).unwrap());
        let begin = std::time::Instant::now();
        while member.stages().engage(StageKind::Fragment).is_ok() {
            assert!(begin.elapsed() < Duration::from_secs(60), "the drain never begins");
        }
        while let Some(batch) = reader.block_on(query.next()) {
            read += batch.unwrap().num_rows();
        }
        assert_eq!((read, ended.join().unwrap().cut_short), (ROWS, Vec::<&str>::new()));
    }

    /// Nobody reads on, so it would go on for ever.
    #[test]
    fn a_query_that_is_not_read_does_not_hold_up_the_end() {
        let member = Member::start().unwrap();
        let endless = "SELECT a.value FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";
        let mut query = member.sql().session().query(endless).unwrap();
        let schema = async move { (query.schema().await.map(|_| ()), query) };
        let (planned, query) = member.stages().mixed().spawn("plan", schema).unwrap().wait().unwrap();
        planned.unwrap();
        member.shutdown(Shutdown::Cancel).unwrap();
        drop(query);
    }

    #[test]
    fn the_builder_passes_every_setting_on() {
        let member = Member::builder()
            .toml("[executor.mail]\ncapacity = 7\n[sql]\nrows = 2")
            .executor("reports")
            .set("executor.reports.threads", 1)
            .set_word("executor.reports.when_full", "wait")
            .threads(StageKind::Partition, 3)
            .start()
            .unwrap();
        let settings = member.stages().settings();
        assert_eq!(settings.number("executor.mail.capacity"), 7);
        assert_eq!(settings.number("executor.reports.threads"), 1);
        assert_eq!(settings.word("executor.reports.when_full"), "wait");
        assert_eq!(settings.number("partition.threads"), 3);
        let refused = rows(&member, "SELECT * FROM generate_series(1, 3)").unwrap_err();
        assert!(matches!(refused, SqlError::TooManyRows { limit: 2 }), "{refused}");
        member.shutdown(Shutdown::Cancel).unwrap();
    }

    #[test]
    fn a_shutdown_that_is_refused_leaves_the_door_open() {
        let address = "127.0.0.1:0".parse().unwrap();
        let settings = HazelcastSettings { address, ..HazelcastSettings::default() };
        let member = Member::builder().executor("own").hazelcast(settings).start().unwrap();
        let (asks, address) = (member.clone(), member.hazelcast_address().unwrap());
        let own = member.stages().executor("own").unwrap();
        let asked = own.submit("asks", move || asks.shutdown(Shutdown::Drain).is_err()).unwrap();
        assert_eq!(asked.wait(), Ok(true));
        assert!(member.inner.doors.lock().unwrap().is_some());
        assert!(std::net::TcpStream::connect(address).is_ok());
        member.shutdown(Shutdown::Drain).unwrap();
        assert!(std::net::TcpStream::connect(address).is_err());
    }

    /// Who must log in at one door must at the other.
    #[test]
    fn the_door_for_postgres_asks_for_the_users_of_the_other() {
        use std::io::{Read, Write};
        let address = "127.0.0.1:0".parse().unwrap();
        let start = |password: Option<&str>| {
            let user = User {
                name: "ann".into(),
                password: password.map(Into::into),
                token: Some("token".into()),
                may: Rights::everything(),
            };
            let hazelcast = HazelcastSettings { address, users: vec![user], ..HazelcastSettings::default() };
            let postgres = PostgresSettings { address, ..PostgresSettings::default() };
            Member::builder().postgres(postgres).hazelcast(hazelcast).start()
        };
        let member = start(Some("secret")).unwrap();
        let mut stranger = std::net::TcpStream::connect(member.postgres_address().unwrap()).unwrap();
        stranger.write_all(b"\0\0\0\x12\0\x03\0\0user\0eve\0\0").unwrap();
        let mut said = [0; 9];
        stranger.read_exact(&mut said).unwrap();
        // Prove who you are, by SASL; 0 in its place would be: come in.
        assert_eq!((said[0], said[8]), (b'R', 10), "{said:?}");
        member.shutdown(Shutdown::Cancel).unwrap();
        // With tokens alone nobody could log in there, so it does not open.
        assert!(start(None).unwrap_err().to_string().contains("none has a password"));
    }

    #[test]
    fn every_mistake_is_named_and_nothing_starts() {
        let refused = Member::builder().set("cpu.threads", 0).set("cpv.threads", 1).start().unwrap_err();
        assert_eq!(refused.problems().len(), 2, "{refused}");
        let sql = SqlSettings { queries: 0, rows: Some(0), ..Default::default() };
        let refused = Member::builder().sql(sql).start().unwrap_err();
        assert_eq!(refused.problems().len(), 2, "{refused}");
        let refused = Member::builder().toml("[cpv]\nthreads = 1\n[cluster]\nnam = 'x'").start().unwrap_err();
        assert_eq!(refused.problems().len(), 2, "{refused}");
    }
}
