//! A database on disk: the tables, views and tables of files that statements made, for `filbert sql my.db`.
//!
//! ```text
//! my.db/lock            held by the process that has it
//! my.db/tables.json     everything that there is, with a checksum; replaced as a whole
//! my.db/rows-7.arrow    batches of one table, an Arrow stream; written once, never changed
//! ```
//!
//! [`Database::save`] compares the catalog with what is on disk, and writes the difference: batches of tables in memory never change, a
//! statement puts others in their place, so a batch is known by its columns' addresses. An `INSERT` writes its own rows and the list,
//! `DROP`, `RENAME` and `CREATE TABLE b AS SELECT * FROM a` the list alone. Whatever a statement changed is found, whether it ended well or not.
//! Small files, and files of which less than half is still used, are written together anew.
//!
//! Rejected: one file. It would need a log with torn ends, or pages and their own recovery; with a folder `rename` is the whole protocol,
//! and every file with rows can be read by other programs. Rejected: a log of statements. `random()`, `now()` and files that changed would
//! give other rows.
//!
//! A database is for a session at a time: statements that run beside [`Database::save`] are kept by the next one. Definitions of views
//! and tables of files are kept as text, and run again when the database is opened. Maps, mappings, jobs and settings are not kept. Files are
//! read and written on the reactor's threads.

mod error;
mod folder;
mod manifest;
mod places;
mod relations;

pub use error::DatabaseError;

use crate::engine::Sql;
use crate::error::SqlError;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use folder::Folder;
use manifest::{Manifest, Relation, Rows, Segment};
use places::Places;
use relations::{FoundRelation, Relations, columns_text};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The tables and views of an engine, kept in a folder.
///
/// ```
/// use filbert_sql::{Database, Sql};
/// use futures::executor::block_on;
/// let parent = tempfile::tempdir()?;
/// let folder = parent.path().join("my.db");
/// for expected in [0, 1] {
///     let stages = filbert_pool::Stages::start()?;
///     let sql = Sql::start(&stages, Default::default())?;
///     let database = block_on(Database::open(&sql, &folder))?;
///     let tables = block_on(sql.session().query("SHOW TABLES")?.collect())?;
///     let own = tables.iter().filter(|batch| format!("{batch:?}").contains("numbers")).count();
///     assert_eq!(own, expected);
///     if own == 0 {
///         block_on(sql.session().query("CREATE TABLE numbers AS SELECT * FROM range(0, 10)")?.collect())?;
///         block_on(database.save())?;
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Database {
    sql: Sql,
    folder: Arc<Folder>,
    /// Returns the definitions that could not be made when it was opened.
    problems: Vec<String>,
    kept: Mutex<Kept>,
}

/// The state on disk.
struct Kept {
    manifest: Manifest,
    places: Places,
    /// Views and tables of files that cannot be made now; they stay on disk.
    unmade: Vec<Relation>,
    next: u64,
}

impl Database {
    /// Opens the database in that folder, which is made where there is none, and makes its tables and views in `sql`.
    ///
    /// # Errors
    /// When another process has it, when the folder is something else, when a file is damaged, or when a table is refused.
    pub async fn open(sql: &Sql, folder: &Path) -> Result<Self, DatabaseError> {
        let path = folder.to_owned();
        let opening = sql.inner().reactor.submit("open a database", move || {
            let (folder, manifest) = Folder::open(&path)?;
            let read = |segment: &Segment| Ok((*segment, folder.read_segment(segment)?));
            let segments = manifest.segments.iter().map(read).collect::<Result<Vec<_>, DatabaseError>>()?;
            Ok::<_, DatabaseError>((folder, manifest, segments))
        });
        let (folder, manifest, segments) = opening.await.map_err(SqlError::from)??;
        if let Some(other) =
            manifest.relations.iter().find(|relation| relations::is_of_another_kind(relation))
        {
            let problem =
                format!("the definition of {:?} is another statement than one that makes it", other.name);
            return Err(folder.damaged(&problem));
        }
        let relations = Relations::of(sql)?;
        for schema in &manifest.schemas {
            relations.add_schema(schema)?;
        }
        let mut places = Places::default();
        let mut definitions = Vec::new();
        for relation in &manifest.relations {
            let Some(rows) = &relation.rows else {
                definitions.push(relation.clone());
                continue;
            };
            let found = places::found(rows, &segments)
                .ok_or_else(|| folder.damaged("it names rows that are in no file"))?;
            let columns = relations::columns_of(&rows.columns)
                .ok_or_else(|| folder.damaged("the columns of a table cannot be read"))?;
            let kept = relations.make_table(relation, rows, columns, found).await;
            let kept = kept.map_err(|error| DatabaseError::Table { name: relation.name.clone(), error })?;
            for (runs, batches) in rows.partitions.iter().zip(kept) {
                places.enter(runs, batches);
            }
        }
        places.enter_segments(&segments);
        let (unmade, problems) = relations.make_all(definitions).await;
        // All was read: what the list does not name is nobody's.
        let cleaning = sql.inner().reactor.submit("clean a database", move || {
            folder.remove_unnamed(&manifest);
            (folder, manifest)
        });
        let (folder, manifest) = cleaning.await.map_err(SqlError::from)?;
        let next = manifest.segments.iter().map(|segment| segment.number + 1).max().unwrap_or(0);
        let kept = Mutex::new(Kept { manifest, places, unmade, next });
        Ok(Self { sql: sql.clone(), folder: Arc::new(folder), problems, kept })
    }

    /// The views and tables of files that cannot be made now, a sentence for each; their definitions stay on disk.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes whatever changed since the last time. When this returns it is on disk, all of it, and a crash before that leaves what was
    /// there before.
    ///
    /// # Errors
    /// When the files cannot be written; the next call tries again.
    pub async fn save(&self) -> Result<(), DatabaseError> {
        let mut kept = self.kept.lock().await;
        let kept = &mut *kept;
        let relations = Relations::of(&self.sql)?;
        let found = relations.found().await?;
        let schemas = relations.schemas();
        let batches = found.iter().filter_map(|found| found.content.as_ref());
        let batches = batches.flat_map(|content| content.partitions.iter().flatten());
        let (mut places, new) = kept.places.with(batches.cloned(), &mut kept.next);
        let segments = places.segments();

        let mut manifest = Manifest { schemas, relations: Vec::new(), segments };
        manifest.relations = found.iter().map(|found| relation_of(found, &places)).collect();
        let is_named = |unmade: &Relation| {
            found.iter().any(|found| found.schema == unmade.schema && found.name == unmade.name)
        };
        kept.unmade.retain(|unmade| !is_named(unmade));
        manifest.relations.extend(kept.unmade.iter().cloned());
        if new.is_empty() && manifest == kept.manifest {
            return Ok(());
        }
        let folder = Arc::clone(&self.folder);
        let writing = self.sql.inner().reactor.submit("keep a database", move || {
            let mut write = || {
                let write =
                    |(number, schema, batches): &NewSegment| folder.write_segment(*number, schema, batches);
                let written = new.iter().map(write).collect::<Result<Vec<_>, DatabaseError>>()?;
                manifest.segments.extend(written.iter().copied());
                manifest.segments.sort_by_key(|segment| segment.number);
                folder.prepare(&manifest)?;
                Ok(written)
            };
            let written: Vec<Segment> = write().inspect_err(|_: &DatabaseError| {
                folder.take_back(new.iter().map(|(number, ..)| *number));
            })?;
            folder.commit()?;
            folder.remove_unnamed(&manifest);
            let schemas: Vec<SchemaRef> = new.into_iter().map(|(_, schema, _)| schema).collect();
            Ok::<_, DatabaseError>((manifest, written, schemas))
        });
        let (manifest, written, schemas) = writing.await.map_err(SqlError::from)??;
        places.written(written, schemas);
        (kept.manifest, kept.places) = (manifest, places);
        Ok(())
    }
}

fn relation_of(found: &FoundRelation, places: &Places) -> Relation {
    let rows = found.content.as_ref().map(|content| Rows {
        columns: columns_text(&content.schema),
        partitions: content.partitions.iter().map(|batches| places.runs(batches)).collect(),
        serials: content.serials.clone(),
    });
    Relation {
        schema: found.schema.clone(),
        name: found.name.clone(),
        definition: found.definition.clone(),
        rows,
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("folder", &self.folder.path()).finish_non_exhaustive()
    }
}

/// Batches of one schema that are to be a file with that number.
type NewSegment = (u64, SchemaRef, Vec<RecordBatch>);
