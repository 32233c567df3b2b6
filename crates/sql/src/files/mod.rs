//! Files as tables: read by path, glob or folder, declared with `CREATE EXTERNAL TABLE`, written with `COPY ... TO`.
//!
//! ```text
//! 'data/*.csv' --> TableLayer  --> Location --> FileTable --> ListingTable --> DataSourceExec over an OwnSource
//!                                  expanded,    columns       of DataFusion    errors name file and part;
//!                                  checked                                      columns from the ColumnCache
//!                                                 every byte comes from FileStore, which checks again
//! COPY ... TO  --> CopyFiles   --> FileTarget  --> FileSink --> a hidden file, renamed when it is whole
//! ```
//!
//! Which files SQL may touch is a setting ([`FileAccess`]); nothing is allowed by default. Whatever way a statement finds to a path, the
//! bytes come from [`FileStore`], the only store there is, so a way that was overlooked is refused there. It cannot write; what is written
//! goes through [`FileSink`](sink::FileSink) alone.
//!
//! Planning and decoding run on stage `fragment`; calls that block run on the reactor's threads. Listing is ours and not DataFusion's,
//! whose globs know no `**` and whose listings are kept without end.

mod access;
mod arrow_files;
mod cache;
mod coded;
mod compression;
mod copy;
mod encoder;
mod factory;
mod file_encoder;
mod json_array;
mod json_columns;
mod json_line;
mod kind;
mod location;
mod named;
mod progress;
mod read_function;
mod schema;
mod sink;
mod sniff;
mod source;
mod store;
mod table;
mod version;

pub use cache::CacheSnapshot;
pub(crate) use copy::CopyFiles;
pub use file_encoder::FileEncoder;
pub(crate) use kind::FileKind;
pub use kind::file_endings;
pub use progress::FileProgress;
pub(crate) use read_function::read_function;

use crate::error::SqlError;
use crate::layered_schema::LayeredSchema;
use crate::settings::SqlSettings;
use access::FileAccess;
use cache::ColumnCache;
use coded::CodedFiles;
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList,
    TableProviderFactory,
};
use datafusion::datasource::source_as_provider;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::TableSource;
use filbert_pool::Reactor;
use location::Location;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use store::FileStore;

/// The files of one engine: what may be touched, and the threads that do. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    access: Arc<FileAccess>,
    reactor: Reactor,
    /// Columns that were decoded before; none when there is no room for them.
    cache: Option<Arc<ColumnCache>>,
    /// With which columns of files are found when nobody's session asks; it knows no tables.
    state: SessionState,
}

/// True for a table name that means files.
pub(crate) fn is_file(name: &str) -> bool {
    Location::is_meant(name) || read_function::is_meant(name)
}

/// True for a table that is files.
pub(crate) fn is_file_table(source: &Arc<dyn TableSource>) -> bool {
    source_as_provider(source).is_ok_and(|table| table.downcast_ref::<table::FileTable>().is_some())
}

impl Files {
    /// Takes the place of the file system in `runtime`.
    pub(crate) fn new(settings: &SqlSettings, reactor: &Reactor, runtime: &Arc<RuntimeEnv>) -> Self {
        let access = Arc::new(FileAccess::new(&settings.files, &settings.write_files));
        let store = FileStore::new(Arc::clone(&access), reactor.clone());
        let local = datafusion::execution::object_store::ObjectStoreUrl::local_filesystem();
        runtime.register_object_store(local.as_ref(), Arc::new(store));
        let state = SessionStateBuilder::new_with_default_features()
            .with_runtime_env(Arc::clone(runtime))
            .with_table_factories(HashMap::new())
            .build();
        Self { access, reactor: reactor.clone(), cache: ColumnCache::new(settings.cache_bytes), state }
    }

    /// What `CREATE EXTERNAL TABLE ... STORED AS` knows.
    pub(crate) fn factories(&self) -> HashMap<String, Arc<dyn TableProviderFactory>> {
        let factory: Arc<dyn TableProviderFactory> = Arc::new(factory::FileTableFactory(self.clone()));
        FileKind::ALL
            .iter()
            .flat_map(|kind| kind.words())
            .map(|word| (word.to_uppercase(), Arc::clone(&factory)))
            .collect()
    }

    /// Files are tables of that schema from now on, behind what it has.
    pub(crate) fn attach(
        &self,
        catalogs: &Arc<dyn CatalogProviderList>,
        catalog: &str,
        schema: &str,
    ) -> Result<(), SqlError> {
        let missing = || SqlError::Refused(format!("there is no schema {catalog}.{schema}"));
        let catalog = catalogs.catalog(catalog).ok_or_else(missing)?;
        let registered = catalog.schema(schema).ok_or_else(missing)?;
        catalog.register_schema(schema, Arc::new(LayeredSchema::new(registered, self.clone())))?;
        Ok(())
    }

    /// A catalog with the schemas of another, in which files have texts as codes.
    pub(crate) fn with_codes(
        &self,
        catalogs: &Arc<dyn CatalogProviderList>,
        catalog: &str,
        schema: &str,
    ) -> Result<Arc<dyn CatalogProviderList>, SqlError> {
        let missing = || SqlError::Refused(format!("there is no schema {catalog}.{schema}"));
        let known = catalogs.catalog(catalog).ok_or_else(missing)?;
        let own = MemoryCatalogProvider::new();
        for name in known.schema_names() {
            if let Some(schema) = known.schema(&name) {
                own.register_schema(&name, schema)?;
            }
        }
        let all = known.schema(schema).ok_or_else(missing)?;
        own.register_schema(schema, Arc::new(LayeredSchema::new(all, CodedFiles(self.clone()))))?;
        let list = MemoryCatalogProviderList::new();
        list.register_catalog(catalog.to_owned(), Arc::new(own));
        Ok(Arc::new(list))
    }

    /// What is kept of files in memory; none when nothing is.
    pub(crate) fn cached(&self) -> Option<CacheSnapshot> {
        self.cache.as_deref().map(ColumnCache::snapshot)
    }

    /// Another number when the files at that place are others, or others are in them.
    pub(crate) async fn version(&self, place: &str) -> Result<u64, SqlError> {
        let (location, access) = (Location::parse(place)?, Arc::clone(&self.access));
        let looked = self.reactor.submit("look at files", move || version::of(&[location], &access));
        looked.await?
    }

    /// The files that there are at these locations now, in order.
    async fn expanded(
        &self,
        locations: Vec<Location>,
        kind: Option<FileKind>,
    ) -> Result<Vec<PathBuf>, SqlError> {
        let access = Arc::clone(&self.access);
        let expanded =
            self.reactor.submit("list files", move || location::expanded(&locations, kind, &access));
        expanded.await?
    }
}
