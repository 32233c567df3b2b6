//! A table of a DuckDB, as the command line names it. Only a `filbert` that was built with the feature `duckdb` opens one.

/// Where a table is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// A file; `:memory:` or nothing for none.
    pub(super) database: String,
    /// Its name, or a query.
    pub(super) table: String,
}

/// Reads `duckdb:path#table`; nothing when it is something else.
pub(super) fn place(text: &str) -> Option<Result<Place, String>> {
    let rest = text.strip_prefix("duckdb:")?;
    let told = "write the table after the file: duckdb:markets.duckdb#trades, or #SELECT ...; without a file, \
                duckdb:#SELECT * FROM 'trades.parquet'";
    Some(match rest.split_once('#') {
        Some((database, table)) if !table.trim().is_empty() => {
            Ok(Place { database: database.to_owned(), table: table.to_owned() })
        }
        _ => Err(told.to_owned()),
    })
}

#[cfg(feature = "duckdb")]
pub(super) use with::open;
#[cfg(not(feature = "duckdb"))]
pub(super) use without::open;

#[cfg(feature = "duckdb")]
mod with {
    use super::super::Watch;
    use super::Place;
    use filbert::cube::{CubeBuilder, DuckDb, DuckDbTable, Forest};
    use std::error::Error;

    /// Opens the table.
    pub(in super::super) fn open(
        watch: &Watch<'_>,
        place: &Place,
        forest: Forest,
    ) -> Result<CubeBuilder, Box<dyn Error>> {
        let opening = DuckDbTable::open(watch.member.stages(), &DuckDb::at(&place.database), &place.table);
        Ok(watch.member.cube(forest, watch.wait("open table", opening, super::super::looks)??))
    }
}

#[cfg(not(feature = "duckdb"))]
mod without {
    use super::super::Watch;
    use super::Place;
    use filbert::cube::{CubeBuilder, Forest};
    use std::error::Error;

    /// Says what it takes.
    pub(in super::super) fn open(
        _: &Watch<'_>,
        place: &Place,
        _: Forest,
    ) -> Result<CubeBuilder, Box<dyn Error>> {
        Err(format!(
            "duckdb:{}: this filbert was built without DuckDB; build it with `cargo build --release --features duckdb`",
            place.database
        )
        .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stands_behind_the_file() {
        let read = |text: &str| {
            let place = place(text).unwrap().unwrap();
            (place.database, place.table)
        };
        assert_eq!(
            read("duckdb:a/b.duckdb#main.trades"),
            ("a/b.duckdb".to_owned(), "main.trades".to_owned())
        );
        assert_eq!(read("duckdb:#SELECT '#'"), (String::new(), "SELECT '#'".to_owned()));
        assert_eq!(read("duckdb::memory:#SELECT 1").0, ":memory:");
        assert!(place("duckdb:a.duckdb").unwrap().unwrap_err().contains("#SELECT"));
        assert!(place("trades.duckdb").is_none());
    }
}
