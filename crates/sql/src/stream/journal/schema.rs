//! The schema of journals. Nobody writes its name: `journal('trades', 'newest')` becomes the table `newest/trades` in it, since tables are
//! looked up by futures and functions are not, and the columns of a map are found by looking at its entries.

use super::table::JournalTable;
use crate::maps::MapsSchema;
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;
use std::sync::Arc;

/// Its name.
pub(crate) const JOURNALS: &str = "journal";

/// Where the reading of a journal begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JournalStart {
    /// With all that the journal still has.
    Oldest,
    /// With what changes from now on.
    Newest,
}

impl JournalStart {
    const ALL: [Self; 2] = [Self::Oldest, Self::Newest];

    /// As it is written in statements.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Oldest => "oldest",
            Self::Newest => "newest",
        }
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|start| start.word().eq_ignore_ascii_case(word))
    }
}

/// The name of a journal in the schema.
pub(crate) fn journal_name(start: JournalStart, map: &str) -> String {
    format!("{}/{map}", start.word())
}

/// What such a name says; nothing when it is none.
pub(crate) fn journal_of(name: &str) -> Option<(JournalStart, &str)> {
    let (word, map) = name.split_once('/')?;
    Some((JournalStart::of_word(word)?, map))
}

/// Journals of maps, by name.
#[derive(Debug)]
pub(crate) struct JournalSchema {
    maps: Arc<MapsSchema>,
}

impl JournalSchema {
    /// Of the maps that `maps` has.
    pub(crate) fn new(maps: &Arc<MapsSchema>) -> Self {
        Self { maps: Arc::clone(maps) }
    }
}

#[async_trait]
impl SchemaProvider for JournalSchema {
    /// None are listed: they are no tables of their own.
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some((start, map)) = journal_of(name) else { return Ok(None) };
        // Whoever may read a view need not be allowed to read the map that it hides.
        if self.maps.registered().table_exist(map) {
            let text = format!("{map:?} is a table or view that was made; only maps have journals");
            return Err(crate::SqlError::Refused(text).into_plan());
        }
        let Some(table) = self.maps.map_table(map).await? else {
            let text = format!(
                "there is no map {map:?} whose journal could be read; CREATE MAPPING makes one known before its first entry"
            );
            return Err(crate::SqlError::Refused(text).into_plan());
        };
        Ok(Some(Arc::new(JournalTable::new(table, start))))
    }

    fn table_exist(&self, name: &str) -> bool {
        journal_of(name).is_some_and(|(_, map)| self.maps.table_exist(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_were_made_of() {
        for (start, map) in [(JournalStart::Oldest, "trades"), (JournalStart::Newest, "a/b")] {
            assert_eq!(journal_of(&journal_name(start, map)), Some((start, map)));
        }
        assert_eq!(journal_of("trades"), None);
        assert_eq!(journal_of("middle/trades"), None);
    }
}
