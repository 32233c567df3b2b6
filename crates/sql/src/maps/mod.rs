//! Every map of the grid is a table: its columns are found, not declared.
//!
//! ```text
//! name --> MapsSchema --> MapTable (columns: Layout) --> MapScanExec --> Pages --> Decoder --> batches
//!          registered?    discovered from entries        a share of      strands   only the wanted columns
//!          mapping? map?  or as its mapping says         the partitions
//! ```
//!
//! Everything runs on stage `fragment`: a page is read by an operation on its partition's strand, and whoever waits for one keeps no thread.

mod arrow_value;
mod builder;
mod cell;
mod change;
mod decimals;
mod decoder;
mod definitions;
mod discover;
mod encoder;
mod format;
mod json_object;
mod kind;
mod layout;
mod leaf;
mod mapping;
mod on_taken;
mod one_reading;
mod own;
mod pages;
mod reach;
mod scalar;
mod scan;
mod schema;
mod sink;
mod statement;
mod suggestion;
mod surprises;
mod table;
mod text;
mod visible;

pub(crate) use change::ChangeMaps;
pub use decimals::{has_own_scales, without_zeros};
pub(crate) use decoder::Decoder;
pub(crate) use layout::{Layout, VALUE};
pub(crate) use on_taken::OnTaken;
pub(crate) use one_reading::read_once;
pub(crate) use own::run;
pub(crate) use pages::failed;
pub(crate) use scalar::scalar_of_value;
pub use scan::MapScanExec;
pub(crate) use schema::MapsSchema;
pub(crate) use sink::MapSink;
pub(crate) use statement::{OwnStatement, Parsed, parse};
pub(crate) use suggestion::Suggestion;
pub(crate) use table::MapTable;
pub(crate) use visible::show_visible;
pub use visible::visible_columns;

use crate::error::SqlError;
use crate::stream::{JOURNALS, JournalSchema};
use datafusion::catalog::CatalogProviderList;
use filbert_grid::Grid;
use schema::Maps;
use std::sync::Arc;

/// Puts the maps of `grid` behind the tables of a schema.
pub(crate) fn attach(
    catalogs: &Arc<dyn CatalogProviderList>,
    catalog: &str,
    schema: &str,
    grid: &Grid,
) -> Result<(), SqlError> {
    let missing = || SqlError::Refused(format!("there is no schema {catalog}.{schema}"));
    let catalog = catalogs.catalog(catalog).ok_or_else(missing)?;
    let registered = catalog.schema(schema).ok_or_else(missing)?;
    let maps = Arc::new(MapsSchema::new(registered, Maps::new(grid)));
    catalog.register_schema(JOURNALS, Arc::new(JournalSchema::new(&maps)))?;
    catalog.register_schema(schema, maps)?;
    Ok(())
}
