//! The tables of TPC-H as Parquet files, made once and kept: snappy, 122,880 rows a group, which is what DuckDB writes.
//!
//! With groups of a million rows, half of the tables would be one group, which no engine reads with two threads.

use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::arrow::record_batch::RecordBatchReader;
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

const GROUP_ROWS: usize = 122_880;

/// Written last: a folder without it is not whole.
const MARKER: &str = "complete";

/// The folder below `parent` with one file per table, made now if there is none.
pub(super) fn ready(parent: &Path, scale: f64) -> Result<PathBuf, Box<dyn Error>> {
    let folder = parent.join(format!("tpch-{scale}"));
    let made = format!("tpchgen 4, scale {scale}, snappy, {GROUP_ROWS} rows a group\n");
    if std::fs::read_to_string(folder.join(MARKER)).is_ok_and(|marker| marker == made) {
        return Ok(folder);
    }
    eprintln!("sql: makes the tables of TPC-H, scale {scale}, in {}", folder.display());
    std::fs::create_dir_all(&folder)?;
    for (name, mut rows) in tables(scale) {
        write(&path(&folder, name), &mut *rows)?;
    }
    std::fs::write(folder.join(MARKER), made)?;
    Ok(folder)
}

/// The names of the tables.
pub(super) const NAMES: [&str; 8] =
    ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"];

/// The file of a table.
pub(super) fn path(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.parquet"))
}

fn tables(scale: f64) -> [(&'static str, Box<dyn RecordBatchReader>); 8] {
    [
        ("region", Box::new(RegionArrow::new(RegionGenerator::new(scale, 1, 1)))),
        ("nation", Box::new(NationArrow::new(NationGenerator::new(scale, 1, 1)))),
        ("supplier", Box::new(SupplierArrow::new(SupplierGenerator::new(scale, 1, 1)))),
        ("customer", Box::new(CustomerArrow::new(CustomerGenerator::new(scale, 1, 1)))),
        ("part", Box::new(PartArrow::new(PartGenerator::new(scale, 1, 1)))),
        ("partsupp", Box::new(PartSuppArrow::new(PartSuppGenerator::new(scale, 1, 1)))),
        ("orders", Box::new(OrderArrow::new(OrderGenerator::new(scale, 1, 1)))),
        ("lineitem", Box::new(LineItemArrow::new(LineItemGenerator::new(scale, 1, 1)))),
    ]
}

fn write(path: &Path, rows: &mut dyn RecordBatchReader) -> Result<(), Box<dyn Error>> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path)?, rows.schema(), Some(properties))?;
    for batch in rows {
        writer.write(&batch?)?;
    }
    writer.close()?;
    Ok(())
}
